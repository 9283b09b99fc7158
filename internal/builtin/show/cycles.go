package show

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hawktrace/hawk/internal/builtin"
	"github.com/hawktrace/hawk/internal/ir"
	"github.com/hawktrace/hawk/internal/object"
	"github.com/hawktrace/hawk/internal/output"
	"github.com/hawktrace/hawk/internal/types"
)

// usualCycles is how many cycles are shown if the script does not say.
// A deadlock is one cycle; more than a screen of them nobody reads.
const usualCycles = 10

var _ = builtin.Define(builtin.Func{
	Name: "cycles", Takes: true, Min: 1, Result: types.Void,
	Params: []builtin.Param{builtin.WholeMap.Named("edges"), builtin.IntLit.Named("max")},
	Doc: "Prints the cycles of a graph, each once, the shortest first, `max` at most (10): `a -> b -> a`. The " +
		"map has an element for each edge, with the key `(a, b)` or a longer one. Parts behind these tell what " +
		"an edge cannot share: edges of which a part is the same, and not 0, are in no cycle together. Stacks " +
		"in the values stand below, by edge. Cycles have 10 nodes at most, and 100,000 edges are looked at; if " +
		"there is more, it says so. If the statements behind it clear the map, reading and clearing are one pass.",
	Example: `uprobe:libc:pthread_mutex_lock { if (@held[tid] != 0) { @[@held[tid], arg0] = ustack; } ` +
		`@held[tid] = arg0; } end { cycles(@); }`,
	Check: func(c *builtin.Call) types.Type {
		checkCycles(c)
		return types.Void
	},
	Lower: func(g builtin.Gen, c *builtin.Call, _ *ir.Value) *ir.Value {
		// x
		most, given := c.Int(1)
		if !given {
			most = usualCycles
		}
		// Literals of the event: whether reading clears the map, and how many cycles are shown.
		extra := []int64{number(c.Taken), most}
		g.Event(c, &object.Event{Text: edgeNames(c.MapValue), Map: g.MapOf(c.MapName), Extra: extra}, nil)
		return nil
	},
	Handle: func(e builtin.Env, ev *object.Event, _ []byte) error {
		if len(ev.Extra) < 2 {
			return nil
		}
		// Edges that come while the map is read may be in it or not: no lock spans maps.
		entries, err := e.ReadMap(ev.Map, ev.Extra[0] != 0)
		if err != nil {
			return fmt.Errorf("cycles(): cannot read the map: %w", err)
		}
		found, stopped := output.FindCycles(entries, int(ev.Extra[1]))
		e.Emit(output.Cycles{Names: strings.Split(ev.Text, " "), Found: found, Stopped: stopped, Dropped: e.Unstored()})
		return nil
	},
})

// checkCycles reports a map whose keys are no edges.
// An edge needs two ends. Parts of a key behind them are of any type.
func checkCycles(c *builtin.Call) {
	if c.MapValue == nil || c.MapKeyed && c.MapKey == nil {
		return
	}
	if len(elements(c.MapKey)) < 2 {
		c.Errorf(c.Args[0], "map-type", "cycles() expects a map whose keys are edges: those of %s are %s", c.MapName,
			keyWords(c.MapKey)).Hint("%s[from, to] = 1; makes an edge", c.MapName)
	}
	if most, given := c.Int(1); given && (c.Consts[1].Neg || most <= 0) {
		c.Errorf(c.Args[1], "bad-argument", "cycles() needs a number that is positive here")
	}
}

// edgeNames are the names of what an edge's value has beside stacks.
// The names end up as members of JSON: each has to be another. "-" stands for a stack, which is
// shown below.
func edgeNames(t types.Type) string {
	if r, ok := t.(*types.Record); ok {
		return strings.Join(r.Names, " ")
	}
	var names []string
	for i, t := range elements(t) {
		name := "comm"
		if _, number := types.IsInteger(t); number {
			name = "tid"
		}
		if slices.Contains(names, name) {
			name = fmt.Sprintf("part_%d", i+1)
		}
		if isStack(t) {
			name = "-"
		}
		names = append(names, name)
	}
	return strings.Join(names, " ")
}

// keyWords says in a message what keys a map has.
// It is for the one message of checkCycles.
func keyWords(t types.Type) string {
	if t == nil {
		return "none"
	}
	return "of type " + t.String()
}
