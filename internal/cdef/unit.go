package cdef

import (
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hawktrace/hawk/internal/source"
	"github.com/hawktrace/hawk/internal/types"
)

// A Piece is a part of the C text of a script.
type Piece struct {
	Text string
	At   source.Span // where the text starts; it may be a little longer than the span
}

// Options is what the C text does not say itself.
type Options struct {
	// Files are what headers are read from; nil: those of the machine that hawk runs on.
	Files       fs.FS
	Dirs        []string // directories with headers, in the order of the search
	Include     []string // headers to read before the script, as if #included with quotes
	Arch        string   // of the target: amd64 or arm64
	KernelTypes bool     // the kernel offers type information
	// Kernel finds a type of the kernel, tag is "struct", "union", "enum" or
	// "".
	Kernel func(tag, name string) (types.Type, error)
	// Enumerator finds the value of an enumerator of the kernel.
	Enumerator func(name string) (int64, bool)
}

// A Unit is the C of a script. Its types resolve on first use. It is not safe
// for concurrent use.
// check asks it by name; it holds the preprocessor for macros that are expanded only when they
// are used.
type Unit struct {
	opts        *Options
	macros      map[string]*macro
	records     map[string]*record // by tag
	enums       map[string]*enumDef
	typedefs    map[string]*typedef
	enumerators map[string]*enumerator
	foreigns    map[string]*ctype // typedefs and tags of the kernel, by keyword and name
	pre         *preprocessor     // expands macros that use function-like ones
}

// A typedef is a name for a type, and where it was given.
type typedef struct {
	typ *ctype
	at  token
}

// An enumDef is an enum by its tag, which may be named before it is defined.
type enumDef struct {
	typ     *ctype
	at      token
	defined bool
}

// An enumerator is a name for a number.
type enumerator struct {
	enum  *types.Enum
	value num
	at    token
}

// Read reads the C text of a script. The unit holds what could be read.
// Headers given on the command line come first, so that the script can use and undefine what
// they define.
func Read(pieces []Piece, o Options) (u *Unit, ds *source.Diagnostics) {
	ds = &source.Diagnostics{}
	pre := &preprocessor{
		opts: &o, ds: ds, macros: predefined(&o), files: map[string]string{}, once: map[string]bool{},
	}
	u = &Unit{
		opts: &o, macros: pre.macros, records: map[string]*record{}, enums: map[string]*enumDef{},
		typedefs: map[string]*typedef{}, enumerators: map[string]*enumerator{}, foreigns: map[string]*ctype{}, pre: pre,
	}
	p := &parser{preprocessor: pre, unit: u}
	defer func() {
		// A limit was passed, which has been reported.
		if r := recover(); r != nil {
			if _, ok := r.(fatalError); !ok {
				panic(r)
			}
		}
	}()
	for _, name := range o.Include {
		at := token{file: &file{src: source.NewFile("--include", "#include \""+name+"\""), script: true,
			dir: ".", search: -1}}
		at.text = at.file.src.Text
		p.includeFile(at, name, true, false)
		p.declarations()
		p.have = false
	}
	for _, piece := range pieces {
		dir := "."
		if n := piece.At.File.Where(); strings.Contains(n, "/") {
			dir = filepath.Dir(n)
		}
		pre.piece(&file{src: piece.At.File, base: piece.At.Start, text: piece.Text, script: true, dir: dir, search: -1})
		p.declarations()
		p.have = false
	}
	for _, c := range pre.conds {
		c.at.dead = false
		p.errorf("c-directive", c.at, "#%s without #endif", c.at.text)
	}
	return u, ds
}

// Type finds a type: tag is "struct", "union" or "enum", or "" for a typedef.
// Types that headers of the kernel define are left to the kernel where it has
// them, as it knows how it was built.
func (u *Unit) Type(tag, name string) (types.Type, bool) {
	switch tag {
	case "":
		if t := u.typedefs[name]; t != nil && !u.kernelKnows(t.at, tag, name) {
			return u.whole(t.typ)
		}
	case "enum":
		if e := u.enums[name]; e != nil && e.defined && !u.kernelKnows(e.at, tag, name) {
			return e.typ.out, true
		}
	default:
		if r := u.records[name]; r != nil && r.defined && keyword(r) == tag && !u.kernelKnows(r.at, tag, name) {
			return u.structType(r), true
		}
	}
	return nil, false
}

