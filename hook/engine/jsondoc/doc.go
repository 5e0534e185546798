// Package jsondoc changes single members of a JSON file and leaves every other
// byte where it was: order, indentation, number forms and line ends.
//
// [Parse] accepts exactly one JSON object, with or without a byte order mark.
// It refuses comments and duplicate keys, each with its line: programs that
// read such a file disagree about what it says, so no edit of it is safe. An
// empty file is an empty object.
//
// It does not reformat, does not sort, and writes no file. It needs no
// particular kernel.
package jsondoc
