package internal_test

import (
	"bytes"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// sources lists the files of the tree whose names end in one of suffixes, from
// the root of the module, with slashes. What fuzzers and builds leave is not in it.
func sources(t *testing.T, suffixes ...string) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir("..", func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() && name != ".." && (strings.HasPrefix(name, ".") && name != ".ci" || name == "fuzz") {
			return fs.SkipDir
		}
		if !d.IsDir() && slices.ContainsFunc(suffixes, func(s string) bool { return strings.HasSuffix(file, s) }) {
			out = append(out, filepath.ToSlash(strings.TrimPrefix(file, "../")))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func readSource(t *testing.T, file string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", file))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// rooms finds the packages of internal that are named in code quotes in the
// first column of the tour's table.
func rooms(tour string) []string {
	var out []string
	for line := range strings.Lines(tour) {
		first, isRow := strings.CutPrefix(line, "| `")
		if !isRow {
			continue
		}
		first, _, _ = strings.Cut(first, "|")
		for _, m := range quoted.FindAllStringSubmatch("`"+first, -1) {
			out = append(out, m[1])
		}
	}
	return out
}

// TestRooms has the tour name every package of internal, and no other.
func TestRooms(t *testing.T) {
	named := rooms(string(readSource(t, "docs/architecture.md")))
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !e.IsDir() || e.Name() == "testdata" {
			continue
		}
		if !slices.Contains(named, e.Name()) {
			t.Errorf("docs/architecture.md has no row for package %s: say what it holds", e.Name())
		}
	}
	for i, name := range named {
		if _, err := os.Stat(name); err != nil && name != "hawk" && name != "usdt" { // these are public
			t.Errorf("docs/architecture.md has a row for %s, which is no package of internal", name)
		}
		if slices.Contains(named[:i], name) {
			t.Errorf("docs/architecture.md has two rows for %s", name)
		}
	}
}

// Names of files are looked for in comments and documents where they cannot be
// anything else: sources, cases and documents.
var (
	fileName  = regexp.MustCompile(`(^|[^\w/.*<-])(\w[\w/.-]*\.(?:go|txtar|md))\b`)
	quoted    = regexp.MustCompile("`([^`]+)`")
	directory = regexp.MustCompile(`(^|[^\w/.-])((?:internal|docs|testdata/script|testdata/corpus)/[\w/.-]*\w)`)
	mdLink    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading   = regexp.MustCompile(`(?m)^#+ (.*)$`)
	entry     = regexp.MustCompile(`(?m)^\*\*([^*]+)\*\*:`) // of the glossary
)

// noFiles are words that look like names of files, and stand for any.
var noFiles = []string{"area_case.txtar", "kernel_test.go"}

// exists reports whether name is a file or directory as seen from file: beside
// it, below the root, below internal or among the cases.
func exists(file, name string) bool {
	for _, dir := range []string{path.Dir(file), ".", "internal", "internal/hawktest", "docs", "testdata/script"} {
		if _, err := os.Stat(filepath.Join("..", dir, name)); err == nil {
			return true
		}
	}
	return false
}

// anchor is what a heading is linked by.
func anchor(heading string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(strings.TrimSpace(heading)) {
		switch {
		case r == ' ':
			b.WriteByte('-')
		case r == '-' || r == '_' || r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r > 127:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// TestNamedFiles follows what documents link to and what comments name.
func TestNamedFiles(t *testing.T) {
	check := func(file string, line int, text string) {
		found := slices.Concat(fileName.FindAllStringSubmatch(text, -1), directory.FindAllStringSubmatch(text, -1))
		for _, m := range found {
			if name := m[2]; !slices.Contains(noFiles, name) && !exists(file, name) {
				t.Errorf("%s:%d names %s, which is not there", file, line, name)
			}
		}
	}
	for _, file := range sources(t, ".go") {
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, file, readSource(t, file), parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			if strings.Contains(file, "testdata/") {
				continue // a test's input
			}
			t.Fatal(err)
		}
		for _, group := range f.Comments {
			for _, c := range group.List {
				check(file, fset.Position(c.Pos()).Line, strings.TrimPrefix(c.Text, "//"))
			}
		}
	}
	for _, file := range sources(t, ".md") {
		text := string(readSource(t, file))
		for i, line := range strings.Split(text, "\n") {
			for _, m := range quoted.FindAllStringSubmatch(line, -1) {
				check(file, i+1, m[1])
			}
			for _, m := range mdLink.FindAllStringSubmatch(line, -1) {
				checkLink(t, file, i+1, m[1])
			}
		}
	}
}

// checkLink follows a link of a document within the tree.
func checkLink(t *testing.T, file string, line int, to string) {
	t.Helper()
	if strings.Contains(to, "://") || strings.HasPrefix(to, "mailto:") {
		return
	}
	name, at, _ := strings.Cut(to, "#")
	target := file
	if name != "" {
		target = path.Join(path.Dir(file), name)
	}
	if _, err := os.Stat(filepath.Join("..", target)); err != nil {
		t.Errorf("%s:%d links to %s, which is not there", file, line, to)
		return
	}
	if at == "" {
		return
	}
	for _, m := range heading.FindAllStringSubmatch(string(readSource(t, target)), -1) {
		if anchor(m[1]) == at {
			return
		}
	}
	t.Errorf("%s:%d links to #%s, which is no heading of %s", file, line, at, target)
}

// TestDocumentsAreFound has every document be linked to by another one: what
// nobody leads to is not read.
func TestDocumentsAreFound(t *testing.T) {
	linked := map[string]bool{"README.md": true, "CONTRIBUTING.md": true}
	files := sources(t, ".md")
	for _, file := range files {
		for _, m := range mdLink.FindAllStringSubmatch(string(readSource(t, file)), -1) {
			if name, _, _ := strings.Cut(m[1], "#"); name != "" {
				linked[path.Join(path.Dir(file), name)] = true
			}
		}
	}
	for _, file := range files {
		if !linked[file] && !strings.Contains(file, "testdata/") {
			t.Errorf("no document links to %s", file)
		}
	}
}

// TestTourIsShort keeps the tour what one reads in a quarter of an hour.
func TestTourIsShort(t *testing.T) {
	const most = 1500
	if n := len(bytes.Fields(readSource(t, "docs/architecture.md"))); n > most {
		t.Errorf("docs/architecture.md has %d words, of at most %d: move what goes deep to docs/design", n, most)
	}
}

// TestPackageComments has each package say what it is for, by its own name.
func TestPackageComments(t *testing.T) {
	said := map[string]bool{}
	for _, file := range sources(t, ".go") {
		dir := path.Dir(file)
		if strings.HasSuffix(file, "_test.go") || strings.Contains(file, "testdata/") {
			continue
		}
		const mode = parser.PackageClauseOnly | parser.ParseComments
		f, err := parser.ParseFile(token.NewFileSet(), file, readSource(t, file), mode)
		if err != nil {
			t.Fatal(err)
		}
		said[dir] = said[dir] || f.Doc != nil
		if f.Doc == nil || f.Name.Name == "main" {
			continue
		}
		if begin := "Package " + f.Name.Name + " "; !strings.HasPrefix(f.Doc.Text(), begin) {
			t.Errorf("%s: the comment of the package does not begin with %q", file, begin)
		}
	}
	for dir, ok := range said {
		if !ok {
			t.Errorf("no file of %s says in a comment what the package is for", dir)
		}
	}
}

// TestGlossary has the words of the glossary be in order, each once.
func TestGlossary(t *testing.T) {
	const file = "docs/design/glossary.md"
	var words []string
	for _, m := range entry.FindAllStringSubmatch(string(readSource(t, file)), -1) {
		words = append(words, strings.ToLower(m[1]))
	}
	if len(words) == 0 {
		t.Fatal("there are no words")
	}
	if !slices.IsSorted(words) || len(slices.Compact(slices.Clone(words))) != len(words) {
		t.Errorf("%s is not in order, or has a word twice: %v", file, words)
	}
}

// called are words of documents that say how something is called: "b.Eq(", "readsBack(", "probe.TestX".
var called = regexp.MustCompile(`\b(?:\w+\.)?([A-Za-z]\w+)\(|\b[a-z]\w*\.(Test\w+)\b`)

// TestAddingIsTrue has the page about adding things name no function or test that is not there. Whole
// examples are not looked at.
func TestAddingIsTrue(t *testing.T) {
	there := map[string]bool{"getopt": true, "row": true, "probe_exists": true} // of the language
	declared := regexp.MustCompile(`(?m)^func (?:\([^)]*\) )?(\w+)`)
	for _, file := range sources(t, ".go") {
		for _, m := range declared.FindAllSubmatch(readSource(t, file), -1) {
			there[string(m[1])] = true
		}
	}
	const page = "docs/design/adding.md"
	text := fenced.ReplaceAllString(string(readSource(t, page)), "")
	for _, quote := range quoted.FindAllString(text, -1) {
		for _, m := range called.FindAllStringSubmatch(quote, -1) {
			if name := m[1] + m[2]; !there[name] {
				t.Errorf("%s: %s: there is no function %s", page, quote, name)
			}
		}
	}
}

// fenced is code that stands in lines of its own.
var fenced = regexp.MustCompile("(?s)```.*?```")
