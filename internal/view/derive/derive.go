// Package derive finds out what the data of a checked script means: package
// view has the words for it.
package derive

import (
	"cmp"
	"strconv"
	"strings"
	"time"

	"github.com/hawktrace/hawk/internal/builtin"
	"github.com/hawktrace/hawk/internal/check"
	"github.com/hawktrace/hawk/internal/order"
	"github.com/hawktrace/hawk/internal/probe"
	"github.com/hawktrace/hawk/internal/source"
	"github.com/hawktrace/hawk/internal/syntax"
	"github.com/hawktrace/hawk/internal/types"
	"github.com/hawktrace/hawk/internal/view"
)

// Derive says what the maps and the events of a script mean. The tree is the
// script as parsed: its comments may have annotations.
func Derive(tree *syntax.Script, prog *check.Program) *view.Script {
	file := tree.Span().File
	d := &deriver{prog: prog, out: &view.Script{}, facts: map[string]*facts{}, dims: newDims(prog)}
	if file != nil {
		d.out.Name, d.out.Text = file.Name, file.Text
	}
	for _, m := range prog.Maps {
		d.facts[m.Name] = &facts{}
	}
	for _, p := range prog.Probes {
		d.probe(p)
	}
	// Units need all probes: one may fill a map that another one reads.
	d.dims.settle()
	for _, m := range prog.Maps {
		d.out.Maps = append(d.out.Maps, d.meaning(m))
	}
	d.finishSites()
	// Annotations come last, as they win.
	d.annotate(tree)
	return d.out
}

// A deriver is the state of a derivation.
type deriver struct {
	prog  *check.Program
	out   *view.Script
	facts map[string]*facts // by the map's name
	sites []*site
	dims  *dims
}

// facts are what the statements of a script say about a map.
type facts struct {
	writes         []write
	printed        bool
	clearedAtEnd   bool
	window         bool
	top, div       int64
	at             source.Span
	keys           [][]name // of each write that names keys
	columns        [][]name
	period         time.Duration // of the profile probe that all counts are in; -1: there is none
	onlyGrows      bool          // every plain write so far is ++ or += of what is not negative
	onlyAddsNonNeg bool          // every sum() so far is of what is not negative
}

// A write is a place that gives a map a value.
type write struct {
	info *check.Info
	rhs  syntax.Expr // nil for ++ and --
	op   syntax.Token
}

// probe looks at the body of one copy of a probe.
func (d *deriver) probe(p *check.Probe) {
	// Maps that this body has printed so far.
	printed := map[string]bool{}
	atEnd := p.Kind.Ours == probe.AtEnd
	walk(p.Info, p.Predicate, p.Body, func(n syntax.Node) {
		switch n := n.(type) {
		case *syntax.AssignStmt:
			d.write(p, n.LHS, n.RHS, n.Op, n.Span())
		case *syntax.IncDec:
			d.write(p, n.X, nil, n.Op, n.Span())
		}
		e, ok := n.(syntax.Expr)
		if !ok {
			return
		}
		// Only builtins act on maps as a whole.
		c := p.Info.Calls[e]
		if c == nil || c.Func == nil {
			return
		}
		f := d.facts[c.MapName]
		switch {
		case c.Func.Takes:
			for _, m := range c.Maps {
				if f := d.facts[m.Name]; f != nil {
					f.printed, printed[m.Name] = true, true
				}
			}
		case f != nil && c.Func.Emits:
			f.print(c)
			printed[c.MapName] = true
		case c.Func.Emits:
			d.site(p, c)
		case f != nil && (c.Func.Clears || c.Func.Zeroes):
			// A map that a body prints and then clears has windows.
			f.window = f.window || printed[c.MapName]
			f.clearedAtEnd = f.clearedAtEnd || atEnd && c.Func.Clears
		}
	})
}

// print notes a print of the whole map.
func (f *facts) print(c *builtin.Call) {
	// The first print decides how a map is shown.
	if f.printed {
		return
	}
	f.printed = true
	f.top, _ = c.Int(1)
	f.div, _ = c.Int(2)
}

