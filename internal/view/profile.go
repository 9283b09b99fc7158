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
	Samples []Sample     // of a profile that is no map's: Each knows the others
	// Omitted are rows that weigh less than nothing, which no picture shows.
	Omitted int
	AtLeast bool // some of the weight went unseen
	Refused Refused

	// Walk makes further samples, each of them valid for one call: all at once would be many times what they are of.
	Walk func(func(*Sample))

	rows Rows // samples are made of them one at a time, too
	sums bool // of histograms are known, and are the second value
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
	var room [2]int64
	for i := range p.rows.Len() {
		row := p.rows.At(i)
		if values := p.values(room[:0], row.Value); !omitted(values) {
			sum = Plus(sum, values[p.Primary])
		}
	}
	return sum
}

// Len is how many samples there are.
func (p *Profile) Len() int {
	return len(p.Samples) + p.rows.Len() - p.Omitted
}

// Each calls f with the samples. One is valid during the call; the names of its stack are found here.
func (p *Profile) Each(f func(*Sample)) {
	for i := range p.Samples {
		f(&p.Samples[i])
	}
	if p.Walk != nil {
		p.Walk(f)
	}
	var one Sample
	for i := range p.rows.Len() {
		row := p.rows.At(i)
		if one.Values = p.values(one.Values[:0], row.Value); !omitted(one.Values) {
			p.Map.sample(&one, &row)
			f(&one)
		}
	}
}

// values adds what a row weighs, as Types say.
func (p *Profile) values(dst []int64, v value.Value) []int64 {
	dst = p.Map.weights(dst, v)
	if p.sums {
		n, _, _ := value.Integer(v.(value.Hist).Sum)
		dst = append(dst, clamped(n))
	}
	return dst
}

