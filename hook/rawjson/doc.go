// Package rawjson adds members and elements to a JSON text and leaves every
// other byte as it is: unknown members, their order, numbers that no Go type
// holds.
//
// It walks only along the path of what is added, so that editing a container's
// config.json of 50 kB takes a tenth of a millisecond and builds no tree.
//
// It does not judge the text: what it walks past is only matched by brackets and
// quotes, and callers have decoded what they read of it. A path on which a key
// stands twice, or in another case, is refused: runtimes disagree about which
// one counts. It removes nothing and writes no file. It needs no particular
// kernel.
package rawjson
