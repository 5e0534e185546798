package record

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
)

// ErrGone says that the process has ended, or that its pid is another's now.
var ErrGone = errors.New("process is gone")

// StartTime is when a process was started, in clock ticks since boot: the
// 22nd field of /proc/PID/stat (proc(5)). The second field, the command, may
// hold blanks and parentheses, so fields are counted behind the last one.
func StartTime(pid int) (uint64, error) {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if errors.Is(err, fs.ErrNotExist) {
		return 0, fmt.Errorf("look at process %d: %w", pid, ErrGone)
	}
	if err != nil {
		return 0, fmt.Errorf("look at process %d: %w", pid, err)
	}
	return parseStart(data)
}

// parseStart returns [ErrGone] for a zombie, too: one that its parent has not
// waited for yet is no container any more. A first thread that has ended alone
// looks the same but for the number of threads.
func parseStart(stat []byte) (uint64, error) {
	const (
		behindCommand = 22 - 3 // the state is field 3
		threads       = 20 - 3
	)
	i := bytes.LastIndexByte(stat, ')')
	if i < 0 {
		return 0, fmt.Errorf("parse process status %.100q: no command", stat)
	}
	fields := bytes.Fields(stat[i+1:])
	if len(fields) <= behindCommand {
		return 0, fmt.Errorf("parse process status %.100q: too short", stat)
	}
	if state := string(fields[0]); (state == "Z" || state == "X") && (string(fields[threads]) == "0" || string(fields[threads]) == "1") {
		return 0, ErrGone
	}
	n, err := strconv.ParseUint(string(fields[behindCommand]), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("parse process status: start time: %w", err)
	}
	return n, nil
}

// Alive reports whether the record's process still runs.
func (r Record) Alive() bool {
	start, err := StartTime(r.PID)
	return err == nil && start == r.Start
}
