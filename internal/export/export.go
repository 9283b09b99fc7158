// Package export writes what a run has said as files that others read: a file of this
// package for each format, with its row of the table. They take a view.Run, which is
// values, and know nothing of how it came about.
//
// Names from the traced world (commands, files, keys) are data: each format escapes them
// so that they cannot act.
package export

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hawktrace/hawk/internal/order"
	"github.com/hawktrace/hawk/internal/value"
	"github.com/hawktrace/hawk/internal/view"
)

// A Format is a form that a run can be written in.
type Format struct {
	Name   string
	Ext    string // of file names
	Doc    string // what it is, and what reads it
	Binary bool   // is nothing for a terminal
	Takes  Takes
	Stamps bool // shows when and by whom events were sent
	Sums   bool // shows what the values of a histogram come to
	Past   bool // shows what maps held over time
	Looks  bool // says what maps hold as often as it is told to
	Bounds bool // says where totals are lower bounds
	// Socket is where it goes unless another one is named: each Write is a datagram. "": it
	// is a file.
	Socket string
	// Write writes a run, of which only the given maps matter. It is nil of streams.
	Write func(w io.Writer, r *view.Run, maps []*view.Map, o Options) error
	// Stream makes a feed that writes what comes as it comes.
	Stream func(w io.Writer, maps []*view.Map, o Options) view.Feed
}

// Takes says which maps a format can show, and how many in a file.
type Takes uint8

const (
	Everything Takes = iota // all maps, and events
	Profiles                // those that weigh something, all in one file
	OneProfile              // one of them
	OneTable                // one map of any kind
)

// One reports whether a file holds one map.
func (t Takes) One() bool { return t == OneProfile || t == OneTable }

// Weighed reports whether a file shows what rows weigh.
func (t Takes) Weighed() bool { return t == Profiles || t == OneProfile }

// Options say how to write.
type Options struct {
	Version   string // of hawk
	Annotate  bool   // folded: say which functions are the kernel's, inlined, made at run time
	Rates     bool   // tables say how fast numbers grew since the file before
	Addresses bool   // frames of one function at different addresses are kept apart
	// Every is how often streams say what maps hold; 0: in the end alone.
	Every time.Duration
}

// formats are the rows that the files of this package define, by name.
var formats []*Format

// define makes a format one of the table, which is all that its file has to do: help, completion, the manual and the
// views take what they say about formats from here.
func define(f Format) *Format {
	formats = append(formats, &f)
	order.By(formats, func(a, b *Format) int { return strings.Compare(a.Name, b.Name) })
	return &f
}

// Formats are all formats, by name.
func Formats() []*Format { return formats }

// OfMap reports whether a file can be made of one map, whatever else the run said.
func (f *Format) OfMap(m *view.Map) bool {
	switch f.Takes {
	case OneTable:
		return true
	case OneProfile, Profiles:
		return m.Weight != view.NoWeight
	}
	return false
}

// Find is the format of a name, nil if there is none.
func Find(name string) *Format {
	for _, f := range Formats() {
		if f.Name == name {
			return f
		}
	}
	return nil
}

// FindFile is the format that the name of a file ends in, nil if there is none: the one that is called so before
// others, and the longest end.
func FindFile(file string) (found *Format) {
	for _, f := range Formats() {
		if f.Ext == "" || !strings.HasSuffix(file, "."+f.Ext) {
			continue
		}
		// The end speedscope.json beats json, and html is written as html rather than as flame.
		if found == nil || len(f.Ext) > len(found.Ext) || len(f.Ext) == len(found.Ext) && f.Name == f.Ext {
			found = f
		}
	}
	return found
}

// Names are the names of all formats.
func Names() (out []string) {
	for _, f := range formats {
		out = append(out, f.Name)
	}
	return out
}

// errNoProfile says what a map needs for a picture of stacks.
var errNoProfile = errors.New("no map of this script can be a profile: a key needs a stack, or a value that " +
	"counts (count, sum, avg, stats, hist)")

// Choose are the maps of a script that a format shows: those that are named, or else all
// that it can. It is decided before the run.
func (f *Format) Choose(s *view.Script, names []string) ([]*view.Map, error) {
	if names != nil {
		return f.named(s, names)
	}
	var out, weighted []*view.Map
	for _, m := range s.Maps {
		switch {
		// State of a script is not what it reports.
		case m.Role != view.Result:
		case f.Takes == Everything, f.Takes == OneTable, m.Profile():
			out = append(out, m)
		case m.Weight != view.NoWeight:
			weighted = append(weighted, m)
		}
	}
	// Maps with stacks are meant by a profile; numbers are drawn where there are none.
	if f.Takes.Weighed() {
		if len(out) == 0 {
			out = weighted
		}
		if len(out) == 0 {
			return nil, errNoProfile
		}
	}
	// A table of a script without maps is one of its events.
	if f.Takes == OneTable && len(out) == 0 && !hasFields(s) {
		return nil, errors.New("this script has neither maps to show nor events with values")
	}
	return out, nil
}

// named are the maps of names; the error says which maps there are, or why none can be shown.
func (f *Format) named(s *view.Script, names []string) (out []*view.Map, err error) {
	for _, name := range names {
		m := s.Map(name)
		if m == nil {
			var have []string
			for _, m := range s.Maps {
				have = append(have, m.Name)
			}
			return nil, fmt.Errorf("this script has no map %s; there are: %s", name, strings.Join(have, ", "))
		}
		switch {
		// A map that is named twice is shown once.
		case slices.Contains(out, m):
		case m.Weight == view.NoWeight && f.Takes.Weighed():
			err = noProfile(s, m)
		default:
			out = append(out, m)
		}
	}
	// A map without a picture is an error only if no other has one.
	if len(out) == 0 {
		return nil, err
	}
	return out, nil
}

