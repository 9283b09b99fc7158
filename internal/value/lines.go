package value

import (
	"slices"
	"strings"
	"sync"

	"github.com/hawktrace/hawk/internal/types"
)

// Lines are the lines of addresses in stacks, kept while stacks are compared: maps
// hold many stacks of few addresses. They have a lock.
type Lines struct {
	mu   sync.Mutex
	made map[lineKey]map[uint64]string // by address
	n    int
	last lineKey
	of   map[uint64]string // made[last]
}

// A lineKey is what decides, with the address, what it reads as.
type lineKey struct {
	pid       int
	mode      types.StackMode
	user      bool
	innermost bool // it is not behind a call
}

// maxLines bounds the lines kept.
const maxLines = 1 << 16

// Forget drops the lines: names may have changed since.
func (l *Lines) Forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.forget()
}

// forget is Forget for who holds the lock.
func (l *Lines) forget() { l.made, l.of, l.n = nil, nil, 0 }

// pair is what two stacks show of their addresses with one number.
func (l *Lines) pair(a, b *Stack, i int) (x, y string) {
	if l == nil {
		return a.line(i), b.line(i)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.line(a, i), l.line(b, i)
}

// line is the line of a frame, made once for an address.
// The map of the key that was asked for last is at hand: stacks of one process follow one
// another while a map is sorted.
func (l *Lines) line(s *Stack, i int) string {
	if key := (lineKey{s.PID, s.Mode, s.User, i == 0}); l.of == nil || key != l.last {
		if l.made == nil {
			l.made = map[lineKey]map[uint64]string{}
		}
		if l.made[key] == nil {
			l.made[key] = map[uint64]string{}
		}
		l.last, l.of = key, l.made[key]
	}
	line, ok := l.of[s.Addrs[i]]
	if !ok {
		line = s.line(i)
		l.of[s.Addrs[i]] = line
		if l.n++; l.n >= maxLines {
			l.forget()
		}
	}
	return line
}

// line is what a stack shows of an address, by its number.
func (s *Stack) line(i int) string {
	w := frameWriter{stack: s}
	s.at(i, ForText, &Frame{}, w.frame)
	return string(w.dst)
}

// compareStacks orders stacks by their text, of which it makes no more than the lines
// in which they differ.
func compareStacks(a, b *Stack) int {
	if a == b {
		return 0
	}
	if a.Namer != nil && a.Namer == b.Namer && a.named.Load() == nil && b.named.Load() == nil {
		lines := a.Namer.Lines()
		same := a.PID == b.PID && a.User == b.User && a.Mode == b.Mode
		if same && a.Broken == b.Broken && a.Doubtful == b.Doubtful && slices.Equal(a.Addrs, b.Addrs) {
			return 0
		}
		for i := range min(len(a.Addrs), len(b.Addrs)) {
			if same && a.Addrs[i] == b.Addrs[i] {
				continue
			}
			x, y := lines.pair(a, b, i)
			if x == y {
				continue
			}
			if strings.HasPrefix(x, y) || strings.HasPrefix(y, x) {
				break // a name with a newline in it
			}
			return strings.Compare(x, y)
		}
	}
	return strings.Compare(a.String(), b.String())
}
