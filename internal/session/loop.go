package session

import (
	"encoding/binary"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hawktrace/hawk/internal/errno"
	"github.com/hawktrace/hawk/internal/object"
	"github.com/hawktrace/hawk/internal/probe"
	"github.com/hawktrace/hawk/internal/session/ring"
	"github.com/hawktrace/hawk/internal/source"
)

const (
	readMost  = 4096                   // records between two looks at everything else
	poll      = 500 * time.Microsecond // between looks at an empty ring while it is drained
	pollsIdle = 5                      // looks at an empty ring before the reader sleeps
	tick      = 100 * time.Millisecond // how often counters and processes are looked at
	rest      = time.Second            // the same while nothing happens
)

// loop has another goroutine read, which is not bound to a thread and waits
// without being seen, and does what has to be done in the main thread meanwhile.
func (s *session) loop() {
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.read()
	}()
	for {
		select {
		case job := <-s.inMain:
			job()
		case <-done:
			return
		}
	}
}

// read reads records and acts on them until the run is over. While records flow it polls the ring
// and programs do not wake it; when none come it sets the bell in the data map and sleeps, and the
// next program that sends something clears the bell and wakes it.
func (s *session) read() {
	bell := s.word(object.DataBell)
	idle := pollsIdle // nothing has come yet
	next := time.Now().Add(tick)
	var own feedback
	for !s.over() {
		n := s.readRing(readMost) + s.readPackets()
		own.round(s, n, n == 0 && idle > 1)
		s.runSelf()
		if now := time.Now(); !now.Before(next) {
			s.failing.report(s, false)
			s.remember()
			s.announceHot(now)
			if s.unwind != nil {
				s.unwind.Sweep()
			}
			next = now.Add(tick)
		}
		s.arrive()
		unread := s.follows && s.userSymbols().Update()
		if n > 0 || unread {
			idle = 0
			atomic.StoreUint64(bell, 0)
			continue
		}
		s.idle()
		if idle++; idle <= pollsIdle {
			s.sleeper.Nap()
			continue
		}
		// The wake-up of a record that was sent while the bell was being set may be missed.
		settled := atomic.SwapUint64(bell, 1) == 1
		switch {
		case s.ring != nil && !s.ring.Empty() || !s.packets.empty():
			s.sleeper.Nap() // a record is being written
		case settled && s.calmly():
			s.sleeper.Sleep(rest)
		default:
			s.sleeper.Sleep(tick)
		}
	}
	atomic.StoreUint64(bell, 0)
	if s.err == nil && s.signals.Load() < 2 {
		s.runSelf() // a signal may have come right before the end
	}
}

// calmly reports whether nothing is to be looked at often that wakes nobody.
func (s *session) calmly() bool {
	return !s.follows && s.arrivals == nil && s.symbols.known() == nil && s.unwind == nil && s.family == nil &&
		(s.pidFD >= 0 || s.o.PID == 0)
}

// over reports whether the run has come to its end.
func (s *session) over() bool {
	switch {
	case s.exited, s.err != nil, s.signals.Load() > 0, s.cancelled.Load(), s.meter.costly.Load():
		return true
	case s.o.Child != nil && s.o.Child.Ended() && s.family.over():
		return true
	case s.o.PID > 0 && s.targetGone() && s.family.over():
		return true
	}
	return s.told()
}

// told reports whether a program called exit(), whose record may have found no room.
func (s *session) told() bool {
	if atomic.LoadUint64(s.word(object.DataExited)) != 0 && (s.ring == nil || s.ring.Empty()) {
		s.status = int(byte(atomic.LoadUint64(s.word(object.DataStatus))))
		return true
	}
	return false
}

// targetGone reports whether the process of -p has ended; its number may be somebody else's by
// then, so that a pidfd is asked where there is one.
func (s *session) targetGone() bool {
	if s.pidFD < 0 {
		return unix.Kill(s.o.PID, 0) == unix.ESRCH
	}
	return ring.ReadyNow(s.pidFD)
}

