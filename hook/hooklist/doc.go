// Package hooklist reads the hooks of a config.json and says which of them give
// GPUs to the container: ours, and those of NVIDIA's toolkit, by their names.
//
// It tells the runtime wrapper whether there is anything left to add, and the
// hook which devices all entries of a container name together. It changes
// nothing and looks at no file. It needs no particular kernel.
package hooklist
