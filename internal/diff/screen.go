package diff

import (
	"cmp"
	"fmt"
	"math"
	"path/filepath"
	"strings"

	"github.com/hawktrace/hawk/internal/types"
	"github.com/hawktrace/hawk/internal/value"
	"github.com/hawktrace/hawk/internal/view"
)

// A Screen is the difference as the terminal view shows a run: each map as a table of what changed, which is sorted,
// searched and saved there as any other.
type Screen struct {
	Script *view.Script
	items  []view.Item
	pairs  []pair
}

// Screen compares the files.
func (c *Command) Screen() (*Screen, error) {
	pairs, _, err := c.pairs()
	if err != nil {
		return nil, err
	}
	s := &Screen{Script: &view.Script{Name: filepath.Base(c.Old) + " → " + filepath.Base(c.New)}, pairs: pairs}
	why := ""
	for i := range pairs {
		if p := &pairs[i]; p.table != nil {
			why = cmp.Or(why, p.table.Why)
			p.table.screen(s, c.Min/100)
		} else {
			why = cmp.Or(why, p.stacks.Why)
			p.stacks.screen(s, p.name, c.Min/100)
		}
	}
	// The name of the script is all that a view shows beside the maps.
	if why != "" {
		s.Script.Name += "; " + why
	}
	return s, nil
}

// Play says it to a view.
func (s *Screen) Play(to view.Feed) error {
	// For the view it is a run that has ended: it waits for nothing more.
	items := append([]view.Item{view.Begin{Script: s.Script}}, s.items...)
	for _, item := range append(items, view.Refreshed{}, view.End{Cause: "compared"}) {
		if err := to.Take(item); err != nil {
			return err
		}
	}
	return nil
}

// Above is ErrAbove with what changed by more than the option allows, nil if nothing did.
func (s *Screen) Above(c *Command) error { return c.above(s.pairs) }

// A change is a row of a map on the screen.
type change struct {
	key     []value.Value
	was, is float64
	how     string // with a sign, or in words
}

// add adds a map. How much a row changed, whichever way, is its first number, by which it is sorted at first.
func (s *Screen) add(name string, keys []view.Element, unit view.Unit, rows []change) {
	text := &types.String{Cap: 256}
	m := &view.Map{Name: name, Kind: view.Record, Keys: keys, Div: 1}
	for _, column := range []string{"changed", "old", "new"} {
		m.Columns = append(m.Columns, view.Element{Name: column, Type: types.Int64, Kind: view.Gauge, Unit: unit})
	}
	m.Columns = append(m.Columns, view.Element{Name: "change", Type: text, Kind: view.Text})
	m.Type = types.NewTuple(types.Int64, types.Int64, types.Int64, text)
	var of []types.Type
	for _, k := range keys {
		of = append(of, k.Type)
	}
	// Maps without keys have one row, which has no key either.
	if len(of) > 0 {
		m.Key = types.NewTuple(of...)
	}
	var list []view.Row
	// Columns are whole numbers, as those of maps in a run.
	whole := func(n float64) value.Value { return value.Int(view.Whole(n)) }
	for _, r := range rows {
		row := view.Row{Value: value.Tuple{whole(math.Abs(r.is - r.was)), whole(r.was), whole(r.is), value.Str(r.how)}}
		if len(of) > 0 {
			row.Key = value.Tuple(r.key)
		}
		list = append(list, row)
	}
	snap := view.Snapshot{Map: m, Seq: 1, Rows: view.RowsOf(list), Complete: true}
	s.Script.Maps = append(s.Script.Maps, m)
	s.items = append(s.items, snap)
}

// element is a part of a key that is a text.
func element(name string) view.Element {
	return view.Element{Name: name, Type: &types.String{Cap: 256}, Kind: view.Text}
}

// screen adds functions: what they weigh themselves in both runs, and how much their share changed.
func (d *Diff) screen(s *Screen, name string, least float64) {
	base := d.base()
	var rows []change
	for _, r := range d.Rows() {
		if max(r.Old, r.New) < least || r.size() == 0 {
			continue
		}
		how := fmt.Sprintf("%+.1f %%", 100*r.Change())
		switch {
		case r.Old == 0:
			how += " new"
		case r.New == 0:
			how += " gone"
		}
		// Shares become weights again: the columns have the map's unit.
		rows = append(rows, change{[]value.Value{value.Str(r.Name)}, r.Old * base, r.New * base, how})
	}
	s.add(cmp.Or(name, "stacks"), []view.Element{element("function")}, view.SampleUnit(d.New.Unit), rows)
}

// screen adds numbers, and of histograms their buckets.
func (t *Table) screen(s *Screen, least float64) {
	var keys []view.Element
	for _, k := range t.Map.Keys {
		keys = append(keys, element(k.Name))
	}
	var rows, buckets []change
	for i := range t.rows {
		l := &t.rows[i]
		if t.small(l, least) {
			continue
		}
		key := make([]value.Value, len(keys))
		for k := range key {
			// A row of others has one part instead of a key: parts that are missing are empty.
			key[k] = value.Str(strings.Join(l.key[min(k, len(l.key)):min(k+1, len(l.key))], ""))
		}
		how := l.ratio()
		if l.old != nil && l.new != nil && l.was != 0 {
			how = fmt.Sprintf("%+.1f %%", 100*(l.is/l.was-1))
		}
		if t.Map.Kind == view.Histogram {
			how += "  " + t.moved(l)
			all, _, _ := t.buckets(l)
			// The key is copied for each bucket: append would write into that of the bucket before.
			for _, b := range all {
				buckets = append(buckets, change{append(key[:len(key):len(key)], value.Str(b.name)), b.was, b.is,
					fmt.Sprintf("%+d", view.Whole(b.is-b.was))})
			}
		}
		rows = append(rows, change{key: key, was: l.was, is: l.is, how: how})
	}
	unit := t.Map.Unit
	if t.Map.Kind == view.Histogram {
		unit = view.NoUnit // they count values
	}
	s.add(t.Map.Name, keys, unit, rows)
	if t.Map.Kind == view.Histogram {
		s.add(t.Map.Name+" buckets", append(keys, element("bucket")), view.NoUnit, buckets)
	}
}
