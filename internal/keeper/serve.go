package keeper

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// The jobs of a cloned task.
const (
	keep uintptr = iota
	help         // closing links beside the keeper
)

// clone starts a task on a stack that calls a function with d and task; it returns in
// this one, the number of the task or an error below 0. The function takes its arguments
// in registers: what Go puts in front of those that do not calls the race detector.
//
//go:noescape
func clone(flags, stack uintptr, d *desk, task, function uintptr) int

// stack is where the stack of a task begins, with room for what clone puts there.
//
//go:nosplit
//go:norace
//go:nocheckptr
func (d *desk) stack(n uintptr) uintptr { return d.stacks + (n+1)*stackSize - 64 }

// entry is the address of a function that takes its arguments in registers.
func entry(f func(*desk, uintptr)) uintptr { return **(**uintptr)(unsafe.Pointer(&f)) }

// begin is where a cloned task begins, which has no way back.
//
//go:nosplit
//go:norace
//go:nocheckptr
func begin(d *desk, task uintptr) {
	if task == keep {
		d.keep()
	}
	d.closeLinks()
	for {
		call(unix.SYS_EXIT, 0, 0, 0, 0, 0, 0)
	}
}

// call makes a system call and returns what the kernel does, an error below 0. It is
// not that of package syscall, which calls the race detector where that is built in: for
// the detector this task is the thread that cloned it, which goes on at the same time.
//
//go:noescape
func call(nr, a, b, c, d, e, f uintptr) int

// keep answers calls until hawk has ended or wants no more.
//
//go:nosplit
//go:norace
//go:nocheckptr
func (d *desk) keep() {
	call(unix.SYS_SETSID, 0, 0, 0, 0, 0, 0)
	call(unix.SYS_PRCTL, unix.PR_SET_NAME, uintptr(unsafe.Pointer(&d.name)), 0, 0, 0, 0)
	for {
		call(unix.SYS_PPOLL, uintptr(unsafe.Pointer(&d.wait)), uintptr(len(d.wait)), 0, 0, 0, 0)
		if d.wait[0].Revents&unix.POLLIN != 0 {
			call(unix.SYS_READ, uintptr(d.wait[0].Fd), uintptr(unsafe.Pointer(&d.count)), 8, 0, 0, 0)
			if d.nr == finish {
				break
			}
			r := call(d.nr, d.args[0], d.args[1], d.args[2], d.args[3], d.args[4], d.args[5])
			d.result, d.errno, d.count = uintptr(r), 0, 1
			if r < 0 && r > -4096 {
				d.result, d.errno = ^uintptr(0), uintptr(-r)
			}
			call(unix.SYS_WRITE, d.answered, uintptr(unsafe.Pointer(&d.count)), 8, 0, 0, 0)
		} else if d.wait[0].Revents|d.wait[1].Revents != 0 { // another keeper may have closed the bell: hawk has ended
			d.letGo()
			break
		}
	}
	const thread = unix.CLONE_VM | unix.CLONE_FILES | unix.CLONE_FS | unix.CLONE_SIGHAND | unix.CLONE_THREAD
	for i := uintptr(0); i < helpers && uint64(4*i+4) < d.kept; i++ {
		clone(thread, d.stack(i), d, help, d.begin)
	}
}

// letGo closes all but the links and leaves the directory, so that pipes,
// terminals, files and file systems do not wait for them.
//
//go:nosplit
//go:norace
//go:nocheckptr
func (d *desk) letGo() {
	call(unix.SYS_CHDIR, uintptr(unsafe.Pointer(&d.root)), 0, 0, 0, 0, 0)
	for fd := uint64(0); fd < d.top; fd++ {
		if !d.held[fd&(most-1)] {
			call(unix.SYS_CLOSE, uintptr(fd), 0, 0, 0, 0, 0)
		}
	}
	call(unix.SYS_CLOSE_RANGE, uintptr(d.top), uintptr(^uint32(0)), 0, 0, 0, 0)
}

// closeLinks closes links that nobody else has taken upon itself. Helpers take
// most of them, since the kernel waits for all CPUs on each of some kinds.
//
//go:nosplit
//go:norace
//go:nocheckptr
func (d *desk) closeLinks() {
	for {
		n := take(&d.next)
		if n >= d.kept {
			return
		}
		call(unix.SYS_CLOSE, uintptr(d.links[n&(most-1)]), 0, 0, 0, 0, 0)
	}
}

// take adds one to a number and returns what it was.
//
//go:noescape
func take(n *uint64) uint64
