package expand

import (
	"io/fs"
	"slices"
	"strings"

	"github.com/hawktrace/hawk/internal/builtin"
	"github.com/hawktrace/hawk/internal/cdef"
	"github.com/hawktrace/hawk/internal/source"
	"github.com/hawktrace/hawk/internal/syntax"
	"github.com/hawktrace/hawk/internal/types"
)

// readC reads the C definitions of the script and the headers they include.
// A script without C text and headers pays nothing: not even the predefined macros are made.
func (e *expander) readC(o Options) {
	var pieces []cdef.Piece
	for _, item := range e.out.Tree.Items {
		if def, ok := item.(*syntax.CDef); ok {
			pieces = append(pieces, cdef.Piece{Text: def.Text, At: def.Span()})
		}
	}
	if len(pieces)+len(o.Includes) == 0 {
		return
	}
	t := e.opts.Machine
	_, err := t.BTF()
	c := cdef.Options{
		Files: o.Files, Dirs: e.headerDirs(o.IncludeDirs, o.Files, err == nil), Include: o.Includes,
		Arch: t.Arch().Name, KernelTypes: err == nil,
	}
	if err == nil {
		// Types that the C text names without defining them are the kernel's.
		c.Kernel = func(tag, name string) (types.Type, error) { return t.TypeByName(tag, name) }
		c.Enumerator = func(name string) (int64, bool) {
			_, v, err := t.EnumeratorByName(name)
			return v, err == nil
		}
	}
	unit, ds := cdef.Read(pieces, c)
	e.ds.Merge(ds)
	e.out.C = unit
}

// headerDirs are the directories in which headers are looked for. The headers
// of a kernel are read only where it has no type information, which tells the
// same about the very kernel that runs, or where somebody named them.
func (e *expander) headerDirs(first []string, given fs.FS, kernelTypes bool) []string {
	dirs := append([]string{}, first...)
	t := e.opts.Machine
	if given != nil {
		return append(dirs, ".")
	}
	if !t.Live() {
		return dirs
	}
	triplet, kernelArch := "x86_64-linux-gnu", "x86"
	if t.Arch().Name == "aarch64" {
		triplet, kernelArch = "aarch64-linux-gnu", "arm64"
	}
	trees := slices.Clip(t.Named.Trees)
	if len(trees) == 0 && !kernelTypes && t.Release() != "" {
		trees = append(trees, "/lib/modules/"+t.Release()+"/build", "/lib/modules/"+t.Release()+"/source")
	}
	for _, sub := range [...]string{"/include", "/include/uapi"} {
		for _, tree := range trees {
			dirs = append(dirs, tree+"/arch/"+kernelArch+sub,
				tree+"/arch/"+kernelArch+strings.Replace(sub, "include", "include/generated", 1), tree+sub)
		}
	}
	return append(dirs, "/usr/local/include", "/usr/include/"+triplet, "/usr/include")
}

// isCMacro reports whether a name is an object-like macro of C. Names of the
// language are not replaced.
// A header that defines pid must not change what the script's pid is.
func (e *expander) isCMacro(name string) bool {
	if e.out.C == nil || syntax.IsParserBuiltin(name) {
		return false
	}
	if _, ok := builtin.Lookup(name); ok {
		return false
	}
	_, ok := e.out.C.Macro(name)
	return ok
}

// isCType reports whether C text gives a bare name a type.
func (e *expander) isCType(name string) bool {
	if e.out.C == nil {
		return false
	}
	_, ok := e.out.C.Type("", name)
	return ok
}

// isEnumerator reports whether C text gives a name a value as an enumerator.
// A name that is a type as well stays one, see isValue.
func (e *expander) isEnumerator(name string) bool {
	if e.out.C == nil {
		return false
	}
	_, _, ok := e.out.C.Enumerator(name)
	return ok && !e.isCType(name)
}

// cMacro is what a name that C text defines as a macro stands for: its
// replacement as an expression, a unit whatever is around it. nil if the name is
// none.
// The text is read anew for each use, since nodes of two uses have to differ.
func (r *replacer) cMacro(at *syntax.Ident) syntax.Expr {
	if r.inLibrary() || !r.isCMacro(at.Name) {
		return nil
	}
	m, _ := r.out.C.Macro(at.Name)
	place := r.place(at)
	for i, u := range r.chain {
		if u.node == nil && u.name == at.Name {
			var names []string
			for _, u := range r.chain[i:] {
				names = append(names, u.name)
			}
			r.ds.Errorf("c-macro-cycle", place.At, "The C macro '%s' stands for itself: %s", at.Name,
				strings.Join(append(names, at.Name), " > "))
			return r.bad(at)
		}
	}
	if len(r.chain) >= maxDepth {
		r.stop(place.At)
		return r.bad(at)
	}
	x, ds := syntax.ParseCExprAt(m.File, m.Start, m.End)
	if ds.HasErrors() {
		d := r.ds.Errorf("c-macro", place.At, "The C macro '%s' does not stand for an expression", at.Name)
		d.Note(source.Span{File: m.File, Start: m.Start, End: m.End}, "This is its replacement.")
		return r.bad(at)
	}
	r.chain = append(r.chain, use{name: at.Name})
	defer r.leave()
	in := r.replacer(nil, &source.Expansion{At: place.At})
	return &syntax.Paren{Pos: place, X: in.Copy(x)}
}
