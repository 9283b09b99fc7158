package unwind

import (
	"debug/elf"
	"encoding/binary"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/hawktrace/hawk/internal/exe"
	"github.com/hawktrace/hawk/internal/hawktest/bound"
	"github.com/hawktrace/hawk/internal/object"
)

const base = 0x1000 // address of the made-up sections

// entry puts a length in front, padded with nops.
func entry(body []byte) []byte {
	for len(body)%4 != 0 {
		body = append(body, cfaNop)
	}
	return append(binary.LittleEndian.AppendUint32(nil, uint32(len(body))), body...)
}

// frame is an .eh_frame of one CIE as compilers write it, and functions of 64
// bytes from 0x4000 on, each with the given instructions.
func frame(augmentation string, functions ...[]byte) *section {
	return frameOf(elf.EM_X86_64, augmentation, functions...)
}

func frameOf(machine elf.Machine, augmentation string, functions ...[]byte) *section {
	cie := append(binary.LittleEndian.AppendUint32(nil, 0), 1)
	cie = append(append(cie, augmentation...), 0)
	if machine == elf.EM_X86_64 {
		cie = append(cie, 1, 0x78, 16, 1, pePCRel|peS4) // code by 1, data by -8, return address in 16
		cie = append(cie, cfaDef, 7, 8, cfaOffset|16, 1)
	} else {
		cie = append(cie, 4, 0x78, 30, 1, pePCRel|peS4, cfaDef, 31, 0)
	}
	data := entry(cie)
	for i, code := range functions {
		le := binary.LittleEndian
		at := len(data)
		fde := le.AppendUint32(nil, uint32(at+4))
		fde = le.AppendUint32(fde, uint32(0x4000+64*i-(base+at+8)))
		fde = append(le.AppendUint32(fde, 64), 0)
		data = append(data, entry(append(fde, code...))...)
	}
	return &section{data: append(data, 0, 0, 0, 0), addr: base, regs: machines[machine]}
}

