package dwarf

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hawktrace/hawk/internal/exe"
	"github.com/hawktrace/hawk/internal/hawktest/bound"
)

// sourceOf prints what Source says of a symbol's address.
func sourceOf(t *testing.T, f *File, e *exe.File, symbol string) (out []string) {
	t.Helper()
	sym, ok := e.Variable(symbol)
	if !ok {
		t.Fatal("no symbol " + symbol)
	}
	inlined, at, err := f.Source(sym.Addr)
	if err != nil {
		out = append(out, err.Error())
	}
	place := func(p Position) string { return fmt.Sprintf("%s:%d", filepath.Base(p.File), p.Line) }
	for _, i := range inlined {
		out = append(out, exe.Demangle(i.Name)+" "+place(i.At))
		if !filepath.IsAbs(i.At.File) {
			t.Errorf("%s is no whole path", i.At.File)
		}
	}
	return append(out, place(at))
}

func TestSourceC(t *testing.T) {
	for _, args := range [][]string{
		{"-gdwarf-5"}, {"-gdwarf-4"}, {"-gdwarf-3"}, {"-gdwarf-2"}, {"-gdwarf-5", "-gz"},
		{"-gdwarf-4", "-gz", "-no-pie"}, {"-gdwarf-5", "-gdwarf64"},
		{"-gdwarf-5", "-ffunction-sections", "-Wl,--gc-sections"}, {"-gdwarf-4", "-gsplit-dwarf"},
		{"-gdwarf-5", "-gsplit-dwarf"},
		{"-gdwarf-5", "-gsplit-dwarf", "-gdwarf64"}, {"-gdwarf-5", "-flto"},
	} {
		t.Run(strings.Join(args, ""), func(t *testing.T) {
			f, e := open1(t, build(t, "inline.c", "gcc", append([]string{"-O2"}, args...)...))
			if diff := cmp.Diff([]string{"innermost inline.c:6", "middle inline.c:15", "inline.c:23"},
				sourceOf(t, f, e, "mark")); diff != "" {
				t.Errorf("mark (-want +got)\n%s", diff)
			}
			// The function's own line has no code of its own with all compilers.
			if got := sourceOf(t, f, e, "around"); len(got) != 1 || got[0] != "inline.c:21" && got[0] != "inline.c:22" {
				t.Errorf("outer: %v", got)
			}
			if got := sourceOf(t, f, e, "_start"); !cmp.Equal(got, []string{ErrNotFound.Error(), ".:0"}) {
				t.Errorf("_start: %v", got)
			}
		})
	}
}

func TestSourceCPlusPlus(t *testing.T) {
	for _, args := range [][]string{{"-gdwarf-5"}, {"-gdwarf-4"}, {"-gdwarf-5", "-gsplit-dwarf"},
		{"-gdwarf-5", "-fdebug-types-section"}} {
		t.Run(strings.Join(args, ""), func(t *testing.T) {
			f, e := open1(t, build(t, "inline.cc", "g++", append([]string{"-O2"}, args...)...))
			want := []string{"shop::Price<int>::Price(int) inline.cc:12", "shop::Cart::add(int) inline.cc:23",
				"operator() inline.cc:32", "inline.cc:34"}
			if diff := cmp.Diff(want, sourceOf(t, f, e, "mark")); diff != "" {
				t.Errorf("mark (-want +got)\n%s", diff)
			}
		})
	}
}

// Where the file with the entries is missing, the line is known and the error says what is not.
func TestSourceMissing(t *testing.T) {
	path := build(t, "inline.c", "gcc", "-O2", "-gdwarf-5", "-gsplit-dwarf")
	found, err := filepath.Glob(filepath.Join(filepath.Dir(path), "*.dwo"))
	if err != nil || len(found) != 1 {
		t.Fatalf("%v, %v", found, err)
	}
	if err := os.Remove(found[0]); err != nil {
		t.Fatal(err)
	}
	f, e := open1(t, path)
	if got := sourceOf(t, f, e, "mark"); len(got) != 2 ||
		!strings.HasSuffix(got[0], ".dwo, which cannot be read: no such file or directory") ||
		got[1] != "inline.c:6" {
		t.Errorf("mark: %v", got)
	}
}

// FuzzLines runs line number programs that nobody has checked.
func FuzzLines(f *testing.F) {
	program, err := exe.Open(build(f, "inline.c", "gcc", "-O2", "-gdwarf-5"))
	if err != nil {
		f.Fatal(err)
	}
	for _, version := range []string{"-gdwarf-5", "-gdwarf-4"} {
		program, err := exe.Open(build(f, "inline.c", "gcc", "-O2", version))
		if err != nil {
			f.Fatal(err)
		}
		section, err := program.DebugSection(".debug_line")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(section.All())
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		bound.Run(t, len(data), func() {
			g, err := load(program)
			if err != nil {
				t.Fatal(err)
			}
			g.line = exe.BytesOf(data)
			for addr := uint64(0x1000); addr < 0x1400; addr += 7 {
				g.Source(addr)
			}
			g.Line("inline.c", 6, 0)
		})
	})
}
