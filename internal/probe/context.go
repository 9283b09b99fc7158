package probe

import "github.com/hawktrace/hawk/internal/types"

// What ctx points to: the structs that the kernel declares for programs.
var (
	registerContext  = contextStruct("pt_regs")
	perfEventContext = contextStruct("bpf_perf_event_data")
)

func contextStruct(name string) func(*Point, *Options) (types.Type, error) {
	return func(_ *Point, o *Options) (types.Type, error) { return o.Target.TypeByName("struct", name) }
}
