package saved

import (
	"encoding/binary"
	"errors"
	"math"
	"strings"
	"time"

	"github.com/hawktrace/hawk/internal/view"
)

// lengthOf is how long a run took, by a file that may say anything.
func lengthOf(ns int64) time.Duration { return time.Duration(max(ns, 0)) }

// errDamaged says that a profile is none.
var errDamaged = errors.New("it is no profile of pprof, or damaged")

// each calls f for the fields of a protobuf message: with a number, or with bytes.
// b is nil for a number and never for bytes, not even for none: numbers tells them apart by it.
func each(data []byte, f func(field int, n uint64, b []byte) error) error {
	for len(data) > 0 {
		tag, k := binary.Uvarint(data)
		// Fields are numbered from 1, and larger numbers would not fit int on all machines.
		if k <= 0 || tag>>3 == 0 || tag>>3 > math.MaxInt32 {
			return errDamaged
		}
		data = data[k:]
		var n uint64
		var b []byte
		switch tag & 7 {
		case 0:
			if n, k = binary.Uvarint(data); k <= 0 {
				return errDamaged
			}
		// Fixed widths, of which profiles have none that is wanted here.
		case 1, 5:
			if k = map[uint64]int{1: 8, 5: 4}[tag&7]; len(data) < k {
				return errDamaged
			}
		case 2:
			size, head := binary.Uvarint(data)
			// The rest is compared, not the end: a sum with size could overflow.
			if head <= 0 || size > uint64(len(data)-head) {
				return errDamaged
			}
			b, k = data[head:head+int(size)], head+int(size)
		// Groups belong to an older protobuf. No profile has them.
		default:
			return errDamaged
		}
		if err := f(int(tag>>3), n, b); err != nil {
			return err
		}
		data = data[k:]
	}
	return nil
}

// numbers adds a repeated number, packed or not.
func numbers(list []uint64, n uint64, b []byte) ([]uint64, error) {
	if b == nil {
		return append(list, n), nil
	}
	for len(b) > 0 {
		n, k := binary.Uvarint(b)
		if k <= 0 {
			return nil, errDamaged
		}
		list, b = append(list, n), b[k:]
	}
	return list, nil
}

// A pprofFile is a profile as it is encoded, by numbers.
type pprofFile struct {
	strings   []string
	types     [][2]uint64 // type and unit
	samples   []pprofSample
	locations map[uint64]pprofLocation
	functions map[uint64]uint64 // names
	mappings  map[uint64]pprofMapping
	chosen    uint64 // default sample type
	comments  []uint64
	length    int64
}

// A pprofMapping is a file in memory: where it begins there, and where in the file that is.
type pprofMapping struct{ start, offset, file uint64 }

// A pprofSample has its locations innermost first, and a value for each type.
type pprofSample struct{ locations, values []uint64 }

// A pprofLocation is an address, with more than one function if some are inlined there.
type pprofLocation struct {
	mapping, addr uint64
	functions     []uint64 // the innermost first
}

