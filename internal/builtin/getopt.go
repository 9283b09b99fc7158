package builtin

import (
	"encoding/binary"
	"strconv"

	"github.com/hawktrace/hawk/internal/config"
	"github.com/hawktrace/hawk/internal/ir"
	"github.com/hawktrace/hawk/internal/object"
	"github.com/hawktrace/hawk/internal/types"
)

var _ = Define(Func{
	Name: "getopt", Min: 1, Params: []Param{{"name", StringLit}, {"default", AnyValue}, {"description", StringLit}},
	Doc: "The value of an option of the script, given behind `--`: `hawk script.bt -- --name=value`. The default, " +
		"a literal, says whether it is a number, a string or a bool; without one it is a bool, false, and " +
		"`--name` alone makes it true. `-- --help` lists a script's options. It may stand where a literal is " +
		"wanted, in `if comptime` and, as `$name`, in attach points.",
	Example: `tracepoint:syscalls:sys_exit_read / args.ret >= getopt("least", 4096, "smallest read to show") ` +
		`/ { @[comm] = count(); }`,
	Yields: "bool, int64, uint64 or string, as the default",
	Check: func(c *Call) types.Type {
		if name, ok := c.Str(0); ok && name == "" {
			c.Errorf(c.Args[0], "bad-argument", "getopt() needs the name of an option")
		}
		// Ahead of time, options are given to the executable, long after.
		if name, _ := c.Str(0); c.Literal && c.Opts.Named == nil {
			c.Errorf(c.Expr, "option-unknown",
				"The value of option --%s is not known while the script is compiled", name).
				Hint("a literal is needed here; compiled ahead of time, " +
					"an option gets its value when the script is loaded")
			return nil
		}
		if len(c.Args) < 2 {
			return types.Bool
		}
		if k := c.Consts[1]; k.Kind == StrConst && len(k.Str) >= c.Config.MaxStrlen {
			c.Errorf(c.Args[1], "string-too-long",
				"getopt(): the default is longer than max_strlen (%d)", c.Config.MaxStrlen)
		}
		t := optionType(c)
		if t == nil {
			c.Errorf(c.Args[1], "literal-required", "getopt() expects a literal as the default")
			return types.Bool
		}
		return t
	},
	Early: true,
	Options: func(c *Call) []*object.Option {
		if o, ok := declared(c); ok {
			return []*object.Option{o}
		}
		return nil
	},
	Const: func(c *Call) (Const, bool) {
		o, ok := declared(c)
		if !ok || !c.Literal {
			return Const{}, false
		}
		return OptionValue(o, c.Opts.Named)
	},
	Lower: func(g Gen, c *Call, dst *ir.Value) *ir.Value {
		b := g.B()
		o, _ := declared(c)
		scalar := types.IsScalar(c.Result)
		// Code that these options leave out is neither compiled nor verified.
		if k, ok := OptionValue(o, c.Opts.Named); ok && scalar {
			g.Option(o)
			return b.Const(int64(k.Int))
		}
		// The value is a word of shared data that user space writes before it attaches: a
		// program that was compiled ahead of time is the same whatever is given.
		p := b.Data(g.Option(o))
		size := c.Result.Size()
		switch {
		case scalar:
			return b.Load(p, 0, size, c.Result == types.Type(types.Int64))
		case dst != nil:
			b.Copy(dst, 0, p, size)
			return dst
		}
		return p
	},
})

// declared is the option that a call of getopt declares.
func declared(c *Call) (*object.Option, bool) {
	o := &object.Option{Type: optionType(c), At: c.Expr.Span()}
	ok := false
	if o.Name, ok = c.Str(0); !ok || o.Type == nil {
		return nil, false
	}
	o.Doc, _ = c.Str(2)
	if len(c.Args) > 1 {
		if k := c.Consts[1]; k.Kind == StrConst {
			// Without a NUL: the room behind it is zeroed.
			o.Default = []byte(k.Str)
		} else if k.Kind != BoolConst || k.Int != 0 { // false is what a bool is without a default
			o.Default = binary.NativeEndian.AppendUint64(nil, k.Int)
		}
	}
	return o, true
}

// optionType is the type of an option by its default; nil if that is no literal.
func optionType(c *Call) types.Type {
	if len(c.Args) < 2 {
		return types.Bool
	}
	switch k := c.Consts[1]; {
	case k.Kind == StrConst: // a long text that is known by now, like a list of probes, has all the room it needs
		name, _ := c.Str(0)
		return &types.String{Cap: max(c.Config.MaxStrlen, len(c.Opts.Named[name].Text)+1)}
	case k.Kind == BoolConst:
		return types.Bool
	case k.Kind == IntConst && k.Neg:
		return types.Int64
	case k.Kind == IntConst:
		return types.Uint64
	}
	return nil
}

// OptionValue is the value of an option, as given or by default; ok is false if what is
// given is not known.
func OptionValue(o *object.Option, named config.Named) (k Const, ok bool) {
	if named == nil {
		return Const{}, false
	}
	v := o.Default
	if given, ok := named[o.Name]; ok {
		if parsed, err := o.Parse(given.Text, !given.Bare); err == nil { // else the command line says so
			v = parsed
		}
	}
	return optionConst(o, v), true
}

// optionConst is the value of an option, as it lies in memory, as a literal.
func optionConst(o *object.Option, value []byte) Const {
	if _, ok := o.Type.(*types.String); ok {
		return Const{Kind: StrConst, Str: string(value)}
	}
	var word [8]byte
	copy(word[:], value)
	k := Const{Kind: IntConst, Int: binary.NativeEndian.Uint64(word[:])}
	if o.Type == types.Bool {
		k.Kind = BoolConst
	}
	k.Neg = o.Type == types.Type(types.Int64) && int64(k.Int) < 0
	return k
}

// OptionText is the text of an option's value, as an attach point takes it.
func OptionText(k Const) string {
	switch {
	case k.Kind == StrConst:
		return k.Str
	case k.Kind == BoolConst:
		return strconv.FormatBool(k.Int != 0)
	case k.Neg:
		return strconv.FormatInt(int64(k.Int), 10)
	}
	return strconv.FormatUint(k.Int, 10)
}
