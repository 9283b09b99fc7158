// Package insn decodes machine instructions as far as breakpoints need it:
// where the next one starts, which return from a function, and which of them
// the kernel gets past rightly.
//
// A program that hits a breakpoint must still run the instruction under it.
// The kernel emulates a few, and runs a copy of any other elsewhere, in a
// single step. It decides by the opcode alone, and is wrong for some: the
// traced program would compute something else, or die. See [Step].
package insn

import "encoding/binary"

// A Set is an instruction set.
type Set uint8

// The sets. The zero Set is one that hawk does not decode.
const (
	AMD64 Set = iota + 1
	I386
	ARM64
)

// MaxLen is how many bytes the longest instruction of any set has.
const MaxLen = 15

// Native is the set of a machine that runs programs of 64 bits, by Go's name.
func Native(goarch string) Set {
	switch goarch {
	case "amd64":
		return AMD64
	case "arm64":
		return ARM64
	}
	return 0
}

// Narrow is the set of 32-bit programs on a machine whose own set is s.
func (s Set) Narrow() Set {
	if s == AMD64 {
		return I386
	}
	return 0
}

// Len is the number of bytes of the instruction at the start of code; 0 if it
// is cut off or none.
func (s Set) Len(code []byte) int {
	switch s {
	case AMD64, I386:
		d, ok := decodeX86(code, s == AMD64)
		if !ok {
			return 0
		}
		return d.At
	case ARM64:
		if len(code) >= 4 {
			return 4
		}
	}
	return 0
}

// IsReturn reports whether the instruction at the start of code returns from a
// function.
func (s Set) IsReturn(code []byte) bool {
	switch s {
	case AMD64, I386:
		d, ok := decodeX86(code, s == AMD64)
		return ok && d.enc == legacy && d.table == 0 && (d.op == 0xc3 || d.op == 0xc2)
	case ARM64:
		if len(code) < 4 {
			return false
		}
		// RET Xn, and RETAA and RETAB, which check the address first.
		word := binary.LittleEndian.Uint32(code)
		return word&0xfffffc1f == 0xd65f0000 || word&0xfffffbff == 0xd65f0bff
	}
	return false
}

// Leaves reports whether another instruction than the next may follow that at
// the start of code.
func (s Set) Leaves(code []byte) bool {
	switch s {
	case AMD64, I386:
		d, ok := decodeX86(code, s == AMD64)
		return !ok || d.leaves()
	case ARM64:
		return len(code) < 4 || binary.LittleEndian.Uint32(code)&0x1c000000 == 0x14000000
	}
	return true
}

// A How says how the kernel gets a program past a breakpoint.
type How uint8

// The ways. What is Stepped costs a multiple of what is Emulated.
const (
	Never    How = iota // not rightly: no breakpoint must be put there
	Stepped             // runs a copy of the instruction elsewhere, and corrects what that changes
	Emulated            // does itself what the instruction does
	// some kernels put a call in place of the instruction, to a page that forked children lack;
	// else Emulated
	Rewritten
)

// Step says how the kernel gets past a breakpoint on the instruction at the
// start of code. If it does not, why is the reason, a clause about the
// instruction. Code that hawk does not decode is left to the kernel.
//
// The rules hold for Linux 5.10 to 7.2: what is right on some of them only is
// Never. They are those of arch/x86/kernel/uprobes.c and of
// arch/arm64/kernel/probes, found by reading, and tried one by one by the case
// uprobe_instructions.
func (s Set) Step(code []byte) (how How, why string) {
	switch s {
	case AMD64, I386:
		d, ok := decodeX86(code, s == AMD64)
		if !ok {
			return Never, "it is no instruction that hawk knows"
		}
		return d.step()
	case ARM64:
		if len(code) < 4 {
			return Never, "it is cut off by the end of the file"
		}
		return stepARM64(binary.LittleEndian.Uint32(code))
	}
	return Stepped, ""
}
