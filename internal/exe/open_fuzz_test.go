package exe

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/hawktrace/hawk/internal/hawktest/bound"
)

// FuzzOpen opens paths of every make in a directory with files of every kind: none waits, none
// crashes, and a directory, a pipe or a loop is no file.
func FuzzOpen(f *testing.F) {
	dir := f.TempDir()
	self, err := os.Executable()
	if err != nil {
		f.Fatal(err)
	}
	for name, to := range map[string]string{"elf": self, "loop": "loop", "null": "/dev/null", "deep": "sub/../elf"} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			f.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "sub"), 0o755); err != nil {
		f.Fatal(err)
	}
	if err := unix.Mkfifo(filepath.Join(dir, "pipe"), 0o666); err != nil {
		f.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "text"), []byte("#!/bin/sh\n"), 0o755); err != nil {
		f.Fatal(err)
	}
	for _, path := range []string{"", "elf", "loop", "null", "deep", "sub", "pipe", "text",
		"elf!/member", "text!/", "sub/!/x", "pipe!/lib/x.so", "./elf",
		"elf/", "elf/.", strings.Repeat("x", 300), "a\x00b"} {
		f.Add(path)
	}
	f.Fuzz(func(t *testing.T, path string) {
		if strings.Contains(path, "..") {
			return // out of the directory
		}
		bound.Run(t, len(path), func() {
			path := filepath.Join(dir, path) // without "/." at its end
			file, err := Open(path)
			if err != nil {
				if err.Error() == "" {
					t.Error("an error without words")
				}
				return
			}
			defer file.Close()
			if base := filepath.Base(path); base != "elf" && base != "deep" {
				t.Errorf("%q is taken for a program", path)
			}
		})
	})
}
