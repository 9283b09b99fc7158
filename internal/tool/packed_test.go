package tool

import (
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hawktrace/hawk/internal/pack"
)

var update = flag.Bool("update", false, "pack the scripts of tools/ anew")

// scripts is where the tools are written.
const scripts = "../../tools"

// commonLines is common.txt, which the binary has packed.
func commonLines(t *testing.T) string {
	text, err := os.ReadFile("common.txt")
	if err != nil {
		t.Fatal(err)
	}
	if string(text) == common() {
		return common()
	}
	if !*update {
		t.Error("common.txt is not what the binary has: run go generate ./internal/tool")
		return common()
	}
	data, err := pack.Pack(text)
	if err == nil {
		err = os.WriteFile("common.txt.z", data, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestPacked fails when a script has changed, or is new, and what lies in the binary is
// not made of it: run go generate ./internal/tool.
func TestPacked(t *testing.T) {
	like := commonLines(t)
	wanted := map[string]bool{}
	err := filepath.WalkDir(scripts, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(file, ".bt") {
			return err
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(scripts, strings.TrimSuffix(file, ".bt")+suffix)
		if err != nil {
			return err
		}
		wanted[name] = true
		if have, err := unpacked(filepath.ToSlash(name)); err == nil && have == string(text) && like == common() {
			return nil
		}
		if !*update {
			t.Errorf("%s is not what the binary has: run go generate ./internal/tool", file)
			return nil
		}
		data, err := pack.PackLike(text, like)
		if err != nil {
			return err
		}
		path := filepath.Join(packedDir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		return os.WriteFile(path, data, 0o644)
	})
	if err != nil {
		t.Fatal(err)
	}
	err = filepath.WalkDir(packedDir, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(packedDir, file)
		switch {
		case err != nil || wanted[name]:
			return err
		case *update:
			return os.Remove(file)
		}
		t.Errorf("%s is of no script: run go generate ./internal/tool", name)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
