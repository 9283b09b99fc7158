package usdt

import (
	"slices"
	"sync/atomic"
)

// A mark is what all marks are inside.
type mark struct {
	// counter is the semaphore: how many tracers are attached, which the kernel writes into the
	// mapped file. It belongs to the kernel and is read without synchronization; the race detector
	// does not see the other side.
	counter atomic.Pointer[uint16]
	code    uintptr // address of the function; set before counter is

	name  string
	kinds []Kind // of the words
}

// never is the counter of marks that are not loaded.
var never uint16

func (m *mark) enabled() bool { return *m.counter.Load() != 0 }

// A Mark has up to twelve arguments, whose kinds are told when it is made.
type Mark struct{ mark }

// Mark declares a mark whose arguments have these kinds. It panics if the name is none, the
// provider has it already or is loaded, if a kind does not exist, or if there are more than twelve.
func (p *Provider) Mark(name string, kinds ...Kind) *Mark {
	for _, k := range kinds {
		if k < Int8 || k > Uint64 {
			panic("usdt: an argument of mark " + name + " has no kind")
		}
	}
	m := new(Mark)
	p.add(&m.mark, name, slices.Clone(kinds))
	return m
}

// Enabled reports whether a tracer is attached to the mark.
func (m *Mark) Enabled() bool { return m.enabled() }

// Fire hits the mark if it is enabled. Words that are missing are 0, those too
// many are left out. Of a word a tracer reads as many bytes as the argument's kind has.
func (m *Mark) Fire(words ...uint64) {
	if m.enabled() {
		m.fire(words)
	}
}

//go:noinline
func (m *Mark) fire(words []uint64) {
	var hit call
	hit.n = len(m.kinds)
	copy(hit.words[:hit.n], words)
	hit.at(m.code)
}
