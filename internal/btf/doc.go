// Package btf reads the BPF type format of the kernel and its modules.
//
// It is made for start-up speed: opening a blob looks at its header only,
// finding a name searches the string section and walks the raw type records,
// and a type is converted to the type model when it is asked for. Nothing is
// decoded ahead of need, and an index of all names is built only once several
// names have been looked up.
//
// Terms: a type ID counts type records from 1, 0 is void. A split blob (a
// module's) continues the IDs and string offsets of its base (vmlinux).
// The format is described in the kernel's Documentation/bpf/btf.rst. Blobs
// are untrusted: every access is bounded and malformed records give errors.
package btf
