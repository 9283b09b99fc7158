package dwarf

import (
	"debug/dwarf"
)

// Entries of range lists (DWARF 5, section 7.25).
const (
	rangeBasex      = 0x01
	rangeStartxEndx = 0x02
	rangeStartxSize = 0x03
	rangeOffsets    = 0x04
	rangeBase       = 0x05
	rangeStartEnd   = 0x06
	rangeStartSize  = 0x07
)

// Bounds of a list. Functions and blocks are many, and have few parts; each function of a unit can be
// one of the unit's.
const (
	maxRangesOfUnit  = 1 << 20
	maxRangesOfEntry = 1 << 10
)

// ranges are the addresses of an entry's code, the ends exclusive. DW_AT_high_pc is an address, or
// since DWARF 4 how many bytes there are: the type of the value tells.
func (e entry) ranges() [][2]uint64 {
	if low, ok := e.Val(dwarf.AttrLowpc).(uint64); ok {
		switch high := e.Val(dwarf.AttrHighpc).(type) {
		case uint64:
			return [][2]uint64{{low, high}}
		case int64:
			return [][2]uint64{{low, low + uint64(high)}}
		}
	}
	i := e.in.unitAt(e.Offset)
	at, ok := e.Val(dwarf.AttrRanges).(int64)
	if !ok || i < 0 || at < 0 {
		return nil
	}
	u := &e.in.units[i]
	most := maxRangesOfEntry
	if e.Offset == u.first {
		most = maxRangesOfUnit
	}
	if u.version >= 5 {
		return e.in.rangeList(u, uint64(at), most)
	}
	// The first entry of a unit does not count from the unit's own start.
	if e.Offset != u.first {
		at += int64(e.in.bases(u).oldRanges)
	}
	return e.in.oldRanges(u, uint64(at), most)
}

// oldRanges is a list in .debug_ranges: pairs of addresses, up to a pair of zeros. The largest
// address in front says what the following count from.
func (f *File) oldRanges(u *unit, at uint64, most int) (out [][2]uint64) {
	if at > uint64(f.rangesOld.Len()) {
		return nil
	}
	c := f.rangesOld.Cursor(int(at), f.rangesOld.Len(), f.big)
	base := f.bases(u).low
	size := int(u.addrSize)
	for c.More() && len(out) < most {
		low, high := c.Uint(size), c.Uint(size)
		switch {
		case low == 0 && high == 0 || c.Bad:
			return out
		case low == ^uint64(0)>>(64-8*size):
			base = high
		default:
			out = append(out, [2]uint64{base + low, base + high})
		}
	}
	return out
}

// rangeList is a list in .debug_rnglists, of entries of several kinds.
func (f *File) rangeList(u *unit, at uint64, most int) (out [][2]uint64) {
	if at > uint64(f.rnglists.Len()) {
		return nil
	}
	c := f.rnglists.Cursor(int(at), f.rnglists.Len(), f.big)
	base := f.bases(u).low
	size := int(u.addrSize)
	for c.More() && len(out) < most {
		var low, high uint64
		switch c.Byte() {
		case rangeBasex:
			base = f.indexedAddr(u, c.ULEB())
			continue
		case rangeBase:
			base = c.Uint(size)
			continue
		case rangeStartxEndx:
			low = f.indexedAddr(u, c.ULEB())
			high = f.indexedAddr(u, c.ULEB())
		case rangeStartxSize:
			low = f.indexedAddr(u, c.ULEB())
			high = low + c.ULEB()
		case rangeOffsets:
			low = base + c.ULEB()
			high = base + c.ULEB()
		case rangeStartEnd:
			low = c.Uint(size)
			high = c.Uint(size)
		case rangeStartSize:
			low = c.Uint(size)
			high = low + c.ULEB()
		default: // the end, or what nobody knows
			return out
		}
		if !c.Bad {
			out = append(out, [2]uint64{low, high})
		}
	}
	return out
}
