package foreign

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestKinds opens regular files only: a writer that waits for the reader of a FIFO
// goes on waiting.
func TestKinds(t *testing.T) {
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	if err := os.WriteFile(path("file"), []byte("content"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mkfifo(path("fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, to := range map[string]string{"link": "file", "tofifo": "fifo", "todevice": "/dev/ptmx",
		"loop": "loop", "out": "../../../../../../../../dev/null"} {
		if err := os.Symlink(to, path(name)); err != nil {
			t.Fatal(err)
		}
	}
	opened := make(chan struct{})
	go func() {
		if f, err := os.OpenFile(path("fifo"), os.O_WRONLY, 0); err == nil {
			defer f.Close()
			close(opened)
		}
	}()
	for name, want := range map[string]bool{
		"file": true, "link": true, "fifo": false, "tofifo": false, "todevice": false, "out": false,
		"": false, "loop": false, "none": false,
	} {
		for _, root := range []string{"", "/proc/self/root"} {
			f, err := Open(root + path(name))
			if (err == nil) != want {
				t.Errorf("%s%s: %v", root, path(name), err)
			}
			if err == nil {
				if data, err := f.All(7); err != nil || string(data) != "content" {
					t.Errorf("%s: %q, %v", name, data, err)
				}
				if _, err := f.All(3); name == "none" && err == nil {
					t.Errorf("%s: more than it may have", name)
				}
				f.Close()
			}
		}
	}
	if _, err := Read(path("file"), 3); !errors.Is(err, ErrRefused) {
		t.Errorf("more bytes than it may have: %v", err)
	}
	select {
	case <-opened:
		t.Error("the FIFO was opened")
	case <-time.After(50 * time.Millisecond):
	}
	if fd, err := unix.Open(path("fifo"), unix.O_RDONLY|unix.O_NONBLOCK, 0); err == nil { // lets the goroutine end
		<-opened
		unix.Close(fd)
	}
	if err := os.Truncate(path("file"), MaxSize+1); err != nil {
		t.Skip(err) // the file system has no such files
	}
	if _, err := Open(path("file")); !errors.Is(err, ErrRefused) {
		t.Errorf("a file without end: %v", err)
	}
}

// A file that another one names has to belong to whom that belongs to.
func TestOwners(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("files are given to other users by root alone")
	}
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		owner int
		user  uint32
		want  bool
	}{{0, 1000, true}, {1000, 1000, true}, {1001, 1000, false}, {1001, 0, false}} {
		if err := os.Chown(path, c.owner, 0); err != nil {
			t.Fatal(err)
		}
		f, err := OpenOf(path, c.user)
		if (err == nil) != c.want || err != nil && !errors.Is(err, ErrRefused) {
			t.Errorf("a file of %d that one of %d names: %v", c.owner, c.user, err)
		}
		if err == nil {
			f.Close()
		}
	}
}

// Links in the root directory of a process do not lead out of there.
func TestRoot(t *testing.T) {
	for path, want := range map[string][2]string{
		"/proc/12/root/a/b":    {"/proc/12/root", "a/b"},
		"/proc/self/root/a":    {"/proc/self/root", "a"},
		"/proc/12/map_files/a": {}, "/proc/x/root/a": {}, "/proc/self/fd/3": {}, "/a": {}, "/proc//root/a": {},
	} {
		root, rest, ok := inRoot(path)
		if ok != (want[0] != "") || ok && (root != want[0] || rest != want[1]) {
			t.Errorf("%s: %q, %q, %t", path, root, rest, ok)
		}
	}
	if _, err := Open("/proc/self/root/proc/self/fd/0"); err == nil {
		t.Error("a link of /proc was followed")
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/file", filepath.Join(dir, "absolute")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../../../../../../file", filepath.Join(dir, "up")); err != nil {
		t.Fatal(err)
	}
	fd, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	for _, name := range []string{"absolute", "up", "../file"} {
		in, err := referIn(fd, name)
		if err != nil {
			t.Skipf("%s: %v", name, err) // a kernel or sandbox without openat2
		}
		unix.Close(in)
	}
}
