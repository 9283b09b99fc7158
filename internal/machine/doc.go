// Package machine is what hawk knows of the machine being traced: its
// architecture, types, tracepoints, functions, symbols and what its kernel
// can do. A compile depends on nothing else of the outside world.
//
// Everything is read when it is first asked for and then kept; a Machine that
// nobody asks costs nothing. Host is the machine hawk runs on; Recorded is a
// directory with recorded files under the paths they have on a machine, for
// tests:
//
//	uname                         machine and release: "x86_64 6.12.0"
//	features                      names of the kernel features, one a line;
//	                              without this file there are all of them
//	sys/kernel/btf/vmlinux
//	sys/kernel/tracing/available_events, available_filter_functions
//	sys/kernel/tracing/events/CATEGORY/EVENT/format
//	proc/kallsyms
//	sys/devices/system/cpu/possible, online
package machine
