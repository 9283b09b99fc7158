package builtin

import (
	"github.com/hawktrace/hawk/internal/types"
)

var _ = Define(Func{
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
