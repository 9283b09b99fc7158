package kinds

import (
	"slices"
	"strings"
	"testing"

	"github.com/hawktrace/hawk/internal/probe"
	"github.com/hawktrace/hawk/internal/probe/probetest"
)

func TestLookup(t *testing.T) {
	for _, tt := range []struct{ name, want string }{
		{"kprobe", "kprobe"}, {"KPROBE", "kprobe"}, {"BEGIN", "begin"}, {"Tracepoint", "tracepoint"},
		{"k", "kprobe"}, {"kr", "kretprobe"}, {"f", "fentry"}, {"fr", "fexit"}, {"kfunc", "fentry"},
		{"kretfunc", "fexit"},
		{"t", "tracepoint"}, {"rt", "rawtracepoint"}, {"u", "uprobe"}, {"ur", "uretprobe"}, {"U", "usdt"},
		{"i", "interval"}, {"p", "profile"}, {"s", "software"}, {"h", "hardware"}, {"w", "watchpoint"}, {"it", "iter"},
		{"K", ""}, {"KR", ""}, {"T", ""}, {"asyncwatchpoint", ""}, {"", ""},
	} {
		k, ok := probe.Lookup(tt.name)
		if got := ""; ok {
			got = k.Name
			if got != tt.want {
				t.Errorf("Lookup(%q) = %s, want %q", tt.name, got, tt.want)
			}
		} else if tt.want != "" {
			t.Errorf("Lookup(%q) found nothing", tt.name)
		}
	}
}

func TestKinds(t *testing.T) {
	names := []string{}
	for _, k := range probe.Kinds() {
		names = append(names, k.Name)
		if k.Doc == "" || len(k.Forms) == 0 || k.Parse == nil || k.Match == nil || k.CanonicalName == nil {
			t.Errorf("%s lacks a documentation, form or function", k.Name)
		}
		if k.Has&probe.HasArgs != 0 && k.Args == nil || k.Has&probe.HasRetval != 0 && k.Retval == nil {
			t.Errorf("%s offers what it has no type for", k.Name)
		}
		for _, form := range k.Forms {
			if !strings.HasPrefix(form, k.Name) {
				t.Errorf("%s: form %s", k.Name, form)
			}
		}
	}
	if !slices.IsSorted(names) {
		t.Errorf("not sorted: %v", names)
	}
}

// TestNamesOfNothing: what could be meant is asked of points too that could not be parsed.
func TestNamesOfNothing(t *testing.T) {
	o := &probe.Options{Machine: probetest.Recorded(t, "")}
	for _, k := range probe.Kinds() {
		if k.Wild != probe.KernelWild || k.Names == nil {
			continue
		}
		names := k.Names(&probe.Point{Kind: k}, o)
		if k.Name == "rawtracepoint" && !slices.Contains(names, "sched_switch") {
			t.Errorf("%s may be called %q", k.Name, names)
		}
	}
}

func TestCandidates(t *testing.T) {
	for _, tt := range []struct {
		pattern string
		user    bool
		want    string
	}{
		{"*", false, "fentry hardware iter kprobe rawtracepoint software tracepoint"},
		{"k*", false, "kprobe"},
		{"*", true, "uprobe usdt"},
		{"*ret*", false, ""},
	} {
		var names []string
		for _, k := range probe.Candidates(tt.pattern, tt.user) {
			names = append(names, k.Name)
		}
		if got := strings.Join(names, " "); got != tt.want {
			t.Errorf("Candidates(%q, %t) = %s, want %s", tt.pattern, tt.user, got, tt.want)
		}
	}
}

