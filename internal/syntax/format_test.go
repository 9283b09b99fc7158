package syntax

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/hawktrace/hawk/internal/source"
)

// TestFormatScripts formats every script of the test data, the tools and the
// documentation that parses: what comes out means the same, says the same in its comments, and is formatted
// already.
func TestFormatScripts(t *testing.T) {
	scripts := map[string]string{}
	for _, dir := range []string{"testdata/corpus", "tools", "tools/lib"} {
		names, _ := filepath.Glob("../../" + dir + "/*.bt")
		for _, name := range names {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			scripts[name] = string(text)
		}
	}
	pages, _ := filepath.Glob("../../docs/*.md")
	for _, name := range pages {
		page, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for i, part := range strings.Split(string(page), "```") {
			if lang, text, _ := strings.Cut(part, "\n"); i%2 == 1 && (lang == "hawk" || lang == "") {
				scripts[fmt.Sprintf("%s/%d", name, i)] = text
			}
		}
	}
	archives, _ := filepath.Glob("../../testdata/script/*.txtar")
	for _, name := range archives {
		a, err := txtar.ParseFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range a.Files {
			if strings.HasSuffix(f.Name, ".bt") {
				scripts[name+"/"+f.Name] = string(f.Data)
			}
		}
	}
	done := 0
	for name, text := range scripts {
		s, ds := Parse(source.NewFile("in.bt", text))
		if ds.HasErrors() {
			continue
		}
		done++
		t.Run(filepath.Base(filepath.Dir(name))+"/"+filepath.Base(name),
			func(t *testing.T) { checkRoundTrip(t, s, text) })
	}
	if done < 100 {
		t.Errorf("only %d scripts", done)
	}
}

// TestCommentsEverywhere puts a comment, of one form after the other, between
// any two bytes of the corpus where one may stand.
func TestCommentsEverywhere(t *testing.T) {
	forms := []string{" /* c */ ", "// c\n", "\n// c\n", "\n/* c\nd */"}
	n := 0
	for _, text := range corpus {
		plain := parseClean(t, text)
		for i := range len(text) + 1 {
			if i > 0 && i < len(text) && isNamePart(text[i-1]) && isNamePart(text[i]) {
				continue
			}
			n++
			with := text[:i] + forms[n%len(forms)] + text[i:]
			s, ds := Parse(source.NewFile("in.bt", with))
			if ds.Len() == 0 && len(s.Comments) == len(plain.Comments)+1 && sameTree(plain, s) == "" {
				checkRoundTrip(t, s, with)
			}
		}
	}
}

// remarks are the words of the comments of a script, whatever the form.
func remarks(s *Script) []string {
	var out []string
	for _, c := range s.Comments {
		out = append(out, strings.Join(strings.FieldsFunc(c.Text,
			func(r rune) bool { return strings.ContainsRune(" \t\r\n\f\v/*", r) }), " "))
	}
	return slices.DeleteFunc(out, func(s string) bool { return s == "" })
}
