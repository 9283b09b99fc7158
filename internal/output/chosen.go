package output

import (
	"regexp"
	"slices"
	"strings"

	"github.com/hawktrace/hawk/internal/value"
)

// Chosen is a sink that is given the columns and rows that were asked for.
// The command puts it in front of the sink of -f, so that all forms obey the same options.
type Chosen struct {
	Sink
	Columns []string // to be shown, in this order; nil: all
	Match   []Match  // what the rows that are wanted match, each of them
	Most    uint64   // rows; 0: all
	Full    func()   // is told that there are so many

	rows  uint64
	plans map[string]plan // by the columns of a row
	cell  []byte          // reused
}

// A Match tells the rows that are wanted by what is printed: the text of a cell in its column's
// form, not the value.
type Match struct {
	Column string // that is looked at, shown or not; "": any that is shown, of a table the whole line too
	Text   *regexp.Regexp
}

// A plan is what is left of a row.
type plan struct {
	spec    string
	cells   []int    // which of the cells stand in its columns
	below   int      // the first that has no column
	columns []Column // of all cells that have one
	matched [][]int  // the cells that each match looks at
}

// Write writes an item, but for rows that do not match or are beyond the most, and columns
// that are not chosen.
// Items that have no columns pass: messages and maps are not filtered.
func (c *Chosen) Write(item Item) error {
	switch it := item.(type) {
	case Header:
		if it.Spec = c.plan(it.Spec).spec; it.Spec == "" {
			return nil
		}
		return c.Sink.Write(it)
	case Row:
		if c.Most > 0 && c.rows == c.Most {
			return nil
		}
		if p := c.plan(it.Spec); p.spec != "" && c.wants(&p, it.Cells, &it, false) {
			cells := make([]value.Value, 0, len(it.Cells))
			for _, i := range p.cells {
				cells = append(cells, it.Cells[i])
			}
			it.Spec, it.Cells = p.spec, append(cells, it.Cells[p.below:]...)
			if err := c.Sink.Write(it); err != nil {
				return err
			}
			// Full ends the run; rows that are on their way then are left out.
			if c.rows++; c.rows == c.Most {
				c.Full()
			}
		}
		return nil
	case Table:
		p := c.plan(it.Spec)
		if p.spec == "" {
			return nil
		}
		return c.writeTable(it, p)
	}
	return c.Sink.Write(item)
}

// wants reports whether a row matches, by the text of one of its columns; line: or of all of them.
// The text is what the user sees and writes the expression for, units and all.
func (c *Chosen) wants(p *plan, cells []value.Value, r *Row, line bool) bool {
	for n := range c.Match {
		if !c.matches(n, p, cells, r, line) {
			return false
		}
	}
	return true
}

// matches is wants for one of the matches.
func (c *Chosen) matches(n int, p *plan, cells []value.Value, r *Row, line bool) bool {
	m := &c.Match[n]
	for _, i := range p.matched[n] {
		if c.cell = p.columns[i].append(c.cell[:0], cells[i], r); m.Text.Match(c.cell) {
			return true
		}
	}
	if !line || m.Column != "" {
		return false
	}
	columns, _ := ParseColumns(p.spec)
	c.cell = appendLine(c.cell[:0], columns, len(columns), func(cell []byte, k int) []byte {
		return columns[k].append(cell, cells[p.cells[k]], r)
	})
	return m.Text.Match(c.cell)
}

// writeTable writes what is left of a table. Each of its rows counts as one. The top ones are
// those of the rows that match.
func (c *Chosen) writeTable(t Table, p plan) error {
	if c.Match != nil {
		t.Rows = slices.DeleteFunc(slices.Clone(t.Rows), func(cells []value.Value) bool {
			return !c.wants(&p, t.visible(cells), &Row{}, true)
		})
		if c.Columns == nil && c.Most == 0 {
			return c.Sink.Write(t)
		}
	}
	if c.Most > 0 && c.rows == c.Most {
		return nil
	}
	rows, _, _ := t.arranged()
	for i, row := range rows {
		cells := make([]value.Value, len(p.cells))
		for k, n := range p.cells {
			cells[k] = row[n]
		}
		rows[i] = cells
	}
	if c.Most > 0 {
		rows = rows[:min(uint64(len(rows)), c.Most-c.rows)]
	}
	// They are in order, which the column that says so may not be there for.
	if err := c.Sink.Write(Table{Spec: p.spec, Rows: rows, Sort: Unsorted, Dropped: t.Dropped}); err != nil {
		return err
	}
	if c.rows += uint64(len(rows)); c.Most > 0 && c.rows == c.Most {
		c.Full()
	}
	return nil
}

// plan is what is shown of rows with the columns of a specification.
// A script has few specifications and writes many rows, so that plans are kept.
func (c *Chosen) plan(spec string) plan {
	if p, ok := c.plans[spec]; ok {
		return p
	}
	columns, _ := ParseColumns(spec) // check has
	p := plan{below: len(columns), columns: columns}
	var shown []string
	add := func(i int) {
		column := columns[i]
		if c.Columns != nil { // others stand beside it
			column.Lead, column.Tail = "", ""
			column.Joined = column.Joined && i > 0 && len(p.cells) > 0 && p.cells[len(p.cells)-1] == i-1
			column.Unnamed = column.Unnamed && column.Joined
		}
		shown, p.cells = append(shown, column.String()), append(p.cells, i)
	}
	for i := range columns {
		if c.Columns == nil {
			add(i)
		}
	}
	for _, name := range c.Columns {
		for i := range columns {
			if columns[i].Name == name {
				add(i)
			}
		}
	}
	p.spec = strings.Join(shown, " ")
	for i := range c.Match {
		looks := p.cells
		if name := c.Match[i].Column; name != "" {
			looks = nil
			if i := slices.IndexFunc(columns, func(o Column) bool { return o.Name == name }); i >= 0 {
				looks = []int{i}
			}
		}
		p.matched = append(p.matched, looks)
	}
	if c.plans == nil {
		c.plans = map[string]plan{}
	}
	c.plans[spec] = p
	return p
}
