// Package saved reads the file of a run and says it anew, as the run did: to the same
// views. Files come from anybody, so that nothing in them is believed.
package saved

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hawktrace/hawk/internal/diff"
	"github.com/hawktrace/hawk/internal/export"
	"github.com/hawktrace/hawk/internal/types"
	"github.com/hawktrace/hawk/internal/value"
	"github.com/hawktrace/hawk/internal/view"
)

// A Run is what a file says of a run.
type Run struct {
	Script *view.Script
	items  []view.Item
}

// Play says it to a feed.
func (r *Run) Play(to view.Feed) error {
	for _, item := range r.items {
		if err := to.Take(item); err != nil {
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
	out := &Run{Script: r.Script}
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

// Open reads a file: JSON lines, an HTML file of a run or of flame graphs, a profile of
// pprof, or folded stacks.
func Open(file string) (*Run, error) {
	data, err := diff.File(file)
	if err != nil {
		return nil, err
	}
	r, err := parse(data, filepath.Base(file))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return r, nil
}

func parse(data []byte, name string) (*Run, error) {
	if bytes.HasPrefix(data, []byte(`{"type":"`)) {
		return records(data)
	}
	if _, rest, ok := bytes.Cut(data, []byte(export.RecordsMark)); ok {
		text, _, _ := bytes.Cut(rest, []byte("<"))
		lines, err := diff.Unpack(base64.NewDecoder(base64.StdEncoding, bytes.NewReader(text)))
		if err != nil {
			return nil, err
		}
		return records(lines)
	}
	all, err := diff.Profiles(data)
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, errors.New("there is nothing in it")
	}
	return profiles(all, name), nil
}

// profiles are maps of stacks and nothing else.
func profiles(all []*diff.Profile, name string) *Run {
	n := newNamer()
	r := &Run{Script: &view.Script{Name: name}}
	var looks []view.Item
	end := view.End{Cause: "saved"}
	for _, p := range all {
		m := &view.Map{Name: "@" + strings.TrimPrefix(p.Map, "@"), Type: types.Uint64, Kind: view.Counter, Div: 1,
			Weight: view.ValueWeight, Unit: view.UnitNamed(p.Unit), Role: view.Result,
			Key: &types.Tuple{Elems: []types.Type{&types.Stack{User: true}, &types.Stack{}}},
			Keys: []view.Element{
				{Name: "ustack", Type: &types.Stack{User: true}, Frames: view.UserFrames},
				{Name: "kstack", Type: &types.Stack{}, Frames: view.KernelFrames},
			}}
		snap := view.Snapshot{Map: m, Seq: 1, End: p.Length, Totals: true, Complete: true}
		for stack, weight := range p.Stacks {
			frames := strings.Split(stack, "\n")
			top := len(frames) // of the program's
			for top > 0 && p.Kind(frames[top-1]) == view.KernelFrame {
				top--
			}
			snap.Rows = append(snap.Rows, view.Row{Value: value.Uint(max(weight, 0)),
				Key: value.Tuple{n.stack(true, frames[:top]), n.stack(false, frames[top:])}})
		}
		r.Script.Maps = append(r.Script.Maps, m)
		looks = append(looks, snap)
		end.Boot = max(end.Boot, p.Length)
	}
	r.items = append([]view.Item{view.Begin{Script: r.Script}, view.Attached{}}, looks...)
	r.items = append(r.items, view.Refreshed{Boot: end.Boot}, end)
	return r
}

// A namer gives functions addresses, and knows whose they are.
type namer struct {
	addr   map[value.Frame]uint64
	frames []value.Frame
}

func newNamer() *namer { return &namer{addr: map[value.Frame]uint64{}} }

// stack is one of functions, the outermost first.
func (n *namer) stack(user bool, names []string) *value.Stack {
	frames := make([]value.Frame, 0, len(names))
	for _, name := range slices.Backward(names) {
		frames = append(frames, value.Frame{Func: name})
	}
	return n.of(user, frames)
}

// of is a stack of frames, the innermost first.
func (n *namer) of(user bool, frames []value.Frame) *value.Stack {
	st := &value.Stack{User: user, Namer: n}
	for _, f := range frames {
		a, ok := n.addr[f]
		if !ok {
			n.frames = append(n.frames, f)
			a = uint64(len(n.frames))
			n.addr[f] = a
		}
		st.Addrs = append(st.Addrs, a)
	}
	return st
}

// FramesAt is of value.Namer.
func (n *namer) FramesAt(st *value.Stack, i int, _ value.Depth, frame *value.Frame, f func(*value.Frame)) {
	if at := st.Addrs[i]; at > 0 && at <= uint64(len(n.frames)) {
		*frame = n.frames[at-1]
	}
	f(frame)
}

// Truncated is of value.Namer.
func (*namer) Truncated(*value.Stack) bool { return false }

// Lines is of value.Namer.
func (*namer) Lines() *value.Lines { return nil }
