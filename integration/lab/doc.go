// Package lab builds what the integration tests run on: stand-in hosts with
// NVIDIA's real files, container roots, bundles and the boxes (private mount
// namespaces with a cgroup layout of their own) in which runtimes run them.
//
// What has to be downloaded or compiled is made once, in the folder that
// [Cache] names, outside the source tree; file locks let the test processes of
// several packages share it. NVIDIA's files are proprietary: they come from
// Debian's archive at test time and are never committed.
//
// The package changes nothing on the machine but that cache: mounts are made
// in private namespaces, cgroups have names of their own and are removed.
// It decides nothing about skipping: that is package need. It needs Linux 4.18.
package lab
