package keeper

import (
	"encoding/binary"
	"fmt"
	"os"
	"runtime"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	stackSize = 16 << 10
	helpers   = 15 // that close descriptors beside the keeper
	most      = 32 << 10
)

// A desk is what hawk and its keeper have in common. It lies in a mapping of
// its own, which does not move and which no collector frees.
type desk struct {
	wait     [2]unix.PollFd // the bell, the end of hawk
	answered uintptr        // an eventfd: a call is done
	count    uint64         // what is read from and written to eventfds
	nr       uintptr        // the system call asked for; finish: none
	args     [6]uintptr
	result   uintptr
	errno    uintptr

	stacks uintptr     // of the helpers
	begin  uintptr     // where they begin
	kept   uint64      // how many of links are given
	next   uint64      // of links, to be closed
	top    uint64      // above all of links
	links  [most]int32 // descriptors that the keeper closes last
	held   [most]bool  // by descriptor: it is one of links
	name   [16]byte
	root   [2]byte
}

// finish, as a system call, has the keeper close the links and end.
const finish = ^uintptr(0)

// A Keeper is a process that makes system calls for this one.
type Keeper struct {
	mu                 sync.Mutex
	region             []byte
	desk               *desk
	pid                int
	bell, answer, hawk int // descriptors: two eventfds, this process
	process            int // descriptor of the keeper
	gone               bool
}

// Start starts a keeper.
func Start() (*Keeper, error) {
	k := &Keeper{bell: -1, answer: -1, hawk: -1, process: -1}
	if err := k.start(); err != nil {
		k.free()
		return nil, fmt.Errorf("cannot start the keeper of attachments: %w", err)
	}
	return k, nil
}

func (k *Keeper) start() (err error) {
	size := (int(unsafe.Sizeof(desk{})) + 4095) &^ 4095
	prot, flags := unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS
	if k.region, err = unix.Mmap(-1, 0, size+(helpers+1)*stackSize, prot, flags); err != nil {
		return err
	}
	for _, fd := range []*int{&k.bell, &k.answer} {
		if *fd, err = unix.Eventfd(0, unix.EFD_CLOEXEC); err != nil {
			return err
		}
	}
	if k.hawk, err = unix.PidfdOpen(os.Getpid(), 0); err != nil {
		return err
	}
	d := (*desk)(unsafe.Pointer(&k.region[0]))
	d.wait = [2]unix.PollFd{{Fd: int32(k.bell), Events: unix.POLLIN}, {Fd: int32(k.hawk), Events: unix.POLLIN}}
	d.answered = uintptr(k.answer)
	d.stacks = uintptr(unsafe.Pointer(&k.region[0])) + uintptr(size)
	d.begin = entry(begin)
	copy(d.name[:], "hawk-keeper")
	d.root[0] = '/'
	k.desk = d

	// No signal may be handled in the keeper, which has no runtime.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	all, mask := ^uint64(0), uint64(0)
	unix.RawSyscall6(unix.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK, uintptr(unsafe.Pointer(&all)),
		uintptr(unsafe.Pointer(&mask)),
		unsafe.Sizeof(all), 0, 0)
	r := clone(unix.CLONE_VM|unix.CLONE_FILES|unix.CLONE_FS, d.stack(helpers), d, keep, d.begin)
	unix.RawSyscall6(unix.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK, uintptr(unsafe.Pointer(&mask)), 0,
		unsafe.Sizeof(all), 0, 0)
	if r < 0 {
		return unix.Errno(-r)
	}
	k.pid = int(r)
	if k.process, err = unix.PidfdOpen(k.pid, 0); err != nil {
		unix.Kill(k.pid, unix.SIGKILL)
		k.reap()
	}
	return err
}

// Call makes a system call in the keeper, or in this process if the keeper has
// been killed. Memory that the arguments point to must not move.
func (k *Keeper) Call(nr, a, b, c, d, e uintptr) (uintptr, unix.Errno) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.desk.nr, k.desk.args, k.desk.errno = nr, [6]uintptr{a, b, c, d, e}, uintptr(unix.EINTR)
	if !k.gone && k.ask() {
		return k.desk.result, unix.Errno(k.desk.errno)
	}
	r, _, errno := unix.Syscall6(nr, a, b, c, d, e, 0)
	return r, errno
}

// ask rings the bell and waits for the answer, or for the keeper's end.
func (k *Keeper) ask() bool {
	k.ring()
	fds := []unix.PollFd{{Fd: int32(k.answer), Events: unix.POLLIN}, {Fd: int32(k.process), Events: unix.POLLIN}}
	for {
		_, err := unix.Poll(fds, -1)
		switch {
		case err != nil:
		case fds[0].Revents != 0:
			var b [8]byte
			unix.Read(k.answer, b[:])
			return true
		case fds[1].Revents != 0:
			k.gone = true
			k.reap()
			return false
		}
	}
}

func (k *Keeper) ring() {
	var one [8]byte
	binary.NativeEndian.PutUint64(one[:], 1)
	unix.Write(k.bell, one[:])
}

// Hold has the keeper close descriptors, by Finish or when this process ends.
// It reports whether it does; else they are the caller's as before.
func (k *Keeper) Hold(fds ...int) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	d := k.desk
	if k.gone || int(d.kept)+len(fds) > most {
		return false
	}
	for _, fd := range fds {
		if fd >= most {
			return false
		}
	}
	for _, fd := range fds {
		d.links[d.kept], d.held[fd] = int32(fd), true
		d.kept++
		d.top = max(d.top, uint64(fd)+1)
	}
	return true
}

// Finish closes what the keeper holds, and ends it.
func (k *Keeper) Finish() {
	k.mu.Lock()
	defer k.mu.Unlock()
	d := k.desk
	if !k.gone {
		d.nr = finish
		k.ring()
		fds := []unix.PollFd{{Fd: int32(k.process), Events: unix.POLLIN}}
		for _, err := unix.Poll(fds, -1); err == unix.EINTR; _, err = unix.Poll(fds, -1) {
		}
		k.reap()
	}
	for ; d.next < d.kept; d.next++ {
		unix.Close(int(d.links[d.next])) // the keeper was killed before it came to these
	}
	k.free()
}

// reap takes the keeper's end from the kernel; it sends no signal when it ends.
func (k *Keeper) reap() {
	for _, err := unix.Wait4(k.pid, nil, unix.WALL, nil); err == unix.EINTR; _,
		err = unix.Wait4(k.pid, nil, unix.WALL, nil) {
	}
}

func (k *Keeper) free() {
	for _, fd := range []int{k.bell, k.answer, k.hawk, k.process} {
		if fd >= 0 {
			unix.Close(fd)
		}
	}
	if k.region != nil {
		unix.Munmap(k.region)
	}
	k.gone = true
}
