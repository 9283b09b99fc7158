package unwind

import (
	"errors"
	"runtime"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hawktrace/hawk/internal/bpf"
	"github.com/hawktrace/hawk/internal/exe"
	"github.com/hawktrace/hawk/internal/proc"
)

// Reading a file takes as long as its owner likes: a file system can be a program or a machine
// that does not answer. So a goroutine reads it aside, and the one that makes tables waits for it
// only for a while. Tables that come later are used later.

// Bounds of what is read aside, and of the time that is spent waiting for it. Time in which it
// computes does not count: large programs have large tables.
const (
	maxErrands = 64                     // at work, so that some may hang for good
	maxReady   = 8                      // files that were read too late
	patience   = 3 * time.Second        // for one, and for everything at the end
	credit     = 10 * time.Second       // for all, beyond
	least      = 100 * time.Millisecond // for each
	startup    = time.Minute            // for all that is known to be needed at the start
)

var (
	errLate   = errors.New("the file is not there in time")
	errNoCode = errors.New("there is no code")
)

// aside has a goroutine do what may hang, and waits for it. The work does not look at u. If it
// takes too long, the error is errLate, and again is called when it has ended after all.
func (u *Unwinder) aside(again func(), work func()) error {
	u.mu.Lock()
	if u.closed || u.errands >= maxErrands {
		u.mu.Unlock()
		return errLate
	}
	u.errands++
	limit := min(patience, max(u.credit, least))
	u.mu.Unlock()
	done := make(chan struct{})
	ended, left := false, false // of mu
	var thread atomic.Int32
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		thread.Store(int32(unix.Gettid()))
		work()
		u.mu.Lock()
		u.errands--
		ended = true
		wanted := left
		if left {
			u.hanging--
		}
		u.mu.Unlock()
		close(done)
		if wanted {
			again()
		}
	}()
	idle := time.Duration(0)
	timer := time.NewTimer(least / 2)
	defer timer.Stop()
	since, used := time.Now(), time.Duration(0)
wait:
	for idle < limit {
		select {
		case <-done:
			break wait
		case <-u.quit:
			break wait
		case <-timer.C:
			now, busy := time.Now(), threadTime(thread.Load())
			idle += max(0, now.Sub(since)-(busy-used))
			since, used = now, busy
			timer.Reset(least / 2)
		}
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.credit -= idle
	if ended {
		return nil
	}
	left = true
	u.hanging++
	return errLate
}

// threadTime is how long a thread of this process has computed; 0 if there is none.
func threadTime(tid int32) time.Duration {
	const ofThread = 4 | 2 // CPUCLOCK_PERTHREAD_MASK, CPUCLOCK_SCHED
	var t unix.Timespec
	if tid == 0 || unix.ClockGettime(^tid<<3|ofThread, &t) != nil {
		return 0
	}
	return time.Duration(t.Nano())
}

// An answer is written aside, maybe after whoever asked has left: nobody reads it then.
type answer[T any] struct {
	of  T
	err error
}

// stat is what a file system says of a file.
func (u *Unwinder) stat(path string, again func()) (st unix.Stat_t, err error) {
	a := new(answer[unix.Stat_t])
	if late := u.aside(again, func() { a.err = unix.Stat(path, &a.of) }); late != nil {
		return st, late
	}
	return a.of, a.err
}

// A reading is what a file says.
type reading struct {
	build [20]byte
	bias  uint64 // of all executable code,
	plain bool   // if it is the same
	table *Table // nil: it has none
}

// read reads a file that may be anybody's. build is the ID of the build that is wanted, cut or padded
// to 20 bytes; nil: any is. Of another one there is no table.
func (u *Unwinder) read(path string, id fileID, build []byte, again func()) (*reading, error) {
	u.mu.Lock()
	r := u.ready[id]
	delete(u.ready, id)
	u.mu.Unlock()
	if r != nil {
		return r, nil
	}
	a := new(answer[*reading])
	keep := func() {
		u.mu.Lock()
		if len(u.ready) >= maxReady { // nobody has come for them
			clear(u.ready)
		}
		if a.of != nil && a.of.is(build) {
			u.ready[id] = a.of
		}
		u.mu.Unlock()
		again()
	}
	return opened(u, path, a, keep, func(e *exe.File) (*reading, error) { return readingOf(e, build), nil })
}

// opened is what is said of a file that may be anybody's, in a: errLate if that is not known yet,
// and then is called when it is.
func opened[T any](u *Unwinder, path string, a *answer[T], then func(), say func(e *exe.File) (T, error)) (T, error) {
	late := u.aside(then, func() {
		e, err := exe.OpenFile(path)
		if err != nil {
			a.err = err
			return
		}
		defer e.Close()
		a.of, a.err = say(e)
	})
	// The answer is not this goroutine's to read if it is late.
	if late != nil {
		var none T
		return none, late
	}
	return a.of, a.err
}

func readingOf(e *exe.File, build []byte) *reading {
	r := &reading{build: padded(e.BuildID())}
	r.bias, r.plain = e.CodeBias()
	if r.is(build) {
		r.table, _ = NewTable(e) // a table that is broken is none
	}
	return r
}

// is reports whether the file is the build with an ID, or any if that is nil.
func (r *reading) is(build []byte) bool { return build == nil || r.build == [20]byte(build) }

// biasOf is the bias of the code at a mapping of a file whose segments differ in it.
func (u *Unwinder) biasOf(path string, m *proc.Mapping, again func()) (bias uint64, ok bool) {
	offset, size := m.Offset, m.End-m.Start
	bias, err := opened(u, path, new(answer[uint64]), again, func(e *exe.File) (uint64, error) {
		if bias, ok := e.Bias(offset, size); ok {
			return bias, nil
		}
		return 0, errNoCode
	})
	return bias, err == nil
}

// The maps are written to as long as Close has not returned. A goroutine that hung in a file system
// may come back much later, when their descriptors are those of something else.

func (u *Unwinder) update(fd int, key, value []byte) error { return u.fenced(updates, fd, key, value) }
func (u *Unwinder) remove(fd int, key []byte) error        { return u.fenced(removes, fd, key, nil) }
func (u *Unwinder) lookup(fd int, key, value []byte) error { return u.fenced(looksUp, fd, key, value) }
func (u *Unwinder) nextKey(fd int, key, next []byte) error { return u.fenced(stepsOn, fd, key, next) }

// fenced does one of these with an element of a map.
const (
	updates = iota
	removes
	looksUp
	stepsOn
)

func (u *Unwinder) fenced(what, fd int, key, value []byte) error {
	u.fence.RLock()
	defer u.fence.RUnlock()
	switch {
	case u.gone:
		return unix.EBADF
	case what == updates:
		return bpf.MapUpdate(fd, key, value, 0)
	case what == removes:
		return bpf.MapDelete(fd, key)
	case what == looksUp:
		return bpf.MapLookup(fd, key, value)
	}
	return bpf.MapNextKey(fd, key, value)
}

// Late is how many files have not been read that should have been.
func (u *Unwinder) Late() int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.hanging
}
