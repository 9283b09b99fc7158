package opt_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/hawktrace/hawk/internal/ir"
	"github.com/hawktrace/hawk/internal/opt"
)

var update = flag.Bool("update", false, "rewrite the golden sections of testdata")

// TestGolden runs the passes that the sections of each file name (a word per
// pass, '-' for a space) on the section "in"; "all" stands for Run.
func TestGolden(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatal(err, "no testdata")
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			ar, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			in := string(ar.Files[0].Data)
			for i, file := range ar.Files[1:] {
				p, err := ir.Parse(in)
				if err != nil {
					t.Fatal(err)
				}
				if err := ir.Verify(p); err != nil {
					t.Fatal(err)
				}
				if file.Name == "all" {
					_, err = opt.Run(p, opt.Options{ScratchMap: 1, ScratchSlots: 2, MissedData: 16, Verify: true})
				} else {
					err = opt.RunPass(strings.ReplaceAll(file.Name, "-", " "), p)
				}
				if err != nil {
					t.Fatal(err)
				}
				if err := ir.Verify(p); err != nil {
					t.Fatalf("%s: %v\n%s", file.Name, err, p)
				}
				got := p.String()
				if *update {
					ar.Files[i+1].Data = []byte(got)
				} else if diff := cmp.Diff(string(file.Data), got); diff != "" {
					t.Errorf("%s:\n%s", file.Name, diff)
				}
			}
			if *update {
				if err := os.WriteFile(path, txtar.Format(ar), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}
