package user

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/hawktrace/hawk/internal/attach"
	"github.com/hawktrace/hawk/internal/errno"
	"github.com/hawktrace/hawk/internal/exe"
	"github.com/hawktrace/hawk/internal/order"
	"github.com/hawktrace/hawk/internal/probe"
	"github.com/hawktrace/hawk/internal/spell"
)

// Advice on probes of programs that match nothing.

// Elsewhere says where programs and libraries are looked for.
const Elsewhere = "a name without '/' is looked for in the directories of PATH, one that begins with lib among " +
	"the libraries"

// whyNoFile says why no probe can be put into a file that is there, or where it
// was looked for.
func whyNoFile(p *probe.Point, s exe.Search) string {
	name := p.Target
	if name == "" || strings.Contains(name, "*") {
		return ""
	}
	paths := s.Candidates(name)
	for _, path := range paths {
		st, err := os.Stat(exe.OnDisk(path))
		switch {
		case errors.Is(err, fs.ErrPermission):
			return path + ": " + errno.Reason(err)
		case err != nil:
			continue
		case st.IsDir():
			if strings.Contains(name, "/") {
				return path + " is a directory"
			}
			continue
		case !st.Mode().IsRegular():
			return path + " is no regular file"
		}
		if program := interpreter(path); program != "" {
			return path + " is a script: what runs is " + program
		}
		if err := exe.Check(path); err != nil {
			if unopened := (*fs.PathError)(nil); errors.As(err, &unopened) {
				return "" // which the error says
			}
			why := path + " is there, but it is no program: " + strings.TrimPrefix(errno.Message(err), path+": ")
			if errors.Is(err, exe.ErrNotELF) && p.Kind.Name == "uprobe" && p.Func == "" {
				why += "; with --unsafe a probe goes to any byte of it"
			}
			return why
		}
	}
	if !strings.Contains(name, "/") {
		if exe.Check("./"+name) == nil {
			return "did you mean ./" + name + "? " + Elsewhere
		}
		return Elsewhere
	}
	return ""
}

// interpreter is the program that a script names in its first line, "" if the
// file is no script.
func interpreter(path string) string {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return ""
	}
	defer f.Close()
	head := make([]byte, 256)
	n, _ := f.Read(head)
	line, _, _ := strings.Cut(string(head[:n]), "\n")
	line, script := strings.CutPrefix(line, "#!")
	words := strings.Fields(line)
	switch {
	case !script || len(words) == 0:
		return ""
	case len(words) > 1 && strings.HasSuffix(words[0], "/env"):
		return words[len(words)-1]
	}
	return words[0]
}

// whyNoSymbol says what a name may be meant to be that no symbol has: one in a
// scope of C++, Rust or Go, a variant that the compiler has made of it, or a
// function without code of its own; or else that the file names no function at all.
func whyNoSymbol(p *probe.Point, o *probe.Options) string {
	if p.Func == "" {
		return ""
	}
	wild := p.Pattern.Fn.HasWild()
	advice, stripped, named := "", "", false
	plain, version, _ := strings.Cut(p.Func, "@")
	eachFile(p, o, func(path string, file *exe.File) error {
		withDebugFile(file, o, func(f *exe.File) bool {
			if _, ok := f.Symbol(plain); ok && version != "" {
				advice = "a function is named without a version: " + p.Kind.Name + ":" + p.Target + ":" + plain
			} else if !wild {
				advice = scoped(p, f)
			}
			named = named || namesFunctions(f)
			return advice != ""
		})
		q := *p
		q.Target = path
		if advice == "" && !wild {
			advice = whyInlined(&q, o)
		}
		stripped = path
		return nil
	})
	if advice == "" && stripped != "" && !named {
		return stripped + " has no symbols of functions: install its debug symbols, or give an address, " +
			p.Kind.Name + ":" + p.Target + ":0x1234"
	}
	return advice
}

// namesFunctions reports whether a file has a symbol of a function.
func namesFunctions(f *exe.File) bool {
	for r := range f.Symbols() {
		if r.IsFunc() {
			return true
		}
	}
	return false
}

// scoped finds functions whose names end in that of the point.
func scoped(p *probe.Point, f *exe.File) string {
	const most = 3
	var found []string
	word := mangledWord(probe.Part{Text: p.Func, Literal: true})
	generic, _, _ := strings.Cut(p.Func, "[")
	f.Functions(func(name []byte) bool {
		s := string(name)
		if s == p.Func || !strings.Contains(s, generic) && !(exe.IsMangled(s) && strings.Contains(s, word)) {
			return false
		}
		if plain := unscoped(p.Func, s); plain != "" && !slices.Contains(found, plain) {
			found = append(found, plain)
		}
		return false
	})
	if len(found) == 0 {
		return ""
	}
	order.By(found, func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) })
	more := len(found) - most
	found = found[:min(most, len(found))]
	for i, name := range found {
		found[i] = p.Kind.Name + ":" + p.Target + ":" + name
	}
	text := "did you mean " + strings.Join(found, " or ")
	if more > 0 {
		text += fmt.Sprintf(" or one of %d more", more)
	}
	return text + "?"
}

