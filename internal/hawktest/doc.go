// Package hawktest runs the kernel cases: scripts in testdata/script that start the real hawk,
// drive the kernel with real programs and check what hawk prints. The same files run on the running
// kernel (TestKernel) and inside VMs on other kernels (TestVM), where this package's own test
// binary is what runs them.
//
// A case is a txtar file for testscript, named area_case.txtar. Besides testscript's own commands
// it has these; a leading ! is accepted where a failure makes sense:
//
//	needs WORD...             what the case depends on (see Needs); else it is skipped here and runs elsewhere
//	varies WORD...            arch: the case shows what differs between architectures: registers, arguments, stacks,
//	                          unwinding, instructions, system calls, atomics, generated code, calling
//	                          conventions; kernel: what kernels do in ways of their own, from release to
//	                          release: leave behind, count, refuse, optimize. See Choices
//	[!] hawk [VAR=x] ARG... [&]  run hawk, or with & start it under the name hawk; $hawk is its pid
//	status N                  the last hawk or awaited process ended with this exit status
//	start NAME PROGRAM ARG... start a process; $NAME is its pid
//	waitattached [N]          wait until hawk has attached its probes (and their number is N)
//	until NAME STREAM REGEXP  wait until a process has printed something
//	signal SIGNAL NAME        send a signal: INT, TERM, USR1…
//	[!] await NAME            wait for the end of a process; stdout and stderr are then its output
//	match STREAM FILE         the output is what FILE shows: lines are literal but for {{regexp}}; a line "..." stands
//	                          for any lines
//	number STREAM REGEXP OP N compare the first group of the first match, N being a number or
//	                          a sum, 2+3: == != < <= > >=
//	peak < MEGABYTES          the most memory that the last hawk had
//	share STREAM REGEXP PERCENT N  of the samples in maps by stack, N at least, PERCENT at least have
//	                          stacks that match
//	rows FILE                 run the scripts of a table and compare all that they print (see parseRows)
//	capture NAME STREAM REGEXP [ELSE]  set $NAME to the first group of the first match, to ELSE without one
//	holdings NAME             note what a process has of the kernel: programs, maps, links
//	gone                      of what was noted nothing is left, nor does the kernel's log complain
//	kills N FILE              run the scripts of a file, one a line, N runs in all, and kill each at a random moment:
//	                          nothing is left
//	cc ARG...                 compile with the host's C compiler; in a VM, take what the host compiled.
//	                          Sources that several cases compile lie beside them
//	c++ ARG...                the same in C++
//	go -o OUT FILE...         the same in Go; programs can import package usdt of this module
//	rustc -o OUT FILE         the same in Rust
//	scratch NAME              make a disk of 64 MB that the case may write to; $NAME is its device
//	debian NAME PACKAGE...    unpack packages of Debian 12 with all that they depend on; $NAME is their root, and
//	                          programs find their libraries
//	debian -SUITE NAME PACKAGE...  the same of another release, whose programs run with $NAME as their root
//
// $CONTRIB is the module's directory of that name; VMs do not have it.
// STREAM is stdout, stderr or a file. Every condition of Needs can be used in brackets: [kprobe],
// [!kernel>=6.1]. A hawk that prints a Go stack trace fails the case, whatever it expects.
package hawktest
