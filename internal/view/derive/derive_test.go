package derive_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
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
	"github.com/hawktrace/hawk/internal/view/derive"
)

var update = flag.Bool("update", false, "rewrite the golden sections")

// derived is what hawk -d view prints of a script on the recorded machine, and
// what is wrong with its annotations; ok is false if the script is not correct there.
func derived(name, text string, params ...string) (out string, ok bool) {
	tree, ds := syntax.Parse(source.NewFile(name, text))
	var b bytes.Buffer
	fail := func(ds *source.Diagnostics) (string, bool) {
		ds.Print(&b, source.PrintOptions{NoWarnings: true})
		return b.String(), false
	}
	if ds.HasErrors() {
		return fail(ds)
	}
	script, ds := expand.Expand(tree, expand.Options{
		Params: params,
		Probe:  probe.Options{Machine: machine.Recorded("../../compile/testdata/machine"), Unsafe: true},
	})
	if script == nil || ds.HasErrors() {
		return fail(ds)
	}
	prog, ds := check.Check(script)
	if ds.HasErrors() {
		return fail(ds)
	}
	derive.Derive(tree, prog).Write(&b)
	derive.Check(tree).Print(&b, source.PrintOptions{NoExcerpt: true})
	return b.String(), true
}

// TestDerive compares what is derived of scripts, which show one rule each,
// with what is expected. A line of params: in the comment gives $1, $2 ….
func TestDerive(t *testing.T) {
	paths, _ := filepath.Glob("testdata/*.txtar")
	n := 0
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		a := txtar.Parse(data)
		for i := 0; i+1 < len(a.Files); i += 2 {
			in, want := a.Files[i], &a.Files[i+1]
			n++
			t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar")+"/"+in.Name, func(t *testing.T) {
				got, ok := derived(in.Name, string(in.Data), "7", "text")
				if !ok {
					t.Fatalf("%s", got)
				}
				if *update {
					want.Data = []byte(got)
				} else if diff := cmp.Diff(string(want.Data), got); diff != "" {
					t.Errorf("-want +got:\n%s", diff)
				}
			})
		}
		if *update {
			if err := os.WriteFile(path, txtar.Format(a), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	if n < 30 {
		t.Errorf("there are only %d scripts", n)
	}
}

// TestCorpus derives the scripts of the corpus that are correct on the recorded
// machine; the others need events that it does not have.
func TestCorpus(t *testing.T) {
	paths, err := filepath.Glob("../../../testdata/corpus/*.bt")
	if err != nil || len(paths) < 100 {
		t.Fatalf("%d scripts, %v", len(paths), err)
	}
	var b strings.Builder
	n := 0
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		out, ok := derived(filepath.Base(path), string(text), "7", "text")
		if !ok {
			continue
		}
		n++
		fmt.Fprintf(&b, "== %s\n%s", filepath.Base(path), out)
	}
	t.Logf("%d of %d scripts", n, len(paths))
	const golden = "testdata/corpus.golden"
	if *update {
		if err := os.WriteFile(golden, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), b.String()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
