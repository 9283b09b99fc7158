package codegen_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/btf"
	"github.com/cilium/ebpf/features"
	"github.com/cilium/ebpf/rlimit"
	"golang.org/x/sys/unix"

	"github.com/hawktrace/hawk/internal/codegen"
	"github.com/hawktrace/hawk/internal/ir"
	"github.com/hawktrace/hawk/internal/ir/irgen"
	"github.com/hawktrace/hawk/internal/opt"
)

// A machine is the running kernel with the maps that made-up programs use.
type machine struct {
	data, values, scratch *ebpf.Map
	cpu                   int
	// The kernel has these.
	v4, fetch, loop bool
}

const (
	scratchSlots = 2
	scratchSize  = 16 << 10
)

// newMachine skips the test where the kernel cannot be asked. The test stays
// on one CPU, so that programs can be told which it is.
func newMachine(t *testing.T) *machine {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("loading programs needs root")
	}
	runtime.LockOSThread()
	// maps count against the limit before 5.11; without the right to lift it they are small enough
	rlimit.RemoveMemlock()
	m := &machine{}
	create := func(spec *ebpf.MapSpec) *ebpf.Map {
		em, err := ebpf.NewMap(spec)
		if err != nil {
			if errors.Is(err, os.ErrPermission) || errors.Is(err, unix.ENOSYS) {
				t.Skipf("no BPF here: %v", err)
			}
			t.Fatal(err)
		}
		t.Cleanup(func() { em.Close() })
		return em
	}
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		t.Fatal(err)
	}
	for !set.IsSet(m.cpu) {
		m.cpu++
	}
	set.Zero()
	set.Set(m.cpu)
	if err := unix.SchedSetaffinity(0, &set); err != nil {
		t.Fatal(err)
	}
	m.data = create(&ebpf.MapSpec{Type: ebpf.Array, KeySize: 4, ValueSize: irgen.DataSize + 8, MaxEntries: 1})
	m.values = create(&ebpf.MapSpec{Type: ebpf.Array, KeySize: 4, ValueSize: irgen.ValueSize,
		MaxEntries: irgen.MapEntries})
	m.scratch = create(&ebpf.MapSpec{Type: ebpf.Array, KeySize: 4, ValueSize: scratchSize,
		MaxEntries: uint32(m.cpu+1) * scratchSlots})
	m.v4 = accepts(asm.Mov.Imm(asm.R0, 7), asm.SDiv.Imm(asm.R0, 2))
	m.fetch = accepts(
		asm.Mov.Imm(asm.R0, 0), asm.StoreMem(asm.RFP, -8, asm.R0, asm.DWord),
		asm.Instruction{OpCode: asm.Xchg.OpCode(asm.DWord), Dst: asm.RFP, Src: asm.R0, Offset: -8,
			Constant: int64(asm.Xchg >> 8)},
	)
	m.loop = features.HaveProgramHelper(ebpf.RawTracepoint, asm.FnLoop) == nil
	return m
}

// accepts tries instructions on the kernel.
func accepts(insns ...asm.Instruction) bool {
	prog, err := ebpf.NewProgram(&ebpf.ProgramSpec{Type: ebpf.RawTracepoint, License: "GPL",
		Instructions: append(insns, asm.Return())})
	if err != nil {
		return false
	}
	prog.Close()
	return true
}

func (m *machine) link(t *testing.T, c *codegen.Code) {
	t.Helper()
	linked, err := c.Link(func(n int) int {
		switch n {
		case irgen.Map:
			return m.values.FD()
		case irgen.Scratch:
			return m.scratch.FD()
		}
		return -1
	}, m.data.FD())
	if err != nil {
		t.Fatal(err)
	}
	*c = *linked
}

// load loads the code as a raw tracepoint program.
func (m *machine) load(c *codegen.Code) (*ebpf.Program, error) {
	insns := append(asm.Instructions(nil), c.Insns...)
	if len(c.Funcs) > 1 {
		// Callbacks need function types; the library makes them from metadata.
		slot, fn := 0, 0
		for i := range insns {
			if fn < len(c.Funcs) && c.Funcs[fn].Slot == slot {
				f := c.Funcs[fn]
				long := &btf.Int{Name: "long", Size: 8, Encoding: btf.Signed}
				proto := &btf.FuncProto{Return: long}
				for p := range f.NParams {
					proto.Params = append(proto.Params, btf.FuncParam{Name: "p" + strconv.Itoa(p), Type: long})
				}
				kind := btf.GlobalFunc
				if f.Static {
					kind = btf.StaticFunc
				}
				insns[i] = btf.WithFuncMetadata(insns[i].WithSymbol(f.Name),
					&btf.Func{Name: f.Name, Type: proto, Linkage: kind})
				fn++
			}
			slot += int(insns[i].Width())
		}
		// It wants names for function pointers as well.
		slot = 0
		for i := range insns {
			if in := &insns[i]; in.OpCode == asm.LoadImmOp(asm.DWord) && in.Src == asm.PseudoFunc {
				for _, f := range c.Funcs {
					if f.Slot == slot+1+int(int32(in.Constant)) {
						*in = in.WithReference(f.Name)
						in.Constant = -1
					}
				}
			}
			slot += int(insns[i].Width())
		}
	}
	return ebpf.NewProgramWithOptions(
		&ebpf.ProgramSpec{Type: ebpf.RawTracepoint, License: "GPL", Instructions: insns},
		ebpf.ProgramOptions{LogDisabled: true})
}

