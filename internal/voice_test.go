package internal_test

import (
	"go/ast"
	godoc "go/doc"
	"go/parser"
	"go/scanner"
	"go/token"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

// columns is the width that no line goes beyond; a tab counts four.
const columns = 120

// TestColumns keeps lines within what one sees beside another file. Exempt are lines inside
// of a raw string, which are somebody else's text (a script, what a program prints), tables
// and code of documentation, and what has no place to break.
func TestColumns(t *testing.T) {
	written := sources(t, ".go", ".md", ".bt", ".py", ".js", ".css", ".html", ".s", "Makefile",
		".ci/run", ".ci/fuzz", ".ci/fresh")
	for _, file := range written {
		if strings.Contains(file, ".min.") { // as somebody else has published it
			continue
		}
		src := readSource(t, file)
		exempt := rawLines(src)
		switch filepath.Ext(file) {
		case ".md":
			exempt = codeLines(src)
		case ".bt":
			if strings.Contains(file, "/corpus/") { // somebody else's
				continue
			}
		case ".go":
		default:
			exempt = nil
		}
		n := 0
		for line := range strings.Lines(string(src)) {
			n++
			line = strings.ReplaceAll(strings.TrimSuffix(line, "\n"), "\t", "    ")
			if got := utf8.RuneCountInString(line); got > columns && !exempt[n] {
				t.Errorf("%s:%d: %d columns, of %d; break it (comments at 100)", file, n, got, columns)
			}
		}
	}
}

// codeLines are the numbers of the lines of a page that are code, rows of a table, or one word.
func codeLines(src []byte) map[int]bool {
	lines := map[int]bool{}
	n, code := 0, false
	for line := range strings.Lines(string(src)) {
		n++
		line = strings.TrimSpace(line)
		fence := strings.HasPrefix(line, "```")
		code = code != fence
		outside := quoted.ReplaceAllString(line, "")
		lines[n] = code || strings.HasPrefix(line, "|") || !strings.Contains(outside, " ")
	}
	return lines
}

// rawLines are the numbers of the lines that belong to raw strings of several lines.
func rawLines(src []byte) map[int]bool {
	lines := map[int]bool{}
	fset := token.NewFileSet()
	file := fset.AddFile("", -1, len(src))
	var s scanner.Scanner
	s.Init(file, src, nil, 0)
	for {
		pos, tok, lit := s.Scan()
		if tok == token.EOF {
			return lines
		}
		if more := strings.Count(lit, "\n"); tok == token.STRING && more > 0 {
			for n := range more + 1 {
				lines[file.Line(pos)+n] = true
			}
		}
	}
}

// riddle is how a comment begins that makes the reader guess its subject.
var riddle = regexp.MustCompile(`^(What|Of|Whoever|Whatever|Whether) `)

// TestFirstWords has comments begin with their subject. A declaration may have one of these
// names.
func TestFirstWords(t *testing.T) {
	for _, file := range sources(t, ".go") {
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, file, readSource(t, file), parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			continue
		}
		names := map[*ast.CommentGroup]string{}
		for _, d := range f.Decls {
			if d, ok := d.(*ast.FuncDecl); ok {
				names[d.Doc] = d.Name.Name
			}
		}
		for _, group := range f.Comments {
			if m := riddle.FindStringSubmatch(group.Text()); m != nil && m[1] != names[group] {
				first, _, _ := strings.Cut(group.Text(), "\n")
				t.Errorf("%s: begin with the subject, and say what it does: %s", fset.Position(group.Pos()), first)
			}
		}
	}
	for _, file := range sources(t, ".bt", ".py") {
		if !strings.HasPrefix(file, "tools/") && !strings.HasPrefix(file, "contrib/") {
			continue
		}
		n, before := 0, false
		for line := range strings.Lines(string(readSource(t, file))) {
			n++
			text, isComment := strings.CutPrefix(strings.ReplaceAll(strings.TrimSpace(line), "# ", "// "), "// ")
			if isComment && !before && riddle.MatchString(text) {
				t.Errorf("%s:%d: begin with the subject, and say what it does: %s", file, n, text)
			}
			before = isComment
		}
	}
}

// TestCannot has one spelling of a word. Messages keep theirs: they are compared
// with those of other tools.
func TestCannot(t *testing.T) {
	for _, file := range sources(t, ".go") {
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, file, readSource(t, file), parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			continue
		}
		for _, group := range f.Comments {
			if text := group.Text(); twoWords.MatchString(text) && !strings.ContainsAny(text, `"`) {
				t.Errorf("%s: \"cannot\" is one word", fset.Position(group.Pos()))
			}
		}
	}
	for _, file := range sources(t, ".md") {
		for i, line := range strings.Split(string(readSource(t, file)), "\n") {
			if twoWords.MatchString(quoted.ReplaceAllString(line, "")) {
				t.Errorf("%s:%d: \"cannot\" is one word", file, i+1)
			}
		}
	}
}

var twoWords = regexp.MustCompile(`\bcan not\b`)

// words is how many the first sentence of a comment has at most.
const words = 15

// longShare is how many of a hundred first sentences may be longer, in packages that are
// not public. It may only become smaller.
const longShare = 30

// TestFirstSentence keeps the first sentence of the comment of a declaration short: it is
// what a list of declarations shows. The packages that are public have no longer ones.
func TestFirstSentence(t *testing.T) {
	all, long := 0, 0
	for _, file := range sources(t, ".go") {
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, file, readSource(t, file), parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			continue
		}
		docs := []*ast.CommentGroup{f.Doc}
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				docs = append(docs, d.Doc)
			case *ast.GenDecl:
				docs = append(docs, d.Doc)
			}
		}
		dir := filepath.ToSlash(filepath.Dir(file))
		public := (dir == "." || dir == "usdt") && !strings.HasSuffix(file, "_test.go")
		for _, doc := range docs {
			n := len(strings.Fields(new(godoc.Package).Synopsis(doc.Text())))
			switch {
			case n == 0:
				continue
			case n > words && public:
				t.Errorf("%s: the first sentence has %d words, of %d", fset.Position(doc.Pos()), n, words)
			case n > words:
				long++
			}
			all++
		}
	}
	if long*100 > all*longShare {
		t.Errorf("%d of %d first sentences have more than %d words, want %d %% at most", long, all, words, longShare)
	}
	t.Logf("%d of %d first sentences have more than %d words", long, all, words)
}
