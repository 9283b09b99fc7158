package machine

import (
	"fmt"
	"math/bits"
	"slices"
	"strconv"
	"strings"
)

// Event sources ("PMUs") describe themselves in sysfs: their number, the names
// of their events, and which bits of perf_event_attr the parts of an event are.

const eventSources = "/sys/bus/event_source/devices/"

// A PMUEvent is an event of a source as perf_event_attr has it.
type PMUEvent struct {
	Type   uint32
	Config [3]uint64 // config, config1, config2
	CPUs   []int     // those that the source counts on, nil if all
}

// PMUEvent resolves an event of a source: terms are names of events, or parts
// of one with their values, separated by commas ("event=0xc0,umask=1"). A part
// without a value is 1.
func (t *Machine) PMUEvent(source, terms string) (PMUEvent, error) {
	var e PMUEvent
	typ, err := t.PMUType(source)
	if err != nil || strings.Contains(source, "..") {
		return e, fmt.Errorf("no event source is called '%s' (there are %s)", source,
			strings.Join(t.entries(eventSources), ", "))
	}
	e.Type = typ
	for _, list := range []string{"cpus", "cpumask"} {
		if cpus, err := t.cpuList(eventSources + source + "/" + list); err == nil {
			e.CPUs = cpus
			break
		}
	}
	return e, t.pmuTerms(&e, source, terms, true)
}

// pmuTerms sets the parts of an event. Named events stand for parts, and are
// not looked for in their own descriptions.
func (t *Machine) pmuTerms(e *PMUEvent, source, terms string, named bool) error {
	dir := eventSources + source
	for term := range strings.SplitSeq(terms, ",") {
		name, value, valued := strings.Cut(term, "=")
		if name == "" || strings.Contains(name, "/") || strings.HasPrefix(name, ".") {
			return fmt.Errorf("'%s' is no part of an event of %s", term, source)
		}
		if named && !valued {
			if parts, err := t.read(dir + "/events/" + name); err == nil {
				if err := t.pmuTerms(e, source, strings.TrimSpace(string(parts)), false); err != nil {
					return fmt.Errorf("event %s: %w", name, err)
				}
				continue
			}
		}
		n := uint64(1)
		if valued {
			var err error
			if n, err = strconv.ParseUint(value, 0, 64); err != nil {
				return fmt.Errorf("the value of %s is not a number: %s", name, value)
			}
		}
		format, err := t.read(dir + "/format/" + name)
		where := strings.TrimSpace(string(format))
		switch i := slices.Index(pmuWords[:], name); {
		case err == nil:
		case i >= 0:
			where = name // a word as a whole, as perf has it
		default:
			known := slices.Concat(t.entries(dir+"/events"), t.entries(dir+"/format"), pmuWords[:])
			return fmt.Errorf("%s has no event and no part of one called '%s' (there are %s)", source, name,
				strings.Join(known, ", "))
		}
		if err := e.set(where, n); err != nil {
			return fmt.Errorf("%s of %s: %w", name, source, err)
		}
	}
	return nil
}

// pmuWords are the words of perf_event_attr that events are made of.
var pmuWords = [...]string{"config", "config1", "config2"}

// set puts a value where a format says: "config:0-7,32-35", its low bits first;
// a format without bits is the whole word.
func (e *PMUEvent) set(format string, n uint64) error {
	name, ranges, some := strings.Cut(format, ":")
	word := slices.Index(pmuWords[:], name)
	if word < 0 {
		return fmt.Errorf("hawk does not know the format '%s'", format)
	}
	if !some {
		e.Config[word] = n
		return nil
	}
	positions, err := parseCPUs(ranges) // lists of bits are written as those of CPUs are
	if err != nil || positions[len(positions)-1] > 63 {
		return fmt.Errorf("hawk does not know the format '%s'", format)
	}
	if bits.Len64(n) > len(positions) {
		return fmt.Errorf("%#x does not fit in its %d bits", n, len(positions))
	}
	for i, at := range positions {
		e.Config[word] = e.Config[word]&^(1<<at) | n>>i&1<<at
	}
	return nil
}
