package load

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/cilium/ebpf/asm"
	"golang.org/x/sys/unix"

	"github.com/hawktrace/hawk/internal/bpf"
	"github.com/hawktrace/hawk/internal/codegen"
	"github.com/hawktrace/hawk/internal/config"
	"github.com/hawktrace/hawk/internal/machine"
	"github.com/hawktrace/hawk/internal/object"
	"github.com/hawktrace/hawk/internal/probe"
	"github.com/hawktrace/hawk/internal/source"
)

var script = source.NewFile("t.bt", "begin {\n  @x = 1;\n}\n")

var beginKind = &probe.Kind{Name: "begin", Ours: probe.AtBegin,
	CanonicalName: func(*probe.Point) string { return "begin" }}

// byHand is how the tests' programs run.
const byHand probe.MechanismID = "test by hand"

var _ = probe.AddMechanisms(map[probe.MechanismID]*probe.Mechanism{byHand: {Program: bpf.RawTracepoint}})

// begin is an object of one program that runs by hand.
func begin(insns ...asm.Instruction) *object.Object {
	return &object.Object{
		Programs: []*object.Program{{
			Name:  "begin_1",
			Group: &probe.Group{Points: []*probe.Point{{Kind: beginKind}}, Mechanism: byHand},
			Code: &codegen.Code{
				Insns: insns,
				Funcs: []codegen.Func{{Name: "begin", NParams: 1}},
				Lines: []codegen.Line{{Slot: 0, At: source.Span{File: script, Start: 0, End: 5}},
					{Slot: int(insns[0].Width()), At: source.Span{File: script, Start: 10, End: 16}}},
			},
			At: source.Span{File: script, Start: 0, End: 5},
		}},
		Maps: []*object.Map{{Name: "ring", Type: bpf.RingBuf}, {Name: "scratch", Type: bpf.Array, KeySize: 4}},
		Data: object.Data{Bytes: 320, Init: append(make([]byte, 256), 7), CPUSlots: 2},
	}
}

func dataAt(dst asm.Register, off int64) asm.Instruction {
	return asm.Instruction{OpCode: asm.LoadImmOp(asm.DWord), Dst: dst, Src: asm.PseudoMapValue, Constant: off << 32}
}

func mapPtr(dst asm.Register, n int64) asm.Instruction {
	return asm.Instruction{OpCode: asm.LoadImmOp(asm.DWord), Dst: dst, Src: asm.PseudoMapFD, Constant: n}
}

// needBPF skips tests on machines that do not let hawk load programs.
func needBPF(t *testing.T) {
	t.Helper()
	fd, err := bpf.MapCreate(bpf.MapSpec{Type: bpf.RingBuf, MaxEntries: unix.Getpagesize()})
	if err != nil {
		t.Skipf("creating a ring buffer: %v (needs root and Linux 5.8)", err)
	}
	unix.Close(fd)
}

// here are the options for the running machine.
var here = &probe.Options{Machine: machine.Host()}

func TestLoad(t *testing.T) {
	needBPF(t)
	o := begin(
		dataAt(asm.R1, 256),
		asm.LoadMem(asm.R2, asm.R1, 0, asm.DWord),
		asm.Add.Imm(asm.R2, 1),
		asm.StoreMem(asm.R1, 8, asm.R2, asm.DWord),
		mapPtr(asm.R1, 0),
		asm.Mov.Imm(asm.R2, 8), asm.Mov.Imm(asm.R3, 0),
		asm.FnRingbufReserve.Call(),
		asm.JEq.Imm(asm.R0, 0, ""),
		asm.Mov.Reg(asm.R1, asm.R0), asm.Mov.Imm(asm.R2, 0),
		asm.FnRingbufSubmit.Call(),
		asm.Mov.Imm(asm.R0, 0),
		asm.Return(),
	)
	o.Programs[0].Code.Insns[8].Offset = 3
	s, err := Load(o, Options{Config: config.Default(), Probe: here})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if s.Maps[0] < 0 || s.Maps[1] != -1 {
		t.Errorf("maps %v: want the ring alone", s.Maps)
	}
	if _, err := bpf.TestRun(s.Programs[0], nil); err != nil {
		t.Fatal(err)
	}
	if got := binary.NativeEndian.Uint64(s.Data[264:]); got != 8 {
		t.Errorf("data word is %d, want 8", got)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Errorf("closed twice: %v", err)
	}
}

