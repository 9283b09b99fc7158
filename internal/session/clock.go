package session

import (
	"bufio"
	"io"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hawktrace/hawk/internal/foreign"
	"github.com/hawktrace/hawk/internal/object"
)

// clocks relates the clocks of programs to the wall clock.
type clocks struct{ boot time.Time }

// clockNanos reads a clock, in nanoseconds; 0 if the kernel does not have it.
func clockNanos(id int32) int64 {
	var ts unix.Timespec
	if unix.ClockGettime(id, &ts) != nil {
		return 0
	}
	return ts.Nano()
}

// between is what to add to the boot clock for another clock. The other clock
// is read between two readings of the boot clock, a few times, and the closest
// pair counts.
func between(id int32) int64 {
	// The reading may be interrupted between two clocks for any time.
	var best, offset int64 = 1 << 62, 0
	for range 3 {
		before := clockNanos(unix.CLOCK_BOOTTIME)
		other := clockNanos(id)
		after := clockNanos(unix.CLOCK_BOOTTIME)
		if d := after - before; d < best {
			best, offset = d, other-(before+after)/2
		}
	}
	return offset
}

// startClocks tells programs when tracing began.
func (s *session) startClocks() {
	atomic.StoreUint64(s.word(object.DataTAI), uint64(between(unix.CLOCK_TAI)))
	atomic.StoreUint64(s.word(object.DataStart), uint64(clockNanos(unix.CLOCK_BOOTTIME)))
}

// BootTime is the wall-clock time of the boot clock's zero.
func (c *clocks) BootTime() time.Time {
	if c.boot.IsZero() {
		c.boot = time.Unix(0, between(unix.CLOCK_REALTIME))
	}
	return c.boot
}

// Now is the wall-clock time.
func (c *clocks) Now() time.Time { return time.Now() }

// users names user IDs by /etc/passwd, read when first needed.
type users struct{ names map[uint64]string }

// Username names a user, by number if there is no name.
func (u *users) Username(uid uint64) string {
	if u.names == nil {
		u.names = readPasswd("/etc/passwd")
	}
	if name, ok := u.names[uid]; ok {
		return name
	}
	return strconv.FormatUint(uid, 10)
}

// hosts names addresses by /etc/hosts, read when first needed, and by what was learned.
type hosts struct {
	mu      sync.Mutex // who reads maps asks beside the reader of events, which learns
	known   map[string]string
	learned map[string]string
	order   []string // addresses that were learned, a ring once it is full
	oldest  int      // in order
}

// maxHosts bounds how many addresses have names, in either map.
const maxHosts = 10_000

// Hostname is the first name of an address.
func (h *hosts) Hostname(addr string) (name string, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.known == nil {
		h.known = readHosts("/etc/hosts")
	}
	if name, ok = h.known[addr]; !ok {
		name, ok = h.learned[addr]
	}
	return name, ok
}

// Learn gives an address a name. The one that was learned first makes room.
func (h *hosts) Learn(addr, name string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.learned == nil {
		h.learned = map[string]string{}
	}
	if _, again := h.learned[addr]; !again {
		if len(h.order) < maxHosts {
			h.order = append(h.order, addr)
		} else {
			delete(h.learned, h.order[h.oldest])
			h.order[h.oldest] = addr
			h.oldest = (h.oldest + 1) % maxHosts
		}
	}
	h.learned[addr] = name
}

// readHosts reads a file like /etc/hosts; of several lines about an address the first counts.
func readHosts(path string) map[string]string {
	names := map[string]string{}
	f, err := foreign.Open(path) // no FIFO, which could be waited for
	if err != nil {
		return names
	}
	defer f.Close()
	for sc := bufio.NewScanner(io.LimitReader(f, 1<<20)); sc.Scan() && len(names) < maxHosts; {
		line, _, _ := strings.Cut(sc.Text(), "#")
		fields := strings.Fields(line)
		if len(fields) < 2 {
			continue
		}
		if addr, err := netip.ParseAddr(fields[0]); err == nil {
			if text := addr.Unmap().String(); names[text] == "" {
				names[text] = fields[1]
			}
		}
	}
	return names
}

// readPasswd reads a file like /etc/passwd; of several names of a number the first counts, as for
// getpwuid(3).
func readPasswd(path string) map[uint64]string {
	names := map[uint64]string{}
	f, err := os.Open(path)
	if err != nil {
		return names
	}
	defer f.Close()
	for sc := bufio.NewScanner(f); sc.Scan(); {
		fields := strings.SplitN(sc.Text(), ":", 4)
		if len(fields) < 4 {
			continue
		}
		uid, err := strconv.ParseUint(fields[2], 10, 32)
		if err != nil {
			continue
		}
		if _, taken := names[uid]; !taken {
			names[uid] = fields[0]
		}
	}
	return names
}
