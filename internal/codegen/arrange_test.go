package codegen_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/cilium/ebpf/asm"

	"github.com/hawktrace/hawk/internal/codegen"
	"github.com/hawktrace/hawk/internal/ir/irgen"
	"github.com/hawktrace/hawk/internal/opt"
)

// A passer finds the lengths of jumps as the kernel does on x86-64 (do_jit in
// arch/x86/net/bpf_jit_comp.c); what other instructions need is given.
type passer struct {
	insns   []asm.Instruction // by slot; the second slot of a wide one is empty
	bytes   []int             // what an instruction needs, for jumps without the jump itself
	addrs   []int             // end of each, from 1
	cleanup int
}

// newPasser is for the function at slots from begin to end.
func newPasser(c *codegen.Code, begin, end int, rnd *rand.Rand) *passer {
	p := &passer{}
	slot := 0
	for i := range c.Insns {
		in := c.Insns[i]
		if slot >= begin && slot < end {
			n := 3 + rnd.IntN(6)
			switch {
			case in.OpCode.Class().IsJump() && in.OpCode.JumpOp() == asm.Call:
				n = 5
			case in.OpCode.Class().IsJump() && in.OpCode.JumpOp() == asm.Ja:
				n = 0
			case in.Width() == 2:
				n = 10
			}
			p.insns, p.bytes = append(p.insns, in), append(p.bytes, n)
			if in.Width() == 2 {
				p.insns, p.bytes = append(p.insns, asm.Instruction{}), append(p.bytes, 0)
			}
		}
		slot += int(in.Width())
	}
	return p
}

func (p *passer) pass() (length int, moved bool) {
	set := func(i int) {
		if p.addrs[i] != length {
			moved = true
		}
		p.addrs[i] = length
	}
	length = 20
	set(0)
	exited := false
	for i := 1; i <= len(p.insns); i++ {
		in := &p.insns[i-1]
		op := in.OpCode
		length += p.bytes[i-1]
		short := func(off int) bool { return off <= 123 && off >= -128 }
		switch {
		case !op.Class().IsJump() || op.JumpOp() == asm.Call:
		case op.JumpOp() == asm.Exit || op.JumpOp() == asm.Ja:
			off := p.cleanup - p.addrs[i]
			if op.JumpOp() == asm.Ja {
				to := i + int(in.Offset)
				if op.Class() == asm.Jump32Class {
					to = i + int(in.Constant)
				}
				off = p.addrs[to] - p.addrs[i]
			} else if !exited {
				exited, p.cleanup = true, length-p.bytes[i-1]
				break
			}
			switch {
			case off == 0:
			case short(off):
				length += 2
			default:
				length += 5
			}
		case short(p.addrs[i+int(in.Offset)] - p.addrs[i]):
			length += 2
		default:
			length += 6
		}
		if in.Width() == 2 {
			set(i)
			i++
		}
		set(i)
	}
	return length, moved
}

// compiles reports whether the kernel finds an end before it begins to pad.
func (p *passer) compiles() bool {
	p.addrs = nil
	for i := range len(p.insns) + 1 {
		p.addrs = append(p.addrs, 64*(i+1))
	}
	p.cleanup = 64 * (len(p.insns) + 1)
	last := 0
	for range 15 {
		length, _ := p.pass()
		if length == last {
			_, moved := p.pass()
			return !moved
		}
		last = length
	}
	return true
}

// fails is how many of a number of tries the kernel does not compile all functions.
func fails(c *codegen.Code, tries int, rnd *rand.Rand) int {
	n := 0
	for range tries {
		for i, f := range c.Funcs {
			end := c.Slots()
			if i+1 < len(c.Funcs) {
				end = c.Funcs[i+1].Slot
			}
			if !newPasser(c, f.Slot, end, rnd).compiles() {
				n++
				break
			}
		}
	}
	return n
}

func backward(c *codegen.Code) bool {
	return slices.ContainsFunc(c.Insns, func(in asm.Instruction) bool {
		return in.OpCode.Class().IsJump() && in.OpCode.JumpOp() != asm.Call && in.Offset < 0
	})
}

// madeUp is the code of a made-up program.
func madeUp(t *testing.T, seed uint64) *codegen.Code {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 8))
	p := irgen.Program(r, irgen.Options{Statements: 5 + r.IntN(80), Big: seed%3 == 0, Callbacks: seed%4 == 0})
	if _, err := opt.Run(p, opt.Options{ScratchMap: irgen.Scratch, ScratchSlots: 2,
		MissedData: irgen.Missed}); err != nil {
		t.Fatal(err)
	}
	c, err := codegen.Generate(p, codegen.Options{CPUv4: seed%2 == 0})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestArrangedCompiles has made-up code take whatever bytes in the machine.
func TestArrangedCompiles(t *testing.T) {
	const tries = 5
	for seed := range uint64(200) {
		c := madeUp(t, seed)
		rnd := rand.New(rand.NewPCG(seed, 9))
		for n := range codegen.Arrangements {
			a, err := c.Arrange(n)
			if err != nil {
				t.Fatal(err)
			}
			if got := fails(a.Code, tries, rnd); got > 0 {
				t.Errorf("seed %d: the kernel does not compile arrangement %d in %d of %d cases", seed, n, got, tries)
			}
		}
	}
}

// TestArrangedOnlyLoopsBack: code without loops has no jump back and one return.
func TestArrangedOnlyLoopsBack(t *testing.T) {
	code := func(insns ...asm.Instruction) *codegen.Code {
		return &codegen.Code{Insns: insns, Funcs: []codegen.Func{{Name: "main"}}}
	}
	jump := func(off int16) asm.Instruction {
		in := asm.JEq.Imm(asm.R1, 0, "")
		in.Offset = off
		return in
	}
	always := func(off int16) asm.Instruction {
		return asm.Instruction{OpCode: asm.OpCode(asm.JumpClass).SetJumpOp(asm.Ja), Offset: off}
	}
	c := code(jump(3), asm.Mov.Imm(asm.R0, 1), asm.Return(), asm.Mov.Imm(asm.R0, 2), always(-3), asm.Return())
	a, err := c.Arrange(0)
	if err != nil {
		t.Fatal(err)
	}
	returns := 0
	for _, in := range a.Code.Insns {
		if in.OpCode.Class().IsJump() && in.OpCode.JumpOp() == asm.Exit {
			returns++
		}
	}
	if backward(a.Code) || returns != 1 {
		t.Errorf("%d returns in\n%v", returns, a.Code.Insns)
	}
	for _, bad := range []*codegen.Code{code(), code(always(5)), code(asm.Mov.Imm(asm.R0, 1)), code(jump(-7)),
		{Insns: asm.Instructions{asm.Return()}, Funcs: []codegen.Func{{Slot: 9}}},
		code(asm.Instruction{OpCode: asm.OpCode(asm.JumpClass).SetJumpOp(asm.Call), Src: asm.PseudoCall, Constant: 7},
			asm.Return())} {
		if _, err := bad.Arrange(0); err == nil {
			t.Errorf("arranged what is not a program:\n%v", bad.Insns)
		}
	}
}
