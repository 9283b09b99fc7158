package bpf

import (
	"errors"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// MultiReturn is the flag of KprobeMulti and UprobeMulti for return probes.
const MultiReturn = 1

// KprobeMulti attaches to many kernel functions at once, by name or by
// address. The kernel refuses all if it refuses one: ESRCH for an unknown
// name, ENOENT for a function that cannot be traced.
type KprobeMulti struct {
	Flags   uint32
	Names   []string
	Addrs   []uint64 // instead of Names
	Cookies []uint64 // one per function, or nil
}

// Link attaches; attach is AttachKprobeMulti or AttachKprobeSession, as the
// program was loaded.
func (k *KprobeMulti) Link(progFD int, attach AttachType) (int, error) {
	attr := struct {
		prog, target, attach, linkFlags uint32
		flags, count                    uint32
		names, addrs, cookies           unsafe.Pointer
	}{prog: uint32(progFD), attach: uint32(attach), flags: k.Flags}
	if len(k.Cookies) > 0 {
		attr.cookies = unsafe.Pointer(&k.Cookies[0])
	}
	if len(k.Addrs) > 0 {
		attr.addrs, attr.count = unsafe.Pointer(&k.Addrs[0]), uint32(len(k.Addrs))
	} else if len(k.Names) > 0 {
		names := make([]unsafe.Pointer, len(k.Names))
		for i, n := range k.Names {
			names[i] = cstring(n)
		}
		attr.names, attr.count = unsafe.Pointer(&names[0]), uint32(len(names))
	}
	return call(cmdLinkCreate, unsafe.Pointer(&attr), unsafe.Sizeof(attr))
}

// UprobeMulti attaches to many places of one file.
type UprobeMulti struct {
	Path       string
	Flags      uint32
	PID        int      // 0: all processes
	Offsets    []uint64 // in the file, bytes
	Semaphores []uint64 // file offsets of reference counters, 0 for none; or nil
	Cookies    []uint64 // one per offset, or nil
}

// Link attaches a program that was loaded for AttachUprobeMulti.
func (u *UprobeMulti) Link(k Kernel, progFD int) (int, error) {
	attr := &struct {
		prog, target, attach, linkFlags uint32
		path, offsets, refs, cookies    unsafe.Pointer
		count, flags, pid, _            uint32
	}{prog: uint32(progFD), attach: uint32(AttachUprobeMulti), path: cstring(u.Path),
		count: uint32(len(u.Offsets)), flags: u.Flags, pid: uint32(u.PID)}
	if len(u.Offsets) > 0 {
		attr.offsets = unsafe.Pointer(&u.Offsets[0])
	}
	if len(u.Semaphores) > 0 {
		attr.refs = unsafe.Pointer(&u.Semaphores[0])
	}
	if len(u.Cookies) > 0 {
		attr.cookies = unsafe.Pointer(&u.Cookies[0])
	}
	var pin runtime.Pinner
	defer pin.Unpin()
	pin.Pin(attr)
	return retried(cmdLinkCreate, func() (uintptr, unix.Errno) {
		return k.call(unix.SYS_BPF, cmdLinkCreate, uintptr(unsafe.Pointer(attr)), unsafe.Sizeof(*attr), 0, 0)
	})
}

// PerfEventOpen opens a perf event with close-on-exec set; attr.Size is
// filled in. A name, if it is not "", is what attr.Ext1 is to point to: the
// function of a kprobe, the file of a uprobe.
func PerfEventOpen(k Kernel, attr *unix.PerfEventAttr, name string, pid, cpu int) (int, error) {
	var pin runtime.Pinner
	defer pin.Unpin()
	pin.Pin(attr)
	if name != "" {
		// The address is in attr as a number: nothing else would keep the bytes
		// in their place, on a stack that may grow least of all.
		text := append([]byte(name), 0)
		pin.Pin(&text[0])
		attr.Ext1 = uint64(uintptr(unsafe.Pointer(&text[0])))
	}
	attr.Size = uint32(unsafe.Sizeof(*attr))
	fd, errno := k.call(unix.SYS_PERF_EVENT_OPEN, uintptr(unsafe.Pointer(attr)), uintptr(pid),
		uintptr(cpu), ^uintptr(0),
		unix.PERF_FLAG_FD_CLOEXEC)
	if errno != 0 {
		return -1, errno
	}
	return int(fd), nil
}

// LinkPerfEvent makes a link of a program and a perf event, which Linux can
// since 5.15.
func LinkPerfEvent(event, progFD int, cookie uint64) (int, error) {
	attr := struct {
		prog, target, attach, flags uint32
		cookie                      uint64
	}{uint32(progFD), uint32(event), uint32(AttachPerfEvent), 0, cookie}
	return call(cmdLinkCreate, unsafe.Pointer(&attr), unsafe.Sizeof(attr))
}

// A PerfLink is a program attached to a perf event. It owns both descriptors.
type PerfLink struct {
	event, link int // link is -1 where the kernel has no links for perf events
	kernel      Kernel
}

// AttachPerf attaches a program to a perf event and enables the event. The
// link owns event; on error event is closed. A cookie other than 0 needs
// Linux 5.15.
func AttachPerf(k Kernel, event, progFD int, cookie uint64) (*PerfLink, error) {
	link, err := LinkPerfEvent(event, progFD, cookie)
	if errors.Is(err, unix.EINVAL) && cookie == 0 {
		// Before 5.15 a program is attached by ioctl and lives as long as the
		// event.
		link = -1
		err = unix.IoctlSetInt(event, unix.PERF_EVENT_IOC_SET_BPF, progFD)
	}
	if err == nil {
		err = unix.IoctlSetInt(event, unix.PERF_EVENT_IOC_ENABLE, 0)
	}
	l := &PerfLink{event, link, k}
	if err != nil {
		l.Close()
		return nil, err
	}
	return l, nil
}

// Descriptors are what the attachment lives by.
func (l *PerfLink) Descriptors() []int {
	if l.link < 0 {
		return []int{l.event}
	}
	return []int{l.link, l.event}
}

// Close detaches.
func (l *PerfLink) Close() error {
	var err error
	for _, fd := range l.Descriptors() {
		err = errors.Join(err, l.kernel.Close(fd))
	}
	return err
}

// linkInfo is struct bpf_link_info, of the links that know what they missed.
type linkInfo struct {
	typ, id, prog, _ uint32
	kind             uint32 // of a perf event's link: what the event is
	_                [3]uint32
	multi            uint64 // what a link of many kprobes missed
	_                uint64
	perf             uint64 // what a kprobe missed
	_                uint64
}

// LinkMissed is how many events did not get as far as the program of a link: calls of
// a function that found no room to note where they return to, probes that were hit
// inside another one. Linux counts them for kprobes and says so since 6.7; it is 0
// for all other links.
func LinkMissed(fd int) uint64 {
	const linkPerf, linkMulti, eventKprobe, eventKretprobe = 7, 8, 3, 4
	var info linkInfo
	err := objInfo(fd, unsafe.Pointer(&info), unsafe.Sizeof(info))
	switch {
	case err != nil:
		return 0
	case info.typ == linkMulti:
		return info.multi
	case info.typ == linkPerf && (info.kind == eventKprobe || info.kind == eventKretprobe):
		return info.perf
	}
	return 0
}

// LinkIter makes a link of an iterator program. info is the union
// bpf_iter_link_info, all zero for an iterator that needs to be told nothing.
func LinkIter(progFD int, info [3]uint32) (int, error) {
	attr := struct {
		prog, target, attach, flags uint32
		info                        unsafe.Pointer
		size                        uint32
		_                           uint32
	}{prog: uint32(progFD), attach: uint32(AttachIter)}
	if info != [3]uint32{} {
		attr.info, attr.size = unsafe.Pointer(&info), uint32(unsafe.Sizeof(info))
	}
	return call(cmdLinkCreate, unsafe.Pointer(&attr), unsafe.Sizeof(attr))
}

// IterCreate makes the file whose reading runs an iterator's program.
func IterCreate(link int) (int, error) {
	attr := struct{ link, flags uint32 }{link: uint32(link)}
	return call(cmdIterCreate, unsafe.Pointer(&attr), unsafe.Sizeof(attr))
}

// Pin gives a program, map or link a name in a BPF file system.
func Pin(fd int, path string) error {
	attr := struct {
		path      unsafe.Pointer
		fd, flags uint32
	}{path: cstring(path), fd: uint32(fd)}
	_, err := call(cmdObjPin, unsafe.Pointer(&attr), unsafe.Sizeof(attr))
	return err
}
