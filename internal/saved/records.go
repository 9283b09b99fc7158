package saved

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hawktrace/hawk/internal/source"
	"github.com/hawktrace/hawk/internal/types"
	"github.com/hawktrace/hawk/internal/value"
	"github.com/hawktrace/hawk/internal/view"
)

// A record is a line of a jsonl file, whatever its type.
type record struct {
	Type, Name string
	T          int64
	// A script has these; Text is what an event printed, too.
	Start time.Time
	Text  string
	Maps  []struct {
		Name, Kind, Role, Unit string
		Labels                 []string
	}
	Sites []struct {
		Line    int
		Builtin string
		Args    []string
	}
	// Maps have these.
	Of   string
	Rows [][]json.RawMessage
	// Others have these.
	Probes, Failed           int
	Site                     *int
	CPU                      *int
	PID, TID                 int
	Args                     []json.RawMessage
	Zero                     bool
	Events, Skipped, Strings uint64
	Cause                    string
	Status                   int
}

// A reader turns records into items.
type reader struct {
	run    Run
	names  *namer
	begin  view.Begin
	seq    map[*view.Map]uint64
	bounds map[*view.Map]map[bound]bool // of the buckets of its histograms
	looked time.Duration                // when maps were read, if nothing else came since
	ended  bool
	loss   view.Loss
}

