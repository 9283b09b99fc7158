package view

import (
	"bytes"
	"cmp"
	"encoding/binary"

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

	// Maps may have millions of keys: what is kept of them lies side by side, without a pointer to any.
	entries []entry
	numbers Index // in entries
	hasher  Hasher
	store   store
	key     int    // bytes of a key, which all have in common
	cell    int    // and of a cell
	round   uint32 // of reading the whole map
	bytes   int
	// others are the rows that had to go to stay within the limit, in one cell.
	others  []byte
	folded  int
	partial bool // some of others is a lower bound
}

// An entry is what a ledger keeps of an element.
type entry struct {
	key  piece
	kept piece  // 0: nothing
	last piece  // as the map was read last; 0: it was not there
	seen uint32 // twice the round in which that was, and one more if some went unseen
}

// low reports whether some went unseen.
func (e *entry) low() bool { return e.seen&1 != 0 }

// ledgerBytes bounds the keys and cells of a ledger.
const ledgerBytes = 64 << 20

// NewLedger makes a ledger of cells that fold adds up, in which the words from
// number grows on never become less; limit is in bytes, 0 for the default.
func NewLedger(fold func(dst, src []byte), grows, limit int) *Ledger {
	if limit <= 0 {
		limit = ledgerBytes
	}
	return &Ledger{fold: fold, limit: limit, grows: grows, hasher: NewHasher()}
}

// Took adds an element that was taken out of the map.
func (l *Ledger) Took(key, cell []byte) {
	e := l.after(key, cell)
	l.forget(e)
	l.keep(e, cell)
}

// Begin begins a read of the whole map, of which Seen is told each element. End ends it
// if nothing went wrong.
func (l *Ledger) Begin() { l.round += 2 }

// Seen notes what the map holds of a key.
func (l *Ledger) Seen(key, cell []byte) {
	e := l.after(key, cell)
	if e.last == 0 {
		e.last = l.store.take(l.cell)
		l.bytes += l.cell
	}
	copy(l.at(e.last), cell)
	e.seen = l.round | e.seen&1
}

// End ends a read: keys that were not seen are gone, though nobody took them.
func (l *Ledger) End() {
	for i := range l.entries {
		if e := &l.entries[i]; e.last != 0 && e.seen&^1 != l.round {
			l.keep(e, l.at(e.last))
			l.forget(e)
			e.seen |= 1
		}
	}
	l.trim()
}

// Len is how many keys it knows.
func (l *Ledger) Len() int { return len(l.entries) }

// Totals calls f for every key with its total and what the map holds of it, which is empty
// if it is gone, in the order in which the keys came. The key and the cells are valid during the call, and
// the cells one if they are the same. low says that the total is a lower bound.
func (l *Ledger) Totals(f func(key, cell, now []byte, low bool)) {
	var sum []byte
	for i := range l.entries {
		e := &l.entries[i]
		key, last := l.store.at(e.key, l.key), l.at(e.last)
		switch {
		case e.kept == 0 && e.last == 0:
			continue
		case e.kept == 0:
			f(key, last, last, e.low())
			continue
		case len(last) == 0:
			sum = append(sum[:0], l.at(e.kept)...)
		default:
			sum = append(sum[:0], l.at(e.kept)...)
			l.fold(sum, last)
		}
		f(key, sum, last, e.low())
	}
}

// at is a cell, which is empty if there is none.
func (l *Ledger) at(p piece) []byte { return l.store.at(p, l.cell) }

// Others is the total of the rows that had to go, and how many there were.
func (l *Ledger) Others() (cell []byte, rows int, low bool) { return l.others, l.folded, l.partial }

// after is the row of a key of which cell is known now. If it shrank, a program has
// deleted it and made it anew: what it held counts, at least. The row is valid until the next one is made.
func (l *Ledger) after(key, cell []byte) *entry {
	l.key, l.cell = len(key), len(cell)
	at, known := l.number(key)
	if !known {
		e := entry{key: l.store.take(l.key)}
		copy(l.store.at(e.key, l.key), key)
		l.entries = append(l.entries, e)
		l.bytes += l.key
	}
	e := &l.entries[at]
	if last := l.at(e.last); len(last) > 0 && l.shrank(last, cell) {
		l.keep(e, last)
		e.seen |= 1
	}
	return e
}

// number is that of a key, the next one if it has none.
func (l *Ledger) number(key []byte) (n int, known bool) {
	return l.numbers.Number(l.hasher.ofBytes(key), func(n int) bool {
		return bytes.Equal(l.store.at(l.entries[n].key, l.key), key)
	})
}

func (l *Ledger) keep(e *entry, cell []byte) {
	if e.kept == 0 {
		e.kept = l.store.take(l.cell)
		clear(l.at(e.kept))
		l.bytes += l.cell
	}
	l.fold(l.at(e.kept), cell)
}

func (l *Ledger) forget(e *entry) {
	if e.last != 0 {
		l.bytes -= l.cell
		l.store.give(e.last, l.cell)
		e.last = 0
	}
}

// trim folds the smallest totals into one row until the limit holds. Rows that
// the map still has stay.
func (l *Ledger) trim() {
	if l.bytes <= l.limit {
		return
	}
	var gone []int
	for i := range l.entries {
		if e := &l.entries[i]; e.last == 0 && e.kept != 0 {
			gone = append(gone, i)
		}
	}
	order.By(gone, func(a, b int) int {
		x, y := &l.entries[a], &l.entries[b]
		return cmp.Or(cmp.Compare(weigh(l.at(x.kept)), weigh(l.at(y.kept))),
			bytes.Compare(l.store.at(x.key, l.key), l.store.at(y.key, l.key)))
	})
	for _, i := range gone {
		if l.bytes <= l.limit {
			break
		}
		e := &l.entries[i]
		if l.others == nil {
			l.others = make([]byte, l.cell)
		}
		l.fold(l.others, l.at(e.kept))
		l.partial = l.partial || e.low()
		l.folded++
		l.bytes -= l.key + l.cell
		l.store.give(e.key, l.key)
		l.store.give(e.kept, l.cell)
		*e = entry{}
	}
	// Entries that are kept have a cell.
	all := l.entries
	l.entries, l.numbers = all[:0], Index{}
	for i := range all {
		if e := &all[i]; e.last != 0 || e.kept != 0 {
			l.entries = append(l.entries, *e)
			l.number(l.store.at(e.key, l.key))
		}
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
