package ring

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"unsafe"
)

// A source is a buffer in ordinary memory that goroutines write to as programs do.
type source struct {
	*Ring
	cons, prod uint64
	lock       sync.Mutex
}

func newSource(size int) *source {
	s := &source{}
	s.Ring = &Ring{Consumer: &s.cons, Producer: &s.prod, Data: make([]byte, 2*size), Size: uint64(size),
		Mapped: 2 * uint64(size)}
	return s
}

func (s *source) header(at uint64) *uint32 { return (*uint32)(unsafe.Pointer(&s.Data[at&(s.Size-1)])) }

// reserve makes room for a record, which is busy until it is submitted.
func (s *source) reserve(length int) (at uint64, ok bool) {
	s.lock.Lock()
	defer s.lock.Unlock()
	at = atomic.LoadUint64(&s.prod)
	end := at + (ringHeader+uint64(length)+7)&^7
	if end-atomic.LoadUint64(&s.cons) > s.Size {
		return 0, false
	}
	atomic.StoreUint32(s.header(at), uint32(length)|Busy)
	atomic.StoreUint64(&s.prod, end)
	return at, true
}

// submit fills a record in.
func (s *source) submit(at, time uint64, text string, flags uint32) {
	rec := append(binary.NativeEndian.AppendUint64(nil, time), text...)
	for i, b := range rec {
		i := (at + ringHeader + uint64(i)) & (s.Size - 1)
		s.Data[i], s.Data[i+s.Size] = b, b
	}
	atomic.StoreUint32(s.header(at), uint32(len(rec))|flags)
}

func (s *source) put(time uint64, text string, flags uint32) {
	at, ok := s.reserve(timeBytes + len(text))
	if !ok {
		panic("the buffer is full")
	}
	s.submit(at, time, text, flags)
}

func sources(n, size int) (out []*source, all *Rings) {
	var rings []*Ring
	for range n {
		s := newSource(size)
		out, rings = append(out, s), append(rings, s.Ring)
	}
	return out, NewRings(rings, true)
}

// texts are the records that a call of Read hands over.
func texts(t *testing.T, r *Rings, most int) string {
	t.Helper()
	var out []string
	n, err := r.Read(most, func(rec []byte) bool {
		out = append(out, string(rec))
		return string(rec) != "stop"
	})
	if n != len(out) || err != nil {
		t.Errorf("%d records, and Read says %d, %v", len(out), n, err)
	}
	return strings.Join(out, " ")
}

func expect(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %q, want %q", what, got, want)
	}
}

func TestMerge(t *testing.T) {
	s, r := sources(3, 256)
	expect(t, "nothing", texts(t, r, 10), "")
	s[0].put(10, "a", 0)
	s[0].put(40, "d", 0)
	s[1].put(20, "b", 0)
	s[1].put(5, "not before its own", 0)
	s[2].put(15, "given up", Discard)
	s[2].put(30, "c", 0)
	expect(t, "the first", texts(t, r, 1), "a")
	expect(t, "in order of time", texts(t, r, 10), "b not before its own c d")
	if !r.Empty() || r.Filling() {
		t.Error("something is left")
	}
	for i, one := range s {
		if one.cons != one.prod {
			t.Errorf("of buffer %d the kernel knows %d of %d", i, one.cons, one.prod)
		}
	}

	// A record that is being written may be earlier than all others.
	at, _ := s[1].reserve(timeBytes + 1)
	s[0].put(60, "f", 0)
	expect(t, "behind one that is being written", texts(t, r, 10), "")
	if r.Empty() {
		t.Error("what is being written is not seen")
	}
	s[1].submit(at, 50, "e", 0)
	expect(t, "once it is there", texts(t, r, 10), "e f")

	s[0].put(70, "g", 0)
	s[0].put(71, "stop", 0)
	s[0].put(72, "i", 0)
	s[2].put(73, "j", 0)
	expect(t, "up to where it was told to stop", texts(t, r, 10), "g stop")
	expect(t, "the rest", texts(t, r, 10), "i j")
	s[2].put(80, strings.Repeat("k", 150), 0)
	if !r.Filling() {
		t.Error("a buffer that is more than half full is not noticed")
	}
}

