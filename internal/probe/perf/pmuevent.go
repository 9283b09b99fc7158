package perf

import (
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/hawktrace/hawk/internal/probe"
)

// Events of caches and of the processor's own numbering, by the names that
// perf(1) has for them.

// pmuCount is how many occurrences make a hit unless the script says so.
const pmuCount = 1000000

// caches are in the order of the kernel's numbers (enum perf_hw_cache_id), with
// the accesses that make sense there.
var caches = [...]struct {
	name     string
	accesses int // of cacheAccesses, from the first
	prefetch bool
}{
	{"L1-dcache", 2, true},
	{"L1-icache", 1, true},
	{"LLC", 2, true},
	{"dTLB", 2, true},
	{"iTLB", 1, false},
	{"branch", 1, false},
	{"node", 2, true},
}

// cacheAccesses are in the order of enum perf_hw_cache_op_id: what perf calls
// all of them, and those that miss.
var cacheAccesses = [...]struct{ all, misses string }{
	{"loads", "load-misses"}, {"stores", "store-misses"}, {"prefetches", "prefetch-misses"},
}

// cacheEvents makes the events of caches.
func cacheEvents() []probe.PerfEvent {
	var out []probe.PerfEvent
	for id, c := range caches {
		for op, a := range cacheAccesses {
			// The numbers of accesses have gaps: an instruction cache is read and prefetched, not
			// written.
			if op >= c.accesses && !(op == unix.PERF_COUNT_HW_CACHE_OP_PREFETCH && c.prefetch) {
				continue
			}
			// The layout is cache, access and result, a byte each (perf_event_open(2)).
			config := uint64(id | op<<8)
			all := probe.PerfEvent{Name: c.name + "-" + a.all, Count: pmuCount, Type: unix.PERF_TYPE_HW_CACHE,
				Config: config | unix.PERF_COUNT_HW_CACHE_RESULT_ACCESS<<16}
			misses := all
			misses.Name, misses.Config = c.name+"-"+a.misses, config|unix.PERF_COUNT_HW_CACHE_RESULT_MISS<<16
			out = append(out, all, misses)
		}
	}
	return out
}

// rawEvent reads r and the hexadecimal number of an event: on Intel's
// processors unit mask and event, r01c0.
func rawEvent(name string) (probe.PerfEvent, bool) {
	digits, ok := strings.CutPrefix(name, "r")
	config, err := strconv.ParseUint(digits, 16, 64)
	if !ok || err != nil {
		return probe.PerfEvent{}, false
	}
	return probe.PerfEvent{Name: name, Config: config, Count: pmuCount, Type: unix.PERF_TYPE_RAW}, true
}

// cutSource splits an event of a source, "cpu/event=0xc0/".
func cutSource(name string) (source, terms string, ok bool) {
	source, terms, ok = strings.Cut(name, "/")
	terms, closed := strings.CutSuffix(terms, "/")
	return source, terms, ok && closed
}

// sourceEvent asks the machine what the terms of an event are, by the kernel's own description:
// which bits of which of the three words of configuration they set.
func sourceEvent(source, terms string, o *probe.Options) (probe.PerfEvent, error) {
	e, err := o.Machine.PMUEvent(source, terms)
	return probe.PerfEvent{Name: source + "/" + terms + "/", Type: e.Type, Config: e.Config[0],
		Config12: [2]uint64(e.Config[1:]), Count: pmuCount, CPUs: e.CPUs}, err
}
