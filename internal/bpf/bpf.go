// Package bpf is the bpf(2) and perf_event_open(2) system calls with typed
// arguments, and nothing above them: no feature probing, no caching, no
// finalizers. File descriptors are plain numbers that the caller closes.
// Numbers and layouts are those of include/uapi/linux/bpf.h; every attribute
// is zero-padded, so that kernels from 5.10 on accept all of them.
package bpf

import (
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Commands of bpf(2).
const (
	cmdMapCreate         = 0
	cmdMapLookup         = 1
	cmdMapUpdate         = 2
	cmdMapDelete         = 3
	cmdMapNextKey        = 4
	cmdProgLoad          = 5
	cmdObjPin            = 6
	cmdTestRun           = 10
	cmdProgNextID        = 11
	cmdProgByID          = 13
	cmdObjInfo           = 15
	cmdRawTracepointOpen = 17
	cmdBTFLoad           = 18
	cmdBTFFDByID         = 19
	cmdMapFreeze         = 22
	cmdBTFNextID         = 23
	cmdMapLookupBatch    = 24
	cmdMapTakeBatch      = 25
	cmdMapDeleteBatch    = 27
	cmdLinkCreate        = 28
	cmdEnableStats       = 32
	cmdIterCreate        = 33
)

// NameLen is the longest object name the kernel keeps, in bytes.
const NameLen = 15

// A Kernel makes system calls in place of the calling thread, nil in it. What
// the arguments point to stays where it is until the call returns.
type Kernel func(nr, a, b, c, d, e uintptr) (uintptr, unix.Errno)

func (k Kernel) call(nr, a, b, c, d, e uintptr) (uintptr, unix.Errno) {
	if k != nil {
		return k(nr, a, b, c, d, e)
	}
	r, _, errno := unix.Syscall6(nr, a, b, c, d, e, 0)
	return r, errno
}

// Close closes a descriptor.
func (k Kernel) Close(fd int) error {
	if _, errno := k.call(unix.SYS_CLOSE, uintptr(fd), 0, 0, 0, 0); errno != 0 {
		return errno
	}
	return nil
}

// call runs a command in the calling thread.
func call(cmd int, attr unsafe.Pointer, size uintptr) (int, error) {
	return retried(cmd, func() (uintptr, unix.Errno) {
		r, _, errno := unix.Syscall(unix.SYS_BPF, uintptr(cmd), uintptr(attr), size)
		return r, errno
	})
}

// retried runs a command. EAGAIN means that a signal cut a long verification
// short, EINTR that one arrived before anything was done: both are retried.
// Before 5.11 maps and programs are charged against the limit of locked
// memory, which is small by default: it is lifted when it stands in the way.
func retried(cmd int, run func() (uintptr, unix.Errno)) (int, error) {
	for range 100 {
		r, errno := run()
		switch errno {
		case 0:
			return int(r), nil
		case unix.EINTR:
		case unix.EAGAIN:
			if cmd != cmdProgLoad {
				return -1, errno
			}
		case unix.EPERM:
			if cmd != cmdMapCreate && cmd != cmdProgLoad && cmd != cmdBTFLoad || !liftMemlock() {
				return -1, errno
			}
		default:
			return -1, errno
		}
	}
	return -1, unix.EINTR
}

// liftMemlock removes the limit of locked memory and says whether that may
// have changed anything.
func liftMemlock() bool {
	var old unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_MEMLOCK, &old) != nil || old.Cur == unix.RLIM_INFINITY {
		return false
	}
	return unix.Setrlimit(unix.RLIMIT_MEMLOCK, &unix.Rlimit{Cur: unix.RLIM_INFINITY, Max: unix.RLIM_INFINITY}) == nil ||
		unix.Setrlimit(unix.RLIMIT_MEMLOCK, &unix.Rlimit{Cur: old.Max, Max: old.Max}) == nil && old.Max > old.Cur
}

