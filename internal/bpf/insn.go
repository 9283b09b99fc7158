package bpf

import (
	"encoding/binary"

	"github.com/cilium/ebpf/asm"
)

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

// XorReg is dst ^= src.
func XorReg(dst, src uint8) uint64 { return Insn(0xaf, dst, src, 0, 0) }

// Load32 loads a u32 from base + off.
func Load32(dst, base uint8, off int16) uint64 { return Insn(0x61, dst, base, off, 0) }

// Load64 loads a u64 from base + off.
func Load64(dst, base uint8, off int16) uint64 { return Insn(0x79, dst, base, off, 0) }

// Store32 stores the low half of a register at base + off.
func Store32(base, src uint8, off int16) uint64 { return Insn(0x63, base, src, off, 0) }

// Store64 stores a register at base + off.
func Store64(base, src uint8, off int16) uint64 { return Insn(0x7b, base, src, off, 0) }

// StoreImm32 stores a number as a u32 at base + off.
func StoreImm32(base uint8, off int16, imm int32) uint64 { return Insn(0x62, base, 0, off, imm) }

// SkipIfEqual skips n words of instructions if a register is a number.
func SkipIfEqual(reg uint8, imm int32, n int) uint64 { return Insn(0x15, reg, 0, int16(n), imm) }

// SkipUnlessEqual skips n words of instructions if a register is another number.
func SkipUnlessEqual(reg uint8, imm int32, n int) uint64 { return Insn(0x55, reg, 0, int16(n), imm) }

// CallHelper calls a helper.
func CallHelper(helper asm.BuiltinFunc) uint64 { return Insn(0x85, 0, 0, 0, int32(helper)) }

// CallKfunc calls a kernel function by its type.
func CallKfunc(id uint32) uint64 { return Insn(0x85, 0, uint8(asm.PseudoKfuncCall), 0, int32(id)) }

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
