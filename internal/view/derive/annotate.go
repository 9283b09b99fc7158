package derive

import (
	"slices"
	"strconv"
	"strings"

	"github.com/hawktrace/hawk/internal/source"
	"github.com/hawktrace/hawk/internal/spell"
	"github.com/hawktrace/hawk/internal/syntax"
	"github.com/hawktrace/hawk/internal/view"
)

// annotations reads those of a script, in its order.
func annotations(tree *syntax.Script) []view.Annotation {
	var out []view.Annotation
	for _, c := range tree.Comments {
		if list, ok := view.ParseAnnotation(c.Text, c.Span()); ok {
			out = append(out, list...)
		}
	}
	return out
}

// Check says what is wrong with a script's annotations: words that nobody
// knows, values that do not fit, maps that the script does not have. A run
// ignores all of it.
func Check(tree *syntax.Script) *source.Diagnostics {
	ds := &source.Diagnostics{}
	var names []string
	// The script may not compile: names are taken from the tree.
	syntax.Walk(tree, func(n syntax.Node) bool {
		if m, ok := n.(*syntax.Map); ok && !slices.Contains(names, "@"+m.Name) {
			names = append(names, "@"+m.Name)
		}
		return true
	})
	// Imports may bring the map that is not found here.
	imports := slices.ContainsFunc(tree.Items, func(i syntax.Item) bool { _, ok := i.(*syntax.Import); return ok })
	for _, a := range annotations(tree) {
		if a.Map != "" && !imports && !slices.Contains(names, a.Map) {
			// Diagnostics stand at the annotation, since it may be the only place of the name.
			e := ds.Errorf("bad-annotation", a.At, "An annotation of a map that the script does not have: %s", a.Map)
			if near := spell.Nearest(a.Map, names); near != "" {
				e.Hint("did you mean %s?", near)
			}
		}
		for _, b := range a.Bad {
			e := ds.Errorf("bad-annotation", b.At, "%s", b.Msg)
			if b.Hint != "" {
				e.Hint("%s", b.Hint)
			}
		}
	}
	return ds
}

// annotate applies the annotations of a script: they win over what was derived.
func (d *deriver) annotate(tree *syntax.Script) {
	for _, a := range annotations(tree) {
		// Words about the script itself have no map.
		m := d.out.Map(a.Map)
		for _, w := range a.Words {
			switch {
			case w.Key == "title":
				d.out.Title = w.Value
			case w.Key == "interval":
				d.out.Interval = w.Value
			case m != nil:
				apply(m, w)
			}
		}
	}
}

// apply changes a map by a word of an annotation.
func apply(m *view.Map, w view.Word) {
	switch w.Key {
	case "show":
		m.Role = view.Result
	case "hide":
		m.Role = view.State
	case "unit":
		m.Unit = view.UnitNamed(w.Value)
	case "name":
		m.Label = w.Value
	case "help":
		m.Help = w.Value
	case "max-series":
		m.MaxSeries, _ = strconv.Atoi(w.Value)
	case "labels":
		names := strings.Split(w.Value, ",")
		// Labels go to the parts in their order; stacks have names of their own.
		for i := range m.Keys {
			if m.Keys[i].Frames == view.NoFrames && len(names) > 0 {
				m.Keys[i].Name, names = names[0], names[1:]
			}
		}
	}
}