func TestRules(t *testing.T) {
	at := func(addr uint64, kind, cfa, fp int) row { return row{addr, object.NewRule(kind, cfa, fp)} }
	none := row{0x4040, object.RuleNone}
	const sp, fp = object.RuleSP, object.RuleFP
	for _, c := range []struct {
		name string
		code []byte
		want []row
	}{
		{"a leaf", nil, []row{at(0x4000, sp, 1, 0), none}},
		{"a frame pointer", []byte{cfaAdvance | 1, cfaDefOffset, 16, cfaOffset | 6, 2, cfaAdvance | 3,
			cfaDefReg, 6, cfaAdvance | 20, cfaDef, 7, 8},
			[]row{at(0x4000, sp, 1, 0), at(0x4001, sp, 2, 2), at(0x4004, fp, 2, 2), at(0x4018, sp, 1, 2), none}},
		{"a stack frame, left early", []byte{cfaAdvance | 4, cfaDefOffset, 0x90, 1, cfaAdvance | 8,
			cfaRemember, cfaDefOffset, 8, cfaAdvance | 1, cfaRestoreState},
			[]row{at(0x4000, sp, 1, 0), at(0x4004, sp, 18, 0), at(0x400c, sp, 1, 0), at(0x400d, sp, 18, 0), none}},
		{"wide advances", []byte{cfaAdvance1, 16, cfaDefOffset, 16, cfaAdvance2, 4, 0, cfaDefOffset, 24,
			cfaAdvance4, 4, 0, 0, 0, cfaDefOffsetSF, 0x7c},
			[]row{at(0x4000, sp, 1, 0), at(0x4010, sp, 2, 0), at(0x4014, sp, 3, 0), at(0x4018, sp, 4, 0), none}},
		{"restored registers", []byte{cfaOffset | 6, 2, cfaOffset | 3, 3, cfaAdvance | 1,
			cfaRestore | 6, cfaRestore | 3},
			[]row{at(0x4000, sp, 1, 2), at(0x4001, sp, 1, 0), none}},
		{"nobody's callee", []byte{cfaUndefined, 16}, []row{at(0x4000, object.RuleEnd, 0, 0), none}},
		{"an aligned stack", []byte{cfaAdvance | 8, cfaExpr, 6, 2, 0x76, 0, cfaAdvance | 2, cfaDefExpr,
			3, 0x76, 0x78, opDeref, cfaAdvance | 40, cfaDef, 7, 8},
			[]row{at(0x4000, sp, 1, 0), at(0x400a, object.RuleSaved, 1, 0), at(0x4032, sp, 1, 0), none}},
		{"a linkage table", append([]byte{cfaDefExpr, 11}, pltExpr[0]...),
			[]row{at(0x4000, object.RulePLT, 11, 0), none}},
		{"another register", []byte{cfaDef, 10, 8}, []row{at(0x4000, object.RuleFail, 0, 0), none}},
		{"a saved return address elsewhere", []byte{cfaOffset | 16, 3}, []row{at(0x4000, object.RuleFail, 0, 0), none}},
		{"a huge frame", []byte{cfaDefOffset, 0x80, 0x80, 0x80, 1}, []row{at(0x4000, object.RuleFail, 0, 0), none}},
		{"code beyond the end", []byte{cfaAdvance | 50, cfaDefOffset, 16, cfaAdvance | 50},
			[]row{at(0x4000, object.RuleFail, 0, 0), none}},
		{"nothing to restore", []byte{cfaRestoreState}, []row{at(0x4000, object.RuleFail, 0, 0), none}},
		{"an unknown instruction", []byte{0x3f}, []row{at(0x4000, object.RuleFail, 0, 0), none}},
		{"a cut instruction", []byte{cfaDef, 7, 0x80}, []row{at(0x4000, object.RuleFail, 0, 0), none}},
	} {
		got, err := frame("zR", c.code).entries()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, tidy(got), cmp.AllowUnexported(row{})); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
	// Functions that follow each other have no gap in between, those of signal
	// handlers' returns one rule, and other augmentations are left alone.
	got, _ := frame("zR", nil, []byte{cfaDefOffset, 16}).entries()
	want := []row{at(0x4000, sp, 1, 0), at(0x4040, sp, 2, 0), {0x4080, object.RuleNone}}
	if diff := cmp.Diff(want, tidy(got), cmp.AllowUnexported(row{})); diff != "" {
		t.Error(diff)
	}
	got, _ = frame("zRS", nil).entries()
	if diff := cmp.Diff([]row{at(0x4000, object.RuleSignal, 0, 0), none}, got, cmp.AllowUnexported(row{})); diff != "" {
		t.Error(diff)
	}
	if got, err := frame("zX", nil).entries(); len(got) > 0 || err != nil {
		t.Errorf("%v, %v", got, err)
	}
}

// Rules of arm64, where the return address may be in the link register, and
// where it is signed.
func TestLinkRules(t *testing.T) {
	at := func(addr uint64, kind, cfa, below int) row { return row{addr, object.NewRule(kind, cfa, below)} }
	none := row{0x4040, object.RuleNone}
	const sp, fp, link = object.RuleSP, object.RuleFP, object.RuleSPLink
	for _, c := range []struct {
		name string
		code []byte
		want []row
	}{
		{"a leaf", nil, []row{at(0x4000, sp, 0, 0), none}},
		{"a frame record", []byte{cfaSignedReturn, cfaAdvance | 2, cfaDefOffset, 32, cfaOffset | 29, 4,
			cfaOffset | 30, 3, cfaAdvance | 1, cfaDefReg, 29, cfaAdvance | 4, cfaRestore | 29,
			cfaRestore | 30, cfaDef, 31, 0},
			[]row{at(0x4000, sp, 0, 0), at(0x4008, sp, 4, 4), at(0x400c, fp, 4, 4), at(0x401c, sp, 0, 0), none}},
		{"no frame pointer", []byte{cfaAdvance | 1, cfaDefOffset, 48, cfaOffset | 30, 5},
			[]row{at(0x4000, sp, 0, 0), at(0x4004, link, 6, 5), none}},
		{"the frame pointer used otherwise", []byte{cfaDef, 29, 16, cfaOffset | 30, 1},
			[]row{at(0x4000, object.RuleFPLink, 2, 1), none}},
		{"saved apart", []byte{cfaDefOffset, 48, cfaOffset | 29, 6, cfaOffset | 30, 2},
			[]row{at(0x4000, object.RuleFail, 0, 0), none}},
		{"only the frame pointer saved", []byte{cfaDefOffset, 16, cfaOffset | 29, 2},
			[]row{at(0x4000, object.RuleFail, 0, 0), none}},
		{"nobody's callee", []byte{cfaUndefined, 30}, []row{at(0x4000, object.RuleEnd, 0, 0), none}},
		{"another register", []byte{cfaDef, 19, 8}, []row{at(0x4000, object.RuleFail, 0, 0), none}},
	} {
		got, err := frameOf(elf.EM_AARCH64, "zR", c.code).entries()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, tidy(got), cmp.AllowUnexported(row{})); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}

