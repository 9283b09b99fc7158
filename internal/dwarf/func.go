package dwarf

import (
	"cmp"
	"debug/dwarf"
	"errors"
	"sort"

	"github.com/hawktrace/hawk/internal/order"
	"github.com/hawktrace/hawk/internal/types"
)

// A Func is a function of the traced program.
type Func struct {
	Name   string
	Params []Param // with those that the source does not show, such as this
	Result Param   // without a name; Type is Void if there is none
	Go     bool    // written in Go
	Rust   bool    // written in Rust
	// Optimized functions of Rust take their arguments as the compiler sees fit,
	// not by a convention.
	Optimized bool
	// Results are what a function of Go returns; r0, r1, … name those that the
	// source does not.
	Results []Param
	// Dictionary is where among the parameters a function of Go that is generic
	// gets one that it does not name; -1: it gets none.
	Dictionary int
}

// A Param is a parameter of a function.
type Param struct {
	Name string
	Decl string // "const char* name", as in the source
	Type types.Type
	// Shape is what decides how the value travels.
	Shape Shape
}

// A codeRange is addresses that belong to a unit.
type codeRange struct {
	low, high uint64
	unit      int
}

// maxRanges bounds the ranges of all units.
const maxRanges = 1 << 22

// codeRanges collects which unit covers which addresses. Most files have .debug_aranges for this,
// but not all compilers write it, and not of all units.
func (f *File) codeRanges() []codeRange {
	if f.code != nil {
		return f.code
	}
	f.code = []codeRange{}
	// Units of a malformed file can share a list without end, and layouts that are of none of them.
	left := maxRanges
	for i := range f.units {
		if f.units[i].kind.isTypes() {
			continue
		}
		layouts := f.abbrevs(f.units[i].abbrev)
		before := layouts.fields
		e, err := f.at(f.units[i].first)
		if left -= 4 * (layouts.fields - before); left < 0 {
			break
		}
		// Partial units, of which dwz makes many, have no code.
		if err != nil || e.Tag != dwarf.TagCompileUnit && e.Tag != dwarf.TagSkeletonUnit {
			continue
		}
		pcs := e.ranges()
		if left -= len(pcs); left < 0 {
			break
		}
		for _, pc := range pcs {
			if pc[0] < pc[1] {
				f.code = append(f.code, codeRange{pc[0], pc[1], i})
			}
		}
	}
	order.By(f.code, func(a, b codeRange) int { return cmp.Compare(a.low, b.low) })
	return f.code
}

// unitOf is the unit whose code an address is part of, with the entries.
func (f *File) unitOf(addr uint64) (*File, int, error) {
	u, ok := f.covering(addr)
	if !ok {
		return nil, 0, ErrNotFound
	}
	return f.full(u)
}

// covering is the unit, or skeleton, whose code an address is part of.
func (f *File) covering(addr uint64) (unit int, ok bool) {
	// Code that the linker has dropped keeps its entries, at address 0.
	if addr == 0 {
		return 0, false
	}
	ranges := f.codeRanges()
	i := sort.Search(len(ranges), func(i int) bool { return ranges[i].low > addr }) - 1
	if i < 0 || addr >= ranges[i].high {
		return 0, false
	}
	return ranges[i].unit, true
}

// Bounds of what is remembered of functions: the units, and the stretches of code of one or of all.
const (
	maxCached = 64
	maxBodies = 1 << 19
)

// A body is a stretch of a function's code.
type body struct {
	low, high uint64
	at        dwarf.Offset // of the function's entry
	first     bool         // a function in several parts begins with the first
}

// functions lists the code of the functions of a unit by address. The ends are not known where
// nothing but the beginning is said. A function of several parts, as hot and cold ones, is listed
// once for each.
func (f *File) functions(unit int) ([]body, error) {
	if list, ok := f.funcs[unit]; ok {
		return list, nil
	}
	var list []body
	nests := f.nests(unit)
	err := f.walk(unit, f.units[unit].first, func(e entry, _ int) (bool, bool) {
		switch e.Tag {
		case dwarf.TagSubprogram:
			pcs := e.ranges()
			if low, ok := e.Val(dwarf.AttrLowpc).(uint64); ok && len(pcs) == 0 {
				pcs = [][2]uint64{{low, low}}
			}
			for i, pc := range pcs {
				list = append(list, body{pc[0], pc[1], e.Offset, i == 0})
			}
			return nests, len(list) >= maxBodies
		case dwarf.TagLexDwarfBlock:
			return nests, false
		case dwarf.TagCompileUnit, dwarf.TagNamespace, dwarf.TagModule, dwarf.TagStructType,
			dwarf.TagClassType, dwarf.TagUnionType:
			return true, false
		}
		return false, false
	})
	order.Stably(list, func(a, b body) int { return cmp.Compare(a.low, b.low) })
	if f.listed += len(list); len(f.funcs) >= maxCached || f.listed > maxBodies {
		clear(f.funcs)
		f.listed = len(list)
	}
	f.funcs[unit] = list
	return list, err
}

