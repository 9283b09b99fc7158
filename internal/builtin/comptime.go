package builtin

import (
	"encoding/binary"

	"github.com/hawktrace/hawk/internal/ir"
	"github.com/hawktrace/hawk/internal/types"
	"github.com/hawktrace/hawk/internal/value"
)

var _ = define(Func{
	Name: "is_literal", Also: []string{"__builtin_is_literal"}, Min: 1, Params: []Param{{"value", AnyValue}},
	Result: types.Bool,
	Doc:    "Whether a value is known while the script is compiled.",
	Example: `macro twice(n) { if comptime (is_literal(n)) { n * 2 } else { let $n = n; $n + $n } } begin { ` +
		`print(twice(21)); }`,
	Const: func(c *Call) (Const, bool) {
		k := Const{Kind: BoolConst}
		if c.Consts[0].Kind != NoConst {
			k.Int = 1
		}
		return k, true
	},
})

var _ = define(Func{
	Name: "fail", Min: 1, Params: formatParams, Variadic: true,
	Doc: "Stops the compilation with an error. All arguments are literals. It does so wherever it is compiled, " +
		"also where the script would never get: guard it with `if comptime (…)`.",
	Example: `begin { if comptime (sizeof(long) != 8) { fail("%s only", "64 bits"); } }`,
	Check: func(c *Call) types.Type {
		checkFormat(c)
		format, ok := c.Payload.(*value.Format)
		if !ok || c.Diags == nil {
			return types.Void
		}
		args := make([]value.Arg, len(c.Args)-1)
		for i, k := range c.Consts[1:] {
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
	Lower: func(Gen, *Call, *ir.Value) *ir.Value { return nil },
})

// literalBytes is a literal as values of its type lie in memory.
func literalBytes(k Const) ([]byte, bool) {
	switch k.Kind {
	case StrConst:
		return append([]byte(k.Str), 0), true
	case IntConst, BoolConst:
		return binary.NativeEndian.AppendUint64(nil, k.Int), true
	}
	return nil, false
}
