// Package logfile makes the logger.
//
// The file is opened at the first line that is written: a container without a
// GPU costs nothing. A log that cannot be written never fails a container and
// never prints a word; its lines are dropped. Only a regular file is written
// to, and no link or file that somebody planted in a directory that others can
// write to.
//
// It keeps no global logger and rotates nothing: every process opens the file
// anew, so moving it away is enough. The first line must be logged in the
// host's mount namespace, which is where the file is. It needs no particular
// kernel.
package logfile