// write notes a place that gives a map a value.
func (d *deriver) write(p *check.Probe, to, rhs syntax.Expr, op syntax.Token, at source.Span) {
	info := p.Info
	m, keys := mapOf(to)
	f := d.facts[m]
	if f == nil {
		return
	}
	// Both are true until a write says otherwise.
	if !f.at.Valid() {
		f.at, f.onlyGrows, f.onlyAddsNonNeg = at, true, true
	}
	f.writes = append(f.writes, write{info, rhs, op})
	f.onlyGrows = f.onlyGrows && (op == syntax.Inc || op == syntax.AddAssign && notNegative(info, rhs))
	if len(keys) > 0 {
		f.keys = append(f.keys, namesOfAll(info, keys))
	}
	f.samples(p, rhs, op)
	if rhs == nil {
		return
	}
	if c := aggregation(info, rhs); c == nil {
		f.columns = append(f.columns, membersOf(info, rhs))
	} else if len(c.Args) > 0 {
		f.onlyAddsNonNeg = f.onlyAddsNonNeg && notNegative(info, c.Args[0])
	}
}

// samples notes whether a write counts the samples of a profile probe.
func (f *facts) samples(p *check.Probe, rhs syntax.Expr, op syntax.Token) {
	period := time.Duration(-1)
	counts := op == syntax.Inc
	if rhs != nil {
		c := aggregation(p.Info, rhs)
		// count is the only aggregation without arguments.
		counts = c != nil && len(c.Args) == 0
	}
	if pt := p.Points[0]; counts && p.Kind.Name == "profile" && pt.Period > 0 {
		// hz is a rate, other words are lengths of time.
		if period = time.Duration(pt.Period); pt.Func == "hz" {
			period = time.Second / period
		}
	}
	// 0 is what no write has said anything about.
	if f.period == 0 {
		f.period = period
	} else if f.period != period {
		f.period = -1
	}
}

// mapOf is the map that an expression names or has an element of, with @; ""
// if it is something else.
func mapOf(e syntax.Expr) (name string, keys []syntax.Expr) {
	switch e := syntax.Unparen(e).(type) {
	case *syntax.Map:
		return "@" + e.Name, nil
	case *syntax.MapIndex:
		return "@" + e.Map.Name, e.Keys
	}
	return "", nil
}

// aggregation is the call that a right-hand side is, nil if it is none.
func aggregation(info *check.Info, e syntax.Expr) *builtin.Call {
	for {
		switch x := info.Evaluated(e).(type) {
		case *syntax.Paren:
			e = x.X
		// Macros leave blocks around what they yield.
		case *syntax.Block:
			if x.Result == nil {
				return nil
			}
			e = x.Result
		default:
			if c := info.Calls[x]; c != nil && c.Agg != nil {
				return c
			}
			return nil
		}
	}
}

// notNegative reports whether a number cannot be below zero.
func notNegative(info *check.Info, e syntax.Expr) bool {
	// A constant says it itself, while its type may have a sign.
	if k, ok := info.Consts[e]; ok {
		return k.Kind == builtin.IntConst && !k.Neg
	}
	i, ok := types.IsInteger(info.Types[e])
	return ok && !i.Signed || info.Types[e] == types.Bool
}

// meaning says what a map means.
func (d *deriver) meaning(m *check.Map) *view.Map {
	f := d.facts[m.Name]
	out := &view.Map{
		Name: m.Name, Type: m.Value, Key: m.Key, At: f.at, Window: f.window, Top: f.top, Div: max(f.div, 1),
	}
	if !out.At.Valid() {
		out.At = m.First
	}
	out.Kind = kindOf(m.Value, f)
	if out.Kind == view.Counter {
		// -1 is no period.
		out.Period = max(f.period, 0)
	}
	agg, _ := m.Value.(*types.Agg)
	hidden := !d.prog.Config.PrintMapsOnExit
	// Nobody is shown such a map: it is the script's own memory.
	if agg == nil && !f.printed && (m.DeletedFrom || f.clearedAtEnd || hidden) {
		out.Role = view.State
	}
	dim := d.dims.maps[m.Name]
	out.Keys = elements(m.Key, f.keys, nil, view.KeyNames)
	switch out.Kind {
	case view.Text:
	case view.Record:
		out.Columns = elements(m.Value, f.columns, &dim, columnNames)
	default:
		out.Point = dim.kind == point
		out.Unit = d.unit(m.Name, dim, agg)
	}
	out.Weight = view.WeightOf(out.Kind, out.Keyed())
	return out
}

