// Package livetest plays a made-up run to views, the same each time, for their tests.
package livetest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hawktrace/hawk/internal/source"
	"github.com/hawktrace/hawk/internal/types"
	"github.com/hawktrace/hawk/internal/value"
	"github.com/hawktrace/hawk/internal/view"
)

// The maps of the run.
var (
	comm = view.Element{Name: "comm", Type: &types.String{}}

	Reads = &view.Map{Name: "@reads", Kind: view.Counter, Weight: view.ValueWeight, Key: &types.String{},
		Keys: []view.Element{comm}, Window: true, Top: 5, Div: 1}
	Calls = &view.Map{Name: "@calls", Kind: view.Counter, Weight: view.ValueWeight, Key: &types.String{},
		Keys: []view.Element{comm}, Div: 1}
	Micros = &view.Map{Name: "@us", Kind: view.Histogram, Weight: view.CountWeight, Unit: view.Microseconds,
		Key: &types.String{}, Keys: []view.Element{comm}, Div: 1}
	Bytes = &view.Map{Name: "@bytes", Kind: view.Counter, Weight: view.ValueWeight, Unit: view.Bytes,
		Key:  &types.Tuple{Elems: []types.Type{&types.Stack{}, &types.String{}}},
		Keys: []view.Element{{Name: "ustack", Frames: view.UserFrames}, comm}, Div: 1}
	Sizes = &view.Map{Name: "@sizes", Kind: view.Summary, Weight: view.TotalWeight, Unit: view.Bytes,
		Key: &types.String{}, Keys: []view.Element{comm}, Div: 1}
	Depth = &view.Map{Name: "@depth", Kind: view.Gauge, Weight: view.ValueWeight, Div: 1}
	Last  = &view.Map{Name: "@last", Kind: view.Text, Key: &types.String{}, Keys: []view.Element{comm}, Div: 1}
	Start = &view.Map{Name: "@start", Kind: view.Gauge, Unit: view.Nanoseconds, Role: view.State,
		Key: &types.String{}, Keys: []view.Element{{Name: "tid", Type: types.Int64}}, Div: 1}

	Opens = &view.Site{Builtin: "printf", Format: "%s opens %s\n",
		Args: []view.Element{comm, {Name: "filename", Type: &types.String{}}}}
)

// Script is what the run is of.
func Script() *view.Script {
	file := source.NewFile("reads.bt", strings.Repeat("line of the script\n", 9))
	maps := []*view.Map{Micros, Reads, Bytes, Sizes, Calls, Depth, Last, Start}
	for i, m := range maps {
		m.At = source.Span{File: file, Start: 19 * i, End: 19*i + 1}
	}
	return &view.Script{Name: "reads.bt", Text: file.Text, Maps: maps, Sites: []*view.Site{Opens}}
}

// Boot is the start of the run by the boot clock.
const Boot = 1000 * time.Second

// Wall is when the run began.
var Wall = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

// A Player plays the run, a second at a time.
type Player struct {
	To     view.Feed
	Keys   int // of maps keyed by comm; 0: those of Comms
	Comms  []string
	second int
	lost   uint64
}

// Begin says how the run begins.
func (p *Player) Begin() {
	if p.Comms == nil {
		p.Comms = []string{"postgres", "node", "sshd", "bash", "systemd-journal"}
	}
	for i := len(p.Comms); i < p.Keys; i++ {
		p.Comms = append(p.Comms, fmt.Sprintf("worker/%d", i))
	}
	p.To.Take(view.Begin{Script: Script(), Boot: Boot, Wall: Wall})
	p.To.Take(view.Attached{Probes: 3})
}

