package dwarf

import (
	"debug/dwarf"
	"fmt"
	"math"
	"slices"

	"github.com/hawktrace/hawk/internal/cursor"
	"github.com/hawktrace/hawk/internal/exe"
)

// A unit is one contribution to .debug_info or .debug_types. Offsets of the
// second go on where the first ends.
type unit struct {
	base, end dwarf.Offset // with its header
	first     dwarf.Offset // of its first entry
	typ       dwarf.Offset // of a type unit: the type
	abbrev    uint64       // offset of its layouts
	// id is the signature of a type unit, and what a skeleton and the unit it
	// stands for have in common.
	id       uint64
	version  uint8
	kind     unitKind
	addrSize uint8
	wide     bool       // offsets have 64 bits
	known    *unitBases // nil until asked for
}

// unitKind is the kind of a unit as DWARF 5 numbers them; 0 in older versions.
type unitKind uint8

const (
	unitTypes      unitKind = 2
	unitSkeleton   unitKind = 4
	unitSplit      unitKind = 5
	unitSplitTypes unitKind = 6
)

// isTypes reports whether a unit has one type and no code.
func (k unitKind) isTypes() bool { return k == unitTypes || k == unitSplitTypes }

// word is the size of offsets.
func (u *unit) word() int {
	if u.wide {
		return 8
	}
	return 4
}

// unitBases is where in other sections a unit's own tables begin.
type unitBases struct {
	str, addr, ranges uint64
	// oldRanges is what offsets in .debug_ranges count from; low what the
	// addresses there do.
	oldRanges, low uint64
}

// maxUnits bounds the units of one file: a kernel has some ten thousand, but
// types can have units of their own.
const maxUnits = 1 << 20

// readUnits walks the headers of both sections.
func (f *File) readUnits() error {
	if uint64(f.info.Len())+uint64(f.typeUnits.Len()) > math.MaxUint32 {
		return fmt.Errorf("%s: more than 4 GB of debug information", f.Path)
	}
	if err := f.readHeaders(f.info, ".debug_info", 0); err != nil {
		return err
	}
	return f.readHeaders(f.typeUnits, ".debug_types", dwarf.Offset(f.info.Len()))
}

// readHeaders reads those of a section whose offsets begin with from. The order of the fields
// changed with DWARF 5, which put the kind and the size of addresses in front.
func (f *File) readHeaders(data exe.Bytes, name string, from dwarf.Offset) error {
	for c := data.Cursor(0, data.Len(), f.big); c.Left() > 12; {
		u := unit{base: from + dwarf.Offset(c.At)}
		size := c.Uint(4)
		if u.wide = size == 0xffffffff; u.wide {
			size = c.Uint(8)
		}
		if size > uint64(c.Left()) || len(f.units) == maxUnits {
			return fmt.Errorf("%s: %s: the unit at %#x is malformed", f.Path, name, u.base-from)
		}
		body := data.Cursor(c.At, c.At+int(size), f.big)
		c.At += int(size)
		u.end = from + dwarf.Offset(c.At)
		if size == 0 {
			continue // padding
		}
		u.version = uint8(min(body.Uint(2), math.MaxUint8))
		if u.version < 2 || u.version > 5 {
			return fmt.Errorf("%s: %s: the unit at %#x has version %d of DWARF, hawk reads 2 to 5",
				f.Path, name, u.base-from, u.version)
		}
		if u.version == 5 {
			u.kind = unitKind(body.Byte())
			u.addrSize = body.Byte()
		}
		u.abbrev = body.Uint(u.word())
		if u.version < 5 {
			u.addrSize = body.Byte()
			if from != 0 {
				u.kind = unitTypes
			}
		}
		if u.addrSize != 4 && u.addrSize != 8 {
			return fmt.Errorf("%s: %s: the unit at %#x has addresses of %d bytes", f.Path, name,
				u.base-from, u.addrSize)
		}
		switch {
		case u.kind.isTypes():
			u.id = body.Uint(8)
			u.typ = u.base + dwarf.Offset(body.Uint(u.word()))
		case u.kind == unitSkeleton || u.kind == unitSplit:
			u.id = body.Uint(8)
		}
		u.first = from + dwarf.Offset(body.At)
		// A unit without entries stands for nothing, and its first entry would be that of the
		// next.
		if u.first < u.end && !body.Bad {
			f.units = append(f.units, u)
		}
	}
	return nil
}

// unitAt is the index of the unit that an offset lies in, -1 if in none.
func (f *File) unitAt(off dwarf.Offset) int {
	i, found := slices.BinarySearchFunc(f.units, off,
		func(u unit, off dwarf.Offset) int { return int(int64(u.base) - int64(off)) })
	if !found {
		i--
	}
	if i < 0 || off >= f.units[i].end {
		return -1
	}
	return i
}

// cursor is at an offset of a unit, and ends where the unit does.
func (f *File) cursor(u *unit, off dwarf.Offset) (c cursor.Cursor, from dwarf.Offset) {
	data := f.info
	if n := dwarf.Offset(f.info.Len()); u.base >= n {
		data, from = f.typeUnits, n
	}
	return data.Cursor(int(off-from), int(u.end-from), f.big), from
}

// bases finds out where a unit's tables are. Its first entry says so, which may itself refer to
// them: what the others of its attributes mean is not asked. known is set first: the forms of the
// entry may ask for bases themselves.
func (f *File) bases(u *unit) *unitBases {
	if u.known != nil {
		return u.known
	}
	b := &unitBases{}
	u.known = b
	lowIndexed := false
	c, _ := f.cursor(u, u.first)
	ab, _ := f.abbrevs(u.abbrev).find(c.ULEB())
	for _, fd := range ab.fields {
		v, ok := u.raw(&c, fd)
		if !ok {
			break
		}
		switch fd.attr {
		case dwarf.AttrStrOffsetsBase:
			b.str = v.n
		case dwarf.AttrAddrBase, attrGNUAddrBase:
			b.addr = v.n
		case dwarf.AttrRnglistsBase:
			b.ranges = v.n
		case attrGNURangesBase:
			b.oldRanges = v.n
		case attrGNUDwoID:
			u.id = v.n
		case dwarf.AttrLowpc:
			b.low, lowIndexed = v.n, v.form == formAddrx
		}
	}
	if lowIndexed {
		// Only now is it known where the unit's addresses are.
		b.low = f.indexedAddr(u, b.low)
	}
	return b
}

// typeUnit is the type with a signature.
func (f *File) typeUnit(sig uint64) (dwarf.Offset, bool) {
	if f.sigs == nil {
		f.sigs = map[uint64]dwarf.Offset{}
		for i := range f.units {
			if u := &f.units[i]; u.kind.isTypes() {
				f.sigs[u.id] = u.typ
			}
		}
	}
	off, ok := f.sigs[sig]
	return off, ok
}

// Attributes that the package of the standard library has no names for.
const (
	attrMIPSLinkageName = dwarf.Attr(0x2007)
	attrDwoName         = dwarf.Attr(0x76)
	attrGNUDwoName      = dwarf.Attr(0x2130)
	attrGNUDwoID        = dwarf.Attr(0x2131)
	attrGNURangesBase   = dwarf.Attr(0x2132)
	attrGNUAddrBase     = dwarf.Attr(0x2133)
)
