package dwarf

import (
	"debug/dwarf"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hawktrace/hawk/internal/exe"
	"github.com/hawktrace/hawk/internal/types"
)

// build compiles one of the programs of testdata.
func build(t testing.TB, src, compiler string, args ...string) string {
	t.Helper()
	if _, err := exec.LookPath(compiler); err != nil {
		t.Skip("no " + compiler)
	}
	out := filepath.Join(t.TempDir(), "program")
	cmd := exec.Command(compiler, append(args, "-o", out, filepath.Join("testdata", src))...)
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", cmd, err, text)
	}
	return out
}

func open1(t testing.TB, path string) (*File, *exe.File) {
	t.Helper()
	f, err := Open(path, "")
	if err != nil {
		t.Fatal(err)
	}
	e, err := exe.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close(); f.Close() })
	return f, e
}

// signature prints a function and the types of its parameters.
func signature(f *File, e *exe.File, symbol string) string {
	sym, ok := e.Symbol(symbol)
	if !ok {
		return "no symbol " + symbol
	}
	fn, err := f.Function(sym.Addr)
	if err != nil {
		return err.Error()
	}
	var out []string
	for _, p := range fn.Params {
		text := fmt.Sprintf("%s [%s %d", p.Decl, p.Type, p.Shape.Bytes)
		if p.Shape.ByAddress {
			text += " by address"
		}
		out = append(out, text+"]")
	}
	return fn.Name + ": " + strings.Join(out, "; ") + " → " + fn.Result.Decl
}

// layout prints the fields of a type.
func layout(f *File, keyword, name string) []string {
	t, err := f.TypeByName(keyword, name, 0)
	if err != nil {
		return []string{err.Error()}
	}
	s, ok := t.(*types.Struct)
	if !ok {
		return []string{t.String()}
	}
	out := []string{fmt.Sprintf("%s %d", s, s.Size())}
	for _, m := range s.Fields() {
		text := fmt.Sprintf("%d %s %s", m.Offset, m.Name, m.Type)
		if m.BitSize > 0 {
			text += fmt.Sprintf(" %d:%d", m.BitOffset, m.BitSize)
		}
		out = append(out, text)
	}
	return out
}

func TestC(t *testing.T) {
	for _, args := range [][]string{
		{"-gdwarf-5"}, {"-gdwarf-4"}, {"-gdwarf-3"}, {"-gdwarf-2", "-gstrict-dwarf"},
		{"-gdwarf-5", "-gz"}, {"-gdwarf-4", "-gz", "-O2"}, {"-gdwarf-5", "-fdebug-types-section"},
		{"-gdwarf-5", "-gdwarf64"},
		{"-gdwarf-4", "-fdebug-types-section"}, {"-gdwarf-4", "-fdebug-types-section", "-gz"},
		{"-gdwarf-5", "-gsplit-dwarf"}, {"-gdwarf-4", "-gsplit-dwarf"},
		{"-gdwarf-5", "-gsplit-dwarf", "-O2", "-gz"}, {"-gdwarf-5", "-gsplit-dwarf", "-gdwarf64"},
		{"-gdwarf-5", "-gsplit-dwarf", "-fdebug-types-section"},
		{"-gdwarf-4", "-gsplit-dwarf", "-fdebug-types-section"},
	} {
		t.Run(strings.Join(args, ""), func(t *testing.T) {
			f, e := open1(t, build(t, "c.c", "gcc", args...))
			for symbol, want := range map[string]string{
				"addpt": "addpt: struct pt* p [struct pt * 8]; int k [int32 4]; const char* msg [int8 * 8] → int",
				"use": "use: conn_t* c [struct conn * 8]; struct pt byval [struct pt 8]; double d [uint8[8] 8]; " +
					"enum color shade [enum color 4]; " +
					"int (*cb)(int, char) [void * 8]; struct conn big [struct conn 80] → long int",
				"nothing": "nothing:  → void",
				"_start":  ErrNotFound.Error(),
			} {
				if got := signature(f, e, symbol); got != want {
					t.Errorf("%s\n got %s\nwant %s", symbol, got, want)
				}
			}
			want := []string{"struct conn 80", "0 fd int32", "4 name string[16]", "20 a uint32 0:3",
				"20 b int32 3:7", "24 c enum color",
				"28 where struct pt", "40 next struct conn *", "48  union {int32,int64}", "56 m int32[3][2]"}
			if diff := cmp.Diff(want, layout(f, "struct", "conn")); diff != "" {
				t.Errorf("struct conn (-want +got)\n%s", diff)
			}
			if diff := cmp.Diff(want, layout(f, "", "conn_t")); diff != "" {
				t.Errorf("conn_t (-want +got)\n%s", diff)
			}
			if _, err := f.TypeByName("struct", "color", 0); !errors.Is(err, ErrNotFound) {
				t.Errorf("struct color: %v", err)
			}
			color, err := f.TypeByName("enum", "color", 0)
			if c, ok := color.(*types.Enum); err != nil || !ok || c.NameOf(5) != "GREEN" {
				t.Errorf("enum color: %v, %v", color, err)
			}
			if enum, v, err := f.Enumerator("GREEN", 0); err != nil || v != 5 || enum.Name != "color" {
				t.Errorf("GREEN: %v, %d, %v", enum, v, err)
			}
			if _, _, err := f.Enumerator("fd", 0); !errors.Is(err, ErrNotFound) {
				t.Errorf("enumerator fd: %v", err)
			}
			// Declared where it is used, defined nowhere.
			opaque, err := f.TypeByName("struct", "opaque", 0)
			if !errors.Is(err, ErrNotFound) {
				t.Errorf("struct opaque: %v, %v", opaque, err)
			}
		})
	}
}