// Second plays one second: events, a window, a look at all maps.
func (p *Player) Second() {
	p.second++
	s := p.second
	now := Boot + time.Duration(s)*time.Second
	for i, c := range p.Comms[:min(len(p.Comms), 3)] {
		file := fmt.Sprintf("/var/lib/file%d", (s+i)%7)
		p.To.Take(view.Event{Site: Opens, Boot: now - time.Duration(900-100*i)*time.Millisecond,
			Text: []byte(c + " opens " + file + "\n"), Args: []value.Value{value.Str(c), value.Str(file)}})
	}
	if s%10 == 0 {
		p.lost += 12
		p.To.Take(view.Loss{Records: p.lost})
	}
	var calls, reads, micros, bytes, sizes, last []view.Row
	for i, c := range p.Comms {
		n := uint64(s) * uint64(8000/(i*i+1))
		calls = append(calls, view.Row{Key: value.Str(c), Value: value.Uint(n)})
		reads = append(reads, view.Row{Key: value.Str(c), Value: value.Uint(1000/(i+1) + s%5*100)})
		sizes = append(sizes, view.Row{Key: value.Str(c),
			Value: value.Avg{Count: int64(n), Total: int64(n) * int64(4096>>(i%8))}})
		last = append(last, view.Row{Key: value.Str(c), Value: value.Str(fmt.Sprintf("/etc/%d", s%3))})
		micros = append(micros, view.Row{Key: value.Str(c), Value: Hist(func(b int) uint64 {
			wave := (s*(b+2) + s*s/9*(b%3)) / (1 + (b-6)*(b-6)/3 + i)
			return uint64(max(wave, 0))
		})})
	}
	for i, path := range [][]string{
		{"main", "serve", "read_request", "read"}, {"main", "serve", "query", "scan", "read"},
		{"main", "serve", "query", "join", "hash", "read"}, {"start_thread", "worker", "read"},
		{"main", "serve", "write_reply", "flush", "write"}, {"main", "idle"},
	} {
		c := p.Comms[i%2]
		bytes = append(bytes, view.Row{Key: value.Tuple{Stack(path...), value.Str(c)},
			Value: value.Uint(uint64(s) * uint64(4096*(6-i)*(6-i)))})
	}
	p.To.Take(view.Mark{Map: Reads, Rows: view.RowsOf(slices.Clone(reads)), Boot: now - 20*time.Millisecond, Top: 5,
		Div: 1})
	p.To.Take(view.Cleared{Map: Reads, Boot: now - 10*time.Millisecond})
	look := func(m *view.Map, list []view.Row) {
		snap := view.Snapshot{Map: m, Seq: uint64(s), Start: now, End: now, Rows: view.RowsOf(list),
			Totals: m.Kind.Additive(), Complete: true}
		if m == Calls {
			snap.Now = snap.Rows
		}
		p.To.Take(snap)
	}
	look(Micros, micros)
	for i := range reads {
		reads[i].Value = value.Uint(uint64(s) * uint64(1000/(i+1)))
	}
	look(Reads, reads)
	look(Bytes, bytes)
	look(Sizes, sizes)
	look(Calls, calls)
	look(Depth, []view.Row{{Value: value.Int(20 + s*7%13)}})
	look(Last, last)
	look(Start, []view.Row{{Key: value.Int(41), Value: value.Uint(uint64(now))}})
	p.To.Take(view.Refreshed{Boot: now})
}

// End says that the run is over.
func (p *Player) End() {
	p.To.Take(view.End{Cause: "exit", Boot: Boot + time.Duration(p.second)*time.Second,
		Loss: view.Loss{Records: p.lost}})
}

// Hist is a histogram of powers of two with some counts.
func Hist(count func(bucket int) uint64) value.Hist {
	h := value.Hist{Buckets: []value.Bucket{{Label: "[0]", Count: 0}}}
	for b := range 24 {
		min, max := int64(1)<<b, int64(2)<<b-1
		label := fmt.Sprintf("[%d, %d)", min, max+1)
		if b == 0 {
			label = "[1]"
		}
		n := uint64(0)
		if b < 14 {
			n = count(b)
		}
		h.Buckets = append(h.Buckets, value.Bucket{Label: label, Min: min, Max: max, Count: n})
	}
	return h
}

// Stack is a stack of a process whose functions have names, the outermost first.
func Stack(path ...string) *value.Stack {
	known := &names{}
	s := &value.Stack{User: true, PID: 41, Namer: known}
	for i := len(path) - 1; i >= 0; i-- {
		at := uint64(0x400000)
		for _, c := range []byte(path[i]) {
			at = at*31 + uint64(c)
		}
		(*known)[at] = path[i]
		s.Addrs = append(s.Addrs, at)
	}
	return s
}

// The names of functions, by their addresses.
type names map[uint64]string

func (n *names) FramesAt(s *value.Stack, i int, _ value.Depth, frame *value.Frame, f func(*value.Frame)) {
	frame.Func = (*n)[s.Addrs[i]]
	f(frame)
}

func (*names) Truncated(*value.Stack) bool { return false }
func (*names) Lines() *value.Lines         { return nil }
func (*names) Pool() *value.Pool           { return nil }
