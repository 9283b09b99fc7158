package unwind

import (
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hawktrace/hawk/internal/proc"
)

// A file that hangs keeps neither other tables from being made nor Close from returning, and what
// comes of it afterwards touches no map.
func TestAside(t *testing.T) {
	u := New(Maps{Spaces: -1, Chunks: -1, Asked: -1, Files: -1})
	u.credit = 0 // nobody wants to wait for the test
	answers, again := make(chan bool), make(chan bool, maxErrands)
	hang := func() { <-answers }
	if err := u.aside(func() { again <- true }, hang); err != errLate {
		t.Fatalf("a file that hangs: %v", err)
	}
	if n := u.Late(); n != 1 {
		t.Errorf("%d files are late", n)
	}
	if err := u.aside(func() { again <- true }, func() {}); err != nil {
		t.Errorf("a file behind one that hangs: %v", err)
	}
	for range maxErrands - 1 {
		go u.aside(func() { again <- true }, hang)
	}
	for u.mu.Lock(); u.errands < maxErrands; u.mu.Lock() {
		u.mu.Unlock()
		time.Sleep(time.Millisecond)
	}
	u.mu.Unlock()
	if err := u.aside(nil, func() { t.Error("more than may hang") }); err != errLate {
		t.Error(err)
	}
	u.Close()
	close(answers)
	<-again // the first one, whose table is made now if anybody still wants it
	if err := u.aside(nil, func() { t.Error("work after the end") }); err != errLate {
		t.Error(err)
	}
	if err := u.remove(-2, nil); err != unix.EBADF {
		t.Error(err)
	}
}

// Close does not wait for a goroutine that hangs in the kernel.
func TestCloseHanging(t *testing.T) {
	u := New(Maps{Spaces: -1, Chunks: -1, Asked: -1, Files: -1})
	u.mu.Lock()
	u.working = true // and will be
	u.mu.Unlock()
	u.Close()
	if err := u.update(-1, nil, nil); err != unix.EBADF {
		t.Error(err)
	}
}

// A file that was read too late is not read again.
func TestReady(t *testing.T) {
	u := New(Maps{Spaces: -1, Chunks: -1, Asked: -1, Files: -1})
	defer u.Close()
	id := fileID{ino: 7}
	late := &reading{build: [20]byte{1}}
	u.ready[id] = late
	if r, err := u.read("/nosuch", id, nil, nil); r != late || err != nil {
		t.Error(r, err)
	}
	if r, err := u.read("/nosuch", id, nil, nil); r != nil || err == nil {
		t.Error(r, err)
	}
}

// TestNarrowVDSO: 32-bit programs have a vDSO of their own, which must not stand for that of others.
func TestNarrowVDSO(t *testing.T) {
	u := New(Maps{Spaces: -1, Chunks: -1, Asked: -1, Files: -1})
	defer u.Close()
	theirs := &file{}
	u.files[vdsoID], u.vdsoFile = theirs, theirs
	for start, want := range map[uint64]*file{0xf7fc6000: nil, 0x7ffff7fc6000: theirs} {
		if f, _ := u.mapped(os.Getpid(), &proc.Mapping{Start: start, End: start + 8192, Path: vdsoPath}); f != want {
			t.Errorf("the vDSO at 0x%x has the table %p, want %p", start, f, want)
		}
	}
	u.files, u.vdsoFile = nil, nil
}
