package cdef

import (
	"encoding/hex"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hawktrace/hawk/internal/source"
	"github.com/hawktrace/hawk/internal/types"
)

var update = flag.Bool("update", false, "rewrite the expected results")

func read(t *testing.T, text string, o Options) (*Unit, *source.Diagnostics) {
	t.Helper()
	f := source.NewFile("test.bt", text)
	if o.Arch == "" {
		o.Arch = "x86_64"
	}
	return Read([]Piece{{text, source.Span{File: f, End: len(text)}}}, o)
}

// records lists the structs and unions of a unit in the order of the text.
func records(u *Unit, text string) []*types.Struct {
	var out []*types.Struct
	for line := range strings.Lines(text) {
		line = strings.NewReplacer("__attribute__((packed))", "", "__attribute__((aligned(8)))", "").Replace(line)
		words := strings.Fields(line)
		if len(words) > 2 && (words[0] == "struct" || words[0] == "union") {
			t, ok := u.Type(words[0], words[1])
			if ok {
				out = append(out, t.(*types.Struct))
			}
		}
	}
	return out
}

// A layout is told in lines: the size and alignment of each type, the place of
// each member, and of bit-fields the bytes of a struct in which they alone are
// all ones.
func layoutOf(structs []*types.Struct) string {
	var b strings.Builder
	for _, s := range structs {
		fmt.Fprintf(&b, "%s %d %d\n", s, s.Size(), s.Align())
		for _, name := range s.FieldNames() {
			f, _ := s.Field(name)
			if f.BitSize == 0 {
				fmt.Fprintf(&b, "  %s %d %d\n", name, f.Offset, f.Type.Size())
				continue
			}
			raw := make([]byte, s.Size())
			for i := range f.BitSize {
				at := f.Offset*8 + f.BitOffset + i
				raw[at/8] |= 1 << (at % 8)
			}
			fmt.Fprintf(&b, "  %s %s\n", name, hex.EncodeToString(raw))
		}
	}
	return b.String()
}

// program is a C program that prints what layoutOf does.
func program(header string, structs []*types.Struct) string {
	var b strings.Builder
	b.WriteString("#include <stdio.h>\n#include <string.h>\n#include <stddef.h>\n" + header + "\nint main(void) {\n")
	for _, s := range structs {
		fmt.Fprintf(&b, "printf(\"%s %%zu %%zu\\n\", sizeof(%s), _Alignof(%s));\n", s, s, s)
		for _, name := range s.FieldNames() {
			if f, _ := s.Field(name); f.BitSize == 0 {
				size := fmt.Sprintf("sizeof(((%s *)0)->%s)", s, name)
				if f.Type.Size() == 0 {
					size = "(size_t)0"
				}
				fmt.Fprintf(&b, "printf(\"  %s %%zu %%zu\\n\", offsetof(%s, %s), %s);\n", name, s, name, size)
				continue
			}
			fmt.Fprintf(&b, "{ union { %s s; unsigned char b[sizeof(%s)]; } u; memset(&u, 0, sizeof u); u.s.%s = "+
				"-1; printf(\"  %s \");"+
				" for (size_t i = 0; i < sizeof u.b; i++) printf(\"%%02x\", u.b[i]); puts(\"\"); }\n", s, s, name, name)
		}
	}
	b.WriteString("return 0; }\n")
	return b.String()
}

// The layout is that of the C compiler, whose answers are kept for machines
// without one.
func TestLayout(t *testing.T) {
	text, err := os.ReadFile("testdata/layout.h")
	if err != nil {
		t.Fatal(err)
	}
	u, ds := read(t, string(text), Options{})
	for _, d := range ds.List() {
		t.Error(d.Msg, d.Span.Text())
	}
	structs := records(u, string(text))
	if len(structs) < 40 {
		t.Fatalf("only %d types", len(structs))
	}
	const golden = "testdata/layout.txt"
	if *update {
		if err := os.WriteFile(golden, []byte(ccLayout(t, string(text), structs)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), layoutOf(structs)); diff != "" {
		t.Errorf("layout differs from the compiler's (-compiler +hawk):\n%s", diff)
	}
}

// The kept answers are those of the compiler of this machine.
func TestLayoutCompiler(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("the kept answers are of amd64")
	}
	text, err := os.ReadFile("testdata/layout.h")
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile("testdata/layout.txt")
	if err != nil {
		t.Fatal(err)
	}
	u, _ := read(t, string(text), Options{})
	if diff := cmp.Diff(string(want), ccLayout(t, string(text), records(u, string(text)))); diff != "" {
		t.Errorf("the compiler says otherwise:\n%s", diff)
	}
}

func ccLayout(t *testing.T, header string, structs []*types.Struct) string {
	t.Helper()
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("no C compiler")
	}
	dir := t.TempDir()
	src, exe := filepath.Join(dir, "layout.c"), filepath.Join(dir, "layout")
	if err := os.WriteFile(src, []byte(program(header, structs)), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(cc, "-w", "-o", exe, src).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	out, err := exec.Command(exe).Output()
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}