// runSelf runs the programs of signals that hawk was sent.
func (s *session) runSelf() {
	for n := s.selfSignals.Swap(0); n > 0 && !s.exited; n-- {
		done := make(chan struct{})
		s.inMain <- func() {
			defer close(done)
			if err := s.runAll(probe.OnSignal); err != nil {
				s.Errorf("%s", errno.Message(err))
			}
		}
		<-done
	}
}

// drain acts on everything that is in the ring buffer. Records that a program
// is still writing on another CPU are waited for, though not for long.
func (s *session) drain() {
	for !s.packets.empty() && s.signals.Load() <= 1 {
		s.readPackets()
	}
	if s.ring == nil {
		return
	}
	for polls := 0; !s.ring.Empty() && polls < pollsIdle; {
		if s.signals.Load() > 1 {
			break
		}
		if s.readRing(readMost) == 0 {
			nap(poll)
			polls++
		}
	}
	s.idle()
}

// readRing acts on up to most records and says how many there were.
func (s *session) readRing(most int) int {
	if s.ring == nil {
		return 0
	}
	n, err := s.ring.Read(most, s.dispatch)
	if n > 0 {
		s.received.Add(uint64(n))
	}
	if err != nil && s.err == nil {
		s.err = err
	}
	return n
}

// dispatch acts on one record. After exit() records are dropped, but still
// taken out of the ring, unless they are of an iteration. It returns false to have the loop look around.
func (s *session) dispatch(rec []byte) bool {
	over := s.exited && !s.ending.Load() && !s.walking
	if over || s.err != nil {
		return true
	}
	if len(rec) < 4 {
		return true
	}
	s.act(rec)
	return !s.exited || s.walking
}

// act has the builtin that a record is of handle it.
func (s *session) act(rec []byte) {
	n := binary.NativeEndian.Uint32(rec)
	if int(n) >= len(s.events) {
		return
	}
	if s.watcher != nil {
		s.watcher.acting(rec)
	}
	e := &s.events[n]
	if err := e.handle(s, e.Event, rec); err != nil {
		s.Errorf("%s", errno.Message(err))
	}
	if s.watcher != nil {
		s.watcher.acting(nil)
	}
}

// A script can trace the system calls by which hawk itself reads and prints. Each round of
// the reader then makes the events of the next, for ever. Standing still for a while tells
// that from a machine on which much happens: then nothing comes.

const (
	flowing  = time.Second          // how long records have to come in every round to be suspicious
	standing = 4 * time.Millisecond // of doing nothing; in a loop a round takes one
	proofs   = 3                    // times that nothing comes in a row
	few      = 64                   // records of a round that can be of its own making
)

// A feedback watches for records that the reader itself is the cause of.
type feedback struct {
	since time.Time // when records began to come in every round
	found int       // times that none came while the reader stood still
	said  bool
}

// round is told of each round of the reader how many records there were, and
// whether the round before had none either.
func (f *feedback) round(s *session, n int, idle bool) {
	if f.said || s.ring == nil {
		return
	}
	if idle || n > few {
		f.since, f.found = time.Time{}, 0
		return
	}
	now := time.Now()
	switch {
	case f.since.IsZero():
		f.since = now
	case n == 0 || now.Sub(f.since) < flowing:
	case s.still():
		if f.found++; f.found == proofs {
			f.said = true
			s.Warnf(source.Span{}, "hawk traces itself: what it does to show events makes more of them\n"+
				"HINT: leave it out by a predicate: /comm != %q/", commOfHawk())
		}
	default:
		f.since, f.found = time.Time{}, 0
	}
}

// still stands still, without a call of the kernel, and reports whether
// nothing was sent meanwhile.
func (s *session) still() bool {
	for end := time.Now().Add(standing); time.Now().Before(end); {
		if !s.ring.Empty() {
			return false
		}
	}
	return true
}

// commOfHawk is the name of all its threads.
func commOfHawk() string {
	comm, _ := os.ReadFile("/proc/self/comm")
	return strings.TrimSuffix(string(comm), "\n")
}
