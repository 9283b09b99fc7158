package builtin

import (
	"errors"
	"math"

	"github.com/hawktrace/hawk/internal/probe"
	"github.com/hawktrace/hawk/internal/source"
	"github.com/hawktrace/hawk/internal/syntax"
	"github.com/hawktrace/hawk/internal/types"
)

var _ = Define(Func{
	Name: "probe_exists", Min: 1, Params: []Param{{"attach_point", StringLit}}, Result: types.Bool,
	Doc: "Whether an attach point, a pattern too, names at least one probe that can be attached here: the function " +
		"is traceable, the tracepoint has a format, the file has the symbol or mark. Attaching is not tried. As a " +
		"predicate it chooses between several probes; the blocks that it rules out are not even resolved.",
	Example: `tracepoint:block:block_io_start / probe_exists("tracepoint:block:block_io_start") / { @ = count(); }`,
	Early:   true,
	Check: func(c *Call) types.Type {
		if text, ok := c.Str(0); ok {
			if _, err := existing(c, text); err != nil {
				c.Errorf(c.Args[0], "attach-point", "probe_exists(): %v", err)
			}
		}
		return types.Bool
	},
	Const: func(c *Call) (Const, bool) {
		text, ok := c.Str(0)
		if !ok {
			return Const{}, false
		}
		found, _ := existing(c, text)
		if c.Opts.Asked != nil {
			c.Opts.Asked(text, found)
		}
		return boolConst(found), true
	},
})

// existing reports whether an attach point names a probe. The error says that it is
// not one that could.
func existing(c *Call, text string) (bool, error) {
	split, d := syntax.SplitAttach(text, source.Span{}, syntax.Params{Option: c.Opts.Option})
	if d != nil {
		return false, errors.New(d.Msg)
	}
	if len(split.Parts) == 0 {
		return false, errors.New("the attach point is empty")
	}
	all := make([]probe.Part, 0, len(split.Parts))
	for _, part := range split.Parts {
		all = append(all, probe.Part{Text: part.Text, Literal: part.Quoted})
	}
	kind, parts, err := probe.KindOf(all)
	if err != nil {
		return false, err
	}
	// What a pattern leaves out is no news, and there is nothing to be attached.
	opts := *c.Opts
	opts.WarnPoint, opts.MaxProbes = func(source.Span, string) {}, math.MaxInt
	p := &probe.Point{Kind: kind, Parts: parts}
	if err := kind.Parse(p, p.Parts, &opts); err != nil {
		return false, err
	}
	points, err := kind.Match(p, &opts)
	if err != nil || len(points) == 0 {
		return false, nil // a file that is not there has no symbols either
	}
	_, err = kind.Plan(points[:1], probe.Uses{}, &opts)
	return err == nil, nil
}

var _ = Define(Func{
	Name: "args_has", Min: 1, Params: []Param{{"name", StringLit}}, Result: types.Bool, Probes: probe.HasArgs,
	Doc: "Whether `args` of this probe has a field. Fields of tracepoints come and go with kernels: ask with " +
		"`if comptime`, and the arm that is not taken may name what is not there.",
	Example: `tracepoint:skb:kfree_skb { if comptime (args_has("reason")) { @[args.reason] = count(); } }`,
	Const: func(c *Call) (Const, bool) {
		name, ok := c.Str(0)
		if !ok || c.Kind.Args == nil {
			return Const{}, false
		}
		has := len(c.Points) > 0
		for _, pt := range c.Points {
			args, err := c.Kind.Args(pt, c.Opts)
			if err != nil || args == nil {
				has = false
				continue
			}
			_, found := args.Field(name)
			has = has && found
		}
		return boolConst(has), true
	},
})
