package export

import (
	"cmp"
	"compress/gzip"
	"fmt"
	"io"
	"strings"

	"github.com/hawktrace/hawk/internal/order"
	"github.com/hawktrace/hawk/internal/view"
)

// The profile of github.com/google/pprof, profile.proto, compressed by gzip.
var _ = define(Format{
	Name: "pprof", Ext: "pb.gz", Takes: OneProfile, Binary: true, Sums: true, Bounds: true, Write: writePprof,
	Doc: "a profile for go tool pprof, Pyroscope, Parca, Perfetto; counts, totals and, of profile probes, time",
})

// A pprofWriter collects what samples refer to by number.
type pprofWriter struct {
	out       message // what is not written yet
	to        *gzip.Writer
	err       error
	hash      view.Hasher
	strings   view.Index
	table     []string
	functions view.Index
	called    []pprofFunction // by number
	locations map[pprofPlace]uint64
	mappings  map[pprofFile]*pprofMapping
	order     []*pprofMapping
}

// A pprofFunction is what makes two functions one.
type pprofFunction struct {
	name, file uint32 // numbers of texts
}

// A pprofFile is a file in the memory of a process, or the kernel.
// Processes have files at different addresses, so that each has its own.
type pprofFile struct {
	pid  int
	path string
	id   string
	base uint64 // the address of the file's first byte, if that is known
}

// A pprofMapping is a stretch of memory that a file is in, as far as samples have shown it.
type pprofMapping struct {
	pprofFile
	number     uint64
	start, end uint64 // of the addresses that were seen
	named      bool
}

// rank is where a mapping stands: programs, then libraries, then what is no file.
func (m *pprofMapping) rank() int {
	switch {
	case strings.HasPrefix(m.path, "["):
		return 2
	case strings.Contains(m.path[strings.LastIndexByte(m.path, '/')+1:], ".so"):
		return 1
	}
	return 0
}

// A pprofPlace is what makes two locations one.
type pprofPlace struct {
	mapping uint64
	addr    uint64
	lines   string // of the functions there
}

// writePprof writes the one map as a profile.
func writePprof(w io.Writer, r *view.Run, maps []*view.Map, o Options) error {
	return WriteProfile(w, r, one(r, maps), o)
}

// WriteProfile writes a profile of a run for pprof.
func WriteProfile(w io.Writer, r *view.Run, p *view.Profile, o Options) error {
	pw := &pprofWriter{
		hash: view.NewHasher(), locations: map[pprofPlace]uint64{}, mappings: map[pprofFile]*pprofMapping{},
	}
	// Profiles are compressed by convention; readers take plain ones, too.
	pw.to = gzip.NewWriter(w)
	pw.write(r, p, o)
	pw.flush()
	if pw.err != nil {
		return pw.err
	}
	return pw.to.Close()
}

// write writes the messages of a Profile in the order in which they become known; the numbers of
// fields are those of profile.proto.
func (w *pprofWriter) write(r *view.Run, p *view.Profile, o Options) {
	w.string("") // is the first by convention
	for _, t := range p.Types {
		w.valueType(1, t)
	}
	p.Each(func(s *view.Sample) {
		if w.sample(p, s); len(w.out) > pprofPart {
			w.flush()
		}
	})
	// Readers take the first for the program.
	order.Stably(w.order, func(a, b *pprofMapping) int { return cmp.Compare(a.rank(), b.rank()) })
	for _, m := range w.order {
		w.mapping(m)
	}
	comments := []string{"hawk " + o.Version, "script " + view.Line(r.Script.Name), "map " + p.Map.Name}
	if r.Loss.Records > 0 {
		comments = append(comments, fmt.Sprintf("%d events were lost", r.Loss.Records))
	}
	if p.Refused.Updates > 0 {
		comments = append(comments, p.Map.Name+" "+p.Refused.String())
	}
	if p.Omitted > 0 {
		comments = append(comments, view.Grouped(p.Omitted)+" rows below zero left out")
	}
	if p.AtLeast {
		comments = append(comments, "some totals are lower bounds: programs delete elements of the map")
	}
	// The script is a comment for who finds the profile later.
	const most = 4 << 10
	comments = append(comments, view.Lines(r.Script.Text[:min(len(r.Script.Text), most)]))
	for _, text := range comments {
		w.out.int(13, w.string(text))
	}
	if !r.Wall.IsZero() {
		w.out.int(9, r.Wall.UnixNano())
	}
	// A run that goes on has no length yet.
	if r.End != nil {
		w.out.int(10, int64(r.End.Boot-r.Boot))
	}
	// Samples of a profile probe stand for time: their number by the period.
	if p.Map.Period > 0 && len(p.Types) == 2 {
		w.valueType(11, p.Types[1])
		w.out.int(12, int64(p.Map.Period))
		w.out.int(14, w.string(p.Types[1].Name))
	} else {
		w.out.int(14, w.string(p.Types[p.Primary].Name))
	}
	for _, s := range w.table { // last: all are known
		if w.out.bytes(6, []byte(s)); len(w.out) > pprofPart {
			w.flush()
		}
	}
}

// pprofPart is how much is written at a time, about.
const pprofPart = 64 << 10

// flush writes what there is so far.
func (w *pprofWriter) flush() {
	if w.err == nil {
		_, w.err = w.to.Write(w.out)
	}
	w.out = w.out[:0]
}

// string is the number of a text.
func (w *pprofWriter) string(s string) int64 {
	n, known := w.strings.Number(w.hash.Of(s, 0), func(n int) bool { return w.table[n] == s })
	if !known {
		w.table = append(w.table, s)
	}
	return int64(n)
}

