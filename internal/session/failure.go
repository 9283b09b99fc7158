package session

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hawktrace/hawk/internal/bpf"
	"github.com/hawktrace/hawk/internal/errno"
	"github.com/hawktrace/hawk/internal/object"
	"github.com/hawktrace/hawk/internal/output"
	"github.com/hawktrace/hawk/internal/probe"
)

// failures reports what goes wrong inside programs. They count; user space
// looks at the counters now and then, so that a failure in a hot probe costs
// one line a second and not one a hit.
type failures struct {
	places     []place
	lost       uint64 // records, as reported so far
	lostAt     time.Time
	unattached int    // points that could not be attached
	ignored    string // why the last of those could not be that nobody is told of
}

// A place of the script has a site in each copy of its probe: one line tells of
// all of them.
type place struct {
	sites    []*object.Site
	seen     uint64    // failures reported
	reported time.Time // when
}

// reportEvery is how often one place of the script is reported at most.
const reportEvery = time.Second

// init finds the places of the script that can fail.
func (f *failures) init(s *session) {
	at := map[object.Site]int{}
	for _, site := range s.Object.Sites {
		key := *site
		key.Offset, key.Map = 0, 0 // a macro may be of several maps
		n, ok := at[key]
		if !ok {
			n = len(f.places)
			at[key] = n
			f.places = append(f.places, place{})
		}
		f.places[n].sites = append(f.places[n].sites, site)
	}
}

// report emits what is new since the last time, as the count from the beginning;
// last is the final report.
func (f *failures) report(s *session, last bool) {
	now := time.Now()
	for i := range f.places {
		p := &f.places[i]
		if !last && now.Sub(p.reported) < reportEvery {
			continue
		}
		total, failing := uint64(0), p.sites[0]
		for _, site := range p.sites {
			if n := atomic.LoadUint64(s.word(site.Offset)); n > 0 {
				total, failing = total+n, site
			}
		}
		if total == p.seen {
			continue
		}
		// The code is that of the last failure. It may be of a later one than the count, which
		// does not matter.
		code := failureCode(s.word(failing.Offset + 8))
		s.Emit(siteItem(failing, code, total))
		p.seen, p.reported = total, now
	}
	lost := atomic.LoadUint64(s.word(object.DataLost)) + atomic.LoadUint64(s.word(object.DataMissed))
	if lost > f.lost && (last || now.Sub(f.lostAt) >= reportEvery) {
		s.Emit(output.Lost{Events: lost - f.lost})
		f.lost, f.lostAt = lost, now
	}
	if last && lost > 0 {
		s.Emit(output.LostTotal{Events: lost})
	}
	if n := s.finalSkips.Load(); last && n > 0 {
		s.Emit(output.Skipped{Events: n})
	}
	if n := atomic.LoadUint64(s.word(object.DataUnread)); last && n > 0 {
		s.Emit(output.Unread{Strings: n, Entry: s.tracesEntries()})
	}
	s.idle()
}

// failureCode is the last code of a site. Before 6.4 map operations return 32 bits, without sign extension.
func failureCode(word *uint64) int { return int(int32(atomic.LoadUint64(word))) }

// tracesEntries reports whether the script looks at system calls as they begin.
func (s *session) tracesEntries() bool {
	return slices.ContainsFunc(s.Object.Programs, func(p *object.Program) bool {
		return slices.ContainsFunc(p.Group.Points, func(pt *probe.Point) bool {
			return strings.Contains(pt.Name(), ":sys_enter")
		})
	})
}

