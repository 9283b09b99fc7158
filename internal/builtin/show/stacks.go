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

// Options that stacks() declares, in the order of its event's literals.
// Tools have them as options of their own by calling stacks().
var stackOptions = []string{"delimited", "annotate", "pid-in-name"}

var _ = builtin.Define(builtin.Func{
	Name: "stacks", Takes: true, Min: 1, Result: types.Void,
	Params: []builtin.Param{builtin.WholeMap.Named("map"), builtin.StringLit.Named("names")},
	Doc: "Prints a map of numbers whose key is a tuple of stacks and other parts, `(kstack, ustack, comm, " +
		"pid)`, ascending by value: the frames, a line of the other parts, and the number. Entries that " +
		"read alike are one. `names` are those of the parts that are no stacks; a text and a number are " +
		"`comm` and `pid` without. Stacks behind such parts are those of another thread, which acted upon" +
		" the first. A thread of which no frame is known is `[missed user stack]`. `-f folded` prints a " +
		"line for each entry, for flame graphs, and nothing else. Options that this declares: " +
		"`--delimited` separates the stacks of program and kernel, `--annotate` marks functions of the " +
		"kernel by `_[k]` in lines, `--pid-in-name` writes `comm-pid` there. If the statements behind it " +
		"clear the map, reading and clearing are one pass.",
	Example: `profile:hz:99 { @[kstack, ustack, comm, pid] = count(); } interval:s:10 { stacks(@); exit(); }`,
	Options: func(c *builtin.Call) []*object.Option {
		var out []*object.Option
		for _, name := range stackOptions {
			out = append(out, &object.Option{Name: name, Type: types.Bool, At: c.Expr.Span()})
		}
		return out
	},
	Check: func(c *builtin.Call) types.Type {
		checkStacks(c)
		return types.Void
	},
	Lower: func(g builtin.Gen, c *builtin.Call, _ *ir.Value) *ir.Value {
		agg, ok := c.MapValue.(*types.Agg)
		// Entries that read alike become one: of max() the larger value stays, others add up.
		extra := []int64{number(c.Taken), number(ok && agg.Kind == "max")}
		for _, name := range stackOptions {
			extra = append(extra, number(option(c, name) == "true"))
		}
		g.Event(c, &object.Event{Text: c.Found.Text, Map: g.MapOf(c.MapName), Extra: extra}, nil)
		return nil
	},
	Handle: func(e builtin.Env, ev *object.Event, _ []byte) error {
		x := ev.Extra
		if len(x) < 2+len(stackOptions) {
			return nil
		}
		entries, err := e.ReadMap(ev.Map, x[0] != 0)
		if err != nil {
			return fmt.Errorf("stacks(): cannot read the map: %w", err)
		}
		e.Emit(output.Stacks{
			Names: strings.Split(ev.Text, " "), Entries: entries, Most: x[1] != 0,
			Delimited: x[2] != 0, Annotate: x[3] != 0, PIDInName: x[4] != 0, Dropped: e.Unstored(),
		})
		return nil
	},
})

// checkStacks finds the names of the key's parts, in their order, "-" for a stack.
// A part without a name of its own gets the usual one once: a second number has to be named, or
// nobody knows what it is.
func checkStacks(c *builtin.Call) {
	if c.MapValue == nil || c.MapKeyed && c.MapKey == nil {
		return
	}
	if _, ok := types.IsInteger(builtin.Travels(c.MapValue)); !ok {
		c.Errorf(c.Args[0], "map-type", "stacks() expects a map of numbers, such as count() or sum(): %s has %s",
			c.MapName, c.MapValue)
		return
	}
	text, given := c.Str(1)
	rest := strings.Fields(text)
	var names []string
	found := false
	for _, t := range elements(c.MapKey) {
		usual := "comm"
		if _, ok := types.IsInteger(t); ok {
			usual = "pid"
		}
		switch {
		case t != nil && isStack(t):
			found, names = true, append(names, "-")
		case !given && !slices.Contains(names, usual):
			names = append(names, usual)
		case len(rest) == 0:
			c.Errorf(c.Expr, "format-arguments", "stacks(): parts of the key have no name").
				Hint("name those that are no stacks: stacks(%s, \"comm pid cpu\")", c.MapName)
			return
		default:
			names, rest = append(names, rest[0]), rest[1:]
		}
	}
	if !found {
		c.Errorf(c.Args[0], "map-type", "stacks() expects a map with stacks in its key: %s has none", c.MapName)
		return
	}
	c.Found.Text = strings.Join(names, " ")
}

// PrintsStacks reports whether a script prints stacks by stacks().
// The folded form is refused for scripts that print none.
func PrintsStacks(o *object.Object) bool { return prints(o, "stacks") }
