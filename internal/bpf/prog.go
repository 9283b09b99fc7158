package bpf

import (
	"runtime"
	"unsafe"
)

// A ProgSpec describes a program to load.
type ProgSpec struct {
	Name     string
	Type     ProgramType
	Attach   AttachType // expected attach type
	Flags    uint32
	Insns    []byte // in the machine's byte order
	License  string
	BTF      int    // descriptor of the BTF that FuncInfo and LineInfo refer to; 0: none
	FuncInfo []byte // bpf_func_info records
	LineInfo []byte // bpf_line_info records

	AttachBTFID uint32 // type the program attaches to
	AttachFD    int    // BTF object of that type's module, or program it extends; 0: vmlinux
	FDArray     []int32

	// LogLevel 0 loads without log; Log receives what the verifier says.
	LogLevel uint32
	Log      []byte
}

// Sleepable is the flag of a program that may wait for a page of memory.
const Sleepable = 1 << 4

// Sizes of the records of ProgSpec.
const (
	FuncInfoBytes = 8
	LineInfoBytes = 16
)

// ProgLoad verifies and loads a program. ENOSPC with a log means that the log
// did not fit; what fits is there.
func ProgLoad(s *ProgSpec) (int, error) {
	attr := struct {
		typ, insns                   uint32
		code, license                unsafe.Pointer
		logLevel, logSize            uint32
		log                          unsafe.Pointer
		kernVersion, flags           uint32
		name                         [NameLen + 1]byte
		ifindex, attach              uint32
		btf, funcRec                 uint32
		funcInfo                     unsafe.Pointer
		funcs, lineRec               uint32
		lineInfo                     unsafe.Pointer
		lines, attachBTFID, attachFD uint32
		coreRelos                    uint32
		fdArray, core                unsafe.Pointer
		coreRec, logTrueSize         uint32
	}{
		typ: uint32(s.Type), insns: uint32(len(s.Insns) / 8), code: bytesPtr(s.Insns), license: cstring(s.License),
		flags: s.Flags, name: objName(s.Name), attach: uint32(s.Attach),
		attachBTFID: s.AttachBTFID, attachFD: uint32(s.AttachFD),
	}
	if s.BTF > 0 {
		attr.btf, attr.funcRec, attr.lineRec = uint32(s.BTF), FuncInfoBytes, LineInfoBytes
		attr.funcInfo, attr.funcs = bytesPtr(s.FuncInfo), uint32(len(s.FuncInfo)/FuncInfoBytes)
		attr.lineInfo, attr.lines = bytesPtr(s.LineInfo), uint32(len(s.LineInfo)/LineInfoBytes)
	}
	if len(s.FDArray) > 0 {
		attr.fdArray = unsafe.Pointer(&s.FDArray[0])
	}
	if s.LogLevel > 0 && len(s.Log) > 0 {
		attr.logLevel, attr.log, attr.logSize = s.LogLevel, bytesPtr(s.Log), uint32(len(s.Log))
	}
	fd, err := call(cmdProgLoad, unsafe.Pointer(&attr), unsafe.Sizeof(attr))
	runtime.KeepAlive(s)
	return fd, err
}

// TestRun runs a raw tracepoint program once in the calling thread, with ctx
// as its arguments, eight bytes each.
func TestRun(fd int, ctx []byte) (ret uint32, err error) {
	attr := testAttr{fd: uint32(fd), ctxIn: bytesPtr(ctx), ctxSizeIn: uint32(len(ctx))}
	_, err = call(cmdTestRun, unsafe.Pointer(&attr), unsafe.Sizeof(attr))
	return attr.retval, err
}

// Repeat runs a program on packets many times and yields how many nanoseconds
// a run took on average.
func Repeat(fd int, data []byte, n uint32) (average uint32, err error) {
	attr := testAttr{fd: uint32(fd), dataIn: bytesPtr(data), dataSizeIn: uint32(len(data)), repeat: n}
	_, err = call(cmdTestRun, unsafe.Pointer(&attr), unsafe.Sizeof(attr))
	return attr.duration, err
}

// A testAttr is the part of union bpf_attr for BPF_PROG_TEST_RUN.
type testAttr struct {
	fd, retval              uint32
	dataSizeIn, dataSizeOut uint32
	dataIn, dataOut         unsafe.Pointer
	repeat, duration        uint32
	ctxSizeIn, ctxSizeOut   uint32
	ctxIn, ctxOut           unsafe.Pointer
	flags, cpu, batch, _    uint32
}
