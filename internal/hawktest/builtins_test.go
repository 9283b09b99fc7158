package hawktest

import (
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/hawktrace/hawk/internal/builtin"
)

// TestBuiltinsProven finds a case for each builtin and each aggregation: a command
// of hawk's that uses it and of which something is expected.
func TestBuiltinsProven(t *testing.T) {
	root, err := Root()
	if err != nil {
		t.Fatal(err)
	}
	paths, err := filepath.Glob(filepath.Join(root, ScriptDir, "*.txtar"))
	if err != nil || len(paths) == 0 {
		t.Fatal("no cases: ", err)
	}
	var cases []*txtar.Archive
	for _, path := range paths {
		archive, err := txtar.ParseFile(path)
		if err != nil {
			t.Fatal(err)
		}
		cases = append(cases, archive)
	}
	check := func(name string, use *regexp.Regexp) {
		for _, archive := range cases {
			var texts []string
			for line := range strings.Lines(string(archive.Comment)) {
				if strings.Contains(line, "hawk") {
					texts = append(texts, line)
				}
			}
			for _, f := range archive.Files {
				if path.Ext(f.Name) == ".bt" { // in another language the name is another thing
					texts = append(texts, string(f.Data))
				}
			}
			for _, text := range texts {
				for _, found := range use.FindAllString(text, -1) {
					if proves(archive, found, false) == nil {
						return
					}
				}
			}
		}
		t.Errorf("no case uses %s and expects something of it: write one, %s/AREA_%s.txtar",
			name, ScriptDir, name)
	}
	for _, f := range builtin.All() {
		switch {
		case f.Name == "argN" || f.Name == "sargN":
			stem := f.Name[:len(f.Name)-1]
			check(f.Name, regexp.MustCompile(`\b`+stem+`\d+\b[^\n]*`))
		case f.Bare:
			check(f.Name, regexp.MustCompile(`\b`+f.Name+`\b[^\n]*`))
		default:
			check(f.Name, regexp.MustCompile(`\b`+f.Name+`\([^\n]*`))
		}
	}
	for _, a := range builtin.Aggs() {
		check(a.Name, regexp.MustCompile(`\b`+a.Name+`\([^\n]*`))
	}
}
