// Package load puts a compiled script into the kernel: it creates the maps,
// loads the programs and turns what the verifier has to say into diagnostics.
//
// Everything goes through plain system calls of package bpf: no feature is
// probed, no BTF of the kernel is read, and whatever exists lives by file
// descriptors alone, so that it is gone when hawk is, however it ends.
package load
