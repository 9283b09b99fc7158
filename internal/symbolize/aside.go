package symbolize

import (
	"time"
)

// Reading a file takes as long as its owner likes: a file system can be a program
// that does not answer, a file a hundred gigabytes of nothing. So a goroutine reads
// it aside, and the reader of events waits for the answer only for a while. Later
// answers are used later.

// An errand is something that is asked for aside.
type errand struct {
	done   chan struct{}
	waited time.Duration // in vain, by somebody
}

// Bounds of errands, and of the time that a reader of events spends waiting for
// them. What it has waited is given back in the course of time.
const (
	maxErrands = 64               // at work, so that some may hang for good
	patience   = 3 * time.Second  // for one
	lastWords  = time.Second      // for one, after Enough has ended the wait for it
	credit     = 20 * time.Second // for all
	giveBack   = 10               // a second of credit for so many seconds
)

// pending reports whether an errand is under way, and has whoever is asking wait
// for it.
func (u *User) pending(e *errand) bool {
	if e == nil {
		return false
	}
	select {
	case <-e.done:
		return false
	default:
	}
	if u.missing == nil {
		u.missing = e
	}
	return true
}

// aside has work be done by a goroutine. What it returns is called with mu held.
func (u *User) aside(work func() func()) *errand {
	if u.errands >= maxErrands {
		u.left.Late++
		return nil
	}
	u.errands++
	e := &errand{done: make(chan struct{})}
	go func() {
		install := work()
		u.mu.Lock()
		u.errands--
		install()
		u.trimFiles()
		close(e.done)
		u.mu.Unlock()
	}()
	return e
}

// complete calls look, with mu held, again after each errand that it misses the
// result of, as long as patience lasts.
func (u *User) complete(look func()) {
	u.looks++
	for u.looked = time.Now(); ; {
		u.missing = nil
		look()
		if e := u.missing; e == nil || !u.await(e) {
			return
		}
	}
}

// await waits for an errand; mu is not held meanwhile. false: it is still under
// way.
func (u *User) await(e *errand) bool {
	now := time.Now()
	u.credit = min(credit, u.credit+now.Sub(u.credited)/giveBack)
	u.credited = now
	most := min(patience-e.waited, u.credit)
	if most <= 0 {
		return false
	}
	var enough <-chan struct{}
	if u.Enough != nil {
		enough = u.Enough()
	}
	timer := time.NewTimer(most)
	defer timer.Stop()
	u.mu.Unlock()
	ended, late := false, false
	select {
	case <-e.done:
		ended = true
	case <-enough:
	case <-timer.C:
		late = true
	}
	u.mu.Lock()
	u.credit -= time.Since(now)
	u.credited = time.Now()
	if ended {
		return true
	}
	if e.waited == 0 {
		u.left.Late++
	}
	if e.waited = max(e.waited, patience-lastWords); late {
		e.waited = patience
	}
	return false
}
