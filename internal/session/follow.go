package session

import (
	"fmt"
	"runtime"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hawktrace/hawk/internal/builtin"
	"github.com/hawktrace/hawk/internal/errno"
	"github.com/hawktrace/hawk/internal/object"
	"github.com/hawktrace/hawk/internal/output"
	"github.com/hawktrace/hawk/internal/probe"
	"github.com/hawktrace/hawk/internal/session/ring"
	"github.com/hawktrace/hawk/internal/source"
	"github.com/hawktrace/hawk/internal/symbolize"
	"github.com/hawktrace/hawk/internal/types"
	"github.com/hawktrace/hawk/internal/unwind"
)

// changed has tables for unwinding be ready before a process is sampled.
func (s *session) changed(pid int, maps []symbolize.Mapping) {
	if !s.seesOthers() && !s.family.mayHave(pid) {
		return // it is not sampled
	}
	parts := make([]unwind.Mapped, len(maps))
	for i, m := range maps {
		parts[i] = unwind.Mapped(m)
	}
	s.unwind.Follow(pid, parts)
}

// leftOut says what was given up of what processes have, to stay within bounds:
// it explains names that are missing.
func (s *session) leftOut() {
	warn := func(n int, one, more, format string) {
		if n > 0 {
			s.Emit(output.Message{Severity: source.Warning, Text: fmt.Sprintf(format, counted(n, one, more))})
		}
	}
	files := func(n int, format string) { warn(n, "file", "files", format) }
	if user := s.symbols.known(); user != nil {
		left := user.LeftOut()
		files(left.Lost, "The symbols of %s were forgotten to make room for others, and cannot be read again: "+
			"addresses there have no names.")
		warn(left.JIT, "process", "processes",
			"What %s wrote of generated code was forgotten to make room for others.")
		files(left.Late, "The symbols of %s were not there in time: addresses there have no names. "+
			"What they are read from is too slow.")
	}
	if s.unwind != nil {
		files(s.unwind.Dropped(), "The unwinding tables of %s were dropped to make room for others, and made "+
			"again where they were needed: stacks of that moment may be cut short.")
		files(s.unwind.Refused(), "The kernel had no memory for the unwinding tables of %s: stacks through "+
			"that code may be cut short.")
		files(s.unwind.Late(), "The unwinding tables of %s were not there in time: stacks through that code "+
			"may be cut short. What they are read from is too slow.")
	}
}

// counted is a number of things.
func counted(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, more)
}

// programs lists the files that user probes are in.
func (s *session) programs() []string {
	var paths []string
	for _, p := range s.Object.Programs {
		for _, pt := range p.Group.Points {
			if pt.Kind.Has&probe.HasUserAddrs != 0 && pt.Later == probe.Here && !slices.Contains(paths, pt.Target) {
				paths = append(paths, pt.Target)
			}
		}
	}
	return paths
}

// follow begins to record what processes map, if the script shows names of
// user addresses and may run long enough for a process to end before that.
func (s *session) follow() {
	if s.o.Config.CacheUserSymbols == forgetful || !s.waits() || s.o.DryRun ||
		!s.showsUserSymbols() && s.unwind == nil {
		return
	}
	cpus, err := s.o.Probe.Machine.OnlineCPUs()
	if err == nil {
		u := s.userSymbols()
		if s.unwind != nil {
			u.Changed, u.Most = s.changed, object.UnwindMost
		}
		err = u.Watch(cpus, s.seesAll())
	}
	if err != nil {
		// Processes that live long enough are still found.
		if s.o.Verbose {
			fmt.Fprintf(s.o.Stderr, "Cannot follow what processes map: %s\n", errno.Message(err))
		}
		s.remember()
		return
	}
	s.follows = true
	if pid := s.target(); pid > 0 {
		s.userSymbols().Remember(pid)
	}
	// Tables for unwinding are needed before the first sample, names when they are printed.
	if s.unwind != nil && s.hurry() {
		return
	}
	for _, fd := range s.userSymbols().Descriptors() {
		if s.sleeper != nil {
			// Without it the recorder is read at every tick.
			ring.WatchFD(s.sleeper.Set, fd)
		}
	}
}

