package show

import (
	"encoding/binary"

	"github.com/hawktrace/hawk/internal/builtin"
	"github.com/hawktrace/hawk/internal/ir"
	"github.com/hawktrace/hawk/internal/types"
	"github.com/hawktrace/hawk/internal/value"
)

var _ = builtin.Define(builtin.Func{
	Name: "fail", Min: 1, Params: formatParams, Variadic: true,
	Doc: "Stops the compilation with an error. All arguments are literals. It does so wherever it is compiled, " +
		"also where the script would never get: guard it with `if comptime (…)`.",
	Example: `begin { if comptime (sizeof(long) != 8) { fail("%s only", "64 bits"); } }`,
	Check: func(c *builtin.Call) types.Type {
		format := formatOf(c)
		// While types are inferred, whether the call is reached at all is not known.
		if format == nil || c.Diags == nil {
			return types.Void
		}
		args := make([]value.Arg, len(c.Args)-1)
		for i, k := range c.Consts[1:] {
			// Text is made at once, by what prints values of a run.
			raw, ok := literalBytes(k)
			if !ok {
				c.Errorf(c.Args[i+1], "literal-required", "%s() expects a literal", c.Name)
				return types.Void
			}
			args[i] = value.Arg{Type: c.Types[i+1], Raw: raw}
		}
		c.Errorf(c.Expr, "fail", "%s", format.Append(nil, args, nil))
		return types.Void
	},
	Lower: func(builtin.Gen, *builtin.Call, *ir.Value) *ir.Value { return nil },
})

// literalBytes is a literal as values of its type lie in memory.
// Eight bytes do for integers of any width: the first bytes of a little-endian number are the
// narrow one.
func literalBytes(k builtin.Const) ([]byte, bool) {
	switch k.Kind {
	case builtin.StrConst:
		return append([]byte(k.Str), 0), true
	case builtin.IntConst, builtin.BoolConst:
		return binary.NativeEndian.AppendUint64(nil, k.Int), true
	}
	return nil, false
}
