package dwarf

import (
	"debug/dwarf"
	"sort"
)

// A Position is a place in the source.
type Position struct {
	File string // path as the compiler was given it, with its directory; "" if not known
	Line int    // 0 if the code is not from any line
}

// An Inlined is a function that the compiler put into another one instead of
// calling it.
type Inlined struct {
	Name string // mangled, if the language does that
	At   Position
}

// maxInlined bounds how deep functions are inlined into each other.
const maxInlined = 128

// Source is where the instruction at an address comes from: the functions that
// are inlined there, innermost first, and where in each of them and in the
// function around them, which is at, the program is. Of units whose entries are
// in a file that is missing the line is known all the same; err says why there
// is no more.
func (f *File) Source(addr uint64) (inlined []Inlined, at Position, err error) {
	u, ok := f.covering(addr)
	if !ok {
		return nil, at, ErrNotFound
	}
	root, err := f.at(f.units[u].first)
	if err != nil {
		return nil, at, err
	}
	// The line table stays with the skeleton where the entries are split off.
	table := f.lineTable(root)
	if table == nil {
		return nil, at, ErrNotFound
	}
	if r, ok := table.row(addr); ok {
		at = Position{table.file(int64(r.file)), int(r.line)}
	}
	in, unit, err := f.full(u)
	if err != nil {
		return nil, at, err
	}
	chain, err := in.inlinedAt(unit, addr)
	// Each function is where the one inlined into it is called.
	for i := len(chain) - 1; i >= 0; i-- {
		inlined = append(inlined, Inlined{chain[i].symbol(), at})
		file, _ := chain[i].number(dwarf.AttrCallFile)
		line, _ := chain[i].number(dwarf.AttrCallLine)
		at = Position{table.file(file), int(max(0, line))}
	}
	return inlined, at, err
}

// inlinedAt lists the entries of the functions that are inlined at an address
// of a unit, outermost first.
func (f *File) inlinedAt(unit int, addr uint64) (chain []entry, err error) {
	list, err := f.functions(unit)
	i := sort.Search(len(list), func(i int) bool { return list[i].low > addr }) - 1
	if i < 0 || addr >= list[i].high {
		return nil, err
	}
	around := 0 // how deep the innermost entry is that the address is known to be in
	err = f.walk(unit, list[i].at, func(e entry, depth int) (descend, stop bool) {
		// The walk has left the innermost entry with the address: no other has it.
		if depth <= around && depth > 0 {
			return false, true
		}
		switch e.Tag {
		case dwarf.TagSubprogram:
			return depth == 0, false
		case dwarf.TagInlinedSubroutine, dwarf.TagLexDwarfBlock, dwarf.TagTryDwarfBlock, dwarf.TagCatchDwarfBlock:
		default:
			return false, false
		}
		pcs := e.ranges()
		if !contains(pcs, addr) {
			return len(pcs) == 0, false // a block without addresses of its own may have such inside
		}
		around = depth
		if e.Tag == dwarf.TagInlinedSubroutine {
			chain = append(chain, e)
		}
		return true, len(chain) == maxInlined
	})
	return chain, err
}

// contains reports whether one of several ranges has an address.
func contains(pcs [][2]uint64, addr uint64) bool {
	for _, pc := range pcs {
		if addr >= pc[0] && addr < pc[1] {
			return true
		}
	}
	return false
}

// symbol is what the symbol of a function would be, were it not inlined.
func (e entry) symbol() (name string) {
	e.whole(func(e entry) bool {
		for _, attr := range [...]dwarf.Attr{dwarf.AttrLinkageName, attrMIPSLinkageName} {
			if s := e.text(attr); s != "" {
				name = s
				return false
			}
		}
		if name == "" {
			name = e.name()
		}
		return true
	})
	return name
}
