package load

import (
	"errors"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/hawktrace/hawk/internal/bpf"
	"github.com/hawktrace/hawk/internal/object"
)

// TestRoom: the sizes are those that the kernel says in map_mem_usage, rounded as it does.
func TestRoom(t *testing.T) {
	for _, c := range []struct {
		m             object.Map
		entries, cpus int
		want          uint64
	}{
		{object.Map{Type: bpf.Hash, KeySize: 8, ValueSize: 8}, 4096, 2, 4096 * (64 + 16)},
		{object.Map{Type: bpf.LRUHash, KeySize: 12, ValueSize: 1}, 5000, 2, 5000*72 + 8192*16},
		{object.Map{Type: bpf.PerCPUHash, KeySize: 8, ValueSize: 16}, 1, 4, 56 + 8 + 64 + 16},
		{object.Map{Type: bpf.Hash, KeySize: 8, ValueSize: 8, Flags: unix.BPF_F_NO_PREALLOC}, 4096, 2, 4096 * 16},
		{object.Map{Type: bpf.Array, KeySize: 4, ValueSize: 1 << 20}, 4096, 2, 0},
	} {
		if got := taken(&c.m, c.entries, c.cpus); got != c.want {
			t.Errorf("%v of %d entries: %d bytes, want %d", c.m.Type, c.entries, got, c.want)
		}
	}
	const text = "MemTotal: 9000 kB\nMemFree:        1 kB\nMemAvailable:    4000 kB\n"
	for _, c := range []struct {
		need uint64
		text string
		fits bool
	}{
		{3000 << 10, text, true},
		{3001 << 10, text, false},
		{1 << 60, "MemTotal: 9000 kB\n", true},
		{1 << 60, "", true},
	} {
		err := fits(c.need, c.text)
		if (err == nil) != c.fits || err != nil && !errors.Is(err, unix.ENOMEM) {
			t.Errorf("%d bytes of %q: %v", c.need, c.text, err)
		}
	}
}
