package insn

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"
)

// ReturnOffsets lists where in the code of a function its return instructions
// are. It fails if not all of the code can be understood, since bytes taken for
// a return could be part of another instruction.
func ReturnOffsets(set Set, code []byte) ([]uint64, error) {
	var out []uint64
	for at := 0; at < len(code); {
		n := set.Len(code[at:])
		if n == 0 {
			return nil, fmt.Errorf("the instruction at offset %d is not understood", at)
		}
		if set.IsReturn(code[at:]) {
			out = append(out, uint64(at))
		}
		at += n
	}
	return out, nil
}

// Exits are the ways out of the code of a function but by a call that does not return.
type Exits struct {
	Returns []uint64 // offsets of the return instructions
	Away    []int64  // where jumps to other code lead, from the start of the function
	Tables  []int64  // addresses of tables that jumps go by, of the function's own cases or of functions
	Unknown bool     // a jump leads where only the run knows, other than by a table
	Calls   bool     // it calls others
}

// ExitsOf finds the ways out of a function of 64-bit code. It fails as [ReturnOffsets] does.
func ExitsOf(set Set, code []byte) (out Exits, err error) {
	var before []byte // the instruction in front
	for at := 0; at < len(code); {
		n := set.Len(code[at:])
		if n == 0 {
			return Exits{}, fmt.Errorf("the instruction at offset %d is not understood", at)
		}
		this := code[at : at+n]
		switch to, way := set.jump(this, before); {
		case set.IsReturn(this):
			out.Returns = append(out.Returns, uint64(at))
		case way == jumpsAnywhere:
			out.Unknown = true
		case way == calls:
			out.Calls = true
		case way == jumpsByTable:
			out.Tables = append(out.Tables, to)
		case way == jumpsTo:
			if to += int64(at); to < 0 || to >= int64(len(code)) {
				out.Away = append(out.Away, to)
			}
		}
		before = this
		at += n
	}
	return out, nil
}

// IsBoundary reports whether an instruction of a function starts at an offset
// into its code; code is nil if it cannot be read.
func IsBoundary(set Set, code []byte, offset uint64) bool {
	if set == ARM64 {
		return !Misaligned(set, offset)
	}
	for at := uint64(0); at < uint64(len(code)); {
		if at >= offset {
			return at == offset
		}
		n := set.Len(code[at:])
		if n == 0 {
			return false
		}
		at += uint64(n)
	}
	return false
}

// Misaligned reports whether an instruction can start at no such offset, where
// all are as long as each other.
func Misaligned(set Set, offset uint64) bool { return set == ARM64 && offset%4 != 0 }

// NearBoundaries names the instructions around an offset that is not the start
// of one: "+4 and +7"; "" if the code is not understood.
func NearBoundaries(set Set, code []byte, offset uint64) string {
	var near []string
	add := func(at uint64) { near = append(near, "+"+strconv.FormatUint(at, 10)) }
	last := uint64(0)
	for at := uint64(0); at < uint64(len(code)) && len(near) < 3; {
		if at > offset {
			if len(near) == 0 {
				add(last)
			}
			add(at)
		}
		last = at
		n := set.Len(code[at:])
		if n == 0 {
			break
		}
		at += uint64(n)
	}
	if len(near) == 0 {
		return ""
	}
	return strings.Join(near[:len(near)-1], ", ") + map[bool]string{true: " and "}[len(near) > 1] + near[len(near)-1]
}

// A jumpWay says how far it is known where a jump leads.
type jumpWay uint8

const (
	jumpsNot      jumpWay = iota // it is no jump, or one by a table of the function's own
	jumpsTo                      // to a place that the instruction has
	jumpsAnywhere                // to what a register or memory has
	jumpsByTable                 // to one of the places that a table at an address has
	calls                        // it is a call
)

// jump says where a jump, which may depend on a condition, leads: from its own start. Compilers make
// tables for the cases of a switch, and jump by them after they have added up the address.
func (s Set) jump(code, before []byte) (to int64, way jumpWay) {
	if s == ARM64 {
		return jumpARM64(code, before)
	}
	d, ok := decodeX86(code, s == AMD64)
	if !ok || d.enc != legacy || d.table > 1 {
		return 0, jumpsNot
	}
	end := int64(d.At)
	switch near := d.table == 0; {
	case near && (d.op>>4 == 7 || d.op == 0xeb || d.op>>2 == 0xe0>>2):
		return end + int64(int8(d.imm8)), jumpsTo
	case near && d.op == 0xe9, !near && d.op>>4 == 8:
		if end < 4 {
			return 0, jumpsAnywhere
		}
		return end + int64(int32(binary.LittleEndian.Uint32(code[end-4:]))), jumpsTo
	case near && (d.op == 0xe8 || d.op == 0xff && (d.reg() == 2 || d.reg() == 3)):
		return 0, calls
	case near && d.op == 0xff && (d.reg() == 4 || d.reg() == 5):
		// A table at a fixed address is in the instruction itself, with an index and no base. With indirect
		// branch tracking jumps by a table of the function's own have a prefix, others have not.
		switch {
		case d.has(segment), !d.inMemory() && addsInto(before, d.modRM&7|d.rex&1<<3):
			return 0, jumpsNot
		case d.inMemory() && d.modRM&7 == 4 && d.modRM>>6 == 0 && d.sib&7 == 5 && end >= 4:
			return int64(int32(binary.LittleEndian.Uint32(code[end-4:]))), jumpsByTable
		}
		return 0, jumpsAnywhere
	}
	return 0, jumpsNot
}

// addsInto reports whether an instruction adds a register of 64 bits to the one of a number.
func addsInto(code []byte, register byte) bool {
	d, ok := decodeX86(code, true)
	if !ok || d.enc != legacy || d.table != 0 || !d.rexW() || d.inMemory() {
		return false
	}
	switch d.op {
	case 0x01:
		return d.modRM&7|d.rex&1<<3 == register
	case 0x03:
		return d.reg()|d.rex&4<<1 == register
	}
	return false
}

// jumpARM64 is jump for arm64: B, BL, B.cond, CBZ, CBNZ, TBZ, TBNZ, BR and BLR with their authenticating kin.
func jumpARM64(code, before []byte) (to int64, way jumpWay) {
	w := binary.LittleEndian.Uint32(code)
	// field is a signed distance of so many bits in words, from a bit on.
	field := func(from, bits uint) int64 { return int64(int32(w<<(32-from-bits))>>(32-bits)) * 4 }
	switch {
	case w&0xfc000000 == 0x14000000:
		return field(0, 26), jumpsTo
	case w&0xfc000000 == 0x94000000, w&0xfffffc1f == 0xd63f0000, w&0xfefff800 == 0xd63f0800:
		return 0, calls
	case w&0xff000000 == 0x54000000, w&0x7e000000 == 0x34000000:
		return field(5, 19), jumpsTo
	case w&0x7e000000 == 0x36000000:
		return field(5, 14), jumpsTo
	case w&0xfffffc1f == 0xd61f0000, w&0xfefff800 == 0xd61f0800:
		// ADD (shifted or extended register) of 64 bits into the register that it jumps to.
		if len(before) == 4 {
			if add := binary.LittleEndian.Uint32(before); add&0xff000000 == 0x8b000000 && add&31 == w>>5&31 {
				return 0, jumpsNot
			}
		}
		return 0, jumpsAnywhere
	}
	return 0, jumpsNot
}
