package output

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/hawktrace/hawk/internal/value"
)

// A Column is one of those that rows are printed in.
type Column struct {
	Name   string
	Align  byte   // '<' or '>'; 0: by the type of its values
	Width  int    // characters, at least those of the name
	Unit   uint64 // that values are divided by, 1 for none
	Digits int    // behind the point; -1: the value is an integer
	Verb   byte   // see ParseColumns; 0 for none
	Option string // that decides whether it is shown; "" for none
	Unless bool   // shown unless the option is set

	// In text a column may stand in the one before it, behind a colon, as the port of an address does.
	Joined  bool
	Unnamed bool   // and the names of columns have only the one before it
	Lead    string // an arrow in front of it, or ""
	Tail    string // behind its text, or ""
}

// Words among columns that are none: arrows between two of them, and one that belongs to a letter.
const (
	arrow, longArrow = ">", "->"
	tail             = ":>"
)

// Mark reports whether a word of a specification is no column.
func Mark(field string) bool { return field == arrow || field == longArrow || field == tail }

// ColumnCount is how many columns a specification has.
func ColumnCount(spec string) int {
	n := 0
	for field := range strings.FieldsSeq(spec) {
		if !Mark(field) {
			n++
		}
	}
	return n
}

// maxColumnWidth bounds the width of a column, in characters.
// A row is padded for each event.
const maxColumnWidth = 1000

// ParseColumns reads what the columns of rows are:
//
//	NAME[:[<|>][width][/unit][.digits][x|o|t|e|z|%|q]][?[!]option] …
//
// t is the wall clock of a point in time, e the seconds since tracing began; with z, 0 is
// shown as -: it is not known. With % a percent sign follows, and what is negative is not
// known. With q text is quoted for a shell where it has to be. A name is there twice only if an
// option decides which of them is shown. In text `:NAME` and `::NAME` stand in the column before
// them; `>`, `->` and `:>` are no columns but what is shown between two, the last one without blanks.
func ParseColumns(spec string) ([]Column, error) {
	var out []Column
	spec, _, _ = CutFormat(spec)
	lead := ""
	for field := range strings.FieldsSeq(spec) {
		switch {
		case field == tail && len(out) > 0:
			out[len(out)-1].Tail = arrow
			continue
		case field == arrow || field == longArrow:
			lead = field
			continue
		}
		name, joined := strings.CutPrefix(field, ":")
		name, unnamed := strings.CutPrefix(name, ":")
		c, err := parseColumn(name)
		if err != nil {
			return nil, err
		}
		c.Joined, c.Unnamed, c.Lead, lead = joined, unnamed, lead, ""
		if slices.ContainsFunc(out, func(o Column) bool { return o.Key() == c.Key() && !c.instead(&o) }) {
			return nil, fmt.Errorf("column %s is there twice", c.Name)
		}
		out = append(out, c)
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("there are no columns")
	}
	return out, nil
}

// CutFormat splits a spec at " | ": what is behind it is a format, whose text the last column shows.
// No column has blanks in it, so that the first mark is the one.
func CutFormat(spec string) (columns, format string, has bool) { return strings.Cut(spec, formatMark) }

// WithFormat puts them together.
func WithFormat(columns, format string) string { return columns + formatMark + format }

// formatMark stands between columns and a format.
const formatMark = " | "

