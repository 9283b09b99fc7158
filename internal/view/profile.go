package view

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/hawktrace/hawk/internal/value"
)

// A Profile is a map whose rows weigh something, as samples.
type Profile struct {
	Map     *Map
	Types   []SampleType // of the values of each sample
	Primary int          // the one that pictures show
	Samples []Sample
	// Omitted are rows that weigh less than nothing, which no picture shows.
	Omitted int
	AtLeast bool // some of the weight went unseen
	Refused Refused
}

// A SampleType is what a value of a sample counts.
type SampleType struct{ Name, Unit string }

// A Sample is a row.
type Sample struct {
	Labels []Label   // parts of the key that are no stacks, in their order
	Stack  []FrameAt // the outermost function first
	Values []int64   // as Profile.Types
}

// A Label is a part of a key.
type Label struct {
	Name   string
	Text   string
	Num    int64
	Number bool // Num is meant
}

// A FrameAt is a function of a stack.
type FrameAt struct {
	Name string // as pictures show it: one line without control characters
	Kind FrameKind
	PID  int // of a user stack
	*value.Frame
}

// FrameKind says where a frame is from.
type FrameKind uint8

// The kinds of frame.
const (
	LabelFrame FrameKind = iota // part of a key
	UserFrame
	KernelFrame
	JITFrame
	MarkFrame // of hawk's own: a stack that was not followed to its end
)

func (k FrameKind) String() string {
	return [...]string{"label", "user", "kernel", "jit", "mark"}[k]
}

// Total is the sum of the primary values, as Plus has it.
func (p *Profile) Total() (sum int64) {
	for i := range p.Samples {
		sum = Plus(sum, p.Samples[i].Values[p.Primary])
	}
	return sum
}

// NewProfile makes a profile of a snapshot; nil if its map weighs nothing. The names of
// stacks are found here.
func NewProfile(s *Snapshot) *Profile {
	m := s.Map
	if m.Weight == NoWeight {
		return nil
	}
	p, sums := &Profile{Map: m, Refused: s.Refused}, false
	switch {
	case m.Weight == TotalWeight:
		p.Types, p.Primary = []SampleType{{"count", "count"}, {"total", m.sampleUnit()}}, 1
	case m.Weight == CountWeight:
		p.Types = []SampleType{{"count", "count"}}
		if sums = summed(s.Rows); sums {
			p.Types = append(p.Types, SampleType{"total", m.sampleUnit()})
		}
	case m.Period > 0:
		p.Types = []SampleType{{"samples", "count"}, {"cpu", "nanoseconds"}}
	default:
		p.Types = []SampleType{{strings.TrimPrefix(m.Exported(), "@"), m.sampleUnit()}}
		if p.Types[0].Name == "" {
			p.Types[0].Name = "samples"
		}
	}
	for _, row := range s.Rows {
		values := m.weights(row.Value)
		if omitted(values) {
			p.Omitted++
			continue
		}
		if sums {
			n, _, _ := value.Integer(row.Value.(value.Hist).Sum)
			values = append(values, clamped(n))
		}
		p.AtLeast = p.AtLeast || row.AtLeast
		p.Samples = append(p.Samples, m.sample(row, values))
	}
	return p
}

// summed reports whether the sums of histograms are known, and are no less than nothing.
func summed(rows []Row) bool {
	return len(rows) > 0 && !slices.ContainsFunc(rows, func(row Row) bool {
		h, ok := row.Value.(value.Hist)
		_, negative, known := value.Integer(h.Sum)
		return !ok || !known || negative
	})
}

// omitted reports whether no picture shows what weighs so much.
func omitted(weights []int64) bool {
	return weights == nil || slices.ContainsFunc(weights, func(n int64) bool { return n < 0 })
}

// Omitted counts the rows that NewProfile leaves out.
func Omitted(s *Snapshot) (n int) {
	for _, row := range s.Rows {
		if omitted(s.Map.weights(row.Value)) {
			n++
		}
	}
	return n
}

// Exported is what files call the map.
func (m *Map) Exported() string {
	if m.Label != "" {
		return m.Label
	}
	return m.Name
}

// sampleUnit is the unit as profiles name it.
func (m *Map) sampleUnit() string {
	switch m.Unit {
	case NoUnit:
		return "count"
	case Nanoseconds:
		return "nanoseconds"
	case Microseconds:
		return "microseconds"
	case Milliseconds:
		return "milliseconds"
	case Seconds:
		return "seconds"
	}
	return m.Unit.String()
}

// SampleUnit is the unit that profiles name so, NoUnit if it is none.
func SampleUnit(name string) Unit {
	for u := NoUnit; u <= Percent; u++ {
		if (&Map{Unit: u}).sampleUnit() == name {
			return u
		}
	}
	return NoUnit
}

// weights are the values of a sample; nil if the value weighs nothing.
func (m *Map) weights(v value.Value) []int64 {
	switch v := v.(type) {
	case value.Int:
		return m.timed(int64(v))
	case value.Uint:
		return m.timed(clamped(uint64(v)))
	case value.Avg, value.Stats:
		s, _ := value.Summary(v)
		if !s.Signed {
			s.Total = clamped(uint64(s.Total))
		}
		return []int64{s.Count, s.Total}
	case value.Hist:
		return []int64{clamped(Count(v))}
	}
	return nil
}

