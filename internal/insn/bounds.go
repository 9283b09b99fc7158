package insn

import (
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
