package output

import (
	"bytes"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/hawktrace/hawk/internal/source"
	"github.com/hawktrace/hawk/internal/value"
)

type (
	// Row is a line in columns. What has no column, stacks and data, stands below it.
	Row struct {
		Spec  string // of the columns that are shown, see ParseColumns
		Cells []value.Value
		Boot  time.Time   // zero of the clock of points in time
		Start uint64      // when tracing began, by that clock
		At    source.Span // the call
		Hex   bool        // data is shown in hexadecimal, with its text beside
	}
	// Header is the names of columns. Each is written once.
	Header struct {
		Spec  string
		Below string // names of what is below each row, a comma in front of each
	}
)

func (Row) item()    {}
func (Header) item() {}

// rows is what a sink knows of the rows that it has written.
type rows struct {
	headless bool // names are not written
	columns  map[string][]Column
}

// of yields the columns of a row; first says that their names are to be written now.
// Rows of two forms may take turns; each has its names once.
func (r *rows) of(spec string) (columns []Column, first bool) {
	columns, known := r.columns[spec]
	if !known {
		columns, _ = ParseColumns(spec) // check has
		if r.columns == nil {
			r.columns = map[string][]Column{}
		}
		r.columns[spec] = columns
	}
	return columns, !known && !r.headless
}

// appendHeader adds the names of columns, aligned like what is below them.
func appendHeader(dst []byte, columns []Column) []byte {
	return append(appendLine(dst, columns, len(columns), func(cell []byte, i int) []byte {
		if columns[i].Unnamed && len(cell) > 0 {
			return cell[:len(cell)-1] // without the colon
		}
		return append(cell, columns[i].Name...)
	}), '\n')
}

// appendRow adds the line of a row, and what stands below it.
func appendRow(dst []byte, columns []Column, r *Row) []byte {
	dst = appendLine(dst, columns, min(len(columns), len(r.Cells)), func(cell []byte, i int) []byte {
		return columns[i].append(cell, r.Cells[i], r)
	})
	return r.appendBelow(append(dst, '\n'), r.below(columns))
}

// appendLine adds the first n cells of a line, in their columns; text appends one.
// No line ends in blanks: they would wrap on a narrow terminal.
func appendLine(dst []byte, columns []Column, n int, text func(cell []byte, i int) []byte) []byte {
	start := len(dst)
	var cell []byte
	for i := 0; i < n; {
		c := &columns[i]
		cell = append(text(cell[:0], i), c.Tail...)
		for i++; i < n && columns[i].Joined; i++ {
			if bytes.IndexByte(cell, ':') >= 0 { // an address of IPv6
				cell = append(append([]byte{'['}, cell...), ']')
			}
			at := len(cell)
			// A colon stands behind something: in the line of sums nothing is known.
			if cell = text(append(cell, ':'), i); at == 0 && len(cell) == 1 {
				cell = cell[:0]
			}
		}
		dst = c.pad(dst, len(dst) > start, cell)
	}
	return trimBlanks(dst, start)
}

// frames are the lines of a stack.
// It takes the text apart again, as a stack has other lines in each mode.
func frames(v value.Value) []string {
	var out []string
	for line := range strings.Lines(string(value.AppendText(nil, v))) {
		if line = strings.TrimSpace(line); line != "" {
			out = append(out, line)
		}
	}
	return out
}

// pad adds a cell, behind others on its left if there are any.
// Characters are counted, not bytes; wide ones of Asian scripts count as one.
func (c *Column) pad(dst []byte, behind bool, text []byte) []byte {
	if behind {
		dst = append(dst, ' ')
	}
	if c.Lead != "" {
		dst = append(append(dst, c.Lead...), ' ')
	}
	blanks := c.Width - utf8.RuneCount(text)
	if c.Align == '>' {
		dst = appendBlanks(dst, blanks)
		return append(dst, text...)
	}
	return appendBlanks(append(dst, text...), blanks)
}

// appendBlanks appends n blanks, none if n is negative.
func appendBlanks(dst []byte, n int) []byte {
	for range n {
		dst = append(dst, ' ')
	}
	return dst
}