func TestParse(t *testing.T) {
	unsafe := &probe.Options{Unsafe: true}
	target := &probe.Options{PID: 1, PIDFilter: true}
	plain := &probe.Options{Machine: probetest.RecordedMachine(t, "x86_64", "")}
	for _, tt := range []struct {
		text string
		o    *probe.Options
		want string // canonical name, or "! " and the error
	}{
		{text: "BEGIN", want: "begin"},
		{text: "begin:*", want: "begin"},
		{text: "begin:x", want: "! begin probe type requires 0 arguments, found 1"},
		{text: "end", want: "end"},
		{text: "self:signal:SIGUSR1", want: "self:signal:SIGUSR1"},
		{text: "self:signal", want: "! self probe type requires 2 arguments, found 1"},
		{text: "self:signal:SIGUSR2", want: "! SIGUSR2 is not a supported signal"},
		{text: "self:foo:SIGUSR1", want: "! foo is not a supported trigger"},

		{text: "k:vfs_read+0x10", want: "kprobe:vfs_read+16"},
		{text: `k:"vfs_read"+4`, want: "kprobe:vfs_read+4"},
		{text: "kprobe:mod:f", want: "kprobe:mod:f"},
		{text: "kprobe", want: "! kprobe probe type requires 1 or 2 arguments, found 0"},
		{text: "kprobe:x:y:z", want: "! kprobe probe type requires 1 or 2 arguments, found 3"},
		{text: "kprobe:vfs_read+x", want: "! Invalid offset: invalid integer: x"},
		{text: "kprobe:a+1+2", want: "! Cannot take more than one offset"},
		{text: "kprobe:0x1234", want: "! Probing by address requires --unsafe"},
		{text: "kprobe:0x1234", o: unsafe, want: "kprobe:4660"},
		{text: "kretprobe:f+4", want: "! Offset not allowed"},
		{text: "kretprobe:f+0", want: "! Offset not allowed"},
		{text: "kr:f", want: "kretprobe:f"},
		{text: "kfunc:f", want: "fentry:f"},
		{text: "fentry:bpf", want: "! the bpf variant of this probe needs a program name"},
		{text: "fentry:a:b:c", want: "! Only the 'bpf' variant of this probe supports 4 arguments"},

		{text: "tracepoint:foo", want: "! tracepoint probe type requires 2 arguments, found 1"},
		{text: "t:*foo*", want: "tracepoint:*:*foo*"},
		{text: "t:sched:sched_switch", want: "tracepoint:sched:sched_switch"},
		{text: "rt:sys_enter", want: "rawtracepoint:sys_enter"},

		{text: "uprobe:/bin/app:0x1159", want: "uprobe:/bin/app:4441"},
		{text: "uprobe:/bin/app:f+4", want: "uprobe:/bin/app:f+4"},
		{text: `uprobe:/bin/cc:cpp:"operator+"`, want: "uprobe:/bin/cc:cpp:operator+"},
		{text: "uprobe:/tmp/hk/t", want: "! uprobe probe type requires 2 or 3 arguments, found 1"},
		{text: "uprobe:f", o: target, want: "uprobe:f"},
		{text: "uprobe:cpp:f", o: target, want: "uprobe:cpp:f"},
		{text: "uprobe:DIR/*:0x1159", want: "! Cannot use wildcards with absolute address"},
		{text: "uprobe:B:a+1+2", want: "! Cannot take more than one offset"},
		{text: "uprobe:B:perl:f", want: "! unsupported language type: perl"},
		{text: "uretprobe:B:f+4", want: "! Offset not allowed"},

		{text: "usdt:./u:tick", want: "usdt:./u:tick"},
		{text: "usdt:./u:hk:tick", want: "usdt:./u:hk:tick"},
		{text: "usdt:./u::tick", want: "usdt:./u:tick"},
		{text: "usdt:B:", want: "! usdt probe must have a target function or wildcard"},
		{text: "usdt::tick", want: "! usdt probe must specify at least path or pid to probe"},
		{text: "usdt:tick", want: "! usdt probe type requires 2 or 3 arguments, found 1"},
		{text: "usdt:tick", o: target, want: "usdt:tick"},

		{text: "i:1s", want: "interval:us:1000000"},
		{text: "i:1500", want: "interval:us:1"},
		{text: "interval:s:1", want: "interval:s:1"},
		{text: "interval:ms:0x10", want: "interval:ms:16"},
		{text: "p:hz:99", want: "profile:hz:99"},
		{text: "p:us:1e3", want: "profile:us:1000"},
		{text: "profile:foo:99", want: "! foo is not an accepted unit of time"},
		{text: "profile:hz:0", want: "! profile frequency should be a positive integer"},
		{text: "profile:hz", want: "! Invalid rate of profile probe: invalid integer: hz"},
		{text: "interval:100", want: "! Invalid rate of interval probe. Minimum is 1000 or 1us. Found: 100 " +
			"nanoseconds"},
		{text: "interval:s:18446744073709551615", want: "! a period of 18446744073709551615 is too long"},

		{text: "software:cpu:1000000", want: "software:cpu:1000000"},
		{text: "s:faults", want: "software:faults"},
		{text: "s:faults:", want: "software:faults"},
		{text: "s:faults:*", want: "software:faults"},
		{text: "software:foo", want: "! foo is not a software probe"},
		{text: "hardware:foo:1", want: "! foo is not a hardware probe"},
		{text: "software:*", want: "! wildcards are not allowed for software probe type"},
		{text: "hardware:cycles:1e6", want: "hardware:cycles:1000000"},
		{text: "h:LLC-load-misses", want: "hardware:LLC-load-misses"},
		{text: "h:r01c0:1e5", want: "hardware:r01c0:100000"},
		{text: "h:iTLB-stores", want: "! iTLB-stores is not a hardware probe"},
		{text: "h:r", want: "! r is not a hardware probe"},
		{text: "h:r01c0g", want: "! r01c0g is not a hardware probe"},
		{text: "s:LLC-loads", want: "! LLC-loads is not a software probe"},

		{text: "watchpoint:0:8:w", want: "! watchpoint must be attached to a non-zero address"},
		{text: "watchpoint:0x1000:3:w", want: "! watchpoint length must be one of (1,2,4,8)"},
		{text: "watchpoint:0x1000:8:ww", want: "! watchpoint modes may not be duplicated\ninvalid watchpoint " +
			"mode: \"ww\""},
		{text: "watchpoint:0x1000:8:q", want: "! invalid watchpoint mode: \"q\""},
		{text: "watchpoint:0x1000:8:r", want: "! invalid watchpoint mode: \"r\""},
		{text: "watchpoint:0x1000:8:", want: "! invalid watchpoint mode: \"\""},
		{text: "watchpoint:12x:8:w", want: "! Invalid function/address argument: invalid integer: 12x"},
		{text: "watchpoint:0x1000:8:wr", want: "watchpoint:4096:8:rw"},
		{text: "w:jiffies:8:w", want: "watchpoint:jiffies:8:w"},
		{text: "watchpoint:0x1000:8", want: "! watchpoint probe type requires 3 or 4 arguments, found 2"},
		{text: "watchpoint:/bin/x:counter:8:wr", want: "watchpoint:/bin/x:counter:8:rw"},
		{text: "watchpoint:/bin/x:0x1000:8:w", want: `! watchpoint takes the name of a variable or function of ` +
			`/bin/x, not "0x1000"`},
		{text: "watchpoint:/bin/x::8:w", want: `! watchpoint takes the name of a variable or function of ` +
			`/bin/x, not ""`},
		{text: "watchpoint:/bin/x:counter:16:w", want: "! watchpoint length must be one of (1,2,4,8)"},
		{text: "iter:task", want: "iter:task"},
		{text: "it:task:mine", want: "iter:task"},
		{text: "iter:task:", want: "! iter probe type needs a name behind the second colon, where to pin it"},
		{text: "iter:task*", want: "! iter probe type does not support wildcards"},
		{text: "iter", want: "! iter probe type requires 1 or 2 arguments, found 0"},
	} {
		o := tt.o
		if o == nil {
			o = plain
		}
		p, err := probetest.Parse(tt.text, o)
		got := ""
		if err != nil {
			got = "! " + err.Error()
		} else {
			got = p.Name()
		}
		if got != tt.want {
			t.Errorf("%s: %s\nwant %s", tt.text, got, tt.want)
		}
	}
}

func TestPeriods(t *testing.T) {
	for _, tt := range []struct {
		text string
		want uint64
	}{
		{"interval:ms:5", 5e6}, {"interval:s:2", 2e9}, {"i:1500", 1000}, {"p:hz:99", 99}, {"p:us:7", 7000},
		{"s:cs", 1000}, {"s:faults:7", 7}, {"h:branches", 100000},
	} {
		p, err := probetest.Parse(tt.text, &probe.Options{})
		if err != nil || p.Period != tt.want {
			t.Errorf("%s: period %d, %v; want %d", tt.text, p.Period, err, tt.want)
		}
	}
}

func TestRemoved(t *testing.T) {
	for name, want := range map[string]bool{"asyncwatchpoint": true, "AsyncWatchpoint": true, "aw": true, "AW": false,
		"watchpoint": false, "": false} {
		if got := probe.Removed(name); (got != "") != want {
			t.Errorf("Removed(%q) = %q", name, got)
		}
	}
}
