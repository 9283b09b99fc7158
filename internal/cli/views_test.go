package cli

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hawktrace/hawk/internal/export"
	"github.com/hawktrace/hawk/internal/value"
	"github.com/hawktrace/hawk/internal/view"
)

// TestUnsaid has files say what they do not show: that numbers are larger than they have room for, and that prints
// without values have no lines in tables.
func TestUnsaid(t *testing.T) {
	m := &view.Map{Name: "@n", Kind: view.Counter, Weight: view.ValueWeight}
	text := &view.Site{Builtin: "printf"}
	head := &view.Site{Builtin: "printf", Header: true}
	for _, of := range []struct {
		format string
		n      uint64
		site   *view.Site
		want   string
	}{
		{"folded", 1 << 63, nil, "weigh 2⁶³ or more weigh 2⁶³-1 there: 1"},
		{"pprof", 1 << 63, nil, "weigh 2⁶³ or more"}, {"flame", 1 << 63, nil, "weigh 2⁶³ or more"},
		{"folded", 1<<63 - 2, nil, ""},
		{"csv", 1 << 63, nil, ""}, {"csv", 0, text, "has no lines of what prints without values"}, {"csv", 0, head, ""},
	} {
		v := &saver{script: &view.Script{Name: "x.bt", Maps: []*view.Map{m}}, Recorder: view.Recorder{Events: true}}
		v.targets = []*target{{format: export.Find(of.format), file: filepath.Join(t.TempDir(), "out")}}
		if of.site == nil {
			v.targets[0].maps = []*view.Map{m}
		}
		for _, item := range []view.Item{
			view.Begin{Script: v.script}, view.Event{Site: of.site, Text: []byte("x\n")},
			view.Snapshot{Map: m, Seq: 1, Rows: view.RowsOf([]view.Row{{Value: value.Uint(of.n)}}), Totals: true},
			view.End{Cause: "exit"},
		} {
			if err := v.Take(item); err != nil {
				t.Fatal(of.format, err)
			}
		}
		var errs bytes.Buffer
		if err := v.done(&command{err: &errs}); err != nil {
			t.Fatal(of.format, err)
		}
		if got := errs.String(); got != "" && of.want == "" || !strings.Contains(got, of.want) {
			t.Errorf("%s: %q, want %q", of.format, got, of.want)
		}
	}
}

// TestLowerBounds has files of totals of which some went unseen: where the format has no place to
// say so, a warning does, once for each map.
func TestLowerBounds(t *testing.T) {
	for _, f := range export.Formats() {
		if f.Stream != nil {
			continue
		}
		for _, low := range []bool{false, true} {
			m := &view.Map{Name: "@n", Weight: view.ValueWeight}
			v := &saver{script: &view.Script{Name: "x.bt", Maps: []*view.Map{m}}}
			v.targets = []*target{{format: f, maps: []*view.Map{m}, file: filepath.Join(t.TempDir(), "out")}}
			for _, item := range []view.Item{
				view.Begin{Script: v.script},
				view.Snapshot{Map: m, Seq: 1, Rows: view.RowsOf([]view.Row{{Value: value.Uint(3), AtLeast: low}}),
					Totals: true},
				view.End{Cause: "exit"},
			} {
				if err := v.Take(item); err != nil {
					t.Fatal(f.Name, err)
				}
			}
			var errs bytes.Buffer
			if err := v.done(&command{err: &errs}); err != nil {
				t.Fatal(f.Name, err)
			}
			want := 0
			if low && !f.Bounds {
				want = 1
			}
			if n := strings.Count(errs.String(), "totals of @n are lower bounds"); n != want {
				t.Errorf("%s, lower bounds %t: %d warnings: %s", f.Name, low, n, &errs)
			}
		}
	}
}