func TestRejected(t *testing.T) {
	needBPF(t)
	for _, c := range []struct {
		name string
		code []asm.Instruction
		want []string // parts of the printed diagnostic
	}{
		{"bug", []asm.Instruction{asm.Mov.Imm(asm.R1, 0), asm.LoadMem(asm.R0, asm.R1, 0, asm.DWord), asm.Return()},
			[]string{"t.bt:2:3-9: BUG: the kernel's verifier refused the program for begin (error -13, Permission " +
				"denied):\n  R1 invalid mem access '",
				"  @x = 1;\n  ~~~~~~\n", "HINT: a script that compiles should load: this is a bug of hawk"}},
		{"helper", []asm.Instruction{asm.Mov.Imm(asm.R1, 0), asm.FnSkbLoadBytes.Call(), asm.Return()},
			[]string{"t.bt:2:3-9: ERROR: the kernel refused the program for begin: helper bpf_skb_load_bytes not " +
				"allowed in probe\n"}},
	} {
		_, err := Load(begin(c.code...), Options{Probe: here})
		var r *Rejected
		if !errors.As(err, &r) {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		var b strings.Builder
		r.Diag.Print(&b, source.PrintOptions{})
		for _, want := range c.want {
			if !strings.Contains(b.String(), want) {
				t.Errorf("%s:\n%s\nwithout %q", c.name, &b, want)
			}
		}
		if !strings.Contains(r.Log, "processed") {
			t.Errorf("%s: the log is not complete: %q", c.name, r.Log)
		}
	}
}

func TestVerifierLog(t *testing.T) {
	needBPF(t)
	var log strings.Builder
	s, err := Load(begin(asm.Mov.Imm(asm.R0, 0), asm.Return()), Options{Log: &log, Probe: here})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	// The script's lines stand between the instructions.
	for _, want := range []string{"BPF verifier log for begin_1:\n", "; begin {", "; @x = 1;", "processed 2 insns"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("no %q in\n%s", want, &log)
		}
	}
}

func TestLines(t *testing.T) {
	span := func(start int) source.Span { return source.Span{File: script, Start: start, End: start + 1} }
	p := &object.Program{
		At: span(0),
		Code: &codegen.Code{
			Funcs: []codegen.Func{{Slot: 0}, {Slot: 5}, {Slot: 9}},
			Lines: []codegen.Line{{Slot: 2, At: span(2)}, {Slot: 5, At: span(5)},
				{Slot: 5, At: span(6)}, {Slot: 7, At: span(7)}},
		},
	}
	var got []int
	for _, l := range lines(p) {
		got = append(got, l.Slot, l.At.Start)
	}
	want := []int{0, 0, 2, 2, 5, 5, 7, 7, 9, 0}
	if len(got) != len(want) {
		t.Fatalf("lines %v, want %v", got, want)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("lines %v, want %v", got, want)
		}
	}
	for slot, start := range map[int]int{0: 0, 1: 0, 2: 2, 4: 2, 6: 6, 100: 7} {
		if at := spanAt(p, slot); at.Start != start {
			t.Errorf("slot %d comes from %d, want %d", slot, at.Start, start)
		}
	}
}

func TestLastWords(t *testing.T) {
	for _, c := range []struct {
		log  string
		slot int // -1: none
		want string
	}{
		{"", -1, ""},
		{"0: R1=ctx() R10=fp0\n; @x = 1; @ t.bt:2\n0: (b7) r1 = 0    ; R1_w=0\n1: (79) r0 = *(u64 *)(r1 +0)\nR1 " +
			"invalid mem access 'scalar'\nprocessed 2 insns (limit 1000000)\n",
			1, "R1 invalid mem access 'scalar'"},
		{"back-edge from insn 4 to 2\nprocessed 0 insns\n", 4, "back-edge from insn 4 to 2"},
		{"unreachable insn 12\n", 12, "unreachable insn 12"},
		{"384: (75) if r2 s>= 0x9 goto pc+7 BPF program is too large. Processed 1000001 insn\nprocessed " +
			"1000001 insns\n", 384, "BPF program is too large. Processed 1000001 insn"},
		{"12: (85) call bpf_x#3\n13: R0=scalar()\nmath between fp\nsecond\nprocessed 9 insns\nstack depth 0\n", 13,
			"math between fp|second"},
	} {
		if got := strings.Join(lastWords(c.log), "|"); got != c.want {
			t.Errorf("%q: %q, want %q", c.log, got, c.want)
		}
		slot, ok := lastSlot(c.log)
		if !ok {
			slot = -1
		}
		if slot != c.slot {
			t.Errorf("%q: slot %d, want %d", c.log, slot, c.slot)
		}
	}
}

