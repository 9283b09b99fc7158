package dwarf

import (
	"debug/dwarf"
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hawktrace/hawk/internal/hawktest/bound"
)

// buildSplit compiles two source files to a program in a directory of its own,
// each with its debug information in a file beside the object.
func buildSplit(t testing.TB, args ...string) string {
	t.Helper()
	dir := t.TempDir()
	sources, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
	run := func(argv ...string) {
		t.Helper()
		cmd := exec.Command(argv[0], argv[1:]...)
		cmd.Dir = dir
		if text, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%q: %v\n%s", argv, err, text)
		}
	}
	for _, name := range []string{"c", "other"} {
		run(append([]string{"gcc", "-gsplit-dwarf", "-c", "-o", name + ".o",
			filepath.Join(sources, name+".c")}, args...)...)
	}
	run("gcc", "-o", "program", "c.o", "other.o")
	return filepath.Join(dir, "program")
}

// Units in files of their own, in one file for all of them, and somewhere else
// than where the compiler wrote them.
func TestSplit(t *testing.T) {
	for _, args := range [][]string{{"-gdwarf-4"}, {"-gdwarf-5"},
		{"-gdwarf-4", "-fdebug-types-section"}, {"-gdwarf-5", "-fdebug-types-section"},
		{"-gdwarf-5", "-ffunction-sections", "-O2"}} {
		t.Run(strings.Join(args, ""), func(t *testing.T) {
			path := buildSplit(t, args...)
			ownTypes := !slices.Contains(args, "-fdebug-types-section")
			t.Run("dwo", func(t *testing.T) { checkSplit(t, path, ownTypes) })
			t.Run("dwp", func(t *testing.T) {
				tool := "dwp" // of binutils, which does not know DWARF 5
				if args[0] == "-gdwarf-5" {
					tool = "llvm-dwp"
				}
				if _, err := exec.LookPath(tool); err != nil {
					t.Skip("no " + tool)
				}
				cmd := exec.Command(tool, "-e", path, "-o", path+".dwp")
				cmd.Dir = filepath.Dir(path)
				if text, err := cmd.CombinedOutput(); err != nil {
					t.Fatalf("%v\n%s", err, text)
				}
				for _, name := range []string{"c.dwo", "other.dwo"} {
					if err := os.Rename(filepath.Join(filepath.Dir(path), name),
						filepath.Join(filepath.Dir(path), name+".away")); err != nil {
						t.Fatal(err)
					}
				}
				checkSplit(t, path, ownTypes)
			})
		})
	}
}

// ownTypes says that each source file's types are in its own unit.
func checkSplit(t *testing.T, path string, ownTypes bool) {
	f, e := open1(t, path)
	for symbol, want := range map[string]string{
		"addpt":  "addpt: struct pt* p [struct pt * 8]; int k [int32 4]; const char* msg [int8 * 8] → int",
		"second": "second: struct own* o [struct own * 8]; struct pt p [struct pt 3] → int",
	} {
		if got := signature(f, e, symbol); got != want {
			t.Errorf("%s\n got %s\nwant %s", symbol, got, want)
		}
	}
	if diff := cmp.Diff([]string{"struct own 16", "0 wide int64", "8 text string[8]"},
		layout(f, "struct", "own")); diff != "" {
		t.Errorf("struct own (-want +got)\n%s", diff)
	}
	if !ownTypes {
		return
	}
	// A name that two types have means the one of the probe's own source file.
	for symbol, size := range map[string]int{"addpt": 8, "second": 3} {
		sym, _ := e.Symbol(symbol)
		if pt, err := f.TypeByName("struct", "pt", sym.Addr); err != nil || pt.Size() != size {
			t.Errorf("struct pt near %s: %v, %v, want %d bytes", symbol, pt, err, size)
		}
	}
	if enum, v, err := f.Enumerator("GREEN", 0); err != nil || v != 5 || enum.Name != "color" {
		t.Errorf("GREEN: %v, %d, %v", enum, v, err)
	}
	sym, _ := e.Symbol("second")
	if addr, err := f.Line("other.c", 13, 0); err != nil || addr < sym.Addr || addr > sym.Addr+sym.Size {
		t.Errorf("other.c:13: %#x, %v, want %#x", addr, err, sym.Addr)
	}
}

// Without the files lines are known, functions not, and the error says why.
func TestSplitMissing(t *testing.T) {
	for _, version := range []string{"-gdwarf-4", "-gdwarf-5"} {
		path := buildSplit(t, version)
		if err := os.Remove(filepath.Join(filepath.Dir(path), "other.dwo")); err != nil {
			t.Fatal(err)
		}
		f, e := open1(t, path)
		sym, _ := e.Symbol("second")
		var missing *ErrSplit
		if _, err := f.Function(sym.Addr); !errors.As(err, &missing) || missing.Name != "other.dwo" ||
			!errors.Is(err, fs.ErrNotExist) {
			t.Errorf("second: %v", err)
		} else if want := "the debug information of " + path + " is in other.dwo, which cannot be read: no such " +
			"file or directory"; err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
		if addr, err := f.Line("other.c", 13, 0); err != nil || addr < sym.Addr {
			t.Errorf("other.c:13: %#x, %v", addr, err)
		}
		if got := signature(f, e, "addpt"); !strings.HasPrefix(got, "addpt: struct pt* p") {
			t.Errorf("addpt: %s", got)
		}
		// A file of another build is not taken for the right one.
		other := buildSplit(t, version, "-Dsecond=third")
		if err := os.Rename(filepath.Join(filepath.Dir(other), "other.dwo"),
			filepath.Join(filepath.Dir(path), "other.dwo")); err != nil {
			t.Fatal(err)
		}
		g, _ := open1(t, path)
		if _, err := g.Function(sym.Addr); err == nil ||
			!strings.HasSuffix(err.Error(), "other.dwo, which cannot be read: it is of another build") {
			t.Errorf("of another build: %v", err)
		}
	}
}

// FuzzIndex reads indices of .dwp files that nobody has checked.
func FuzzIndex(f *testing.F) {
	f.Add([]byte{5, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 1, 0, 0, 0, 1,
		0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0})
	f.Add([]byte{2, 0, 0, 0, 255, 255, 255, 255, 255, 255, 255, 255, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, data []byte) {
		bound.Run(t, len(data), func() {
			u := &unit{known: &unitBases{}}
			(&File{}).readIndex(data, map[dwarf.Offset]*unit{0: u})
		})
	})
}

// An index that is all count and no rows takes no time.
func TestIndexOfNothing(t *testing.T) {
	f := &File{}
	var index []byte
	for _, n := range []uint32{5, 0, 0xffffffff, 0} { // version, columns, units, slots
		index = binary.LittleEndian.AppendUint32(index, n)
	}
	if f.readIndex(index, map[dwarf.Offset]*unit{0: {known: &unitBases{}}}) {
		t.Error("it is taken for one")
	}
}
