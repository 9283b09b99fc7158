package insn

import "github.com/hawktrace/hawk/internal/cursor"

// An encoding says how an instruction names its table of opcodes. The kernel
// mixes them up: see stepping of vector instructions.
type encoding uint8

const (
	legacy encoding = iota
	rex2
	vex
	evex
	xop
)

// prefixes are legacy prefixes, whichever order they came in.
type prefixes uint16

const (
	opSize   prefixes = 1 << iota // 66
	addrSize                      // 67
	lock                          // f0
	repne                         // f2
	rep                           // f3
	segment                       // of ES, CS, SS, DS: 26, 2e, 36, 3e
	segFS                         // 64
	segGS                         // 65
)

func prefixOf(b byte) prefixes {
	switch b {
	case 0x66:
		return opSize
	case 0x67:
		return addrSize
	case 0xf0:
		return lock
	case 0xf2:
		return repne
	case 0xf3:
		return rep
	case 0x26, 0x2e, 0x36, 0x3e:
		return segment
	case 0x64:
		return segFS
	case 0x65:
		return segGS
	}
	return 0
}

// x86 is one decoded instruction; At is its length.
//
// Only what decides the length, and how the kernel treats the instruction, is
// decoded: prefixes, the table of opcodes, the operand in memory, how long the
// immediate is. From the opcode maps in appendix A of volume 2 of Intel's
// manual, and the like of AMD's.
type x86 struct {
	cursor.Cursor
	wide     bool // 64-bit mode
	prefixes prefixes
	rex      byte // 0: none; of REX2 the lower half of the second byte
	enc      encoding
	table    int // of opcodes: 0 of one byte, 1 0F, 2 0F38, 3 0F3A; others by their number in VEX, EVEX, XOP
	payload  [3]byte
	op       byte
	modRM    byte
	hasModRM bool
	sib      byte
	imm8     byte // the last immediate of one byte
}

// decodeX86 decodes the instruction at the start of code; ok is false if it is
// cut off, or none.
func decodeX86(code []byte, wide bool) (d x86, ok bool) {
	d = x86{Cursor: cursor.Cursor{Data: code[:min(len(code), MaxLen)]}, wide: wide}
	ok = d.instruction()
	return d, ok && !d.Bad
}

// instruction decodes one instruction: prefixes, then the opcode in the table that its escape bytes
// or its vector encoding choose.
func (d *x86) instruction() bool {
	b := d.Byte()
	for p := prefixOf(b); p != 0 && !d.Bad; p = prefixOf(b) {
		d.prefixes |= p
		b = d.Byte()
	}
	if d.wide && b&0xf0 == 0x40 { // REX: right in front of the opcode
		d.rex, b = b, d.Byte()
		if prefixOf(b) != 0 || b&0xf0 == 0x40 {
			return false
		}
	}
	vectors := d.wide || d.peek() >= 0xc0 // else les, lds, bound
	switch {
	case b == 0xc5 && vectors:
		d.enc, d.table = vex, 1
		d.payload[0] = d.Byte()
		return d.vector()
	case b == 0xc4 && vectors:
		d.enc = vex
		d.payload[0], d.payload[1] = d.Byte(), d.Byte()
		d.table = int(d.payload[0] & 0x1f)
		return d.vector()
	case b == 0x62 && vectors:
		d.enc = evex
		d.payload = [3]byte{d.Byte(), d.Byte(), d.Byte()}
		d.table = int(d.payload[0] & 7)
		return d.vector()
	case b == 0x8f && d.peek()&0x1f >= 8:
		d.enc = xop
		d.payload[0], d.payload[1] = d.Byte(), d.Byte()
		d.table = int(d.payload[0] & 0x1f)
		return d.vector()
	case b == 0xd5 && d.wide:
		d.enc = rex2
		d.payload[0] = d.Byte()
		d.rex = d.payload[0] & 0xf
		d.op = d.Byte()
		if d.payload[0]&0x80 != 0 {
			d.table = 1
			return d.twoBytes()
		}
		return d.oneByte()
	case b != 0x0f:
		d.op = b
		return d.oneByte()
	}
	switch d.op = d.Byte(); d.op {
	case 0x38:
		d.table, d.op = 2, d.Byte()
		return d.operand(0)
	case 0x3a:
		d.table, d.op = 3, d.Byte()
		return d.operand(1)
	}
	d.table = 1
	return d.twoBytes()
}

