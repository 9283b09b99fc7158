package codegen_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"testing"

	"github.com/cilium/ebpf/asm"

	"github.com/hawktrace/hawk/internal/codegen"
	"github.com/hawktrace/hawk/internal/ir/eval"
	"github.com/hawktrace/hawk/internal/ir/irgen"
	"github.com/hawktrace/hawk/internal/opt"
)

// An interp runs code that was not linked on a simulated machine, so that the
// back half can be checked where the kernel cannot be asked. It is stricter
// than the kernel in one way: what a call clobbers becomes junk.
type interp struct {
	m      *eval.Machine
	c      *codegen.Code
	bySlot []int // slot → index of the instruction, -1 inside a 64-bit immediate
	steps  int
}

func newInterp(m *eval.Machine, c *codegen.Code) *interp {
	i := &interp{m: m, c: c, steps: 1e6}
	for k := range c.Insns {
		i.bySlot = append(i.bySlot, k)
		for range c.Insns[k].Width() - 1 {
			i.bySlot = append(i.bySlot, -1)
		}
	}
	m.Callback = func(fn uint64, args []uint64) (uint64, error) { return i.call(int(fn-eval.FuncBase), args) }
	return i
}

// run runs the main function.
func (i *interp) run() (uint64, error) { return i.call(0, []uint64{i.m.Reset()}) }

const junk = 0xa5a5a5a5a5a5a5a5

// call runs the function that begins at a slot.
func (i *interp) call(slot int, args []uint64) (uint64, error) {
	var r [11]uint64
	for k := range r {
		r[k] = junk
	}
	copy(r[1:], args)
	stack := make([]byte, 512)
	for k := range stack {
		stack[k] = junk & 0xff
	}
	r[10] = i.m.Add(stack) + 512
	for pc := slot; ; {
		if i.steps--; i.steps < 0 {
			return 0, eval.ErrSteps
		}
		if pc < 0 || pc >= len(i.bySlot) || i.bySlot[pc] < 0 {
			return 0, fmt.Errorf("jump to slot %d", pc)
		}
		in := &i.c.Insns[i.bySlot[pc]]
		at := pc
		pc += int(in.Width())
		if in.OpCode.JumpOp() == asm.Exit {
			return r[0], nil
		}
		jump, err := i.step(in, &r, at)
		if err != nil {
			return 0, fmt.Errorf("slot %d: %w", at, err)
		}
		if jump {
			pc += int(in.Offset)
			if in.OpCode.Class() == asm.Jump32Class {
				pc += int(in.Constant)
			}
		}
	}
}

func width(s asm.Size) int {
	return map[asm.Size]int{asm.Byte: 1, asm.Half: 2, asm.Word: 4, asm.DWord: 8}[s]
}

func load(mem []byte) uint64 {
	var b [8]byte
	copy(b[:], mem) // little endian
	return binary.LittleEndian.Uint64(b[:])
}

func store(mem []byte, x uint64) {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], x)
	copy(mem, b[:])
}

func (i *interp) step(in *asm.Instruction, r *[11]uint64, slot int) (jump bool, err error) {
	op := in.OpCode
	switch class := op.Class(); {
	case op == asm.LoadImmOp(asm.DWord):
		switch in.Src {
		case asm.PseudoMapFD:
			r[in.Dst] = eval.MapBase + uint64(in.Constant)
		case asm.PseudoMapValue:
			r[in.Dst] = eval.DataAddr + uint64(in.Constant>>32)
		case asm.PseudoFunc:
			r[in.Dst] = eval.FuncBase + uint64(slot+1+int(int32(in.Constant)))
		default:
			r[in.Dst] = uint64(in.Constant)
		}
	case class == asm.LdXClass:
		n := width(op.Size())
		mem, err := i.m.Bytes(r[in.Src]+uint64(in.Offset), n)
		if err != nil {
			return false, err
		}
		x := load(mem)
		if op.Mode() == asm.MemSXMode {
			x = uint64(int64(x<<(64-8*n)) >> (64 - 8*n))
		}
		r[in.Dst] = x
	case class.IsStore():
		mem, err := i.m.Bytes(r[in.Dst]+uint64(in.Offset), width(op.Size()))
		if err != nil {
			return false, err
		}
		switch {
		case class == asm.StClass:
			store(mem, uint64(in.Constant))
		case op.Mode() == asm.AtomicMode:
			atomic(op.AtomicOp(), mem, in.Src, r)
		default:
			store(mem, r[in.Src])
		}
	case class.IsALU():
		return false, alu(in, r)
	case op.JumpOp() == asm.Call:
		if in.Src != 0 {
			return false, errors.New("no kernel functions here")
		}
		r[0], err = i.m.Call(i.m, in.Constant, append([]uint64(nil), r[1:6]...))
		for k := 1; k <= 5; k++ {
			r[k] = junk
		}
		return false, err
	default:
		return i.condition(in, r)
	}
	return false, nil
}

func atomic(op asm.AtomicOp, mem []byte, src asm.Register, r *[11]uint64) {
	old := load(mem)
	mask := uint64(1)<<(8*len(mem)-1)<<1 - 1
	switch op {
	case asm.AddAtomic:
		store(mem, old+r[src])
	case asm.FetchAdd:
		store(mem, old+r[src])
		r[src] = old
	case asm.Xchg:
		store(mem, r[src])
		r[src] = old
	case asm.CmpXchg:
		if old == r[0]&mask {
			store(mem, r[src])
		}
		r[0] = old
	}
}

