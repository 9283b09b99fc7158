// Package saved reads the file of a run and says it anew, as the run did: to the same
// views. Files come from anybody, so that nothing in them is believed.
package saved

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hawktrace/hawk/internal/export"
	"github.com/hawktrace/hawk/internal/types"
	"github.com/hawktrace/hawk/internal/value"
	"github.com/hawktrace/hawk/internal/view"
)

// A Run is what a file says of a run.
type Run struct {
	Script  *view.Script
	items   []view.Item
	buckets map[*view.Map][]bound // that the histograms of a map have
}

// Play says it to a feed.
func (r *Run) Play(to view.Feed) error {
	for _, item := range r.items {
		// Histograms get all buckets on the way: even says why not before.
		if err := to.Take(r.even(item)); err != nil {
			return err
		}
	}
	return nil
}

// Last is the run as it was at its end, for who shows it once.
func (r *Run) Last() *Run {
	last := map[*view.Map]uint64{}
	for _, item := range r.items {
		if it, ok := item.(view.Snapshot); ok {
			last[it.Map] = it.Seq
		}
	}
	out := &Run{Script: r.Script, buckets: r.buckets}
	// Marks and events stay: they are what the script printed, and not what it holds.
	for _, item := range r.items {
		switch it := item.(type) {
		case view.Snapshot:
			if it.Seq < last[it.Map] {
				continue
			}
		case view.Refreshed:
			continue
		}
		out.items = append(out.items, item)
	}
	return out
}

// A File is what a file holds of a run: all that it said, or stacks alone.
type File struct {
	name   string
	run    *Run       // nil: there are stacks alone
	stacks []*Profile // nil: they are those of the run
}

// Load reads a file: JSON lines, an HTML file of a run or of flame graphs, a profile of pprof, folded stacks, or what
// a script has printed. A dash names standard input.
func Load(file string) (*File, error) {
	in, name := os.Stdin, "standard input"
	if file != Dash {
		var err error
		if in, err = os.Open(file); err != nil {
			return nil, err
		}
		defer in.Close()
		name = file
	}
	size := int64(0)
	if info, err := in.Stat(); err == nil && info.Mode().IsRegular() {
		size = info.Size()
	}
	f, err := parse(in, size, filepath.Base(name))
	// Errors of the system name the file themselves.
	if of := (*fs.PathError)(nil); err != nil && !errors.As(err, &of) {
		err = fmt.Errorf("%s: %w", name, err)
	}
	return f, err
}

// Dash names standard input where a file could be named, as it does for other programs.
const Dash = "-"

// parse tells by its first bytes what a file is, which is likely to be so long. A page of a run has records, and the
// stacks of its flame graphs besides.
func parse(r io.Reader, size int64, name string) (f *File, err error) {
	f = &File{name: name}
	in := bufio.NewReader(&bounded{r, maxFile})
	first, _ := in.Peek(512) // an error comes again with what is read
	// Each line of hawk's begins with its type, of which the first is the script.
	run := bytes.HasPrefix(first, []byte(`{"type":"`))
	// Text has no byte of 0, while numbers and empty strings of a profile soon have one.
	if !run && !isPage(first) && !isPacked(first) && bytes.IndexByte(first, 0) < 0 {
		f.stacks, err = parseLines(newLines(in))
		return f, err
	}
	data, err := whole(in, size)
	if err != nil {
		return nil, err
	}
	if run {
		f.run, err = records(data)
		return f, err
	}
	if _, rest, ok := bytes.Cut(data, []byte(export.RecordsMark)); ok {
		// Base64 has no <, so that the next tag ends the records.
		text, _, _ := bytes.Cut(rest, []byte("<"))
		lines, err := unpack(base64.NewDecoder(base64.StdEncoding, bytes.NewReader(text)))
		if err != nil {
			return nil, err
		}
		if f.run, err = records(lines); err != nil {
			return nil, err
		}
	}
	if f.stacks, err = stacksOf(data); err != nil {
		return nil, err
	}
	// A page of a script without stacks has records, which are enough.
	if f.run == nil && len(f.stacks) == 0 {
		return nil, errors.New("there is nothing in it")
	}
	return f, nil
}

// Run is what the file says of a run, of stacks alone a script with nothing but their maps.
func (f *File) Run() *Run {
	if f.run != nil {
		return f.run
	}
	return profiles(f.stacks, f.name)
}

// End is the run as it was in the end, nil if there are stacks alone.
func (f *File) End() (*view.Run, error) {
	if f.run == nil {
		return nil, nil
	}
	// The run is told to a Recorder as it would be live, so that both look the same.
	rec := &view.Recorder{}
	if err := f.run.Last().Play(rec); err != nil {
		return nil, err
	}
	return rec.Run(), nil
}

// Profiles are what stacks weighed in the end. The run no longer has the rows that they are made of, which take many
// times as much.
func (f *File) Profiles() ([]*Profile, error) {
	// Flame graphs of a page have their stacks in it. Those of records are made once, here.
	end, err := f.End()
	if end == nil || f.stacks != nil || err != nil {
		return f.stacks, err
	}
	f.stacks, err = weighed(end, (*view.Map).Profile)
	for i, item := range f.run.items {
		if it, ok := item.(view.Snapshot); ok && it.Map.Profile() {
			it.Rows = view.Rows{}
			f.run.items[i] = it
		}
	}
	return f.stacks, err
}