func (d *x86) has(p prefixes) bool { return d.prefixes&p != 0 }

func (d *x86) rexW() bool { return d.rex&8 != 0 }

// reg is the middle field of the ModRM byte, without its extension.
func (d *x86) reg() byte { return d.modRM >> 3 & 7 }

// peek is the next byte, 0 at the end.
func (d *x86) peek() byte {
	if d.At < len(d.Data) {
		return d.Data[d.At]
	}
	return 0
}

// immediate passes over n bytes.
func (d *x86) immediate(n int) bool {
	if b := d.Bytes(uint64(n)); n == 1 && b != nil {
		d.imm8 = b[0]
	}
	return true
}

// operand passes over a ModRM byte with what belongs to it, and an immediate
// of n bytes.
func (d *x86) operand(n int) bool {
	d.address()
	return d.immediate(n)
}

// immz is the size of an immediate that is 2 bytes with prefix 66, else 4.
func (d *x86) immz() int {
	if d.has(opSize) && !d.rexW() {
		return 2
	}
	return 4
}

// branch is the size of how far a jump goes. In 64-bit mode prefix 66 makes no
// difference to Intel's processors; the kernel refuses it.
func (d *x86) branch() int {
	if d.has(opSize) && !d.wide {
		return 2
	}
	return 4
}

// oneByte decodes after an opcode of the first table.
func (d *x86) oneByte() bool {
	op := d.op
	if d.wide {
		switch op {
		case 0x06, 0x07, 0x0e, 0x16, 0x17, 0x1e, 0x1f, 0x27, 0x2f, 0x37, 0x3f, 0x60, 0x61, 0x82, 0x9a,
			0xce, 0xd4, 0xd6, 0xea:
			return false // not in 64-bit mode
		}
	}
	switch op {
	case 0x68, 0xa9:
		return d.immediate(d.immz())
	case 0xe8, 0xe9:
		return d.immediate(d.branch())
	case 0x69, 0x81, 0xc7:
		return d.operand(d.immz())
	case 0x6b, 0x80, 0x82, 0x83, 0xc0, 0xc1, 0xc6:
		return d.operand(1)
	case 0x6a, 0xa8, 0xcd, 0xd4, 0xd5, 0xeb:
		return d.immediate(1)
	case 0xc2, 0xca:
		return d.immediate(2)
	case 0xc8:
		return d.immediate(3)
	case 0x9a, 0xea:
		return d.immediate(2 + d.branch())
	case 0xf6, 0xf7:
		d.address()
		switch {
		case d.reg() > 1: // only TEST has an immediate
			return true
		case op == 0xf6:
			return d.immediate(1)
		}
		return d.immediate(d.immz())
	case 0x62, 0x63, 0xc4, 0xc5, 0xfe, 0xff:
		return d.operand(0)
	}
	switch {
	case op < 0x40:
		switch op & 7 {
		case 0, 1, 2, 3:
			return d.operand(0)
		case 4:
			return d.immediate(1)
		case 5:
			return d.immediate(d.immz())
		}
	case op >= 0x70 && op < 0x80, op >= 0xb0 && op < 0xb8, op >= 0xe0 && op < 0xe8:
		return d.immediate(1)
	case op >= 0xb8 && op < 0xc0 && d.rexW():
		return d.immediate(8)
	case op >= 0xb8 && op < 0xc0:
		return d.immediate(d.immz())
	case op >= 0xa0 && op < 0xa4: // a full address
		switch {
		case d.wide && !d.has(addrSize):
			return d.immediate(8)
		case d.wide || !d.has(addrSize):
			return d.immediate(4)
		}
		return d.immediate(2)
	case op >= 0x84 && op < 0x90, op >= 0xd0 && op < 0xd4, op >= 0xd8 && op < 0xe0:
		return d.operand(0)
	}
	return true
}