// whole converts a type that a script names; void stands for an unknown one and
// is none.
func (u *Unit) whole(t *ctype) (types.Type, bool) {
	if t.kind == unknownKind {
		if _, ok := u.kernelType("", t.name.text); !ok {
			return nil, false
		}
	}
	return u.convert(t), true
}

// kernelKnows reports whether a definition in a kernel header is to be left aside. The kernel's
// own type information replaces it, which says how the kernel was built.
func (u *Unit) kernelKnows(at token, tag, name string) bool {
	if at.file == nil || !at.file.kernel {
		return false
	}
	_, ok := u.kernelType(tag, name)
	return ok
}

// Defined returns the place in the script where a type is defined; ok is false
// if it is not, or by a header.
func (u *Unit) Defined(tag, name string) (at source.Span, ok bool) {
	var t token
	switch tag {
	case "":
		if d := u.typedefs[name]; d != nil {
			t = d.at
		}
	case "enum":
		if e := u.enums[name]; e != nil && e.defined {
			t = e.at
		}
	default:
		if r := u.records[name]; r != nil && r.defined && keyword(r) == tag {
			t = r.at
		}
	}
	return t.span(), t.file != nil && t.file.script
}

// Lost tells a type whose definition could not be read, at the place returned.
// In the script itself that was an error already.
func (u *Unit) Lost(tag, name string) (at source.Span, script, ok bool) {
	if r := u.records[name]; r != nil && r.broken && (tag == "struct" || tag == "union") {
		return r.at.span(), r.at.file.script, true
	}
	return source.Span{}, false, false
}

// Enumerator finds an enumerator, again without those that the kernel has
// itself.
func (u *Unit) Enumerator(name string) (enum *types.Enum, value int64, ok bool) {
	e := u.enumerators[name]
	if e == nil {
		return nil, 0, false
	}
	if e.at.file.kernel && u.opts.Enumerator != nil {
		if _, known := u.opts.Enumerator(name); known {
			return nil, 0, false
		}
	}
	return e.enum, int64(e.value.v), true
}

// A Macro is an object-like macro as scripts see it. Its replacement is
// File.Text[Start:End].
type Macro struct {
	File       *source.File
	Start, End int
}

// Macro finds an object-like macro with a replacement. Uses of function-like
// macros in the replacement are expanded.
// The text in the file is yielded where it can be, so that mistakes are shown at their place.
func (u *Unit) Macro(id string) (m Macro, ok bool) {
	d := u.macros[id]
	if d == nil || d.builtin || d.function {
		return Macro{}, false
	}
	if len(d.body) == 0 {
		return Macro{d.at.file.src, d.at.span().End, d.at.span().End}, true
	}
	if len(d.body) == 1 && d.body[0].text == id {
		return Macro{}, false // #define NAME NAME tells that an enumerator exists
	}
	first, last := d.body[0], d.body[len(d.body)-1]
	m = Macro{first.file.src, first.span().Start, last.span().End}
	text := first.file.text[first.at:min(last.at+len(last.text), len(first.file.text))]
	plain := !strings.Contains(text, "\\\n") && !strings.Contains(text, "\\\r\n")
	for _, t := range d.body {
		if inner := u.macros[t.text]; t.kind == name && inner != nil && (inner.function || inner.builtin) {
			plain = false
		}
	}
	if !plain {
		text := join(u.expand(d.body))
		m = Macro{source.NewFile(id, text), 0, len(text)}
	}
	return m, true
}

// FunctionMacro reports whether a name is a function-like macro.
func (u *Unit) FunctionMacro(name string) bool {
	d := u.macros[name]
	return d != nil && d.function && !d.builtin
}

// expand expands all macros, or nothing if a limit is passed.
// It starts with the counters at 0: each use has the limits to itself.
func (u *Unit) expand(body []token) (out []token) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case fatalError, syntaxError:
			out = body
		default:
			panic(r)
		}
	}()
	u.pre.stack, u.pre.floor, u.pre.tokens, u.pre.depth = nil, 0, 0, 0
	return u.pre.expand(body)
}

// Names lists what the unit defines for use as a value: enumerators and
// object-like macros, sorted.
func (u *Unit) Names() []string {
	out := slices.Collect(maps.Keys(u.enumerators))
	for n, m := range u.macros {
		if !m.builtin && !m.function {
			out = append(out, n)
		}
	}
	slices.Sort(out)
	return out
}

