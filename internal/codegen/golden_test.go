package codegen_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"flag"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cilium/ebpf/asm"
	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/hawktrace/hawk/internal/codegen"
	"github.com/hawktrace/hawk/internal/ir"
	"github.com/hawktrace/hawk/internal/ir/irgen"
	"github.com/hawktrace/hawk/internal/opt"
	"github.com/hawktrace/hawk/internal/source"
)

var update = flag.Bool("update", false, "rewrite the golden sections of testdata")

// compile takes IR text through all of the back half.
func compile(t *testing.T, text string, o codegen.Options) *codegen.Code {
	t.Helper()
	p, err := ir.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	if err := ir.Verify(p); err != nil {
		t.Fatal(err)
	}
	if _, err := opt.Run(p, opt.Options{ScratchMap: irgen.Scratch, ScratchSlots: 2,
		MissedData: irgen.Missed, Verify: true}); err != nil {
		t.Fatal(err)
	}
	c, err := codegen.Generate(p, o)
	if err != nil {
		t.Fatalf("%v\n%s", err, p)
	}
	return c
}

// TestGolden compares the code for the section "in" with the sections "v3"
// and "v4", named for the instruction set.
func TestGolden(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatal(err, "no testdata")
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			ar, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			for i, file := range ar.Files[1:] {
				c := compile(t, string(ar.Files[0].Data), codegen.Options{CPUv4: file.Name == "v4"})
				var got bytes.Buffer
				if err := c.Dump(&got); err != nil {
					t.Fatal(err)
				}
				if *update {
					ar.Files[i+1].Data = got.Bytes()
				} else if diff := cmp.Diff(string(file.Data), got.String()); diff != "" {
					t.Errorf("%s:\n%s", file.Name, diff)
				}
			}
			if *update {
				if err := os.WriteFile(path, txtar.Format(ar), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// TestMarshal checks the encoding against the library's.
func TestMarshal(t *testing.T) {
	var order binary.ByteOrder = binary.LittleEndian
	if binary.NativeEndian.Uint16([]byte{0, 1}) == 1 {
		order = binary.BigEndian
	}
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 3))
		p := irgen.Program(r, irgen.Options{Statements: 30, Callbacks: true})
		c := compile(t, p.String(), codegen.Options{CPUv4: seed%2 == 0})
		c, err := c.Link(func(n int) int { return 70 + n }, 99)
		if err != nil {
			t.Fatal(err)
		}
		got, err := c.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		var want bytes.Buffer
		for i := range c.Insns {
			if _, err := c.Insns[i].Marshal(&want, order); err != nil {
				t.Fatal(err)
			}
		}
		if !bytes.Equal(got, want.Bytes()) {
			t.Fatalf("seed %d: the encodings differ", seed)
		}
		if len(got) != 8*c.Slots() {
			t.Fatalf("%d bytes, %d slots", len(got), c.Slots())
		}
	}
}

const linkText = `prog "link"

func "main" params 1 {
	object o0 "key" size 4 align 4
b0:
	v0 = const 7
	v1 = addr o0+0
	store.32 v1+0, v0
	v2 = map 5
	v3 = data 72
	xadd.64 v3+0, v0
	v4 = call 2(v2, v1, v3, v0)
	v5 = func "cb"
	v6 = addr o0+0
	v7 = call 181(v0, v5, v6, v0)
	ret v7
}

static func "cb" params 2 {
b0:
	v0 = param 0
	ret v0
}
`

