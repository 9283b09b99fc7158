package lower_test

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/hawktrace/hawk/internal/check"
	"github.com/hawktrace/hawk/internal/expand"
	"github.com/hawktrace/hawk/internal/ir/eval"
	"github.com/hawktrace/hawk/internal/lower"
	"github.com/hawktrace/hawk/internal/machine"
	"github.com/hawktrace/hawk/internal/object"
	"github.com/hawktrace/hawk/internal/opt"
	"github.com/hawktrace/hawk/internal/probe"
	"github.com/hawktrace/hawk/internal/source"
	"github.com/hawktrace/hawk/internal/syntax"
	"github.com/hawktrace/hawk/internal/types"
)

// A twin is an expression of constants and the same one of variables.
type twin struct{ folded, run string }

// twins runs expressions both ways, as lowered and as optimised, and demands
// that value and type are the same. before is put in front of them, head in
// front of the probe.
func twins(t *testing.T, head, before string, list []twin) {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "%sbegin {\n%s", head, before)
	for i, w := range list {
		fmt.Fprintf(&b, "@f%d = %s;\n@r%d = %s;\n", i, w.folded, i, w.run)
	}
	b.WriteString("}\n")
	tree, ds := syntax.Parse(source.NewFile("twins", b.String()))
	o := probe.Options{Machine: machine.Recorded("../check/testdata/machine")}
	script, more := expand.Expand(tree, expand.Options{Probe: o})
	ds.Merge(more)
	prog, more := check.Check(script)
	ds.Merge(more)
	low, more := lower.Lower(prog, lower.Options{Probe: &o})
	ds.Merge(more)
	if ds.HasErrors() {
		var text strings.Builder
		ds.Print(&text, source.PrintOptions{NoWarnings: true})
		t.Fatal(text.String())
	}
	run := func() []byte {
		m := &eval.Machine{Context: make([]byte, 64), Data: make([]byte, low.Object.Data.Bytes)}
		if _, err := m.Run(low.Programs[0].IR); err != nil {
			t.Fatal(err)
		}
		return m.Data
	}
	asLowered := run()
	if _, err := opt.Run(low.Programs[0].IR, opt.Options{ScratchSlots: 1}); err != nil {
		t.Fatal(err)
	}
	optimised := run()
	for i, w := range list {
		f, r := slot(low.Object, fmt.Sprintf("@f%d", i)), slot(low.Object, fmt.Sprintf("@r%d", i))
		get := func(data []byte, s *object.ScriptMap) uint64 { return binary.NativeEndian.Uint64(data[s.Offset+8:]) }
		want := get(asLowered, r)
		if got := get(optimised, r); got != want {
			t.Errorf("%s is %#x as lowered, %#x optimised", w.run, want, got)
		}
		if got := get(asLowered, f); got != want || !types.Same(f.Value, r.Value) {
			t.Errorf("%s folds to %#x of type %s; of variables it is %#x of type %s", w.folded, got,
				f.Value, want, r.Value)
		}
	}
}

func slot(o *object.Object, name string) *object.ScriptMap {
	for _, s := range o.Scripts {
		if s.Name == name {
			return s
		}
	}
	return nil
}

var integers = []string{"int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"}

// edges are the values of an integer type at which operators differ.
func edges(typ string) []string {
	var n uint
	if fmt.Sscanf(typ, "uint%d", &n); n != 0 {
		top := ^uint64(0) >> (64 - n)
		return []string{"0", "3", fmt.Sprint(top/2 + 1), fmt.Sprint(top)}
	}
	fmt.Sscanf(typ, "int%d", &n)
	top := uint64(1)<<(n-1) - 1
	return []string{"-1", "3", fmt.Sprint(top), fmt.Sprintf("(-%d - 1)", top)}
}

var operators = []string{"+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>", "<", "<=", ">", ">=", "==",
	"!=", "&&", "||"}

// TestOperatorTwins puts every operator to all pairs of integer types.
func TestOperatorTwins(t *testing.T) {
	for _, x := range integers {
		for _, y := range integers {
			var vars strings.Builder
			var list []twin
			for i, a := range edges(x) {
				fmt.Fprintf(&vars, "$x%d = (%s)%s;\n", i, x, a)
			}
			for j, b := range edges(y) {
				fmt.Fprintf(&vars, "$y%d = (%s)%s;\n", j, y, b)
				for i, a := range edges(x) {
					for _, op := range operators {
						if b == "0" && (op == "/" || op == "%") {
							continue // an error between constants
						}
						list = append(list, twin{fmt.Sprintf("(%s)%s %s (%s)%s", x, a, op, y, b),
							fmt.Sprintf("$x%d %s $y%d", i, op, j)})
					}
				}
			}
			twins(t, "", vars.String(), list)
		}
	}
}

