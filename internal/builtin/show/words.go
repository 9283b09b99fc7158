package show

import (
	"fmt"

	"github.com/hawktrace/hawk/internal/builtin"
	"github.com/hawktrace/hawk/internal/ir"
	"github.com/hawktrace/hawk/internal/object"
	"github.com/hawktrace/hawk/internal/output"
	"github.com/hawktrace/hawk/internal/types"
)

var _ = builtin.Define(builtin.Func{
	Name: "show", Takes: true, Min: 2, Variadic: true, Result: types.Void,
	Params: []builtin.Param{builtin.StringLit.Named("names"), builtin.WholeMap.Named("map")},
	Doc: "Prints maps as `print()` does, under words in place of the map's name: one for each part of the key, " +
		"and one for the values, `show(\"disk usecs\", @h)` for `disk = vda, usecs:`. `pid(comm)` is for two " +
		"parts, shown as `pid = 5190 (spin)`, and `(us)` at the end for `disk = vda (us):`. A name more in front " +
		"of the last is for how many values a histogram has. Words in front of the last comma are a title: " +
		"`show(\"query latency, msecs\", @h)`. A stack in the key stands above the line. If the statements behind " +
		"it clear all of the maps, reading and clearing are one pass. `-f json` makes a record for each key.",
	Example: `tracepoint:syscalls:sys_exit_read / args.ret > 0 / { @size[comm] = hist(args.ret); } ` +
		`interval:s:5 { show("comm bytes", @size); clear(@size); }`,
	Check: func(c *builtin.Call) types.Type {
		text, ok := c.Str(0)
		// Each map is checked by itself, since they may differ in their keys.
		for i, m := range c.Maps {
			if !ok || m.Name == "" || m.Value == nil || m.Keyed && m.Key == nil {
				continue
			}
			if _, err := output.ParseNames(text, keyParts(m.Key)); err != nil {
				c.Errorf(c.Args[0], "bad-format", "show(): %v", err).Note(c.Args[i].Span(), "this is the map")
			}
		}
		return types.Void
	},
	Lower: func(g builtin.Gen, c *builtin.Call, _ *ir.Value) *ir.Value {
		text, _ := c.Str(0)
		// Then two for each map: its number, and how many parts its key has.
		// Numbers of parts are in the event, since maps of one call may differ in them.
		extra := []int64{number(c.Taken)}
		for _, m := range c.Maps {
			if m.Name != "" {
				extra = append(extra, int64(g.MapOf(m.Name)), int64(keyParts(m.Key)))
			}
		}
		g.Event(c, &object.Event{Text: text, Map: -1, Extra: extra}, nil)
		return nil
	},
	Handle: func(e builtin.Env, ev *object.Event, _ []byte) error {
		if len(ev.Extra) == 0 {
			return nil
		}
		for maps := ev.Extra[1:]; len(maps) >= 2; maps = maps[2:] {
			names, err := output.ParseNames(ev.Text, int(maps[1]))
			if err != nil {
				return err
			}
			entries, err := e.ReadMap(int(maps[0]), ev.Extra[0] != 0)
			if err != nil {
				return fmt.Errorf("show(): cannot read a map: %w", err)
			}
			if dropped := e.Unstored(); entries.Len() > 0 || dropped > 0 {
				e.Emit(output.Shown{Names: names, Entries: entries, Dropped: dropped})
			}
		}
		return nil
	},
})

// keyParts is how many parts a key has; nil is that of a scalar.
// A record counts as one part, as it does where maps are printed.
func keyParts(key types.Type) int {
	switch t := key.(type) {
	case nil:
		return 0
	case *types.Tuple:
		return len(t.Elems)
	}
	return 1
}
