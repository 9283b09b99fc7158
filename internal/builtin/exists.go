package builtin

import (
	"errors"
	"math"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/hawktrace/hawk/internal/errno"
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
			if _, _, err := existing(c, text); err != nil {
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
		name, found, err := existing(c, text)
		if err != nil {
			return Const{}, false // which Check says, or answers
		}
		if c.Opts.Asked != nil {
			c.Opts.Asked(name, found)
		}
		return boolConst(found), true
	},
})

// existing reports whether an attach point names a probe; name is the attach point with
// options put in. The error says that it is not one that could. Of an option with several
// elements one that names a probe is enough.
func existing(c *Call, text string) (name string, found bool, err error) {
	list, elements := syntax.ListIn(text, c.Opts.Lists, c.Opts.Option)
	if list == "" {
		return existingOf(c, text, c.Opts.Option)
	}
	first := ""
	for element := range strings.SplitSeq(elements, ",") {
		name, found, err = existingOf(c, text, func(option string) (string, error) {
			if option == list {
				return element, nil
			}
			return c.Opts.Option(option)
		})
		if found || err != nil {
			return name, found, err
		}
		if first == "" {
			first = name
		}
	}
	return first, false, nil
}

// existingOf is existing with the texts of options.
func existingOf(c *Call, text string, option func(name string) (string, error)) (name string, found bool, err error) {
	split, d := syntax.SplitAttach(text, source.Span{}, syntax.Params{Option: option})
	if d != nil {
		return text, false, errors.New(d.Msg)
	}
	if len(split.Parts) == 0 {
		return text, false, errors.New("the attach point is empty")
	}
	all := make([]probe.Part, 0, len(split.Parts))
	var texts []string
	for _, part := range split.Parts {
		texts = append(texts, part.Text)
		all = append(all, probe.Part{Text: part.Text, Literal: part.Quoted})
	}
	if name = text; strings.Contains(text, "$") {
		name = strings.Join(texts, ":")
	}
	kind, parts, err := probe.KindOf(all)
	if err != nil {
		return name, false, err
	}
	// Nothing is attached here, so nobody needs to hear what a pattern leaves out.
	opts := *c.Opts
	opts.WarnPoint, opts.MaxProbes = func(source.Span, string) {}, math.MaxInt
	p := &probe.Point{Kind: kind, Parts: parts}
	if err := kind.Parse(p, p.Parts, &opts); err != nil {
		return name, false, err
	}
	points, err := kind.Match(p, &opts)
	if passing(err) {
		return name, false, err
	}
	if err != nil || len(points) == 0 || kind.Here != nil && !kind.Here(points[0]) {
		return name, false, nil // a file that is not there has no symbols either
	}
	// One point tells whether the kind has a mechanism here.
	if _, err = kind.Plan(points[:1], probe.Uses{}, &opts); passing(err) {
		return name, false, err
	}
	return name, err == nil, nil
}

// passing reports whether an error says nothing of whether something is there: what the system had
// not enough of, it may have in a moment.
func passing(err error) bool {
	return errno.Among(err, unix.EMFILE, unix.ENFILE, unix.ENOMEM, unix.EIO, unix.EAGAIN, unix.EINTR)
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
		// All of them must have it: the body is one for all.
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

var _ = Define(Func{
	Name: "type_has", Min: 2, Params: []Param{{"type", StringLit}, {"member", StringLit}}, Result: types.Bool,
	Doc: "Whether a struct or union of the kernel has a member, `type_has(\"struct request\", \"rq_disk\")`; false " +
		"if there is no such type. Members come and go with kernels: ask with `if comptime`, and the arm that is not " +
		"taken may name what is not there.",
	Example: `begin { if comptime (type_has("struct cfs_rq", "nr_running")) { print("it has"); } }`,
	Early:   true,
	Check: func(c *Call) types.Type {
		if text, ok := c.Str(0); ok && len(strings.Fields(text)) != 2 {
			c.Errorf(c.Args[0], "bad-argument", "type_has() needs a type as C writes it").Hint("struct %s?", text)
		}
		return types.Bool
	},
	Const: func(c *Call) (Const, bool) {
		name, ok := c.Str(0)
		member, given := c.Str(1)
		tag, bare, tagged := strings.Cut(name, " ")
		if !ok || !given || !tagged {
			return Const{}, false
		}
		t, err := c.Machine.TypeByName(tag, strings.TrimSpace(bare))
		s, is := t.(*types.Struct)
		if err != nil || !is {
			return boolConst(false), true
		}
		// Members of anonymous structs and unions count as those of the outer one, as in C.
		_, has := s.Field(member)
		return boolConst(has), true
	},
})