// parsePprof reads a profile of pprof, by its default type of sample.
func parsePprof(data []byte) (*Profile, error) {
	f := pprofFile{locations: map[uint64]pprofLocation{}, functions: map[uint64]uint64{},
		mappings: map[uint64]pprofMapping{}}
	// Messages come in any order: names are looked up when all have been read.
	if err := each(data, f.field); err != nil {
		return nil, err
	}
	// The table of strings is never empty: its first is the empty one.
	if len(f.types) == 0 || len(f.strings) == 0 {
		return nil, errDamaged
	}
	// As pprof does: the last type unless the file names one.
	chosen := len(f.types) - 1
	for i, t := range f.types {
		// 0 is the empty string, by which the file names no type.
		if f.chosen != 0 && t[0] == f.chosen {
			chosen = i
		}
	}
	p := &Profile{Length: lengthOf(f.length), kinds: map[string]view.FrameKind{}}
	p.Type, p.Unit, p.Map = f.text(f.types[chosen][0]), f.text(f.types[chosen][1]), f.ofMap()
	g := newGatherer()
	defer g.done()
	var path []string
	for _, s := range f.samples {
		if chosen >= len(s.values) {
			return nil, errDamaged
		}
		path = path[:0]
		// Locations stand innermost first, frames of a Profile outermost first.
		for i := len(s.locations) - 1; i >= 0; i-- {
			path = f.frames(path, f.locations[s.locations[i]], p.kinds)
			if len(path) > maxDepth {
				return nil, errDeep
			}
		}
		if err := g.add(p, path, int64(s.values[chosen])); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// ofMap is the map whose stacks they are, which hawk's own profiles say among their comments; "" for others.
func (f *pprofFile) ofMap() string {
	if len(f.comments) == 0 || !strings.HasPrefix(f.text(f.comments[0]), "hawk ") {
		return ""
	}
	for _, n := range f.comments {
		if name, is := strings.CutPrefix(f.text(n), "map @"); is {
			return "@" + name
		}
	}
	return ""
}

// text is a string by its number in the table; "" for one that is not there.
func (f *pprofFile) text(n uint64) string {
	if n < uint64(len(f.strings)) {
		return f.strings[n]
	}
	return ""
}

// frames adds the functions of a location, the outermost first.
func (f *pprofFile) frames(path []string, l pprofLocation, kinds map[string]view.FrameKind) []string {
	in := f.mappings[l.mapping]
	file := f.text(in.file)
	kind := view.UserFrame
	// hawk, perf and others call the kernel's mapping [kernel.kallsyms] and the like.
	if strings.HasPrefix(file, "[kernel") {
		kind = view.KernelFrame
	}
	add := func(name string) {
		name = view.Line(name)
		// Parts of keys have no mapping in a profile that hawk has written.
		if kinds[name] = kind; l.mapping == 0 {
			kinds[name] = view.LabelFrame
		}
		path = append(path, name)
	}
	// A location may claim any number of inlined functions, so that each one is counted.
	for i := len(l.functions) - 1; i >= 0 && len(path) <= maxDepth; i-- {
		add(f.text(f.functions[l.functions[i]]))
	}
	// Nobody has found a name for the address: a place in a file is the same in each run.
	if len(l.functions) == 0 {
		if file == "" || file[0] == '[' {
			add(view.Place("", l.addr))
		} else {
			add(view.Place(file, l.addr-in.start+in.offset))
		}
	}
	return path
}

// field takes a field of the message Profile, by its number in profile.proto of pprof.
func (f *pprofFile) field(field int, n uint64, b []byte) (err error) {
	var id uint64
	switch field {
	case 1:
		var t [2]uint64
		err = each(b, func(field int, n uint64, _ []byte) error {
			if field == 1 || field == 2 {
				t[field-1] = n
			}
			return nil
		})
		f.types = append(f.types, t)
	case 2:
		var s pprofSample
		err = each(b, func(field int, n uint64, b []byte) (err error) {
			switch field {
			case 1:
				s.locations, err = numbers(s.locations, n, b)
			case 2:
				s.values, err = numbers(s.values, n, b)
			}
			return err
		})
		f.samples = append(f.samples, s)
	case 3:
		var m pprofMapping
		var end uint64
		err = each(b, func(field int, n uint64, _ []byte) error {
			if to := [...]*uint64{1: &id, 2: &m.start, 3: &end, 4: &m.offset, 5: &m.file}; field < len(to) {
				*to[field] = n
			}
			return nil
		})
		f.mappings[id] = m
	case 5:
		var name uint64
		err = each(b, func(field int, n uint64, _ []byte) error {
			switch field {
			case 1:
				id = n
			case 2:
				name = n
			}
			return nil
		})
		f.functions[id] = name
	case 4:
		var l pprofLocation
		err = each(b, func(field int, n uint64, b []byte) error {
			switch field {
			case 1:
				id = n
			case 2:
				l.mapping = n
			case 3:
				l.addr = n
			case 4:
				// Message Line has the number of its function first; the rest is of the source.
				return each(b, func(field int, n uint64, _ []byte) error {
					if field == 1 {
						l.functions = append(l.functions, n)
					}
					return nil
				})
			}
			return nil
		})
		f.locations[id] = l
	case 6:
		f.strings = append(f.strings, string(b))
	case 10:
		f.length = int64(n)
	case 13:
		f.comments, err = numbers(f.comments, n, b)
	case 14:
		f.chosen = n
	}
	return err
}