func TestKnownComplaints(t *testing.T) {
	for line, want := range map[string]string{
		"unknown func bpf_get_func_ip#173": "helper bpf_get_func_ip not allowed in probe",
		"program of this type cannot use helper " +
			"bpf_copy_from_user#148": "helper bpf_copy_from_user not allowed in probe",
		"BPF program is too large. Processed 1000001 insn": "the verifier gave up after a million steps (BPF " +
			"program is too large. Processed 1000001 insn)",
		"combined stack size of 2 calls is 576. Too large": "it needs more stack than the kernel gives a program " +
			"(combined stack size of 2 calls is 576. Too large)",
	} {
		k := known(line)
		if k == nil {
			t.Errorf("%q is not known", line)
		} else if got := k.message(line, helperOf(line)); got != want {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
	log := "25: (b7) r3 = 64\n26: (85) call bpf_d_path#147\nhelper call is not allowed in probe\nprocessed 27 insns\n"
	if got, want := lastCall(log), "d_path"; got != want || helperHints[got] == "" {
		t.Errorf("the helper is %q, want %q, with a hint", got, want)
	}
	if got := lastCall(log + "27: (b7) r0 = 0\n"); got != "" {
		t.Errorf("the helper is %q, want none", got)
	}
	if k := known("R1 invalid mem access 'scalar'"); k != nil {
		t.Errorf("a bug of hawk is taken for %q", k.text)
	}
}

func TestRingSize(t *testing.T) {
	pages := config.Default()
	pages.PerfRBPages = 100
	ring := mapPtr(asm.R2, object.RingMap)
	straight := begin(ring, asm.Mov.Imm(asm.R0, 0), asm.Return())
	silent := begin(mapPtr(asm.R2, object.RingMap+1), asm.Mov.Imm(asm.R0, 0),
		asm.Instruction{OpCode: asm.Ja.Op(asm.ImmSource), Offset: -1}, asm.Return())
	loop := begin(ring, asm.Mov.Imm(asm.R0, 0),
		asm.Instruction{OpCode: asm.Ja.Op(asm.ImmSource), Offset: -1}, asm.Return())
	// An unlikely block behind the end, which returns to the middle.
	cold := begin(asm.JEq.Imm(asm.R1, 0, ""), asm.Mov.Imm(asm.R0, 0), asm.Return(), mapPtr(asm.R1, 0),
		asm.Instruction{OpCode: asm.Ja.Op(asm.ImmSource), Offset: -5})
	cold.Programs[0].Code.Insns[0].Offset = 2
	nowhere := begin(ring, asm.Mov.Imm(asm.R0, 0),
		asm.Instruction{OpCode: asm.Ja.Op(asm.ImmSource), Offset: -50}, asm.Return())
	large := begin(ring, asm.Mov.Imm(asm.R0, 0), asm.Return())
	large.Events = []*object.Event{{Bytes: 40 << 10}}
	for _, c := range []struct {
		name   string
		o      *object.Object
		config *config.Config
		cpus   int
		want   int
	}{
		{"a few records", straight, nil, 64, 64 << 10},
		{"a loop", loop, nil, 2, 4 << 20},
		{"a loop that sends nothing", silent, nil, 2, 64 << 10},
		{"an unlikely block", cold, nil, 2, 64 << 10},
		{"a jump to nowhere", nowhere, nil, 2, 4 << 20},
		{"a large record", large, nil, 4, 4 << 20},
		{"many CPUs", loop, nil, 40, 16 << 20},
		{"very many CPUs", loop, nil, 4096, 16 << 20},
		{"chosen", straight, pages, 2, 128 * unix.Getpagesize()},
	} {
		s := &Session{Object: c.o, CPUs: c.cpus, opts: Options{Config: c.config}}
		n, bounded := s.bounded()
		s.Bounded = bounded && n < 32<<10
		if got, _ := s.ringSize(); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
		s.opts.Bursts = true
		if got, _ := s.ringSize(); c.config != nil && got != c.want || got < c.want || got > max(burstRing, c.want) {
			t.Errorf("%s, in bursts: %d, for %d", c.name, got, c.want)
		}
	}
}

// TestRingCount divides the memory for events, of an object for as many buffers as there can be, by the processors
// that run: each gets a buffer that exists, and all buffers have processors.
func TestRingCount(t *testing.T) {
	o := begin(mapPtr(asm.R2, 2), asm.Mov.Imm(asm.R0, 0), asm.Instruction{OpCode: asm.Ja.Op(asm.ImmSource), Offset: -1},
		asm.Return())
	for range 7 {
		o.Maps = append(o.Maps, &object.Map{Name: "ring", Type: bpf.RingBuf})
	}
	for _, c := range []struct {
		online  string
		rings   string
		pages   int
		want    int
		bounded bool
	}{
		{online: "0-1", rings: "auto", want: 1},
		{online: "0-15", rings: "auto", want: 1},
		{online: "0-19", rings: "auto", want: 4},
		{online: "0-31", rings: "auto", want: 4},
		{online: "0-7,120-127", rings: "auto", want: 1},
		{online: "0-63", rings: "auto", want: 8},
		{online: "0-63", rings: "auto", want: 1, bounded: true},
		{online: "0-63", rings: "1", want: 1},
		{online: "0-63", rings: "auto", pages: 32, want: 2},
		{online: "0-63", rings: "auto", pages: 1, want: 1},
		{online: "0-1", rings: "8", want: 8},
		{online: "0-1", rings: "2", want: 2},
		{online: "0,2-99", rings: "auto", want: 8},
		{online: "0-255", rings: "4000000000", want: 8},
	} {
		conf := config.Default()
		conf.EventRings, conf.PerfRBPages = c.rings, c.pages*4096/unix.Getpagesize()
		s := &Session{Object: o, CPUs: 256, Data: make([]byte, object.DataFree), Bounded: c.bounded, opts: Options{
			Config: conf, Probe: &probe.Options{Machine: machine.RecordedIn(fstest.MapFS{
				"sys/devices/system/cpu/online": {Data: []byte(c.online + "\n")}})}}}
		n := s.ringCount()
		mask := binary.NativeEndian.Uint64(s.Data[object.DataRings:])
		shift := binary.NativeEndian.Uint64(s.Data[object.DataShift:])
		if n != c.want || mask != uint64(n-1) {
			t.Errorf("%+v: %d buffers and mask %d", c, n, mask)
		}
		used := map[uint64]int{}
		cpus, _ := s.opts.Probe.Machine.OnlineCPUs()
		for _, cpu := range cpus {
			used[uint64(cpu)>>shift&mask]++
		}
		if len(used) != min(n, len(cpus)) {
			t.Errorf("%+v: processors for each buffer: %v", c, used)
		}
	}
}

// TestRings loads programs for several buffers that are to be one, or two.
func TestRings(t *testing.T) {
	needBPF(t)
	for _, rings := range []string{"1", "2"} {
		o := begin(mapPtr(asm.R2, 0), mapPtr(asm.R2, 2), mapPtr(asm.R2, 3), mapPtr(asm.R2, 4),
			asm.Mov.Imm(asm.R0, 0), asm.Return())
		for range 3 {
			o.Maps = append(o.Maps, &object.Map{Name: "ring", Type: bpf.RingBuf})
		}
		conf := config.Default()
		conf.EventRings, conf.PerfRBPages = rings, 64
		s, err := Load(o, Options{Config: conf, Probe: here})
		if err != nil {
			t.Fatal(err)
		}
		all := 0
		for _, r := range s.Rings {
			all += r.Size
		}
		different := map[int]bool{}
		for _, n := range o.Rings() {
			different[s.Maps[n]] = true
		}
		if fmt.Sprint(len(s.Rings)) != rings || len(different) != len(s.Rings) || all != 64*unix.Getpagesize() {
			t.Errorf("%s: %v, maps %v", rings, s.Rings, s.Maps)
		}
		if err := s.Close(); err != nil {
			t.Errorf("%s: %v", rings, err)
		}
	}
}

func BenchmarkLoad(b *testing.B) {
	for b.Loop() {
		s, err := Load(begin(mapPtr(asm.R1, 0), asm.Mov.Imm(asm.R0, 0), asm.Return()), Options{Probe: here})
		if err != nil {
			b.Skip(err)
		}
		s.Close()
	}
}
