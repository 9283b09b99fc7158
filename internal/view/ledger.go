package view

import (
	"cmp"
	"encoding/binary"
	"maps"
	"slices"
	"strings"

	"github.com/hawktrace/hawk/internal/order"
)

// A Ledger keeps the totals of an additive map, whatever is cleared, zeroed or
// deleted meanwhile:
//
//	total(key) = kept(key) + what the map holds now
//
// Keys and cells are the bytes that the kernel has. It has no lock.
type Ledger struct {
	fold  func(dst, src []byte)
	grows int // the words of a cell from this one on only grow
	limit int // bytes of keys and cells

	rows  map[string]*entry
	round uint64 // of reading the whole map
	bytes int
	// others are the rows that had to go to stay within the limit, in one cell.
	others  []byte
	folded  int
	partial bool // some of others is a lower bound
}

// An entry is what a ledger keeps of an element.
type entry struct {
	kept []byte // nil: nothing
	last []byte // as the map was read last; empty: it was not there
	seen uint64 // the round in which that was
	low  bool   // some went unseen
}

// ledgerBytes bounds the keys and cells of a ledger.
const ledgerBytes = 64 << 20

// NewLedger makes a ledger of cells that fold adds up, in which the words from
// number grows on never become less; limit is in bytes, 0 for the default.
func NewLedger(fold func(dst, src []byte), grows, limit int) *Ledger {
	if limit <= 0 {
		limit = ledgerBytes
	}
	return &Ledger{fold: fold, limit: limit, grows: grows, rows: map[string]*entry{}}
}

// Took adds an element that was taken out of the map.
func (l *Ledger) Took(key, cell []byte) {
	e := l.after(key, cell)
	l.forget(e)
	l.keep(e, cell)
}

// Begin begins a read of the whole map, of which Seen is told each element. End ends it
// if nothing went wrong.
func (l *Ledger) Begin() { l.round++ }

// Seen notes what the map holds of a key.
func (l *Ledger) Seen(key, cell []byte) {
	e := l.after(key, cell)
	l.bytes += len(cell) - len(e.last)
	e.last, e.seen = append(e.last[:0], cell...), l.round
}

// End ends a read: keys that were not seen are gone, though nobody took them.
func (l *Ledger) End() {
	for _, e := range l.rows {
		if len(e.last) > 0 && e.seen != l.round {
			l.keep(e, e.last)
			l.forget(e)
			e.low = true
		}
	}
	l.trim()
}

// Totals calls f for every key with its total and what the map holds of it, which is empty
// if it is gone, in the order of the keys' bytes. The cells are valid during the call, and
// one if they are the same. low says that the total is a lower bound.
func (l *Ledger) Totals(f func(key, cell, now []byte, low bool)) {
	var sum []byte
	for _, key := range slices.Sorted(maps.Keys(l.rows)) {
		e := l.rows[key]
		switch {
		case e.kept == nil && len(e.last) == 0:
			continue
		case e.kept == nil:
			f([]byte(key), e.last, e.last, e.low)
			continue
		default:
			sum = append(sum[:0], e.kept...)
			l.fold(sum, e.last)
		}
		f([]byte(key), sum, e.last, e.low)
	}
}

// Others is the total of the rows that had to go, and how many there were.
func (l *Ledger) Others() (cell []byte, rows int, low bool) { return l.others, l.folded, l.partial }

// after is the row of a key of which cell is known now. If it shrank, a program has
// deleted it and made it anew: what it held counts, at least.
func (l *Ledger) after(key, cell []byte) *entry {
	e := l.rows[string(key)]
	if e == nil {
		e = &entry{}
		l.rows[string(key)] = e
		l.bytes += len(key)
	}
	if len(e.last) > 0 && l.shrank(e.last, cell) {
		l.keep(e, e.last)
		e.low = true
	}
	return e
}

func (l *Ledger) keep(e *entry, cell []byte) {
	if e.kept == nil {
		e.kept = make([]byte, len(cell))
		l.bytes += len(cell)
	}
	l.fold(e.kept, cell)
}

func (l *Ledger) forget(e *entry) {
	l.bytes -= len(e.last)
	e.last = nil
}

// trim folds the smallest totals into one row until the limit holds. Rows that
// the map still has stay.
func (l *Ledger) trim() {
	if l.bytes <= l.limit {
		return
	}
	var gone []string
	for key, e := range l.rows {
		if len(e.last) == 0 && e.kept != nil {
			gone = append(gone, key)
		}
	}
	order.By(gone, func(a, b string) int {
		return cmp.Or(cmp.Compare(weigh(l.rows[a].kept), weigh(l.rows[b].kept)), strings.Compare(a, b))
	})
	for _, key := range gone {
		if l.bytes <= l.limit {
			return
		}
		e := l.rows[key]
		if l.others == nil {
			l.others = make([]byte, len(e.kept))
		}
		l.fold(l.others, e.kept)
		l.partial = l.partial || e.low
		l.folded++
		l.bytes -= len(key) + len(e.kept)
		delete(l.rows, key)
	}
}

// AddWords adds a cell to another word by word, which folds plain integers.
func AddWords(dst, src []byte) {
	for len(dst) >= 8 && len(src) >= 8 {
		sum := binary.NativeEndian.Uint64(dst) + binary.NativeEndian.Uint64(src)
		binary.NativeEndian.PutUint64(dst, sum)
		dst, src = dst[8:], src[8:]
	}
}

// shrank reports whether a word of a cell is less than it was. One that wrapped
// around is not: the change counts modulo 2^64 if that is below 2^63.
func (l *Ledger) shrank(old, now []byte) bool {
	for at := 8 * l.grows; at+8 <= min(len(old), len(now)); at += 8 {
		if binary.NativeEndian.Uint64(now[at:])-binary.NativeEndian.Uint64(old[at:]) >= 1<<63 {
			return true
		}
	}
	return false
}

// weigh is the sum of a cell's words.
func weigh(cell []byte) (sum uint64) {
	for ; len(cell) >= 8; cell = cell[8:] {
		sum += binary.NativeEndian.Uint64(cell)
	}
	return sum
}
