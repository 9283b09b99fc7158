package feed

import "testing"

// TestFullAtTheEnd: of what finds no room when nobody reads and the run is to end, only
// events count as dropped.
func TestFullAtTheEnd(t *testing.T) {
	q := New[int](2, false)
	q.Push(1, false)
	q.Push(2, true)
	q.Ending()
	q.Push(3, false)
	q.Push(4, true)
	if n := q.Dropped(); n != 1 {
		t.Errorf("%d dropped, want 1", n)
	}
	q.End()
	for _, want := range []int{1, 2} {
		if x, ok := q.Pop(); !ok || x != want {
			t.Errorf("popped %d, %t, want %d", x, ok, want)
		}
	}
	if _, ok := q.Pop(); ok {
		t.Error("popped more than there was")
	}
}

// TestAlone: a producer that nobody can read from yet does not wait, and is told that it is too fast.
func TestAlone(t *testing.T) {
	q := New[int](2, false)
	q.Alone(true)
	for i := range 200 {
		if full := i >= 2; q.Full() != full {
			t.Errorf("with %d items it is full: %t", i, !full)
		}
		q.Push(i, i%3 == 0)
	}
	q.Alone(false)
	if q.Full() {
		t.Error("it is full where somebody can read")
	}
	for want := range 200 {
		if x, ok := q.Pop(); !ok || x != want {
			t.Fatalf("popped %d, %t, want %d", x, ok, want)
		}
	}
	q.Push(1, false)
	q.Push(2, false)
	q.Ending()
	q.Push(3, false)
	if n := q.Dropped(); n != 1 {
		t.Errorf("%d dropped, want 1", n)
	}
}

// TestDropNewest: a queue that drops keeps what it has and waits for no reader.
func TestDropNewest(t *testing.T) {
	q := New[int](1, true)
	for i := range 5 {
		q.Push(i, false)
	}
	if x, ok := q.Pop(); !ok || x != 0 || q.Dropped() != 4 {
		t.Errorf("popped %d, %t, with %d dropped", x, ok, q.Dropped())
	}
}

// TestRefuses: a queue refuses what Push would drop, and counts it once.
func TestRefuses(t *testing.T) {
	for _, tt := range []struct {
		name  string
		drop  bool
		state func(*Queue[int])
		want  bool
	}{
		{name: "it drops", drop: true, want: true},
		{name: "it waits", want: false},
		{name: "nobody reads at the end", state: (*Queue[int]).Ending, want: true},
		{name: "somebody reads at the end", state: func(q *Queue[int]) { q.Ending(); q.Attend(true) }, want: false},
		{name: "it is shut", state: func(q *Queue[int]) { q.Attend(true); q.Shut() }, want: true},
	} {
		q := New[int](1, tt.drop)
		if tt.state != nil {
			tt.state(q)
		}
		if q.Refuses() {
			t.Errorf("%s: it refuses with room left", tt.name)
		}
		q.Push(1, false)
		var dropped uint64
		if tt.want {
			dropped = 1
		}
		if got := q.Refuses(); got != tt.want || q.Dropped() != dropped {
			t.Errorf("%s: it refuses: %t, %d dropped; want %t, %d", tt.name, got, q.Dropped(), tt.want, dropped)
		}
	}
}

// TestGrowing: order is kept as a queue gets longer in the middle of its ring.
func TestGrowing(t *testing.T) {
	q := New[int](1000, false)
	next, read := 0, 0
	for round := range 10 {
		for range 100 + round {
			q.Push(next, false)
			next++
		}
		for range 7 * round {
			if x, ok := q.Pop(); !ok || x != read {
				t.Fatalf("popped %d, want %d", x, read)
			}
			read++
		}
	}
	for ; read < next; read++ {
		if x, _ := q.Pop(); x != read {
			t.Fatalf("popped %d, want %d", x, read)
		}
	}
}