// Count is what a value counts: how many values a summary or a histogram has, else the
// number itself; 0 if it is none.
func (m *Map) Count(v value.Value) int64 {
	if w := m.weights(v); len(w) > 0 {
		return w[0]
	}
	return 0
}

// Weigh is what a value weighs in pictures, 0 if it is no number.
func (m *Map) Weigh(v value.Value) int64 {
	w := m.weights(v)
	switch {
	case len(w) == 0:
		return 0
	case m.Weight == TotalWeight:
		return w[1]
	}
	return w[0]
}

func (m *Map) timed(n int64) []int64 {
	if m.Period > 0 && m.Weight == ValueWeight {
		// Samples that stand for more time than a number holds stand for the most that one does.
		time := int64(m.Period)
		if n > math.MaxInt64/time {
			return []int64{n, math.MaxInt64}
		}
		return []int64{n, n * time}
	}
	return []int64{n}
}

func clamped(n uint64) int64 { return int64(min(n, math.MaxInt64)) }

// Count is how many values a histogram has.
func Count(h value.Hist) (n uint64) {
	for _, b := range h.Buckets {
		n += b.Count
	}
	return n
}

// sample takes a row apart.
func (m *Map) sample(row Row, values []int64) Sample {
	out := Sample{Values: values}
	if row.Others > 0 {
		out.Labels = []Label{{Name: "key", Text: "(other)"}}
		return out
	}
	parts := Flatten(m.Key, row.Key)
	var user, kernel []FrameAt
	stacks := false
	for i, part := range parts {
		st, ok := part.(*value.Stack)
		switch {
		case !ok && i < len(m.Keys):
			out.Labels = append(out.Labels, NewLabel(m.Keys[i].Name, part))
		case ok && st.User:
			user, stacks = append(user, FramesOf(st)...), true
		case ok:
			kernel, stacks = append(kernel, FramesOf(st)...), true
		}
	}
	if out.Stack = append(user, kernel...); stacks && len(out.Stack) == 0 {
		out.Stack = []FrameAt{{Name: "[no stack]", Kind: MarkFrame}}
	}
	return out
}

// NewLabel is a part of a key with its name.
func NewLabel(name string, v value.Value) Label {
	l := Label{Name: name}
	switch v := v.(type) {
	case value.Int:
		l.Num, l.Number = int64(v), true
	case value.Uint:
		l.Num, l.Number = int64(v), v <= math.MaxInt64
	}
	l.Text = Line(string(value.AppendText(nil, v)))
	return l
}

// Line is text from outside as one line of valid UTF-8 that no terminal acts on.
func Line(s string) string { return value.Escape(s) }

// brokenMark stands where unwinding ended: the outer part of the stack is not known.
const brokenMark = "[unwind failure]"

// Broken reports whether a stack of the sample was not followed to its end. One that is empty was.
func (s *Sample) Broken() bool {
	return slices.ContainsFunc(s.Stack, func(f FrameAt) bool { return f.Name == brokenMark })
}

// FramesOf are the frames of a stack, the outermost first.
func FramesOf(st *value.Stack) []FrameAt {
	named := st.Named()
	out := make([]FrameAt, 0, len(named.Frames)+1)
	if named.Truncated {
		out = append(out, FrameAt{Name: brokenMark, Kind: MarkFrame})
	}
	for i := len(named.Frames) - 1; i >= 0; i-- {
		f := &named.Frames[i]
		at := FrameAt{Kind: KernelFrame, Frame: f}
		if st.User {
			at.Kind, at.PID = UserFrame, st.PID
			if f.Module == "[jit]" {
				at.Kind = JITFrame
			}
		}
		at.Name = Line(frameName(f))
		out = append(out, at)
	}
	return out
}

// frameName is the function, or else where in which file the address is.
func frameName(f *value.Frame) string {
	switch {
	case f.Caller != "":
		return f.Caller
	case f.Func != "":
		return f.Func
	case f.Module != "" && f.BuildID != "":
		return f.Module[strings.LastIndexByte(f.Module, '/')+1:] + "+0x" + strconv.FormatUint(f.FileOffset, 16)
	}
	return "0x" + strconv.FormatUint(f.Addr, 16)
}

// Path are all frames of a sample, the outermost first: the parts of the key, then the
// stack. The name of a program and its number are one frame.
func (s *Sample) Path() []FrameAt {
	out := make([]FrameAt, 0, len(s.Labels)+len(s.Stack))
	pid := slices.IndexFunc(s.Labels, func(l Label) bool { return l.Name == "pid" && l.Number })
	comm := slices.IndexFunc(s.Labels, func(l Label) bool { return l.Name == "comm" })
	for i, l := range s.Labels {
		name := l.Text
		switch {
		case i == comm && pid >= 0:
			name += " (" + s.Labels[pid].Text + ")"
		case i == pid && comm >= 0:
			continue
		case l.Number && l.Name != "key":
			name = l.Name + "=" + name
		}
		out = append(out, FrameAt{Name: name})
	}
	return append(out, s.Stack...)
}

// Lines is Line for text with lines of its own.
func Lines(s string) string { return value.EscapeLines(s) }

// Acts reports whether terminals or readers of text act on a character beyond ASCII.
func Acts(r rune) bool { return value.Commands(r) }
