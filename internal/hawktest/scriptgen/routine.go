package scriptgen

import (
	"fmt"
	"strings"
)

// A routine is a macro or function made up for a script.
type routine struct {
	name   string
	fn     bool
	yields kind
	params []param
	loops  int // around its body
}

// A param is a parameter of a routine. Of a macro it may stand for an
// expression, a variable, a map or a type.
type param struct {
	name string
	kind paramKind
	of   kind    // of an expression or variable
	m    mapping // a map that fits
}

// A paramKind is how a parameter is passed.
type paramKind uint8

const (
	byValue paramKind = iota
	byName            // a variable, which the macro changes
	byMap
	byType
)

// routines makes up macros and functions. Later ones may use earlier ones. None can call itself,
// since it is listed only when it is complete: the language has no recursion.
func (g *generator) routines() (out []*Node) {
	for i := range g.IntN(4) {
		r := routine{name: fmt.Sprintf("r%d", i), fn: g.one(2), yields: pick(g, integer, integer, boolean, text)}
		if r.fn {
			r.yields = integer
		}
		out = append(out, g.routine(&r))
		g.own = append(g.own, r)
	}
	return out
}

// routine makes up a macro or a function, with a body of a few statements. State of the
// generator is put aside, since a body sees nothing of the probes.
func (g *generator) routine(r *routine) *Node {
	g.scopes, g.in = [][]variable{nil}, r
	maps, budget := g.maps, g.budget
	defer func() { g.scopes, g.in, g.maps, g.budget = nil, nil, maps, budget }()
	// A body is expanded wherever the routine is used, and so must be short.
	g.budget = 3
	var heads []string
	var plain []mapping // a macro sees no maps but its parameters
	for i := range 1 + g.IntN(3) {
		p := param{name: fmt.Sprintf("p%d", i), of: pick(g, integer, integer, text)}
		switch {
		case r.fn:
			p.name, p.of = "$"+p.name, integer
			g.bind(variable{name: p.name, of: shape{kind: integer}, sized: true})
			heads = append(heads, p.name+": "+pick(g, widths...))
			r.params = append(r.params, p)
			continue
		case g.one(4):
			p.name, p.kind, p.of = "$"+p.name, byName, integer
			g.bind(variable{name: p.name, of: shape{kind: integer}, sized: true})
		case g.one(4):
			p.kind = byMap
			p.m, _ = g.mapping(func(m mapping) bool {
				return m.agg == "" && m.of.kind == integer && len(m.keys) == 1 && m.keys[0].kind == integer
			})
			// There is no map of this form, so that the parameter is a value.
			if p.m.name == "" {
				p.kind = byValue
				break
			}
			p.name = "@" + p.name
			m := p.m
			m.name = p.name
			plain = append(plain, m)
		case g.one(5):
			p.kind = byType
		}
		// A parameter that stands for an expression cannot be assigned to.
		if p.kind == byValue {
			g.bind(variable{name: p.name, of: shape{kind: p.of}, frozen: true})
		}
		heads = append(heads, p.name)
		r.params = append(r.params, p)
	}
	// A function sees no maps at all: it takes values.
	g.maps = plain
	if r.fn {
		g.maps = nil
	}
	var body []*Node
	for range g.IntN(3) {
		if g.budget > 0 {
			body = append(body, g.statementOf())
		}
	}
	for _, p := range r.params {
		if p.kind == byType {
			v := variable{name: g.fresh(), of: shape{kind: integer}}
			body = append(body, node(Stmt, v.name+" = ("+p.name+")#;\n", paren(g.integer(1))))
			g.bind(v)
		}
	}
	result := g.stored(variable{of: shape{kind: r.yields}, sized: r.fn}, 2)
	head := strings.Join(heads, ", ")
	if r.fn {
		return node(Stmt, "fn "+r.name+"("+head+"): "+pick(g, widths...)+" {\n#return #;\n}\n", list(body), result)
	}
	return node(Stmt, "macro "+r.name+"("+head+") {\n#\n#\n}\n", list(body), result)
}

// statementOf is a statement for the body of a routine. Without maps most kinds of statements
// have nothing to work on.
func (g *generator) statementOf() *Node {
	if len(g.maps) == 0 {
		switch g.IntN(6) {
		case 0:
			return g.declare()
		case 1:
			return g.compound()
		case 2:
			return g.ifStmt()
		case 3:
			return g.forRange()
		case 4:
			return g.printf()
		}
		return g.assign()
	}
	return g.statement()
}

// callOwn is a use of one of the script's own routines that yields a kind. false: none yields
// it, or nothing fits a parameter of the one that was chosen.
func (g *generator) callOwn(yields kind, depth int) (*Node, bool) {
	var fit []routine
	for _, r := range g.own {
		if r.yields == yields {
			fit = append(fit, r)
		}
	}
	if len(fit) == 0 || depth <= 0 {
		return nil, false
	}
	r := pick(g, fit...)
	holes := make([]string, len(r.params))
	var args []*Node
	for i, p := range r.params {
		holes[i] = "#"
		switch p.kind {
		case byName:
			v, ok := g.assignable(func(v variable) bool { return isInteger(v) && v.sized })
			if !ok {
				return nil, false
			}
			args = append(args, leaf(Fixed, v.name))
		case byMap:
			// The very map that the body was written for is passed: its keys and values have the
			// right shapes.
			m, ok := g.mapping(func(m mapping) bool { return m.name == p.m.name })
			if !ok {
				return nil, false
			}
			args = append(args, leaf(Fixed, m.name))
		case byType:
			args = append(args, leaf(Fixed, "typeof("+pick(g, widths...)+")"))
		default:
			arg := g.value(shape{kind: p.of}, min(depth-1, 1))
			if r.fn && literal(arg) { // which must fit the parameter's type
				arg = leaf(Expr, pick(g, "0", "1", "7", "100"))
			}
			args = append(args, arg)
		}
	}
	return node(Expr, r.name+"("+strings.Join(holes, ", ")+")", args...), true
}

// nestedMaps goes through a map for every element of another one. What it does
// comes to the same in any order. Sums, exclusive ors and counts of constants do.
func (g *generator) nestedMaps() *Node {
	iterable := func(m mapping) bool {
		return len(m.keys) > 0 && m.agg != "stats" && m.agg != "hist" && m.agg != "lhist"
	}
	outer, ok := g.mapping(iterable)
	inner, also := g.mapping(iterable)
	if !ok || !also || g.in != nil || g.kernel.NoIteration {
		return g.declare()
	}
	g.made++
	to := fmt.Sprintf("@l%d", g.made)
	var body []*Node
	// The inner variable is named while the outer one is visible, or both would have one name.
	x, y := g.fresh(), ""
	g.scoped(func() {
		g.bind(variable{name: x, of: shape{kind: tuple}, frozen: true})
		y = g.fresh()
	})
	if v, ok := g.assignable(isInteger); ok {
		body = append(body, leaf(Stmt, v.name+pick(g, " += ", " ^= ")+pick(g, "1", "3", "sizeof("+x+")",
			"sizeof("+y+".0)")+";\n"))
	}
	body = append(body, leaf(Stmt, pick(g, to+"["+x+".0, "+y+".0] = count();\n",
		to+"["+y+".0] = sum(2);\n", to+" = count();\n", "if ("+x+" == "+x+") { "+to+"["+x+".0]++; }\n")))
	if g.one(3) {
		body = append(body, leaf(Stmt, "continue;\n"))
	}
	return node(Stmt, "for ("+x+" : "+outer.name+") {\nfor ("+y+" : "+inner.name+") {\n#}\n}\n", list(body))
}
