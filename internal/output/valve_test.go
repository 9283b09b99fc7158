package output

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A reader that is slow, but reads, is not taken for one that has stopped,
// however much there is to be written.
func TestValveSlowReader(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	v := NewValve(w)
	text := make([]byte, 1<<20)
	wrote := make(chan error)
	go func() {
		n, err := v.Write(text)
		if err == nil && n != len(text) {
			err = io.ErrShortWrite
		}
		w.Close()
		wrote <- err
	}()
	begun := func(before int64) int64 {
		for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
			if since := v.since.Load(); since != 0 && since != before {
				return since
			}
		}
		t.Fatal("nobody sees that the reader reads")
		return 0
	}
	for since, rounds := begun(0), 0; rounds < 4; rounds++ {
		if _, err := io.ReadFull(r, make([]byte, 8*atATime)); err != nil {
			t.Fatal(err)
		}
		since = begun(since)
	}
	if rest, err := io.ReadAll(r); err != nil || len(rest) != len(text)-4*8*atATime {
		t.Errorf("%d bytes are left, %v", len(rest), err)
	}
	if err := <-wrote; err != nil {
		t.Error(err)
	}
}

// A full buffer goes to a regular file by one write: more of them cost a reader
// of many events its time.
func TestValveWholeBuffers(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "file"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	v := NewValve(f)
	text := make([]byte, 16*maxBuffer)
	before := writes(t)
	if n, err := v.Write(text); n != len(text) || err != nil {
		t.Fatal(n, err)
	}
	if n := writes(t) - before; n > 16+8 { // the runtime makes some of its own
		t.Errorf("%d writes for %d buffers", n, len(text)/maxBuffer)
	}
}

// writes is how many write system calls this process has made.
func writes(t *testing.T) (n int) {
	text, err := os.ReadFile("/proc/self/io")
	if err != nil {
		t.Skip(err)
	}
	_, rest, _ := strings.Cut(string(text), "syscw: ")
	if _, err := fmt.Sscan(rest, &n); err != nil {
		t.Fatal(err)
	}
	return n
}

// Nobody reads what is written to a regular file, which may be slow.
func TestValveRegular(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "file"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	v := NewValve(f)
	if v.since.Store(1); v.Stuck() != 0 {
		t.Error("a regular file waits for a reader")
	}
}
