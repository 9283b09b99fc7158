package value

import (
	"strings"
	"sync"
	"testing"

	"github.com/hawktrace/hawk/internal/types"
)

// frames is a Namer that counts how often it is asked.
type frames struct {
	named []Frame
	cut   bool
	mu    sync.Mutex
	asked map[Depth]int
	lines Lines
}

func (f *frames) FramesAt(_ *Stack, _ int, d Depth, _ *Frame, each func(*Frame)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.asked == nil {
		f.asked = map[Depth]int{}
	}
	f.asked[d]++
	for i := range f.named {
		each(&f.named[i])
	}
}

func (f *frames) Truncated(*Stack) bool { return f.cut }
func (f *frames) Lines() *Lines         { return &f.lines }
func (f *frames) Pool() *Pool           { return nil }

func TestStackText(t *testing.T) {
	known := Frame{Addr: 0x1010, Func: "f", Offset: 16, Module: "/bin/x"}
	placed := known
	placed.File, placed.Line = "a.c", 7
	inner := Frame{Addr: 0x1010, Func: "g", Inlined: true, File: "b.h", Line: 3, Module: "/bin/x"}
	bare := Frame{Addr: 0x2000}
	built := Frame{Addr: 0x1010, BuildID: "0102", FileOffset: 0x10}
	odd := Frame{Addr: 1, Func: "a\nb\x1b", Module: "/\x1b[1m", File: "\u202e", Line: 1}
	for _, c := range []struct {
		what    string
		mode    types.StackMode
		user    bool
		cut     bool
		frames  []Frame
		want    string
		escaped string // "": as want
	}{
		{"nothing", types.StackDefault, true, false, nil, "\n", ""},
		{"cut", types.StackDefault, true, true, nil, "\n        <unwind failure>\n", ""},
		{"default", types.StackDefault, true, false, []Frame{known, bare}, "\n        f+16\n        0x2000\n", ""},
		{"default with lines", types.StackDefault, false, false, []Frame{inner, placed},
			"\n        [inlined] g@b.h:3\n        f+16@a.c:7\n", ""},
		{"perf of the kernel", types.StackPerf, false, false, []Frame{known, bare},
			"\n\t1010 f+16\n\t2000 0x2000\n", ""},
		{"perf of a process", types.StackPerf, true, true, []Frame{inner, placed, bare},
			"\n\t1010 g (inlined)\n\t1010 f+16 (/bin/x)\n" +
				"\t2000 0x2000 ([unknown])\n        <unwind failure>\n", ""},
		{"raw", types.StackRaw, true, false, []Frame{known, bare}, "\n1010\n2000\n", ""},
		{"build IDs", types.StackBuildID, true, false, []Frame{built, bare}, "\n0102 0x10\n2000\n", ""},
		{"hostile", types.StackDefault, true, false, []Frame{odd}, "\n        a\nb\x1b+0@\u202e:1\n",
			"\n        a\\nb\\x1b+0@\\u202e:1\n"},
		{"hostile in perf", types.StackPerf, true, false, []Frame{odd}, "\n\t1 a\nb\x1b+0 (/\x1b[1m)\n",
			"\n\t1 a\\nb\\x1b+0 (/\\x1b[1m)\n"},
	} {
		s := &Stack{Mode: c.mode, User: c.user}
		s.Namer = &frames{named: c.frames, cut: c.cut}
		s.Addrs = make([]uint64, min(len(c.frames), 1))
		if got := string(AppendText(nil, s)); got != c.want {
			t.Errorf("%s: %q, want %q", c.what, got, c.want)
		}
		if c.escaped == "" {
			c.escaped = c.want
		}
		if got := string(AppendText(nil, Escaped(s))); got != c.escaped {
			t.Errorf("%s, escaped: %q, want %q", c.what, got, c.escaped)
		}
		if got, want := string(AppendJSON(nil, s)), string(AppendJSONString(nil, []byte(c.want))); got != want {
			t.Errorf("%s: JSON %s, want %s", c.what, got, want)
		}
	}
}