// records reads JSON lines. Types and fields that it does not know are passed over.
func records(data []byte) (*Run, error) {
	r := &reader{names: newNamer(), seq: map[*view.Map]uint64{}, bounds: map[*view.Map]map[bound]bool{}}
	number := 0
	var last time.Duration
	for line := range bytes.Lines(data) {
		number++
		var rec record
		if err := json.Unmarshal(line, &rec); err != nil {
			if number > 1 && !bytes.HasSuffix(line, []byte("\n")) {
				break // hawk was killed as it wrote
			}
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
		if r.run.Script == nil && rec.Type != "script" {
			return nil, fmt.Errorf("line %d: a script comes first", number)
		}
		if err := r.take(&rec); err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
		last = max(last, time.Duration(rec.T))
	}
	if r.run.Script == nil {
		return nil, fmt.Errorf("there is nothing in it")
	}
	r.refreshed()
	if !r.ended {
		r.say(view.End{Cause: "unknown", Boot: last, Loss: r.loss})
	}
	r.evenBuckets()
	return &r.run, nil
}

func (r *reader) say(item view.Item) { r.run.items = append(r.run.items, item) }

// refreshed says that the maps before were read together.
func (r *reader) refreshed() {
	if r.looked > 0 {
		r.say(view.Refreshed{Boot: r.looked})
	}
	r.looked = 0
}

func (r *reader) take(rec *record) error {
	at := time.Duration(rec.T)
	if rec.Type != "map" || rec.Of == "print" || at != r.looked {
		r.refreshed()
	}
	switch rec.Type {
	case "script":
		r.script(rec)
	case "attached":
		r.say(view.Attached{Probes: rec.Probes, Failed: rec.Failed})
	case "event":
		return r.event(rec, at)
	case "map":
		return r.table(rec, at)
	case "clear":
		if m := r.run.Script.Map(rec.Name); m != nil {
			r.say(view.Cleared{Map: m, Boot: at, Zero: rec.Zero})
		}
	case "loss":
		r.loss = view.Loss{Records: rec.Events, Skipped: rec.Skipped, Strings: rec.Strings}
		r.say(r.loss)
	case "end":
		r.ended = true
		r.say(view.End{Cause: rec.Cause, Status: rec.Status, Boot: at, Loss: r.loss})
	}
	return nil
}

// script is what maps and sites mean.
func (r *reader) script(rec *record) {
	s := &view.Script{Name: rec.Name, Text: rec.Text}
	file := source.NewFile(rec.Name, rec.Text)
	for i, in := range rec.Maps {
		m := &view.Map{Name: in.Name, Type: types.Int64, Unit: view.UnitNamed(in.Unit), Div: 1,
			At: source.Span{File: file, Start: i, End: i}}
		if in.Role == view.State.String() {
			m.Role = view.State
		}
		for k := view.Counter; k <= view.Record; k++ {
			if in.Kind == k.String() {
				m.Kind = k
			}
		}
		switch m.Kind {
		case view.Counter:
			m.Weight = view.ValueWeight
		case view.Summary:
			m.Weight = view.TotalWeight
		case view.Histogram:
			m.Weight = view.CountWeight
		}
		var parts []types.Type
		for _, label := range in.Labels {
			e := view.Element{Name: label, Type: &types.String{}}
			switch label {
			case "user_frames":
				e = view.Element{Name: "ustack", Type: &types.Stack{User: true}, Frames: view.UserFrames}
			case "kernel_frames":
				e = view.Element{Name: "kstack", Type: &types.Stack{}, Frames: view.KernelFrames}
			}
			m.Keys = append(m.Keys, e)
			parts = append(parts, e.Type)
		}
		if len(parts) > 0 {
			m.Key = &types.Tuple{Elems: parts}
		}
		s.Maps = append(s.Maps, m)
	}
	for _, in := range rec.Sites {
		site := &view.Site{Builtin: in.Builtin}
		for _, name := range in.Args {
			site.Args = append(site.Args, view.Element{Name: name, Type: &types.String{}})
		}
		s.Sites = append(s.Sites, site)
	}
	r.run.Script = s
	r.begin = view.Begin{Script: s, Wall: rec.Start}
	r.say(r.begin)
}

func (r *reader) event(rec *record, at time.Duration) error {
	ev := view.Event{Boot: at, Text: []byte(rec.Text), PID: rec.PID, TID: rec.TID}
	if ev.Stamped = rec.CPU != nil; ev.Stamped {
		ev.CPU = *rec.CPU
	}
	for _, raw := range rec.Args {
		v, err := r.value(raw, nil)
		if err != nil {
			return err
		}
		ev.Args = append(ev.Args, v)
	}
	if sites := r.run.Script.Sites; rec.Site != nil && *rec.Site >= 0 && *rec.Site < len(sites) &&
		len(ev.Args) == len(sites[*rec.Site].Args) {
		ev.Site = sites[*rec.Site]
	} else {
		ev.Args = nil
	}
	r.say(ev)
	return nil
}

// table is what a map held.
func (r *reader) table(rec *record, at time.Duration) error {
	m := r.run.Script.Map(rec.Name)
	if m == nil {
		return nil
	}
	var rows []view.Row
	for _, in := range rec.Rows {
		var key []json.RawMessage
		if len(in) < 2 || json.Unmarshal(in[0], &key) != nil {
			return fmt.Errorf("a row is a list of the parts of its key, and a value")
		}
		row := view.Row{AtLeast: len(in) > 2}
		switch {
		case len(key) == len(m.Keys):
			parts := make(value.Tuple, len(key))
			for i, raw := range key {
				v, err := r.value(raw, &m.Keys[i])
				if err != nil {
					return err
				}
				parts[i] = v
			}
			if len(parts) > 0 {
				row.Key = parts
			}
		case len(key) == 1 && string(key[0]) == `"(other)"`:
			row.Key, row.Others = value.Null{}, 1
		default:
			return fmt.Errorf("%s has keys of %d parts, not %d", m.Name, len(m.Keys), len(key))
		}
		var err error
		if row.Value, err = r.held(m, in[1]); err != nil {
			return err
		}
		rows = append(rows, row)
	}
	if rec.Of == "print" {
		r.say(view.Mark{Map: m, Boot: at, Rows: rows, Div: 1})
		return nil
	}
	r.seq[m]++
	r.looked = at
	r.say(view.Snapshot{Map: m, Seq: r.seq[m], Start: at, End: at, Rows: rows, Totals: rec.Of == "total",
		Complete: true})
	return nil
}

// held is the value of an element, by the kind of its map.
func (r *reader) held(m *view.Map, raw json.RawMessage) (value.Value, error) {
	var in struct {
		Count, Total json.RawMessage
		Buckets      [][3]json.RawMessage
		Interval     int64
		Points       [][2]json.RawMessage
	}
	if m.Kind == view.Summary || m.Kind == view.Histogram || m.Kind == view.Series {
		if err := json.Unmarshal(raw, &in); err != nil {
			return nil, err
		}
	}
	switch m.Kind {
	case view.Summary:
		return value.Avg{Count: integer(in.Count), Total: integer(in.Total)}, nil
	case view.Series:
		out := value.Series{Interval: in.Interval}
		for _, p := range in.Points {
			out.Points = append(out.Points, value.Point{Epoch: integer(p[0]), Value: integer(p[1])})
		}
		return out, nil
	case view.Histogram:
		if r.bounds[m] == nil {
			r.bounds[m] = map[bound]bool{}
		}
		out := value.Hist{}
		for _, b := range in.Buckets {
			at := bound{integer(b[0]), integer(b[1]), string(b[0]) == "null", string(b[1]) == "null"}
			r.bounds[m][at] = true
			out.Buckets = append(out.Buckets, at.bucket(uint64(integer(b[2]))))
		}
		return out, nil
	}
	return r.value(raw, nil)
}

// A bound is where a bucket begins and ends.
type bound struct {
	min, max     int64
	noMin, noMax bool
}

func (b bound) bucket(count uint64) value.Bucket {
	out := value.Bucket{Min: b.min, Max: b.max, NoMin: b.noMin, NoMax: b.noMax, Count: count}
	switch {
	case b.noMin:
		out.Label = fmt.Sprintf("(..., %d)", b.max+1)
	case b.noMax:
		out.Label = fmt.Sprintf("[%d, ...)", b.min)
	case b.min == b.max:
		out.Label = fmt.Sprintf("[%d]", b.min)
	default:
		out.Label = fmt.Sprintf("[%d, %d)", b.min, b.max+1)
	}
	return out
}

// compare orders buckets by where they begin.
func (b bound) compare(c bound) int {
	low := func(b bound) int64 {
		if b.noMin {
			return math.MinInt64
		}
		return b.min
	}
	return cmp.Or(cmp.Compare(low(b), low(c)), cmp.Compare(b.max, c.max))
}

// evenBuckets gives the histograms of a map the same buckets: those that hold nothing are
// not in the file.
func (r *reader) evenBuckets() {
	all := map[*view.Map][]bound{}
	for m, bounds := range r.bounds {
		all[m] = slices.SortedFunc(maps.Keys(bounds), bound.compare)
	}
	even := func(m *view.Map, rows []view.Row) {
		for i := range rows {
			h, ok := rows[i].Value.(value.Hist)
			if !ok {
				continue
			}
			full := make([]value.Bucket, len(all[m]))
			for k, b := range all[m] {
				full[k] = b.bucket(0)
			}
			for _, b := range h.Buckets {
				k, _ := slices.BinarySearchFunc(all[m], bound{b.Min, b.Max, b.NoMin, b.NoMax}, bound.compare)
				full[k].Count = b.Count
			}
			rows[i].Value = value.Hist{Buckets: full}
		}
	}
	for _, item := range r.run.items {
		switch it := item.(type) {
		case view.Snapshot:
			even(it.Map, it.Rows)
		case view.Mark:
			even(it.Map, it.Rows)
		}
	}
}

// integer is a number, which may stand as text.
func integer(raw json.RawMessage) int64 {
	text := strings.Trim(string(raw), `"`)
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n
	}
	n, _ := strconv.ParseUint(text, 10, 64)
	return int64(n)
}

