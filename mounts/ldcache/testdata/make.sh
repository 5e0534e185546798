#!/bin/sh
# Makes the caches in this directory: tiny libraries of our own, and the
# ldconfig named by $LDCONFIG (the machine's own if unset). Needs gcc.
# The committed files are of glibc 2.36 (Debian 12), those named 2.31 of
# glibc 2.31 (Debian 11).
set -eu
out=$(cd "$(dirname "$0")" && pwd)
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
mkdir -p "$root/etc" "$root/lib" "$root/opt/own/lib" "$root/opt/own/glibc-hwcaps"

library() { # library BITS DIRECTORY SONAME [OPTION...]
	bits=$1 dir=$root/$2 name=$3
	shift 3
	mkdir -p "$dir"
	echo 'int answer(void) { return 42; }' |
		gcc -x c - "-m$bits" -shared -nostdlib -Wl,-soname,"$name" "$@" -o "$dir/$name"
}
library 64 lib libone.so.1
library 64 lib libone.so.10
library 64 lib libone.so.9
library 64 lib libcuda.so.1
library 64 lib libbig.so.3000000000
library 64 lib libbig.so.5
library 64 lib libb_x.so.1
library 64 lib libb-x.so.1
library 64 lib libb1x.so.1
library 64 lib libb.so.1
library 64 opt/own/lib libone.so.1
library 64 opt/own/lib libtwo.so.2
library 32 opt/own/lib32 libone.so.1
library 32 opt/own/lib32 libthree.so.3
printf '/opt/own/lib\n/opt/own/lib32\n' >"$root/etc/ld.so.conf"

cache() { # cache FORMAT NAME
	"${LDCONFIG:-/sbin/ldconfig}" -r "$root" -X -c "$1" -C /etc/cache
	cp "$root/etc/cache" "$out/$2.cache"
}
if [ $# -gt 0 ]; then # make.sh SUFFIX: only what this release does differently
	for format in old compat new; do cache "$format" "$format-$1"; done
	rm "$root/lib/libb.so.1" # an odd number of entries
	cache old "odd-$1"
	mv "$out/odd-$1.cache" "$out/odd-$1.bad"
	exit
fi
for format in old compat new; do cache "$format" "$format"; done
library 64 opt/own/lib/glibc-hwcaps/x86-64-v3 libtwo.so.2 -Wl,-z,x86-64-v3
library 64 opt/own/lib/glibc-hwcaps/x86-64-v2 libtwo.so.2
library 64 opt/own/lib/glibc-hwcaps/x86-64-v2 libcuda.so.1
for format in compat new; do cache "$format" "hwcaps-$format"; done
