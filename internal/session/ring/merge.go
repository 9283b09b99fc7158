package ring

import (
	"encoding/binary"
	"errors"
	"sync/atomic"
)

// timeBytes is the size of the time that a record begins with where a program may choose between
// several buffers.
const timeBytes = 8

// Rings are the buffers that one run reads, each written by a group of processors.
//
// Records of one buffer come in its order, those of several in order of time. The time was taken before
// there was room for the record. So a record is handed over once all buffers have been looked at after
// it was seen: whatever is not there yet was not sent before this one was begun. No clock of the reader is
// needed for that, which may be another than that of the programs.
type Rings struct {
	lanes []lane
	timed bool
}

// A lane is a buffer among several.
type lane struct {
	*Ring
	seen  uint64 // up to where records were there at the look before the last one
	known uint64 // at the last one
	rec   []byte // the next record, nil if that was not asked for
	time  uint64 // when it was made
	err   error  // why it is not there
}

// NewRings reads buffers together. Records begin with their time if timed, as they must if there are
// several.
func NewRings(rings []*Ring, timed bool) *Rings {
	r := &Rings{timed: timed}
	for _, one := range rings {
		r.lanes = append(r.lanes, lane{Ring: one, seen: one.position, known: one.position})
	}
	return r
}

func (r *Rings) Close() error {
	var err error
	for _, l := range r.lanes {
		err = errors.Join(err, l.Ring.Close())
	}
	return err
}

// Empty reports whether nothing is in any of them, not even a record that is still being written.
func (r *Rings) Empty() bool {
	for i := range r.lanes {
		if !r.lanes[i].Ring.Empty() {
			return false
		}
	}
	return true
}

// Filling reports whether more than half of one of them is taken.
func (r *Rings) Filling() bool {
	for i := range r.lanes {
		if l := &r.lanes[i]; l.Used() > l.Size/2 {
			return true
		}
	}
	return false
}

// Read is as that of a Ring. The records have no time in front of them.
func (r *Rings) Read(most int, handle func(rec []byte) bool) (n int, err error) {
	if !r.timed {
		return r.lanes[0].Read(most, handle)
	}
	if len(r.lanes) == 1 {
		return r.lanes[0].Read(most, func(rec []byte) bool {
			return len(rec) < timeBytes || handle(rec[timeBytes:])
		})
	}
	// A second look sees what came meanwhile, and lets what the first one saw be handed over.
	for more, vain := true, 0; more && vain < 2 && n < most && err == nil; {
		r.look()
		before := n
		for more && n < most && err == nil {
			var l *lane
			var until uint64
			if l, until, err = r.first(); l == nil {
				break
			}
			for {
				more = handle(l.rec)
				n++
				l.next()
				if !more || n == most || !l.ready() || l.time > until || l.position >= l.seen {
					break
				}
			}
		}
		if vain++; n > before {
			vain = 0
		}
	}
	for i := range r.lanes {
		r.lanes[i].commit()
	}
	return n, err
}

// look sees how far programs have come in each of the buffers.
func (r *Rings) look() {
	for i := range r.lanes {
		l := &r.lanes[i]
		l.seen, l.known = l.known, atomic.LoadUint64(l.Producer)
	}
}

// first is the buffer with the record to be handed over next, and the time up to which others of the
// same buffer follow it. It is nil if one has to wait: for a record that is being written, whose time is not
// known, or for another look.
func (r *Rings) first() (best *lane, until uint64, err error) {
	until = ^uint64(0)
	for i := range r.lanes {
		l := &r.lanes[i]
		if !l.ready() {
			if l.err != nil || l.position < l.known {
				return nil, 0, l.err
			}
			continue
		}
		switch {
		case best == nil:
			best = l
		case l.time < best.time:
			best, until = l, min(until, best.time)
		default:
			until = min(until, l.time)
		}
	}
	if best != nil && best.position >= best.seen {
		return nil, 0, nil
	}
	return best, until, nil
}

// ready reports whether the next record is there and known.
func (l *lane) ready() bool {
	for l.rec == nil && l.position < l.known {
		header, rec, err := l.peek()
		switch l.err = err; {
		case header&Busy != 0:
			return false
		case header&Discard != 0 || len(rec) < timeBytes:
			l.skip(len(rec))
		default:
			l.time, l.rec = binary.NativeEndian.Uint64(rec), rec[timeBytes:]
		}
	}
	return l.rec != nil
}

// next goes behind the record.
func (l *lane) next() {
	l.skip(timeBytes + len(l.rec))
	l.rec = nil
}
