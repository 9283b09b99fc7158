// Package feed hands what a run produces to who consumes it, through a queue of
// limited length. Nothing is lost between the two that is not counted.
package feed

import "sync"

// A Queue has one producer and one consumer, who may come and go. A producer that
// finds it full waits, or drops what it has if the queue is made so. Once the run is
// to end it waits for a consumer who is there, and for nobody else. While it is alone it does not wait
// at all: the queue gets longer than it may be then, and the producer asks Full when it has a choice.
type Queue[T any] struct {
	mu      sync.Mutex
	changed sync.Cond // of any field
	items   []T       // a ring, as long as it had to be so far
	most    int       // how long it may be
	first   int
	n       int
	drop    bool

	alone    bool // there can be no consumer yet
	attended bool // a consumer is there
	ending   bool // the run is to end
	ended    bool // there will be no more
	shut     bool // nobody waits any more
	dropped  uint64
}

// New returns a queue for up to most items.
func New[T any](most int, drop bool) *Queue[T] {
	q := &Queue[T]{most: max(most, 1), drop: drop}
	q.changed.L = &q.mu
	return q
}

// Push adds an item. For one that must not be dropped it waits in any case, as long
// as somebody may make room; where nobody does it goes uncounted, since it is about the
// run and none of its events.
func (q *Queue[T]) Push(x T, must bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.n >= q.most && !q.alone && !q.shut && !(q.drop && !must) && !(q.ending && !q.attended) {
		q.changed.Wait()
	}
	if q.n >= q.most && (!q.alone || q.drop && !must) {
		if !must {
			q.dropped++
		}
		return
	}
	if q.n == len(q.items) {
		length := max(2*q.n, 64)
		if q.n < q.most {
			length = min(length, q.most)
		}
		longer := make([]T, length)
		copy(longer[copy(longer, q.items[q.first:]):], q.items[:q.first])
		q.items, q.first = longer, 0
	}
	q.items[(q.first+q.n)%len(q.items)] = x
	q.n++
	q.changed.Broadcast()
}

// Refuses reports whether Push would drop an item that may be dropped. That item counts as dropped
// then. The producer that asks is spared making one that nobody takes.
func (q *Queue[T]) Refuses() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.n < q.most || !q.shut && !q.drop && (!q.ending || q.attended) {
		return false
	}
	q.dropped++
	return true
}

// Full reports whether there is no room, and nobody yet who could make some.
func (q *Queue[T]) Full() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.n >= q.most && q.alone && !q.drop
}

// Alone says whether there can be no consumer yet.
func (q *Queue[T]) Alone(is bool) { q.set(func() { q.alone = is }) }

// Pop takes the oldest item, and waits for one; false: there will be no more.
func (q *Queue[T]) Pop() (x T, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.n == 0 && !q.ended && !q.shut {
		q.changed.Wait()
	}
	if q.n == 0 {
		return x, false
	}
	var none T
	x, q.items[q.first] = q.items[q.first], none
	q.first, q.n = (q.first+1)%len(q.items), q.n-1
	q.changed.Broadcast()
	return x, true
}

// Attend says whether a consumer is there.
func (q *Queue[T]) Attend(there bool) { q.set(func() { q.attended = there }) }

// Ending says that the run is to end.
func (q *Queue[T]) Ending() { q.set(func() { q.ending = true }) }

// End says that there will be no more.
func (q *Queue[T]) End() { q.set(func() { q.ended = true }) }

// Shut has nobody wait any more.
func (q *Queue[T]) Shut() { q.set(func() { q.shut = true }) }

// Drop counts an item as dropped that was taken and is of no use.
func (q *Queue[T]) Drop() { q.set(func() { q.dropped++ }) }

// Dropped is how many items were dropped that may be.
func (q *Queue[T]) Dropped() uint64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.dropped
}

func (q *Queue[T]) set(f func()) {
	q.mu.Lock()
	f()
	q.mu.Unlock()
	q.changed.Broadcast()
}