func TestStackWithoutNamer(t *testing.T) {
	s := &Stack{Addrs: []uint64{16, 32}, Broken: true}
	if got, want := s.String(), "\n        0x10\n        0x20\n        <unwind failure>\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if n := s.Named(); len(n.Frames) != 2 || !n.Truncated {
		t.Errorf("%+v", n)
	}
}

// Nothing is found that nobody asks for. What stands in several places is found once.
func TestStackNamedOnce(t *testing.T) {
	n := &frames{named: []Frame{{Addr: 1, Func: "f"}}}
	s := &Stack{Addrs: []uint64{1}, Namer: n}
	if len(n.asked) != 0 {
		t.Error("names were found before anybody asked")
	}
	s.Share()
	for range 3 {
		AppendText(nil, s)
	}
	if n.asked[ForText] != 1 || n.asked[All] != 0 {
		t.Errorf("asked %v", n.asked)
	}
}

// letters names addresses by their digits, some with lines of their own.
type letters struct {
	lines Lines
	asked int
}

func (l *letters) FramesAt(s *Stack, i int, _ Depth, frame *Frame, f func(*Frame)) {
	l.asked++
	frame.Func = [...]string{"", "a", "b", "a", "a+0\n        b", "ab"}[s.Addrs[i]%6]
	f(frame)
}

func (l *letters) Truncated(s *Stack) bool { return s.Broken }
func (l *letters) Lines() *Lines           { return &l.lines }
func (l *letters) Pool() *Pool             { return nil }

// Comparing makes few lines, and orders stacks as their whole text would.
func TestStackOrder(t *testing.T) {
	n := &letters{}
	var stacks []*Stack
	for i := range uint64(6 * 6 * 6 * 6) {
		s := &Stack{User: i%7 == 0, PID: int(i % 2), Broken: i%5 == 0, Namer: n}
		for rest := i; rest > 0; rest /= 6 {
			s.Addrs = append(s.Addrs, rest%6)
		}
		stacks = append(stacks, s)
	}
	texts := make([]string, len(stacks))
	for i, s := range stacks {
		texts[i] = s.String()
	}
	for i, a := range stacks {
		for j := i % 17; j < len(stacks); j += 17 {
			if got, want := Compare(a, stacks[j]), strings.Compare(texts[i], texts[j]); got != want {
				t.Fatalf("%q and %q: %d, want %d", texts[i], texts[j], got, want)
			}
		}
	}
	n.asked = 0
	n.lines.Forget()
	one := &Stack{Addrs: []uint64{0, 2, 2, 2}, Namer: n}
	two := &Stack{Addrs: []uint64{0, 2, 1, 2}, Namer: n}
	for range 10 {
		if Compare(one, two) <= 0 {
			t.Error("b comes before a")
		}
	}
	if n.asked != 2 {
		t.Errorf("%d addresses were named for one difference", n.asked)
	}
}

// Settled stacks need their Namer no more, and may be used from anywhere.
func TestStackSettled(t *testing.T) {
	n := &frames{named: []Frame{{Addr: 1, Func: "f"}}}
	s := &Stack{Addrs: []uint64{1}, Namer: n}
	Settle(Record{Names: []string{"a"}, Values: []Value{Tuple{Int(1), Array{s}}}})
	if n.asked[All] != 1 {
		t.Errorf("asked %v", n.asked)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if f := s.Named().Frames; len(f) != 1 || f[0].Func != "f" {
				t.Errorf("%+v", f)
			}
			if Settle(s); !strings.Contains(s.String(), "f+0") {
				t.Error(s)
			}
		})
	}
	wg.Wait()
	if n.asked[All] != 1 || n.asked[ForText] != 0 {
		t.Errorf("asked %v", n.asked)
	}
}

func BenchmarkStackText(b *testing.B) {
	n := &frames{}
	for i := range 20 {
		n.named = append(n.named, Frame{Addr: uint64(i), Func: "some_function_of_the_kernel", Offset: 100})
	}
	var dst []byte
	for b.Loop() {
		dst = AppendText(dst[:0], &Stack{Addrs: make([]uint64, 1), Namer: n})
	}
}
