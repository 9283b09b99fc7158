package load

import (
	"fmt"
	"math/bits"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/hawktrace/hawk/internal/bpf"
	"github.com/hawktrace/hawk/internal/object"
	"github.com/hawktrace/hawk/internal/types"
)

// spare is from how many bytes on a map is compared with the memory that is available.
const spare = 128 << 20

// taken is how many bytes the kernel allocates for a map when it is created: buckets, and elements that it does not
// allocate later (htab_map_alloc in kernel/bpf/hashtab.c).
func taken(m *object.Map, entries, cpus int) uint64 {
	const bucket, head = 16, 48 // struct bucket, struct htab_elem
	// The kernel rounds keys and values up to words, each by itself.
	element := head + types.RoundUp(m.KeySize, 8)
	switch m.Type {
	case bpf.Hash, bpf.LRUHash:
		element += types.RoundUp(m.ValueSize, 8)
	case bpf.PerCPUHash, bpf.LRUCPUHash:
		element += 8 + cpus*types.RoundUp(m.ValueSize, 8)
	default:
		return 0
	}
	if m.Flags&unix.BPF_F_NO_PREALLOC != 0 {
		element = 0
	}
	return uint64(entries)*uint64(element) + bucket<<bits.Len(uint(entries-1))
}

// room is an error if a map would take the memory that all others of the machine need: the kernel gives it, and
// ends processes for want of it then. A quarter of what is available is left to them.
func room(m *object.Map, entries, cpus int) error {
	need := taken(m, entries, cpus)
	if need < spare {
		return nil
	}
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return nil // nobody knows, and the kernel may refuse
	}
	return fits(need, string(text))
}

// fits compares with what is available by the text of meminfo, which counts in units of 1,024 bytes.
func fits(need uint64, meminfo string) error {
	const unit = 1024
	_, rest, _ := strings.Cut(meminfo, "MemAvailable:")
	rest, _, _ = strings.Cut(rest, "kB")
	available, err := strconv.ParseUint(strings.TrimSpace(rest), 10, 64)
	if err != nil || need/unit <= available/4*3 {
		return nil
	}
	return fmt.Errorf("%w: it would take %d MB of the %d MB that are available", unix.ENOMEM, need>>20,
		available*unit>>20)
}
