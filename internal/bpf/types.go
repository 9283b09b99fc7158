package bpf

import "strconv"

// A MapType is enum bpf_map_type, a ProgramType enum bpf_prog_type, and an AttachType enum
// bpf_attach_type of the kernel.
type (
	MapType     uint32
	ProgramType uint32
	AttachType  uint32
)

// The types of maps that hawk makes.
const (
	Hash           MapType = 1
	Array          MapType = 2
	PerfEventArray MapType = 4
	PerCPUHash     MapType = 5
	PerCPUArray    MapType = 6
	StackTrace     MapType = 7
	LRUHash        MapType = 9
	LRUCPUHash     MapType = 10
	ArrayOfMaps    MapType = 12
	RingBuf        MapType = 27
)

// The types of programs that hawk makes.
const (
	Kprobe        ProgramType = 2
	Tracepoint    ProgramType = 5
	XDP           ProgramType = 6
	PerfEvent     ProgramType = 7
	RawTracepoint ProgramType = 17
	Tracing       ProgramType = 26
)

// The types of attachment, as far as programs and links have to say it.
const (
	AttachRawTracepoint AttachType = 23 // with BTF
	AttachFentry        AttachType = 24
	AttachFexit         AttachType = 25
	AttachIter          AttachType = 28
	AttachPerfEvent     AttachType = 41
	AttachKprobeMulti   AttachType = 42
	AttachUprobeMulti   AttachType = 48
	AttachKprobeSession AttachType = 56
)

// PerCPU says that elements have a value for each CPU, all of which the kernel writes wherever it reads one to.
func (t MapType) PerCPU() bool { return t == PerCPUHash || t == PerCPUArray || t == LRUCPUHash }

// String is the name of the type, "Hash".
func (t MapType) String() string {
	switch t {
	case Hash:
		return "Hash"
	case Array:
		return "Array"
	case PerfEventArray:
		return "PerfEventArray"
	case PerCPUHash:
		return "PerCPUHash"
	case PerCPUArray:
		return "PerCPUArray"
	case StackTrace:
		return "StackTrace"
	case LRUHash:
		return "LRUHash"
	case ArrayOfMaps:
		return "ArrayOfMaps"
	case LRUCPUHash:
		return "LRUCPUHash"
	case RingBuf:
		return "RingBuf"
	}
	return "MapType(" + strconv.FormatUint(uint64(t), 10) + ")"
}

// String is the name of the type, "Kprobe".
func (t ProgramType) String() string {
	switch t {
	case Kprobe:
		return "Kprobe"
	case Tracepoint:
		return "TracePoint"
	case XDP:
		return "XDP"
	case PerfEvent:
		return "PerfEvent"
	case RawTracepoint:
		return "RawTracepoint"
	case Tracing:
		return "Tracing"
	}
	return "ProgramType(" + strconv.FormatUint(uint64(t), 10) + ")"
}
