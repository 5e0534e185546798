// Package config reads /etc/gpu-hook/config.toml.
//
// [Load] returns the defaults where the file is absent, and refuses unknown
// keys and words with the line they stand on: a setting that was misspelt is
// never silently ignored. The values are checked as text; whether a directory
// exists is for those who open it.
//
// It does not read NVIDIA's own configuration file and no environment
// variable. It needs no particular kernel.
package config