func TestLink(t *testing.T) {
	c := compile(t, linkText, codegen.Options{})
	var maps []int
	if !c.Maps(func(n int) { maps = append(maps, n) }) {
		t.Error("the data map is not mentioned")
	}
	if len(maps) != 1 || maps[0] != 5 {
		t.Errorf("maps %v", maps)
	}
	if _, err := c.Link(func(int) int { return -1 }, 3); err == nil {
		t.Error("no error for a missing map")
	}
	c, err := c.Link(func(n int) int { return n * 10 }, 33)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[asm.Register]int64{}
	slot := 0
	for _, in := range c.Insns {
		if in.OpCode == asm.LoadImmOp(asm.DWord) {
			seen[in.Src] = in.Constant
			if in.Src == asm.PseudoFunc {
				if to := slot + 1 + int(int32(in.Constant)); to != c.Funcs[1].Slot {
					t.Errorf("callback at slot %d, not %d", to, c.Funcs[1].Slot)
				}
			}
		}
		slot += int(in.Width())
	}
	if seen[asm.PseudoMapFD] != 50 || seen[asm.PseudoMapValue] != 72<<32|33 {
		t.Errorf("linked to %v", seen)
	}
	if f := c.Funcs[1]; f.Name != "cb" || !f.Static || f.NParams != 2 {
		t.Errorf("function %+v", f)
	}
}

func TestLines(t *testing.T) {
	file := source.NewFile("s.bt", "one\ntwo\n")
	b := ir.NewBuilder("main", 1)
	b.At = source.Span{File: file, Start: 0, End: 3}
	b.Call(5)
	x := b.Call(5)
	b.At = source.Span{File: file, Start: 4, End: 7}
	b.Ret(b.Arith(ir.Add, x, b.Const(1)))
	c, err := codegen.Generate(&ir.Prog{Funcs: []*ir.Func{b.Fn}}, codegen.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, l := range c.Lines {
		got = append(got, l.At.Text())
		if l.Slot >= c.Slots() {
			t.Errorf("line at slot %d of %d", l.Slot, c.Slots())
		}
	}
	if diff := cmp.Diff([]string{"one", "two"}, got); diff != "" {
		t.Error(diff)
	}
	var dump bytes.Buffer
	c.Dump(&dump)
	if !strings.Contains(dump.String(), "; s.bt:2: two") {
		t.Error(dump.String())
	}
}

func TestErrors(t *testing.T) {
	object := func(size, offset int) *ir.Prog {
		b := ir.NewBuilder("main", 1)
		o := b.NewObject("o", size, 8)
		o.Offset = offset
		b.Zero(b.Addr(o, 0), 0, 8)
		b.Ret(b.Const(0))
		return &ir.Prog{Funcs: []*ir.Func{b.Fn}}
	}
	if _, err := codegen.Generate(object(8, 0), codegen.Options{}); err == nil ||
		!strings.Contains(err.Error(), "no place") {
		t.Errorf("object without a place: %v", err)
	}
	if _, err := codegen.Generate(object(520, 520), codegen.Options{}); !errors.Is(err, codegen.ErrStack) {
		t.Errorf("520 bytes: %v", err)
	}
	if _, err := codegen.Generate(object(512, 512), codegen.Options{}); err != nil {
		t.Errorf("512 bytes: %v", err)
	}
	b := ir.NewBuilder("main", 1)
	b.Emit(ir.Zero, ir.Nothing, b.Data(0)).Len = 5000 // the builder would call a helper
	b.Ret(b.Const(0))
	if _, err := codegen.Generate(&ir.Prog{Funcs: []*ir.Func{b.Fn}}, codegen.Options{}); err == nil {
		t.Error("5000 bytes cleared inline")
	}
}

// TestFarJump branches over more instructions than an offset can tell.
func TestFarJump(t *testing.T) {
	b := ir.NewBuilder("main", 1)
	far, end := b.NewBlock(), b.NewBlock()
	b.If(b.Load(b.Param(0, ir.Ptr), 0, 8, false), far, end)
	b.Begin(far)
	for range 40000 {
		b.AtomicAdd(b.Data(0), 0, 8, b.Const(1))
	}
	b.Jump(end)
	b.Begin(end)
	x := b.Load(b.Data(8), 0, 8, false)
	b.Ret(x)
	_, err := codegen.Generate(&ir.Prog{Funcs: []*ir.Func{b.Fn}}, codegen.Options{})
	if !errors.Is(err, codegen.ErrLong) {
		t.Errorf("jump over 40000 instructions: %v", err)
	}
}