// twoBytes decodes after an opcode of the table 0F.
func (d *x86) twoBytes() bool {
	op := d.op
	switch {
	case op >= 0x80 && op < 0x90:
		return d.immediate(d.branch())
	case op >= 0x04 && op < 0x0d, op == 0x0e, op >= 0x30 && op < 0x40, op >= 0xc8 && op < 0xd0, op == 0x77,
		op >= 0xa0 && op < 0xa3, op >= 0xa8 && op < 0xab:
		return true
	case op == 0x0f, op >= 0x70 && op < 0x74, op == 0xa4, op == 0xac, op == 0xba, op == 0xc2, op >= 0xc4 && op < 0xc7:
		return d.operand(1)
	case op == 0x78 && d.has(opSize|repne): // extrq, insertq
		return d.operand(2)
	}
	return d.operand(0)
}

// vector decodes from the opcode of a VEX, EVEX or XOP instruction on.
func (d *x86) vector() bool {
	if d.rex != 0 {
		return false
	}
	d.op = d.Byte()
	switch {
	case d.enc == xop && d.table == 8:
		return d.operand(1)
	case d.enc == xop && d.table == 10:
		return d.operand(4)
	case d.enc == xop:
		return d.table == 9 && d.operand(0)
	case d.table == 0 || d.table == 4 || d.table > 6:
		return false
	case d.enc == vex && d.table == 1 && d.op == 0x77: // vzeroupper
		return true
	case d.table == 3, d.table == 1 && (d.op >= 0x70 && d.op < 0x74 || d.op == 0xc2 || d.op >= 0xc4 && d.op < 0xc7):
		return d.operand(1)
	}
	return d.operand(0)
}

// address passes over a ModRM byte and the operand it describes.
func (d *x86) address() {
	d.modRM, d.hasModRM = d.Byte(), true
	mod, rm := d.modRM>>6, d.modRM&7
	if mod == 3 {
		return
	}
	if !d.wide && d.has(addrSize) { // addresses of 16 bits
		switch {
		case mod == 1:
			d.Bytes(1)
		case mod == 2, rm == 6:
			d.Bytes(2)
		}
		return
	}
	base := rm
	if rm == 4 {
		d.sib = d.Byte()
		base = d.sib & 7
	}
	switch {
	case mod == 1:
		d.Bytes(1)
	case mod == 2, base == 5: // without a base, or relative to the next instruction
		d.Bytes(4)
	}
}

// inMemory reports whether the operand of the ModRM byte is in memory.
func (d *x86) inMemory() bool { return d.hasModRM && d.modRM>>6 != 3 }

// relative reports whether the address of the operand is told from that of the
// instruction.
func (d *x86) relative() bool { return d.wide && d.hasModRM && d.modRM&0xc7 == 5 }

// jumps are the opcodes of one byte that do not simply go on: jumps, calls,
// returns, loops, interrupts.
var jumps = opcodes(0x70, 0x7f, 0x9a, 0x9a, 0xc2, 0xc3, 0xca, 0xcf, 0xe0, 0xe3, 0xe8, 0xeb, 0xf1, 0xf1, 0xf4, 0xf4)

// leaves reports whether another instruction than the next may follow.
func (d *x86) leaves() bool {
	switch {
	case d.enc == rex2:
		return true
	case d.enc != legacy || d.table > 1:
		return false
	case d.table == 1:
		return d.op >= 0x80 && d.op < 0x90 || d.op == 0x05 || d.op == 0x07 || d.op == 0x0b ||
			d.op == 0x34 || d.op == 0x35 || d.op == 0xb9 || d.op == 0xff
	case d.op == 0xff:
		return d.reg() >= 2 && d.reg() <= 5
	}
	return jumps.has(d.op) || d.op == 0xc7 && d.modRM == 0xf8
}