// valueType writes what a value of samples is.
func (w *pprofWriter) valueType(field int, t view.SampleType) {
	var m message
	m.int(1, w.string(t.Name))
	m.int(2, w.string(t.Unit))
	w.out.bytes(field, m)
}

// sample writes a row. Without a stack the parts of the key are its functions.
func (w *pprofWriter) sample(p *view.Profile, s *view.Sample) {
	path := s.Stack
	// A sample without locations would not be shown.
	if len(path) == 0 {
		path = s.AppendPath(nil)
	}
	var m message
	m.numbers(1, w.stack(path))
	values := make([]uint64, len(s.Values))
	for i, n := range s.Values {
		values[i] = uint64(n)
	}
	m.numbers(2, values)
	for i, l := range s.Labels {
		var lm message
		lm.int(1, w.string(l.Name))
		if l.Number {
			// Readers take a number for missing that is 0 and has no unit, and suppose the name of the
			// label as the unit where there is none.
			unit := l.Name
			if i < len(p.Map.Keys) && p.Map.Keys[i].Unit != view.NoUnit {
				unit = p.Map.Keys[i].Unit.String()
			}
			lm.int(3, l.Num)
			lm.int(4, w.string(unit))
		} else {
			lm.int(2, w.string(l.Text))
		}
		m.bytes(3, lm)
	}
	w.out.bytes(2, m)
}

// stack are the locations of a stack, the innermost first. Functions that are inlined
// at an address are lines of its location.
func (w *pprofWriter) stack(path []view.FrameAt) (out []uint64) {
	for end := len(path); end > 0; {
		begin := end - 1
		for begin > 0 && path[begin].Frame != nil && path[begin].Inlined {
			begin--
		}
		out = append(out, w.location(path[begin:end]))
		end = begin
	}
	return out
}

// location is the number of a place with its functions, the outermost first.
func (w *pprofWriter) location(frames []view.FrameAt) uint64 {
	// Addresses alone do not make a place: parts of keys have none, and code that is made
	// at run time gives way to other code.
	place := pprofPlace{}
	// Most are of one function, whose name is in memory already.
	if place.lines = frames[0].Name; len(frames) > 1 {
		for i := range frames[1:] {
			place.lines += "\n" + frames[i+1].Name
		}
	}
	whole := &frames[0]
	if whole.Frame != nil {
		place.addr, place.mapping = whole.Addr, w.mappingOf(whole)
	}
	if n, ok := w.locations[place]; ok {
		return n
	}
	n := uint64(len(w.locations) + 1)
	w.locations[place] = n
	var m message
	m.uint(1, n)
	m.uint(2, place.mapping)
	m.uint(3, place.addr)
	for i := len(frames) - 1; i >= 0; i-- {
		// Readers take a function without a name for one that is not known.
		name, file, line := frameName(&frames[i], Options{}), "", 0
		// A name without a frame is a part of a key.
		if frames[i].Frame != nil {
			if frames[i].Func == "" {
				continue // for who has the file to find out
			}
			file, line = view.Line(frames[i].File), frames[i].Line
		}
		var lm message
		lm.uint(1, w.function(name, file))
		lm.int(2, int64(line))
		m.bytes(4, lm)
	}
	w.out.bytes(4, m)
	return n
}

// function is the number of a function, which is written when it is first asked for.
func (w *pprofWriter) function(name, file string) uint64 {
	f := pprofFunction{uint32(w.string(name)), uint32(w.string(file))}
	n, known := w.functions.Number(w.hash.Of(name, int(f.file)), func(n int) bool { return w.called[n] == f })
	if !known {
		w.called = append(w.called, f)
		var m message
		m.uint(1, uint64(n+1))
		m.uint(2, uint64(f.name))
		// Name and system_name are alike, as the mangled one is not kept.
		m.uint(3, uint64(f.name))
		m.uint(4, uint64(f.file))
		w.out.bytes(5, m)
	}
	return uint64(n + 1)
}

// pageBytes is what the bounds of mappings are multiples of.
const pageBytes = 4096

// mappingOf is the number of the mapping that a frame is in, 0 if that is not known.
func (w *pprofWriter) mappingOf(f *view.FrameAt) uint64 {
	file := pprofFile{pid: f.PID, path: f.Module, id: f.BuildID}
	if f.Kind == view.KernelFrame {
		if file.path == "" {
			file.path = "[kernel.kallsyms]"
		}
		// With a build ID the address is the process's and the offset the file's, so that the
		// difference says where the file begins.
	} else if f.BuildID != "" {
		file.base = f.Addr - f.FileOffset
	}
	if file.path == "" {
		return 0
	}
	m := w.mappings[file]
	if m == nil {
		m = &pprofMapping{pprofFile: file, number: uint64(len(w.order) + 1), start: f.Addr}
		w.mappings[file] = m
		w.order = append(w.order, m)
	}
	m.start, m.end = min(m.start, f.Addr), max(m.end, f.Addr)
	m.named = m.named || f.Func != ""
	return m.number
}

// mapping writes a stretch of memory, in whole pages around the addresses that were seen.
func (w *pprofWriter) mapping(f *pprofMapping) {
	start, offset := f.start&^(pageBytes-1), uint64(0)
	if f.base != 0 {
		offset = start - f.base
	}
	var m message
	m.uint(1, f.number)
	m.uint(2, start)
	// An end is the first address behind, and so never in the last page.
	m.uint(3, (f.end+pageBytes)&^(pageBytes-1))
	m.uint(4, offset)
	m.int(5, w.string(view.Line(f.path)))
	m.int(6, w.string(f.id))
	m.bool(7, f.named)
	w.out.bytes(3, m)
}