// trimBlanks removes blanks from the end of what was added since start.
func trimBlanks(dst []byte, start int) []byte {
	for len(dst) > start && dst[len(dst)-1] == ' ' {
		dst = dst[:len(dst)-1]
	}
	return dst
}

// append adds the text of a value: a row is always one line, so that control
// characters are escaped.
// CSV and --match use the same text.
func (c *Column) append(dst []byte, v value.Value, r *Row) []byte {
	n, ok := integer(v)
	switch {
	case c.Quotes():
		return value.AppendQuoted(dst, v)
	case !ok:
		return append(dst, value.Escape(string(value.AppendText(nil, v)))...)
	case c.unknown(n):
		return append(dst, '-')
	case c.Verb == '%':
		return append(n.appendFixed(dst, c.Unit, c.Digits), '%')
	case c.Verb == 't':
		return r.Boot.Add(time.Duration(n.mag)).AppendFormat(dst, "15:04:05")
	case c.Verb == 'x':
		return strconv.AppendUint(dst, n.bits(), 16)
	case c.Verb == 'o':
		return strconv.AppendUint(dst, n.bits(), 8)
	case c.Number():
		return c.number(n, r).appendFixed(dst, c.Unit, c.Digits)
	}
	return value.AppendText(dst, v)
}

// appendJSON adds the value of a cell; numbers are numbers, with all their digits.
func (c *Column) appendJSON(dst []byte, v value.Value, r *Row, other func(dst []byte, v value.Value) []byte) []byte {
	n, ok := integer(v)
	switch {
	case ok && c.unknown(n):
		return append(dst, "null"...)
	case ok && c.Verb == 't':
		return append(c.append(append(dst, '"'), v, r), '"')
	case ok && (c.Unit != 1 || c.Digits >= 0):
		return c.number(n, r).appendFixed(dst, c.Unit, c.Digits)
	}
	return other(dst, v)
}

// number is what a cell shows: of a point in time, the time since tracing began.
func (c *Column) number(n number, r *Row) number {
	if c.Verb != 'e' {
		return n
	}
	if n.mag < r.Start { // an event may be older than the clock of the run
		return number{true, r.Start - n.mag}
	}
	return number{false, n.mag - r.Start}
}

// A number is an integer of either sign.
type number struct {
	neg bool
	mag uint64
}

// bits is the number in two's complement.
func (n number) bits() uint64 {
	if n.neg {
		return -n.mag
	}
	return n.mag
}

// integer is the number that a value is, if it is one.
func integer(v value.Value) (number, bool) {
	switch v := v.(type) {
	case value.Int:
		if v < 0 {
			return number{true, -uint64(v)}, true
		}
		return number{false, uint64(v)}, true
	case value.Uint:
		return number{false, uint64(v)}, true
	}
	return number{}, false
}

// appendFixed adds the number divided by a unit, with digits behind the point, or
// none if they are negative. Halves are rounded away from zero, which has no sign.
func (n number) appendFixed(dst []byte, unit uint64, digits int) []byte {
	start := len(dst)
	if n.neg {
		dst = append(dst, '-')
	}
	at := len(dst)
	if dst = value.AppendFixed(dst, n.mag, unit, digits); value.Zero(dst[at:]) {
		dst = append(dst[:start], dst[at:]...)
	}
	return dst
}

// appendRow adds a row as JSON.
func (j *JSON) appendRow(dst []byte, r *Row) []byte {
	columns, _ := j.rows.of(r.Spec)
	dst = append(dst, `{"type": "row", "data": {`...)
	start := len(dst)
	member := func(dst []byte, key string) []byte {
		if len(dst) > start {
			dst = append(dst, ", "...)
		}
		return append(value.AppendJSONString(dst, []byte(key)), ": "...)
	}
	for i := range columns {
		if i < len(r.Cells) {
			dst = member(dst, columns[i].Key())
			dst = columns[i].appendJSON(dst, r.Cells[i], r, j.value)
		}
	}
	return append(j.appendBelow(dst, r.below(columns), member), "}}"...)
}
