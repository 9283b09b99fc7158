package session

import (
	"os"
	"strings"
	"time"

	"github.com/hawktrace/hawk/internal/source"
)

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
