package exe

import "github.com/hawktrace/hawk/internal/cursor"

// A GoFrame is a stretch of code that Go compiled or assembled, and the frame it
// has.
type GoFrame struct {
	Func       string
	Start, End uint64 // addresses
	Size       int64  // bytes from the stack pointer to the return address, or from where that would be in memory
	First      bool   // the function is the first one of its stack
	Switches   bool   // the function loads the stack pointer: Size says nothing
}

// Flags of a function, and where its record has the table of stack pointers.
const (
	goFlagFirst    = 1
	goFlagSwitches = 2
	goStackTable   = 16
)

// GoFrames calls yield for all code that Go's runtime can walk stacks through, in
// order of address. There is none in programs of Go before 1.18.
func (f *File) GoFrames(yield func(*GoFrame) bool) {
	t := f.goTable()
	if t == nil || t.values == nil || t.quantum == 0 {
		return
	}
	t.eachRecord(func(s *RawSymbol, record []byte) bool {
		if len(record) <= t.flags {
			return true
		}
		flags, at := record[t.flags], t.order.Uint32(record[goStackTable:])
		if at == 0 || uint64(at) >= uint64(len(t.values)) {
			return true
		}
		g := GoFrame{Func: string(s.Name), End: s.Addr, First: flags&goFlagFirst != 0,
			Switches: flags&goFlagSwitches != 0, Size: -1}
		c := cursor.Cursor{Data: t.values, At: int(at)}
		// Pairs of a change of the value, the lowest bit of which is its sign, and the
		// length of the code that has it. No change is the end, but in front.
		for g.End < s.Addr+s.Size {
			change := uint32(c.ULEB())
			if change == 0 && g.End != s.Addr {
				break
			}
			g.Size += int64(int32(-(change & 1) ^ change>>1))
			n := c.ULEB() * t.quantum
			if c.Bad || n == 0 || n > s.Addr+s.Size-g.End {
				break
			}
			g.Start, g.End = g.End, g.End+n
			if !yield(&g) {
				return false
			}
		}
		return true
	})
}
