// Package tomldoc adds lines to a TOML file, changes single lines of it and
// takes its own changes out again, with every other byte left where it was.
//
// What is added stands between two comment lines, and a line that is changed
// is kept in a comment above: [Doc.Restore] needs nothing but the file itself
// to give back the bytes there were. Where another program has dropped the
// comments, [Doc.RemoveTable] and [Doc.RemoveKey] still find the lines.
//
// It does not reformat and does not judge what a key means: callers parse the
// result again and compare. It writes no file and needs no particular kernel.
package tomldoc
