package check_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/hawktrace/hawk/internal/check"
	"github.com/hawktrace/hawk/internal/expand"
	"github.com/hawktrace/hawk/internal/machine"
	"github.com/hawktrace/hawk/internal/probe"
	"github.com/hawktrace/hawk/internal/source"
	"github.com/hawktrace/hawk/internal/syntax"
)

var update = flag.Bool("update", false, "rewrite the golden sections")

// run expands and checks a script on the recorded machine.
func run(t *testing.T, text string, params ...string) (*expand.Script, *check.Program, *source.Diagnostics) {
	t.Helper()
	tree, ds := syntax.Parse(source.NewFile("in.bt", text))
	if ds.HasErrors() {
		var b bytes.Buffer
		ds.Print(&b, source.PrintOptions{})
		t.Fatalf("the script does not parse:\n%s", b.String())
	}
	script, more := expand.Expand(tree, expand.Options{
		Params: params,
		Probe:  probe.Options{Machine: machine.Recorded("testdata/machine")},
	})
	for _, d := range more.List() {
		ds.Add(d)
	}
	if script == nil {
		return nil, nil, ds
	}
	prog, more := check.Check(script)
	for _, d := range more.List() {
		ds.Add(d)
	}
	return script, prog, ds
}

// Comments such as /* ERROR code */ and /* WARN code code */ stand right
// behind the text that a message is about.
var expected = regexp.MustCompile(`/\* (ERROR|WARN) ([a-z0-9 -]+) \*/`)

func wanted(text string) []string {
	var out []string
	for _, m := range expected.FindAllStringSubmatchIndex(text, -1) {
		end := len(strings.TrimRight(text[:m[0]], " \n\t"))
		// Several comments may follow one another.
		for {
			prev := expected.FindAllStringIndex(text[:end], -1)
			if len(prev) == 0 || prev[len(prev)-1][1] != end {
				break
			}
			end = len(strings.TrimRight(text[:prev[len(prev)-1][0]], " \n\t"))
		}
		for code := range strings.FieldsSeq(text[m[4]:m[5]]) {
			out = append(out, fmt.Sprintf("%d: %s %s", end, text[m[2]:m[3]], code))
		}
	}
	return out
}

func got(ds *source.Diagnostics) []string {
	var out []string
	for _, d := range ds.List() {
		word := "ERROR"
		if d.Severity == source.Warning {
			word = "WARN"
		}
		out = append(out, fmt.Sprintf("%d: %s %s", d.Span.End, word, d.Code))
	}
	return out
}

// TestErrors runs every file of every archive in testdata/errors as a script.
func TestErrors(t *testing.T) {
	archives, _ := filepath.Glob("testdata/errors/*.txtar")
	if len(archives) == 0 {
		t.Fatal("no archives")
	}
	for _, name := range archives {
		a, err := txtar.ParseFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range a.Files {
			t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar")+"/"+f.Name, func(t *testing.T) {
				text := string(f.Data)
				_, _, ds := run(t, text)
				want, have := wanted(text), got(ds)
				slices.Sort(want)
				slices.Sort(have)
				if diff := cmp.Diff(want, have); diff != "" {
					var b bytes.Buffer
					ds.Print(&b, source.PrintOptions{})
					t.Errorf("(-want +got)\n%s%s", diff, b.String())
				}
			})
		}
	}
}

// TestTypes compares the types, or the messages, of scripts with goldens:
// files in.bt and out of testdata/types/*.txtar; the comment holds positional
// parameters.
func TestTypes(t *testing.T) {
	archives, _ := filepath.Glob("testdata/types/*.txtar")
	if len(archives) == 0 {
		t.Fatal("no archives")
	}
	for _, name := range archives {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			a, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			_, prog, ds := run(t, string(a.Files[0].Data), strings.Fields(string(a.Comment))...)
			var b bytes.Buffer
			ds.Print(&b, source.PrintOptions{})
			if !ds.HasErrors() {
				check.Dump(&b, prog)
			}
			if *update {
				a.Files = []txtar.File{a.Files[0], {Name: "out", Data: b.Bytes()}}
				if err := os.WriteFile(name, txtar.Format(a), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if len(a.Files) != 2 {
				t.Fatal("want in.bt and out")
			}
			if diff := cmp.Diff(string(a.Files[1].Data), b.String()); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// TestLongChain infers types that come from the far end of a chain of maps, each defined by the
// next.
func TestLongChain(t *testing.T) {
	const n = 300
	var b strings.Builder
	b.WriteString("begin { ")
	for i := range n {
		fmt.Fprintf(&b, "@m%d = @m%d; ", i, i+1)
	}
	fmt.Fprintf(&b, "@m%d = \"abc\"; }", n)
	_, prog, ds := run(t, b.String())
	if ds.HasErrors() {
		t.Fatal(ds.List()[0].Msg)
	}
	for _, m := range prog.Maps {
		if m.Value.String() != "string[4]" {
			t.Fatalf("%s is %s", m.Name, m.Value)
		}
	}
}
