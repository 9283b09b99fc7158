package strace

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/hawktrace/hawk/internal/order"
)

// A call that waits is shown when it has waited for that long, in nanoseconds, unless it is shown at
// once: lines stay whole that would else be cut in two by those of other threads.
const holds = 50e6

const sigKill, sigStop = 9, 19 // SIGSTOP, and behind it those that terminals stop by

// A waiting is the call of a thread that has not returned.
type waiting struct {
	now      *Call // nil: none is known
	begun    bool  // its line has been begun
	column   int   // how long what of it was shown is
	restarts *Call // one that the kernel would begin anew, if nothing ends the thread
}

// waits notes that a call waits. A call that was begun and never ended, since its record was
// lost, is forgotten.
func (s *Sink) waits(th *thread, c *Call) {
	if th.begun {
		s.forget(th)
	}
	th.now = c
	if s.o.NoHold {
		s.showBegin(th)
		return
	}
	s.held = append(s.held, th)
}

// overdue shows the calls that have waited for long at a moment. It is asked with the time of
// each record, and when there are none by Idle.
func (s *Sink) overdue(now int64) {
	for i := 0; i < len(s.held); {
		switch th := s.held[i]; {
		case th.restarts != nil && th.restarts.Exit+holds <= now:
			s.returned(th, th.restarts)
		case th.restarts == nil && th.now.Enter+holds <= now:
			s.held = slices.Delete(s.held, i, i+1)
			s.showBegin(th)
		default:
			i++
		}
	}
}

// showBegin shows what is known of a call before it returns, and leaves the line open. What the
// call will write is cut off, and comes with its result.
func (s *Sink) showBegin(th *thread) {
	c := th.now
	th.nr = c.Nr
	if !s.o.whole() {
		return
	}
	s.begin(th.tid, c.Enter)
	c.mem, c.noted = th.mem, &th.noted
	s.head(c)
	s.decode(c)
	s.b = s.b[:s.mark]
	th.begun, th.column, s.open = true, len(s.b), th
	s.write()
}

// cut ends a line that is open. The words are strace's, so that scripts that join lines work.
func (s *Sink) cut() {
	if s.open != nil {
		s.open = nil
		s.b = append(s.b[:0], " <unfinished ...>"...)
		s.line()
	}
}

// returned shows a call that returned, with the signals around it. A call that waits here by
// another name or time is one whose return was lost.
func (s *Sink) returned(th *thread, c *Call) {
	if th.now != nil && (th.now.Enter != 0 && th.now.Enter != c.Enter || th.now.Nr != c.Nr) {
		s.forget(th)
	}
	if !th.begun {
		s.due(th, c.Enter)
	}
	s.call(th, c)
	s.due(th, c.Exit)
	s.forget(th)
	th.mem, th.data, th.noted = th.mem[:0], th.data[:0], noted{}
}

// forget ends the account of a call.
func (s *Sink) forget(th *thread) {
	if s.open == th {
		s.cut()
	}
	if th.now != nil || th.restarts != nil {
		s.held = slices.DeleteFunc(s.held, func(h *thread) bool { return h == th })
	}
	th.waiting = waiting{}
}

// restart holds a call back that the kernel would begin anew: if its thread ends before, nobody
// has seen the result.
func (s *Sink) restart(th *thread, c *Call) {
	th.restarts = c
	// The bytes of the record are the reader's.
	for i := range th.mem {
		th.mem[i].data = bytes.Clone(th.mem[i].data)
	}
	if !slices.Contains(s.held, th) {
		s.held = append(s.held, th)
	}
}

// endless shows the call that a thread ended in: after SIGKILL, or the end of the whole process,
// no call returns to the program. Where a signal ends the process, the thread that took it has
// seen its call interrupted.
func (s *Sink) endless(th *thread, code, pid int) {
	if c := th.restarts; c != nil {
		sig := code & 0x7f
		c.Unfinished = sig == 0 || sig == sigKill || th.tid != pid && !slices.ContainsFunc(th.fatal,
			func(g signal) bool { return g.number() == sig })
		s.returned(th, c)
	}
	s.forget(th)
}

