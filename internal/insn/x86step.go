package insn

// Why the kernel does not get past an instruction.
const (
	kernelRefuses = "the kernel never puts a probe there"
	likeJump      = "the kernel takes this vector instruction for a jump"
	likeNop       = "the kernel takes this instruction for one that does nothing"
	likeReturn    = "the kernel takes this vector instruction for a return, and the program would go on in the " +
		"wrong place"
	likeFlags = "the kernel takes this vector instruction for one that loads the flags, and the program would " +
		"die of a trap"
	seesFlags   = "it stores the flags, and with them that it is run in a single step"
	systemCall  = "it is a system call, which leaves its address in a register and may return in another process"
	farTransfer = "it is a far jump, call or return, whose address the kernel does not correct"
	repeats     = "it repeats itself, and each round would be an event of its own"
	transaction = "a probe ends the transaction that it belongs to"
	emulated    = "the kernel or the virtual machine emulates it, where it is and not where the copy runs"
	tooNew      = "kernels disagree about its encoding"
	unknown     = "it is no instruction that hawk knows"
	shortCall   = "processors disagree about a call or jump with this prefix"
	oddPrefix   = "its address is relative to it, which the kernel overlooks because of the prefix"
	overNop     = "new kernels take it for the rest of a probe, and write over the code that it jumps over"
)

// step says how the kernel treats the instruction.
func (d *x86) step() (How, string) {
	if d.has(lock | segment) {
		return Never, kernelRefuses + ": it has a prefix of segments or lock"
	}
	switch d.enc {
	case vex, evex:
		return d.stepVector()
	case rex2, xop:
		return Never, tooNew
	}
	if d.relative() && d.has(rep|repne) && d.table > 0 && !d.prefixed() {
		return Never, oddPrefix
	}
	switch d.table {
	case 0:
		return d.stepOneByte()
	case 1:
		return d.stepTwoBytes()
	}
	if !threeBytes[d.table-2].has(d.op) {
		return Never, unknown
	}
	return Stepped, ""
}

// A byteSet is a set of opcodes.
type byteSet [4]uint64

func (s *byteSet) has(op byte) bool { return s[op>>6]>>(op&63)&1 != 0 }

// opcodes makes a set of pairs: first and last of a range.
func opcodes(ranges ...byte) (s byteSet) {
	for i := 0; i < len(ranges); i += 2 {
		for op := int(ranges[i]); op <= int(ranges[i+1]); op++ {
			s[op>>6] |= 1 << (op & 63)
		}
	}
	return s
}

// threeBytes are the opcodes of the tables 0F38 and 0F3A that all kernels from
// 5.10 on know to have an operand in memory, the address of which they may
// have to correct.
var threeBytes = [2]byteSet{
	opcodes(0x00, 0x0b, 0x10, 0x10, 0x14, 0x15, 0x17, 0x17, 0x1c, 0x1e, 0x20, 0x25, 0x28, 0x2b, 0x30,
		0x41, 0xc8, 0xcd, 0xcf, 0xcf,
		0xdb, 0xdf, 0xf0, 0xf1, 0xf6, 0xf6, 0xf8, 0xf9),
	opcodes(0x08, 0x0f, 0x14, 0x17, 0x20, 0x22, 0x40, 0x42, 0x44, 0x44, 0x60, 0x63, 0xcc, 0xcc, 0xce, 0xcf, 0xdf, 0xdf),
}

// repeated are the opcodes of the table 0F to which prefixes F3 and F2 give
// another meaning, which all kernels from 5.10 on know. With a prefix that it
// does not know the kernel finds no operand in memory where there is one.
var repeated = [2]byteSet{
	opcodes(0x10, 0x12, 0x16, 0x16, 0x2a, 0x2a, 0x2c, 0x2d, 0x51, 0x53, 0x58, 0x5f, 0x6f, 0x70, 0x7e,
		0x7f, 0xb8, 0xb8, 0xbc, 0xbd, 0xc2, 0xc2, 0xe6, 0xe6),
	opcodes(0x10, 0x12, 0x2a, 0x2a, 0x2c, 0x2d, 0x51, 0x51, 0x58, 0x5a, 0x5c, 0x5f, 0x70, 0x70, 0x7c,
		0x7d, 0xc2, 0xc2, 0xd0, 0xd0, 0xe6, 0xe6, 0xf0, 0xf0),
}

