package load

import (
	"testing"

	"github.com/cilium/ebpf"

	"github.com/hawktrace/hawk/internal/ir"
	"github.com/hawktrace/hawk/internal/object"
	"github.com/hawktrace/hawk/internal/probe"
)

// Sections have the names by which libbpf knows what programs are.
func TestSectionName(t *testing.T) {
	returns := func(*probe.Context) *ir.Value { return nil }
	for _, tt := range []struct {
		kind, want string
		mech       probe.Mechanism
		sleeps     bool
	}{
		{"begin", "raw_tp/f", probe.Mechanism{Program: ebpf.RawTracepoint}, false},
		{"tracepoint", "tracepoint/t/f", probe.Mechanism{Program: ebpf.TracePoint}, false},
		{"kprobe", "kprobe/f", probe.Mechanism{Program: ebpf.Kprobe}, false},
		{"kprobe", "kprobe.multi/f", probe.Mechanism{Program: ebpf.Kprobe, Attach: ebpf.AttachTraceKprobeMulti}, false},
		{"kprobe", "kprobe.session/f", probe.Mechanism{Program: ebpf.Kprobe,
			Attach: ebpf.AttachTraceKprobeSession}, false},
		{"kretprobe", "kretprobe.multi/f", probe.Mechanism{Program: ebpf.Kprobe,
			Attach: ebpf.AttachTraceKprobeMulti, Retval: returns}, false},
		{"uprobe", "uprobe.s/f", probe.Mechanism{Program: ebpf.Kprobe}, true},
		{"uprobe", "uprobe.multi/f", probe.Mechanism{Program: ebpf.Kprobe, Attach: ebpf.AttachTraceUprobeMulti}, false},
		{"uretprobe", "uretprobe.multi.s/f", probe.Mechanism{Program: ebpf.Kprobe,
			Attach: ebpf.AttachTraceUprobeMulti, Retval: returns}, true},
		{"usdt", "uprobe.multi/f", probe.Mechanism{Program: ebpf.Kprobe, Attach: ebpf.AttachTraceUprobeMulti}, false},
		{"fexit", "fexit/f", probe.Mechanism{Program: ebpf.Tracing, Attach: ebpf.AttachTraceFExit}, false},
		{"rawtracepoint", "tp_btf/f", probe.Mechanism{Program: ebpf.Tracing, Attach: ebpf.AttachTraceRawTp}, false},
		{"profile", "perf_event", probe.Mechanism{Program: ebpf.PerfEvent}, false},
	} {
		kind, _ := probe.Lookup(tt.kind)
		g := &probe.Group{Mech: &tt.mech, Points: []*probe.Point{{Kind: kind, Target: "t", Func: "f"}}}
		if got := sectionName(&object.Program{Group: g, Sleeps: tt.sleeps}); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.kind, got, tt.want)
		}
	}
}
