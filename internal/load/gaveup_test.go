package load

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/cilium/ebpf/asm"
	"golang.org/x/sys/unix"

	"github.com/hawktrace/hawk/internal/codegen"
	"github.com/hawktrace/hawk/internal/object"
	"github.com/hawktrace/hawk/internal/source"
)

// The line that most instructions are for is to blame, however they are spread.
func TestBlame(t *testing.T) {
	f := source.NewFile("x.bt", "begin {\n  print(1);\n  print(2);\n}\n")
	at := func(line int) source.Span {
		start := strings.Index(f.Text, "print("+string(rune('0'+line)))
		return source.Span{File: f, Start: start, End: start + 8}
	}
	p := begin(asm.Mov.Imm(asm.R0, 0), asm.Mov.Imm(asm.R0, 0), asm.Mov.Imm(asm.R0, 0),
		asm.Mov.Imm(asm.R0, 0), asm.Mov.Imm(asm.R0, 0), asm.Return()).Programs[0]
	p.Code.Lines = []codegen.Line{{Slot: 0}, {Slot: 1, At: at(1)}, {Slot: 2, At: at(2)},
		{Slot: 3, At: at(1)}, {Slot: 5, At: at(2)}}
	var r *Rejected
	if !errors.As((&Session{}).rejected(p, "", unix.E2BIG), &r) {
		t.Fatal("no diagnostic")
	}
	if line, _ := f.Position(r.Diag.Span.Start); line != 2 {
		t.Errorf("line %d is to blame, want 2", line)
	}
	if want := "3 of its 6 instructions are for this line"; !slices.Contains(r.Diag.Hints, want) {
		t.Errorf("hints %q, want %q among them", r.Diag.Hints, want)
	}
}

// A verifier that gave up is not asked why: that would take as long again.
func TestGaveUp(t *testing.T) {
	few := begin(mapPtr(asm.R2, object.RingMap), asm.Mov.Imm(asm.R0, 0), asm.Return())
	var insns []asm.Instruction
	for n := range mostMaps {
		insns = append(insns, mapPtr(asm.R2, int64(n)))
	}
	many := begin(append(insns, asm.Mov.Imm(asm.R0, 0), asm.Return())...)
	for _, c := range []struct {
		name string
		o    *object.Object
		err  error
		log  string
		want bool
	}{
		{"too many steps", few, unix.E2BIG, "", true},
		{"too many maps", many, unix.E2BIG, "", false},
		{"too many branches", few, unix.EFAULT, "", true},
		{"too many branches, told in the log", few, unix.ENOMEM,
			"0: (b7) r0 = 0\nThe sequence of 8193 jumps is too complex.\n", true},
		{"functions too long", few, unix.ERANGE, "", true},
		{"a bug", few, unix.EACCES, "0: (b7) r0 = 0\nR1 !read_ok\n", false},
	} {
		p := c.o.Programs[0]
		var r *Rejected
		if !errors.As((&Session{}).rejected(p, c.log, c.err), &r) || r.GaveUp != c.want {
			t.Errorf("%s: %+v", c.name, r)
		}
		if c.log == "" && (gaveUp(p, c.err) != nil) != (c.want || c.o == many) {
			t.Errorf("%s: whether to ask why is decided wrongly", c.name)
		}
	}
}