// underWay notes which calls of a process wait when tracing begins. The kernel tells of a thread
// that waits the number, the six arguments, the stack pointer and the place.
func (s *Sink) underWay() {
	if s.o.Summary == "summary-only" {
		return
	}
	for _, tid := range s.o.Threads {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/syscall", tid))
		// The line is "running" for a thread that is in no call, and -1 in front says that it
		// waits in none.
		words := strings.Fields(string(text))
		if err != nil || len(words) < 9 {
			continue // it runs, or waits in no call
		}
		c := &Call{TID: tid}
		for i, word := range words[:7] {
			n, err := strconv.ParseUint(word, 0, 64)
			if err != nil {
				break
			}
			if i == 0 {
				c.Nr = int(n)
			} else {
				c.Args[i-1] = n
			}
		}
		of := s.decoder.call(c.Nr)
		if !s.o.Traced(of.name, of.classes) {
			continue
		}
		th := s.thread(tid)
		th.now, th.mem = c, given(c, of)
		s.showBegin(th)
	}
}

// held marks, in the last byte of what /proc/PID/pagemap says of a page, one that is in memory or was
// swapped out of it; see Documentation/admin-guide/mm/pagemap.rst of the kernel.
const held = 0xc0

// given reads what the arguments of a call that waits point to, but for what it will write. The
// script was not there when the call began, and so has copied nothing of it. A page at most is
// read, so that a wrong address costs little.
func given(c *Call, of *call) (m memory) {
	mem, err := os.Open(fmt.Sprintf("/proc/%d/mem", c.TID))
	if err != nil {
		return nil
	}
	defer mem.Close()
	pages, err := os.Open(fmt.Sprintf("/proc/%d/pagemap", c.TID))
	if err != nil {
		return nil
	}
	defer pages.Close()
	size := uint64(os.Getpagesize())
	for i, v := range c.Args {
		kind := ""
		if a := min(i, len(of.args)-1); a >= 0 {
			if of.args[a].out || atReturn[of.args[a].kind] {
				continue
			}
			kind = of.args[a].kind
		}
		// These are no addresses of user space.
		if kind == "ioctl" || v < 4096 || v>>63 != 0 {
			continue
		}
		// The kernel would wait for what it has to read from a file system, and some never answer.
		var page [8]byte
		if _, err := pages.ReadAt(page[:], int64(v/size*8)); err != nil || page[7]&held == 0 {
			continue
		}
		data := make([]byte, size-v%size)
		if n, _ := mem.ReadAt(data, int64(v)); n > 0 {
			m = append(m, chunk{addr: v, data: data[:n], early: true})
		}
	}
	return m
}

// detached ends the lines of calls that still wait when tracing ends. strace says the same of
// calls when it is interrupted.
func (s *Sink) detached() {
	for _, th := range slices.Clone(s.held) {
		if th.restarts != nil {
			s.returned(th, th.restarts)
			continue
		}
		s.showBegin(th)
		s.leave()
	}
	s.leave()
}

func (s *Sink) leave() {
	if s.open != nil {
		s.open = nil
		s.b = append(s.b[:0], " <detached ...>"...)
		s.line()
	}
}

// A kept is one of the last lines of a thread (--last), which are written when the thread or the run ends.
type kept struct {
	number, tid int // the number is that among all lines
	text        []byte
}

// keep keeps a line. What a line was begun with is kept as well, and what follows goes behind it.
func (s *Sink) keep() {
	lines := s.kept[s.writing]
	if n := len(lines); n > 0 && !bytes.HasSuffix(lines[n-1].text, []byte("\n")) {
		lines[n-1].text = append(lines[n-1].text, s.b...)
		return
	}
	if len(lines) >= s.o.Last {
		lines = slices.Delete(lines, 0, 1)
	}
	s.lines++
	if s.kept == nil {
		s.kept = map[int][]kept{}
	}
	s.kept[s.writing] = append(lines, kept{s.lines, s.writing, bytes.Clone(s.b)})
}

// release writes the lines that are kept of some threads, in the order in which they came.
func (s *Sink) release(of func(tid int) bool) {
	var all []kept
	for tid, lines := range s.kept {
		if of(tid) {
			all = append(all, lines...)
			delete(s.kept, tid)
		}
	}
	order.By(all, func(a, b kept) int { return cmp.Compare(a.number, b.number) })
	for _, line := range all {
		s.writing = line.tid
		s.put(line.text)
	}
}
