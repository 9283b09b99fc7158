package load

import (
	"testing"

	"github.com/hawktrace/hawk/internal/bpf"
	_ "github.com/hawktrace/hawk/internal/probe/kinds" // all that the table can have

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
		{"begin", "raw_tp/f", probe.Mechanism{Program: bpf.RawTracepoint}, false},
		{"tracepoint", "tracepoint/t/f", probe.Mechanism{Program: bpf.Tracepoint}, false},
		{"kprobe", "kprobe/f", probe.Mechanism{Program: bpf.Kprobe}, false},
		{"kprobe", "kprobe.multi/f", probe.Mechanism{Program: bpf.Kprobe, Attach: bpf.AttachKprobeMulti}, false},
		{"kprobe", "kprobe.session/f", probe.Mechanism{Program: bpf.Kprobe,
			Attach: bpf.AttachKprobeSession}, false},
		{"kretprobe", "kretprobe.multi/f", probe.Mechanism{Program: bpf.Kprobe,
			Attach: bpf.AttachKprobeMulti, Retval: returns}, false},
		{"uprobe", "uprobe.s/f", probe.Mechanism{Program: bpf.Kprobe}, true},
		{"uprobe", "uprobe.multi/f", probe.Mechanism{Program: bpf.Kprobe, Attach: bpf.AttachUprobeMulti}, false},
		{"uretprobe", "uretprobe.multi.s/f", probe.Mechanism{Program: bpf.Kprobe,
			Attach: bpf.AttachUprobeMulti, Retval: returns}, true},
		{"usdt", "uprobe.multi/f", probe.Mechanism{Program: bpf.Kprobe, Attach: bpf.AttachUprobeMulti}, false},
		{"fexit", "fexit/f", probe.Mechanism{Program: bpf.Tracing, Attach: bpf.AttachFexit}, false},
		{"rawtracepoint", "tp_btf/f", probe.Mechanism{Program: bpf.Tracing, Attach: bpf.AttachRawTracepoint}, false},
		{"profile", "perf_event", probe.Mechanism{Program: bpf.PerfEvent}, false},
		{"tracepoint", "tracepoint/raw_syscalls/sys_enter", probe.Mechanism{Program: bpf.Tracepoint,
			Whole: "raw_syscalls/sys_enter"}, false},
	} {
		kind, _ := probe.Lookup(tt.kind)
		id := probe.MechanismID(t.Name() + " " + tt.want)
		if probe.Mechanisms()[id] == nil { // or the test runs once more
			probe.AddMechanisms(map[probe.MechanismID]*probe.Mechanism{id: &tt.mech})
		}
		g := &probe.Group{Mechanism: id, Points: []*probe.Point{{Kind: kind, Target: "t", Func: "f"}}}
		if got := sectionName(&object.Program{Group: g, Sleeps: tt.sleeps}); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.kind, got, tt.want)
		}
	}
}
