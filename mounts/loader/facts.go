package loader

import (
	"debug/elf"
	"fmt"

	"github.com/gpu-hook/gpu-hook/mounts/ldcache"
)

// Kind is the C library of a container.
type Kind int

const (
	// None means that no loader was found: static programs, or a place that
	// no distribution uses.
	None Kind = iota
	// Glibc reads /etc/ld.so.cache.
	Glibc
	// Musl reads /etc/ld-musl-ARCH.path.
	Musl
)

// String returns the name used in plans and logs.
func (k Kind) String() string { return word(int(k), "none", "glibc", "musl") }

// CacheState is what /etc/ld.so.cache is to glibc's loader.
type CacheState int

const (
	// CacheAbsent: nothing there, or a link that leads nowhere.
	CacheAbsent CacheState = iota
	// CacheGood: the loader uses all of it.
	CacheGood
	// CacheDamaged: the loader finds only a part. A repaired cache would
	// change what programs get, so it is left alone.
	CacheDamaged
	// CacheRejected: the loader does without it; it may be replaced.
	CacheRejected
	// CacheTooLarge: above [MaxCache]; left alone.
	CacheTooLarge
	// CacheNotFile: a directory, a FIFO or a device; left alone.
	CacheNotFile
	// CacheForeign: the file is a mount of its own; left alone.
	CacheForeign
	// CacheUnreadable: reading it was an error; left alone.
	CacheUnreadable
)

// String returns the name used in plans and logs.
func (s CacheState) String() string {
	return word(int(s), "absent", "good", "damaged", "rejected", "too-large", "not-a-file", "foreign", "unreadable")
}

// EtcState says whether files in the container's /etc may be written.
type EtcState int

const (
	// EtcOwn: a directory of the container's own.
	EtcOwn EtcState = iota
	// EtcAbsent: missing, and can be made.
	EtcAbsent
	// EtcForeign: on another mount than the root, perhaps a user's volume.
	EtcForeign
	// EtcReadOnly: on a file system that is itself read-only.
	EtcReadOnly
	// EtcNotDirectory: a file, a loop or a link that leads nowhere.
	EtcNotDirectory
)

// String returns the name used in plans and logs.
func (s EtcState) String() string {
	return word(int(s), "own", "absent", "foreign", "read-only", "not-a-directory")
}

// Writable reports whether [Update.Apply] writes there.
func (s EtcState) Writable() bool { return s == EtcOwn || s == EtcAbsent }

// Facts is what a container's root says of its loader. The zero value is a
// root without one.
type Facts struct {
	Kind Kind
	// Machine is the host's unless the image is seen to be for another one;
	// then nothing else is set but for a 32-bit image on a 64-bit host.
	Machine elf.Machine
	// LibDir is the directory in which libc.so.6 of the host's machine lies
	// (musl: its loader), as the container sees it, links resolved. Links
	// there are found without any cache. It is empty if there is none.
	LibDir string
	// LibDir32 is the same for the 32-bit programs that the machine runs.
	LibDir32 string
	// MuslPath is the path file of musl's loader, whether it exists or not.
	MuslPath string
	Cache    CacheState
	// CacheFault is why the cache is not good, nil if it is or is absent.
	CacheFault error
	Etc        EtcState

	cache *ldcache.Cache // where the state is CacheGood or CacheDamaged
}

// Action returns what [Update.Apply] does about the cache: "merge", "write" a
// new one, "leave" it, or "none" where no cache is read.
func (f Facts) Action() string {
	switch {
	case f.Kind != Glibc:
		return "none"
	case !f.Etc.Writable():
		return "leave"
	case f.Cache == CacheGood:
		return "merge"
	case f.Cache == CacheAbsent, f.Cache == CacheRejected:
		return "write"
	}
	return "leave"
}

func word(n int, words ...string) string {
	if n >= 0 && n < len(words) {
		return words[n]
	}
	return fmt.Sprintf("state %d", n)
}
