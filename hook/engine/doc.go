// Package engine makes container engines call gpu-hook: it edits the
// configuration of Docker, containerd, CRI-O and Podman, and undoes the edit.
//
// [Configure] reads everything first and refuses what it does not understand
// with the line: comments and duplicate keys in daemon.json, versions of
// containerd's file that it does not know, files that are not gpu-hook's at
// gpu-hook's places. Only then it writes: each file beside itself and renamed,
// with the same mode and owner, through a link to the file it leads to, and a
// copy of what there was beside it (the name and [BackupSuffix]). What is not
// ours keeps its bytes. A second run finds nothing to do.
//
// It starts no engine and restarts none, and removes nothing that is not its
// own: the report says what remains to do. It needs no particular kernel.
package engine
