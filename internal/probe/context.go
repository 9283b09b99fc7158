package probe

import (
	"github.com/hawktrace/hawk/internal/bpf"
	"github.com/hawktrace/hawk/internal/types"
)

// The structs that ctx points to, as the kernel declares them for programs.
var (
	RegisterContext  = contextStruct("pt_regs")
	PerfEventContext = contextStruct("bpf_perf_event_data")
)

func contextStruct(name string) func(*Point, *Options) (types.Type, error) {
	return func(_ *Point, o *Options) (types.Type, error) { return o.Machine.TypeByName("struct", name) }
}

// contextTypes are the names by which the kernel knows the contexts of programs
// in the types of functions that it verifies by themselves.
var contextTypes = map[bpf.ProgramType]string{
	bpf.Kprobe:        "bpf_user_pt_regs_t",
	bpf.PerfEvent:     "bpf_perf_event_data",
	bpf.RawTracepoint: "bpf_raw_tracepoint_args",
	bpf.Tracepoint:    "__u64",
	bpf.XDP:           "xdp_md",
}

// ContextType is the name of the context's type; "" if a function that is
// verified by itself cannot have the context.
func (m *Mechanism) ContextType() string { return contextTypes[m.Program] }
