package codegen_test

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"

	"github.com/hawktrace/hawk/internal/codegen"
	"github.com/hawktrace/hawk/internal/ir"
	"github.com/hawktrace/hawk/internal/ir/irgen"
	"github.com/hawktrace/hawk/internal/opt"
)

// once compiles p, runs it on a world and reads the world back.
func (m *machine) once(t *testing.T, p *ir.Prog, w *irgen.World) uint32 {
	t.Helper()
	_, err := opt.Run(p, opt.Options{
		ScratchMap: irgen.Scratch, ScratchSlots: scratchSlots, MissedData: irgen.Missed, Verify: true,
		AtomicFetch: func() bool { return m.fetch },
	})
	if err != nil {
		t.Fatal(err)
	}
	c, err := codegen.Generate(p, codegen.Options{})
	if err != nil {
		t.Fatal(err)
	}
	m.link(t, c)
	prog, err := m.load(c)
	if err != nil {
		var dump bytes.Buffer
		c.Dump(&dump)
		t.Fatalf("%v\n%s\n%s", err, &dump, m.why(c))
	}
	defer prog.Close()
	m.fill(t, w)
	ret, err := prog.Run(&ebpf.RunOptions{Context: w.Context})
	if err != nil {
		t.Fatal(err)
	}
	m.read(t, w)
	return ret
}

// TestKernelMayGoto counts in a loop without a bound of its own.
func TestKernelMayGoto(t *testing.T) {
	m := newMachine(t)
	jcond := asm.Instruction{OpCode: asm.OpCode(asm.JumpClass).SetJumpOp(asm.JCOND), Offset: 1}
	if !accepts(asm.Mov.Imm(asm.R0, 0), jcond, asm.Mov.Imm(asm.R0, 1)) {
		t.Skip("no may_goto here")
	}
	b := ir.NewBuilder("main", 1)
	ctx := b.Param(0, ir.Ptr)
	n := b.NewObject("n", 8, 8)
	b.Store(b.Addr(n, 0), 0, 8, b.Const(0))
	head, body, step, out := b.NewBlock(), b.NewBlock(), b.NewBlock(), b.NewBlock()
	b.Jump(head)
	b.Begin(head)
	b.MayGoto(body, out)
	b.Begin(body)
	b.If(b.Arith(ir.ULt, b.Load(b.Addr(n, 0), 0, 8, false), b.Load(ctx, 0, 8, false)), step, out)
	b.Begin(step)
	b.Store(b.Addr(n, 0), 0, 8, b.Add(b.Load(b.Addr(n, 0), 0, 8, false), 1))
	b.AtomicAdd(b.Data(8), 0, 8, b.Const(1))
	b.Jump(head)
	b.Begin(out)
	b.Ret(b.Load(b.Addr(n, 0), 0, 8, false))
	w := irgen.NewWorld(1)
	clear(w.Data)
	binary.NativeEndian.PutUint64(w.Context, 1000)
	if ret := m.once(t, &ir.Prog{Name: "loop", Funcs: []*ir.Func{b.Fn}}, w); ret != 1000 {
		t.Errorf("returned %d", ret)
	}
	if n := binary.NativeEndian.Uint64(w.Data[8:]); n != 1000 {
		t.Errorf("counted %d", n)
	}
}

// TestKernelScratch takes the first free slot, gives it back, and counts the
// event when none is free.
func TestKernelScratch(t *testing.T) {
	m := newMachine(t)
	program := func() *ir.Prog {
		b := ir.NewBuilder("main", 1)
		ctx := b.Param(0, ir.Ptr)
		o := b.NewObject("big", 1000, 8)
		b.Zero(b.Addr(o, 0), 0, 1000)
		b.Store(b.Addr(o, 992), 0, 8, b.Load(ctx, 0, 8, false))
		b.Call(int(asm.FnProbeReadKernel), b.Addr(o, 0), b.Const(8), b.Const(0)) // keeps the object in memory
		i := b.Arith(ir.Add, b.Addr(o, 0), b.Const(992))
		b.Ret(b.Load(i, 0, 8, false))
		return &ir.Prog{Name: "scratch", Funcs: []*ir.Func{b.Fn}}
	}
	slot := func(s int) uint32 { return uint32(m.cpu*scratchSlots + s) }
	busy := func(s int, word uint64) {
		value := make([]byte, scratchSize)
		binary.NativeEndian.PutUint64(value, word)
		if err := m.scratch.Put(slot(s), value); err != nil {
			t.Fatal(err)
		}
	}
	word := func(s int) uint64 {
		value := make([]byte, scratchSize)
		if err := m.scratch.Lookup(slot(s), &value); err != nil {
			t.Fatal(err)
		}
		return binary.NativeEndian.Uint64(value)
	}
	for _, c := range []struct {
		first, second uint64
		ret           uint32
		missed        uint64
	}{{0, 0, 55, 0}, {1, 0, 55, 0}, {1, 1, 0, 1}} {
		busy(0, c.first)
		busy(1, c.second)
		w := irgen.NewWorld(1)
		binary.NativeEndian.PutUint64(w.Context, 55)
		ret := m.once(t, program(), w)
		if missed := binary.NativeEndian.Uint64(w.Data[irgen.Missed:]); ret != c.ret || missed != c.missed {
			t.Errorf("busy %d, %d: returned %d, missed %d", c.first, c.second, ret, missed)
		}
		if word(0) != c.first || word(1) != c.second {
			t.Errorf("busy %d, %d: left %d, %d", c.first, c.second, word(0), word(1))
		}
	}
	busy(0, 0)
	busy(1, 0)
}
