package derive

import (
	"slices"

	"github.com/hawktrace/hawk/internal/builtin"
	"github.com/hawktrace/hawk/internal/check"
	"github.com/hawktrace/hawk/internal/syntax"
	"github.com/hawktrace/hawk/internal/types"
	"github.com/hawktrace/hawk/internal/view"
)

// A dim is what a number measures, as far as the script tells. Dims form a
// lattice: unknown below point and span of each scale, plain above.
type dim struct {
	kind  dimKind
	scale int   // 0: ns, 1: µs, 2: ms, 3: s
	elems []dim // of a tuple or record
}

// A dimKind is what sort of quantity a value is.
type dimKind uint8

const (
	unknown dimKind = iota // nothing was found out, or the number is a literal
	point                  // a point in time
	span                   // a length of time
	tuple
	plain // something else, or not always the same
)

// unit is that of a point or length of time. Units follow each other as scales do.
func (d dim) unit() view.Unit {
	if d.kind != point && d.kind != span {
		return view.NoUnit
	}
	return view.Nanoseconds + view.Unit(d.scale)
}

// elem is element i of a tuple.
func (d dim) elem(i int) dim {
	switch {
	case d.kind == tuple && i < len(d.elems):
		return d.elems[i]
	// The tuple may become known in a later round.
	case d.kind == unknown:
		return dim{}
	}
	return dim{kind: plain}
}

// same reports whether nothing has changed, which ends the rounds.
func (d dim) same(o dim) bool {
	return d.kind == o.kind && d.scale == o.scale && slices.EqualFunc(d.elems, o.elems, dim.same)
}

// join is the dim of a place that holds both.
func join(a, b dim) dim {
	switch {
	case a.kind == unknown:
		return b
	case b.kind == unknown || a.same(b):
		return a
	case a.kind == tuple && b.kind == tuple && len(a.elems) == len(b.elems):
		out := dim{kind: tuple}
		for i := range a.elems {
			out.elems = append(out.elems, join(a.elems[i], b.elems[i]))
		}
		return out
	}
	return dim{kind: plain}
}

// dims follows points and lengths of time through maps and variables.
type dims struct {
	prog    *check.Program
	maps    map[string]dim // by name with @
	vars    map[*check.Var]dim
	changed bool
}

// newDims begins with nothing known: each place is unknown.
func newDims(prog *check.Program) *dims {
	return &dims{prog: prog, maps: map[string]dim{}, vars: map[*check.Var]dim{}}
}

// rounds bounds the walks: every one but the last moves some place up in the
// lattice, and chains of variables are short.
const rounds = 100

// settle walks again as long as something changes: loops feed what stands before them.
func (d *dims) settle() {
	for range rounds {
		d.changed = false
		for _, p := range d.prog.Probes {
			walk(p.Info, p.Predicate, p.Body, func(n syntax.Node) { d.flow(p.Info, n) })
		}
		if !d.changed {
			return
		}
	}
}

// flow notes what a statement stores.
func (d *dims) flow(info *check.Info, n syntax.Node) {
	switch n := n.(type) {
	case *syntax.AssignStmt:
		v := d.of(info, n.RHS)
		// x += y stores a sum: what it measures depends on what x was, too.
		if op := n.Op.Binary(); op != syntax.Invalid {
			_, literal := info.Consts[n.RHS]
			v = d.operator(op, d.of(info, n.LHS), v, constant(info, n.RHS), literal)
		}
		d.store(info, n.LHS, v)
	case *syntax.LetStmt:
		if n.Init != nil {
			d.store(info, n.Var, d.of(info, n.Init))
		}
	case *syntax.ForStmt:
		if n.Over != nil {
			// The variable is a pair of key and value. Nothing is known about the key.
			d.store(info, n.Var, dim{kind: tuple, elems: []dim{{kind: plain}, d.maps["@"+n.Over.Name]}})
		}
	case *syntax.Inlined:
		// Parameters are variables of the function's body.
		for i, p := range n.Params {
			if i < len(n.Args) {
				d.store(info, p.Var, d.of(info, n.Args[i]))
			}
		}
	case *syntax.Call:
		c := info.Calls[n]
		if c == nil || c.Func == nil {
			return
		}
		for i, p := range c.Func.Params {
			// Such a builtin stores an element of its map in the variable.
			if p.Kind == builtin.VarRef && i < len(c.Args) {
				d.store(info, c.Args[i], d.maps[c.MapName])
			}
		}
	}
}

// store notes what is stored in a variable or map.
func (d *dims) store(info *check.Info, to syntax.Expr, v dim) {
	if x, ok := syntax.Unparen(to).(*syntax.Var); ok {
		if decl := info.Vars[x]; decl != nil {
			now := join(d.vars[decl], v)
			d.changed = d.changed || !now.same(d.vars[decl])
			d.vars[decl] = now
		}
		return
	}
	if m, _ := mapOf(to); m != "" {
		now := join(d.maps[m], v)
		d.changed = d.changed || !now.same(d.maps[m])
		d.maps[m] = now
	}
}

