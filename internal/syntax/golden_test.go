package syntax

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/hawktrace/hawk/internal/source"
)

var update = flag.Bool("update", false, "rewrite the golden sections of testdata")

// TestGolden reads in.bt of every archive in testdata and compares the sections
// that are there: tree, tokens, fmt and errors.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no testdata: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			ar, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if len(ar.Files) < 2 || ar.Files[0].Name != "in.bt" {
				t.Fatal("want in.bt and at least one golden section")
			}
			f := source.NewFile("in.bt", string(ar.Files[0].Data))
			script, ds := Parse(f)
			for i := range ar.Files[1:] {
				section := &ar.Files[i+1]
				var got bytes.Buffer
				switch section.Name {
				case "tree":
					err = Dump(&got, script)
				case "tokens":
					err = DumpTokens(&got, f)
				case "fmt":
					err = Print(&got, script)
				case "errors":
					ds.Print(&got, source.PrintOptions{})
				default:
					t.Fatalf("unknown section %s", section.Name)
				}
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(string(section.Data), got.String()); diff != "" && !*update {
					t.Errorf("%s: (-want +got)\n%s", section.Name, diff)
				}
				section.Data = got.Bytes()
			}
			if *update {
				if err := os.WriteFile(file, txtar.Format(ar), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}