// hurry has a thread of its own take in at once what processes map, before
// most other work of the machine: what is sampled of a process before that is
// incomplete. It reports whether there is such a thread, which calm ends.
func (s *session) hurry() bool {
	stop, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return false
	}
	fds := []unix.PollFd{{Fd: int32(stop), Events: unix.POLLIN}}
	for _, fd := range s.userSymbols().Descriptors() {
		fds = append(fds, unix.PollFd{Fd: int32(fd), Events: unix.POLLIN})
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		// Never unlocked: the thread, which has a priority of its own, ends with the goroutine.
		runtime.LockOSThread()
		// If we may. More, a place before all others, could hold up the traced machine while the
		// table of a large program is made.
		unix.Setpriority(unix.PRIO_PROCESS, unix.Gettid(), -20)
		for fds[0].Revents == 0 {
			if _, err := unix.Poll(fds, -1); err != nil && err != unix.EINTR {
				return
			}
			s.userSymbols().Update()
			nap(breath)
		}
	}()
	s.calm = func() {
		unix.Write(stop, []byte{1, 0, 0, 0, 0, 0, 0, 0})
		<-ended
		unix.Close(stop)
	}
	return true
}

// breath is how long that thread lets others go on, whatever happens; more will
// have come by then.
const breath = 100 * time.Microsecond

// remember has the symbolizer learn the mappings of the traced process while
// it lives, where it cannot follow all.
func (s *session) remember() {
	if pid := s.target(); pid > 0 && !s.follows && s.o.Config.CacheUserSymbols != forgetful && s.showsUserSymbols() {
		s.userSymbols().Remember(pid)
	}
}

// target is the process of -p or -c, 0 if there is none.
func (s *session) target() int {
	if c := s.o.Child; c != nil {
		return c.PID()
	}
	return s.o.PID
}

// seesAll reports whether programs see other processes than the one traced.
func (s *session) seesAll() bool { return s.o.Probe.PID == 0 || s.o.Probe.Follow || s.seesOthers() }

// seesOthers reports whether programs see processes that are not to be traced: those that test
// for it themselves do so for -p and for tools alone.
func (s *session) seesOthers() bool {
	for _, p := range s.Object.Programs {
		if !s.o.Probe.PIDFilter && p.Group.Points[0].Kind.Has&probe.HasPID != 0 {
			return true
		}
	}
	return false
}

// showsUserSymbols reports whether printing what the script collects takes the
// symbols of processes.
func (s *session) showsUserSymbols() bool {
	for _, ev := range s.Object.Events {
		for _, a := range ev.Args {
			if hasUserSymbol(a.Type) {
				return true
			}
		}
	}
	for _, m := range s.Object.Scripts {
		if m.Key != nil && hasUserSymbol(m.Key) || hasUserSymbol(m.Value) {
			return true
		}
	}
	return false
}

// hasUserSymbol reports whether values of a type are shown by symbols of processes.
func hasUserSymbol(t types.Type) bool {
	switch t := t.(type) {
	case *types.Stack:
		return t.User && t.Mode != types.StackRaw
	case *types.Deferred:
		return builtin.RendererOf(t).UserSymbols
	case *types.Tuple:
		return anyHasUserSymbol(t.Elems)
	case *types.Record:
		return anyHasUserSymbol(t.Elems)
	case *types.Array:
		return hasUserSymbol(t.Elem)
	}
	return false
}

// anyHasUserSymbol is hasUserSymbol for several types.
func anyHasUserSymbol(ts []types.Type) bool {
	for _, t := range ts {
		if hasUserSymbol(t) {
			return true
		}
	}
	return false
}
