package unwind

import (
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/hawktrace/hawk/internal/exe"
	"github.com/hawktrace/hawk/internal/object"
	"github.com/hawktrace/hawk/internal/order"
)

// A row is the rule for code from an address of the file on, up to the next
// row.
type row struct {
	addr uint64
	rule object.Rule
}

// maxRows bounds the rows of a file: two levels of chunks hold more.
const maxRows = 3 << 20

var errMalformed = errors.New("malformed call frame information")

// registers are the DWARF numbers of a machine's registers.
type registers struct {
	sp, fp, ra uint64
	link       bool // calls put the return address in register ra; else that stands for its place on the stack
}

var machines = map[elf.Machine]registers{
	elf.EM_X86_64:  {sp: 7, fp: 6, ra: 16},
	elf.EM_AARCH64: {sp: 31, fp: 29, ra: 30, link: true},
}

// A section is .eh_frame.
type section struct {
	data []byte
	addr uint64 // of its first byte
	regs registers
}

// rows reads the rules of a file, sorted by address; nil if it has none.
func rows(f *exe.File) ([]row, error) {
	regs, ok := machines[f.Machine]
	if !ok {
		return nil, nil
	}
	// The index beside it, .eh_frame_hdr, is not needed: all of it is read, and then sorted.
	data, addr := f.SectionAt(".eh_frame")
	out, err := (&section{data: data, addr: addr, regs: regs}).entries()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Path, err)
	}
	switch {
	case len(out) > 0:
		out = append(plt(f, regs), out...)
	case regs.link && f.Path == vdsoPath:
		out = vdsoRows(f, regs)
	}
	// Rows of Go's table come behind: where both know a function, that one counts.
	if out = goRows(f, out); len(out) > maxRows {
		return nil, fmt.Errorf("%s: more than %d unwinding rules", f.Path, maxRows)
	}
	return bridge(tidy(out), regs.entry()), nil
}

// plt are the rules of a procedure linkage table, of which some linkers say
// nothing: its stubs have no frame. What is said of it comes after them and counts.
func plt(f *exe.File, regs registers) []row {
	data, addr := f.SectionAt(".plt")
	if len(data) == 0 {
		return nil
	}
	return []row{{addr, regs.entry()}, {addr + uint64(len(data)), object.RuleNone}}
}

// maxGap is how much code between functions, in bytes, may be without
// information and still be known: system calls that return twice, on
// another stack the second time, are taken out of their functions' information.
const maxGap = 32

// bridge puts the rule of functions that have no frame into gaps.
func bridge(rows []row, entry object.Rule) []row {
	for i := 0; i+1 < len(rows); i++ {
		if rows[i].rule == object.RuleNone && rows[i+1].addr-rows[i].addr < maxGap {
			rows[i].rule = entry
		}
	}
	return slices.CompactFunc(rows, func(a, b row) bool { return a.rule == b.rule })
}

// entry is the rule at the first instruction of a function.
func (r registers) entry() object.Rule {
	if r.link {
		return object.NewRule(object.RuleSP, 0, 0)
	}
	return object.NewRule(object.RuleSP, 1, 0)
}

// tidy sorts rows and drops those that say what the one before says.
func tidy(rows []row) []row {
	// Functions come one after the other; where one ends and the next begins at
	// the same address, the row that knows something counts.
	order.Stably(rows, func(a, b row) int {
		switch {
		case a.addr != b.addr:
			return compare(a.addr, b.addr)
		case a.rule == object.RuleNone && b.rule != object.RuleNone:
			return -1
		case b.rule == object.RuleNone && a.rule != object.RuleNone:
			return 1
		}
		return 0
	})
	n := 0
	for i := range rows {
		if i+1 < len(rows) && rows[i+1].addr == rows[i].addr || n > 0 && rows[n-1].rule == rows[i].rule {
			continue
		}
		rows[n] = rows[i]
		n++
	}
	return slices.Clip(rows[:n])
}

func compare(a, b uint64) int {
	if a < b {
		return -1
	}
	if a > b {
		return 1
	}
	return 0
}

