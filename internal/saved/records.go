package saved

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hawktrace/hawk/internal/order"
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

// An exact is a number that stands as text where readers of JSON would round it: runs may last for months.
type exact int64

// UnmarshalJSON reads it.
func (e *exact) UnmarshalJSON(raw []byte) error {
	n, err := strconv.ParseInt(strings.Trim(string(raw), `"`), 10, 64)
	if *e = exact(n); err != nil {
		return noNumber(raw)
	}
	return nil
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
		var rec record
		if err := json.Unmarshal(line, &rec); err != nil {
			if number > 1 && !bytes.HasSuffix(line, []byte("\n")) {
				break // hawk was killed as it wrote
			}
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
		// All other records name maps and sites of the script.
		if r.run.Script == nil && rec.Type != "script" {
			return nil, fmt.Errorf("line %d: a script comes first", number)
		}
		if err := cmp.Or(r.take(&rec), r.wrong); err != nil {
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
	return &r.run, r.evenBuckets()
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

// first are the elements of a list, n at most.
// More are not looked at: of a row, say, whose key has millions of parts.
func first(n int, list []byte) []json.RawMessage {
	var out []json.RawMessage
	for one := range elements(list) {
		if len(out) == n {
			break
		}
		out = append(out, one)
	}
	return out
}

// elements are those of a list that is right JSON, none of something else.
func elements(list []byte) iter.Seq[json.RawMessage] { return parts(list, '[') }

// members are those of an object that is right JSON, with their names, none of something else.
func members(object []byte) iter.Seq2[string, json.RawMessage] {
	return func(yield func(string, json.RawMessage) bool) {
		for part := range parts(object, '{') {
			end := 1 // of the name
			// A quoted quote does not end the name.
			for part[end] != '"' {
				if part[end] == '\\' {
					end++
				}
				end++
			}
			_, of, _ := bytes.Cut(part[end:], []byte(":"))
			if !yield(text(part[:end+1]), bytes.TrimSpace(of)) {
				return
			}
		}
	}
}

// parts are what commas part in right JSON that begins so.
// Nothing is decoded or kept, so that need is asked before memory is taken.
func parts(list []byte, open byte) iter.Seq[json.RawMessage] {
	return func(yield func(json.RawMessage) bool) {
		if len(list) == 0 || list[0] != open {
			return
		}
		depth, from, quoted := 0, 1, false
		for i := 0; i < len(list); i++ {
			switch c := list[i]; {
			case quoted:
				if c == '\\' {
					i++
				}
				quoted = c != '"'
			case c == '"':
				quoted = true
			case c == '[' || c == '{':
				depth++
			case c == ']' || c == '}':
				depth--
			}
			if end := depth == 0; end || depth == 1 && !quoted && list[i] == ',' {
				one := bytes.TrimSpace(list[from:i])
				if from = i + 1; len(one) > 0 && !yield(one) || end {
					return
				}
			}
		}
	}
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
		var in struct {
			Name, Kind, Role, Unit string
			Labels, Columns        json.RawMessage
		}
		if err := r.need(1, scriptRoom); err != nil {
			return err
		}
		if err := json.Unmarshal(raw, &in); err != nil {
			return err
		}
		// Views order maps by their places in the script: the order in the file stands for those.
		i := len(s.Maps)
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
		var parts []types.Type
		for raw := range elements(in.Labels) {
			label := text(raw)
			if err := r.need(1, scriptRoom); err != nil {
				return err
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
				return err
			}
		}
		s.Maps = append(s.Maps, m)
	}
	for raw := range elements(rec.Sites) {
		var in struct {
			Builtin string
			Args    json.RawMessage
		}
		if err := r.need(1, scriptRoom); err != nil {
			return err
		}
		if err := json.Unmarshal(raw, &in); err != nil {
			return err
		}
		site := &view.Site{Builtin: in.Builtin}
		for name := range elements(in.Args) {
			if err := r.need(1, scriptRoom); err != nil {
				return err
			}
			site.Args = append(site.Args, view.Element{Name: text(name), Type: &types.String{}})
		}
		s.Sites = append(s.Sites, site)
	}
	r.run.Script = s
	r.begin = view.Begin{Script: s, Wall: rec.Start}
	r.say(r.begin)
	return nil
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

// errNested bounds recursion: each list within a list is a call.
var errNested = errors.New("lists are nested too deeply")

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
		in := first(3, raw)
		if len(in) < 2 || in[0][0] != '[' {
			return fmt.Errorf("a row is a list of the parts of its key, and a value")
		}
		if err := r.need(1, rowRoom); err != nil {
			return err
		}
		row := view.Row{AtLeast: len(in) > 2}
		// One part more than the map has is enough to tell that there are too many.
		key := first(len(m.Keys)+1, in[0])
		switch {
		case len(key) == len(m.Keys):
			parts := make(value.Tuple, len(key))
			for i, raw := range key {
				var err error
				if frames := m.Keys[i].Frames; frames != view.NoFrames && raw[0] == '[' {
					parts[i], err = r.stack(raw, frames == view.UserFrames)
				} else {
					parts[i], err = r.value(raw, 0)
				}
				if err != nil {
					return err
				}
				switch parts[i].(type) {
				case value.Int, value.Uint:
				default:
					// The row of others has a text for a key: it says nothing about the
					// other keys, which may be numbers.
					r.text[&m.Keys[i]] = r.text[&m.Keys[i]] || rec.Others == 0 || !isOther(parts)
				}
			}
			if len(parts) > 0 {
				row.Key = parts
			}
		// The exporter has put together what was too much.
		case len(key) == 1 && string(key[0]) == `"(other)"`:
			row.Key, row.Others = value.Null{}, 1
		default:
			return fmt.Errorf("%s has keys of %d parts", m.Name, len(m.Keys))
		}
		var err error
		if row.Value, err = r.held(m, in[1]); err != nil {
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
		rows[n].Key, rows[n].Others = value.Null{}, rec.Others
		left++
	}
	if rec.Of == "print" {
		r.say(view.Mark{Map: m, Boot: at, Rows: rows, Div: 1})
		return nil
	}
	// Looks are counted anew, as the file does not number them.
	r.seq[m]++
	r.looked = at
	r.say(view.Snapshot{Map: m, Seq: r.seq[m], Start: at, End: at, Rows: rows, Totals: rec.Of == "total",
		Complete: true, Left: max(left, 0), Refused: view.Refused{Updates: rec.Refused, Full: rec.Full, Held: rec.Held,
			Capacity: rec.Capacity}})
	return nil
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

// held is the value of an element, by the kind of its map.
func (r *reader) held(m *view.Map, raw json.RawMessage) (value.Value, error) {
	var in struct {
		Count, Total, Sum, Buckets, Points json.RawMessage
		Interval                           int64
	}
	if m.Kind == view.Summary || m.Kind == view.Histogram || m.Kind == view.Series {
		if err := json.Unmarshal(raw, &in); err != nil {
			return nil, err
		}
	}
	switch m.Kind {
	case view.Record:
		if len(m.Columns) > 0 {
			return r.nested(m.Type, raw)
		}
	case view.Summary:
		// Totals above the largest signed number can only come from a map without signs.
		return value.Avg{Count: r.integer(in.Count), Total: r.integer(in.Total), Signed: signed(in.Total)}, nil
	case view.Series:
		out := value.Series{Interval: in.Interval, Signed: true}
		err := r.each(in.Points, 2, "a point of time has two numbers", valueRoom, func(p []json.RawMessage) {
			out.Signed = out.Signed && signed(p[1])
			out.Points = append(out.Points, value.Point{Epoch: r.integer(p[0]), Value: r.integer(p[1])})
		})
		if n := len(out.Points); n > 0 { // no more are in the file, and who draws them has a line for each
			out.Count = int(min(max(out.Points[n-1].Epoch-out.Points[0].Epoch, 0)+1, maxIntervals))
		}
		return out, err
	case view.Histogram:
		if r.bounds[m] == nil {
			r.bounds[m] = map[bound]bool{}
		}
		out := value.Hist{}
		if len(in.Sum) > 0 {
			if n, ok := large(in.Sum); ok {
				out.Sum = n
			} else {
				out.Sum = value.Int(r.integer(in.Sum))
			}
		}
		err := r.each(in.Buckets, 3, "a bucket has two bounds and a number", bucketRoom, func(b []json.RawMessage) {
			var at bound
			at.min, at.noMin = r.bound(b[0], &at.unsigned)
			at.max, at.noMax = r.bound(b[1], &at.unsigned)
			r.bounds[m][at] = true
			out.Buckets = append(out.Buckets, at.bucket(uint64(r.integer(b[2]))))
		})
		return out, err
	case view.Counter, view.Gauge:
		v, err := r.value(raw, 0)
		switch v.(type) {
		case value.Int, value.Uint:
			return v, err
		}
		return nil, cmp.Or(err, noNumber(raw))
	}
	return r.value(raw, 0)
}

// each gives f the first n parts of every element of a list, for each of which there is room. One that
// has fewer is refused with the words short.
func (r *reader) each(list json.RawMessage, n int, short string, room int, f func(parts []json.RawMessage)) error {
	for element := range elements(list) {
		parts := first(n, element)
		if len(parts) < n {
			return errors.New(short)
		}
		if err := r.need(1, room); err != nil {
			return err
		}
		f(parts)
	}
	return nil
}

// A bound is where a bucket begins and ends.
type bound struct {
	min, max               int64
	noMin, noMax, unsigned bool
}

// boundOf is where a bucket begins and ends.
func boundOf(b *value.Bucket) bound { return bound{b.Min, b.Max, b.NoMin, b.NoMax, b.Unsigned} }

// unnamed is a bucket between the bounds, without a label.
func (b bound) unnamed() value.Bucket {
	return value.Bucket{Min: b.min, Max: b.max, NoMin: b.noMin, NoMax: b.noMax, Unsigned: b.unsigned}
}

// bucket is the row of a histogram between the bounds, with the label that text has.
func (b bound) bucket(count uint64) value.Bucket {
	out := b.unnamed()
	out.Count = count
	low, high := out.Low(), out.High()
	switch {
	case b.noMin:
		// Bounds in the file are the least and the largest value; labels name the end behind it.
		out.Label = fmt.Sprintf("(..., %s)", high.After())
	case b.noMax:
		out.Label = fmt.Sprintf("[%s, ...)", low)
	case b.min == b.max:
		out.Label = fmt.Sprintf("[%s]", low)
	default:
		out.Label = fmt.Sprintf("[%s, %s)", low, high.After())
	}
	return out
}

// compare orders buckets by where they begin.
func (b bound) compare(c bound) int {
	one, other := b.unnamed(), c.unnamed()
	return cmp.Or(one.Low().Compare(other.Low()), one.High().Compare(other.High()))
}

// evenBuckets finds the buckets that the histograms of a map have in common: those that hold
// nothing are not in the file.
func (r *reader) evenBuckets() error {
	r.run.buckets = map[*view.Map][]bound{}
	for m, bounds := range r.bounds {
		r.run.buckets[m] = order.Sorted(maps.Keys(bounds), bound.compare)
	}
	for _, item := range r.run.items {
		// Play makes one item at a time, so that each has the whole room.
		if m, rows := rowsOf(item); m != nil && len(rows)*len(r.run.buckets[m])*bucketRoom > maxRoom {
			return errRoom
		}
	}
	return nil
}

// rowsOf are the rows that an item has of a map.
func rowsOf(item view.Item) (*view.Map, []view.Row) {
	switch it := item.(type) {
	case view.Snapshot:
		return it.Map, it.Rows
	case view.Mark:
		return it.Map, it.Rows
	}
	return nil, nil
}

// even is an item whose histograms have all buckets of their map. Only one is made so at a time:
// together they may take far more memory than the file.
func (r *Run) even(item view.Item) view.Item {
	m, rows := rowsOf(item)
	all := r.buckets[m]
	if all == nil {
		return item
	}
	rows = slices.Clone(rows)
	for i := range rows {
		h, ok := rows[i].Value.(value.Hist)
		if !ok {
			continue
		}
		full := make([]value.Bucket, len(all))
		for k, b := range all {
			full[k] = b.bucket(0)
		}
		for _, b := range h.Buckets {
			// Bounds of all buckets were collected as they were read: each one is found.
			k, _ := slices.BinarySearchFunc(all, boundOf(&b), bound.compare)
			full[k].Count = b.Count
		}
		rows[i].Value = value.Hist{Buckets: full, Sum: h.Sum}
	}
	switch it := item.(type) {
	case view.Snapshot:
		it.Rows = rows
		item = it
	case view.Mark:
		it.Rows = rows
		item = it
	}
	return item
}

// integer is a number, which may stand as text. Something else is noted as wrong.
func (r *reader) integer(raw json.RawMessage) int64 {
	text := strings.Trim(string(raw), `"`)
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n
	}
	// A number that does not fit int64 is unsigned. Its bits are kept; the type tells it.
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil && r.wrong == nil {
		r.wrong = noNumber(raw)
	}
	return int64(n)
}

// noNumber says what stands where a number should. It may be long, and messages show the beginning of it.
func noNumber(raw json.RawMessage) error {
	if len(raw) == 0 {
		return errors.New("a number is missing")
	}
	return fmt.Errorf("%.40q is no whole number", raw)
}

// bound is where a bucket begins or ends; there may be no such bound. A bucket with one that is larger than numbers
// with a sign is told of it.
func (r *reader) bound(raw json.RawMessage, unsigned *bool) (n int64, none bool) {
	if string(raw) == "null" {
		return 0, true
	}
	*unsigned = *unsigned || !signed(raw)
	return r.integer(raw), false
}

// signed reports whether a number, which may stand as text, is one of 64 bits with a sign.
func signed(raw json.RawMessage) bool {
	_, err := strconv.ParseInt(strings.Trim(string(raw), `"`), 10, 64)
	return err == nil
}

// large is a whole number that stands as text, since readers of JSON would round it. Text that looks the same is taken
// for one: it is shown the same.
func large(raw json.RawMessage) (value.Value, bool) {
	const exact = 1 << 53
	digits := text(raw)
	if n, err := strconv.ParseInt(digits, 10, 64); err == nil {
		return value.Int(n), (n > exact || n < -exact) && strconv.FormatInt(n, 10) == digits
	}
	n, err := strconv.ParseUint(digits, 10, 64)
	return value.Uint(n), err == nil && strconv.FormatUint(n, 10) == digits
}

// values are those of a list, which is in as many others as depth says.
func (r *reader) values(list json.RawMessage, depth int) (out value.Array, err error) {
	if depth > maxNesting {
		return nil, errNested
	}
	for raw := range elements(list) {
		if err := r.need(1, valueRoom); err != nil {
			return nil, err
		}
		v, err := r.value(raw, depth)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, nil
}

// value is any value.
func (r *reader) value(raw json.RawMessage, depth int) (value.Value, error) {
	switch raw[0] {
	case '[':
		return r.values(raw, depth+1)
	case '"':
		if n, ok := large(raw); ok {
			return n, nil
		}
		return value.Str(text(raw)), r.need(1, len(raw))
	case 't', 'f':
		return value.Bool(raw[0] == 't'), nil
	case 'n':
		return value.Null{}, nil
	case '{':
		return r.record(raw, depth+1)
	}
	// hawk writes no fractions: values of scripts have none.
	n, err := strconv.ParseInt(string(raw), 10, 64)
	if err != nil {
		return nil, noNumber(raw)
	}
	return value.Int(n), nil
}

// record is an object, which is in as many lists as depth says.
func (r *reader) record(raw json.RawMessage, depth int) (out value.Record, err error) {
	if depth > maxNesting {
		return out, errNested
	}
	for name, of := range members(raw) {
		v, err := r.value(of, depth)
		if err = cmp.Or(err, r.need(1, valueRoom+len(name))); err != nil {
			return out, err
		}
		out.Names, out.Values = append(out.Names, name), append(out.Values, v)
	}
	return out, nil
}

// text is a string, "" for something else.
func text(raw json.RawMessage) (s string) {
	if raw[0] == '"' {
		// The whole line has been decoded before, so that nothing can be wrong with a part of it.
		json.Unmarshal(raw, &s)
	}
	return s
}

// stack is a list of function, offset and module, the innermost first.
func (r *reader) stack(raw json.RawMessage, user bool) (value.Value, error) {
	var frames []value.Frame
	names := len(r.names.frames)
	for frame := range elements(raw) {
		f := first(3, frame)
		if len(f) < 3 {
			return nil, fmt.Errorf("a frame is a function, an offset and a module")
		}
		if err := r.need(1, valueRoom); err != nil {
			return nil, err
		}
		offset := uint64(max(r.integer(f[1]), 0))
		frames = append(frames, value.Frame{Func: text(f[0]), Module: text(f[2]), Offset: offset})
	}
	// Frames that are known take no more room.
	st := r.names.of(user, frames)
	for _, f := range r.names.frames[names:] {
		if err := r.need(1, frameRoom+len(f.Func)+len(f.Module)); err != nil {
			return nil, err
		}
	}
	return st, nil
}
