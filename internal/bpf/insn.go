package bpf

import "encoding/binary"

// Programs of hawk's own, a few instructions long, are written with these
// functions: those that try out what the kernel can do, and those that answer
// a question. Scripts are compiled by other means.

// Insn encodes one instruction of a little-endian machine.
func Insn(op, dst, src uint8, off int16, imm int32) uint64 {
	return uint64(op) | uint64(dst)<<8 | uint64(src)<<12 | uint64(uint16(off))<<16 | uint64(uint32(imm))<<32
}

// MovImm sets a register to a number.
func MovImm(dst uint8, imm int32) uint64 { return Insn(0xb7, dst, 0, 0, imm) }

// MovReg copies a register.
func MovReg(dst, src uint8) uint64 { return Insn(0xbf, dst, src, 0, 0) }

// AddImm adds a number to a register.
func AddImm(dst uint8, imm int32) uint64 { return Insn(0x07, dst, 0, 0, imm) }

// CallHelper calls a helper by its number.
func CallHelper(helper int32) uint64 { return Insn(0x85, 0, 0, 0, helper) }

// Exit ends the program.
func Exit() uint64 { return Insn(0x95, 0, 0, 0, 0) }

// ClearStack is *(u64 *)(r10 + off) = 0.
func ClearStack(off int16) uint64 { return Insn(0x7a, 10, 0, off, 0) }

// LoadMap loads the address of a map; the instruction takes two words.
func LoadMap(dst uint8, fd int) []uint64 { return []uint64{Insn(0x18, dst, 1, 0, int32(fd)), 0} }

// LoadMapValue loads the address of the value of an array with one entry; the
// instruction takes two words.
func LoadMapValue(dst uint8, fd int) []uint64 { return []uint64{Insn(0x18, dst, 2, 0, int32(fd)), 0} }

// Assemble lays instructions out as ProgSpec takes them.
func Assemble(insns ...uint64) []byte {
	out := make([]byte, 0, 8*len(insns))
	for _, x := range insns {
		out = binary.NativeEndian.AppendUint64(out, x)
	}
	return out
}
