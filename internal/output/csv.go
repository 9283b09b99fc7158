package output

import (
	"bytes"
	"io"
	"strings"

	"github.com/hawktrace/hawk/internal/value"
)

// CommaSeparated is the form of rows for spreadsheets.
var CommaSeparated = define(Form{
	Name: "csv", Doc: "rows and tables that the script prints, comma-separated (RFC 4180)", Of: OfRows,
	New: func(w, stderr io.Writer, o Options) Sink { return NewCSV(w, stderr, o) },
})

// CSV writes rows and tables as comma-separated values (RFC 4180), their names first. What
// is printed otherwise goes to standard error: readers of CSV take each line for a row.
// A table begins with an empty line, unless it is the first, as its columns may be others.
type CSV struct {
	Text
	rest   *Text
	tables int // written so far
}

// NewCSV returns a sink that writes rows to w.
func NewCSV(w, stderr io.Writer, opts Options) *CSV {
	text := *NewText(w, stderr, opts)
	opts.Buffering = Unbuffered
	return &CSV{Text: text, rest: NewText(stderr, stderr, opts)}
}

// Write writes an item.
func (c *CSV) Write(item Item) error {
	s := &c.out
	start := len(s.buf)
	switch it := item.(type) {
	case Header:
		c.header(it)
	case Row:
		columns := c.header(Header{Spec: it.Spec})
		var cell []byte
		for i := range it.Cells {
			_, length := integer(it.Cells[i])
			switch {
			case i < len(columns):
				cell = columns[i].append(cell[:0], it.Cells[i], &it)
			case length:
				continue // of the data in front
			default:
				cell = append(cell[:0], value.Escape(strings.Join(frames(it.Cells[i]), ";"))...)
			}
			s.buf = AppendField(s.buf, i, cell)
		}
		s.buf = append(s.buf, "\r\n"...)
	case Table:
		c.writeTable(&it)
	case End, Screen:
		return s.err
	default:
		if err := s.idle(); err != nil {
			return err
		}
		return c.rest.Write(item)
	}
	return s.wrote(start)
}

// header writes the names of columns if that was not done, and yields the columns.
// Names stand in front of the first row of each form of rows, as in text.
// Columns for what text shows below a row come behind the others, so that each line has as many fields.
func (c *CSV) header(h Header) []Column {
	columns, first := c.rows.of(h.Spec)
	if first {
		for i := range columns {
			c.out.buf = AppendField(c.out.buf, i, []byte(columns[i].Name))
		}
		c.out.buf = append(append(c.out.buf, h.Below...), "\r\n"...)
	}
	return columns
}

// AppendField adds field i of a line, in quotes if it needs them.
// Lines end with CR LF by the RFC, which spreadsheets and libraries take all the same.
func AppendField(dst []byte, i int, text []byte) []byte {
	if i > 0 {
		dst = append(dst, ',')
	}
	if !bytes.ContainsAny(text, ",\"\r\n") {
		return append(dst, text...)
	}
	dst = append(dst, '"')
	dst = append(dst, bytes.ReplaceAll(text, []byte{'"'}, []byte{'"', '"'})...)
	return append(dst, '"')
}
