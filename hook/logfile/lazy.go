package logfile

import "os"

// lazyFile opens its file at the first write and reports every write as done:
// logrus would print a failed one on standard error, where the runtime takes
// it for the hook's own words. The logger's lock keeps writes apart.
type lazyFile struct {
	path  string
	file  *os.File
	tried bool
}

// Write appends one line. With O_APPEND lines of processes that run at the
// same time stay whole.
func (l *lazyFile) Write(line []byte) (int, error) {
	if !l.tried {
		l.tried = true
		l.file, _ = open(l.path)
	}
	if l.file != nil {
		_, _ = l.file.Write(line)
	}
	return len(line), nil
}

// Close closes the file, if it was opened.
func (l *lazyFile) Close() error {
	if l.file == nil {
		return nil
	}
	return l.file.Close()
}