// noProfile says why a map cannot be a profile, and which can.
func noProfile(s *view.Script, m *view.Map) error {
	why := "its values do not count (count, sum, avg, stats, hist)"
	if !m.Keyed() {
		why = "it has no key, and so no stack"
	} else if !slices.ContainsFunc(m.Keys, func(e view.Element) bool { return e.Frames != view.NoFrames }) {
		why = "its key has no stack, and " + why
	}
	var stacks, others []string
	for _, m := range s.Maps {
		switch {
		case m.Profile():
			stacks = append(stacks, m.Name)
		case m.Weight != view.NoWeight:
			others = append(others, m.Name)
		}
	}
	have := "; no map of this script can be one"
	if len(stacks) > 0 {
		have = "; maps with a stack: " + strings.Join(stacks, ", ")
	} else if len(others) > 0 {
		have = "; maps that count by key: " + strings.Join(others, ", ")
	}
	return fmt.Errorf("%s cannot be a profile: %s%s", m.Name, why, have)
}

// soFar is what streams keep of a run: the maps that they show, each as it was read last, and the numbers of sites.
type soFar struct {
	run   view.Run
	maps  map[*view.Map]bool
	last  map[*view.Map]view.Snapshot
	sites map[*view.Site]int
	names map[*view.Site][]string // of fields with the values of an event
}

// newSoFar keeps what comes of some maps.
func newSoFar(maps []*view.Map) soFar {
	s := soFar{maps: map[*view.Map]bool{}, last: map[*view.Map]view.Snapshot{}, sites: map[*view.Site]int{},
		names: map[*view.Site][]string{}}
	for _, m := range maps {
		s.maps[m] = true
	}
	return s
}

// begin notes what the run is, and numbers the sites of its script. Values of events have the names that field makes,
// beside those that fields of hawk's own have.
func (s *soFar) begin(b view.Begin, own []string, field func(string) string) {
	s.run.Begin = b
	for i, site := range b.Script.Sites {
		s.sites[site] = i
		var names []string
		for _, a := range site.Args {
			names = append(names, field(a.Name))
		}
		s.names[site] = beside(own, names)
	}
}

// rowFields are the names of fields with the parts of a map's key, and with the columns of a record.
func rowFields(m *view.Map, own []string, field func(string) string) (keys, columns []string) {
	var names []string
	for i := range m.Keys {
		names = append(names, field(keyName(&m.Keys[i])))
	}
	for i := range m.Columns {
		names = append(names, field(m.Columns[i].Name))
	}
	names = beside(own, names)
	return names[:len(m.Keys)], names[len(m.Keys):]
}

// columnsOf are the parts of a value that have columns of their own, nil if it is one value.
func columnsOf(m *view.Map, v value.Value) []value.Value {
	if m.Kind == view.Record {
		if parts := view.Flatten(m.Type, v); len(parts) == len(m.Columns) {
			return parts
		}
	}
	return nil
}

// read keeps the last reading of a map that is shown.
func (s *soFar) read(snap view.Snapshot) {
	// Streams write tables at the end: earlier readings are replaced.
	if s.maps[snap.Map] {
		s.last[snap.Map] = snap
	}
}

// tables calls f with the maps as they were at the end, in the order of the script.
// Go's maps have no order; files of one script are to look alike.
func (s *soFar) tables(f func(m *view.Map, snap *view.Snapshot) error) error {
	for _, m := range s.run.Script.Maps {
		if snap, ok := s.last[m]; ok {
			if err := f(m, &snap); err != nil {
				return err
			}
		}
	}
	return nil
}

// beside are names that are told apart from those that are taken, and from each other: pid, pid_2.
func beside(taken []string, list []string) []string {
	out := slices.Clone(taken)
	for _, name := range list {
		free := name
		// Names count from 2, as the first keeps its own.
		for n := 2; slices.Contains(out, free); n++ {
			free = name + "_" + strconv.Itoa(n)
		}
		out = append(out, free)
	}
	return out[len(taken):]
}

// keyName is what a part of a key is called in a column or a field.
func keyName(e *view.Element) string {
	if e.Frames != view.NoFrames {
		return e.Frames.String() + "_frames"
	}
	return e.Name
}

// hasFields reports whether a script has events with values.
func hasFields(s *view.Script) bool {
	return slices.ContainsFunc(s.Sites, func(site *view.Site) bool { return len(site.Args) > 0 })
}

// profiles are those of maps, in their order; maps that were not read are left out.
func profiles(r *view.Run, maps []*view.Map) (out []*view.Profile) {
	for _, m := range maps {
		if snap := r.Snapshot(m); snap != nil {
			if p := view.NewProfile(snap); p != nil {
				out = append(out, p)
			}
		}
	}
	return out
}

// one is the profile of the one map, without samples if it was not read.
func one(r *view.Run, maps []*view.Map) *view.Profile {
	snap := r.Snapshot(maps[0])
	if snap == nil {
		snap = &view.Snapshot{Map: maps[0]}
	}
	return view.NewProfile(snap)
}