func (i *interp) condition(in *asm.Instruction, r *[11]uint64) (bool, error) {
	x, y := r[in.Dst], uint64(in.Constant)
	if in.OpCode.Source() == asm.RegSource {
		y = r[in.Src]
	}
	switch in.OpCode.JumpOp() {
	case asm.Ja:
		return true, nil
	case asm.JEq:
		return x == y, nil
	case asm.JNE:
		return x != y, nil
	case asm.JGT:
		return x > y, nil
	case asm.JGE:
		return x >= y, nil
	case asm.JLT:
		return x < y, nil
	case asm.JLE:
		return x <= y, nil
	case asm.JSGT:
		return int64(x) > int64(y), nil
	case asm.JSGE:
		return int64(x) >= int64(y), nil
	case asm.JSLT:
		return int64(x) < int64(y), nil
	case asm.JSLE:
		return int64(x) <= int64(y), nil
	case asm.JSet:
		return x&y != 0, nil
	}
	return false, fmt.Errorf("jump %v", in)
}

func alu(in *asm.Instruction, r *[11]uint64) error {
	x, y := r[in.Dst], uint64(in.Constant)
	if in.OpCode.ALUOp() == asm.Swap {
		r[in.Dst] = bits.ReverseBytes64(x) >> (64 - in.Constant)
		return nil
	}
	if in.OpCode.Source() == asm.RegSource {
		y = r[in.Src]
	}
	var z uint64
	switch in.OpCode.ALUOp() {
	case asm.Mov:
		z = y
	case asm.MovSX8:
		z = uint64(int8(y))
	case asm.MovSX16:
		z = uint64(int16(y))
	case asm.MovSX32:
		z = uint64(int32(y))
	case asm.Add:
		z = x + y
	case asm.Sub:
		z = x - y
	case asm.Mul:
		z = x * y
	case asm.Div:
		if y != 0 {
			z = x / y
		}
	case asm.SDiv:
		if y != 0 {
			z = uint64(int64(x) / int64(y))
		}
	case asm.Mod:
		if z = x; y != 0 {
			z = x % y
		}
	case asm.SMod:
		if z = x; y != 0 {
			z = uint64(int64(x) % int64(y))
		}
	case asm.And:
		z = x & y
	case asm.Or:
		z = x | y
	case asm.Xor:
		z = x ^ y
	case asm.LSh:
		z = x << (y & 63)
	case asm.RSh:
		z = x >> (y & 63)
	case asm.ArSh:
		z = uint64(int64(x) >> (y & 63))
	case asm.Neg:
		z = -x
	default:
		return fmt.Errorf("ALU operation %v", in)
	}
	if in.OpCode.Class() == asm.ALUClass {
		if in.OpCode.ALUOp() != asm.Mov {
			return fmt.Errorf("32-bit operation %v", in)
		}
		z = uint64(uint32(z))
	}
	r[in.Dst] = z
	return nil
}

// TestInterpreterAgrees runs made-up programs as code and as IR.
func TestInterpreterAgrees(t *testing.T) {
	if binary.NativeEndian.Uint16([]byte{1, 0}) != 1 {
		t.Skip("the interpreter is little endian")
	}
	n := uint64(500)
	if testing.Short() {
		n = 50
	}
	for seed := range n {
		agree(t, seed)
	}
}

func FuzzInterpreterAgrees(f *testing.F) {
	f.Add(uint64(1))
	f.Fuzz(func(t *testing.T, seed uint64) { agree(t, seed) })
}

func agree(t *testing.T, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 4))
	p := irgen.Program(r, irgen.Options{Statements: 5 + r.IntN(80), Big: seed%3 == 0, Callbacks: seed%4 == 0})
	text := p.String()
	world := func(i int) *irgen.World {
		w := irgen.NewWorld(uint64(i))
		w.CPU = 0
		for range 2 {
			w.Scratch = append(w.Scratch, make([]byte, 8<<10))
		}
		return w
	}
	want, results := []*irgen.World{world(0), world(1)}, [2]uint64{}
	for i, w := range want {
		var err error
		if results[i], err = w.Run(p); err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, text)
		}
	}
	if _, err := opt.Run(p, opt.Options{ScratchMap: irgen.Scratch, ScratchSlots: 2,
		MissedData: irgen.Missed}); err != nil {
		t.Fatalf("seed %d: %v\n%s", seed, err, text)
	}
	c, err := codegen.Generate(p, codegen.Options{CPUv4: seed%2 == 0})
	if err != nil {
		t.Fatalf("seed %d: %v\n%s", seed, err, p)
	}
	codes := []*codegen.Code{c}
	for n := range codegen.Arrangements {
		a, err := c.Arrange(n)
		if err != nil {
			t.Fatalf("seed %d: arrangement %d: %v", seed, n, err)
		}
		codes = append(codes, a.Code)
	}
	for k := range len(want) * len(codes) {
		i, c := k/len(codes), codes[k%len(codes)]
		w := world(i)
		got, err := newInterp(w.Machine(), c).run()
		if err != nil || got != results[i] || !bytes.Equal(w.Data, want[i].Data) ||
			fmt.Sprint(w.Values) != fmt.Sprint(want[i].Values) {
			var dump bytes.Buffer
			c.Dump(&dump)
			t.Fatalf("seed %d, world %d: %v: code yields %#x, IR %#x\n%s\n%s\n%s", seed, i, err, got,
				results[i], text, p, &dump)
		}
	}
}
