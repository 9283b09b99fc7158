package session

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/hawktrace/hawk/internal/bpf"
	"github.com/hawktrace/hawk/internal/errno"
	"github.com/hawktrace/hawk/internal/object"
	"github.com/hawktrace/hawk/internal/probe"
	"github.com/hawktrace/hawk/internal/proc"
	"github.com/hawktrace/hawk/internal/session/ring"
	"github.com/hawktrace/hawk/internal/source"
	"github.com/hawktrace/hawk/internal/symbolize"
	"github.com/hawktrace/hawk/internal/value"
)

// arrivals attaches programs to files that traced processes map while the run lasts.
type arrivals struct {
	programs []arriving
	watcher  *symbolize.Watcher
	marks    probe.Marks
	seen     map[fileID]bool       // files that were looked at
	known    map[knownMarks]bool   // those whose marks were found before, by attach point
	came     map[*probe.Point]bool // points that something has come for
	due      map[int]bool          // processes to be looked at; of 0 nobody knows which
	left     int                   // how many marks may still come
	warned   map[string]bool
}

// An arriving is a program that waits for files.
type arriving struct {
	fd int
	of *object.Program
}

// A fileID tells files apart. A name is part of it, since numbers of files are used again.
type fileID struct {
	dev, ino uint64
	name     string
}

// A knownMarks is a file in which an attach point has found its marks before tracing began.
type knownMarks struct {
	at       source.Span
	dev, ino uint64
}

// seenFiles is how many files are remembered. A process that maps more is looked at in full again.
const seenFiles = 1 << 14

// expect begins to wait for files, if some program is for such. What was mapped between matching and now is looked at
// in the first round.
func (s *session) expect() error {
	a := &arrivals{seen: map[fileID]bool{}, known: map[knownMarks]bool{}, came: map[*probe.Point]bool{},
		due: map[int]bool{}, warned: map[string]bool{}, left: int(s.o.Config.MaxProbes)}
	for i, p := range s.Object.Programs {
		if p.Group.Mech().More != nil {
			a.programs = append(a.programs, arriving{s.Programs[i], p})
		}
		for _, pt := range p.Group.Points {
			var st unix.Stat_t
			if pt.Later == probe.Here && pt.Pattern != nil && unix.Stat(pt.Target, &st) == nil {
				a.known[knownMarks{pt.At, st.Dev, st.Ino}] = true
			}
		}
	}
	if a.programs == nil || s.o.DryRun {
		return nil
	}
	a.marks.Write = func(number uint32, list []byte) error {
		return bpf.MapUpdate(s.mapOf(object.MarksRole), word(number), list, 0)
	}
	if s.mapOf(object.MarksRole) < 0 { // no body reads an argument
		a.marks.Write = func(uint32, []byte) error { return nil }
	}
	cpus, err := s.o.Probe.Machine.OnlineCPUs()
	if err == nil {
		a.watcher, err = symbolize.NewWatcher(cpus)
	}
	if err != nil {
		return fmt.Errorf("cannot wait for files that processes map: %w", err)
	}
	s.arrivals = a
	if s.sleeper != nil {
		for _, fd := range a.watcher.Descriptors() {
			ring.WatchFD(s.sleeper.Set, fd)
		}
	}
	a.due[0] = true
	return nil
}

// arrive looks at what processes have mapped since the last call. Without news it takes no system call.
func (s *session) arrive() {
	a := s.arrivals
	if a == nil {
		return
	}
	a.watcher.Read(func(pid int) { a.due[pid] = true })
	if len(a.due) == 0 {
		return
	}
	if a.due[0] {
		delete(a.due, 0)
		a.due[s.target()] = true
		s.family.members(func(tid int) bool {
			a.due[tid] = true
			return true
		})
	}
	for pid := range a.due {
		if pid == s.target() || s.family != nil && s.family.mayHave(pid) {
			s.mapped(pid)
		}
	}
	clear(a.due)
}

// mapped looks at the files that a process has mapped and that nobody has looked at.
func (s *session) mapped(pid int) {
	a := s.arrivals
	files, err := proc.MappedFiles(pid)
	if err != nil {
		return // it has ended
	}
	for i := range files {
		f := &files[i]
		id := fileID{f.Dev, f.Ino, f.Name}
		if !f.Exec || a.seen[id] {
			continue
		}
		if len(a.seen) >= seenFiles {
			clear(a.seen)
		}
		a.seen[id] = true
		s.arrived(pid, f)
	}
}

// arrived attaches what is for a file.
func (s *session) arrived(pid int, f *proc.MappedFile) {
	a := s.arrivals
	var st unix.Stat_t
	if unix.Stat(f.Path, &st) != nil {
		return
	}
	points := 0
	for _, p := range a.programs {
		var came []*probe.Point
		more := probe.More{File: f, Marks: &a.marks, Most: a.left,
			Known: func(pt *probe.Point) bool {
				k := knownMarks{pt.At, st.Dev, st.Ino}
				known := a.known[k]
				a.known[k] = true
				came = append(came, pt)
				return known
			},
			Warn: func(format string, args ...any) { s.warnOnce(fmt.Sprintf(format, args...)) },
		}
		o := *s.o.Probe
		// Those are of the attaching at the start, which is over.
		o.Step, o.Missed = nil, nil
		links, n, err := p.of.Group.Mech().More(p.fd, p.of.Group, &o, &more)
		if err != nil && !errors.Is(err, unix.ESRCH) { // it has ended
			s.warnOnce(errno.Message(err))
		}
		s.entrust(p.of, links)
		a.left -= n
		points += n
		if n > 0 {
			for _, pt := range came {
				a.came[pt] = true
			}
		}
	}
	if points > 0 && s.o.Announce {
		fmt.Fprintf(s.o.Stderr, "Attached %d more: process %d has mapped %s\n", points, pid,
			s.Message(value.Text(f.Name)))
	}
}

// warnOnce says what is wrong with marks that come, once: a process can map a file again and again.
func (s *session) warnOnce(text string) {
	if a := s.arrivals; !a.warned[text] && len(a.warned) < 100 {
		a.warned[text] = true
		s.Warnf(source.Span{}, "%s", text)
	}
}

// neverCame warns of attach points that nothing has come for: perhaps they are misspelt.
func (s *session) neverCame() {
	if s.arrivals == nil {
		return
	}
	for _, p := range s.arrivals.programs {
		for _, pt := range p.of.Group.Points {
			if pt.Later == probe.OnlyLater && !s.arrivals.came[pt] {
				s.Warnf(source.Span{}, "%s: nothing that was traced has such a mark", s.Message(value.Text(pt.Name())))
			}
		}
	}
}
