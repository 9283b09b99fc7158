package saved

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
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
	T          exact
	// A script has these; Text is what an event printed, too.
	Start       time.Time
	Text        string
	Maps, Sites json.RawMessage
	// Maps have these.
	Of              string
	Entries, Others int
	Rows            json.RawMessage
	// Updates that were refused, and elements.
	Refused        uint64
	Held, Capacity int
	Full           bool
	From           exact // of the time asleep
	Stopped        bool
	// Others have these.
	Probes, Failed           int
	Site                     *int
	CPU                      *int
	PID, TID                 int
	Args                     json.RawMessage
	Zero                     bool
	Events, Skipped, Strings uint64
	Cause                    string
	Status                   int
}

// Bounds of what a file may come to in memory, about what each of its parts takes there.
const (
	maxRoom    = 1 << 30
	maxNesting = 16 // of lists
	// Intervals of a series: those without values are not in the file.
	maxIntervals = 10_000
	itemRoom     = 192
	scriptRoom   = 384 // a map, a site or a part of a key
	rowRoom      = 112
	valueRoom    = 40
	bucketRoom   = 80
	frameRoom    = 160
)

// errRoom says what maxRoom is.
var errRoom = errors.New("it would take more than 1 GiB of memory")

// A reader turns records into items.
type reader struct {
	run    Run
	names  *namer
	frames []value.Frame // room for those of a stack
	begin  view.Begin
	seq    map[*view.Map]uint64
	bounds map[*view.Map]map[bound]bool // of the buckets of its histograms
	text   map[*view.Element]bool       // parts of keys that are not all numbers
	looked time.Duration                // when maps were read, if nothing else came since
	room   int                          // bytes that there is memory for
	ended  bool
	loss   view.Loss
	wrong  error // a number that is none
}

