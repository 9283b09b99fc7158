// Package keeper makes attachments outlive the process that asked for them, by
// as long as it takes to undo them well.
//
// The kernel puts a breakpoint into a program, and takes it out again, by
// walking the memory of all processes that map the file. A task that is being
// killed cannot do that: each page it asks for is refused with EINTR. So a hawk
// that is killed while it attaches or detaches leaves breakpoints and
// semaphores behind ("failed to unregister, leaking uprobe"), and nobody can
// put anything else there until the machine starts anew.
//
// A keeper is a process that shares hawk's memory, descriptors and directory, and
// nothing else: it is a session of its own, so that signals for hawk's group or
// terminal do not reach it. It makes the system calls that must not be cut
// short, and when hawk has ended, in whatever way, it closes what is left.
// Closing some links takes tens of milliseconds, for which nobody waits then.
//
// It has no Go runtime. All that runs in it is the code of serve.go, which
// makes system calls on memory that was laid out before.
package keeper
