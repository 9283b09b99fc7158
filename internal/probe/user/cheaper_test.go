package user

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/hawktrace/hawk/internal/exe"
	"github.com/hawktrace/hawk/internal/probe"
)

// program is a file of x86-64 with code at address 0x1000.
func program(t *testing.T, code []byte) *exe.File {
	t.Helper()
	var b bytes.Buffer
	const headers = 64 + 56
	h := elf.Header64{Ident: [16]byte{0x7f, 'E', 'L', 'F', 2, 1, 1}, Type: uint16(elf.ET_DYN),
		Machine: uint16(elf.EM_X86_64), Version: 1, Phoff: 64, Ehsize: 64, Phentsize: 56, Phnum: 1}
	p := elf.Prog64{Type: uint32(elf.PT_LOAD), Flags: uint32(elf.PF_R | elf.PF_X), Off: headers, Vaddr: 0x1000,
		Filesz: uint64(len(code)), Memsz: uint64(len(code))}
	for _, part := range []any{h, p, code} {
		if err := binary.Write(&b, binary.LittleEndian, part); err != nil {
			t.Fatal(err)
		}
	}
	f, err := exe.New("program", b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestMover has a function, the code in front of it and behind it, and how far its
// probe is moved.
func TestMover(t *testing.T) {
	const (
		start = "f30f1efa 31c0 85ff 7401 c3 c3" // endbr64; xor eax, eax; test edi, edi; je
		pad   = "cccccccccccccccc"
	)
	far := strings.Repeat("90", 300)
	none, args := probe.Uses{}, probe.Uses{Args: true}
	for _, tt := range []struct {
		name, before, code, after string
		uses                      probe.Uses
		returns                   bool
		want                      uint64
	}{
		{"alone", pad, start, pad, args, false, 8},
		{"its end is the file's", "", start, "", args, false, 8},
		{"return", pad, start, pad, none, true, 8},
		{"return, stack pointer", pad, "4883ec08 7401 c3 c3", pad, none, true, 0},
		{"stack pointer", pad, "4883ec08 7401 c3 c3", pad, none, false, 4},
		{"stack pointer, first argument", pad, "4883ec08 7401 c3 c3", pad, probe.Uses{ArgN: 1}, false, 4},
		{"stack pointer, seventh argument", pad, "4883ec08 7401 c3 c3", pad, probe.Uses{ArgN: 7}, false, 0},
		{"third argument, second read", pad, "89fa 7401 c3 c3", pad, probe.Uses{ArgN: 2}, false, 2},
		{"third argument, third read", pad, "89fa 7401 c3 c3", pad, probe.Uses{ArgN: 3}, false, 0},
		{"loop to the start", pad, "31c0 85ff 74fa c3", pad, args, false, 4},
		{"loop to the second", pad, "31c0 85ff 74fc c3", pad, args, false, 0},
		{"loop to the place", pad, "31c0 85ff 74fe c3", pad, args, false, 0},
		{"far loop to the second", pad, "31c0 85ff 7401 c3" + far + "e9" + "c9feffff", pad, args, false, 0},
		{"jump from in front", "eb0c" + pad + "9090", start, pad, args, false, 0},
		{"jump from far in front", "e92e010000" + far, start, pad, args, false, 0},
		{"the same elsewhere", "e900010000" + far, start, pad, args, false, 8},
		{"call from behind", "", start, far + "e8" + "c5feffff", args, false, 0},
		{"its address from behind", "", start, far + "488d05" + "c3feffff", args, false, 0},
		{"data like an address", "", start, far + "4805" + "c4feffff", args, false, 8},
		{"a jump inside of an instruction", "", start, "48b8ebf0000000000000", args, false, 8},
		{"table", pad, "31c0 85ff 7401 c3 ffe0", pad, args, false, 0},
		{"nothing to gain", pad, "55 31c0 c3", pad, args, false, 0},
	} {
		hexBytes := func(s string) []byte {
			b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
			if err != nil {
				t.Fatal(tt.name, err)
			}
			return b
		}
		before, code := hexBytes(tt.before), hexBytes(tt.code)
		kind := &probe.Kind{}
		if tt.returns {
			kind.Retval = uretprobeRow(t).Retval
		}
		g := &probe.Group{Uses: tt.uses, Points: []*probe.Point{{Kind: kind}}}
		m := mover{program(t, bytes.Join([][]byte{before, code, hexBytes(tt.after)}, nil)), []uint64{0}, nil}
		m.look(0, &probe.Place{Func: 0x1000 + uint64(len(before)), Size: uint64(len(code))}, g)
		if m.moved[0] != tt.want {
			t.Errorf("%s: moved by %d bytes, want %d", tt.name, m.moved[0], tt.want)
		}
	}
}

func uretprobeRow(t *testing.T) *probe.Kind {
	k, ok := probe.Lookup("uretprobe")
	if !ok {
		t.Fatal("no uretprobe")
	}
	return k
}

// TestMovable: a probe that asks for its place stays.
func TestMovable(t *testing.T) {
	for _, u := range []probe.Uses{{Regs: true}, {Ctx: true}, {Stack: true}} {
		if movable(&probe.Group{Uses: u}) {
			t.Errorf("%+v can be moved", u)
		}
	}
}

// TestBeside has probes of a script on one function, and how far the first of them is moved.
func TestBeside(t *testing.T) {
	const code = "31c0 89fa 7401 c3 c3" // xor eax, eax; mov edi, edx; je
	b, err := hex.DecodeString(strings.ReplaceAll(code, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	file := program(t, append(bytes.Repeat([]byte{0xcc}, 8), b...))
	uprobe, ok := probe.Lookup("uprobe")
	if !ok {
		t.Fatal("no uprobe")
	}
	group := func(u probe.Uses, behind ...uint64) *probe.Group {
		g := &probe.Group{Uses: u}
		for _, n := range behind {
			pl := &probe.Place{Func: 0x1008, Size: uint64(len(b)), Offset: 0x80 + n}
			g.Points = append(g.Points, &probe.Point{Kind: uprobe, Target: "program", Func: "f", Offset: n,
				Parts: []probe.Part{{Text: "f"}}, Pattern: &probe.Pattern{}, Place: pl})
		}
		return g
	}
	back := group(probe.Uses{}, 0)
	back.Points[0].Kind = uretprobeRow(t)
	for name, tt := range map[string]struct {
		groups []*probe.Group
		want   uint64
	}{
		"alone":              {[]*probe.Group{group(probe.Uses{}, 0)}, 4},
		"same":               {[]*probe.Group{group(probe.Uses{}, 0), group(probe.Uses{}, 0)}, 4},
		"a stack":            {[]*probe.Group{group(probe.Uses{}, 0), group(probe.Uses{Stack: true}, 0)}, 0},
		"third argument":     {[]*probe.Group{group(probe.Uses{}, 0), group(probe.Uses{ArgN: 3}, 0)}, 0},
		"return":             {[]*probe.Group{group(probe.Uses{}, 0), back}, 4},
		"second instruction": {[]*probe.Group{group(probe.Uses{}, 0), group(probe.Uses{}, 2)}, 0},
		"the place":          {[]*probe.Group{group(probe.Uses{}, 0, 4)}, 0},
		"behind the place":   {[]*probe.Group{group(probe.Uses{}, 0, 6)}, 4},
	} {
		g := tt.groups[0]
		m := mover{file, make([]uint64, len(g.Points)), allBeside(g, []int{0}, &probe.Options{Groups: tt.groups})}
		if m.look(0, g.Points[0].Place, g); m.moved[0] != tt.want {
			t.Errorf("%s: moved by %d bytes, want %d", name, m.moved[0], tt.want)
		}
	}
}