// parseColumn reads one column; the error names it.
// Scripts and objects that were compiled ahead of time hold this text: old forms have to be
// read for ever.
func parseColumn(field string) (Column, error) {
	c := Column{Unit: 1, Digits: -1}
	bad := func(what string) (Column, error) { return c, fmt.Errorf("column '%s': %s", field, what) }
	rest, option, conditional := strings.Cut(field, "?")
	if conditional {
		c.Option, c.Unless = strings.CutPrefix(option, "!")
		if c.Option == "" {
			return bad("the name of an option is missing")
		}
	}
	name, layout, _ := strings.Cut(rest, ":")
	if c.Name = name; c.Key() == "" {
		return bad("it needs a name")
	}
	if layout != "" && (layout[0] == '<' || layout[0] == '>') {
		c.Align, layout = layout[0], layout[1:]
	}
	n, layout := leadingNumber(layout)
	// A name is never cut.
	if c.Width = max(n, utf8.RuneCountInString(name)); c.Width > maxColumnWidth {
		return bad(fmt.Sprintf("it is wider than %d", maxColumnWidth))
	}
	if rest, ok := strings.CutPrefix(layout, "/"); ok {
		end := strings.IndexByte(rest, '.')
		if end < 0 {
			end = len(rest)
		}
		unit, ok := value.Unit(rest[:end])
		if !ok {
			return bad("a unit is ns, us, ms, s, K, M, G or a number")
		}
		c.Unit, layout = unit, rest[end:]
	}
	if rest, ok := strings.CutPrefix(layout, "."); ok {
		if rest == "" || rest[0] < '0' || rest[0] > '9' {
			return bad("a number of digits is missing")
		}
		if c.Digits, layout = leadingNumber(rest); c.Digits > value.MaxDigits {
			return bad(fmt.Sprintf("more than %d digits", value.MaxDigits))
		}
	}
	switch layout {
	case "x", "o", "t", "e", "z", "%", "q":
		c.Verb = layout[0]
	case "":
	default:
		return bad("cannot read '" + layout + "': write NAME:<8/us.3, see row() in the reference")
	}
	if c.Verb != 0 && !c.fixed() && (c.Unit != 1 || c.Digits >= 0 && c.Verb != 'e') {
		return bad("x, o, t, e and q take no unit and no digits")
	}
	if c.Verb == 'e' {
		if c.Unit = 1e9; c.Digits < 0 {
			c.Digits = 6
		}
	}
	return c, nil
}

// leadingNumber reads a number off the front of a text.
// It is bounded rather than refused: the bounds of what it is for are lower.
func leadingNumber(s string) (n int, rest string) {
	for s != "" && s[0] >= '0' && s[0] <= '9' {
		n, s = min(n*10+int(s[0]-'0'), 1<<20), s[1:]
	}
	return n, s
}

// instead reports whether one of two columns is shown where the other is not.
func (c *Column) instead(o *Column) bool {
	return c.Option != "" && c.Option == o.Option && c.Unless != o.Unless
}

// fixed reports whether the verb goes with a unit and digits.
func (c *Column) fixed() bool { return c.Verb == 'z' || c.Verb == '%' }

// unknown reports whether a number says that nothing is known.
func (c *Column) unknown(n number) bool {
	return c.Verb == 'z' && n.mag == 0 || c.Verb == '%' && n.neg
}

// Number reports whether only numbers can stand in a column.
// check refuses other values there; a damaged object may have them, and they are shown as text.
func (c *Column) Number() bool {
	return c.Unit != 1 || c.Digits >= 0 || c.Verb != 0 && !c.Quotes()
}

// Quotes reports whether a column is for text, which is quoted where a shell would need that.
func (c *Column) Quotes() bool { return c.Verb == 'q' }

// String is the column as ParseColumns reads it, without its option.
// The option has been decided when a column is written out.
func (c *Column) String() string {
	s := c.Name + ":"
	switch {
	case c.Unnamed:
		s = "::" + s
	case c.Joined:
		s = ":" + s
	case c.Lead != "":
		s = c.Lead + " " + s
	}
	if c.Align != 0 {
		s += string(c.Align)
	}
	s += strconv.Itoa(c.Width)
	if (c.Verb == 0 || c.fixed()) && c.Unit != 1 {
		s += "/" + strconv.FormatUint(c.Unit, 10)
	}
	if c.Digits >= 0 {
		s += "." + strconv.Itoa(c.Digits)
	}
	if c.Verb != 0 {
		s += string(c.Verb)
	}
	if c.Tail != "" {
		s += " " + tail
	}
	return s
}

// Key is the name of the column in JSON: TIME(s) is time_s.
func (c *Column) Key() string {
	var b strings.Builder
	gap := false
	for _, r := range strings.ToLower(c.Name) {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r >= utf8.RuneSelf {
			if gap && b.Len() > 0 {
				b.WriteByte('_')
			}
			b.WriteRune(r)
			gap = false
			continue
		}
		gap = true
	}
	if b.Len() == 0 && c.Name == "-" {
		return "text"
	}
	return b.String()
}
