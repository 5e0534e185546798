// Package systemdtest is a stand-in for systemd on a bus socket, for tests: it
// answers for scopes, takes DeviceAllow, and can hang, lie or break off at each
// step. It is not a bus: one service, no names, no signals.
package systemdtest

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/godbus/dbus/v5"

	"github.com/gpu-hook/gpu-hook/devices/cgroup/systemd"
)

// Mode says how the server behaves.
type Mode string

// Ways to behave badly.
const (
	Honest      Mode = ""
	HangAtAuth  Mode = "hang at auth"  // Takes the connection and says nothing.
	HangAtCall  Mode = "hang at call"  // Answers Hello only.
	HangAtSet   Mode = "hang at set"   // Answers questions only.
	Refuse      Mode = "refuse"        // An error for SetUnitProperties.
	WrongTypes  Mode = "wrong types"   // Numbers where text is due.
	BreakOff    Mode = "break off"     // Closes the connection at the first call.
	Garbage     Mode = "garbage"       // Bytes that are no message.
	HalfMessage Mode = "half message"  // Closes the connection inside of an answer.
	NoPins      Mode = "no BPFProgram" // Does not know the property, as before 249.
)

// Server is one stand-in. Its fields are set before the first connection.
type Server struct {
	Mode    Mode
	Version string
	Units   map[string]systemd.Unit // By name.
	OnAllow func(unit string)       // Called before SetUnitProperties is answered.

	mu    sync.Mutex
	calls []string
	path  string
}

// Start listens until the test ends, and returns the address.
func (s *Server) Start(t *testing.T) systemd.Address {
	t.Helper()
	s.path = filepath.Join(t.TempDir(), "bus")
	l, err := net.Listen("unix", s.path)
	if err != nil {
		t.Fatal(err)
	}
	var open sync.WaitGroup
	t.Cleanup(func() {
		_ = l.Close()
		open.Wait()
	})
	open.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			open.Go(func() { s.serve(c) })
		}
	})
	return systemd.Address{Path: s.path}
}

// Calls returns the members called so far, with the unit where one was named.
func (s *Server) Calls() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.calls...)
}

// Unit returns a unit as it is now.
func (s *Server) Unit(name string) systemd.Unit {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.Units[name]
}

func (s *Server) serve(c net.Conn) {
	defer c.Close()
	in := bufio.NewReader(c)
	if s.Mode == HangAtAuth {
		_, _ = io.Copy(io.Discard, in) // Until the client gives up.
		return
	}
	if !handshake(c, in) {
		return
	}
	for serial := uint32(1); ; serial++ {
		msg, err := dbus.DecodeMessage(in)
		if err != nil {
			return
		}
		answer := s.answer(msg)
		switch {
		case answer == nil:
			continue
		case s.Mode == BreakOff && serial > 1:
			return
		case s.Mode == Garbage && serial > 1:
			_, _ = c.Write([]byte(strings.Repeat("l\xff\x00\x01", 64)))
			return
		}
		var b bytes.Buffer
		if answer.EncodeTo(&b, binary.LittleEndian) != nil {
			return
		}
		binary.LittleEndian.PutUint32(b.Bytes()[8:], serial)
		if s.Mode == HalfMessage && serial > 1 {
			_, _ = c.Write(b.Bytes()[:b.Len()/2])
			return
		}
		if _, err := c.Write(b.Bytes()); err != nil {
			return
		}
	}
}

// handshake is the server's side of the D-Bus authentication protocol.
func handshake(c net.Conn, in *bufio.Reader) bool {
	if b, err := in.ReadByte(); err != nil || b != 0 {
		return false
	}
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return false
		}
		var reply string
		switch word, _, _ := strings.Cut(strings.TrimSpace(line), " "); {
		case word == "BEGIN":
			return true
		case word == "AUTH" && strings.TrimSpace(line) == "AUTH":
			reply = "REJECTED EXTERNAL"
		case word == "AUTH":
			reply = "OK 0123456789abcdef0123456789abcdef"
		case word == "NEGOTIATE_UNIX_FD":
			reply = "AGREE_UNIX_FD"
		default:
			reply = "ERROR"
		}
		if _, err := fmt.Fprintf(c, "%s\r\n", reply); err != nil {
			return false
		}
	}
}
