package show

import (
	"strconv"
	"strings"

	"github.com/hawktrace/hawk/internal/builtin"
	"github.com/hawktrace/hawk/internal/ir"
	"github.com/hawktrace/hawk/internal/types"
	"github.com/hawktrace/hawk/internal/value"
)

// memoryType is {u64 0}; the name is in the type.
var memoryType = &types.Deferred{Name: "meminfo_t", By: 12, Bytes: 8, Algn: 8, Open: true}

var _ = builtin.Define(builtin.Func{
	// The name is part of the type: a map can hold values of one name only.
	Name: "meminfo", Min: 1, Yields: "meminfo_t", Renders: memoryType,
	Params: []builtin.Param{builtin.StringLit.Named("name")},
	Doc: "Memory of the machine when the text is made, in megabytes, as `/proc/meminfo` has it under a name: " +
		"`Cached`, `MemFree`. Empty if it has no such line.",
	Example: `interval:s:1 { printf("%s MB cached\n", meminfo("Cached")); }`,
	Check: func(c *builtin.Call) types.Type {
		name, ok := c.Str(0)
		if !ok {
			return nil
		}
		return memoryType.With(name)
	},
	// Nothing is measured in the probe: the value is read where its text is made.
	Lower: func(g builtin.Gen, c *builtin.Call, dst *ir.Value) *ir.Value {
		p := builtin.Place(g, c.Result, dst)
		g.B().Store(p, 0, 8, builtin.Number(g, 0))
		return p
	},
	Render: func(e builtin.Env, t *types.Deferred, _ []byte) value.Value {
		text, err := e.ReadFile("/proc/meminfo", 16<<10)
		if err != nil {
			return value.Null{}
		}
		return value.Text(megabytes(string(text), t.Arg))
	},
})

// megabytes is what a line of meminfo says, whose unit is kB.
// The kernel writes kB, and means 1024 bytes.
func megabytes(text, name string) string {
	for line := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(line, name+":"); ok {
			if words := strings.Fields(rest); len(words) > 0 {
				if n, err := strconv.ParseUint(words[0], 10, 64); err == nil {
					return string(value.AppendFixed(nil, n, 1024, 0))
				}
			}
		}
	}
	return ""
}