// Weighed are what elements of maps without stacks weighed in the end: pictures draw those, where there are no stacks.
func (f *File) Weighed() ([]*Profile, error) {
	end, err := f.End()
	if end == nil || err != nil {
		return nil, err
	}
	return weighed(end, func(m *view.Map) bool {
		return m.Role == view.Result && m.Weight != view.NoWeight && !m.Profile()
	})
}

// weighed are the profiles of some maps.
func weighed(end *view.Run, some func(*view.Map) bool) (out []*Profile, err error) {
	g := newGatherer()
	defer g.done()
	for _, m := range end.Script.Maps {
		// A map that was never read has nothing to weigh.
		snap := end.Snapshot(m)
		if snap == nil || !some(m) {
			continue
		}
		of := view.NewProfile(snap)
		kind := of.Types[of.Primary]
		p := &Profile{Map: m.Name, Type: kind.Name, Unit: kind.Unit, Length: end.Length(),
			kinds: map[string]view.FrameKind{}}
		var frames []view.FrameAt
		var path []string
		of.Each(func(s *view.Sample) {
			frames, path = s.AppendPath(frames[:0]), path[:0]
			for _, at := range frames {
				name := cmp.Or(at.Name, "(empty)") // as pictures call it
				path, p.kinds[name] = append(path, name), at.Kind
			}
			// Where there are too many, the others are passed over.
			if err == nil {
				err = g.add(p, path, s.Values[of.Primary])
			}
		})
		if err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	return out, nil
}

// profiles are maps of stacks and nothing else.
func profiles(all []*Profile, name string) *Run {
	n := newNamer()
	r := &Run{Script: &view.Script{Name: name}}
	var looks []view.Item
	end := view.End{Cause: "saved"}
	for _, p := range all {
		// The stack is the whole key: what else was in it stands as frames outside.
		m := &view.Map{Name: "@" + strings.TrimPrefix(p.Map, "@"), Type: types.Uint64, Kind: view.Counter, Div: 1,
			Weight: view.ValueWeight, Unit: view.SampleUnit(p.Unit), Role: view.Result,
			Key: &types.Tuple{Elems: []types.Type{&types.Stack{User: true}, &types.Stack{}}},
			Keys: []view.Element{
				{Name: "ustack", Type: &types.Stack{User: true}, Frames: view.UserFrames},
				{Name: "kstack", Type: &types.Stack{}, Frames: view.KernelFrames},
			}}
		snap := view.Snapshot{Map: m, Seq: 1, End: p.Length, Totals: true, Complete: true}
		var rows []view.Row
		p.Each(func(frames []string, weight int64) {
			// The kernel's frames are the innermost. What is outside of them is the program's.
			top := len(frames) // of the program's
			for top > 0 && p.Kind(frames[top-1]) == view.KernelFrame {
				top--
			}
			// Nothing can be drawn of what weighs less than nothing.
			rows = append(rows, view.Row{Value: value.Uint(max(weight, 0)),
				Key: value.Tuple{n.stack(true, frames[:top]), n.stack(false, frames[top:])}})
		})
		snap.Rows = view.RowsOf(rows)
		r.Script.Maps = append(r.Script.Maps, m)
		looks = append(looks, snap)
		end.Boot = max(end.Boot, p.Length)
	}
	// Views are told of a run in this order.
	r.items = append([]view.Item{view.Begin{Script: r.Script}, view.Attached{}}, looks...)
	r.items = append(r.items, view.Refreshed{Boot: end.Boot}, end)
	return r
}

// A namer gives functions addresses, and knows whose they are.
// Views tell frames apart by address, and files have names alone.
type namer struct {
	addr   map[value.Frame]uint64
	named  map[string]uint64 // of frames that have a name alone
	frames []*value.Frame
}

func newNamer() *namer {
	return &namer{addr: map[value.Frame]uint64{}, named: map[string]uint64{}}
}

// stack is one of functions, the outermost first.
func (n *namer) stack(user bool, names []string) *value.Stack {
	st := &value.Stack{User: user, Namer: n, Fixed: true, Addrs: make([]uint64, 0, len(names))}
	for _, name := range slices.Backward(names) {
		a, ok := n.named[name]
		if !ok {
			a = n.addrOf(value.Frame{Func: name})
			n.named[name] = a
		}
		st.Addrs = append(st.Addrs, a)
	}
	return st
}

// of is a stack of frames, the innermost first.
func (n *namer) of(user bool, frames []value.Frame) *value.Stack {
	st := &value.Stack{User: user, Namer: n, Fixed: true, Addrs: make([]uint64, 0, len(frames))}
	for _, f := range frames {
		st.Addrs = append(st.Addrs, n.addrOf(f))
	}
	return st
}

// addrOf is the address of a frame.
func (n *namer) addrOf(f value.Frame) uint64 {
	a, ok := n.addr[f]
	if !ok {
		// Addresses are counted from 1: 0 would be none.
		a = uint64(len(n.frames) + 1)
		n.frames = append(n.frames, &f)
		n.addr[f] = a
	}
	return a
}

// FramesAt is of value.Namer.
func (n *namer) FramesAt(st *value.Stack, i int, _ value.Depth, _ *value.Frame, f func(*value.Frame)) {
	// Addresses are numbers of frames, of stacks that this namer has made.
	f(n.frames[st.Addrs[i]-1])
}

// Truncated is of value.Namer.
func (*namer) Truncated(*value.Stack) bool { return false }

// Lines is of value.Namer.
func (*namer) Lines() *value.Lines { return nil }

// Pool is of value.Namer.
func (*namer) Pool() *value.Pool { return nil }
