package strace

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/hawktrace/hawk/internal/order"
	"github.com/hawktrace/hawk/internal/output"
	"github.com/hawktrace/hawk/internal/value"
)

// A tally is what calls of one name came to.
type tally struct {
	name          string
	calls, errors uint64
	time          int64 // nanoseconds from beginning to return, of all
	least, most   int64 // of one, if that is asked for
}

// A summary is the table of -c, out of two maps of the script.
type summary struct {
	calls    map[int]*tally // by number; nil: there is none
	failures []failure
}

// A failure is how often calls of one name failed with an error.
type failure struct {
	call, errno string
	count       int64
}

// A column is one of the summary. A width below 0 has the text on the left.
type column struct {
	name, also string // of -S and -U, and other names
	title      string
	width      int
	order      func(a, b *tally) int
	cell       func(t *tally, all int64) string
}

// columns are in the order of strace; names for -S and -U are those of its manual.
var columns = []*column{
	{"time", "time-percent", "% time", 6, byTime, func(t *tally, all int64) string {
		if all == 0 {
			return "0.00"
		}
		return fmt.Sprintf("%.2f", 100*float64(t.time)/float64(all))
	}},
	{"total-time", "time-total", "wall seconds", 11, byTime,
		func(t *tally, _ int64) string { return seconds(t.time) }},
	{"min-time", "time-min shortest", "shortest", 8,
		func(a, b *tally) int { return cmp.Compare(b.least, a.least) },
		func(t *tally, _ int64) string { return seconds(t.least) }},
	{"max-time", "time-max longest", "longest", 8,
		func(a, b *tally) int { return cmp.Compare(b.most, a.most) },
		func(t *tally, _ int64) string { return seconds(t.most) }},
	{"avg-time", "time-avg avg", "usecs/call", 11,
		func(a, b *tally) int { return cmp.Compare(b.average(), a.average()) },
		func(t *tally, _ int64) string { return strconv.FormatInt(t.average()/1e3, 10) }},
	{"calls", "count", "calls", 9, func(a, b *tally) int { return cmp.Compare(b.calls, a.calls) },
		func(t *tally, _ int64) string { return strconv.FormatUint(t.calls, 10) }},
	{"errors", "error", "errors", 9, func(a, b *tally) int { return cmp.Compare(b.errors, a.errors) },
		func(t *tally, _ int64) string {
			if t.errors == 0 {
				return ""
			}
			return strconv.FormatUint(t.errors, 10)
		}},
	{"name", "syscall syscall-name", "syscall", -16, func(a, b *tally) int { return cmp.Compare(a.name, b.name) },
		func(t *tally, _ int64) string { return t.name }},
}

// byTime has the longest first, as the orders of all numbers have the largest.
func byTime(a, b *tally) int { return cmp.Compare(b.time, a.time) }

// seconds has microseconds as its last digit, which is what strace shows.
func seconds(ns int64) string { return fmt.Sprintf("%.6f", float64(ns)/1e9) }

func findColumn(name string) *column {
	for _, c := range columns {
		if c.name == name || slices.Contains(strings.Fields(c.also), name) {
			return c
		}
	}
	return nil
}

func columnNames() string {
	var names []string
	for _, c := range columns {
		names = append(names, c.name)
	}
	return strings.Join(names, ", ")
}

// readColumns reads the columns of -U; the name stands last if it is not among them.
func readColumns(text string) (out []*column, err error) {
	// A table without names would say nothing.
	name := findColumn("name")
	for word := range strings.SplitSeq(text, ",") {
		c := findColumn(word)
		if c == nil {
			return nil, fmt.Errorf("the summary has no column %s; there are %s", word, columnNames())
		}
		if slices.Contains(out, c) {
			return nil, fmt.Errorf("the summary has the column %s once", word)
		}
		out = append(out, c)
	}
	if !slices.Contains(out, name) {
		out = append(out, name)
	}
	return out, nil
}

// extreme reports whether a column shows the shortest or the longest call.
func (c *column) extreme() bool { return c.name == "min-time" || c.name == "max-time" }

// shown are the columns of the summary.
func (o *Options) shown() []*column {
	if o.Columns != nil {
		return o.Columns
	}
	return slices.DeleteFunc(slices.Clone(columns), (*column).extreme)
}

