package live

import (
	"cmp"
	"encoding/binary"
	"slices"
	"sync"
	"time"

	"github.com/hawktrace/hawk/internal/order"
	"github.com/hawktrace/hawk/internal/value"
	"github.com/hawktrace/hawk/internal/view"
)

// Bounds of naming stacks.
const (
	maxNamed   = 50_000 // stacks that are remembered
	maxTries   = 2      // for a stack whose process may not have been known
	namingRing = 200 * time.Millisecond
)

// The names of stacks are found beside drawing, each stack once: tables of symbols and
// processes take their time, and a picture must not wait for them. Until a stack has
// names its addresses are shown.
type names struct {
	mu    sync.Mutex
	known map[string]*named
	queue []*named
	found uint64 // stacks that have names now
	work  chan struct{}
}

// A named is a stack whose names are asked for, or known.
type named struct {
	stack *value.Stack
	tries int
	ready bool // names are known
	asked bool // is in the queue
}

// NameStacks has names found by a goroutine of its own, until done is closed; spent is
// told what it costs.
func (s *State) NameStacks(done <-chan struct{}, spent func(f func())) {
	n := &names{known: map[string]*named{}, work: make(chan struct{}, 1)}
	s.Lock()
	s.names = n
	s.Unlock()
	go func() {
		for {
			select {
			case <-done:
				return
			case <-n.work:
			}
			spent(func() { n.all(done, s.ring) })
		}
	}()
}

// all names what is asked for.
func (n *names) all(done <-chan struct{}, ring func()) {
	last := time.Now()
	for {
		select {
		case <-done:
			return
		default:
		}
		n.mu.Lock()
		if len(n.queue) == 0 {
			n.mu.Unlock()
			ring()
			return
		}
		next := n.queue[0]
		n.queue = n.queue[1:]
		n.mu.Unlock()
		// The stack that is drawn has to stay as it is, so that a copy is named.
		stack := bare(next.stack)
		stack.Namer, stack.Fixed = next.stack.Namer, next.stack.Fixed
		got := stack.Named()
		n.mu.Lock()
		next.tries++
		next.asked = false
		// A process may become known a little later than its first stack.
		if next.ready = anyNamed(got) || next.tries >= maxTries; next.ready {
			next.stack = stack
			n.found++
		}
		n.mu.Unlock()
		if time.Since(last) > namingRing {
			last = time.Now()
			ring()
		}
	}
}

// anyNamed reports whether a frame has a name.
func anyNamed(n value.Named) bool {
	return slices.ContainsFunc(n.Frames, func(f *value.Frame) bool { return f.Func != "" }) || len(n.Frames) == 0
}

// bare is a stack without names.
func bare(st *value.Stack) *value.Stack {
	// Its Namer is left out, so that drawing it looks nothing up.
	return &value.Stack{Mode: st.Mode, User: st.User, PID: st.PID, Addrs: st.Addrs, Broken: st.Broken,
		Doubtful: st.Doubtful}
}

// settled are rows whose stacks have names, as far as they are known, and never wait for
// any. Those that weigh most are asked for first.
func (n *names) settled(m *view.Map, rows view.Rows) view.Rows {
	if n == nil || !slices.ContainsFunc(m.Keys, func(k view.Element) bool { return k.Frames != view.NoFrames }) {
		return rows
	}
	// Names of a file are there already.
	out := rows.List()
	if !slices.ContainsFunc(out, func(r view.Row) bool { return unnamed(r.Key) }) {
		return rows
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	// Forgetting all is simplest: those in sight are asked for again.
	if len(n.known) > maxNamed {
		n.known, n.queue = map[string]*named{}, nil
	}
	var id []byte
	asked := len(n.queue)
	weights := map[*named]int64{}
	for i := range out {
		out[i].Key = n.key(out[i].Key, &id, weights, m.Weigh(out[i].Value))
	}
	if fresh := n.queue[asked:]; len(fresh) > 0 {
		order.Stably(fresh, func(a, b *named) int { return cmp.Compare(weights[b], weights[a]) })
		select {
		case n.work <- struct{}{}:
		default:
		}
	}
	return view.RowsOf(out)
}

// unnamed reports whether names are still to be found for a stack in a key.
func unnamed(v value.Value) bool {
	switch v := v.(type) {
	case *value.Stack:
		return !v.Fixed
	case value.Tuple:
		return slices.ContainsFunc(v, unnamed)
	}
	return false
}

// key is a key with its stacks replaced.
func (n *names) key(v value.Value, id *[]byte, weights map[*named]int64, weight int64) value.Value {
	switch v := v.(type) {
	case *value.Stack:
		return n.stack(v, id, weights, weight)
	case value.Tuple:
		out := slices.Clone(v)
		for i := range out {
			out[i] = n.key(out[i], id, weights, weight)
		}
		return out
	}
	return v
}

// stack is the one that stands for all equal stacks, so that each is named once.
func (n *names) stack(st *value.Stack, id *[]byte, weights map[*named]int64, weight int64) *value.Stack {
	// The buffer is kept between rows, as there may be very many.
	key := binary.AppendVarint((*id)[:0], int64(st.PID))
	for _, a := range st.Addrs {
		key = binary.LittleEndian.AppendUint64(key, a)
	}
	*id = key
	e := n.known[string(key)]
	if e == nil {
		e = &named{stack: st}
		n.known[string(key)] = e
	}
	if e.ready {
		return e.stack
	}
	if weights[e] = view.Plus(weights[e], weight); !e.asked {
		e.stack, e.asked = st, true
		n.queue = append(n.queue, e)
	}
	return bare(st)
}

// Named is how many stacks have got names so far: pictures of them are to be made anew
// when it changes.
func (s *State) Named() uint64 {
	if s.names == nil {
		return 0
	}
	s.names.mu.Lock()
	defer s.names.mu.Unlock()
	return s.names.found
}