// value is any value; e is the part of a key that it is, or nil.
func (r *reader) value(raw json.RawMessage, e *view.Element) (value.Value, error) {
	if len(raw) == 0 {
		return value.Null{}, nil
	}
	switch raw[0] {
	case '[':
		if e != nil && e.Frames != view.NoFrames {
			return r.stack(raw, e.Frames == view.UserFrames)
		}
		var parts []json.RawMessage
		if err := json.Unmarshal(raw, &parts); err != nil {
			return nil, err
		}
		out := make(value.Array, len(parts))
		for i, part := range parts {
			v, err := r.value(part, nil)
			if err != nil {
				return nil, err
			}
			out[i] = v
		}
		return out, nil
	case '"':
		var s string
		err := json.Unmarshal(raw, &s)
		return value.Str(s), err
	case 't', 'f':
		return value.Bool(raw[0] == 't'), nil
	case 'n':
		return value.Null{}, nil
	case '{':
		return value.Str(raw), nil
	}
	n, err := strconv.ParseInt(string(raw), 10, 64)
	if err != nil {
		return nil, fmt.Errorf("%q is no whole number", raw)
	}
	return value.Int(n), nil
}

// stack is a list of function, offset and module, the innermost first.
func (r *reader) stack(raw json.RawMessage, user bool) (value.Value, error) {
	var in [][3]any
	if err := json.Unmarshal(raw, &in); err != nil {
		return nil, err
	}
	frames := make([]value.Frame, len(in))
	for i, f := range in {
		name, _ := f[0].(string)
		offset, _ := f[1].(float64)
		module, _ := f[2].(string)
		frames[i] = value.Frame{Func: name, Module: module, Offset: uint64(max(offset, 0))}
	}
	return r.names.of(user, frames), nil
}
