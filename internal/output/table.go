package output

import (
	"bytes"
	"fmt"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"github.com/hawktrace/hawk/internal/order"
	"github.com/hawktrace/hawk/internal/value"
)

type (
	// Table is maps with the same key, side by side: a row for each key.
	Table struct {
		Spec string // of the columns, see ParseColumns; blanks in front indent the lines
		Rows [][]value.Value
		// Hidden has a bit for each cell of a row that has no column.
		Hidden uint64
		Keys   int // so many cells in front are of the key
		// Named: the last column names what a row is about, and not the first one.
		Named bool
		Sort  int // the column whose largest values come first, or the smallest texts
		Top   int // rows that are shown; 0: all
		// Last: the rows that would come first come last.
		Last bool
		// Others: a last row says how many there are besides, and their sums.
		Others bool
		// Dropped is how many updates of maps found no room.
		Dropped uint64
	}
	// Screen is a new page: what follows stands on top of an empty terminal.
	Screen struct {
		Keep bool // what was there stays
	}
)

// Unsorted is the Sort of a table whose rows are in order.
const Unsorted = -1

func (Table) item()  {}
func (Screen) item() {}

// arranged are the rows in order, the top ones of them, and how many were left out
// with their sums; without hidden cells.
// Rows that are cut off are still in t.Rows, for a sink that wants more.
func (t *Table) arranged() (rows [][]value.Value, others int, sums []value.Value) {
	rows = slices.Clone(t.Rows)
	if t.Sort != Unsorted {
		t.sort(rows, 1)
	}
	if t.Top > 0 && len(rows) > t.Top {
		rest := rows[t.Top:]
		rows, others = rows[:t.Top], len(rest)
		if t.Others {
			sums = make([]value.Value, len(rest[0]))
			for i := t.Keys; i < len(sums); i++ {
				sums[i] = sum(rest, i)
			}
		}
	}
	if t.Last {
		t.sort(rows, -1)
	}
	for i := range rows {
		rows[i] = t.visible(rows[i])
	}
	return rows, others, t.visible(sums)
}

// visible are the cells that have columns.
// Rows differ by parts of the key that are hidden, and may so look the same.
func (t *Table) visible(cells []value.Value) []value.Value {
	if t.Hidden == 0 || cells == nil {
		return cells
	}
	var out []value.Value
	for i, c := range cells {
		if t.Hidden>>i&1 == 0 {
			out = append(out, c)
		}
	}
	return out
}

// sort puts rows in order by the column that decides, the other way round if sign is -1,
// and where that is equal by their keys.
func (t *Table) sort(rows [][]value.Value, sign int) {
	order.Stably(rows, func(a, b []value.Value) int {
		if c := compareCells(a[t.Sort], b[t.Sort]); c != 0 {
			return c * sign
		}
		for i := range t.Keys {
			if c := value.Compare(a[i], b[i]); c != 0 {
				return c
			}
		}
		return 0
	})
}

// compareCells puts the larger number first, and the smaller of other values.
func compareCells(a, b value.Value) int {
	x, ok := integer(a)
	y, also := integer(b)
	if !ok || !also {
		return value.Compare(a, b)
	}
	switch {
	case x.neg != y.neg && x.neg, x.neg == y.neg && x.neg != (x.mag < y.mag) && x.mag != y.mag:
		return 1
	case x == y:
		return 0
	}
	return -1
}

// sum adds the numbers of a column up; nil if there are others or it is too large.
// A sum of temperatures would be as meaningless as one of texts, but nobody here can tell.
func sum(rows [][]value.Value, column int) value.Value {
	var total uint64
	for _, row := range rows {
		n, ok := integer(row[column])
		if !ok || n.neg {
			return nil
		}
		var carry uint64
		if total, carry = bits.Add64(total, n.mag, 0); carry != 0 {
			return nil
		}
	}
	return value.Uint(total)
}

// appendTable adds the lines of a table, at most so many.
// The line about what did not fit is never cut: it says that the others are not all.
func appendTable(dst []byte, columns []Column, t *Table, headless bool, lines int) []byte {
	indent := len(t.Spec) - len(strings.TrimLeft(t.Spec, " "))
	add := func(line []byte) {
		if lines--; lines >= 0 {
			dst = append(appendBlanks(dst, indent), line...)
		}
	}
	if !headless {
		add(appendHeader(nil, columns))
	}
	rows, others, sums := t.arranged()
	for _, cells := range rows {
		add(appendRow(nil, columns, &Row{Cells: cells}))
	}
	if sums != nil {
		name := 0
		if t.Named {
			name = len(sums) - 1
		}
		sums[name] = value.Text(fmt.Sprintf("(%d others)", others))
		for i := range sums {
			if sums[i] == nil {
				sums[i] = value.Text("")
			}
		}
		add(appendRow(nil, columns, &Row{Cells: sums}))
	}
	return appendDropped(dst, t.Dropped)
}

// appendDropped adds a line about updates of maps that found no room, if there were any.
func appendDropped(dst []byte, n uint64) []byte {
	if n == 0 {
		return dst
	}
	return fmt.Appendf(dst, "(%d events did not fit: --max-keys)\n", n)
}

// newPage begins a page on a terminal, or after an empty line.
func (t *Text) newPage(dst []byte, s Screen) []byte {
	t.page, t.lines = false, 0
	if t.opts.Height == nil || s.Keep {
		return append(dst, '\n')
	}
	t.page = true
	return append(dst, "\x1b[H\x1b[J"...)
}

// room is how many lines fit on the page.
func (t *Text) room() int {
	if !t.page {
		return int(^uint(0) >> 1)
	}
	return max(t.opts.Height()-1-t.lines, 0)
}

// paged counts the lines of what was added.
func (t *Text) paged(text []byte) {
	if t.page {
		t.lines += bytes.Count(text, []byte{'\n'})
	}
}

// appendTable adds a table as JSON.
func (j *JSON) appendTable(dst []byte, t *Table) []byte {
	columns, _ := j.rows.of(t.Spec)
	rows, others, sums := t.arranged()
	dst = append(dst, `{"type": "table", "data": [`...)
	for i, cells := range rows {
		if i > 0 {
			dst = append(dst, ", "...)
		}
		dst = append(dst, '{')
		for k := range columns {
			if k > 0 {
				dst = append(dst, ", "...)
			}
			dst = append(value.AppendJSONString(dst, []byte(columns[k].Key())), ": "...)
			dst = columns[k].appendJSON(dst, cells[k], &Row{}, j.value)
		}
		dst = append(dst, '}')
	}
	dst = append(dst, ']')
	if sums != nil {
		dst = append(dst, `, "others": `...)
		dst = strconv.AppendInt(dst, int64(others), 10)
	}
	return appendJSONDropped(dst, t.Dropped)
}

// appendJSONDropped ends a record with the number of updates that found no room.
func appendJSONDropped(dst []byte, n uint64) []byte {
	return append(strconv.AppendUint(append(dst, `, "dropped": `...), n, 10), '}')
}

// writeTable writes a table as lines of values, an empty line after the one before it.
func (c *CSV) writeTable(t *Table) {
	s := &c.out
	if c.tables++; c.tables > 1 {
		s.buf = append(s.buf, "\r\n"...)
	}
	columns := c.header(Header{Spec: t.Spec})
	rows, _, _ := t.arranged()
	var cell []byte
	for _, cells := range rows {
		for i := range columns {
			cell = columns[i].append(cell[:0], cells[i], &Row{})
			s.buf = AppendField(s.buf, i, cell)
		}
		s.buf = append(s.buf, "\r\n"...)
	}
}
