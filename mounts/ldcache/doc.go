// Package ldcache reads and writes the dynamic loader's cache,
// /etc/ld.so.cache, in the three formats that glibc's ldconfig has written:
// old ("ld.so-1.7.0"), new ("glibc-ld.so.cache1.1") and compat, which is the
// old one with the new one behind it.
//
// What it does: [Parse] is as mild as ld.so itself. What ld.so would not use
// is [ErrRejected]; what ld.so can use only in part parses, and
// [Cache.Damage] says so. [Cache.Merge] puts entries in front of those that
// are there, and [Cache.Encode] writes the new format alone, which every
// glibc since 2.2 reads, in the order that the loader's binary search needs.
//
// What it refuses to do: it opens no file, writes none and runs no ldconfig.
// Where a cache lies and whether it may be replaced is for its callers:
// package loader in the container, package driver on the host.
//
// Which kernel it needs: none, it is plain Go on bytes. Caches are read and
// written little endian; every machine with an NVIDIA driver of this decade
// is.
//
// The sources of the format are glibc's own: elf/cache.c, elf/dl-cache.c and
// sysdeps/generic/dl-cache.h; where they leave a choice, what the loaders of
// glibc 2.27 to 2.43 were seen to do decides.
package ldcache