// prefixed reports whether the kernel knows an opcode with the prefix F3 or F2.
func (d *x86) prefixed() bool {
	switch {
	case d.has(rep) && d.has(repne):
		return false
	case d.table == 1 && d.has(rep):
		return repeated[0].has(d.op)
	case d.table == 1:
		return repeated[1].has(d.op)
	}
	return d.table == 2 && (d.has(repne) && (d.op == 0xf0 || d.op == 0xf1) || d.has(rep) && d.op == 0xf6) // crc32, adox
}

// refused64 and refused32 are the opcodes of one byte that the kernel refuses
// in programs of 64 and 32 bits. It does not ask which table an opcode is of
// where a vector prefix gives it.
var (
	refused64 = opcodes(0x06, 0x07, 0x0e, 0x0e, 0x16, 0x17, 0x1e, 0x1f, 0x27, 0x27, 0x2f, 0x2f, 0x37,
		0x37, 0x3f, 0x3f, 0x60, 0x62, 0x6c, 0x6f,
		0x82, 0x82, 0x9a, 0x9a, 0xcc, 0xcf, 0xd4, 0xd6, 0xe4, 0xe7, 0xea, 0xea, 0xec, 0xef, 0xf1, 0xf1,
		0xf4, 0xf4, 0xfa, 0xfb)
	refused32 = opcodes(0x07, 0x07, 0x17, 0x17, 0x1f, 0x1f, 0x6c, 0x6f, 0xcc, 0xcf, 0xe4, 0xe7, 0xec,
		0xef, 0xf1, 0xf1, 0xf4, 0xf4, 0xfa, 0xfb)
)

// refused reports whether the kernel refuses an opcode of one byte.
func (d *x86) refused() bool {
	if d.wide {
		return refused64.has(d.op)
	}
	return refused32.has(d.op)
}

// stepVector is step for what has a prefix VEX or EVEX. The kernel looks at
// the opcode, and takes it for that of the first table.
func (d *x86) stepVector() (How, string) {
	switch op := d.op; {
	case d.table > 3 && d.enc == vex, d.enc == evex && (d.payload[0]&8 != 0 || d.payload[1]&4 == 0):
		return Never, tooNew
	case op >= 0x70 && op < 0x80, op == 0xe8, op == 0xe9, op == 0xeb:
		return Never, likeJump
	case op == 0x90:
		return Never, likeNop
	case op == 0xc2, op == 0xc3, op == 0xca, op == 0xcb, op == 0xea, op == 0x9a, op == 0xff:
		return Never, likeReturn
	case op == 0x9d:
		return Never, likeFlags
	case d.refused():
		return Never, kernelRefuses
	}
	return Stepped, ""
}

// stepOneByte says how a kernel runs an instruction of the first table under a probe.
func (d *x86) stepOneByte() (How, string) {
	op := d.op
	if d.refused() {
		return Never, kernelRefuses
	}
	switch {
	case op >= 0x50 && op < 0x58: // push
		if d.At == 1 || d.At == 2 && d.rex == 0x41 {
			return Emulated, ""
		}
	case op >= 0x70 && op < 0x80, op == 0xe8, op == 0xe9, op == 0xeb:
		switch {
		case d.has(opSize):
			return Never, kernelRefuses + ": it is a jump or call of 16 bits"
		case d.wide && op == 0xeb && d.imm8 == 8:
			return Never, overNop
		}
		return d.nop()
	case op == 0x90 && d.rex&1 != 0: // exchanges rax and r8
		return Never, likeNop
	case op == 0x90:
		return d.nop()
	case op == 0x8e && d.reg() == 2, op == 0x17:
		return Never, kernelRefuses + ": it loads the stack segment"
	case op == 0x9c:
		return Never, seesFlags
	case op == 0x9a, op == 0xea, op == 0xca, op == 0xcb, op == 0xff && (d.reg() == 3 || d.reg() == 5):
		return Never, farTransfer
	case op == 0xff && d.reg() == 7, op == 0xfe && d.reg() > 1, op == 0x8f && d.reg() != 0:
		return Never, unknown
	case d.has(opSize) && !d.rexW() && (op == 0xff && (d.reg() == 2 || d.reg() == 4) || op == 0xc2 || op == 0xc3):
		return Never, shortCall
	case d.has(rep|repne) && (op >= 0xa4 && op < 0xa8 || op >= 0xaa && op < 0xb0):
		return Never, repeats
	case (op == 0xc6 || op == 0xc7) && d.modRM == 0xf8:
		return Never, transaction
	case (op == 0xc6 || op == 0xc7) && d.reg() != 0:
		return Never, unknown
	case (op == 0x89 || op == 0x8d) && d.movesNowhere(): // some kernels take it for a nop
		return d.maybe()
	}
	return Stepped, ""
}

