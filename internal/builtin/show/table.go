package show

import (
	"fmt"
	"math/bits"
	"slices"
	"strings"
	"time"

	"github.com/hawktrace/hawk/internal/builtin"
	"github.com/hawktrace/hawk/internal/ir"
	"github.com/hawktrace/hawk/internal/object"
	"github.com/hawktrace/hawk/internal/output"
	"github.com/hawktrace/hawk/internal/types"
	"github.com/hawktrace/hawk/internal/value"
)

// Options that table() declares.
const (
	// Every table of a script obeys the same two: a page mostly has one.
	sortOption   = "sort"
	othersOption = "others"
)

var _ = builtin.Define(builtin.Func{
	Name: "table", Takes: true, Min: 3, Variadic: true, Result: types.Void,
	Params: []builtin.Param{
		builtin.StringLit.Named("columns"), builtin.IntLit.Named("top"), builtin.WholeMap.Named("map"),
	},
	Doc: "Prints maps that have keys of the same types as one table, when user space handles the event: a row for " +
		"each key, with its parts, then what each map has for it; 0 where it has nothing. Columns are those of " +
		"`row()`. Of a `stats` map there are three, for the count, the average and the total, of a record or " +
		"tuple as many as it has elements, of other maps one. The rows with the largest values of the column " +
		"behind the key come first, or of the one with `!` before its name, or of the one with `^`, and then they " +
		"come last; `--sort=COLUMN`, an option that this declares, names another. `top` is how many rows are " +
		"shown, 0 for all; with the option `--others` a last row has the sums of the rest. A part of the key whose " +
		"column an option hides keeps rows apart nevertheless. Behind ` | ` stands a format, as in `row()`: then " +
		"its text of the parts of the key is the last column, behind those of the values. Blanks in front of the " +
		"columns indent the table. If the statements " +
		"behind it clear all of the maps, reading and clearing are one pass. `-f json` makes one object of a " +
		"table, `-f csv` a line of each row.",
	Example: `tracepoint:syscalls:sys_exit_read / args.ret > 0 / { @n[comm] = count(); ` +
		`@bytes[comm] = sum(args.ret); } ` +
		`interval:s:1 { table("COMM:<16 READS:>8 !KBYTES:>8/K", 20, @n, @bytes); clear(@n); clear(@bytes); }`,
	Options: func(c *builtin.Call) []*object.Option {
		spec, _ := c.Str(0)
		fields, _ := tableColumns(spec)
		return append(columnOptions(c, strings.Join(fields, " ")),
			&object.Option{Name: sortOption, Type: &types.String{Cap: c.Config.MaxStrlen}, Default: []byte{},
				At: c.Expr.Span()},
			&object.Option{Name: othersOption, Type: types.Bool, At: c.Expr.Span()})
	},
	Check: func(c *builtin.Call) types.Type {
		if spec, ok := c.Str(0); ok {
			if t := checkTable(c, spec); t != nil {
				top, _ := c.Int(1)
				c.Found.Text, c.Found.Extra = t.spec, []int64{int64(t.sort), top, t.flags, int64(t.keys), t.hidden}
			}
		}
		return types.Void
	},
	Lower: func(g builtin.Gen, c *builtin.Call, _ *ir.Value) *ir.Value {
		extra := append(c.Found.Extra[:tableTaken:tableTaken], number(c.Taken)) // which Check cannot know
		extra = append(extra, c.Found.Extra[tableTaken:]...)
		for _, m := range c.Maps {
			if m.Name != "" {
				extra = append(extra, int64(g.MapOf(m.Name)), int64(len(valueCells(m.Value))))
			}
		}
		g.Event(c, &object.Event{Text: c.Found.Text, Map: -1, Extra: extra}, nil)
		return nil
	},
	Handle: func(e builtin.Env, ev *object.Event, _ []byte) error {
		if len(ev.Extra) < 6 {
			return nil
		}
		return showTable(e, ev)
	},
})

