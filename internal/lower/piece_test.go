package lower

import (
	"strings"
	"testing"

	"github.com/hawktrace/hawk/internal/source"
	"github.com/hawktrace/hawk/internal/syntax"
)

// A long body is cut into more pieces the fewer functions its loops need, and
// never into more than a program may have.
func TestStretchOf(t *testing.T) {
	for _, c := range []struct {
		name        string
		long, loops int
		least, most int
	}{
		{"long", 30000, 0, mostStretches - 10, mostStretches + 1},
		{"with loops", 30000, 100, mostStretches - 100 - 10, mostStretches - 100 + 1},
		{"with many loops", 30000, 1000, fewStretches - 10, fewStretches + 1},
	} {
		stores, loops := strings.Repeat("@a[1] = 2;\n", c.long), strings.Repeat("while (1) { break; }\n", c.loops)
		text := "begin { " + stores + loops + "}"
		script, ds := syntax.Parse(source.NewFile("stdin", text))
		if ds.HasErrors() {
			t.Fatal(ds.List())
		}
		body := script.Items[0].(*syntax.Probe).Body
		if n := nodes(body) / stretchOf(body); n < c.least || n > c.most {
			t.Errorf("%s: %d stretches", c.name, n)
		}
	}
}
