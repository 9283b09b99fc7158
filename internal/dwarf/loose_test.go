package dwarf

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/hawktrace/hawk/internal/types"
)

// open counts the descriptors of this process that refer to a file.
func open(t *testing.T, path string) (n int) {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if to, _ := os.Readlink("/proc/self/fd/" + e.Name()); to == path {
			n++
		}
	}
	return n
}

// A file that nobody closes stays open as long as a type of it is there, which reads its
// members when it is asked for them, and no longer.
func TestOpenLoose(t *testing.T) {
	path, err := filepath.EvalSymlinks(build(t, "c.c", "gcc", "-g", "-static"))
	if err != nil {
		t.Fatal(err)
	}
	someStruct := func() *types.Struct {
		f, err := OpenLoose(path, "")
		if err != nil {
			t.Fatal(err)
		}
		found, err := f.TypeByName("struct", "conn", 0)
		if err != nil {
			t.Fatal(err)
		}
		return found.(*types.Struct)
	}
	s := someStruct()
	for range 3 {
		runtime.GC()
		time.Sleep(10 * time.Millisecond)
	}
	if n := open(t, path); n != 1 {
		t.Fatalf("%d descriptors while a type is there, want 1", n)
	}
	if len(s.Fields()) == 0 {
		t.Error("the type has no members")
	}
	s = nil
	for range 500 {
		runtime.GC()
		if open(t, path) == 0 {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("%d descriptors of the file, and nothing refers to it", open(t, path))
}
