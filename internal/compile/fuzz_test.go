package compile

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hawktrace/hawk/internal/hawktest/bound"
	"github.com/hawktrace/hawk/internal/machine"
	"github.com/hawktrace/hawk/internal/probe"
	"github.com/hawktrace/hawk/internal/source"
)

// FuzzCompile: every text becomes programs or errors, whatever the kernel can
// do, and never a fault of hawk's.
func FuzzCompile(f *testing.F) {
	names, _ := filepath.Glob("../../testdata/corpus/*.bt")
	for _, name := range names {
		if text, err := os.ReadFile(name); err == nil && len(text) < 1000 {
			f.Add(string(text), true)
		}
	}
	f.Add(`macro m(x, $v) { $v += x; $v } fn f($n: int8): uint64 { for ($i : 0..$n) { if ($i > 3) { return 1; } } `+
		`return 0; } begin { $a = 1; @[m(f(2), $a)] = hist($a); for ($kv : @) { print($kv); } }`, false)
	f.Add(`begin { $t = (a = 1, b = ("x", true)); while ($t.a < 9) { $t = (a = $t.a + 1, b = ("longer", false)); } `+
		`printf("%s %5d\n", $t, strlen($t.b.0)); }`, true)
	f.Fuzz(func(t *testing.T, text string, pieces bool) {
		bound.Run(t, len(text), func() {
			m := machine.Recorded("../check/testdata/machine")
			_, ds := Compile(source.NewFile("in.bt", text), Options{
				Probe: probe.Options{Machine: m}, Params: []string{"7", "text"}, Verify: true,
				Trace: true, Pieces: pieces,
			})
			for _, d := range ds.List() {
				if d.Severity == source.Bug && !strings.Contains(d.Msg, "refused") {
					t.Fatal(d.Msg)
				}
			}
		})
	})
}
