package builtin

import (
	"encoding/binary"

	"github.com/hawktrace/hawk/internal/ir"
	"github.com/hawktrace/hawk/internal/object"
	"github.com/hawktrace/hawk/internal/types"
)

var _ = define(Func{
	Name: "getopt", Min: 1, Params: []Param{{"name", StringLit}, {"default", AnyValue}, {"description", StringLit}},
	Doc:     "The value of an option of the script, given behind `--`: `hawk script.bt -- --name=value`. The default, a literal, says whether it is a number, a string or a bool; without one it is a bool, false, and `--name` alone makes it true. `-- --help` lists a script's options.",
	Example: `tracepoint:syscalls:sys_exit_read / args.ret >= getopt("least", 4096, "smallest read to show") / { @[comm] = count(); }`,
	Yields:  "bool, int64, uint64 or string, as the default",
	Check: func(c *Call) types.Type {
		if name, ok := c.Str(0); ok && name == "" {
			c.Errorf(c.Args[0], "bad-argument", "getopt() needs the name of an option")
		}
		if len(c.Args) < 2 {
			return types.Bool
		}
		switch k := c.Consts[1]; {
		case k.Kind == StrConst:
			if len(k.Str) >= c.Config.MaxStrlen {
				c.Errorf(c.Args[1], "string-too-long", "getopt(): the default is longer than max_strlen (%d)", c.Config.MaxStrlen)
			}
			return &types.String{Cap: c.Config.MaxStrlen}
		case k.Kind == BoolConst:
			return types.Bool
		case k.Kind == IntConst && k.Neg:
			return types.Int64
		case k.Kind == IntConst:
			return types.Uint64
		}
		c.Errorf(c.Args[1], "literal-required", "getopt() expects a literal as the default")
		return types.Bool
	},
	Lower: func(g Gen, c *Call, dst *ir.Value) *ir.Value {
		b := g.B()
		o := &object.Option{Type: c.Result, At: c.Expr.Span()}
		o.Name, _ = c.Str(0)
		o.Doc, _ = c.Str(2)
		if len(c.Args) > 1 {
			if k := c.Consts[1]; k.Kind == StrConst {
				o.Default = []byte(k.Str)
			} else {
				o.Default = binary.NativeEndian.AppendUint64(nil, k.Int)
			}
		}
		p := b.Data(g.Option(o))
		size := c.Result.Size()
		switch {
		case types.IsScalar(c.Result):
			return b.Load(p, 0, size, c.Result == types.Type(types.Int64))
		case dst != nil:
			b.Copy(dst, 0, p, size)
			return dst
		}
		return p
	},
})