// nop is for what all kernels emulate. Some put a call in place of what they
// take for a nop of five bytes.
func (d *x86) nop() (How, string) {
	if d.wide && d.At == 5 && (d.op == 0x90 || d.op == 0xe9 && d.jumpsNowhere()) {
		return Rewritten, ""
	}
	return Emulated, ""
}

// maybe is for what some kernels take for a nop, and others step.
func (d *x86) maybe() (How, string) {
	if d.wide && d.At == 5 {
		return Rewritten, ""
	}
	return Stepped, ""
}

// movesNowhere reports whether a mov, or a lea, leaves a register as it is.
func (d *x86) movesNowhere() bool {
	mod, base := d.modRM>>6, d.modRM&7
	if d.op == 0x89 {
		return mod == 3 && d.reg() == base && d.rex>>2&1 == d.rex&1
	}
	if mod == 3 || mod == 0 && base == 5 { // none, or relative to the instruction
		return false
	}
	displacement := [...]int{0, 1, 4}[mod]
	end := d.At - displacement
	for _, b := range d.Data[end:d.At] {
		if b != 0 {
			return false
		}
	}
	if base == 4 { // a SIB byte
		sib := d.Data[end-1]
		if sib>>3&7 != 4 || d.rex&2 != 0 {
			return false // an index
		}
		if base = sib & 7; base == 5 && mod == 0 {
			return false
		}
	}
	return d.reg() == base && d.rex>>2&1 == d.rex&1
}

func (d *x86) jumpsNowhere() bool {
	for _, b := range d.Data[d.At-4 : d.At] {
		if b != 0 {
			return false
		}
	}
	return true
}

// privileged are opcodes of the table 0F that end in a fault outside of the
// kernel, or are emulated by it, or that nobody has given a meaning.
var privileged = opcodes(0x00, 0x00, 0x04, 0x04, 0x06, 0x0a, 0x0c, 0x0c, 0x20, 0x27, 0x30, 0x30, 0x32,
	0x33, 0x36, 0x37, 0x39, 0x39, 0x3b, 0x3f,
	0x7a, 0x7b, 0xa6, 0xa7, 0xaa, 0xaa)

// stepTwoBytes is stepOneByte of the table behind 0f.
func (d *x86) stepTwoBytes() (How, string) {
	switch op := d.op; {
	case op >= 0x80 && op < 0x90:
		if d.has(opSize) {
			return Never, kernelRefuses + ": it is a jump of 16 bits"
		}
		return Emulated, ""
	case op == 0x1f:
		return d.maybe()
	case op == 0x05, op == 0x34, op == 0x35, op == 0x07:
		return Never, systemCall
	case op == 0xa2: // cpuid: some virtual machines lose the trap of the step behind it
		return Never, emulated
	case op == 0x01:
		switch {
		case d.modRM == 0xd5, d.modRM == 0xd6: // xend, xtest
			return Never, transaction
		case d.modRM == 0xd0, d.modRM == 0xf9, d.modRM == 0xee, d.modRM == 0xef, d.modRM == 0xfc,
			d.modRM == 0xe8 && d.prefixes == 0:
			return Stepped, "" // xgetbv, rdtscp, rdpkru, wrpkru, clzero, serialize
		}
		return Never, emulated
	case privileged.has(op), op == 0xc7 && d.reg() >= 3 && d.inMemory() && d.reg() != 4,
		op == 0xc7 && d.reg() == 6 && d.has(rep):
		return Never, emulated
	case op == 0x78 || op == 0x79:
		if !d.has(opSize | repne) { // vmread, vmwrite
			return Never, emulated
		}
	}
	return Stepped, ""
}
