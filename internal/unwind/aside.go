package unwind

import (
	"errors"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hawktrace/hawk/internal/bpf"
	"github.com/hawktrace/hawk/internal/exe"
	"github.com/hawktrace/hawk/internal/proc"
)

// Reading a file takes as long as its owner likes: a file system can be a program or a machine
// that does not answer. So a goroutine reads it aside, and the one that makes tables waits for it
// only for a while. Tables that come later are used later.

// Bounds of what is read aside, and of the time that is spent waiting for it.
const (
	maxErrands = 64                     // at work, so that some may hang for good
	patience   = 3 * time.Second        // for one, and for everything at the end
	credit     = 10 * time.Second       // for all, beyond
	least      = 100 * time.Millisecond // for each
)

var errLate = errors.New("the file is not there in time")

// aside has a goroutine do what may hang, and waits for it. The work does not look at u. If it
// takes too long, the error is errLate, and again is called when it has ended after all.
func (u *Unwinder) aside(again func(), work func()) error {
	u.mu.Lock()
	if u.closed || u.errands >= maxErrands {
		u.late++
		u.mu.Unlock()
		return errLate
	}
	u.errands++
	u.mu.Unlock()
	done := make(chan struct{})
	ended, left := false, false // of mu
	go func() {
		work()
		u.mu.Lock()
		u.errands--
		ended = true
		wanted := left
		u.mu.Unlock()
		close(done)
		if wanted {
			again()
		}
	}()
	since := time.Now()
	timer := time.NewTimer(min(patience, max(u.credit, least)))
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
	case <-u.quit:
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if waited := time.Since(since); waited > least {
		u.credit -= waited
	}
	if ended {
		return nil
	}
	left = true
	u.late++
	return errLate
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

// A question is what is to be read of a file.
type question struct {
	path  string
	table bool          // its table
	build []byte        // if it is the build with this ID, cut or padded to 20 bytes; nil: any is right
	at    *proc.Mapping // where this mapping of it has its code
}

// A reading is the answer.
type reading struct {
	build    [20]byte
	bias     uint64 // of all executable code,
	plain    bool   // if it is the same
	mapped   uint64 // of question.at,
	isMapped bool   // if it has code
	table    *Table // nil: it has none, or it was not asked for
}

// read reads a file that may be anybody's.
func (u *Unwinder) read(q question, again func()) (*reading, error) {
	a := new(answer[*reading])
	late := u.aside(again, func() {
		e, err := exe.OpenFile(q.path)
		if err != nil {
			a.err = err
			return
		}
		defer e.Close()
		a.of = readingOf(e, q)
	})
	if late != nil {
		return nil, late
	}
	return a.of, a.err
}

func readingOf(e *exe.File, q question) *reading {
	r := &reading{build: padded(e.BuildID())}
	r.bias, r.plain = e.CodeBias()
	if q.at != nil {
		r.mapped, r.isMapped = e.Bias(q.at.Offset, q.at.End-q.at.Start)
	}
	if q.table && (q.build == nil || r.is(q.build)) {
		r.table, _ = NewTable(e) // a table that is broken is none
	}
	return r
}

// is reports whether the file is the build with an ID.
func (r *reading) is(build []byte) bool { return r.build == [20]byte(build) }

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

// Late is how many files were not read in time.
func (u *Unwinder) Late() int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.late
}