// unit is that of the values' expressions, else that of the name.
func (d *deriver) unit(mapName string, dim dim, agg *types.Agg) view.Unit {
	byDim, byName := dim.unit(), view.UnitOfName(mapName)
	// A count may be one of pages. How often something happened is no length of time, whatever it is called.
	counted := takesNoValue(agg) && byName != view.Pages && byName != view.Jiffies
	if byDim == view.NoUnit && !counted {
		return byName
	}
	// Values are right about themselves. The author of the name is told.
	if byName != view.NoUnit && byName != byDim {
		of := byDim.String()
		if byDim == view.NoUnit {
			of = "a count"
		}
		d.out.Notes = append(d.out.Notes, mapName+": the name says "+byName.String()+", but the values are "+of)
	}
	return byDim
}

// takesNoValue reports whether an aggregation is one of how often something happened.
func takesNoValue(t *types.Agg) bool {
	if t == nil {
		return false
	}
	a, ok := builtin.LookupAgg(t.Kind)
	return ok && len(a.Params) == 0
}

// kindOf chooses the kind of view for the values of a map.
func kindOf(t types.Type, f *facts) view.Kind {
	switch t := t.(type) {
	case *types.Agg:
		a, ok := builtin.LookupAgg(t.Kind)
		switch {
		case !ok:
			return view.Text
		// A sum of signed numbers may become smaller.
		case a.Shows == view.Counter && t.Signed && !f.onlyAddsNonNeg:
			return view.Gauge
		}
		return a.Shows
	case *types.Int:
		if f.onlyGrows {
			return view.Counter
		}
		return view.Gauge
	case *types.Tuple, *types.Record, *types.Struct:
		return view.Record
	}
	return view.Text
}

// columnNames are those of columns; values without a name are numbered from 0.
func columnNames(names []string) []string {
	return view.Names(names, func(i int) string { return "value" + strconv.Itoa(i) })
}

// elements are the leaves of a key or of a record. The names that all sites
// agree about are taken; dim is what is known of the numbers, nil for keys.
func elements(t types.Type, sites [][]name, dim *dim, label func([]string) []string) []view.Element {
	if t == nil {
		return nil
	}
	leaves := leavesOf(t, dim, nil)
	names := make([]string, len(leaves))
	for i := range leaves {
		names[i] = leaves[i].name
	}
	for i, list := range sites {
		flat := flatten(list, t)
		for j := range names {
			switch {
			// A site that names less says nothing about the rest.
			case j >= len(flat):
			case i == 0:
				names[j] = flat[j]
			// Sites disagree: any name would be wrong of one of them.
			case flat[j] != names[j]:
				names[j] = ""
			}
		}
	}
	var labels []int // of leaves that are no stacks
	var wanted []string
	for i, l := range leaves {
		if l.Frames == view.NoFrames {
			labels, wanted = append(labels, i), append(wanted, names[i])
		}
	}
	// A missing name counts the positions of the whole key.
	text := label(padded(wanted, labels, len(leaves)))
	out := make([]view.Element, len(leaves))
	for i, l := range leaves {
		out[i] = l.Element
		out[i].Name = text[i]
		// A stack is called by its sort of frames, whatever the expression is.
		if l.Frames != view.NoFrames {
			out[i].Name = ""
		}
		// The name of a column says its unit where its values do not.
		if dim != nil && out[i].Kind == view.Gauge && out[i].Unit == view.NoUnit {
			out[i].Unit = view.UnitOfName(out[i].Name)
		}
	}
	return out
}

// padded puts names at their positions; the others are of stacks.
func padded(names []string, at []int, n int) []string {
	out := make([]string, n)
	for i, j := range at {
		out[j] = names[i]
	}
	return out
}

// A leaf is an element of a key or record that has no elements itself.
type leaf struct {
	view.Element
	name string // by its type: a field of a record
}