// Function describes the function that begins at an address, ErrNotFound if
// there is none.
func (f *File) Function(addr uint64) (*Func, error) {
	in, unit, err := f.unitOf(addr)
	if err != nil {
		return nil, err
	}
	return in.function(unit, addr)
}

// function is Function in a unit whose code has the address.
func (f *File) function(unit int, addr uint64) (*Func, error) {
	list, err := f.functions(unit)
	i := sort.Search(len(list), func(i int) bool { return list[i].low > addr }) - 1
	// Its second part may begin where no function does.
	for i >= 0 && list[i].low == addr && !list[i].first {
		i--
	}
	if i < 0 || list[i].low != addr {
		return nil, errors.Join(ErrNotFound, err)
	}
	// The list is by address; what the function is called and takes is in its entry.
	e, err := f.at(list[i].at)
	if err != nil {
		return nil, err
	}
	language := f.language(unit)
	fn, err := f.describe(e, language == languageGo)
	if fn != nil {
		fn.Rust = language == languageRust
		fn.Optimized = fn.Rust && optimized(e)
	}
	return fn, err
}

// maxParams bounds the parameters of a function.
const maxParams = 256

// describe collects what the entries of a function say together: the concrete one, the one it is an
// instance of, and the declaration in a class.
func (f *File) describe(e entry, golang bool) (*Func, error) {
	fn := &Func{Go: golang, Result: Param{Type: types.Void, Decl: "void"}, Dictionary: -1}
	var typed entry
	var list []entry
	e.whole(func(e entry) bool {
		if fn.Name == "" {
			fn.Name = e.name()
		}
		if typed.Entry == nil && e.Val(dwarf.AttrType) != nil {
			typed = e
		}
		// The entry that others are instances of has all parameters; an instance
		// may lack those that became unused. A declaration need not name them.
		if own := parameters(e); len(own) > len(list) && (list == nil || !e.flag(dwarf.AttrDeclaration)) {
			list = own
		}
		return true
	})
	for _, c := range list {
		p, err := f.param(c)
		if err != nil {
			return nil, err
		}
		if golang && c.flag(dwarf.AttrVarParam) {
			fn.Results = append(fn.Results, result(p, len(fn.Results)))
			continue
		}
		fn.Params = append(fn.Params, p)
	}
	if golang {
		fn.Dictionary = dictionary(fn.Name)
	}
	if typed.Entry != nil {
		in, off, _ := typed.refOffset(dwarf.AttrType)
		t, err := typed.target()
		if err != nil {
			return nil, err
		}
		if fn.Result.Type = t; in != nil {
			fn.Result.Decl, fn.Result.Shape = in.declare(off, ""), in.shapeAt(off)
		}
	}
	return fn, nil
}

// parameters lists the parameters of a function.
func parameters(e entry) []entry {
	var out []entry
	concrete := e.Val(dwarf.AttrLowpc) != nil || e.Val(dwarf.AttrRanges) != nil
	e.children(func(c entry) bool {
		if c.Tag != dwarf.TagFormalParameter {
			return true
		}
		// Constructors and destructors are written with parameters that none of
		// the functions made of them has.
		if name := c.name(); concrete || name != "__in_chrg" && name != "__vtt_parm" {
			out = append(out, c)
		}
		return len(out) < maxParams
	})
	return out
}

// param describes a parameter. A parameter without a type is one that nothing is known of.
func (f *File) param(c entry) (Param, error) {
	var p Param
	var err error
	c.whole(func(e entry) bool {
		if p.Name == "" {
			p.Name = e.name()
		}
		if p.Type != nil || e.Val(dwarf.AttrType) == nil {
			return true
		}
		if in, off, ok := e.refOffset(dwarf.AttrType); ok {
			if p.Type, err = in.typeAt(off); err == nil {
				p.Shape = in.shapeAt(off)
				p.Decl = in.declare(off, p.Name)
			}
		}
		return err == nil
	})
	if p.Type == nil {
		p.Type, p.Decl = types.Void, "?"
	}
	return p, err
}
