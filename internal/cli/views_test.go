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
