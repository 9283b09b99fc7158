package probe

import "github.com/hawktrace/hawk/internal/cursor"

// x86Length is the number of bytes of the instruction at the start of code, in
// 64-bit mode; 0 if it is cut off or none. A breakpoint inside of an
// instruction would change what the traced program does, and the kernel does
// not notice.
//
// Only what decides the length is decoded: prefixes, which opcode map, whether
// a ModRM byte follows, and how long the immediate is. From the opcode maps in
// appendix A of volume 2 of Intel's manual.
func x86Length(code []byte) int {
	d := x86{Cursor: cursor.Cursor{Data: code[:min(len(code), 15)]}} // the longest there is
	n := d.instruction()
	if d.Bad {
		return 0
	}
	return n
}

// x86 reads one instruction.
type x86 struct {
	cursor.Cursor
	opsize16 bool // prefix 66
	addr32   bool // prefix 67
	rexW     bool
}

// skip passes over n bytes and returns the length so far.
func (d *x86) skip(n int) int {
	d.Bytes(uint64(n))
	return d.At
}

// immz is the size of an immediate that is 2 bytes with prefix 66, else 4.
func (d *x86) immz() int {
	if d.opsize16 && !d.rexW {
		return 2
	}
	return 4
}

func (d *x86) instruction() int {
	for {
		op := d.Byte()
		switch {
		case d.Bad:
			return 0
		case op == 0x66:
			d.opsize16 = true
		case op == 0x67:
			d.addr32 = true
		case op == 0xf0, op == 0xf2, op == 0xf3, op == 0x2e, op == 0x36, op == 0x3e, op == 0x26, op == 0x64, op == 0x65:
		case op&0xf0 == 0x40: // REX: right in front of the opcode
			d.rexW = op&8 != 0
			return d.opcode(d.Byte())
		default:
			return d.opcode(op)
		}
	}
}

// opcode decodes from an opcode of the first map on.
func (d *x86) opcode(op byte) int {
	switch op {
	case 0x0f:
		return d.map0f()
	case 0xc5: // VEX of two bytes
		d.Byte()
		return d.vector(1)
	case 0xc4: // VEX of three bytes
		m := int(d.Byte() & 0x1f)
		d.Byte()
		return d.vector(m)
	case 0x62: // EVEX
		m := int(d.Byte() & 7)
		d.Byte()
		d.Byte()
		return d.vector(m)
	case 0x06, 0x07, 0x0e, 0x16, 0x17, 0x1e, 0x1f, 0x27, 0x2f, 0x37, 0x3f, 0x60, 0x61, 0x82, 0x9a, 0xce, 0xd4, 0xd5, 0xd6, 0xea:
		return 0 // not in 64-bit mode
	case 0x68, 0xa9:
		return d.skip(d.immz())
	case 0xe8, 0xe9:
		return d.skip(4)
	case 0x69, 0x81, 0xc7:
		d.modRM()
		return d.skip(d.immz())
	case 0x6b, 0x80, 0x83, 0xc0, 0xc1, 0xc6:
		d.modRM()
		return d.skip(1)
	case 0x6a, 0xa8, 0xcd, 0xeb:
		return d.skip(1)
	case 0xc2, 0xca:
		return d.skip(2)
	case 0xc8:
		return d.skip(3)
	case 0xf6, 0xf7:
		if reg := d.modRM(); reg > 1 { // only TEST has an immediate
			return d.At
		}
		if op == 0xf6 {
			return d.skip(1)
		}
		return d.skip(d.immz())
	case 0x63, 0xfe, 0xff:
		d.modRM()
		return d.At
	}
	switch {
	case op < 0x40:
		switch op & 7 {
		case 4:
			return d.skip(1)
		case 5:
			return d.skip(d.immz())
		}
		d.modRM()
	case op >= 0x70 && op < 0x80, op >= 0xb0 && op < 0xb8, op >= 0xe0 && op < 0xe8:
		return d.skip(1)
	case op >= 0xb8 && op < 0xc0:
		if d.rexW {
			return d.skip(8)
		}
		return d.skip(d.immz())
	case op >= 0xa0 && op < 0xa4: // a full address
		if d.addr32 {
			return d.skip(4)
		}
		return d.skip(8)
	case op >= 0x84 && op < 0x90, op >= 0xd0 && op < 0xe0 && op != 0xd7:
		d.modRM()
	}
	return d.At
}

// map0f decodes an opcode after 0F.
func (d *x86) map0f() int {
	op := d.Byte()
	switch {
	case op == 0x38:
		d.Byte()
		d.modRM()
	case op == 0x3a:
		d.Byte()
		d.modRM()
		return d.skip(1)
	case op >= 0x80 && op < 0x90:
		return d.skip(4)
	case op >= 0x04 && op < 0x0d, op == 0x0e, op >= 0x30 && op < 0x40, op >= 0xc8 && op < 0xd0, op == 0x77,
		op >= 0xa0 && op < 0xa3, op >= 0xa8 && op < 0xab:
		return d.At
	case op == 0x0f, op >= 0x70 && op < 0x74, op == 0xa4, op == 0xac, op == 0xba, op == 0xc2, op >= 0xc4 && op < 0xc7:
		d.modRM()
		return d.skip(1)
	default:
		d.modRM()
	}
	return d.At
}

// vector decodes from the opcode of a VEX or EVEX instruction on; m is the
// number of the opcode map.
func (d *x86) vector(m int) int {
	op := d.Byte()
	if m == 0 || m == 4 || m > 6 {
		return 0
	}
	if m == 1 && op == 0x77 { // vzeroupper
		return d.At
	}
	d.modRM()
	if m == 3 || m == 1 && (op >= 0x70 && op < 0x74 || op == 0xc2 || op >= 0xc4 && op < 0xc7) {
		return d.skip(1)
	}
	return d.At
}

// modRM passes over an operand and returns the middle field.
func (d *x86) modRM() byte {
	b := d.Byte()
	mod, reg, rm := b>>6, b>>3&7, b&7
	if mod == 3 {
		return reg
	}
	base := rm
	if rm == 4 {
		base = d.Byte() & 7
	}
	switch {
	case mod == 1:
		d.skip(1)
	case mod == 2, base == 5: // without a base, or relative to the next instruction
		d.skip(4)
	}
	return reg
}
