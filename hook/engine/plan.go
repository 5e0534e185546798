package engine

import (
	"bytes"
	"fmt"
	"io/fs"
)

// BackupSuffix follows the name of a changed file in the name of its copy.
const BackupSuffix = ".gpu-hook-backup"

// Warning is something that was not done, or that the user should know.
type Warning struct{ Code, Message string }

// Change is one file or link. A nil Old is a file that is not there yet, a nil
// New one that goes.
type Change struct {
	Path     string // as the host sees it
	Old, New []byte
	Link     bool // a symbolic link; Old and New are what it leads to
	Backup   bool // a copy for --remove, not worth a word of the difference

	real string      // where Path leads on this machine
	like string      // a file whose mode and owner a new one gets
	mode fs.FileMode // for a file that is not there yet
}

// plan is what one engine needs.
type plan struct {
	changes  []Change
	warnings []Warning
	todo     []string
}

func (p *plan) warn(code, format string, args ...any) {
	p.warnings = append(p.warnings, Warning{Code: code, Message: fmt.Sprintf(format, args...)})
}

// write plans a file's new content; nil removes it. No change is no change.
func (p *plan) write(f file, content []byte) bool {
	if bytes.Equal(f.data, content) && f.exists == (content != nil) {
		return false
	}
	c := Change{Path: f.path, New: content, real: f.real, mode: 0o644}
	if f.exists {
		c.Old = f.data
	}
	p.changes = append(p.changes, c)
	return true
}

// edit plans a new content for a file that is not ours alone, and what happens
// to the copy beside it. ours says that f holds our part already: then the
// copy is from before us and stays, until undone says that nothing of ours is
// left.
func (p *plan) edit(f, backup file, content []byte, ours, undone bool) {
	if bytes.Equal(f.data, content) && f.exists == (content != nil) {
		return
	}
	if !ours && f.exists && !undone {
		p.backup(f, backup, f.data)
	}
	p.write(f, content)
	if undone || !f.exists { // nothing left to go back to, or nothing there was
		p.backup(f, backup, nil)
	}
}

func (p *plan) backup(of, f file, content []byte) {
	if p.write(f, content) {
		last := &p.changes[len(p.changes)-1]
		last.Backup, last.like = true, of.real
	}
}
