package load

import (
	"slices"

	"github.com/cilium/ebpf/asm"

	"github.com/hawktrace/hawk/internal/codegen"
	"github.com/hawktrace/hawk/internal/object"
	"github.com/hawktrace/hawk/internal/probe"
)

// bounded is the most bytes that the script's records can take together, if
// that can be told: when the programs that send any run once each and have no
// loops. Programs that only count are many.
func (s *Session) bounded() (bytes int, ok bool) {
	for _, p := range s.Object.Programs {
		if !s.sends(p.Code) {
			continue
		}
		switch p.Group.Points[0].Kind.Ours {
		case probe.AtBegin, probe.AtEnd:
		default:
			return 0, false
		}
		// Functions are bodies of loops, run any number of times.
		if len(p.Code.Funcs) > 1 || loops(p.Code) {
			return 0, false
		}
	}
	front := 0
	if len(s.Object.Rings()) > 1 {
		front = object.TimeBytes
	}
	for _, e := range s.Object.Events {
		// Each record has a header of 8 bytes and is rounded up to 8.
		bytes += front + e.Bytes + 16
		for _, a := range e.Args {
			if a.Tail {
				bytes += a.Type.Size()
			}
		}
	}
	return bytes, true
}

// sends reports whether a program refers to a ring buffer.
func (s *Session) sends(c *codegen.Code) (found bool) {
	rings := s.Object.Rings()
	c.Maps(func(n int) { found = found || slices.Contains(rings, n) })
	return found
}

// loops reports whether control can come to an instruction twice. A jump
// backwards is no proof: unlikely blocks stand at the end of the code and
// return from there.
func loops(c *codegen.Code) bool {
	index := make([]int32, c.Slots()+1) // instruction by slot, plus one
	slots := make([]int, len(c.Insns))
	slot := 0
	backwards := false
	for i := range c.Insns {
		index[slot], slots[i] = int32(i+1), slot
		slot += int(c.Insns[i].Width())
		backwards = backwards || isJump(&c.Insns[i]) && distance(&c.Insns[i]) < 0
	}
	if !backwards {
		return false
	}
	// Depth first; an edge to an instruction on the current path is a loop.
	const (
		unseen = iota
		onPath
		done
	)
	state := make([]uint8, len(c.Insns))
	type visit struct{ insn, edge int }
	path := []visit{{0, 0}}
	state[0] = onPath
	for len(path) > 0 {
		v := &path[len(path)-1]
		in := &c.Insns[v.insn]
		next, more := 0, false
		for !more && v.edge < 2 {
			if v.edge == 0 && falls(in) {
				next, more = slots[v.insn]+int(in.Width()), true
			} else if v.edge == 1 && isJump(in) {
				next, more = slots[v.insn]+1+distance(in), true
			}
			v.edge++
		}
		if !more {
			state[v.insn] = done
			path = path[:len(path)-1]
			continue
		}
		if next < 0 || next >= len(index) || index[next] == 0 {
			return true // not a place to jump to: the verifier will say so
		}
		to := int(index[next] - 1)
		switch state[to] {
		case onPath:
			return true
		case unseen:
			state[to] = onPath
			path = append(path, visit{to, 0})
		}
	}
	return false
}

// isJump reports whether an instruction may continue elsewhere.
func isJump(in *asm.Instruction) bool {
	return in.OpCode.Class().IsJump() && in.OpCode.JumpOp() != asm.Call && in.OpCode.JumpOp() != asm.Exit
}

// falls reports whether an instruction may continue with the next one.
func falls(in *asm.Instruction) bool {
	return !in.OpCode.Class().IsJump() || in.OpCode.JumpOp() != asm.Exit && in.OpCode.JumpOp() != asm.Ja
}

// distance is how far a jump goes, in slots from the next instruction.
func distance(in *asm.Instruction) int {
	if in.OpCode.Class() == asm.Jump32Class && in.OpCode.JumpOp() == asm.Ja {
		return int(int32(in.Constant)) // gotol
	}
	return int(in.Offset)
}