// TestPrologue reads rules of arm64 off code without call frame information.
func TestPrologue(t *testing.T) {
	const (
		nop, ret = 0xd503201f, 0xd65f03c0
		// stp x29, x30, [sp, #-48]!; mov x29, sp; ldp x29, x30, [sp], #48
		push, set, pull = 0xa9bd7bfd, 0x910003fd, 0xa8c37bfd
		sub             = 0xd10043ff // sub sp, sp, #16
	)
	at := func(addr uint64, kind, words int) row { return row{addr, object.NewRule(kind, words, words)} }
	leaf := func(addr uint64) row { return at(addr, object.RuleSP, 0) }
	for _, tt := range []struct {
		name string
		code []uint32
		want []row
	}{
		{"a leaf", []uint32{nop, ret, nop, ret}, []row{leaf(0x1000)}},
		{"a frame", []uint32{nop, push, set, sub, nop, pull, ret},
			[]row{leaf(0x1000), at(0x1008, object.RuleSP, 6), at(0x100c, object.RuleFP, 6),
				leaf(0x1018), at(0x101c, object.RuleFP, 6)}},
		{"not on all ways", []uint32{ret, push, set, pull, ret, nop},
			[]row{leaf(0x1000), at(0x1008, object.RuleSP, 6), at(0x100c, object.RuleFP, 6),
				leaf(0x1010), at(0x1014, object.RuleFP, 6)}},
		{"another kind of frame", []uint32{sub, nop, ret}, nil},
	} {
		var code []byte
		for _, w := range tt.code {
			code = binary.LittleEndian.AppendUint32(code, w)
		}
		got := prologue(code, 0x1000, machines[elf.EM_AARCH64])
		if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(row{})); diff != "" {
			t.Errorf("%s: %s", tt.name, diff)
		}
	}
}

// A few instructions between functions, of which nothing is said, have no frame.
// TestBurst reads functions that share a long CIE, and CIEs each of which goes on through all others.
func TestBurst(t *testing.T) {
	le := binary.LittleEndian
	body := append(le.AppendUint32(nil, 0), 1, 'z', 'R', 0, 1, 0x78, 16, 1, pePCRel|peS4)
	data := entry(append(body, make([]byte, 1<<20)...)) // of nops
	for range 100_000 {
		fde := le.AppendUint32(nil, uint32(len(data)+4))
		fde = le.AppendUint32(fde, uint32(0x4000-(base+len(data)+8)))
		data = append(data, entry(append(le.AppendUint32(fde, 64), 0))...)
	}
	bound.Run(t, len(data), func() {
		s := section{data: data, addr: base, regs: machines[elf.EM_X86_64]}
		if rows, err := s.entries(); err != nil || len(rows) == 0 {
			t.Errorf("%d rows, %v", len(rows), err)
		}
	})

	// Each has 32 bytes, the last two of which have the next one's front be taken for an expression.
	const n, size = 100_000, 32
	data = nil
	for i := range n {
		cie := le.AppendUint32(nil, uint32(size*(n-i)-4))
		cie = append(le.AppendUint32(cie, 0), 1, 'z', 'R', 0, 1, 0x78, 16, 1, pePCRel|peS4)
		cie = append(cie, make([]byte, size-len(cie))...)
		if i < n-1 {
			cie[size-2], cie[size-1] = cfaDefExpr, 17
		}
		data = append(data, cie...)
	}
	for i := range n {
		fde := append(le.AppendUint32(nil, size-4), le.AppendUint32(nil, uint32(len(data)+4-size*i))...)
		fde = le.AppendUint32(le.AppendUint32(fde, 0x4000), 64)
		data = append(data, append(fde, make([]byte, size-len(fde))...)...)
	}
	m := newMachine(&section{data: data, addr: base, regs: machines[elf.EM_X86_64]})
	left, understood := len(data), 0
	bound.Run(t, len(data), func() {
		for i := range n {
			if c := m.cie(size*i, &left); c != nil && !c.failed {
				understood++
			}
		}
	})
	if understood == 0 || understood > 4 {
		t.Errorf("%d CIEs of as many bytes as the section are read, want a few", understood)
	}
}

