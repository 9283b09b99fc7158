package target

import (
	"errors"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The few bpf(2) calls that feature probes make. Attributes are as in
// include/uapi/linux/bpf.h.

const (
	cmdMapCreate  = 0
	cmdProgLoad   = 5
	cmdLinkCreate = 28

	mapHash    = 1
	mapRingBuf = 27

	noPrealloc = 1
)

// Program types.
const (
	progKprobe     = 2
	progTracepoint = 5
	progPerfEvent  = 7
	progRawTP      = 17
	progTracing    = 26
)

// Attach types.
const (
	attachRawTP         = 23
	attachFentry        = 24
	attachPerfEvent     = 41
	attachKprobeMulti   = 42
	attachUprobeMulti   = 48
	attachKprobeSession = 56
)

type mapCreateAttr struct {
	mapType, keySize, valueSize, maxEntries, flags uint32
	innerMapFD, numaNode                           uint32
	name                                           [16]byte
}

type progLoadAttr struct {
	progType, insnCnt           uint32
	insns, license              uint64
	logLevel, logSize           uint32
	logBuf                      uint64
	kernVersion, flags          uint32
	name                        [16]byte
	ifindex, expectedAttachType uint32
	btfFD, funcInfoRecSize      uint32
	funcInfo                    uint64
	funcInfoCnt, lineRecSize    uint32
	lineInfo                    uint64
	lineInfoCnt, attachBTFID    uint32
	attachProgFD, coreReloCnt   uint32
}

// bpfCall makes a bpf(2) call, again when a signal cut it short.
func bpfCall(cmd uintptr, attr unsafe.Pointer, size uintptr) (int, error) {
	for try := 0; ; try++ {
		fd, _, errno := unix.Syscall(unix.SYS_BPF, cmd, uintptr(attr), size)
		if errno == 0 {
			return int(fd), nil
		}
		if errno != unix.EAGAIN && errno != unix.EINTR || try == 30 {
			return -1, errno
		}
	}
}

func createMap(typ, key, value, entries, flags uint32) (int, error) {
	a := mapCreateAttr{mapType: typ, keySize: key, valueSize: value, maxEntries: entries, flags: flags}
	return bpfCall(cmdMapCreate, unsafe.Pointer(&a), unsafe.Sizeof(a))
}

// A trial is a program that is loaded to see whether the kernel takes it.
type trial struct {
	progType uint32
	attach   uint32 // expected attach type
	btfID    uint32
	insns    []uint64
}

// load returns the program's descriptor, or the error and the verifier's
// log.
func (p *trial) load(wantLog bool) (fd int, log string, err error) {
	license := &[...]byte{'G', 'P', 'L', 0}
	// Attributes refer to Go memory by number: pin it for the call.
	var pin runtime.Pinner
	defer pin.Unpin()
	pin.Pin(&p.insns[0])
	pin.Pin(license)
	a := progLoadAttr{
		progType:           p.progType,
		insnCnt:            uint32(len(p.insns)),
		insns:              uint64(uintptr(unsafe.Pointer(&p.insns[0]))),
		license:            uint64(uintptr(unsafe.Pointer(license))),
		expectedAttachType: p.attach,
		attachBTFID:        p.btfID,
	}
	var buf []byte
	if wantLog {
		buf = make([]byte, 8<<10)
		pin.Pin(&buf[0])
		a.logLevel, a.logSize, a.logBuf = 1, uint32(len(buf)), uint64(uintptr(unsafe.Pointer(&buf[0])))
	}
	fd, err = bpfCall(cmdProgLoad, unsafe.Pointer(&a), unsafe.Sizeof(a))
	if wantLog {
		log = unix.ByteSliceToString(buf)
	}
	return fd, log, err
}

// accepted loads and closes a program.
func (p *trial) accepted() error {
	fd, _, err := p.load(false)
	if err == nil {
		unix.Close(fd)
	}
	return err
}

// insn encodes one instruction.
func insn(op, dst, src uint8, off int16, imm int32) uint64 {
	return uint64(op) | uint64(dst)<<8 | uint64(src)<<12 | uint64(uint16(off))<<16 | uint64(uint32(imm))<<32
}

// The instructions that trials are made of.
func movImm(dst uint8, imm int32) uint64 { return insn(0xb7, dst, 0, 0, imm) }
func movReg(dst, src uint8) uint64       { return insn(0xbf, dst, src, 0, 0) }
func call(helper int32) uint64           { return insn(0x85, 0, 0, 0, helper) }
func exit() uint64                       { return insn(0x95, 0, 0, 0, 0) }
func storeStack(off int16) uint64        { return insn(0x7a, 10, 0, off, 0) } // *(u64 *)(r10+off) = 0

func mapFD(dst uint8, fd int) []uint64 {
	return []uint64{insn(0x18, dst, 1, 0, int32(fd)), 0}
}

func isPermission(err error) bool {
	return errors.Is(err, unix.EPERM) || errors.Is(err, unix.EACCES)
}