// NewProfile makes a profile of a snapshot; nil if its map weighs nothing.
func NewProfile(s *Snapshot) *Profile {
	m := s.Map
	if m.Weight == NoWeight {
		return nil
	}
	p := &Profile{Map: m, Refused: s.Refused, rows: s.Rows}
	switch {
	case m.Weight == TotalWeight:
		p.Types, p.Primary = []SampleType{{"count", "count"}, {"total", m.sampleUnit()}}, 1
	case m.Weight == CountWeight:
		p.Types = []SampleType{{"count", "count"}}
		if p.sums = summed(s.Rows); p.sums {
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
	var room [2]int64
	for i := range s.Rows.Len() {
		row := s.Rows.At(i)
		if omitted(p.values(room[:0], row.Value)) {
			p.Omitted++
			continue
		}
		p.AtLeast = p.AtLeast || row.AtLeast
	}
	return p
}

// summed reports whether the sums of histograms are known, and are no less than nothing.
func summed(rows Rows) bool {
	for i := range rows.Len() {
		h, ok := rows.At(i).Value.(value.Hist)
		if _, negative, known := value.Integer(h.Sum); !ok || !known || negative {
			return false
		}
	}
	return rows.Len() > 0
}

// omitted reports whether no picture shows what weighs so much.
func omitted(weights []int64) bool {
	return len(weights) == 0 || slices.ContainsFunc(weights, func(n int64) bool { return n < 0 })
}

// Unsaid is what files do not show of a snapshot: that totals are lower bounds, and how many rows NewProfile
// leaves out.
// cut are those that weigh more than a file has room for.
func Unsaid(s *Snapshot) (low bool, left, cut int) {
	var room [2]int64
	for i := range s.Rows.Len() {
		row := s.Rows.At(i)
		weights := s.Map.weights(room[:0], row.Value)
		switch low = low || row.AtLeast; {
		case omitted(weights):
			left++
		case slices.Contains(weights, math.MaxInt64):
			cut++
		}
	}
	return low, left, cut
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

// weights adds the values of a sample, none if the value weighs nothing.
func (m *Map) weights(dst []int64, v value.Value) []int64 {
	switch v := v.(type) {
	case value.Int:
		return m.timed(dst, int64(v))
	case value.Uint:
		return m.timed(dst, clamped(uint64(v)))
	case value.Avg, value.Stats:
		s, _ := value.Summary(v)
		if !s.Signed {
			s.Total = clamped(uint64(s.Total))
		}
		return append(dst, s.Count, s.Total)
	case value.Hist:
		return append(dst, clamped(Count(v)))
	}
	return dst
}

// Count is what a value counts: how many values a summary or a histogram has, else the
// number itself; 0 if it is none.
func (m *Map) Count(v value.Value) int64 {
	var room [2]int64
	if w := m.weights(room[:0], v); len(w) > 0 {
		return w[0]
	}
	return 0
}

// Weigh is what a value weighs in pictures, 0 if it is no number.
func (m *Map) Weigh(v value.Value) int64 {
	var room [2]int64
	w := m.weights(room[:0], v)
	switch {
	case len(w) == 0:
		return 0
	case m.Weight == TotalWeight:
		return w[1]
	}
	return w[0]
}

// timed adds a number of samples, and the time that they stand for.
func (m *Map) timed(dst []int64, n int64) []int64 {
	if m.Period > 0 && m.Weight == ValueWeight {
		// Samples that stand for more time than a number holds stand for the most that one does.
		time := int64(m.Period)
		if n > math.MaxInt64/time {
			return append(dst, n, math.MaxInt64)
		}
		return append(dst, n, n*time)
	}
	return append(dst, n)
}

func clamped(n uint64) int64 { return int64(min(n, math.MaxInt64)) }

// Count is how many values a histogram has.
func Count(h value.Hist) (n uint64) {
	for _, b := range h.Buckets {
		n += b.Count
	}
	return n
}

// sample takes a row apart, into the room of the sample before.
func (m *Map) sample(out *Sample, row *Row) {
	out.Labels, out.Stack = out.Labels[:0], out.Stack[:0]
	if row.Others > 0 {
		out.Labels = append(out.Labels, Label{Name: "key", Text: "(other)"})
		return
	}
	parts := Flatten(m.Key, row.Key)
	stacks := false
	// The kernel's frames are inside of the user's, whatever their order in the key.
	for _, user := range []bool{true, false} {
		for i, part := range parts {
			st, ok := part.(*value.Stack)
			switch {
			case !ok && user && i < len(m.Keys):
				out.Labels = append(out.Labels, NewLabel(m.Keys[i].Name, part))
			case ok && st.User == user:
				out.Stack, stacks = appendFrames(out.Stack, st), true
			}
		}
	}
	if stacks && len(out.Stack) == 0 {
		out.Stack = append(out.Stack, FrameAt{Name: "[no stack]", Kind: MarkFrame})
	}
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
func FramesOf(st *value.Stack) []FrameAt { return appendFrames(nil, st) }

// appendFrames adds the frames of a stack, the outermost first.
func appendFrames(out []FrameAt, st *value.Stack) []FrameAt {
	named := st.Named()
	if named.Truncated {
		out = append(out, FrameAt{Name: brokenMark, Kind: MarkFrame})
	}
	for i := len(named.Frames) - 1; i >= 0; i-- {
		f := named.Frames[i]
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
	}
	return Unnamed(f)
}

// Unnamed is what a frame without a function is called.
func Unnamed(f *value.Frame) string {
	if f.Module != "" && f.BuildID != "" {
		return Place(f.Module, f.FileOffset)
	}
	return Place("", f.Addr)
}

// Place is where in a file an address is, or where in memory if the file is "".
func Place(file string, at uint64) string {
	text := "0x" + strconv.FormatUint(at, 16)
	if file != "" {
		text = file[strings.LastIndexByte(file, '/')+1:] + "+" + text
	}
	return text
}

// AppendPath adds all frames of a sample, the outermost first: the parts of the key, then the
// stack. The name of a program and its number are one frame.
func (s *Sample) AppendPath(out []FrameAt) []FrameAt {
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