func TestBridge(t *testing.T) {
	entry, deep := object.NewRule(object.RuleSP, 1, 0), object.NewRule(object.RuleSP, 9, 2)
	got := bridge([]row{
		{0x1000, entry}, {0x1010, object.RuleNone}, {0x1020, deep}, {0x1030, object.RuleNone},
		{0x1030 + maxGap, deep}, {0x1080, object.RuleNone},
	}, entry)
	want := []row{{0x1000, entry}, {0x1020, deep}, {0x1030, object.RuleNone}, {0x1030 + maxGap, deep},
		{0x1080, object.RuleNone}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(row{})); diff != "" {
		t.Error(diff)
	}
}

// lookup searches chunks as programs in the kernel do.
func lookup(chunks [][]byte, first uint32, position uint32) object.Rule {
	payload := first
	for range 2 {
		c := chunks[payload-first]
		lo := 0
		for half := object.UnwindRows / 2; half > 0; half /= 2 {
			if binary.NativeEndian.Uint32(c[(lo+half)*object.UnwindRowSize:]) <= position {
				lo += half
			}
		}
		payload = binary.NativeEndian.Uint32(c[lo*object.UnwindRowSize+4:])
	}
	return object.Rule(payload)
}

func TestChunks(t *testing.T) {
	for _, n := range []int{1, 2, object.UnwindRows - 1, object.UnwindRows, object.UnwindRows + 1,
		5*object.UnwindRows + 3} {
		table := &Table{Base: 0x400000}
		for i := range n {
			table.rows = append(table.rows, row{0x400000 + uint64(10*i+5), object.NewRule(object.RuleSP, 1+i%100, 0)})
		}
		chunks, err := table.chunks(7)
		if err != nil {
			t.Fatal(err)
		}
		for position := range uint32(10*n + 20) {
			got, want := lookup(chunks, 7, position), table.Rule(table.Base+uint64(position))
			if position < 5 && n >= object.UnwindRows {
				continue // no room for a row that says that nothing is known
			}
			if got != want {
				t.Fatalf("%d rows: at %d is %#x, want %#x", n, position, got, want)
			}
		}
	}
	if _, err := (&Table{rows: make([]row, object.UnwindRows*object.UnwindRows+1)}).chunks(1); err == nil {
		t.Error("no error for too many rows")
	}
}

// TestCode asks about code that has a table, and about code without one.
func TestCode(t *testing.T) {
	end, sp := object.NewRule(object.RuleEnd, 0, 0), object.NewRule(object.RuleSP, 1, 0)
	rows := []row{{0x100, end}, {0x120, sp}, {0x200, object.RuleNone}, {0x300, end}, {0x310, object.RuleNone}}
	var st, other unix.Stat_t
	st.Ino, other.Ino = 1, 2
	u := &Unwinder{files: map[fileID]*file{
		{ino: 1}: {table: &Table{Frames: true, begins: begins(rows)}},
		{ino: 2}: {},
	}}
	for addr, want := range map[uint64]bool{0xff: false, 0x100: true, 0x11f: true, 0x120: false,
		0x2ff: false, 0x30f: true, 0x310: false} {
		if keeps, begins := u.Code("/bin/x", &st, addr); !keeps || begins != want {
			t.Errorf("at %#x: keeps %t, begins %t, want true, %t", addr, keeps, begins, want)
		}
		if keeps, begins := u.Code("/bin/x", &other, addr); keeps || begins {
			t.Errorf("at %#x of a file without a table: keeps %t, begins %t", addr, keeps, begins)
		}
	}
	if n := len(begins(slices.Repeat(rows, maxBegins))); n != maxBegins {
		t.Errorf("threads begin in %d places, want %d at most", n, maxBegins)
	}
	if keeps, begins := u.Code("[vdso]", &unix.Stat_t{}, 0x100); !keeps || begins {
		t.Errorf("the vDSO: keeps %t, begins %t", keeps, begins)
	}
}