// unscoped is how a symbol is written in an attach point if it is the function
// called name, "" if it is not.
func unscoped(name, symbol string) string {
	if exe.IsMangled(symbol) {
		return unscopedSource(name, symbol)
	}
	// An instance of a function with type parameters: main.first[go.shape.int].
	base, _, instance := strings.Cut(symbol, "[")
	generic, _, _ := strings.Cut(name, "[")
	switch {
	case instance && (base == generic || strings.HasSuffix(base, "."+generic)):
		return `"` + symbol + `"`
	case strings.HasPrefix(symbol, name+"."): // work.isra.0; .part and .cold are pieces of it
		if rest := symbol[len(name):]; strings.HasPrefix(rest, ".part") || strings.HasPrefix(rest, ".cold") {
			return ""
		}
		return symbol
	case strings.HasSuffix(symbol, "."+name): // main.work, main.(*T).Work
		if strings.ContainsAny(symbol, "(*[{ /") {
			return `"` + symbol + `"`
		}
		return symbol
	}
	return ""
}

// unscopedSource is unscoped for names of C++ and Rust, with parameters or without. What stands
// behind the parameters, as const does, may have been left out.
func unscopedSource(name, symbol string) string {
	plain := exe.DemangleName(symbol)
	if plain != name && !strings.HasSuffix(plain, "::"+name) {
		plain = exe.Demangle(symbol)
		if !strings.Contains(name, "(") || !strings.HasPrefix(plain, name) && !strings.HasSuffix(plain, "::"+name) {
			return ""
		}
	}
	language := "cpp:"
	if strings.HasPrefix(symbol, "_R") || strings.Contains(symbol, "17h") {
		language = "rust:"
	}
	if strings.ContainsAny(plain, ":(<, ") {
		plain = `"` + plain + `"`
	}
	return language + plain
}

// whyInlined tells a function whose code stands only where it is called.
func whyInlined(p *probe.Point, o *probe.Options) string {
	d, err := debugInfo(p, o)
	if err != nil || !d.Inlined(p.Func) {
		return ""
	}
	return fmt.Sprintf("%s is inlined wherever it is called; its code is found by its lines: uprobe:%s@FILE:LINE",
		p.Func, p.Target)
}

// whyNoMark says which marks the file has that a point names.
func whyNoMark(p *probe.Point, o *probe.Options) string {
	if p.Target == "" {
		return ""
	}
	var of string
	var notes []exe.Note
	var looked []string
	eachFile(p, o, func(path string, file *exe.File) error {
		own, err := file.USDT()
		if looked = append(looked, path); err == nil {
			of, notes = path, append(notes, own...)
		}
		return err
	})
	switch {
	case len(looked) == 0:
		return ""
	case len(looked) == 1:
		return otherMarks(p, of, notes)
	}
	// Marks of the same provider are those of interest, where there are many files.
	kind := "marks"
	if !p.Pattern.Provider.HasWild() {
		kind += " of " + p.Provider
		notes = slices.DeleteFunc(notes, func(n exe.Note) bool { return n.Provider != p.Provider })
	}
	if len(notes) > 0 {
		return otherMarks(p, "one of the files", notes)
	}
	// Those of one process are few, and its user knows them.
	if p.Target == "*" && o.OnePID() {
		return "files looked at: " + attach.SomeOf(looked)
	}
	which := fmt.Sprintf("%d files", len(looked))
	if p.Target == "*" {
		which += " of the programs that run"
	}
	return "none of the " + which + " has " + kind
}

// otherMarks tells the marks that files have.
func otherMarks(p *probe.Point, path string, notes []exe.Note) string {
	if len(notes) == 0 {
		return path + " has no marks"
	}
	var all, names []string
	for _, n := range notes {
		mark := n.Provider + ":" + n.Name
		if n.Name == p.Func {
			return "did you mean " + p.Kind.Name + ":" + p.Target + ":" + mark + "?"
		}
		if !slices.Contains(all, mark) {
			all, names = append(all, mark), append(names, n.Name)
		}
	}
	if !p.Pattern.Fn.HasWild() && spell.Nearest(p.Func, names) != "" {
		return "" // which is suggested
	}
	slices.Sort(all)
	return path + " has the marks " + attach.SomeOf(all)
}
