// Package loader makes a container's dynamic loader find the driver.
//
// What it does: [Inspect] reads which C library a root has, where it lies and
// what its loader goes by; [Update.Apply] puts our libraries in front: in
// glibc's /etc/ld.so.cache and in /etc/ld.so.conf for the next ldconfig, or in
// musl's path file. [Shadowed] names the image's own files that still win.
//
// What it refuses to do: it runs nothing of the image, no ldconfig either. It
// writes only where /etc is the container's own; a user's volume, a read-only
// file system or a cache that ld.so can use only in part is left as it is,
// with a warning, since the links in the C library's directory carry the
// driver, too. It bind-mounts nothing over the loader's files: that breaks
// ldconfig ("Device or resource busy") and with it the package manager.
//
// Which kernel it needs: what package mounts needs.
package loader
