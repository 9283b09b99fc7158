//go:build linux && (amd64 || arm64)

package usdt

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// privateDir is a directory that files of providers may be in.
func privateDir(t testing.TB) string {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// noPlaces lets Load have no other place than those a test names.
func noPlaces(t *testing.T) (tmp string) {
	tmp = filepath.Join(t.TempDir(), "none")
	t.Setenv("TMPDIR", tmp)
	t.Setenv("USDT_DIR", "")
	t.Setenv("XDG_RUNTIME_DIR", "")
	return tmp
}

// loadPlace loads a new provider of one mark, always of the same content.
func loadPlace(t *testing.T, o *LoadOptions) *Provider {
	t.Helper()
	p := New("place")
	NewMark0(p, "m")
	if err := p.Load(o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

func TestOrder(t *testing.T) {
	tmp := noPlaces(t)
	option, variable, session := privateDir(t), privateDir(t), privateDir(t)
	uid := "usdt-" + strconv.Itoa(os.Geteuid())
	if err := os.Mkdir(tmp, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("USDT_DIR", variable)
	t.Setenv("XDG_RUNTIME_DIR", session)
	o := &LoadOptions{Dir: option}
	for _, c := range []struct {
		want string
		then func()
	}{
		{option, func() { o = nil }},
		{variable, func() { os.Chmod(variable, 0o777) }},
		{filepath.Join(session, "usdt"), func() { t.Setenv("XDG_RUNTIME_DIR", filepath.Join(session, "missing")) }},
		{filepath.Join(tmp, uid), func() { t.Setenv("TMPDIR", filepath.Join(tmp, "missing")) }},
		{"/proc/", func() {}},
	} {
		p := loadPlace(t, o)
		if dir, _, _ := strings.Cut(p.Path(), "/place-"); dir != c.want &&
			!(c.want == "/proc/" && strings.HasPrefix(dir, c.want)) {
			t.Errorf("the file is %s, want it in %s", p.Path(), c.want)
		}
		if info, err := os.Stat(p.Path()); err != nil || c.want != "/proc/" && info.Mode() != 0o555 {
			t.Errorf("%s: %v, %v", p.Path(), info.Mode(), err)
		}
		c.then()
	}
}

// TestPlanted: a file that others could have put there is not used.
func TestPlanted(t *testing.T) {
	p := New("place")
	NewMark0(p, "m")
	im, err := newImage(native, "place", p.marks)
	if err != nil {
		t.Fatal(err)
	}
	evil := bytes.Clone(im.bytes)
	evil[im.code.offset] ^= 1
	tests := []struct {
		name  string
		root  bool
		plant func(dir, file string) error
	}{
		{"another content", false, func(dir, file string) error { return os.WriteFile(file, evil, 0o555) }},
		{"more content", false, func(dir, file string) error {
			return os.WriteFile(file, append(bytes.Clone(im.bytes), 0), 0o555)
		}},
		{"less content", false, func(dir, file string) error { return os.WriteFile(file, im.bytes[:100], 0o555) }},
		{"a file that others can write", false, func(dir, file string) error {
			return join(os.WriteFile(file, im.bytes, 0o555), os.Chmod(file, 0o577))
		}},
		{"a link to the right file", false, func(dir, file string) error {
			return join(os.WriteFile(filepath.Join(dir, "right"), im.bytes, 0o555), os.Symlink("right", file))
		}},
		{"a dangling link", false, func(dir, file string) error { return os.Symlink("nothing", file) }},
		{"a directory of that name", false, func(dir, file string) error { return os.Mkdir(file, 0o755) }},
		{"a FIFO", false, func(dir, file string) error { return syscall.Mkfifo(file, 0o644) }},
		{"a directory that others can write", false, func(dir, file string) error { return os.Chmod(dir, 0o775) }},
		{"a link to a directory", false, func(dir, file string) error {
			real := dir + ".real"
			return join(os.Mkdir(real, 0o755), os.Remove(dir), os.Symlink(real, dir))
		}},
		{"no directory", false, func(dir, file string) error { return os.Remove(dir) }},
		{"a file for a directory", false, func(dir, file string) error {
			return join(os.Remove(dir), os.WriteFile(dir, nil, 0o644))
		}},
		{"a directory of another user", true, func(dir, file string) error { return os.Chown(dir, 12345, -1) }},
		{"a file of another user", true, func(dir, file string) error {
			return join(os.WriteFile(file, im.bytes, 0o555), os.Chown(file, 12345, -1))
		}},
	}
	for _, c := range tests {
		t.Run(c.name, func(t *testing.T) {
			if c.root && os.Geteuid() != 0 {
				t.Skip("not root")
			}
			noPlaces(t)
			dir := privateDir(t)
			file := filepath.Join(dir, im.name())
			if err := c.plant(dir, file); err != nil {
				t.Fatal(err)
			}
			p := loadPlace(t, &LoadOptions{Dir: dir})
			if !strings.HasPrefix(p.Path(), "/proc/") {
				t.Errorf("%s is mapped", p.Path())
			}
			maps, err := os.ReadFile("/proc/self/maps")
			if err != nil || strings.Contains(string(maps), dir) {
				t.Errorf("something of %s is mapped: %v", dir, err)
			}
			if c.name == "a dangling link" {
				if _, err := os.Stat(filepath.Join(dir, "nothing")); err == nil {
					t.Error("a file was made at the other end of a link")
				}
			}
		})
	}
}

func join(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// Many at once end up with one file, and nothing else in the directory.
func TestTogether(t *testing.T) {
	noPlaces(t)
	dir := privateDir(t)
	paths := make([]string, 16)
	var all sync.WaitGroup
	for i := range paths {
		all.Go(func() {
			p := New("together")
			NewMark0(p, "m")
			if err := p.Load(&LoadOptions{Dir: dir}); err != nil {
				t.Error(err)
			}
			paths[i] = p.Path()
			t.Cleanup(func() { p.Close() })
		})
	}
	all.Wait()
	for _, p := range paths {
		if p != paths[0] {
			t.Errorf("%s and %s", p, paths[0])
		}
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("the directory has %v, %v", entries, err)
	}
}

// Old files that nobody has mapped go, all others stay.
func TestTidy(t *testing.T) {
	noPlaces(t)
	t.Setenv("XDG_RUNTIME_DIR", privateDir(t))
	old := time.Now().Add(-25 * time.Hour)
	used := New("used")
	NewMark0(used, "m")
	if err := used.Load(nil); err != nil {
		t.Fatal(err)
	}
	defer used.Close()
	dir := filepath.Dir(used.Path())
	if filepath.Dir(dir) != os.Getenv("XDG_RUNTIME_DIR") {
		t.Fatalf("the file is %s", used.Path())
	}
	stay := []string{filepath.Base(used.Path()), "notes.txt", "lib-1.so", "young-0123456789ab.so"}
	gone := []string{"unused-0123456789ab.so", ".unused-0123456789ab.so.12.34"}
	for _, name := range append(stay[1:], gone...) {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o555); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range append(stay[:3:3], gone...) {
		if err := os.Chtimes(filepath.Join(dir, name), old, old); err != nil {
			t.Fatal(err)
		}
	}
	busy := loadPlace(t, nil) // at once after the first
	busy.Close()
	for _, name := range gone {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Errorf("%s: each of many providers tidies", name)
		}
	}
	clear(registry.tidied) // an hour later
	next := loadPlace(t, nil)
	for _, name := range append(stay, filepath.Base(next.Path())) {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Errorf("%s is gone", name)
		}
	}
	for _, name := range gone {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			t.Errorf("%s is still there", name)
		}
	}
}

// Tidy removes what nobody has mapped, and says what.
func TestTidyAsked(t *testing.T) {
	noPlaces(t)
	t.Setenv("XDG_RUNTIME_DIR", privateDir(t))
	t.Setenv("TMPDIR", privateDir(t))
	if removed, err := Tidy(); removed != nil || err != nil {
		t.Errorf("without directories: %q, %v", removed, err)
	}
	used := loadPlace(t, nil)
	dir := filepath.Dir(used.Path())
	old := time.Now().Add(-25 * time.Hour)
	unused := filepath.Join(dir, "unused-0123456789ab.so")
	if err := os.WriteFile(unused, nil, 0o555); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{unused, used.Path()} {
		if err := os.Chtimes(path, old, old); err != nil {
			t.Fatal(err)
		}
	}
	if removed, err := Tidy(); !slices.Equal(removed, []string{unused}) || err != nil {
		t.Errorf("%q, %v; want %q", removed, err, unused)
	}
	if _, err := os.Stat(used.Path()); err != nil {
		t.Error(err)
	}
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := Tidy(); !errors.Is(err, errWritable) {
		t.Errorf("a directory of others: %v", err)
	}
}
