package strace

import (
	"fmt"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/hawktrace/hawk/internal/exe"
)

// A term is a part of a filter of ltrace: names of functions, and of libraries that have them.
// glob and of keep the texts, since a function cannot be asked what it matches: globs and
// libraries need to know.
type term struct {
	without       bool
	name, library func(string) bool // library: nil for all
	glob          string            // that name is, "" if it is something else
	of            string            // that library is, likewise
}

// filter reads a filter of ltrace: NAME, NAME@LIBRARY and @LIBRARY with + and - in between. Terms
// count from left to right, the last one that fits decides (see chosen). One that begins with "-"
// takes away from all, so that "all" is put in front. Names are those of ltrace: wildcards of
// the shell, or a regular expression in slashes.
func filter(text string) (terms []term, err error) {
	rest := text
	if strings.HasPrefix(rest, "-") {
		terms = append(terms, term{name: func(string) bool { return true }})
	}
	for rest != "" {
		t := term{without: rest[0] == '-'}
		if rest[0] == '-' || rest[0] == '+' {
			rest = rest[1:]
		}
		before := rest
		if t.name, rest, err = pattern(rest); err != nil {
			return nil, err
		}
		// A regular expression is no pattern that attach points know.
		if t.glob = before[:len(before)-len(rest)]; strings.HasPrefix(t.glob, "/") {
			t.glob = ""
		}
		if library, ok := strings.CutPrefix(rest, "@"); ok {
			// A path is compared whole: a library may be one that the program is not linked
			// with, and it is then looked for there.
			if end := pathEnd(library); end > 0 {
				t.of, rest = library[:end], library[end:]
				t.library = func(file string) bool { return file == t.of }
			} else if t.library, rest, err = pattern(library); err != nil {
				return nil, err
			} else {
				t.of = library[:len(library)-len(rest)]
			}
		}
		terms = append(terms, t)
	}
	return terms, nil
}

// pattern reads a name with wildcards, or a regular expression in slashes, up to what ends it. rest
// begins with the "+", "-" or "@" behind it. An empty name matches everything, as in "@libc*".
func pattern(text string) (match func(string) bool, rest string, err error) {
	if inner, ok := strings.CutPrefix(text, "/"); ok {
		expr, rest, closed := strings.Cut(inner, "/")
		re, err := regexp.Compile(expr)
		if err != nil || !closed {
			return nil, "", fmt.Errorf("%s is no regular expression in slashes", text)
		}
		return re.MatchString, rest, nil
	}
	end := strings.IndexAny(text, "+-@")
	if end < 0 {
		end = len(text)
	}
	glob := text[:end]
	if _, err := path.Match(glob, ""); err != nil {
		return nil, "", fmt.Errorf("%s is no pattern", glob)
	}
	return func(name string) bool {
		ok, _ := path.Match(glob, name)
		return ok || glob == ""
	}, text[end:], nil
}

// pathEnd is how long the path is that a text begins with, up to a "+"; 0 if it begins with something else, as
// a regular expression. A slash at its end as well makes it one. A "-" does not end it, since
// names of libraries have that: libc-2.31.so.
func pathEnd(text string) int {
	end, _, _ := strings.Cut(text, "+")
	if !strings.HasPrefix(end, "/") || strings.HasSuffix(end, "/") || strings.Count(end, "/") < 2 {
		return 0
	}
	return len(end)
}

// chosen reports whether a function is one of those that terms say; the names of its library are asked for only
// if a term has one. Asking for the library reads symbol tables, which takes longer than all the
// rest.
func chosen(terms []term, name string, library func() []string) bool {
	in := false
	for _, t := range terms {
		if t.without == in && t.name(name) && (t.library == nil || slices.ContainsFunc(library(), t.library)) {
			in = !t.without
		}
	}
	return in
}

// libraryNames says which library of a program has a function, by the last part of its path. The
// libraries are read when the first name is asked for, since most filters name none.
func libraryNames(program string) func(name string) string {
	var names map[string]string
	return func(name string) string {
		if names == nil {
			names = map[string]string{}
			for _, file := range exe.Libraries(program) {
				f, err := exe.Open(file)
				if err != nil {
					continue
				}
				for r := range f.Symbols() {
					// The first library wins, as it does for the dynamic linker.
					if _, known := names[string(r.Name)]; !known && r.IsAttachable() {
						names[string(r.Name)] = filepath.Base(file)
					}
				}
				f.Close()
			}
		}
		return names[name]
	}
}

// globs are the patterns of terms that can become patterns of attach points; nil if they cannot.
//
// One attach point with a pattern is attached in one system call, thousands of names take one each.
// But it can say neither "without" nor "of this library", it has no brackets, and a name that two
// patterns match would be traced twice.
func globs(terms []term, names []string) (out []string) {
	for _, t := range terms {
		if t.without || t.library != nil || t.glob == "" || strings.ContainsAny(t.glob, `[\`) {
			return nil
		}
		// A pattern that matches nothing would be an error when it is attached.
		if slices.ContainsFunc(names, t.name) {
			out = append(out, t.glob)
		}
	}
	for _, name := range names {
		// A name that two patterns match would get two probes, and show each call twice.
		n := 0
		for _, t := range terms {
			if t.name(name) {
				n++
			}
		}
		if n > 1 {
			return nil
		}
	}
	return out
}
