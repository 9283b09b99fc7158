// Package kernel has the probes on functions, tracepoints and objects of the kernel:
// kprobe, kretprobe, fentry, fexit, tracepoint, rawtracepoint and iter.
package kernel