// TestLiteralTwins puts every operator between a literal and a typed integer.
func TestLiteralTwins(t *testing.T) {
	for _, y := range integers {
		var vars strings.Builder
		var list []twin
		for j, b := range edges(y) {
			fmt.Fprintf(&vars, "$y%d = (%s)%s;\n", j, y, b)
			for _, a := range []string{"0", "5", "200", "40000", "0x80000000", "9223372036854775807", "-1", "-129"} {
				for _, op := range operators {
					if b != "0" || op != "/" && op != "%" {
						list = append(list, twin{fmt.Sprintf("%s %s (%s)%s", a, op, y, b),
							fmt.Sprintf("%s %s $y%d", a, op, j)})
					}
					if a != "0" && a != "-1" && a != "-129" || op != "/" && op != "%" && op != "<<" && op != ">>" {
						list = append(list, twin{fmt.Sprintf("(%s)%s %s %s", y, b, op, a),
							fmt.Sprintf("$y%d %s %s", j, op, a)})
					}
				}
			}
		}
		twins(t, "", vars.String(), list)
	}
}

// TestConversionTwins are casts, unary operators, choices, byte orders and
// enumerators.
func TestConversionTwins(t *testing.T) {
	const head = "enum level { LOW, MID = 7, HIGH = 0x90000000 }\nenum sign { LEFT = -1, RIGHT = 5 }\n"
	var vars strings.Builder
	var list []twin
	add := func(form, folded, run string) {
		list = append(list, twin{strings.ReplaceAll(form, "#", folded), strings.ReplaceAll(form, "#", run)})
	}
	for _, x := range integers {
		for i, a := range edges(x) {
			name := fmt.Sprintf("$%s_%d", x, i)
			value := fmt.Sprintf("((%s)%s)", x, a)
			fmt.Fprintf(&vars, "%s = %s;\n", name, value)
			for _, form := range []string{
				"-#", "~#", "!#", "(bool)#", "- -#", "~-#", "bswap(#)", "bswap(# + (uint64)1)",
				"bswap(#) >> 3", "-# / 3", "(uint16)-#",
				"(# ? # : 7)", "(true ? # : (uint8)7)", "(true ? # : (int8)-7)",
				"(false ? (uint64)9 : #)", "(int8)(# + 1)", "(uint32)# - 1",
				"(# > 4 ? 1 : 2)", "(# & 1) == 1 || # < 0", "# + MID", "# < HIGH", "HIGH >> 1 < #",
				"# == LEFT", "# - RIGHT", "# * true",
			} {
				add(form, value, name)
			}
			for _, to := range integers {
				add("("+to+")#", value, name)
			}
		}
	}
	for _, e := range []string{"LOW", "MID", "HIGH", "LEFT", "RIGHT"} {
		fmt.Fprintf(&vars, "$%s = %s;\n", e, e)
		for _, form := range []string{"# + 1", "# - 9", "-#", "~#", "# << 33", "# >> 1", "# == 7",
			"# < -1", "# * #", "(int16)#", "(uint8)# + 200", "!#", "bswap(# | 3)"} {
			add(form, e, "$"+e)
		}
	}
	twins(t, head, vars.String(), list)
}

// TestAssignmentTwins compares compound assignments and steps of declared and
// undeclared variables with what the same constants give.
func TestAssignmentTwins(t *testing.T) {
	var vars strings.Builder
	var list []twin
	n := 0
	for _, x := range integers {
		for _, a := range edges(x) {
			for _, op := range operators[:10] {
				n++
				fmt.Fprintf(&vars, "let $d%d: %s = (%s)%s; $d%d %s= (int16)3;\n", n, x, x, a, n, op)
				list = append(list, twin{fmt.Sprintf("(%s)((%s)%s %s (int16)3)", x, x, a, op), fmt.Sprintf("$d%d", n)})
			}
			n++
			fmt.Fprintf(&vars, "let $d%d: %s = (%s)%s; $d%d++; let $e%d: %s = (%s)%s; --$e%d;\n", n, x,
				x, a, n, n, x, x, a, n)
			list = append(list, twin{fmt.Sprintf("(%s)((%s)%s + 1)", x, x, a), fmt.Sprintf("$d%d", n)},
				twin{fmt.Sprintf("(%s)((%s)%s - 1)", x, x, a), fmt.Sprintf("$e%d", n)})
		}
	}
	twins(t, "", vars.String(), list)
}
