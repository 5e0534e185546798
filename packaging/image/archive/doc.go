// Package archive writes container images as docker-archives: the form that
// "docker load", "podman load" and "ctr images import" read, with no registry.
//
// An image is one layer that holds the files given, a configuration and a
// manifest. The same files give the same bytes: no time, no owner and no order
// of the file system gets in. It reads no image and needs no particular kernel.
package archive
