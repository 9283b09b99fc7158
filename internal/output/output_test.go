package output

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"testing"
	"time"

	"github.com/hawktrace/hawk/internal/source"
	"github.com/hawktrace/hawk/internal/value"
)

var script = source.NewFile("stdin", "begin { $z = 0; $a = 5 / $z; print($a); }")

func span(start, end int) source.Span { return source.Span{File: script, Start: start, End: end} }

// expanded is text that stands where a use of it was.
func expanded(start, end, useStart, useEnd int) source.Span {
	s := span(start, end)
	s.From = &source.Expansion{At: span(useStart, useEnd)}
	return s
}

// callers is a Namer of stacks with these frames.
type callers []value.Frame

func (c callers) FramesAt(_ *value.Stack, i int, _ value.Depth, frame *value.Frame, f func(*value.Frame)) {
	*frame = c[i]
	f(frame)
}

func (c callers) Truncated(*value.Stack) bool { return false }
func (c callers) Lines() *value.Lines         { return nil }
func (c callers) Pool() *value.Pool           { return nil }

func stack(name string, offset uint64) *value.Stack {
	return &value.Stack{Addrs: []uint64{1}, Namer: callers{{Func: name, Offset: offset}}}
}

func hist(bits int, counts map[int]uint64) value.Hist {
	cells := make([]uint64, 1+(65-bits)<<bits)
	for i, n := range counts {
		cells[i] = n
	}
	return value.Hist{Buckets: value.Log2Buckets(bits, cells)}
}

func lhist(low, high, step int64, counts ...uint64) value.Hist {
	return value.Hist{Buckets: value.LinearBuckets(low, high, step, counts), Linear: true}
}

func scalar(name string, v value.Value) Map {
	return Map{Name: name, Entries: EntriesOf(Entry{nil, v})}
}

func keyed(name string, kv ...value.Value) Map {
	m := Map{Name: name, Keyed: true}
	for i := 0; i < len(kv); i += 2 {
		m.Entries.Add(kv[i], kv[i+1])
	}
	return m
}

func with(m Map, top, div int64) Map {
	m.Top, m.Div = top, div
	return m
}

func ints(kv ...int64) []value.Value {
	var out []value.Value
	for _, n := range kv {
		out = append(out, value.Int(n))
	}
	return out
}

// points pairs up epochs and values.
func points(ev ...int64) []value.Point {
	var out []value.Point
	for i := 0; i < len(ev); i += 2 {
		out = append(out, value.Point{Epoch: ev[i], Value: ev[i+1]})
	}
	return out
}

func TestRecords(t *testing.T) {
	defer func(l *time.Location) { time.Local = l }(time.Local)
	time.Local = time.UTC
	for _, c := range records {
		var out, stderr, j, jerr bytes.Buffer
		text, js := NewText(&out, &stderr, Options{}), NewJSON(&j, &jerr, Options{})
		for _, s := range []Sink{text, js} {
			if err := errors.Join(s.Write(c.item), s.Flush()); err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
		}
		if out.String() != c.out {
			t.Errorf("%s: text\n%s\nwant\n%s", c.name, out.String(), c.out)
		}
		if stderr.String() != c.err {
			t.Errorf("%s: stderr\n%s\nwant\n%s", c.name, stderr.String(), c.err)
		}
		if j.String() != c.json {
			t.Errorf("%s: JSON\n%s\nwant\n%s", c.name, j.String(), c.json)
		}
		if jerr.Len() > 0 {
			t.Errorf("%s: the JSON sink wrote to stderr: %s", c.name, &jerr)
		}
		if j.Len() > 0 && !json.Valid(j.Bytes()) {
			t.Errorf("%s: invalid JSON", c.name)
		}
	}
}

// TestComplaints: messages about hawk itself are text on standard error in every format.
func TestComplaints(t *testing.T) {
	for _, c := range []struct {
		item Item
		opts Options
		want string
	}{
		{Unread{Strings: 5}, Options{},
			"WARNING: Total unreadable string count: 5. What is not in memory when a probe fires can " +
				"not be read there; -k shows the places.\n"},
		{Unread{Strings: 5}, Options{NoWarnings: true}, ""},
		{LostTotal{5}, Options{NoWarnings: true}, "WARNING: Total lost event count: 5\n"},
		{Message{Text: "failed to open file '/nope' (No such file or directory)"}, Options{},
			"ERROR: failed to open file '/nope' (No such file or directory)\n"},
		{Message{Severity: source.Warning, Text: "x"}, Options{NoWarnings: true}, ""},
		{Message{Text: "x"}, Options{Color: true}, "\x1b[31mERROR: x\x1b[0m\n"},
	} {
		for i := range 2 {
			var out, stderr bytes.Buffer
			var s Sink = NewText(&out, &stderr, c.opts)
			if i == 1 {
				s = NewJSON(&out, &stderr, c.opts)
			}
			if err := errors.Join(s.Write(c.item), s.Flush()); err != nil || out.Len() > 0 ||
				stderr.String() != c.want {
				t.Errorf("%#v: error %v, output %q, stderr %q; want %q", c.item, err, &out, &stderr, c.want)
			}
		}
	}
}

func TestQuiet(t *testing.T) {
	opts := Options{Quiet: true, NoWarnings: true}
	items := []Item{Attached{3}, Message{source.Warning, span(0, 1), "w"},
		HelperError{Span: span(0, 1)}, RuntimeError{Span: span(0, 1)}}
	for _, item := range items {
		var b bytes.Buffer
		for _, s := range []Sink{NewText(&b, &b, opts), NewJSON(&b, &b, opts)} {
			if err := errors.Join(s.Write(item), s.Flush()); err != nil || b.Len() > 0 {
				t.Errorf("%#v: %v, %q", item, err, &b)
			}
		}
	}
}