// why loads a refused program again for the verifier's words.
func (m *machine) why(c *codegen.Code) string {
	raw, err := c.Marshal()
	if err != nil {
		return err.Error()
	}
	_, err = ebpf.NewProgramWithOptions(&ebpf.ProgramSpec{Type: ebpf.RawTracepoint, License: "GPL",
		Instructions: c.Insns},
		ebpf.ProgramOptions{LogLevel: ebpf.LogLevelInstruction, LogSizeStart: 1 << 22})
	var ve *ebpf.VerifierError
	if errors.As(err, &ve) {
		log := ve.Log
		if len(log) > 60 {
			log = log[len(log)-60:]
		}
		return fmt.Sprintf("%d bytes\n%s", len(raw), strings.Join(log, "\n"))
	}
	return fmt.Sprint(err)
}

func (m *machine) fill(t *testing.T, w *irgen.World) {
	t.Helper()
	if err := m.data.Put(uint32(0), w.Data); err != nil {
		t.Fatal(err)
	}
	for i, v := range w.Values {
		if err := m.values.Put(uint32(i), v); err != nil {
			t.Fatal(err)
		}
	}
}

func (m *machine) read(t *testing.T, w *irgen.World) {
	t.Helper()
	if err := m.data.Lookup(uint32(0), &w.Data); err != nil {
		t.Fatal(err)
	}
	for i := range w.Values {
		if err := m.values.Lookup(uint32(i), &w.Values[i]); err != nil {
			t.Fatal(err)
		}
	}
}

// identity is what get_current_pid_tgid says of this thread.
func (m *machine) identity(t *testing.T) uint64 {
	t.Helper()
	b := ir.NewBuilder("main", 1)
	b.Store(b.Data(0), 0, 8, b.Call(14))
	b.Ret(b.Const(0))
	p := &ir.Prog{Name: "identity", Funcs: []*ir.Func{b.Fn}}
	if _, err := opt.Run(p, opt.Options{}); err != nil {
		t.Fatal(err)
	}
	c, err := codegen.Generate(p, codegen.Options{})
	if err != nil {
		t.Fatal(err)
	}
	m.link(t, c)
	prog, err := m.load(c)
	if err != nil {
		t.Fatalf("%v\n%s", err, m.why(c))
	}
	defer prog.Close()
	if _, err := prog.Run(&ebpf.RunOptions{Context: make([]byte, irgen.ContextSize)}); err != nil {
		t.Fatal(err)
	}
	w := irgen.NewWorld(0)
	m.read(t, w)
	return binary.NativeEndian.Uint64(w.Data)
}

// TestKernelAgrees compiles made-up programs, has the kernel verify and run
// them, and compares with what the IR says before any pass.
func TestKernelAgrees(t *testing.T) {
	m := newMachine(t)
	id := m.identity(t)
	n := 400
	if s := os.Getenv("HAWK_KERNEL_PROGRAMS"); s != "" {
		n, _ = strconv.Atoi(s)
	}
	first := 0
	if s := os.Getenv("HAWK_KERNEL_SEED"); s != "" {
		first, _ = strconv.Atoi(s)
	}
	tooComplex := 0
	for seed := first; seed < first+n; seed++ {
		r := rand.New(rand.NewPCG(uint64(seed), 2))
		p := irgen.Program(r, irgen.Options{Statements: 5 + r.IntN(60), Big: seed%3 == 0,
			Callbacks: m.loop && seed%4 == 0, NoFetch: !m.fetch})
		text := p.String()
		worlds := make([]*irgen.World, 3)
		results := make([]uint64, 3)
		for i := range worlds {
			worlds[i] = irgen.NewWorld(uint64(i))
			worlds[i].CPU, worlds[i].PidTgid = uint32(m.cpu), id
			var err error
			if results[i], err = worlds[i].Run(p); err != nil {
				t.Fatalf("seed %d: %v\n%s", seed, err, text)
			}
		}
		res, err := opt.Run(p, opt.Options{ScratchMap: irgen.Scratch, ScratchSlots: scratchSlots,
			MissedData: irgen.Missed, AtomicFetch: func() bool { return m.fetch }})
		if err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, text)
		}
		if res.ScratchBytes > scratchSize {
			t.Fatalf("seed %d: %d bytes of scratch memory", seed, res.ScratchBytes)
		}
		c, err := codegen.Generate(p, codegen.Options{CPUv4: m.v4 && seed%2 == 0})
		if err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, p)
		}
		m.link(t, c)
		prog, err := m.load(c)
		if errors.Is(err, unix.E2BIG) {
			tooComplex++
			continue
		}
		if err != nil {
			var dump bytes.Buffer
			c.Dump(&dump)
			t.Fatalf("seed %d: refused: %v\n%s\n%s\n%s", seed, err, p, &dump, m.why(c))
		}
		for i, want := range worlds {
			got := irgen.NewWorld(uint64(i))
			m.fill(t, got)
			ret, err := prog.Run(&ebpf.RunOptions{Context: got.Context})
			if err != nil {
				t.Fatalf("seed %d: run: %v", seed, err)
			}
			m.read(t, got)
			if ret != uint32(results[i]) || !bytes.Equal(got.Data, want.Data) ||
				fmt.Sprint(got.Values) != fmt.Sprint(want.Values) {
				var dump bytes.Buffer
				c.Dump(&dump)
				t.Fatalf("seed %d, world %d: kernel returns %#x, IR %#x\ndata %x\nwant %x\n%s\n%s\n%s",
					seed, i, ret, results[i], got.Data, want.Data, text, p, &dump)
			}
		}
		prog.Close()
	}
	if tooComplex > n/20 {
		t.Errorf("%d of %d programs were too complex for the verifier", tooComplex, n)
	}
	t.Logf("%d programs, %d too complex for the verifier", n, tooComplex)
}