// number is a truth among the literals of an event.
// Events have integers only.
// Handlers ask for 0 or not.
func number(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// option is the text of an option of the script, "" if it is not known.
// "" is also what stands for false: booleans read as "true" or "false".
func option(c *builtin.Call, name string) string {
	if c.Opts.Option == nil {
		return ""
	}
	text, err := c.Opts.Option(name)
	if err != nil {
		c.Errorf(c.Expr, "option-unknown", "%s(): %v", c.Name, err)
	}
	return text
}

// tableTaken is the place among the literals of a table's event that says whether rows are removed.
const tableTaken = 3

// A table is what is shown of a call.
type table struct {
	spec   string // of the columns that are shown, and the format of the last one
	sort   int    // counts hidden ones too
	keys   int    // columns of the key, hidden ones too
	flags  int64
	hidden int64 // a bit for each column that is not shown
}

// maxTableColumns is how many columns a table can have.
// hidden has a bit for each.
const maxTableColumns = 63

// Flags of a table.
const (
	withOthers = 1 << iota
	largestLast
	timed
)

// tableColumns are the columns of a table without their marks, and what is marked.
// ! marks the column that decides the order; ^ does, and turns it around.
func tableColumns(spec string) (fields []string, marked map[int]byte) {
	spec, _, _ = output.CutFormat(spec)
	marked = map[int]byte{}
	n := 0
	for f := range strings.FieldsSeq(spec) {
		if name := strings.TrimLeft(f, "!^"); len(f) == len(name)+1 {
			marked[n], f = f[0], name
		}
		if !output.Mark(f) {
			n++
		}
		fields = append(fields, f)
	}
	return fields, marked
}

// checkTable works out columns, order and what is hidden; nil after an error.
func checkTable(c *builtin.Call, spec string) *table {
	fields, marked := tableColumns(spec)
	columns, err := output.ParseColumns(strings.Join(fields, " "))
	if err != nil {
		c.Errorf(c.Args[0], "bad-format", "table(): %v", err)
		return nil
	}
	cells, keys, ok := tableCells(c)
	if !ok {
		return nil
	}
	l := layout{table: &table{keys: keys}, c: c, columns: columns, marked: marked, cells: cells}
	_, format, named := output.CutFormat(spec)
	if !l.takeTime() || !l.takeKey(format, named) {
		return nil
	}
	if top, ok := c.Int(1); ok && c.Consts[1].Neg || top < 0 {
		c.Errorf(c.Args[1], "bad-argument", "table() needs a number that is not negative here")
	}
	if !l.takeColumns() {
		return nil
	}
	l.spec = spec[:len(spec)-len(strings.TrimLeft(spec, " "))] + strings.Join(l.shown, " ")
	if named {
		l.spec = output.WithFormat(l.spec, format)
	}
	return l.table
}

// A layout is a table while it is worked out.
//
// Cells are counted twice: in the table, where the parts of the key that a format joins have cells
// in front (before), and in the columns as they are written.
type layout struct {
	*table
	c       *builtin.Call
	columns []output.Column
	marked  map[int]byte // of columns
	cells   []types.Type // of columns
	before  int          // cells in front of those that have columns
	shown   []string     // columns as the table has them
}

// takeTime takes a first column with the time of day. False: there was an error.
func (l *layout) takeTime() bool {
	first := l.columns[0]
	if first.Verb != 't' || len(l.columns) == 1 {
		return true
	}
	visible, ok := visible(l.c, &first)
	if first.Verb = 0; visible { // of a table it is text, and no part of the maps
		l.shown, l.flags = append(l.shown, first.String()), timed
	}
	l.columns, l.marked = l.columns[1:], shifted(l.marked)
	return ok
}

// takeKey has a format that the last column is named with stand for the key, and compares how many cells and
// columns there are. False: there was an error.
func (l *layout) takeKey(format string, named bool) bool {
	c := l.c
	if len(l.cells) > maxTableColumns {
		c.Errorf(c.Args[0], "bad-format", "table(): a table has at most %d columns", maxTableColumns)
		return false
	}
	if named {
		if last := &l.columns[len(l.columns)-1]; last.Option != "" {
			c.Errorf(c.Args[0], "bad-format", "table(): column %s has a format, and is always shown", last.Name)
			return false
		}
		if !checkTexts(c, format, l.cells[:l.keys]) {
			return false
		}
		l.before, l.cells = l.keys, append(l.cells, &types.String{})
	}
	if have := len(l.cells) - l.before; have != len(l.columns) {
		c.Errorf(c.Args[0], "format-arguments", "table(): %d columns, but %d parts of the key and values",
			len(l.columns), have)
		return false
	}
	l.cells = l.cells[l.before:]
	return true
}

// takeColumns finds the columns that are shown, and the one that decides the order. Without a mark the first
// one behind the key does, which is the first value. False: there was an error.
func (l *layout) takeColumns() bool {
	c := l.c
	l.sort, l.hidden = l.keys, 1<<l.before-1
	if option(c, othersOption) == "true" {
		l.flags |= withOthers
	}
	by := option(c, sortOption)
	first, found := true, by == ""
	var names []string
	for i := range l.columns {
		col := &l.columns[i]
		if col.Verb == 't' || col.Verb == 'e' {
			c.Errorf(c.Args[0], "bad-format", "table(): column %s: times are for row()", col.Name)
			return false
		}
		visible, ok := visible(c, col)
		if !ok || !fits(c, col, c.Args[0], l.cells[i]) {
			return false
		}
		mark := l.marked[i]
		if mark == '^' {
			l.flags |= largestLast
		}
		named := by != "" && (strings.EqualFold(by, col.Name) || by == mapAt(c, l.keys, l.before+i))
		if by == "" && first && mark != 0 || named && !found {
			l.sort = l.before + i
		}
		found = found || named
		first = first && mark == 0
		names = append(names, col.Name)
		if visible {
			l.shown = append(l.shown, col.String())
		} else {
			l.hidden |= 1 << (l.before + i)
		}
	}
	if len(names) == bits.OnesCount64(uint64(l.hidden)>>l.before) {
		c.Errorf(c.Args[0], "bad-format", "table(): the options leave no column to be shown")
		return false
	}
	if !found {
		c.Errorf(c.Args[0], "option-value", "No column is called \"%s\"; there are: %s", by, strings.Join(names, ", "))
		return false
	}
	return true
}

// shifted are the marks of columns without the first one.
func shifted(marked map[int]byte) map[int]byte {
	out := map[int]byte{}
	for i, mark := range marked {
		out[i-1] = mark
	}
	return out
}

// mapAt is the map, without its @, whose first value stands in a cell; "" for none.
// --sort takes this, too, since the options of tools can have the words that others have.
func mapAt(c *builtin.Call, keys, cell int) string {
	at := keys
	for _, m := range c.Maps {
		if m.Name == "" {
			continue
		}
		if at == cell {
			return strings.TrimPrefix(m.Name, "@")
		}
		at += len(valueCells(m.Value))
	}
	return ""
}

// checkTexts checks a format against the parts of the key.
// The format has the key alone: values are summed up for "others", and text cannot be.
func checkTexts(c *builtin.Call, text string, parts []types.Type) bool {
	format, err := value.ParseFormat(text)
	if err != nil {
		c.Errorf(c.Args[0], "bad-format", "table(): %v", err)
		return false
	}
	if n := format.Conversions(); n != len(parts) {
		c.Errorf(c.Args[0], "format-arguments", "table(): the format has %d conversions, the key %d parts", n,
			len(parts))
		return false
	}
	errs := format.Check(parts)
	for _, e := range errs {
		c.Errorf(c.Args[0], "format-type", "table(): %s", e.Msg)
	}
	return len(errs) == 0
}

// tableCells are the types of what stands in the columns; keys of them are of the key.
// The first map says what the key is; the cells of the others follow in the order of the
// arguments.
func tableCells(c *builtin.Call) (cells []types.Type, keys int, ok bool) {
	var key types.Type
	for i, m := range c.Maps {
		if m.Name == "" {
			continue
		}
		switch {
		case !m.Keyed:
			c.Errorf(c.Args[i], "map-sort", "%s() expects maps with keys", c.Name)
			return nil, 0, false
		case m.Key == nil || m.Value == nil:
			return nil, 0, false
		case key == nil:
			key = m.Key
			cells = elements(key)
			keys = len(cells)
		// By text: two types of one name are the same to who reads the table.
		case m.Key.String() != key.String():
			c.Errorf(c.Args[i], "key-type", "%s() expects maps with the same keys: %s has %s, not %s", c.Name,
				m.Name, m.Key, key)
			return nil, 0, false
		}
		cells = append(cells, valueCells(m.Value)...)
	}
	return cells, keys, true
}

// elements are the types of a tuple's or record's elements, or the type itself.
func elements(t types.Type) []types.Type {
	switch t := t.(type) {
	case *types.Tuple:
		return slices.Clone(t.Elems)
	case *types.Record:
		return slices.Clone(t.Elems)
	}
	return []types.Type{t}
}

// valueCells are the types of what a map's value has in columns.
// It has to agree with cellsOf, which takes the values apart that these are the types of.
func valueCells(t types.Type) []types.Type {
	agg, ok := t.(*types.Agg)
	switch {
	case !ok:
		return elements(t)
	case agg.Kind == "stats":
		return []types.Type{types.Uint64, number64(agg.Signed), number64(agg.Signed)}
	case agg.Kind == "avg":
		return []types.Type{number64(agg.Signed)}
	}
	return []types.Type{builtin.Travels(t)}
}

// number64 is the type of a word.
func number64(signed bool) types.Type {
	if signed {
		return types.Int64
	}
	return types.Uint64
}

// cellsOf are the cells of a map's value.
// A histogram is one cell here, which no column can show: check has refused it.
func cellsOf(v value.Value) []value.Value {
	switch v := v.(type) {
	case value.Avg:
		return []value.Value{value.Stats(v).Mean()}
	case value.Stats:
		return []value.Value{value.Uint(v.Count), v.Mean(), v.Sum()}
	case value.Tuple:
		return v
	case value.Record:
		return v.Values
	}
	return []value.Value{v}
}

// showTable reads the maps of a table and shows it. What is known of an event comes from
// a file, if it was compiled ahead of time, and may be damaged.
// Maps are read one after the other: a row may be of slightly different moments.
func showTable(e builtin.Env, ev *object.Event) error {
	columns, err := output.ParseColumns(ev.Text)
	if err != nil {
		return err
	}
	x := ev.Extra
	if x[2]&timed != 0 {
		columns = columns[1:]
	}
	spec, text, named := output.CutFormat(ev.Text)
	format, err := value.ParseFormat(text)
	if err != nil {
		return err
	}
	t := output.Table{Spec: spec, Named: named, Sort: int(x[0]), Top: int(x[1]), Keys: int(x[4]), Hidden: uint64(x[5]),
		Others: x[2]&withOthers != 0, Last: x[2]&largestLast != 0}
	n := len(columns) + bits.OnesCount64(t.Hidden)
	if t.Keys < 0 || t.Keys > n || named && t.Keys == n || t.Sort < 0 || t.Sort >= n || bits.Len64(t.Hidden) > n {
		return fmt.Errorf("table(): the columns are damaged")
	}
	// Keys of several maps are matched by their safe text: values are not comparable in Go.
	rows := map[string]int{}
	var key []byte
	first := t.Keys
	for maps := x[6:]; len(maps) >= 2; maps = maps[2:] {
		entries, err := e.ReadMap(int(maps[0]), x[3] != 0)
		if err != nil {
			return fmt.Errorf("table(): cannot read a map: %w", err)
		}
		for i := range entries.Len() {
			entry := entries.At(i)
			key = value.AppendSafeKey(key[:0], entry.Key)
			r, known := rows[string(key)]
			if !known {
				r = len(t.Rows)
				rows[string(key)] = r
				t.Rows = append(t.Rows, newRow(n, t.Keys, entry.Key))
			}
			// The cells of this map begin behind those of the maps before it.
			copy(t.Rows[r][first:], cellsOf(entry.Value))
		}
		first = min(first+int(min(max(maps[1], 0), int64(n))), n)
	}
	for _, row := range t.Rows {
		if named {
			row[n-1] = value.Str(format.AppendValues(nil, row[:t.Keys]))
		}
	}
	if x[2]&timed != 0 {
		now := value.Text(e.Now().Format(time.TimeOnly))
		for i, row := range t.Rows {
			t.Rows[i] = append([]value.Value{now}, row...)
		}
		t.Keys, t.Sort, t.Hidden = t.Keys+1, t.Sort+1, t.Hidden<<1
	}
	t.Dropped = e.Unstored()
	e.Emit(t)
	return nil
}

// newRow is the row of a key that nothing is known of yet.
// A map that lacks the key counts 0 there, as reading it would yield.
func newRow(n, keys int, key value.Value) []value.Value {
	row := make([]value.Value, n)
	for i := range row {
		row[i] = value.Uint(0)
	}
	parts := []value.Value{key}
	if tuple, ok := key.(value.Tuple); ok {
		parts = tuple
	}
	copy(row[:keys], parts)
	return row
}
