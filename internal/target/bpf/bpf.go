// Package bpf makes the few bpf(2) system calls that hawk needs before and
// beside loading a script: Program loads of tiny programs to find out what the
// kernel can do, and programs of hawk's own that answer questions. Attributes
// are as in include/uapi/linux/bpf.h.
package bpf

import (
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Commands.
const (
	cmdMapCreate  = 0
	cmdMapUpdate  = 2
	cmdProgLoad   = 5
	cmdTestRun    = 10
	cmdMapFreeze  = 22
	cmdLinkCreate = 28
)

// Map types and flags.
const (
	Hash    = 1
	Array   = 2
	RingBuf = 27

	NoPrealloc = 1 << 0
	ReadOnly   = 1 << 7  // for programs
	Mmapable   = 1 << 10 // Array
)

// Program types.
const (
	Kprobe        = 2
	Tracepoint    = 5
	PerfEvent     = 7
	RawTracepoint = 17
	Tracing       = 26
)

// Attach types.
const (
	AttachRawTP         = 23
	AttachFentry        = 24
	AttachPerfEvent     = 41
	AttachKprobeMulti   = 42
	AttachUprobeMulti   = 48
	AttachKprobeSession = 56
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

// syscall makes a bpf(2) call, again when a signal cut it short.
func syscall(cmd uintptr, attr unsafe.Pointer, size uintptr) (int, error) {
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

// CreateMap returns the descriptor of a new map.
func CreateMap(typ, key, value, entries, flags uint32) (int, error) {
	a := mapCreateAttr{mapType: typ, keySize: key, valueSize: value, maxEntries: entries, flags: flags}
	return syscall(cmdMapCreate, unsafe.Pointer(&a), unsafe.Sizeof(a))
}

// A Program is what is loaded.
type Program struct {
	Type   uint32
	Attach uint32 // expected attach type
	BTFID  uint32 // what it attaches to
	Insns  []uint64
}

// Load returns the program's descriptor, or the error and, if asked for, the
// start of the verifier's log.
func (p *Program) Load(wantLog bool) (fd int, log string, err error) {
	license := &[...]byte{'G', 'P', 'L', 0}
	// Attributes refer to Go memory by number: pin it for the call.
	var pin runtime.Pinner
	defer pin.Unpin()
	pin.Pin(&p.Insns[0])
	pin.Pin(license)
	a := progLoadAttr{
		progType:           p.Type,
		insnCnt:            uint32(len(p.Insns)),
		insns:              uint64(uintptr(unsafe.Pointer(&p.Insns[0]))),
		license:            uint64(uintptr(unsafe.Pointer(license))),
		expectedAttachType: p.Attach,
		attachBTFID:        p.BTFID,
	}
	var buf []byte
	if wantLog {
		buf = make([]byte, 8<<10)
		pin.Pin(&buf[0])
		a.logLevel, a.logSize, a.logBuf = 1, uint32(len(buf)), uint64(uintptr(unsafe.Pointer(&buf[0])))
	}
	fd, err = syscall(cmdProgLoad, unsafe.Pointer(&a), unsafe.Sizeof(a))
	if wantLog {
		log = unix.ByteSliceToString(buf)
	}
	return fd, log, err
}

// Accepted reports whether the kernel takes the program, which it does not keep.
func (p *Program) Accepted() error {
	fd, _, err := p.Load(false)
	if err == nil {
		unix.Close(fd)
	}
	return err
}

// Insn encodes one instruction.
func Insn(op, dst, src uint8, off int16, imm int32) uint64 {
	return uint64(op) | uint64(dst)<<8 | uint64(src)<<12 | uint64(uint16(off))<<16 | uint64(uint32(imm))<<32
}

// The instructions that trials are made of.
func MovImm(dst uint8, imm int32) uint64 { return Insn(0xb7, dst, 0, 0, imm) }
func MovReg(dst, src uint8) uint64       { return Insn(0xbf, dst, src, 0, 0) }
func Call(helper int32) uint64           { return Insn(0x85, 0, 0, 0, helper) }
func Exit() uint64                       { return Insn(0x95, 0, 0, 0, 0) }
func StoreStack(off int16) uint64        { return Insn(0x7a, 10, 0, off, 0) } // *(u64 *)(r10+off) = 0

// MapFD loads the address of a map.
func MapFD(dst uint8, fd int) []uint64 {
	return []uint64{Insn(0x18, dst, 1, 0, int32(fd)), 0}
}

// MapValue loads the address of the value of an array with one entry.
func MapValue(dst uint8, fd int) []uint64 {
	return []uint64{Insn(0x18, dst, 2, 0, int32(fd)), 0}
}

type mapUpdateAttr struct {
	fd, _      uint32
	key, value uint64
	flags      uint64
}

// SetAndFreeze fills the one entry of an array and makes it constant.
func SetAndFreeze(fd int, value []byte) error {
	var pin runtime.Pinner
	defer pin.Unpin()
	key := new(uint32)
	pin.Pin(key)
	pin.Pin(&value[0])
	a := mapUpdateAttr{fd: uint32(fd), key: uint64(uintptr(unsafe.Pointer(key))), value: uint64(uintptr(unsafe.Pointer(&value[0])))}
	if _, err := syscall(cmdMapUpdate, unsafe.Pointer(&a), unsafe.Sizeof(a)); err != nil {
		return fmt.Errorf("map update: %w", err)
	}
	frozen := struct{ fd uint32 }{uint32(fd)}
	if _, err := syscall(cmdMapFreeze, unsafe.Pointer(&frozen), unsafe.Sizeof(frozen)); err != nil {
		return fmt.Errorf("map freeze: %w", err)
	}
	return nil
}

type testRunAttr struct {
	progFD, retval, sizeIn, sizeOut uint32
	dataIn, dataOut                 uint64
	repeat, duration                uint32
	ctxSizeIn, ctxSizeOut           uint32
	ctxIn, ctxOut                   uint64
	flags, cpu, batchSize, _        uint32
}

// TestRun runs a raw tracepoint program once with ctx as its context, at
// least one word.
func TestRun(fd int, ctx []uint64) error {
	var pin runtime.Pinner
	defer pin.Unpin()
	pin.Pin(&ctx[0])
	a := testRunAttr{progFD: uint32(fd), ctxSizeIn: uint32(len(ctx) * 8), ctxIn: uint64(uintptr(unsafe.Pointer(&ctx[0])))}
	_, err := syscall(cmdTestRun, unsafe.Pointer(&a), unsafe.Sizeof(a))
	return err
}

// LinkAttr is LINK_CREATE. Multi is {flags cnt} syms addrs cookies for
// kprobes, path offsets ref_ctr_offsets cookies {cnt flags} {pid} for
// uprobes.
type LinkAttr struct {
	ProgFD, TargetFD  uint32
	AttachType, Flags uint32
	Multi             [6]uint64
}

// CreateLink makes a link. Memory that Multi refers to must be pinned.
func CreateLink(a *LinkAttr) (int, error) {
	return syscall(cmdLinkCreate, unsafe.Pointer(a), unsafe.Sizeof(*a))
}