// records reads JSON lines. Types and fields that it does not know are passed over.
func records(data []byte) (*Run, error) {
	r := &reader{names: newNamer(), seq: map[*view.Map]uint64{}, bounds: map[*view.Map]map[bound]bool{},
		text: map[*view.Element]bool{}, room: maxRoom}
	number := 0
	var last time.Duration
	for line := range bytes.Lines(data) {
		number++
		rec, err := decode(line)
		if err != nil {
			if number > 1 && !bytes.HasSuffix(line, []byte("\n")) {
				break // hawk was killed as it wrote
			}
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
		// All other records name maps and sites of the script.
		if r.run.Script == nil && rec.Type != "script" {
			return nil, fmt.Errorf("line %d: a script comes first", number)
		}
		if err := cmp.Or(r.take(rec), r.wrong); err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
		last = max(last, time.Duration(rec.T))
	}
	if r.run.Script == nil {
		return nil, fmt.Errorf("there is nothing in it")
	}
	// Nothing stands behind the last readings that would say that they were together.
	r.refreshed()
	// A run that was killed has said no end, which views wait for.
	if !r.ended {
		r.say(view.End{Cause: "unknown", Boot: last, Loss: r.loss})
	}
	r.numbers()
	// Buckets of a map are known once all of its histograms have been read.
	err := r.evenBuckets()
	run := r.run // what reading took goes
	return &run, err
}

// decode is the record of a line. Its lists stay where they are in the line: they may be most of the file.
func decode(line []byte) (*record, error) {
	rec := &record{}
	lists := map[string]*json.RawMessage{"maps": &rec.Maps, "sites": &rec.Sites, "rows": &rec.Rows, "args": &rec.Args}
	object := bytes.TrimSpace(line)
	if len(object) == 0 || object[0] != '{' || !json.Valid(object) {
		return rec, json.Unmarshal(line, rec) // which says what is wrong with it
	}
	rest := []byte{'{'}
	for name, of := range members(object) {
		if at := lists[strings.ToLower(name)]; at != nil {
			*at = of
			continue
		}
		if len(rest) > 1 {
			rest = append(rest, ',')
		}
		rest = append(append(append(rest, quoted(name)...), ':'), of...)
	}
	return rec, json.Unmarshal(append(rest, '}'), rec)
}

// numbers says which parts of keys are numbers: all that came for them were.
func (r *reader) numbers() {
	for m, n := range r.seq {
		for i := range m.Keys {
			if e := &m.Keys[i]; n > 0 && e.Frames == view.NoFrames && !r.text[e] {
				e.Type = types.Int64
				m.Key.(*types.Tuple).Elems[i] = e.Type
			}
		}
	}
}

// say adds an item to what is played later.
func (r *reader) say(item view.Item) { r.run.items = append(r.run.items, item) }

// need fails if there is no room for n things of some kind: few bytes of a file can stand for
// many in memory.
func (r *reader) need(n, size int) error {
	if r.room -= n * size; r.room < 0 {
		return errRoom
	}
	return nil
}

// refreshed says that the maps before were read together.
func (r *reader) refreshed() {
	if r.looked > 0 {
		r.say(view.Refreshed{Boot: r.looked})
	}
	r.looked = 0
}

// take turns one record into items. Maps that were read at the same time follow each other, and
// what comes behind the last of them begins with Refreshed.
func (r *reader) take(rec *record) error {
	at := time.Duration(rec.T)
	// A print and a reading at another time do not belong to the look before.
	if rec.Type != "map" || rec.Of == "print" || at != r.looked {
		r.refreshed()
	}
	if err := r.need(1, itemRoom+len(rec.Text)); err != nil {
		return err
	}
	switch rec.Type {
	case "script":
		return r.script(rec)
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
	case "asleep":
		r.say(view.Asleep{From: time.Duration(rec.From), Boot: at, Stopped: rec.Stopped})
	case "loss":
		r.loss = view.Loss{Records: rec.Events, Skipped: rec.Skipped, Strings: rec.Strings, Boot: at}
		r.say(r.loss)
	case "end":
		r.ended = true
		r.say(view.End{Cause: rec.Cause, Status: rec.Status, Boot: at, Loss: r.loss})
	}
	return nil
}

// script is what maps and sites mean.
func (r *reader) script(rec *record) error {
	s := &view.Script{Name: rec.Name, Text: rec.Text}
	file := source.NewFile(rec.Name, rec.Text)
	for raw := range elements(rec.Maps) {
		m, err := r.mapMeant(raw)
		if err != nil {
			return err
		}
		// Views order maps by their places in the script: the order in the file stands for those.
		i := len(s.Maps)
		m.At = source.Span{File: file, Start: i, End: i}
		s.Maps = append(s.Maps, m)
	}
	for raw := range elements(rec.Sites) {
		site, err := r.siteMeant(raw)
		if err != nil {
			return err
		}
		s.Sites = append(s.Sites, site)
	}
	r.run.Script = s
	r.begin = view.Begin{Script: s, Wall: rec.Start}
	r.say(r.begin)
	return nil
}

// mapMeant is what the first record says of a map.
func (r *reader) mapMeant(raw []byte) (*view.Map, error) {
	var in struct {
		Name, Kind, Role, Unit string
		Labels, Columns        json.RawMessage
	}
	if err := r.meant(raw, &in); err != nil {
		return nil, err
	}
	m := &view.Map{Name: in.Name, Type: types.Int64, Unit: view.UnitNamed(in.Unit), Div: 1}
	if in.Role == view.State.String() {
		m.Role = view.State
	}
	for k := view.Counter; k <= view.Record; k++ {
		if in.Kind == k.String() {
			m.Kind = k
		}
	}
	var parts []types.Type
	for raw := range elements(in.Labels) {
		label := text(raw)
		if err := r.need(1, scriptRoom); err != nil {
			return nil, err
		}
		e := view.Element{Name: label, Type: &types.String{}}
		switch label {
		// Package export calls stacks in keys so (keyName).
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
	// The file does not say what rows weigh: kind and key decide, as in the run itself.
	m.Weight = view.WeightOf(m.Kind, m.Keyed())
	if m.Kind == view.Record {
		var err error
		if m.Type, err = r.columns(m, in.Columns, 0); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// siteMeant is what the first record says of a place that emits events.
func (r *reader) siteMeant(raw []byte) (*view.Site, error) {
	var in struct {
		Builtin string
		Args    json.RawMessage
	}
	if err := r.meant(raw, &in); err != nil {
		return nil, err
	}
	site := &view.Site{Builtin: in.Builtin}
	for name := range elements(in.Args) {
		if err := r.need(1, scriptRoom); err != nil {
			return nil, err
		}
		site.Args = append(site.Args, view.Element{Name: text(name), Type: &types.String{}})
	}
	return site, nil
}

// meant reads the object of a map or a site, if there is room for one more.
func (r *reader) meant(raw []byte, in any) error {
	if err := r.need(1, scriptRoom); err != nil {
		return err
	}
	return json.Unmarshal(raw, in)
}

// columns are those of a record, in lists as its values are, and its type.
func (r *reader) columns(m *view.Map, list []byte, depth int) (types.Type, error) {
	if depth > maxNesting {
		return nil, errNested
	}
	of := &types.Tuple{}
	for raw := range elements(list) {
		var e view.Element
		var in struct{ Name, Kind, Unit string }
		err := r.need(1, scriptRoom)
		switch {
		case err != nil:
		case raw[0] == '[':
			e.Type, err = r.columns(m, raw, depth+1)
		default:
			// Members that are no numbers are texts, whatever they were in the script.
			err = json.Unmarshal(raw, &in)
			e = view.Element{Name: in.Name, Type: &types.String{}, Kind: view.Text, Unit: view.UnitNamed(in.Unit)}
			if in.Kind == view.Gauge.String() {
				e.Type, e.Kind = types.Int64, view.Gauge
			}
			m.Columns = append(m.Columns, e)
		}
		if err != nil {
			return nil, err
		}
		of.Elems = append(of.Elems, e.Type)
	}
	return of, nil
}

// nested is a value of a record's type, whose members are a list or have names.
func (r *reader) nested(t types.Type, raw json.RawMessage) (value.Value, error) {
	of, ok := t.(*types.Tuple)
	if !ok {
		return r.value(raw, 0)
	}
	// Members are in the order of the columns, whether they have names or not.
	list := slices.Collect(elements(raw))
	for _, part := range members(raw) {
		list = append(list, part)
	}
	if len(list) != len(of.Elems) {
		return nil, errors.New("a record has other members than the script says")
	}
	out := make(value.Tuple, len(list))
	for i, part := range list {
		v, err := r.nested(of.Elems[i], part)
		if err = cmp.Or(err, r.need(1, valueRoom)); err != nil {
			return nil, err
		}
		out[i] = v
	}
	return out, nil
}

// event is what a place of the script has printed. Its values count if they are as many as the
// script says that the place has.
func (r *reader) event(rec *record, at time.Duration) error {
	ev := view.Event{Boot: at, Text: []byte(rec.Text), PID: rec.PID, TID: rec.TID}
	if ev.Stamped = rec.CPU != nil; ev.Stamped {
		ev.CPU = *rec.CPU
	}
	args, err := r.values(rec.Args, 0)
	if err != nil {
		return err
	}
	ev.Args = args
	if sites := r.run.Script.Sites; rec.Site != nil && *rec.Site >= 0 && *rec.Site < len(sites) &&
		len(ev.Args) == len(sites[*rec.Site].Args) {
		ev.Site = sites[*rec.Site]
	} else {
		ev.Args = nil
	}
	r.say(ev)
	return nil
}

// table reads the rows of a map.
func (r *reader) table(rec *record, at time.Duration) error {
	m := r.run.Script.Map(rec.Name)
	if m == nil {
		return nil
	}
	var rows []view.Row
	values := uint64(0) // of all histograms
	for raw := range elements(rec.Rows) {
		row, err := r.row(rec, m, raw)
		if err != nil {
			return err
		}
		if h, ok := row.Value.(value.Hist); ok {
			for _, b := range h.Buckets {
				// Views add them up, in 64 bits.
				if b.Count > math.MaxInt64-values {
					return errSum
				}
				values += b.Count
			}
		}
		rows = append(rows, row)
	}
	left := rec.Entries - len(rows)
	// A key may be called as the row of others is, which is the last of them.
	if n := len(rows) - 1; rec.Others > 0 && n >= 0 && (rows[n].Others > 0 || isOther(rows[n].Key)) {
		rows[n].Key, rows[n].Others = value.Null{}, int32(min(rec.Others, math.MaxInt32))
		left++
	}
	if rec.Of == "print" {
		r.say(view.Mark{Map: m, Boot: at, Rows: view.RowsOf(rows), Div: 1})
		return nil
	}
	// Looks are counted anew, as the file does not number them.
	r.seq[m]++
	r.looked = at
	r.say(view.Snapshot{Map: m, Seq: r.seq[m], Start: at, End: at, Rows: view.RowsOf(rows), Totals: rec.Of == "total",
		Complete: true, Left: max(left, 0), Refused: view.Refused{Updates: rec.Refused, Full: rec.Full, Held: rec.Held,
			Capacity: rec.Capacity}})
	return nil
}

// row reads a row of a map: its key, its value, and a third part if that is a lower bound.
func (r *reader) row(rec *record, m *view.Map, raw []byte) (view.Row, error) {
	in := first(3, raw)
	if len(in) < 2 || in[0][0] != '[' {
		return view.Row{}, fmt.Errorf("a row is a list of the parts of its key, and a value")
	}
	if err := r.need(1, rowRoom); err != nil {
		return view.Row{}, err
	}
	row := view.Row{AtLeast: len(in) > 2}
	var err error
	// One part more than the map has is enough to tell that there are too many.
	key := first(len(m.Keys)+1, in[0])
	switch {
	case len(key) == len(m.Keys):
		if row.Key, err = r.key(rec, m, key); err != nil {
			return row, err
		}
	// The exporter has put together what was too much.
	case len(key) == 1 && string(key[0]) == `"(other)"`:
		row.Key, row.Others = value.Null{}, 1
	default:
		return row, fmt.Errorf("%s has keys of %d parts", m.Name, len(m.Keys))
	}
	row.Value, err = r.held(m, in[1])
	return row, err
}

// key reads the parts of a key; nil if the map has none.
func (r *reader) key(rec *record, m *view.Map, key []json.RawMessage) (value.Value, error) {
	parts := make(value.Tuple, len(key))
	for i, raw := range key {
		var err error
		if frames := m.Keys[i].Frames; frames != view.NoFrames && raw[0] == '[' {
			parts[i], err = r.stack(raw, frames == view.UserFrames)
		} else {
			parts[i], err = r.value(raw, 0)
		}
		if err != nil {
			return nil, err
		}
		switch parts[i].(type) {
		case value.Int, value.Uint:
		default:
			// The row of others has a text for a key: it says nothing about the
			// other keys, which may be numbers.
			r.text[&m.Keys[i]] = r.text[&m.Keys[i]] || rec.Others == 0 || !isOther(parts)
		}
	}
	if len(parts) == 0 {
		return nil, nil
	}
	return parts, nil
}

// isOther reports whether a key of one part is called as the row is that stands for many.
func isOther(key value.Value) bool {
	parts, ok := key.(value.Tuple)
	if !ok || len(parts) != 1 {
		return false
	}
	name, ok := parts[0].(value.Str)
	return ok && string(name) == "(other)"
}
