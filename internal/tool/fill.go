package tool

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/hawktrace/hawk/internal/order"
	"github.com/hawktrace/hawk/internal/output"
	"github.com/hawktrace/hawk/internal/source"
	"github.com/hawktrace/hawk/internal/syntax"
)

// Filled is the whole script with the values of options in place of the options, those
// that are not given at their defaults: what runs alone does what the tool was asked for.
func (t *Tool) Filled(given map[string]string) string {
	text := t.Whole()
	// The scripts of tools parse: a test sees to it.
	tree, _ := syntax.Parse(source.NewFile(t.Name, text))
	f := filling{text: text, values: map[string]string{}, lists: t.Lists()}
	// Defaults come first, in a pass of their own: an option may be used in front of where it is
	// declared.
	f.each(tree, f.defaults)
	for name, value := range given {
		f.values[name] = value
	}
	f.each(tree, f.replace)
	// Edits are found in the order of the tree, in which the arguments of a call come behind the
	// call.
	order.By(f.edits, func(a, b edit) int { return cmp.Compare(a.from, b.from) })
	var b strings.Builder
	at := 0
	for _, e := range f.edits {
		if e.from < at {
			continue // in an argument that is left out
		}
		b.WriteString(text[at:e.from] + e.text)
		at = e.to
	}
	b.WriteString(text[at:])
	return b.String()
}

// An edit replaces bytes of a text.
type edit struct {
	from, to int
	text     string
}

// A filling is a text in which options are replaced by their values.
type filling struct {
	text   string
	values map[string]string // of options, by name
	lists  map[string]bool
	edits  []edit
	early  syntax.Expr // the predicate of the probe that is visited, in which values are known early
}

// each visits all nodes of the script, those of macros and functions as well.
func (f *filling) each(tree *syntax.Script, visit func(syntax.Node)) {
	for _, item := range tree.Items {
		syntax.Walk(item, func(n syntax.Node) bool {
			visit(n)
			return true
		})
	}
}

// defaults notes what a call of getopt says of the option.
func (f *filling) defaults(n syntax.Node) {
	if name, call := option(n); call != nil {
		// An option with no default is a switch.
		f.values[name] = "false"
		if len(call.Args) > 1 {
			if s, ok := call.Args[1].(*syntax.StringLit); ok {
				f.values[name] = s.Value
			} else {
				at := call.Args[1].Span()
				f.values[name] = f.text[at.Start:at.End]
			}
		}
	}
}

// option is the name that a call of getopt has; the call is nil if n is none.
func option(n syntax.Node) (name string, call *syntax.Call) {
	call, ok := n.(*syntax.Call)
	if !ok || call.Func.Name != "getopt" || len(call.Args) == 0 {
		return "", nil
	}
	lit, ok := call.Args[0].(*syntax.StringLit)
	if !ok {
		return "", nil
	}
	return lit.Value, call
}

// replace notes the edits for one node: in attach points, and for calls of getopt.
func (f *filling) replace(n syntax.Node) {
	at := n.Span()
	switch n := n.(type) {
	case *syntax.AttachPoint:
		// With nothing in its place the name stays: the predicate leaves the block out.
		if points := f.points(n.Text); points != "" && points != n.Text {
			f.edits = append(f.edits, edit{at.Start, at.End, points})
		}
	case *syntax.Probe:
		f.early = n.Predicate
	case *syntax.Call:
		if name, call := option(n); call != nil {
			text := f.values[name]
			if len(call.Args) > 1 {
				if _, ok := call.Args[1].(*syntax.StringLit); ok {
					text = strconv.Quote(text)
				}
			}
			if f.early != nil && n.Span().End <= f.early.Span().End && n.Span().Start >= f.early.Span().Start {
				// Without it the block would be there whatever the option is, and what it is about
				// has to be, too.
				text = "comptime " + text
			}
			f.edits = append(f.edits, edit{at.Start, at.End, text})
			return
		}
		if len(n.Args) == 0 {
			return
		}
		text, ok := syntax.Text(n.Args[0])
		switch {
		case ok && n.Func.Name == "row":
			f.row(n, text)
		case ok && n.Func.Name == "table":
			f.table(n.Args[0].Span(), text)
		case ok && n.Func.Name == "probe_exists":
			at := n.Args[0].Span()
			f.edits = append(f.edits, edit{at.Start, at.End, strconv.Quote(f.points(text))})
		}
	}
}

// points puts values into an attach point: a list makes several of it. Longer names go first,
// since one may begin with another.
func (f *filling) points(text string) string {
	for name := range f.lists {
		if strings.Contains(text, "$"+name) && strings.Contains(f.values[name], ",") {
			var all []string
			for element := range strings.SplitSeq(f.values[name], ",") {
				all = append(all, f.points(strings.ReplaceAll(text, "$"+name, element)))
			}
			return strings.Join(all, ", ")
		}
	}
	names := make([]string, 0, len(f.values))
	for name := range f.values {
		names = append(names, name)
	}
	order.By(names, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	for _, name := range names {
		text = strings.ReplaceAll(text, "$"+name, f.values[name])
	}
	return text
}

// row leaves out the columns that are not shown, and their arguments.
func (f *filling) row(call *syntax.Call, spec string) {
	// A format that is none stays as it is: the compiler says what is wrong with it.
	columns, err := output.ParseColumns(spec)
	if err != nil {
		return
	}
	// A format of its own may follow the columns.
	names, format, formatted := output.CutFormat(spec)
	var shown []string
	i := -1
	for text := range strings.FieldsSeq(names) {
		if output.Mark(text) {
			shown = append(shown, text)
			continue
		}
		i++
		c := &columns[i]
		if c.Option == "" || (f.values[c.Option] == "true") != c.Unless {
			name, _, _ := strings.Cut(text, "?")
			shown = append(shown, name)
		} else if i+1 < len(call.Args) {
			// The comma in front of the argument goes with it.
			from, to := call.Args[i].Span().End, call.Args[i+1].Span().End
			f.edits = append(f.edits, edit{from, to, ""})
		}
	}
	spec = strings.Join(shown, " ")
	if formatted {
		spec = output.WithFormat(spec, format)
	}
	at := call.Args[0].Span()
	f.edits = append(f.edits, edit{at.Start, at.End, fmt.Sprintf("%q", spec)})
}

// table leaves the options out of the columns of a table: those that are shown are there
// without, the others hidden by an option that is not given.
func (f *filling) table(at source.Span, spec string) {
	spec, format, formatted := output.CutFormat(spec)
	fields := strings.Fields(spec)
	changed := false
	for i, text := range fields {
		column, option, conditional := strings.Cut(text, "?")
		if !conditional {
			continue
		}
		changed = true
		name, unless := strings.CutPrefix(option, "!")
		// A column that is hidden stays known to the table, which may sort by it.
		if fields[i] = column; (f.values[name] == "true") == unless {
			fields[i] += "?" + name
		}
	}
	if changed {
		indent := spec[:len(spec)-len(strings.TrimLeft(spec, " "))]
		if spec = indent + strings.Join(fields, " "); formatted {
			spec = output.WithFormat(spec, format)
		}
		f.edits = append(f.edits, edit{at.Start, at.End, strconv.Quote(spec)})
	}
}