// extremes reports whether the shortest and the longest call are asked for. The script keeps
// both in maps of their own, which each call would pay for.
func (o *Options) extremes() bool {
	by := findColumn(o.Sort)
	return by != nil && by.extreme() || slices.ContainsFunc(o.Columns, (*column).extreme)
}

func (t *tally) average() int64 { return t.time / max(int64(t.calls), 1) }

// take takes a map of the script; it reports whether the map is one of the summary's. @calls
// comes first, as the script declares it first; the others add to its rows.
func (s *Sink) take(m output.Map) bool {
	switch m.Name {
	case "@calls":
		s.totals.calls = map[int]*tally{}
		for i := range m.Entries.Len() {
			e := m.Entries.At(i)
			nr, known := e.Key.(value.Int)
			st, stats := e.Value.(value.Stats)
			if known && stats {
				s.totals.calls[int(nr)] = &tally{name: s.name(int(nr)), calls: uint64(st.Count), time: st.Total}
			}
		}
	case "@errors", "@least", "@most":
		for i := range m.Entries.Len() {
			e := m.Entries.At(i)
			nr, known := e.Key.(value.Int)
			t := s.totals.calls[int(nr)]
			if !known || t == nil {
				continue
			}
			n := integer(e.Value)
			switch m.Name {
			case "@errors":
				t.errors = uint64(n)
			case "@least":
				t.least = n
			default:
				t.most = n
			}
		}
	case "@by_errno":
		for i := range m.Entries.Len() {
			e := m.Entries.At(i)
			if key, known := e.Key.(value.Int); known { // the number of the call, and in 12 bits the error
				s.totals.failures = append(s.totals.failures,
					failure{s.name(int(key >> 12)), errorName(int(key & 0xfff)), integer(e.Value)})
			}
		}
	default:
		return false
	}
	return true
}

// writeSummary writes the table. The sort is stable, so that rows that are equal stay in the
// order of their numbers.
func (s *Sink) writeSummary() {
	if s.totals.calls == nil {
		return
	}
	var all []*tally
	sum := tally{name: "total"}
	for _, nr := range sortedKeys(s.totals.calls) {
		t := s.totals.calls[nr]
		all = append(all, t)
		sum.calls, sum.errors, sum.time = sum.calls+t.calls, sum.errors+t.errors, sum.time+t.time
		if sum.most = max(sum.most, t.most); sum.least == 0 || t.least < sum.least {
			sum.least = t.least
		}
	}
	if by := findColumn(cmp.Or(s.o.Sort, "time")); by != nil {
		order.Stably(all, by.order)
	}
	s.b = s.b[:0]
	s.row(func(c *column) string { return c.title }, " ")
	s.row(func(*column) string { return "" }, "-")
	for _, t := range all {
		s.row(func(c *column) string { return c.cell(t, sum.time) }, " ")
	}
	s.row(func(*column) string { return "" }, "-")
	s.row(func(c *column) string { return c.cell(&sum, sum.time) }, " ")
	s.writeFailures()
	s.w.Write(s.b)
	// A run that ends once more must not write the table again.
	s.totals.calls = nil
}

// writeFailures appends the table of --errors, the most frequent first.
func (s *Sink) writeFailures() {
	if !s.o.Errors {
		return
	}
	order.By(s.totals.failures, func(a, b failure) int {
		return cmp.Or(cmp.Compare(b.count, a.count), cmp.Compare(a.call, b.call), cmp.Compare(a.errno, b.errno))
	})
	s.str("\n   errors error           syscall\n--------- --------------- ----------------\n")
	for _, f := range s.totals.failures {
		s.str(fmt.Sprintf("%9d %-15s %s\n", f.count, f.errno, f.call))
	}
}

// row appends a line of the table; a text that is too long takes from the room of the next one.
// strace does likewise.
func (s *Sink) row(cell func(*column) string, fill string) {
	columns := s.o.shown()
	end, start := 0, len(s.b)
	for i, c := range columns {
		if i > 0 {
			s.str(" ")
			end++
		}
		text, width := cell(c), max(c.width, -c.width)
		end += width
		switch last := i == len(columns)-1; {
		case c.width > 0 || fill != " ":
			s.str(strings.Repeat(fill, max(end-(len(s.b)-start)-len(text), 0)) + text)
		case last:
			s.str(text)
		default:
			s.str(text + strings.Repeat(fill, max(end-(len(s.b)-start)-len(text), 0)))
		}
	}
	s.str("\n")
}

func sortedKeys(m map[int]*tally) []int {
	var keys []int
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
