package internal_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestMakeCheck runs the layout check where there is no git and standard input is a pipe that nobody writes to:
// a list of files that comes out empty would make gofmt wait for it, or check nothing.
func TestMakeCheck(t *testing.T) {
	dir := t.TempDir()
	makefile, err := os.ReadFile("../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("Makefile", string(makefile))
	write("go.mod", "module m\n")
	write("odd.go", "package m\nvar  x=1\n")
	bin := filepath.Join(dir, "bin")
	if err := os.Mkdir(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"sh", "gofmt", "nproc"} {
		path, err := exec.LookPath(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(path, filepath.Join(bin, name)); err != nil {
			t.Fatal(err)
		}
	}
	maker, err := exec.LookPath("make")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, maker, "check")
	cmd.Dir, cmd.Env = dir, []string{"PATH=" + bin}
	in, silent, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	defer in.Close()
	cmd.Stdin = in
	out, err := cmd.CombinedOutput()
	if err == nil || ctx.Err() != nil || !strings.Contains(string(out), "not gofmt'ed:\nodd.go\n") {
		t.Errorf("make check: %v, %v\n%s", err, ctx.Err(), out)
	}
}