// TestMergeLooksAgain sends a record while another of a later time is read, from a buffer that has
// been found empty before: no record is shown before all buffers were looked at since it came.
func TestMergeLooksAgain(t *testing.T) {
	s, r := sources(2, 256)
	s[1].put(20, "second", 0)
	r.look()
	if l, _, _ := r.first(); l != nil {
		t.Fatal("shown at the first look")
	}
	s[0].put(10, "first", 0)
	expect(t, "after another look", texts(t, r, 10), "first second")
}

// TestMergeOne reads one buffer of a program that may have several.
func TestMergeOne(t *testing.T) {
	s, r := sources(1, 64)
	s[0].put(0, "a", 0)
	s[0].put(0, "b", 0)
	expect(t, "one buffer", texts(t, r, 10), "a b")
}

// TestMergeRefused has the kernel refuse a part of a buffer. Nothing passes the record.
func TestMergeRefused(t *testing.T) {
	const size = 2 << 20
	p := newProducer(t, size)
	big, err := Open(p.fd, size)
	if err != nil {
		t.Fatal(err)
	}
	p.put(1, firstPart)
	big.fd = -1
	other := newSource(64)
	other.put(9, "other", 0)
	r := NewRings([]*Ring{big, other.Ring}, true)
	n, err := r.Read(10, func([]byte) bool { return true })
	if n != 0 || err == nil || r.Empty() {
		t.Errorf("%d records were read, error %v, empty: %v", n, err, r.Empty())
	}
	big.Close()
}

// TestMergeOrder has many programs send at once, with rests at random, some of them to small buffers
// that become full. What one processor sent keeps its order, and whatever was there before another
// was begun comes before it.
func TestMergeOrder(t *testing.T) {
	const (
		groups  = 4
		writers = 3 // processors of a group
		each    = 3000
	)
	s, r := sources(groups, 4096)
	var clock, lost atomic.Uint64
	begun, done := make([]uint64, groups*writers*each), make([]uint64, groups*writers*each)
	var all sync.WaitGroup
	for cpu := range groups * writers {
		all.Go(func() {
			random := rand.New(rand.NewPCG(uint64(cpu), 1))
			for i := range each {
				id := cpu*each + i
				begun[id] = clock.Add(1)
				rest(random)
				text := fmt.Sprintf("%d/%d%s", cpu, i, strings.Repeat(".", random.IntN(40)))
				to := s[cpu/writers]
				if at, ok := to.reserve(timeBytes + len(text)); ok {
					rest(random)
					to.submit(at, begun[id], text, 0)
				} else {
					lost.Add(1)
				}
				done[id] = clock.Add(1)
				rest(random)
			}
		})
	}
	over := make(chan struct{})
	go func() { all.Wait(); close(over) }()
	var order []int
	take := func() int {
		n, err := r.Read(100, func(rec []byte) bool {
			var cpu, i int
			if _, err := fmt.Sscanf(string(rec), "%d/%d", &cpu, &i); err != nil {
				t.Errorf("%q: %v", rec, err)
			}
			order = append(order, cpu*each+i)
			return true
		})
		if err != nil {
			t.Error(err)
		}
		return n
	}
	for running := true; running; {
		select {
		case <-over:
			running = false
		default:
			take()
		}
	}
	for take() > 0 {
	}
	if !r.Empty() || len(order)+int(lost.Load()) != len(begun) {
		t.Fatalf("%d of %d records were read and %d found no room", len(order), len(begun), lost.Load())
	}
	last := slices.Repeat([]int{-1}, groups*writers)
	latest := uint64(0)
	for _, id := range order {
		if cpu := id / each; id <= last[cpu] {
			t.Fatalf("record %d of processor %d comes after %d", id%each, cpu, last[cpu]%each)
		} else {
			last[cpu] = id
		}
		if done[id] < latest {
			t.Fatalf("a record was there at %d and comes behind one that was begun at %d", done[id], latest)
		}
		latest = max(latest, begun[id])
	}
}

// rest has others run, sometimes.
func rest(random *rand.Rand) {
	for range random.IntN(3) {
		runtime.Gosched()
	}
}

func BenchmarkRead(b *testing.B) {
	for _, n := range []int{1, 8} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s, r := sources(n, 1<<20)
			r.timed = n > 1
			time := uint64(0)
			for b.Loop() {
				b.StopTimer()
				for i := range 8000 {
					time++
					s[i/16%n].put(time, "a record with some text", 0)
				}
				b.StartTimer()
				r.Read(1<<20, func([]byte) bool { return true })
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*8000), "ns/record")
		})
	}
}
