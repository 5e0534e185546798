package wrapper

import (
	"slices"
	"strings"
)

// Call is what the wrapper needs to know of a runtime's command line.
type Call struct {
	Command   string // "create", or "" where there is none
	Starts    bool   // the command reads a bundle and makes a container of it
	Bundle    string // as given; "" is the working directory
	Config    string // crun's --config: another file than the bundle's config.json
	Log       string // file for the runtime's own messages, "" = standard error
	LogFormat string
}

// commands are those of runc 1.5, crun 1.28 and youki 0.5. Only a word that
// follows an option which nobody knows is compared with them: it is either the
// option's value or the command.
var commands = [...]string{
	"checkpoint", "create", "delete", "events", "exec", "features", "help", "info", "init", "kill", "list",
	"mounts", "pause", "ps", "restore", "resume", "run", "spec", "start", "state", "update",
}

// globals are the global options of these runtimes that take a value, and
// flags those that take none.
var (
	globals = [...]string{"cgroup-manager", "criu", "l", "log", "log-format", "log-level", "r", "root", "rootless"}
	flags   = [...]string{"?", "V", "d", "debug", "h", "help", "s", "systemd-cgroup", "usage", "v", "version"}
)

// values are the options of create and run that take a value.
var values = [...]string{"b", "bundle", "config", "console-socket", "f", "pid-file", "pidfd-socket", "preserve-fds"}

// ParseArgs reads a command line of runc or crun, without the program's name.
// Options may be written --name value, --name=value and, as Go's flag package
// has it, with one dash. What it does not know is passed over.
func ParseArgs(args []string) Call {
	c, _ := parseArgs(args)
	return c
}

// parseArgs also says where the words behind the command begin.
func parseArgs(args []string) (Call, int) {
	var c Call
	i := 0
	for i < len(args) && strings.HasPrefix(args[i], "-") && args[i] != "--" {
		name, value, has := option(args[i])
		i++
		if !has && i < len(args) && takesValue(name, args[i]) {
			value = args[i]
			i++
		}
		switch name {
		case "log", "l":
			c.Log = value
		case "log-format":
			c.LogFormat = value
		case "h", "help", "?", "usage", "v", "version", "V":
			return Call{}, len(args) // prints something and ends, whatever follows
		}
	}
	if i < len(args) && args[i] == "--" {
		i++
	}
	if i >= len(args) {
		return c, len(args)
	}
	c.Command = args[i]
	c.Starts = c.Command == "create" || c.Command == "run"
	if c.Starts {
		c.options(args[i+1:])
	}
	return c, i + 1
}

// takesValue reports that the word after a global option is its value.
func takesValue(name, next string) bool {
	switch {
	case slices.Contains(globals[:], name):
		return true
	case slices.Contains(flags[:], name), strings.HasPrefix(next, "-"):
		return false
	default:
		return !slices.Contains(commands[:], next)
	}
}

// options reads those of create and run. runc takes them behind the container's
// name, too.
func (c *Call) options(args []string) {
	for i := 0; i < len(args) && args[i] != "--"; i++ {
		if !strings.HasPrefix(args[i], "-") {
			continue
		}
		name, value, has := option(args[i])
		if short := strings.TrimPrefix(args[i], "-"); !has && len(short) > 1 && !slices.Contains(values[:], name) && (short[0] == 'b' || short[0] == 'f') {
			name, value, has = short[:1], short[1:], true // crun's -bDIR
		}
		if !has && i+1 < len(args) && slices.Contains(values[:], name) {
			i++
			value = args[i]
		}
		switch name {
		case "bundle", "b":
			c.Bundle = value
		case "config", "f":
			c.Config = value
		case "help", "h", "?", "usage":
			c.Starts = false
		}
	}
}

// option takes a word with dashes apart.
func option(word string) (name, value string, has bool) {
	return strings.Cut(strings.TrimPrefix(strings.TrimPrefix(word, "-"), "-"), "=")
}
