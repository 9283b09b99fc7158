package regalloc

import (
	"testing"

	"github.com/cilium/ebpf/asm"
)

func mov(d, s Reg) Instr { return Instr{Form: Mov, Op: asm.Mov.Op(asm.RegSource), Dst: d, Src: s} }
func set(d Reg, n int64) Instr {
	return Instr{Form: Set, Op: asm.Mov.Op(asm.ImmSource), Dst: d, Src: NoReg, Imm: n}
}
func load(d, base Reg, off int16) Instr {
	return Instr{Form: Load, Op: asm.LoadMemOp(asm.DWord), Dst: d, Src: base, Off: off}
}
func add(d, s Reg) Instr { return Instr{Form: ALU, Op: asm.Add.Op(asm.RegSource), Dst: d, Src: s} }
func call(n int) Instr {
	return Instr{Form: Call, Op: asm.OpCode(asm.JumpClass).SetJumpOp(asm.Call), Imm: 5, N: n}
}
func exit() Instr { return Instr{Form: Exit, Op: asm.OpCode(asm.JumpClass).SetJumpOp(asm.Exit)} }

// TestAcrossCall keeps n values alive across a call: four fit registers, the
// others take slots of their own, and none is in a register that the call
// clobbers.
func TestAcrossCall(t *testing.T) {
	for n := 1; n <= 12; n++ {
		f := &Func{NumRegs: Virtual, Frame: 4}
		b := &Block{Weight: 1}
		f.Blocks = []*Block{b}
		ctx := f.New()
		b.Instrs = append(b.Instrs, mov(ctx, 1))
		var vs []Reg
		for i := range n {
			v := f.New()
			vs = append(vs, v)
			b.Instrs = append(b.Instrs, load(v, ctx, int16(8*i)))
		}
		b.Instrs = append(b.Instrs, call(0), set(R0, 0))
		for _, v := range vs {
			b.Instrs = append(b.Instrs, add(R0, v))
		}
		b.Instrs = append(b.Instrs, exit())
		if err := Allocate(f); err != nil {
			t.Fatalf("%d values: %v", n, err)
		}
		stores, loads := 0, 0
		junk := map[Reg]bool{} // clobbered by the call and not written since
		slots := map[int16]bool{}
		for _, in := range b.Instrs {
			if in.Dst >= Virtual || in.Src >= Virtual {
				t.Fatalf("%d values: virtual register left in %+v", n, in)
			}
			switch {
			case in.Form == Call:
				for r := Reg(1); r <= 5; r++ {
					junk[r] = true
				}
			case in.Form == Store && in.Dst == FP:
				stores++
				slots[in.Off] = true
				if in.Off > -12 || in.Off%8 != 0 {
					t.Errorf("%d values: slot at %d", n, in.Off)
				}
			case in.Form == Load && in.Src == FP:
				loads++
			}
			in.uses(func(r Reg) {
				if junk[r] {
					t.Errorf("%d values: r%d is read after the call", n, r)
				}
			})
			delete(junk, in.def())
		}
		if want := max(n-4, 0); stores != want || len(slots) != want || loads < want {
			t.Errorf("%d values: %d stores to %d slots, %d loads", n, stores, len(slots), loads)
		}
	}
}

// TestCoalesce checks that moves into and out of argument registers vanish
// where the value goes nowhere else.
func TestCoalesce(t *testing.T) {
	f := &Func{NumRegs: Virtual}
	a, r := f.New(), f.New()
	b := &Block{Weight: 1, Instrs: []Instr{mov(a, 1), mov(1, a), call(1), mov(r, R0), mov(R0, r), exit()}}
	f.Blocks = []*Block{b}
	if err := Allocate(f); err != nil {
		t.Fatal(err)
	}
	if len(b.Instrs) != 2 {
		t.Errorf("left: %+v", b.Instrs)
	}
}

// TestRemat repeats a constant rather than store it.
func TestRemat(t *testing.T) {
	f := &Func{NumRegs: Virtual}
	b := &Block{Weight: 1}
	f.Blocks = []*Block{b}
	var vs []Reg
	for i := range 12 {
		v := f.New()
		vs = append(vs, v)
		b.Instrs = append(b.Instrs, set(v, int64(i)))
	}
	b.Instrs = append(b.Instrs, call(0))
	for _, v := range vs {
		b.Instrs = append(b.Instrs, add(R0, v))
	}
	b.Instrs = append(b.Instrs, exit())
	if err := Allocate(f); err != nil {
		t.Fatal(err)
	}
	if f.Frame != 0 {
		t.Errorf("%d bytes of frame for constants", f.Frame)
	}
}