func TestSpace(t *testing.T) {
	v := space(object.UnwindReady, moment{5, 7}, []part{{0x5000, 0x6000, 0x1000, 9}, {0x2000, 0x3000, 0x2000, 4},
		{0xffffffffff600000, 0xffffffffff601000, 0, 0}})
	u64 := func(i, off int) uint64 {
		return binary.NativeEndian.Uint64(v[object.UnwindMappings+i*object.UnwindMapping+off:])
	}
	if u64(0, object.UnwindStart) != 0x2000 || u64(0, object.UnwindIndex) != 4 ||
		u64(1, object.UnwindEnd) != 0x6000 || u64(1, object.UnwindDelta) != 0x1000 {
		t.Error("mappings are not in order")
	}
	if u64(2, object.UnwindStart) != math.MaxInt64 || u64(object.UnwindMost-1, object.UnwindStart) != math.MaxInt64 {
		t.Error("what is not used can be found")
	}
}

// The tables of compiled programs say whether there are frame pointers, and
// what holds at the first instruction of every function.
func TestCompiled(t *testing.T) {
	gcc, err := exec.LookPath("gcc")
	if err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	src := filepath.Join(dir, "x.c")
	text := "int g(int*);\n__attribute__((noinline)) int f(int n) { int a[100]; for (int i = 0; i < n; i++) a[i % " +
		"100] = g(a) + n; return g(a) + a[n % 100]; }\n" +
		"__attribute__((noinline)) int g(int *p) { int b[50]; if (*p > 3) { *p = f(*p - 1); b[*p % 50] = f(1); } " +
		"return p[1] + b[*p % 50]; }\nint main(void) { return f(3); }\n"
	if err := os.WriteFile(src, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, frames := range []bool{true, false} {
		option := "-fomit-frame-pointer"
		if frames {
			option = "-fno-omit-frame-pointer"
		}
		bin := filepath.Join(dir, "x")
		if out, err := exec.Command(gcc, "-O2", option, "-fasynchronous-unwind-tables", "-nostartfiles",
			"-nodefaultlibs", "-shared", "-fPIC", "-o", bin, src).CombinedOutput(); err != nil {
			t.Fatalf("gcc: %v\n%s", err, out)
		}
		f, err := exe.Open(bin)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if machines[f.Machine] == (registers{}) {
			t.Skipf("no unwinding on %v", f.Machine)
		}
		table, err := NewTable(f)
		if err != nil {
			t.Fatal(err)
		}
		if table.Frames != frames {
			t.Errorf("%s: frame pointers are %v", option, table.Frames)
		}
		for _, s := range f.Functions(nil) {
			if got := table.Rule(s.Addr); got != object.NewRule(object.RuleSP, 1, 0) {
				t.Errorf("%s: at the entry of %s is %#x", option, s.Name, got)
			}
		}
	}
}

func FuzzRows(f *testing.F) {
	f.Add(frame("zR", nil, []byte{cfaAdvance | 1, cfaDefOffset, 16}).data)
	f.Add(frame("zRS", []byte{cfaExpr, 6, 2, 0x76, 0}).data)
	f.Add(frame("zR", append([]byte{cfaDefExpr, 11}, pltExpr[0]...)).data)
	f.Add(frameOf(elf.EM_AARCH64, "zR", []byte{cfaSignedReturn, cfaOffset | 30, 3}).data)
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, machine := range []elf.Machine{elf.EM_X86_64, elf.EM_AARCH64} {
			checkRows(t, &section{data: data, addr: base, regs: machines[machine]})
		}
	})
}

func checkRows(t *testing.T, s *section) {
	bound.Run(t, len(s.data), func() {
		got, err := s.entries()
		if err != nil {
			return
		}
		got = tidy(got)
		if !slices.IsSortedFunc(got, func(a, b row) int { return compare(a.addr, b.addr) }) {
			t.Error("the rows are not sorted")
		}
		for i := 1; i < len(got); i++ {
			if got[i].addr == got[i-1].addr || got[i].rule == got[i-1].rule {
				t.Errorf("row %d says nothing", i)
			}
		}
	})
}
