package session

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hawktrace/hawk/internal/object"
	"github.com/hawktrace/hawk/internal/session/child"
	"github.com/hawktrace/hawk/internal/session/ring"
	"github.com/hawktrace/hawk/internal/types"
)

func TestSplitCommand(t *testing.T) {
	for _, c := range []struct {
		in   string
		want []string // nil: an error
	}{
		{"ls -l /tmp", []string{"ls", "-l", "/tmp"}},
		{"  a \t b\n", []string{"a", "b"}},
		{`sh -c "exit 7"`, []string{"sh", "-c", "exit 7"}},
		{`a 'b "c' "d'e" f\ g`, []string{"a", `b "c`, "d'e", "f g"}},
		{`a "" ''`, []string{"a", "", ""}},
		{`a"b"'c'd`, []string{"abcd"}},
		{`a "b\"c" 'd\e'`, []string{"a", `b"c`, `d\e`}},
		{`a "b`, nil},
		{"  ", nil},
	} {
		got, err := child.SplitCommand(c.in)
		if !slices.Equal(got, c.want) || (err == nil) != (c.want != nil) {
			t.Errorf("%q: %q, %v; want %q", c.in, got, err, c.want)
		}
	}
}

func TestReadPasswd(t *testing.T) {
	name := filepath.Join(t.TempDir(), "passwd")
	text := "root:x:0:0:root:/root:/bin/sh\ntoor:x:0:0::/:\nbroken\nx:y:z:0\nann:x:1000:1000::/home/ann:\n"
	if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	u := users{names: readPasswd(name)}
	for uid, want := range map[uint64]string{0: "root", 1000: "ann", 7: "7"} {
		if got := u.Username(uid); got != want {
			t.Errorf("user %d is %q, want %q", uid, got, want)
		}
	}
	if got := readPasswd(name + "x"); len(got) != 0 {
		t.Errorf("a file that does not exist has %v", got)
	}
}

// fakeRing is a ring in ordinary memory with a producer.
type fakeRing struct {
	*ring.Ring
	cons, prod uint64
}

func newFakeRing(size int) *fakeRing {
	f := &fakeRing{}
	f.Ring = &ring.Ring{Consumer: &f.cons, Producer: &f.prod, Data: make([]byte, 2*size), Size: uint64(size),
		Mapped: 2 * uint64(size)}
	return f
}

// put writes a record; both copies of the buffer change, as in the kernel.
func (f *fakeRing) put(flags uint32, payload string) {
	rec := binary.NativeEndian.AppendUint32(nil, uint32(len(payload))|flags)
	rec = append(append(rec, 0, 0, 0, 0), payload...)
	for i, b := range rec {
		at := (f.prod + uint64(i)) & (f.Size - 1)
		f.Data[at], f.Data[at+f.Size] = b, b
	}
	f.prod += uint64(len(rec)+7) &^ 7
}

func (f *fakeRing) drain(most int) []string {
	var out []string
	f.Read(most, func(rec []byte) bool {
		out = append(out, string(rec))
		return true
	})
	return out
}

func TestRing(t *testing.T) {
	f := newFakeRing(64)
	if !f.Empty() || f.drain(10) != nil {
		t.Fatal("a new ring is not empty")
	}
	f.put(0, "one")
	f.put(ring.Discard, "given up")
	f.put(0, "three")
	if got := f.drain(1); !slices.Equal(got, []string{"one"}) {
		t.Errorf("first %q", got)
	}
	if got := f.drain(10); !slices.Equal(got, []string{"three"}) || f.cons != f.prod {
		t.Errorf("then %q, consumer %d, producer %d", got, f.cons, f.prod)
	}
	// Records that wrap around the end, many times.
	for i := range 100 {
		text := strings.Repeat("x", i%40)
		f.put(0, text)
		if got := f.drain(10); !slices.Equal(got, []string{text}) {
			t.Fatalf("round %d: %q", i, got)
		}
	}
	f.put(0, "done")
	f.put(ring.Busy, "being written")
	if got := f.drain(10); !slices.Equal(got, []string{"done"}) || f.Empty() {
		t.Errorf("before a busy record: %q, empty: %v", got, f.Empty())
	}
}

func TestRingStopsWhenTold(t *testing.T) {
	f := newFakeRing(64)
	f.put(0, "a")
	f.put(0, "b")
	if n, _ := f.Read(10, func([]byte) bool { return false }); n != 1 || f.cons != 16 {
		t.Errorf("%d records, consumer %d; want one", n, f.cons)
	}
}

func TestBytesOf(t *testing.T) {
	rec := make([]byte, 32)
	binary.NativeEndian.PutUint32(rec[8:], 24)
	binary.NativeEndian.PutUint32(rec[12:], 4)
	copy(rec[24:], "tail")
	str := &types.String{Cap: 64}
	for _, c := range []struct {
		name string
		arg  object.Arg
		rec  []byte
		want int // bytes found
	}{
		{"in place", object.Arg{Type: types.Int64, Offset: 8}, rec, 8},
		{"cut", object.Arg{Type: types.Int64, Offset: 28}, rec, 4},
		{"outside", object.Arg{Type: types.Int64, Offset: 99}, rec, 0},
		{"tail", object.Arg{Type: str, Offset: 8, Tail: true}, rec, 4},
		{"tail of a cut record", object.Arg{Type: str, Offset: 8, Tail: true}, rec[:20], 0},
		{"no room for the tail's place", object.Arg{Type: str, Offset: 30, Tail: true}, rec, 0},
		{"nothing", object.Arg{Type: types.Int64, Offset: 8}, nil, 0},
	} {
		at := slot(c.arg)
		if got := at.Bytes(c.rec); len(got) != c.want {
			t.Errorf("%s: %d bytes, want %d", c.name, len(got), c.want)
		}
	}
	binary.NativeEndian.PutUint32(rec[12:], 1<<31)
	tail := slot(object.Arg{Type: str, Offset: 8, Tail: true})
	if got := tail.Bytes(rec); len(got) != 8 {
		t.Errorf("a tail beyond the record has %d bytes, want the 8 that exist", len(got))
	}
}

func TestHelperMessage(t *testing.T) {
	for _, c := range []struct {
		helper string
		code   unix.Errno
		want   string
	}{
		{"map_update_elem", unix.E2BIG, "Map full; can't update element. Try increasing max_map_keys config or " +
			"manually setting the max entries in a map declaration e.g. `let @a = hash(5000)`"},
		{"map_update_elem", unix.ENOMEM, "Cannot allocate memory"},
		{"map_lookup_elem", 0, "Can't lookup map element because it does not exist."},
		{"map_delete_elem", unix.ENOENT, "Can't delete map element because it does not exist."},
		{"probe_read_user", unix.EFAULT, "Bad address"},
	} {
		if got := helperMessage(c.helper, -int(c.code)); got != c.want {
			t.Errorf("%s, %d: %q, want %q", c.helper, c.code, got, c.want)
		}
	}
}

func TestBootTime(t *testing.T) {
	var c clocks
	up := time.Duration(clockNanos(unix.CLOCK_BOOTTIME))
	if d := time.Since(c.BootTime().Add(up)); d < -time.Hour || d > time.Hour {
		t.Errorf("boot time %v plus %v is %v off", c.BootTime(), up, d)
	}
}
