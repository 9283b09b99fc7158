package compile

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/cilium/ebpf/asm"

	"github.com/hawktrace/hawk/internal/machine"
	"github.com/hawktrace/hawk/internal/probe"
	"github.com/hawktrace/hawk/internal/source"
)

// largeScripts are scripts of n statements of a kind, as programs write them.
var largeScripts = []struct {
	name   string
	script func(n int) string
}{
	{"stores", repeated("@a[%d] = %[1]d;")},
	{"increments", repeated("@a[%d %% 50]++;")},
	{"text keys", repeated(`@a[comm, %d] = "a%[1]d";`)},
	{"scalars", repeated("@m%d = %[1]d;")},
	{"variables", repeated("$v%d = nsecs + %[1]d;")},
	{"sums", repeated("$v += nsecs * %d;")},
	{"printfs", repeated(`printf("%%d\n", %d);`)},
	{"ifs", repeated("if (pid == %d) { @x = %[1]d; }")},
	{"aggregations", repeated("@c[%d] = count();")},
	{"probes", func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "interval:s:%d { @ = %[1]d; }\n", i+1)
		}
		return b.String()
	}},
	{"chain", func(n int) string {
		var b strings.Builder
		b.WriteString("begin { ")
		for i := range n {
			fmt.Fprintf(&b, "if (pid == %d) { @x = %[1]d; } else ", i)
		}
		b.WriteString("{ @x = 1; } }")
		return b.String()
	}},
}

// repeated is a probe of a statement that is given its number.
func repeated(statement string) func(n int) string {
	return func(n int) string {
		var b strings.Builder
		b.WriteString("begin { $v = (uint64)0;\n")
		for i := range n {
			fmt.Fprintf(&b, statement+"\n", i)
		}
		b.WriteString("}")
		return b.String()
	}
}

// TestLargeIsLinear compiles a script and one of four times its length, which
// must take about four times the memory: what a pass copies for each
// statement shows there, whatever the clock says.
func TestLargeIsLinear(t *testing.T) {
	cost := func(text string) (bytes uint64, res *Result) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		res, _ = Compile(source.NewFile("stdin", text), Options{Probe: probe.Options{Machine: machine.Host()}})
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc, res
	}
	const n = 500
	cost(largeScripts[0].script(n)) // what is read once of the machine
	for _, c := range largeScripts {
		small, res := cost(c.script(n))
		if res == nil {
			t.Errorf("%s: %d of them are refused", c.name, n)
			continue
		}
		large, _ := cost(c.script(4 * n))
		if large > 6*small {
			t.Errorf("%s: %d of them take %d KB, %d take %d KB", c.name, n, small>>10, 4*n, large>>10)
		}
	}
}

// TestManyLookups counts the calls that the kernel puts its own code in place
// of, moving the rest of the program each time: there must not be one for each
// statement.
func TestManyLookups(t *testing.T) {
	for _, c := range largeScripts[:3] {
		res, ds := Compile(source.NewFile("stdin", c.script(1000)),
			Options{Probe: probe.Options{Machine: machine.Host()}, Verify: true})
		if res == nil {
			t.Fatalf("%s: %s", c.name, ds.List()[0].Msg)
		}
		lookups := 0
		for _, p := range res.Object.Programs {
			for _, in := range p.Code.Insns {
				if in.IsBuiltinCall() && in.Constant == int64(asm.FnMapLookupElem) {
					lookups++
				}
			}
		}
		if lookups > 200 { // the first statements have one each, and each piece claims memory by one
			t.Errorf("%s: %d lookups for the kernel to inline", c.name, lookups)
		}
	}
}

// TestManyUpdates counts instructions: a statement of thousands that change a map is
// a call, on which the verifier spends next to nothing.
func TestManyUpdates(t *testing.T) {
	const n = 10_000
	for _, statement := range []string{"@a[%d] = %[1]d;", "@a[%d %% 50]++;", "@a[%d] -= 3;", "@a[%d] = count();",
		"@a[%d] = sum(%[1]d);", "@a[(int8)%d] = lhist(%[1]d, 0, 100, 1);"} {
		file := source.NewFile("stdin", repeated(statement)(n))
		res, ds := Compile(file, Options{Probe: probe.Options{Machine: machine.Host()}})
		if res == nil {
			t.Fatalf("%s: %s", statement, ds.List()[0].Msg)
		}
		if size := len(res.Object.Programs[0].Code.Insns); size > 6*n {
			t.Errorf("%s: %d instructions for %d statements", statement, size, n)
		}
	}
}