// TypeNames lists the types of a keyword, sorted.
func (u *Unit) TypeNames(tag string) []string {
	var out []string
	switch tag {
	case "":
		out = slices.Collect(maps.Keys(u.typedefs))
	case "enum":
		out = slices.Collect(maps.Keys(u.enums))
	default:
		for n, r := range u.records {
			if r.defined && keyword(r) == tag {
				out = append(out, n)
			}
		}
	}
	slices.Sort(out)
	return out
}

// recordNamed finds a struct or union by its tag, or declares it.
func (u *Unit) recordNamed(kind types.Kind, tag token) *record {
	r := u.records[tag.text]
	if r == nil || r.kind != kind {
		r = &record{kind: kind, tag: tag.text, at: tag}
		u.records[tag.text] = r
	}
	return r
}

// enumNamed finds an enum by its tag; one that is not defined is the kernel's,
// or an int.
func (u *Unit) enumNamed(tag token) *ctype {
	if e := u.enums[tag.text]; e != nil {
		return e.typ
	}
	t := intType(4, false)
	if found, ok := u.kernelType("enum", tag.text); ok {
		t = foreign(found)
	}
	u.enums[tag.text] = &enumDef{typ: t, at: tag}
	return t
}

// overrides reports whether a definition replaces an earlier one: the script
// has the last word over headers, whichever a machine happens to have.
// A header of the C library may have a struct that a script of old defines by itself.
func overrides(at, old token) bool {
	return at.file != nil && at.file.script && old.file != nil && !old.file.script
}

// addEnum enters an enum by its tag. There may be one of a tag in the script's own text.
func (u *Unit) addEnum(p *parser, tag token, t *ctype) {
	if old := u.enums[tag.text]; old != nil && old.defined && !overrides(tag, old.at) {
		d := p.errorf("c-redefined", tag, "enum %s is defined twice", tag.text)
		d.Note(old.at.span(), "the first definition is here")
		return
	}
	u.enums[tag.text] = &enumDef{typ: t, at: tag, defined: true}
}

// addEnumerator enters a name of an enum. Names of all enums share one space, as in C.
func (u *Unit) addEnumerator(p *parser, id token, e *types.Enum, v num) {
	if old := u.enumerators[id.text]; old != nil && !overrides(id, old.at) {
		d := p.errorf("c-redefined", id, "enumerator %s is defined twice", id.text)
		d.Note(old.at.span(), "the first definition is here")
		return
	}
	u.enumerators[id.text] = &enumerator{e, v, id}
}

// constantNamed is the value of a name in a constant expression.
func (u *Unit) constantNamed(name string) (num, bool) {
	if e := u.enumerators[name]; e != nil {
		return e.value, true
	}
	if v, ok := Constant(name, u.opts.Arch); ok {
		return num{v: v}, true
	}
	if u.opts.Enumerator != nil {
		if v, ok := u.opts.Enumerator(name); ok {
			return signed(v), true
		}
	}
	return num{}, false
}

// typeNamed finds a typedef of the C text, a name of the language, or a type of
// the kernel.
// string and buffer are left out: they have no layout in C, and structs have members of such
// names.
func (u *Unit) typeNamed(name string) (*ctype, bool) {
	if t := u.typedefs[name]; t != nil {
		return t.typ, true
	}
	if t := u.foreigns[name]; t != nil {
		return t, true
	}
	t, ok := types.Named(name)
	if !ok || name == "string" || name == "buffer" {
		return nil, false
	}
	c := foreign(t)
	u.foreigns[name] = c
	return c, true
}

// kernelType asks the kernel for a type.
func (u *Unit) kernelType(tag, name string) (types.Type, bool) {
	if u.opts.Kernel == nil {
		return nil, false
	}
	t, err := u.opts.Kernel(tag, name)
	return t, err == nil && t != nil
}

// fromKernel gives a record that is not defined the kernel's layout and reports
// whether it has one.
func (u *Unit) fromKernel(t *ctype) bool {
	if t.out != nil {
		return true
	}
	found, ok := u.kernelType(keyword(t.rec), t.rec.tag)
	if !ok || found.Size() <= 0 {
		return false
	}
	t.out, t.size, t.align = found, found.Size(), max(found.Align(), 1)
	return true
}