// of is the dim of an expression.
func (d *dims) of(info *check.Info, e syntax.Expr) dim {
	e = info.Evaluated(e)
	// A literal is whatever it is combined with.
	if _, literal := info.Consts[e]; literal {
		return dim{}
	}
	if c := info.Calls[e]; c != nil {
		switch {
		// Aggregations measure what they are fed with.
		case c.Agg != nil && len(c.Args) > 0:
			return d.of(info, c.Args[0])
		case c.Agg != nil:
			return dim{}
		case c.Func != nil && c.Func.Moment:
			return dim{kind: point}
		// Such functions yield their first argument in another form.
		case c.Func != nil && c.Func.LabelOf == builtin.FirstArg && len(c.Args) > 0 && types.IsScalar(c.Result):
			return d.of(info, c.Args[0])
		}
		return dim{kind: plain}
	}
	switch e := e.(type) {
	case *syntax.Paren:
		return d.of(info, e.X)
	case *syntax.Comptime:
		return d.of(info, e.X)
	case *syntax.Cast:
		// A cast changes the type, and not what is measured.
		return d.of(info, e.X)
	case *syntax.Block:
		if e.Result != nil {
			return d.of(info, e.Result)
		}
	case *syntax.Inlined:
		return d.result(info, e)
	case *syntax.Var:
		if decl := info.Vars[e]; decl != nil {
			return d.vars[decl]
		}
	case *syntax.Map, *syntax.MapIndex:
		m, _ := mapOf(e)
		return d.maps[m]
	case *syntax.Cond:
		// Without a middle the condition is the value.
		if e.Then == nil {
			return join(d.of(info, e.Cond), d.of(info, e.Else))
		}
		return join(d.of(info, e.Then), d.of(info, e.Else))
	case *syntax.Tuple:
		out := dim{kind: tuple}
		for _, x := range e.Elems {
			out.elems = append(out.elems, d.of(info, x))
		}
		return out
	case *syntax.Record:
		out := dim{kind: tuple}
		for _, f := range e.Fields {
			out.elems = append(out.elems, d.of(info, f.Value))
		}
		return out
	case *syntax.TupleIndex:
		// An index may be any number; no tuple is as long as this.
		return d.of(info, e.X).elem(int(min(e.Index.Value, 1<<16)))
	case *syntax.Field:
		if r, ok := info.Types[e.X].(*types.Record); ok {
			if i, _, ok := r.Lookup(e.Name.Name); ok {
				return d.of(info, e.X).elem(i)
			}
		}
	case *syntax.Binary:
		_, literal := info.Consts[e.Y]
		// Sums are the same with the literal in front, which differences are not.
		if _, left := info.Consts[e.X]; left && e.Op == syntax.Add {
			return d.operator(e.Op, d.of(info, e.Y), dim{}, 0, true)
		}
		return d.operator(e.Op, d.of(info, e.X), d.of(info, e.Y), constant(info, e.Y), literal)
	}
	return dim{kind: plain}
}

// result joins what a function returns.
func (d *dims) result(info *check.Info, f *syntax.Inlined) dim {
	out := dim{}
	within := map[*syntax.JumpStmt]bool{} // functions that this one calls, whose bodies stand in its own
	walk(info, nil, f.Body, func(n syntax.Node) {
		switch n := n.(type) {
		case *syntax.Inlined:
			walk(info, nil, n.Body, func(n syntax.Node) {
				if r, ok := n.(*syntax.JumpStmt); ok {
					within[r] = true
				}
			})
		case *syntax.JumpStmt:
			if n.Kind == syntax.Return && n.Value != nil && !within[n] {
				out = join(out, d.of(info, n.Value))
			}
		}
	})
	return out
}

// constant is a literal's value, 0 if it is none or negative.
func constant(info *check.Info, e syntax.Expr) uint64 {
	if k := info.Consts[e]; k.Kind == builtin.IntConst && !k.Neg {
		return k.Int
	}
	return 0
}

// thousands says which power of a thousand n is, 0 if none up to a billion.
func thousands(n uint64) int { return map[uint64]int{1000: 1, 1_000_000: 2, 1_000_000_000: 3}[n] }

// operator is the dim of x op y; n is y's value if it is a literal.
func (d *dims) operator(op syntax.Token, x, y dim, n uint64, literal bool) dim {
	timed := x.kind == point || x.kind == span
	switch {
	case x.kind == unknown && (literal || op != syntax.Sub && op != syntax.Add):
		return dim{}
	case x.kind == unknown || y.kind == unknown && !literal:
		return dim{} // perhaps found out in the next round
	case !timed:
		return dim{kind: plain}
	// Between two points of one scale is a length.
	case op == syntax.Sub && x.kind == point && y.kind == point && x.scale == y.scale:
		return dim{kind: span, scale: x.scale}
	// A length added to a point or a length leaves it what it is.
	case (op == syntax.Sub || op == syntax.Add) && y.kind == span && x.scale == y.scale:
		return x
	case op == syntax.Add && x.kind == span && y.kind == point && x.scale == y.scale:
		return y
	// Times that are multiplied, or of two scales, are none.
	case !literal:
	case op == syntax.Add, op == syntax.Sub, op == syntax.Mod:
		return x
	case op == syntax.Div && n == 1:
		return x
	// A thousandth is a number of the next larger unit.
	case op == syntax.Div && thousands(n) > 0 && x.scale+thousands(n) <= 3:
		return dim{kind: x.kind, scale: x.scale + thousands(n)}
	case op == syntax.Mul && thousands(n) > 0 && x.scale >= thousands(n):
		return dim{kind: x.kind, scale: x.scale - thousands(n)}
	}
	return dim{kind: plain}
}