// leavesOf lists the columns that a type has, with the unit and name of each as far as they are
// known.
func leavesOf(t types.Type, d *dim, out []leaf) []leaf {
	elem := func(i int) *dim {
		if d == nil {
			return nil
		}
		e := d.elem(i)
		return &e
	}
	switch t := t.(type) {
	case *types.Record:
		for i, e := range t.Elems {
			from := len(out)
			out = leavesOf(e, elem(i), out)
			// A member of a member has both names.
			prefix(out[from:], t.Names[i])
		}
		return out
	case *types.Tuple:
		for i, e := range t.Elems {
			out = leavesOf(e, elem(i), out)
		}
		return out
	case *types.Struct:
		// Structs are one level deep: what they contain is text.
		for _, f := range t.Fields() {
			out = append(out, leaf{view.Element{Type: f.Type, Kind: columnKind(f.Type)}, f.Name})
		}
		return out
	case *types.Stack:
		frames := view.KernelFrames
		if t.User {
			frames = view.UserFrames
		}
		return append(out, leaf{view.Element{Type: t, Frames: frames, Kind: view.Text}, ""})
	}
	l := leaf{view.Element{Type: t, Kind: columnKind(t)}, ""}
	if d != nil {
		l.Unit = d.unit()
	}
	return append(out, l)
}

// prefix puts the name of a record's member in front of the names in it.
func prefix(leaves []leaf, name string) {
	for i := range leaves {
		leaves[i].name = strings.TrimSuffix(name+"_"+leaves[i].name, "_")
	}
}

// columnKind is what a column shows: numbers that are sorted as such, or text.
func columnKind(t types.Type) view.Kind {
	if _, ok := t.(*types.Int); ok {
		return view.Gauge
	}
	return view.Text
}

// flatten is what a site calls the leaves of a value of type t, of which it
// names the elements.
func flatten(names []name, t types.Type) []string {
	elems := elemsOf(t)
	// One name is of all: a tuple that is written out, or what the whole value is called.
	if len(names) == 1 && len(elems) != 1 {
		if names[0].of != nil { // a tuple that is written out
			return flatten(names[0].of, t)
		}
		return spread(names[0], t)
	}
	if elems == nil {
		elems = []types.Type{t}
	}
	var out []string
	for i, n := range names {
		if i >= len(elems) {
			break
		}
		if n.of != nil {
			out = append(out, flatten(n.of, elems[i])...)
		} else {
			out = append(out, spread(n, elems[i])...)
		}
	}
	return out
}

// spread names the leaves of a value with one name: by its fields or numbers.
func spread(n name, t types.Type) []string {
	leaves := leavesOf(t, nil, nil)
	if elemsOf(t) == nil {
		return []string{n.text}
	}
	out := make([]string, len(leaves))
	for i, l := range leaves {
		switch {
		case l.name != "" && n.text != "":
			out[i] = n.text + "_" + l.name
		case l.name != "":
			out[i] = l.name
		case n.text != "":
			out[i] = n.text + "_" + strconv.Itoa(i)
		}
	}
	return out
}

// elemsOf are the elements of a tuple or record, nil for anything else.
func elemsOf(t types.Type) []types.Type {
	switch t := t.(type) {
	case *types.Record:
		return t.Elems
	case *types.Tuple:
		return t.Elems
	}
	return nil
}

// finishSites puts the places that emit in the order of the script.
func (d *deriver) finishSites() {
	order.Stably(d.sites, func(a, b *site) int {
		// Places of macros are in other files.
		if a.At.File != b.At.File {
			return cmp.Compare(name2(a.At), name2(b.At))
		}
		return cmp.Compare(a.At.Start, b.At.Start)
	})
	// Text that begin prints before any value is the header of a table.
	fieldSeen := false
	for _, s := range d.sites {
		s.units(d.dims)
		s.finish()
		if s.inBegin && len(s.Args) == 0 && !fieldSeen {
			s.Header = true
		}
		fieldSeen = fieldSeen || s.inBegin && len(s.Args) > 0
		d.out.Sites = append(d.out.Sites, &s.Site)
	}
}

// name2 is the name of a place's file, empty for places of no file.
func name2(at source.Span) string {
	if at.File == nil {
		return ""
	}
	return at.File.Name
}
