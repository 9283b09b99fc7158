package symbolize

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/hawktrace/hawk/internal/exe"
)

// No more than so much debug information is open at once, and what was closed is opened again.
func TestInfos(t *testing.T) {
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip("no gcc")
	}
	dir := t.TempDir()
	src, program := filepath.Join(dir, "a.c"), filepath.Join(dir, "a")
	if err := os.WriteFile(src, []byte("int one(void)\n{\n\treturn 1;\n}\nint main(void)\n{\n\treturn "+
		"one() - 1;\n}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if text, err := exec.Command("gcc", "-g", "-gz", "-o", program, src).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	e, err := exe.Open(program)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	sym, _ := e.Symbol("one")
	var s infos
	defer s.close()
	files := make([]info, maxInfos+3)
	for range 2 {
		for i := range files {
			got, ok := s.at(&files[i], e, "", sym.Addr+4, func(name string) string { return name })
			if !ok || got.At.File != src || got.At.Line != 3 || len(got.Inlined) != 0 {
				t.Fatalf("file %d: %+v, %v", i, got, ok)
			}
			if files[i].lines.Unfolded() == 0 {
				t.Fatal("nothing was unfolded")
			}
		}
		if len(s.open) != maxInfos || s.open[maxInfos-1] != &files[len(files)-1] || files[0].lines != nil ||
			files[0].known != nil {
			t.Fatalf("%d are open", len(s.open))
		}
	}
	if _, ok := s.at(&files[0], e, "", 1, nil); ok {
		t.Error("address 1 has a line")
	}
}
