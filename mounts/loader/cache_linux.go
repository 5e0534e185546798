package loader

import (
	"errors"
	"io/fs"

	"golang.org/x/sys/unix"

	"github.com/gpu-hook/gpu-hook/mounts"
	"github.com/gpu-hook/gpu-hook/mounts/ldcache"
)

// MaxCache is the limit on a loader cache in bytes. A cache of 10,000 entries,
// ten times a large image's, has 1 MB.
const MaxCache = 16 << 20

const (
	etcDir    = "/etc"
	cacheName = "ld.so.cache"
	cachePath = etcDir + "/" + cacheName
)

// readCache sets the cache's state, and its content where it can be used. A
// link is read through; when the cache is written, a file takes the link's
// place, as ldconfig does it.
func (f *Facts) readCache(r *mounts.Root) {
	data, err := r.ReadFile(cachePath, MaxCache)
	f.CacheFault = err
	switch {
	case err == nil:
		f.parse(data)
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, unix.ELOOP), errors.Is(err, unix.ENOTDIR):
		f.Cache, f.CacheFault = CacheAbsent, nil
		return
	case isTooLarge(err):
		f.Cache = CacheTooLarge
	case isWrongKind(err):
		f.Cache = CacheNotFile
	default:
		f.Cache = CacheUnreadable
	}
	if foreignFile(r, cachePath) {
		f.Cache, f.CacheFault = CacheForeign, &mounts.ForeignMountError{Path: cachePath}
	}
}

func (f *Facts) parse(data []byte) {
	cache, err := ldcache.Parse(data)
	if err != nil {
		f.Cache, f.CacheFault = CacheRejected, err
		return
	}
	f.cache = cache
	f.Cache = CacheGood
	if err := cache.Damage(); err != nil {
		f.Cache, f.CacheFault = CacheDamaged, err
	}
}

// foreignFile reports whether a name is itself a mount point, as when one file
// is bound into the container.
func foreignFile(r *mounts.Root, unsafePath string) bool {
	f, err := r.Lookup(unsafePath)
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }() // A handle that was only looked at.
	if own, err := r.Owns(f); err != nil || own {
		return false
	}
	_, err = r.Readlink(unsafePath)
	return err != nil
}

// etcState looks at /etc without changing anything.
func etcState(r *mounts.Root) EtcState {
	dir, err := r.Dir(etcDir)
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := r.Readlink(etcDir); err == nil {
			return EtcNotDirectory
		}
		if dir, err = r.Dir("/"); err != nil {
			return EtcNotDirectory
		}
		if readOnly(int(dir.Fd())) {
			return EtcReadOnly
		}
		return EtcAbsent
	}
	if err != nil {
		return EtcNotDirectory
	}
	if own, err := r.Owns(dir); err != nil || !own {
		return EtcForeign
	}
	if readOnly(int(dir.Fd())) {
		return EtcReadOnly
	}
	return EtcOwn
}

// readOnly reports a read-only mount or file system (fstatfs on O_PATH handles
// since Linux 3.12).
func readOnly(fd int) bool {
	var st unix.Statfs_t
	return unix.Fstatfs(fd, &st) == nil && st.Flags&unix.ST_RDONLY != 0
}

func isTooLarge(err error) bool {
	_, ok := errors.AsType[*mounts.TooLargeError](err)
	return ok
}

func isWrongKind(err error) bool {
	_, ok := errors.AsType[*mounts.WrongKindError](err)
	return ok
}
