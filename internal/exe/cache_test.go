package exe

import (
	"os"
	"path/filepath"
	"testing"
)

// TestCache: a file is read once until it is written to, replaced or forgotten.
func TestCache(t *testing.T) {
	data, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "program")
	write := func(name string) {
		t.Helper()
		if err := os.WriteFile(name, data, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write(path)
	var c Cache
	open := func() *File {
		t.Helper()
		f, err := c.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	first := open()
	first.Close()
	again, other := open(), open()
	if again != first || other != first {
		t.Error("an unchanged file is opened anew")
	}
	c.Forget()
	if first.Section(".text") == nil {
		t.Error("a file in use is forgotten")
	}
	write(path + ".new")
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
	replaced := open()
	if replaced == first {
		t.Error("a replaced file is not opened anew")
	}
	for _, f := range []*File{again, other, replaced} {
		f.Close()
	}
	data = append(data, 0)
	write(path)
	if written := open(); written == replaced {
		t.Error("a file that was written to is not opened anew")
	} else {
		written.Close()
	}
	if c.Forget(); len(c.kept) != 0 {
		t.Errorf("%d files are kept", len(c.kept))
	}
	if _, err := c.Open(path + ".none"); !os.IsNotExist(err) {
		t.Errorf("open of no file: %v", err)
	}
}

// TestCacheBound: files that nobody uses do not pile up.
func TestCacheBound(t *testing.T) {
	var c Cache
	dir := t.TempDir()
	data, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	data = data[:64]                                    // the header
	copy(data[32:48], make([]byte, 16))                 // no tables
	data[56], data[57], data[60], data[61] = 0, 0, 0, 0 // of no entries
	for i := range maxIdle + 5 {
		path := filepath.Join(dir, string(rune('a'+i)))
		if err := os.WriteFile(path, data, 0o755); err != nil {
			t.Fatal(err)
		}
		f, err := c.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		f.Close()
	}
	if len(c.kept) != maxIdle {
		t.Errorf("%d files are kept, want %d", len(c.kept), maxIdle)
	}
}

// TestSymbolByName: what the table of names says is what a scan says.
func TestSymbolByName(t *testing.T) {
	f, err := Open("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	byName := f.symbolsByName()
	names := 0
	for _, s := range f.Functions(nil) {
		if names++; names%1000 != 0 {
			continue
		}
		f.lookups.Store(0)
		if want, _ := f.Symbol(s.Name); byName[s.Name] != want {
			t.Errorf("%s: %+v by name, %+v by a scan", s.Name, byName[s.Name], want)
		}
	}
	if names == 0 {
		t.Error("no functions")
	}
}

// TestVariableByName: what the table says is what a scan says, and few names are scanned for.
func TestVariableByName(t *testing.T) {
	f, err := Open("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	names := 0
	var some []string
	for r := range f.Symbols() {
		if names++; names%2000 == 0 {
			some = append(some, string(r.Name))
		}
	}
	if len(some) == 0 {
		t.Fatal("no symbols")
	}
	for _, name := range append(some, "no such variable") {
		f.variables.Store(0)
		want, there := f.Variable(name)
		f.variables.Store(scannedFor)
		if got, ok := f.Variable(name); got != want || ok != there {
			t.Errorf("%s: %+v %v by name, %+v %v by a scan", name, got, ok, want, there)
		}
	}
	if got := f.memo.find(variablesByName); got == nil {
		t.Error("each name is scanned for")
	}
}
