package dwarf

import (
	"debug/dwarf"
	"fmt"
	"strings"
)

// Languages that hawk treats by rules of their own, by the standard's section
// 7.12.
const (
	languageC89  = 0x01
	languageC    = 0x02
	languageC99  = 0x0c
	languageC11  = 0x1d
	languageC17  = 0x2c
	languageGo   = 0x16
	languageRust = 0x1c
)

// language is what a unit was written in.
func (f *File) language(unit int) int64 {
	// The unit says it, and each entry in it goes by that.
	root, err := f.at(f.units[unit].first)
	if err != nil {
		return 0
	}
	language, _ := root.number(dwarf.AttrLanguage)
	return language
}

// nests reports whether functions of a unit can have others inside, as those of C++ have lambdas and
// local classes. Looking there takes half as long again.
func (f *File) nests(unit int) bool {
	switch f.language(unit) {
	case languageC89, languageC, languageC99, languageC11, languageC17, languageGo, languageRust:
		return false
	}
	return true
}

// plainTypes reports whether the language of an entry names types without a
// keyword such as struct.
func (e entry) plainTypes() bool {
	i := e.in.unitAt(e.Offset)
	if i < 0 {
		return false
	}
	language := e.in.language(i)
	return language == languageGo || language == languageRust
}

// result is the i-th result of a Go function, which is called ~r0 or _ in debug
// information if it has no name in the source.
func result(p Param, i int) Param {
	if !strings.HasPrefix(p.Name, "~") && p.Name != "_" && p.Name != "" {
		return p
	}
	// A script cannot write ~r0, which is no name of the language.
	name := fmt.Sprintf("r%d", i)
	p.Decl = strings.TrimSuffix(p.Decl, p.Name) + name
	p.Name = name
	return p
}

// dictionary tells by the name of a Go function which of its arguments the
// compiler adds for types that are not known until it runs: the first, or the
// one behind the receiver; -1 if none. It adds none to functions inside of
// others, as main.f[go.shape.int].func1, which take it from there.
func dictionary(name string) int {
	_, params, ok := strings.Cut(name, "[go.shape.")
	if !ok {
		return -1
	}
	method := params[strings.LastIndexByte(params, ']')+1:]
	method = strings.TrimPrefix(method, ")")
	switch {
	case method == "":
		return 0
	case strings.HasPrefix(method, ".func") || strings.Contains(method[1:], "."):
		return -1
	}
	return 1
}
