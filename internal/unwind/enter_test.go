package unwind

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/hawktrace/hawk/internal/bpf"
	"github.com/hawktrace/hawk/internal/exe"
	"github.com/hawktrace/hawk/internal/object"
)

// TestRefused has the kernel take one piece of a table and refuse the next: nobody may believe
// then that frame pointers do where they do not.
func TestRefused(t *testing.T) {
	const self = "/proc/self/exe"
	e, err := exe.Open(self)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	table, err := NewTable(e)
	if err != nil || table == nil {
		t.Skipf("this program has no table: %v", err)
	}
	if chunks, _ := table.chunks(1); len(chunks) < 2 {
		t.Skip("the table of this program has one piece")
	}
	for _, most := range []int{1, object.UnwindMaxChunks} {
		m := Maps{Spaces: create(t, 4, object.UnwindSpace, 16), Chunks: create(t, 4, object.UnwindChunk, most),
			Asked: create(t, 4, 8, 16), Files: create(t, object.UnwindFileKey, object.UnwindFile, 64)}
		u := New(m)
		pid := os.Getpid()
		u.Expect(self)
		u.Ask(pid)
		u.Wait()
		want := 0
		if most == 1 {
			want = 1
		}
		var st unix.Stat_t
		if err := unix.Stat(self, &st); err != nil {
			t.Fatal(err)
		}
		f := make([]byte, object.UnwindFile)
		if err := bpf.MapLookup(m.Files, fileName(&st), f); err != nil {
			t.Fatal(err)
		}
		bare := binary.NativeEndian.Uint32(f[object.UnwindFileBare:]) != 0
		index := binary.NativeEndian.Uint32(f[object.UnwindFileIndex:])
		space := make([]byte, object.UnwindSpace)
		if err := bpf.MapLookup(m.Spaces, key(pid), space); err != nil {
			t.Fatal(err)
		}
		state := int(binary.NativeEndian.Uint32(space[object.UnwindState:]))
		u.Close()
		if got := u.Refused(); got < want || want == 0 && got > 0 {
			t.Errorf("with room for %d: the tables of %d files were refused", most, got)
		}
		if refused := most == 1; refused && (!bare || index != 0 || state != object.UnwindReady) {
			t.Errorf("refused: bare %t, chunk %d, state %d", bare, index, state)
		} else if !refused && index == 0 {
			t.Error("the table is not there")
		}
	}
}

// create makes a map like those of the programs.
func create(t *testing.T, key, value, most int) int {
	fd, err := bpf.MapCreate(bpf.MapSpec{Name: "hawk_test", Type: bpf.Hash, KeySize: key, ValueSize: value,
		MaxEntries: most, Flags: bpf.NoPrealloc})
	if err != nil {
		t.Skipf("maps cannot be made: %v", err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	return fd
}

// TestStartOver drops all tables: programs keep rules by the numbers of chunks, so that no other
// file may get these.
func TestStartOver(t *testing.T) {
	const self = "/proc/self/exe"
	m := Maps{Spaces: create(t, 4, object.UnwindSpace, 16),
		Chunks: create(t, 4, object.UnwindChunk, object.UnwindMaxChunks),
		Asked:  create(t, 4, 8, 16), Files: create(t, object.UnwindFileKey, object.UnwindFile, 64)}
	var st unix.Stat_t
	if err := unix.Stat(self, &st); err != nil {
		t.Fatal(err)
	}
	u := New(m)
	defer u.Close()
	chunk := make([]byte, object.UnwindChunk)
	last := uint32(0)
	for range 3 {
		u.Expect(self)
		u.Wait()
		f := make([]byte, object.UnwindFile)
		if err := bpf.MapLookup(m.Files, fileName(&st), f); err != nil {
			t.Fatal(err)
		}
		index := binary.NativeEndian.Uint32(f[object.UnwindFileIndex:])
		if index <= last {
			t.Fatalf("the first chunk is %d, after %d", index, last)
		}
		if err := bpf.MapLookup(m.Chunks, key(int(index)), chunk); err != nil {
			t.Errorf("chunk %d: %v", index, err)
		}
		last = u.next - 1
		u.startOver()
		for n := index; n <= last; n++ {
			if err := bpf.MapLookup(m.Chunks, key(int(n)), chunk); err == nil {
				t.Errorf("chunk %d is still there", n)
			}
		}
	}
}

// TestReclaim has programs come and go without end: what the kernel holds of their tables stays
// level, and a process that stays has its own.
func TestReclaim(t *testing.T) {
	program, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	m := Maps{Spaces: create(t, 4, object.UnwindSpace, object.UnwindMaxSpaces),
		Chunks: create(t, 4, object.UnwindChunk, object.UnwindMaxChunks),
		Asked:  create(t, 4, 8, 16), Files: create(t, object.UnwindFileKey, object.UnwindFile, 512)}
	u := New(m)
	defer u.Close()
	pid := os.Getpid()
	u.Ask(pid)
	u.Wait()
	own := u.referred()
	if len(own) < 2 {
		t.Skip("this program has no table")
	}
	most, dir := 0, t.TempDir()
	for i := range 120 {
		name := filepath.Join(dir, strconv.Itoa(i))
		if err := os.WriteFile(name, program, 0o700); err != nil {
			t.Fatal(err)
		}
		u.mu.Lock()
		u.named = append(u.named, wanted{paths: []string{name}, key: uint64(i + 1)})
		u.start()
		u.mu.Unlock()
		u.Wait()
		os.Remove(name)
		most = max(most, u.held)
	}
	if each := u.held / len(u.files); most > 2*fewChunks+4*each {
		t.Errorf("as many as %d chunks were held, of %d", most, u.next)
	}
	there := 0
	chunk := make([]byte, object.UnwindChunk)
	for n := range u.next {
		if bpf.MapLookup(m.Chunks, key(int(n)), chunk) == nil {
			there++
		}
	}
	if there != u.held {
		t.Errorf("%d chunks are there, and %d in the books", there, u.held)
	}
	for index := range own {
		if index != 0 && bpf.MapLookup(m.Chunks, key(int(index)), chunk) != nil {
			t.Errorf("chunk %d is gone, which this process needs", index)
		}
	}
	if u.Dropped() > 0 {
		t.Errorf("the tables of %d files were dropped", u.Dropped())
	}
}