func TestCPlusPlus(t *testing.T) {
	for _, args := range [][]string{{"-gdwarf-5"}, {"-gdwarf-4", "-O1"}} {
		f, e := open1(t, build(t, "cpp.cc", "g++", args...))
		for symbol, want := range map[string]string{
			"_ZN4shop4Cart3addERKNS_4ItemEb": "add: class Cart* const this [struct Cart * 8]; const " +
				"struct Item& it [struct Item * 8]; bool twice [bool 1] → int",
			"_ZN4shop3BoxIlE3getEl": "get: struct Box<long int>* const this [struct " +
				"Box<long int> * 8]; long int more [int64 8] → long int",
			"_ZN4shop4manyENS_4CartENS_5OwnerEOiNS_4ItemE": "many: class Cart c [struct Cart 24 by address]; " +
				"struct Owner o [struct Owner 8 by address]; int&& r [int32 * 8]; struct Item i [struct Item 8] → int",
		} {
			if got := signature(f, e, symbol); got != want {
				t.Errorf("%v %s\n got %s\nwant %s", args, symbol, got, want)
			}
		}
		// A base class is looked through; what all objects share is not in them.
		cart, err := f.TypeByName("struct", "Cart", 0)
		if err != nil {
			t.Fatal(err)
		}
		if id, ok := cart.(*types.Struct).Field("id"); !ok || id.Offset != 8 {
			t.Errorf("id of the base class: %+v, %t", id, ok)
		}
		if _, ok := cart.(*types.Struct).Field("carts"); ok {
			t.Error("a static member is a field")
		}
		// The type of the outermost scope is the one that is meant.
		if got := layout(f, "struct", "Twice"); len(got) != 2 || got[1] != "0 outer int32" {
			t.Errorf("Twice: %q", got)
		}
	}
}

func TestGo(t *testing.T) {
	f, e := open1(t, build(t, "go.go", "go", "build"))
	for symbol, want := range map[string]string{
		"main.(*conn).handle": "main.(*conn).handle: *main.conn c [struct main.conn * 8]; string q [struct string " +
			"16]; []int list [struct []int 24]; float64 f [uint8[8] 8] → void",
	} {
		if got := signature(f, e, symbol); got != want {
			t.Errorf("%s\n got %s\nwant %s", symbol, got, want)
		}
	}
}

// Debug information in a file of its own, with what dwz takes out of it, if
// that tool is there.
func TestSeparate(t *testing.T) {
	path := build(t, "c.c", "gcc", "-g")
	if _, err := exec.LookPath("objcopy"); err != nil {
		t.Skip("no objcopy")
	}
	for _, args := range [][]string{{"--only-keep-debug", path, path + ".debug"},
		{"--strip-all", "--add-gnu-debuglink=" + path + ".debug", path}} {
		if text, err := exec.Command("objcopy", args...).CombinedOutput(); err != nil {
			t.Fatalf("objcopy %q: %v\n%s", args, err, text)
		}
	}
	f, err := Open(path, "")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if got := layout(f, "struct", "pt"); len(got) != 3 {
		t.Errorf("struct pt: %q", got)
	}
	if err := os.Remove(path + ".debug"); err != nil {
		t.Fatal(err)
	}
	var none *ErrNone
	if _, err := Open(path, ""); !errors.As(err, &none) || err.Error() != "no debuginfo found for "+path {
		t.Errorf("without debug file: %v", err)
	}
}

// A name that ends many others, as linkers share the ends of strings.
func TestReferences(t *testing.T) {
	f := &File{sections: sections{info: exe.BytesOf([]byte{9, 0, 0, 0, 7, 0, 0, 0, 0, 7, 0, 0, 0}),
		typeUnits: exe.BytesOf([]byte{1, 7, 0, 0, 0})}}
	for _, offsets := range [][]uint64{{7}, {1, 2, 3, 4, 7}} {
		var got []int
		f.references(offsets, func(at dwarf.Offset) bool { got = append(got, int(at)); return true })
		if diff := cmp.Diff([]int{4, 9, 14}, got); diff != "" {
			t.Errorf("%v (-want +got)\n%s", offsets, diff)
		}
	}
}

// FuzzFile changes bytes of the debug information of a real program: whatever
// they are, looking things up ends.
func FuzzFile(f *testing.F) {
	path := build(f, "cpp.cc", "g++", "-gdwarf-5")
	program, err := os.ReadFile(path)
	if err != nil {
		f.Fatal(err)
	}
	e, err := exe.New(path, program)
	if err != nil {
		f.Fatal(err)
	}
	sym, _ := e.Symbol("_ZN4shop4Cart3addERKNS_4ItemEb")
	f.Add(uint32(100), []byte{1, 2, 3}, uint32(7), []byte{0xff})
	f.Fuzz(func(t *testing.T, at uint32, a []byte, abbrev uint32, b []byte) {
		data := append([]byte(nil), program...)
		e, err := exe.New(path, data)
		if err != nil {
			t.Fatal(err)
		}
		for name, change := range map[string]struct {
			at uint32
			b  []byte
		}{".debug_info": {at, a}, ".debug_abbrev": {abbrev, b}} {
			section := e.Section(name)
			copy(section[int(change.at)%len(section):], change.b)
		}
		d, err := load(e)
		if err != nil {
			return
		}
		if fn, err := d.Function(sym.Addr); err == nil {
			for _, p := range fn.Params {
				if pt, ok := p.Type.(*types.Pointer); ok {
					p.Type = pt.Elem
				}
				if s, ok := p.Type.(*types.Struct); ok {
					s.FieldNames()
				}
			}
		}
		layout(d, "struct", "Cart")
		d.Line("cpp.cc", 20, 0)
		d.Source(sym.Addr + 4)
	})
}
