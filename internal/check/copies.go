package check

import (
	"github.com/hawktrace/hawk/internal/builtin"
	"github.com/hawktrace/hawk/internal/expand"
	"github.com/hawktrace/hawk/internal/probe"
	"github.com/hawktrace/hawk/internal/source"
	"github.com/hawktrace/hawk/internal/syntax"
	"github.com/hawktrace/hawk/internal/types"
)

// copies splits a probe into the copies that are checked on their own: by kind, and where the body
// asks for something whose type depends on the point, by that type. A body with args.x gets as many
// copies as there are layouts of x among its points: kprobe:vfs_* { arg0 } is one program,
// tracepoint:*:* { args.id } is several. Each copy has types of its own and becomes one program or
// more.
// Copies beyond the limit are not made: a pattern may match tens of thousands of points.
func (c *checker) copies(p *expand.Probe) {
	need := scan(p.Tree)
	var groups []*walker
	for _, a := range p.Attach {
		for _, pt := range a.Points {
			args, ret, err := c.pointTypes(pt, need)
			w := find(groups, pt, args, ret, need)
			if w == nil {
				w = c.newWalker(p, a, args, ret, err)
				groups = append(groups, w)
				// The limit counts the copies of all probes so far, without functions, which become
				// none.
				if most := c.script.Config.MaxBPFProgs; len(c.walks)-len(c.script.Fns)+len(groups) > most {
					if !c.tooMany { // the others after it are as many too many
						TooManyPrograms(&c.ds, a.At, most)
					}
					c.tooMany = true
					c.walks = append(c.walks, groups...) // the maps they define are known all the same
					return
				}
			}
			w.probe.Points = append(w.probe.Points, pt)
			w.probe.At = w.probe.At.To(a.At)
		}
	}
	for _, w := range groups {
		w.expanded = len(groups) > 1
	}
	c.walks = append(c.walks, groups...)
}

// TooManyPrograms reports a probe that would make the script more programs than
// max_bpf_progs allows.
func TooManyPrograms(ds *source.Diagnostics, at source.Span, most int) {
	ds.Errorf("too-many-programs", at,
		"Your program would become more than %d programs, the limit of the max_bpf_progs setting", most).
		Hint("Raise it in the config block or with HAWK_MAX_BPF_PROGS")
}

// need is what of a point's types a body depends on.
// Points that agree in all of it share a copy, and perhaps a program: fewer programs load
// faster.
type need struct {
	args   map[string]bool // fields of args, nil if args is not used
	whole  bool            // args as a whole
	retval bool
	types  bool // types by name, which programs of user space define, and goid
}

// scan looks for the two names whose type the attach point decides.
// It goes by names alone, before anything is typed, and may ask for too much: then there are
// more copies than needed.
func scan(p *syntax.Probe) need {
	var n need
	var visit func(node syntax.Node) bool
	visit = func(node syntax.Node) bool {
		switch node := node.(type) {
		case *syntax.Field:
			if argsItself(node.X) {
				n.field(node.Name.Name)
			} else {
				syntax.Walk(node.X, visit)
			}
			return false // the member's name is no name
		case *syntax.TypeExpr:
			if _, own := types.Named(node.Name); node.Tag != "" || !own && node.Name != "" {
				n.types = true
			}
		case *syntax.Ident:
			if _, known := builtin.Lookup(node.Name); !known {
				n.types = true // an enumerator
			}
			switch asksFor(node.Name) {
			case probe.HasArgs:
				n.field("")
				n.whole = true
			case probe.HasRetval:
				n.retval = true
			case probe.HasGoroutine:
				n.types = true // its place is a matter of the program
			}
		}
		return true
	}
	syntax.Walk(p, visit)
	return n
}

// field notes a field of args that the body reads; "" stands for args as a whole.
func (n *need) field(name string) {
	if n.args == nil {
		n.args = map[string]bool{}
	}
	n.args[name] = true
}

// argsItself reports whether an expression is args, or the *args of old
// scripts.
// No name is compared: the table says which builtin has the arguments.
func argsItself(e syntax.Expr) bool {
	switch e := e.(type) {
	case *syntax.Paren:
		return argsItself(e.X)
	case *syntax.Unary:
		return e.Op == syntax.Mul && argsItself(e.X)
	case *syntax.Ident:
		return asksFor(e.Name) == probe.HasArgs
	}
	return false
}

// asksFor is what a name needs of the probe.
func asksFor(name string) probe.Has {
	f, ok := builtin.Lookup(name)
	if !ok {
		return 0
	}
	return f.Probes
}

// pointTypes are the types of args and retval at a point.
// Reading debug information takes long, so that nothing is asked for that the body does not
// use.
func (c *checker) pointTypes(pt *probe.Point, n need) (args *types.Struct, ret types.Type, err error) {
	if n.args != nil && pt.Kind.Args != nil {
		args, err = pt.Kind.Args(pt, c.script.Options)
	}
	if n.retval && pt.Kind.Retval != nil {
		ret, _ = pt.Kind.Retval(pt, c.script.Options) // the builtin reports the error
	}
	return args, ret, err
}

// find returns the copy that a point can share.
func find(groups []*walker, pt *probe.Point, args *types.Struct, ret types.Type, n need) *walker {
	for _, w := range groups {
		// Points that hawk fires itself never share a program.
		if w.probe.Kind == pt.Kind && pt.Kind.Ours == probe.NotOurs &&
			sameArgs(w.probe.Args, args, n) && sameOrNil(w.retval, ret) &&
			(!n.types || pt.Kind.Types == nil || w.probe.Points[0].Target == pt.Target) {
			return w
		}
	}
	return nil
}

// sameOrNil compares two types of which either may not be known.
func sameOrNil(a, b types.Type) bool {
	if a == nil || b == nil {
		return a == b
	}
	return types.Same(a, b)
}

// sameArgs compares what the body sees of args: events often share the layout
// of the fields that a script uses.
func sameArgs(a, b *types.Struct, n need) bool {
	if a == b {
		return true
	}
	if a == nil || b == nil {
		return false
	}
	if !n.whole {
		for name := range n.args {
			f, ok := a.Field(name)
			g, ok2 := b.Field(name)
			if !ok || !ok2 || !sameField(f, g) {
				return false
			}
		}
		return true
	}
	x, y := a.Fields(), b.Fields()
	if a.Bytes != b.Bytes || len(x) != len(y) {
		return false
	}
	for i := range x {
		if !sameField(x[i], y[i]) {
			return false
		}
	}
	return true
}

// sameField compares place, size and type of two fields, and which memory a pointer leads to, which
// types.Same leaves aside.
// An address of user memory and one of the kernel's are read by different helpers.
func sameField(f, g types.Field) bool {
	if !types.Same(f.Type, g.Type) || pointerSpace(f.Type) != pointerSpace(g.Type) {
		return false
	}
	f.Type, g.Type = nil, nil
	return f == g
}

// pointerSpace is the address space of a pointer, Unset for other types.
func pointerSpace(t types.Type) types.Space {
	if p, ok := t.(*types.Pointer); ok {
		return p.Space
	}
	return types.Unset
}