func bytesPtr(b []byte) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(b)) }

// cstring returns a NUL-terminated copy.
func cstring(s string) unsafe.Pointer {
	b := make([]byte, len(s)+1)
	copy(b, s)
	return unsafe.Pointer(&b[0])
}

// objName makes a name the kernel accepts: letters, digits, '_' and '.'.
func objName(s string) (out [NameLen + 1]byte) {
	for i := 0; i < len(s) && i < NameLen; i++ {
		c := s[i]
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '_', c == '.':
		default:
			c = '_'
		}
		out[i] = c
	}
	return out
}

// An FD is a file descriptor that Close gives back; it serves as a link where
// an attachment lives as long as one descriptor.
type FD int

// Close closes the descriptor.
func (fd FD) Close() error { return unix.Close(int(fd)) }

// Descriptors are what the attachment lives by.
func (fd FD) Descriptors() []int { return []int{int(fd)} }

// A HeldFD is an FD that a kernel closes.
type HeldFD struct {
	FD
	Kernel Kernel
}

// Close closes the descriptor.
func (h HeldFD) Close() error { return h.Kernel.Close(int(h.FD)) }

// RawTracepointOpen attaches a program to a raw tracepoint by name; for
// programs loaded with a BTF ID (tp_btf, fentry, fexit) name is "". The
// descriptor is the attachment. cookie needs Linux 6.10 unless it is 0.
func RawTracepointOpen(name string, progFD int, cookie uint64) (int, error) {
	attr := struct {
		name   unsafe.Pointer
		prog   uint32
		_      uint32
		cookie uint64
	}{prog: uint32(progFD), cookie: cookie}
	if name != "" {
		attr.name = cstring(name)
	}
	return call(cmdRawTracepointOpen, unsafe.Pointer(&attr), unsafe.Sizeof(attr))
}

// BTFLoad loads a BTF blob. Without log the kernel says only EINVAL; log, if
// not empty, receives its reasons.
func BTFLoad(raw, log []byte) (int, error) {
	attr := struct {
		btf, log         unsafe.Pointer
		size, logSize    uint32
		logLevel, unused uint32
	}{btf: bytesPtr(raw), size: uint32(len(raw))}
	if len(log) > 0 {
		attr.log, attr.logSize, attr.logLevel = bytesPtr(log), uint32(len(log)), 1
	}
	fd, err := call(cmdBTFLoad, unsafe.Pointer(&attr), unsafe.Sizeof(attr))
	runtime.KeepAlive(raw)
	return fd, err
}

// BTFByID opens a BTF object of the kernel, such as a module's.
func BTFByID(id uint32) (int, error) {
	attr := struct{ id, next, flags uint32 }{id: id}
	return call(cmdBTFFDByID, unsafe.Pointer(&attr), unsafe.Sizeof(attr))
}

// BTFInfo describes a BTF object of the kernel.
type BTFInfo struct {
	ID     uint32
	Name   string // "vmlinux" or the module
	Kernel bool   // of the kernel or a module, not loaded by a process
}

// BTFObjects visits all BTF objects until f returns false; fd is open during
// the call only.
func BTFObjects(f func(fd int, info BTFInfo) bool) error {
	return eachID(cmdBTFNextID, BTFByID, func(fd int) (more bool, err error) {
		var name [64]byte
		info := btfInfo{name: unsafe.Pointer(&name[0]), nameLen: uint32(len(name))}
		if err := objInfo(fd, unsafe.Pointer(&info), unsafe.Sizeof(info)); err != nil {
			return false, err
		}
		return f(fd, BTFInfo{ID: info.id, Name: unix.ByteSliceToString(name[:]), Kernel: info.kernel != 0}), nil
	})
}

// btfInfo is struct bpf_btf_info.
type btfInfo struct {
	data     unsafe.Pointer
	size, id uint32
	name     unsafe.Pointer
	nameLen  uint32
	kernel   uint32
}