// siteItem words a failure.
func siteItem(site *object.Site, code int, repeats uint64) output.Item {
	switch site.Kind {
	case object.HelperFailed:
		return output.HelperError{Span: site.At, Msg: helperMessage(site.Helper, code), Helper: site.Helper,
			Code: code, Repeats: repeats, Full: full(site.Helper, code)}
	case object.DivideByZero:
		return output.RuntimeError{Span: site.At, Repeats: repeats,
			Msg: "Divide or modulo by 0 detected. This can lead to unexpected results. 1 is being used as the result."}
	case object.StackFailed:
		msg := "Error reading " + site.Helper + "."
		if code == -int(unix.EEXIST) {
			msg += " The table of stacks has no room for it; try increasing max_map_keys."
		}
		return output.RuntimeError{Span: site.At, Msg: msg, Repeats: repeats}
	case object.IndexOutOfBounds:
		return output.RuntimeError{Span: site.At, Repeats: repeats,
			Msg: "Array index is out of bounds. This can lead to unexpected results. 0 is being used as the result."}
	case object.IndexBeyondEnd:
		return output.RuntimeError{Span: site.At, Repeats: repeats, Msg: "Array access out of bounds. This can " +
			"lead to unexpected results."}
	case object.LoopTooLong:
		return output.RuntimeError{Span: site.At, Repeats: repeats,
			Msg: "The loop was ended: it took more rounds than the kernel grants a program."}
	case object.NoChild:
		return output.RuntimeError{Span: site.At, Repeats: repeats, Msg: site.Helper + " is 0: there is no " +
			"command, which -c would start."}
	case object.NoTask:
		return output.RuntimeError{Span: site.At, Repeats: repeats, Msg: "There is no such process; its name is N/A."}
	case object.NoKfunc:
		return output.RuntimeError{Span: site.At, Repeats: repeats,
			Msg: "The kernel has no function " + site.Helper + ". [unknown] is being used as the result."}
	}
	return output.RuntimeError{Span: site.At, Msg: "An operation failed.", Repeats: repeats}
}

// full is whether a map had no room.
func full(helper string, code int) bool {
	return helper == object.UpdateHelper && code == -int(unix.E2BIG)
}

// helperMessage says what an error of a helper means for the script, in the reference's words where
// it has some.
func helperMessage(helper string, code int) string {
	switch {
	case full(helper, code):
		return "Map full; can't update element. Try increasing max_map_keys config or manually setting the max " +
			"entries in a map declaration e.g. `let @a = hash(5000)`"
	case helper == "map_lookup_elem" && (code == 0 || code == -int(unix.ENOENT)):
		return "Can't lookup map element because it does not exist."
	case helper == "map_delete_elem" && code == -int(unix.ENOENT):
		return "Can't delete map element because it does not exist."
	case (helper == object.UpdateHelper || helper == "map_delete_elem") && bpf.Locked(unix.Errno(-code)):
		verb, _, _ := strings.Cut(strings.TrimPrefix(helper, "map_"), "_")
		return "Can't " + verb + " map element: the kernel was in the middle of a change to the map on this CPU, or " +
			"waited too long for another CPU"
	case helper == "get_ns_current_pid_tgid" && code == -int(unix.EINVAL):
		return "This happened in a process outside of hawk's PID namespace, where pid and tid are 0. pid(init) and " +
			"tid(init) are the machine's numbers; " +
			"a container that is started with --pid=host has those as its own"
	}
	return errno.Text(code)
}

// skips are the events for which the kernel did not run a program of the script. It
// does not start one that is running on the same CPU, which happens where a program is
// interrupted or preempted; since Linux 7.0 another task can come in between at every
// tracepoint. Where a function returns, it has room for so many calls at a time.
// Kernels count both, and say nothing about them unless they are asked.
type skips struct {
	skipMu     sync.Mutex
	skipLinks  []int         // descriptors of links that count too
	skipsFinal bool          // the programs are silent, finalSkips is the number
	finalSkips atomic.Uint64 // those of the whole run
}

// counted notes the links of a program that know what did not reach it.
func (s *session) counted(links []probe.Link) {
	s.skipMu.Lock()
	defer s.skipMu.Unlock()
	for _, l := range links {
		if d, ok := l.(interface{ Descriptors() []int }); ok {
			s.skipLinks = append(s.skipLinks, d.Descriptors()[0])
		}
	}
}

// uncount forgets the links, before they are closed.
func (s *session) uncount() {
	s.skipMu.Lock()
	defer s.skipMu.Unlock()
	s.skipLinks = nil
}

// skipped is how many events were skipped so far. It costs a system call for each
// program that the kernel fires, which is little beside loading it.
func (s *session) skipped() (n uint64) {
	s.skipMu.Lock()
	defer s.skipMu.Unlock()
	if s.skipsFinal {
		return s.finalSkips.Load()
	}
	for i, fd := range s.Programs {
		if trigger(s.Object.Programs[i]) != probe.NotOurs {
			continue
		}
		if m, err := bpf.Measured(fd); err == nil {
			n += m.Skipped
		}
	}
	for _, fd := range s.skipLinks {
		n += bpf.LinkMissed(fd)
	}
	return n
}

// settleSkipped takes the number of the run, as its programs have just been silenced:
// what they are not run for from now on is nobody's loss.
func (s *session) settleSkipped() {
	n := s.skipped()
	s.skipMu.Lock()
	defer s.skipMu.Unlock()
	s.finalSkips.Store(n)
	s.skipsFinal = true
}
