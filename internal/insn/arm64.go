package insn

import "encoding/binary"

// Why the kernel does not get past an instruction of arm64.
const (
	fromPC    = "it computes with its own address, which the kernel does not correct"
	exclusive = "it belongs to a loop that a probe would make endless: the processor gives up its exclusive " +
		"access at every exception"
	consecutive = "it and its neighbours are one copy or fill of memory, which the processor may start over"
)

// exclusiveReach is how many instructions an exclusive access may be long.
// Compilers and libraries stay far below.
const exclusiveReach = 32

// stepARM64 says how the kernel treats an instruction of arm64.
func stepARM64(w uint32) (How, string) {
	switch {
	case w&0x1f000000 == 0x10000000, // adr, adrp
		w&0x7c000000 == 0x14000000,                               // b, bl
		w&0xff000010 == 0x54000000,                               // b.cond
		w&0x7c000000 == 0x34000000,                               // cbz, cbnz, tbz, tbnz
		w&0xff9ffc1f == 0xd61f0000 && w&0x00600000 != 0x00600000: // br, blr, ret
		return Emulated, ""
	case w&0x3b000000 == 0x18000000, // a load of a literal
		w&0xffff801f == 0xdac1801e, w&0xffc0001f == 0xf380001f, // signs or checks with the program counter
		// bc.cond, cb: conditional branches newer than the kernel's list
		w&0xff000010 == 0x54000010, w&0x7e000000 == 0x74000000:
		return Never, fromPC
	case isExclusive(w):
		return Never, exclusive
	case w&0x3f800000 == 0x08000000: // casp, which the kernel takes for an exclusive access
		return Never, kernelRefuses
	case w&0x3b200c00 == 0x19000400:
		return Never, consecutive
	case w&0x1c000000 == 0x14000000:
		return stepSystem(w)
	}
	return Stepped, ""
}

// stepSystem is for branches, exceptions and system instructions that the
// kernel does not emulate.
func stepSystem(w uint32) (How, string) {
	switch {
	case w&0xfffff01f == 0xd503201f: // a hint
		switch w >> 5 & 0x7f {
		// nop; those that sign addresses, not those that check them; landing pads
		case 0, 7, 8, 10, 24, 25, 26, 27, 32, 34, 36, 38:
			return Stepped, ""
		}
	case w&0xfffff000 == 0xd5033000: // barriers
		return Stepped, ""
	case w&0xfff00000 == 0xd5300000, // mrs
		w&0xfff80000 == 0xd5080000 && w&0xff00 != 0x7700: // cache and address maintenance, without the guarded stack
		return Stepped, ""
	}
	return Never, kernelRefuses
}

// isExclusive reports whether an instruction loads or stores exclusively; that
// of a pair which compares and swaps looks alike.
func isExclusive(w uint32) bool {
	return w&0x3f800000 == 0x08000000 && w&0x80200000 != 0x00200000
}

// InExclusive reports whether code that follows before is between an exclusive
// load and its store. Each exception ends the access, so that the store fails
// and the program tries again, for ever.
func (s Set) InExclusive(before []byte) bool {
	if s != ARM64 {
		return false
	}
	for i := 0; i < exclusiveReach && len(before) >= 4; i++ {
		w := binary.LittleEndian.Uint32(before[len(before)-4:])
		before = before[:len(before)-4]
		switch {
		case isExclusive(w):
			return w&0x00400000 != 0 // a load
		// ret, b: nothing gets past it
		case s.IsReturn(binary.LittleEndian.AppendUint32(nil, w)), w&0xfc000000 == 0x14000000:
			return false
		}
	}
	return false
}

// Before is how many bytes in front of an instruction InExclusive asks for.
func (s Set) Before() int {
	if s == ARM64 {
		return 4 * exclusiveReach
	}
	return 0
}

// Between is the reason of what is InExclusive.
const Between = exclusive
