package compile

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/hawktrace/hawk/internal/bpf"
	"github.com/hawktrace/hawk/internal/machine"
	"github.com/hawktrace/hawk/internal/probe"
	"github.com/hawktrace/hawk/internal/source"
)

// TestSharedCells: kernels before 5.19 read no cells of other CPUs. Where a probe reads an aggregation, and sums
// are all that it is made of, the CPUs share its cells there; what no probe reads keeps one for each.
func TestSharedCells(t *testing.T) {
	const refused = "can not read @a in a probe"
	for _, c := range []struct{ script, shared, err string }{
		{`begin { @a[1] = count(); @b[1] = count(); if (@a[1] > 1) { exit(); } }`, "@a", ""},
		{`begin { @a[1] = sum(-1); @b[1] = avg(2); @c[1] = stats(3); print(@c[1]); @d = (int64)@b[1] + @a[1]; }`,
			"@a @b @c", ""},
		{`begin { @a[1] = count(); } end { $n = (int64)@a[1] + 1; printf("%d", $n); }`, "@a", ""},
		{`begin { @a[1] = count(); print(@a); }`, "", ""},
		{`begin { @a[1] = max(1); if (@a[1] > 1) { exit(); } }`, "", refused},
		{`let @a = percpuhash(9); begin { @a[1] = count(); if (@a[1] > 1) { exit(); } }`, "", refused},
	} {
		for name, without := range map[string]bool{"5.10": true, "6.1": false} {
			m := machine.RecordedIn(fstest.MapFS{"uname": {Data: []byte("x86_64 " + name)},
				"sys/devices/system/cpu/possible": {Data: []byte("0-63\n")}})
			o := probe.Options{Machine: m, NoFeature: map[string]bool{machine.MapLookupPerCPU.Name: without}}
			res, ds := Compile(source.NewFile("stdin", c.script), Options{Probe: o, Verify: true})
			var messages strings.Builder
			ds.Print(&messages, source.PrintOptions{NoWarnings: true})
			if c.err != "" && without {
				if !strings.Contains(messages.String(), c.err) {
					t.Errorf("%s on %s: %s", c.script, name, messages.String())
				}
				continue
			}
			if res == nil {
				t.Errorf("%s on %s: %s", c.script, name, messages.String())
				continue
			}
			var shared []string
			for _, s := range res.Object.Scripts {
				if s.Agg != nil && s.Map >= 0 && res.Object.Maps[s.Map].Type == bpf.Hash && !s.PerCPU {
					shared = append(shared, s.Name)
				}
			}
			want := c.shared
			if !without {
				want = ""
			}
			if got := strings.Join(shared, " "); got != want {
				t.Errorf("%s on %s: the cells of %q are shared, want %q", c.script, name, got, want)
			}
		}
	}
}

// TestLargeData: kernels before 6.0 take no map whose value has more than 4 MB. With many CPUs and many
// histograms the CPUs share cells there, so that all fits, and what cannot be shared and does not fit is said.
func TestLargeData(t *testing.T) {
	maps := func(n int, agg string) string {
		var text strings.Builder
		for i := range n {
			fmt.Fprintf(&text, "@%s%d = %s(%d); ", agg, i, agg, i)
		}
		return text.String()
	}
	const refused = "bytes, and this kernel allows 4194304"
	for _, c := range []struct {
		script string
		shared bool
		err    string
	}{
		{"begin { " + maps(5, "hist") + "}", false, ""},
		{"begin { " + maps(60, "hist") + maps(20, "max") + "delete(@hist1); delete(@hist59); print(@hist59); }",
			true, ""},
		{"begin { " + maps(60, "sum") + maps(60, "hist") + "if (@sum59 > 1) { exit(); } }", true, ""},
		{"begin { " + maps(300, "max") + "}", false, refused},
	} {
		for name, without := range map[string]bool{"5.10": true, "6.1": false} {
			m := machine.RecordedIn(fstest.MapFS{"uname": {Data: []byte("x86_64 " + name)},
				"sys/devices/system/cpu/possible": {Data: []byte("0-199\n")}})
			o := probe.Options{Machine: m, NoFeature: map[string]bool{machine.LargeValue.Name: without}}
			res, ds := Compile(source.NewFile("stdin", c.script), Options{Probe: o, Verify: true})
			var messages strings.Builder
			ds.Print(&messages, source.PrintOptions{NoWarnings: true})
			if c.err != "" && without {
				if !strings.Contains(messages.String(), c.err) {
					t.Errorf("%.40s on %s: %s", c.script, name, messages.String())
				}
				continue
			}
			if res == nil {
				t.Errorf("%.40s on %s: %s", c.script, name, messages.String())
				continue
			}
			shared := false
			for _, s := range res.Object.Scripts {
				shared = shared || s.Agg != nil && !s.PerCPU
			}
			if shared != (c.shared && without) {
				t.Errorf("%.40s on %s: cells are shared: %t", c.script, name, shared)
			}
			if size := res.Object.Data.Bytes; without && size > machine.OldValue {
				t.Errorf("%.40s on %s: the data map has %d bytes", c.script, name, size)
			}
		}
	}
}
