package probe

import (
	"slices"

	"github.com/hawktrace/hawk/internal/machine"
	"github.com/hawktrace/hawk/internal/proc"
)

// Features lists what --no-feature can turn off, sorted.
func Features() []string {
	return []string{
		"get_func_ip", "kprobe_cookie", "kprobe_multi", "kprobe_session", "large_key", "large_value",
		"perf_clock", "preempted_tracepoints", "raw_syscalls", "raw_tracepoint", "sleepable_uprobe",
		"tracepoint_cookie", "unwind", "uprobe_multi",
	}
}

// IsFeature reports whether --no-feature knows a name.
func IsFeature(name string) bool { return slices.Contains(Features(), name) }

// Has reports whether the kernel offers a feature and the user has not turned
// it off.
func (o *Options) Has(f *machine.Feature) bool {
	return !o.NoFeature[f.Name] && o.Machine.Has(f) == nil
}

// OneLink reports whether one link of the kernel serves all that a pattern
// matches.
func (k *Kind) OneLink(o *Options) bool { return k.Multi != nil && o.Has(k.Multi) }

// Keep drops the points that --probe-filter does not want. Probes that hawk
// fires itself stay.
func (o *Options) Keep(points []*Point) []*Point {
	if o.Filter == nil {
		return points
	}
	out := points[:0:0]
	for _, p := range points {
		if p.Kind.Ours != NotOurs || o.Filter(p.Name()) {
			out = append(out, p)
		}
	}
	return out
}

// OnePID reports whether -p says which process to trace.
func (o *Options) OnePID() bool { return o.PIDFilter && o.PID != 0 }

// Root is where the files of the process of -p lie, "" without one.
func (o *Options) Root() string {
	if !o.OnePID() {
		return ""
	}
	return proc.Root(o.PID)
}
