package probe

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"

	"github.com/hawktrace/hawk/internal/arch"
)

// instructionLength is the number of bytes of the instruction at the start of
// code, 0 if it is none.
func instructionLength(a *arch.Arch, code []byte) int {
	if a.GoArch == "amd64" {
		return x86Length(code)
	}
	if len(code) < 4 {
		return 0
	}
	return 4
}

// isReturn reports whether a valid instruction returns from a function.
func isReturn(a *arch.Arch, code []byte) bool {
	if a.GoArch == "amd64" {
		for len(code) > 1 && (code[0] == 0xf2 || code[0] == 0xf3 || code[0] == 0x66 || code[0]&0xf0 == 0x40) {
			code = code[1:]
		}
		return code[0] == 0xc3 || code[0] == 0xc2
	}
	// RET Xn, and RETAA and RETAB, which check the address first.
	word := binary.LittleEndian.Uint32(code)
	return word&0xfffffc1f == 0xd65f0000 || word&0xfffffbff == 0xd65f0bff
}

// returnOffsets lists where in the code of a function its return instructions
// are. It fails if not all of the code can be understood, since bytes taken for
// a return could be part of another instruction.
func returnOffsets(a *arch.Arch, code []byte) ([]uint64, error) {
	var out []uint64
	for at := 0; at < len(code); {
		n := instructionLength(a, code[at:])
		if n == 0 {
			return nil, fmt.Errorf("the instruction at offset %d is not understood", at)
		}
		if isReturn(a, code[at:at+n]) {
			out = append(out, uint64(at))
		}
		at += n
	}
	return out, nil
}

// isBoundary reports whether an instruction of a function starts at an offset
// into its code; code is nil if it cannot be read.
func isBoundary(a *arch.Arch, code []byte, offset uint64) bool {
	if a.GoArch != "amd64" {
		return !misaligned(a, offset)
	}
	for at := uint64(0); at < uint64(len(code)); {
		if at >= offset {
			return at == offset
		}
		n := x86Length(code[at:])
		if n == 0 {
			return false
		}
		at += uint64(n)
	}
	return false
}

// misaligned reports whether an instruction can start at no such offset, where
// all are as long as each other.
func misaligned(a *arch.Arch, offset uint64) bool { return a.GoArch != "amd64" && offset%4 != 0 }

// nearBoundaries names the instructions around an offset that is not the start
// of one: "+4 and +7"; "" if the code is not understood.
func nearBoundaries(a *arch.Arch, code []byte, offset uint64) string {
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
		n := instructionLength(a, code[at:])
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