func TestBuffering(t *testing.T) {
	for _, c := range []struct {
		mode Buffering
		want []string // what was written after each step
	}{
		{LineBuffered, []string{"", "a\nb", "a\nb", "a\nbc\n"}},
		{FullyBuffered, []string{"", "", "", ""}},
		{Unbuffered, []string{"a\nb", "a\nb", "a\nbc\n", "a\nbc\n"}},
	} {
		var out bytes.Buffer
		s := NewText(&out, &out, Options{Buffering: c.mode})
		var got []string
		for _, text := range []string{"a\nb", "c\n"} {
			for _, step := range []func() error{func() error { return s.Write(&Printf{Text: []byte(text)}) }, s.Idle} {
				if err := step(); err != nil {
					t.Fatal(err)
				}
				got = append(got, out.String())
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("mode %d: %q, want %q", c.mode, got, c.want)
		}
		if err := s.Flush(); err != nil || out.String() != "a\nbc\n" {
			t.Errorf("mode %d: %q after Flush, %v", c.mode, &out, err)
		}
	}
}

// Output that was complete comes before a message about what follows.
func TestOrderOfStreams(t *testing.T) {
	var both bytes.Buffer
	s := NewText(&both, &both, Options{})
	for _, item := range []Item{&Printf{Text: []byte("one\n")},
		Message{source.Error, span(0, 5), "two"}, &Printf{Text: []byte("three\n")}} {
		if err := s.Write(item); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Flush(); err != nil {
		t.Fatal(err)
	}
	if want := "one\nstdin:1:1-6: ERROR: two\nthree\n"; both.String() != want {
		t.Errorf("%q, want %q", &both, want)
	}
}

type full struct{ room int }

var errFull = errors.New("no space left on device")

func (f *full) Write(p []byte) (int, error) {
	if f.room -= len(p); f.room < 0 {
		return 0, errFull
	}
	return len(p), nil
}

func TestWriteErrors(t *testing.T) {
	big := keyed("@m")
	for i := range 20_000 {
		big.Entries.Add(value.Int(i), value.Int(i))
	}
	for _, item := range []Item{big, &Printf{Text: bytes.Repeat([]byte("x"), 1<<17)}} {
		for _, s := range []Sink{NewText(&full{1000}, &full{}, Options{}), NewJSON(&full{1000}, &full{}, Options{})} {
			if err := s.Write(item); !errors.Is(err, errFull) {
				t.Errorf("%T: %v", item, err)
			}
			if err := s.Flush(); !errors.Is(err, errFull) {
				t.Errorf("%T: the error is forgotten: %v", item, err)
			}
		}
	}
}

func TestPrintfDoesNotAllocate(t *testing.T) {
	var out bytes.Buffer
	s := NewText(&out, &out, Options{})
	p := &Printf{Text: []byte("some line of text\n")}
	s.Write(p)
	if n := testing.AllocsPerRun(100, func() { s.Write(p) }); n > 0.1 {
		t.Errorf("%v allocations", n)
	}
}

// TestNumbers compares entries kept as numbers with the same ones kept as values.
func TestNumbers(t *testing.T) {
	const many = blockElements + 1000
	for _, c := range []struct {
		name     string
		key, val func(i int) value.Value
		numbers  int // kept as such
	}{
		{"signed", func(i int) value.Value { return value.Int(i - 200) },
			func(i int) value.Value { return value.Int(i%7 - 3) }, many},
		{"unsigned", func(i int) value.Value { return value.Uint(uint64(i) << 51) },
			func(i int) value.Value { return value.Uint(uint64(i%5) << 62) }, many},
		{"one of another kind", func(i int) value.Value { return value.Int(i) }, func(i int) value.Value {
			if i == 400 {
				return value.Null{}
			}
			return value.Int(-i)
		}, 0},
		{"a key of another kind", func(i int) value.Value {
			if i == 400 {
				return value.Text("x")
			}
			return value.Int(i)
		}, func(int) value.Value { return value.Uint(1) }, 0},
		{"signed and unsigned", func(i int) value.Value { return value.Int(i) }, func(i int) value.Value {
			if i == 400 {
				return value.Int(1)
			}
			return value.Uint(1)
		}, 0},
	} {
		for _, limit := range []struct{ top, div int64 }{{0, 1}, {10, 1}, {0, 3}} {
			var a, b Entries
			for i := range many {
				i = i * 7919 % many
				a.Add(c.key(i), c.val(i))
				b.values = append(b.values, Entry{c.key(i), c.val(i)})
			}
			if a.Len() != many || a.numbers.len() != c.numbers {
				t.Errorf("%s: %d of %d are kept as numbers", c.name, a.numbers.len(), a.Len())
			}
			var text, json [2]string
			for way, entries := range []Entries{a, b} {
				text[way], json[way] = printed(Map{Name: "@m", Keyed: true, Entries: entries, Top: limit.top,
					Div: limit.div})
			}
			if text[0] != text[1] || json[0] != json[1] || text[0] == "" || json[0] == "" {
				t.Errorf("%s, %v: the two ways differ:\n%s\n%s", c.name, limit, text[0], text[1])
			}
		}
	}
}

// printed is a map as text and as JSON.
func printed(m Map) (text, json string) {
	var out bytes.Buffer
	for _, sink := range []Sink{NewText(&out, io.Discard, Options{}), NewJSON(&out, io.Discard, Options{})} {
		sink.Write(m)
		sink.Flush()
		text, json = json, out.String()
		out.Reset()
	}
	return text, json
}