// A cie is what functions have in common.
type cie struct {
	codeAlign uint64
	dataAlign int64
	ra        uint64
	encoding  byte  // of addresses
	augmented bool  // 'z'
	signal    bool  // 'S'
	initial   state // that functions begin with
	failed    bool  // it is beyond the format of the tables
}

// entries reads all functions. What is wrong with one of them leaves it out.
func (s *section) entries() ([]row, error) {
	var out []row
	cies := map[int]*cie{} // by offset; nil if malformed
	m := newMachine(s)
	// Those of a linker do not overlap, so that all of them are no longer than the section. Made up,
	// each can go on to its end.
	left := len(s.data)
	for at := 0; at+4 <= len(s.data); {
		body := at + 4
		size := int(binary.LittleEndian.Uint32(s.data[at:]))
		if size == 0 {
			at = body // a terminator, of which linkers leave several
			continue
		}
		if size == 0xffffffff || size < 4 || size > len(s.data)-body {
			return out, errMalformed
		}
		next := body + size
		id := int(binary.LittleEndian.Uint32(s.data[body:]))
		if id != 0 {
			c, known := cies[body-id]
			if !known {
				c = m.cie(body-id, &left)
				cies[body-id] = c
			}
			if c != nil {
				out = m.function(c, body+4, next, out)
			}
			if len(out) > maxRows {
				return nil, fmt.Errorf("more than %d unwinding rules", maxRows)
			}
		}
		at = next
	}
	return out, nil
}

// cie reads the entry at an offset, and runs its instructions once for all functions; nil if it
// is not understood, or longer than what is left of so many bytes.
func (m *machine) cie(at int, left *int) *cie {
	s := m.s
	if at < 0 || at+8 > len(s.data) {
		return nil
	}
	size := int(binary.LittleEndian.Uint32(s.data[at:]))
	if size < 4 || size > len(s.data)-at-4 || binary.LittleEndian.Uint32(s.data[at+4:]) != 0 {
		return nil
	}
	if *left -= size; *left < 0 {
		return nil
	}
	r := newReader(s.data[:at+4+size], at+8)
	version := r.Byte()
	augmentation := r.String()
	c := &cie{codeAlign: r.ULEB()}
	c.dataAlign = r.SLEB()
	if version == 1 {
		c.ra = uint64(r.Byte())
	} else {
		c.ra = r.ULEB()
	}
	if version != 1 && version != 3 || c.ra != s.regs.ra || c.codeAlign == 0 {
		return nil
	}
	if len(augmentation) > 0 && augmentation[0] == 'z' {
		c.augmented = true
		n := r.ULEB()
		if n > uint64(r.Left()) {
			return nil
		}
		end := r.At + int(n)
		for _, what := range augmentation[1:] {
			switch what {
			case 'R':
				c.encoding = r.Byte()
			case 'P': // a personality routine
				s.pointer(&r, r.Byte())
			case 'L':
				r.Byte()
			case 'S':
				c.signal = true
			case 'B', 'G': // addresses are signed with the other key, the stack is tagged
			default:
				return nil
			}
		}
		r.At = end
	} else if len(augmentation) > 0 {
		return nil
	}
	if r.Bad {
		return nil
	}
	_, ok := m.run(c, r.Data[r.At:], &c.initial, nil, 0, 0, nil)
	c.failed = !ok
	return c
}

// Encodings of addresses (DW_EH_PE_*).
const (
	peAbsolute = 0x00
	peULEB     = 0x01
	peU2       = 0x02
	peU4       = 0x03
	peU8       = 0x04
	peSLEB     = 0x09
	peS2       = 0x0a
	peS4       = 0x0b
	peS8       = 0x0c
	pePCRel    = 0x10
	peOmit     = 0xff
)

// pointer reads an address. Relative ones other than to their own place, which
// no compiler of today uses here, are an error.
func (s *section) pointer(r *reader, encoding byte) uint64 {
	if encoding == peOmit {
		return 0
	}
	at := s.addr + uint64(r.At)
	v := r.value(encoding & 0x0f)
	switch encoding & 0x70 {
	case 0:
	case pePCRel:
		v += at
	default:
		r.Bad = true
	}
	return v
}
