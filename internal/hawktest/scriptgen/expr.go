package scriptgen

import (
	"fmt"
	"strings"
)

// value is an expression of a shape. depth bounds how deep expressions nest, so that every
// script ends.
func (g *generator) value(s shape, depth int) *Node {
	depth = g.deep(depth)
	switch s.kind {
	case integer:
		return g.integer(depth)
	case boolean:
		return g.boolean(depth)
	case text:
		return g.text(depth)
	}
	if depth > 0 && g.one(2) {
		if n, ok := g.general(s, depth); ok {
			return n
		}
	}
	parts := make([]*Node, len(s.elems))
	for i, e := range s.elems {
		parts[i] = g.value(e, depth-1)
	}
	return compose(s, parts)
}

// deep is how deep an expression may be here. In a calm place an expression has next to no
// branches: each doubles the paths that the verifier follows.
func (g *generator) deep(depth int) int {
	if g.calm {
		return min(depth, 1)
	}
	return depth
}

// compose makes a tuple or record of its parts.
func compose(s shape, parts []*Node) *Node {
	holes := make([]string, len(parts))
	for i := range holes {
		holes[i] = "#"
		if s.kind == record {
			holes[i] = s.names[i] + " = #"
		}
	}
	// Parentheses around one expression are no tuple without the comma.
	if s.kind == tuple && len(parts) == 1 {
		return node(Expr, "(#,)", parts...)
	}
	return node(Expr, "("+strings.Join(holes, ", ")+")", parts...)
}

// paren puts what has parts into parentheses. So it does with a sign: two of them would be a --
// to the parser.
func paren(n *Node) *Node {
	if len(n.Kids) == 0 && !strings.HasPrefix(n.Text[0], "-") {
		return n
	}
	return node(Fixed, "(#)", n)
}

// literal says whether an expression may be folded. Folding refuses what a run lets pass, as
// overflows, so that callers avoid operators between two such expressions. Variables and maps
// are known by their first character.
func literal(n *Node) bool {
	if strings.ContainsAny(strings.Join(n.Text, ""), "$@{") {
		return false
	}
	for _, k := range n.Kids {
		if !literal(k) {
			return false
		}
	}
	return true
}

// sameShape compares no names of fields: these are made with the same names in the same order.
func sameShape(a, b shape) bool {
	if a.kind != b.kind || len(a.elems) != len(b.elems) {
		return false
	}
	for i := range a.elems {
		if !sameShape(a.elems[i], b.elems[i]) {
			return false
		}
	}
	return true
}

// variable reads a variable of a kind without parts.
func (g *generator) variable(k kind) (*Node, bool) { return g.read(shape{kind: k}) }

// read reads a variable, or a part of one.
func (g *generator) read(s shape) (*Node, bool) {
	var paths []string
	for _, v := range g.visible(func(variable) bool { return true }) {
		paths = append(paths, pathsTo(s, v.of, v.name)...)
	}
	if len(paths) == 0 {
		return nil, false
	}
	return leaf(Expr, pick(g, paths...)), true
}

// pathsTo are the ways to a value of shape s in a value of shape of.
func pathsTo(s, of shape, path string) (out []string) {
	if sameShape(s, of) {
		out = append(out, path)
	}
	for i, e := range of.elems {
		step := fmt.Sprintf("%s.%d", path, i)
		if of.kind == record {
			step = path + "." + of.names[i]
		}
		out = append(out, pathsTo(s, e, step)...)
	}
	return out
}

// general is an expression that exists for every shape. Reading comes most often, since what is
// stored and never read tests nothing.
func (g *generator) general(s shape, depth int) (*Node, bool) {
	switch g.IntN(10) {
	case 0, 1, 2, 3:
		return g.read(s)
	case 4, 5:
		m, ok := g.mapping(func(m mapping) bool { return m.agg == "" && sameShape(m.of, s) })
		if !ok {
			return nil, false
		}
		return node(Expr, m.name+g.keyHole(m), g.keyValues(m)...), true
	case 6, 7:
		return node(Expr, "(# ? # : #)", g.boolean(depth-1), g.value(s, depth-1), g.value(s, depth-1)), true
	case 8:
		return node(Expr, "(if (#) { # } else { # })", g.condition0(depth-1), g.value(s, depth-1),
			g.value(s, depth-1)), true
	}
	var body *Node
	var result *Node
	// A block inside an expression takes few statements from the budget, and gives back what it
	// does not use: else the first one would use up the script.
	old := g.budget
	g.budget = min(g.budget, 2)
	g.scoped(func() {
		body = list([]*Node{g.simple()})
		result = g.value(s, depth-1)
	})
	g.budget = old
	return node(Expr, "({ #\n # })", body, result), true
}

// simple is a statement for the inside of an expression. No loops or jumps are among them: a
// jump out of an expression would leave it without a value.
func (g *generator) simple() *Node {
	switch g.IntN(4) {
	case 0:
		return g.declare()
	case 1:
		return g.step()
	case 2:
		return g.storeAny()
	}
	return g.assign()
}

// condition0 is a condition inside an expression. Numbers stand for conditions, as in C.
func (g *generator) condition0(depth int) *Node {
	if g.one(3) {
		return g.integer(depth)
	}
	return g.boolean(depth)
}

// numbers lie at the edges of the types, on either side, where widths and signs go wrong first.
var numbers = []string{
	"0", "1", "2", "3", "7", "8", "10", "63", "64", "100", "127", "128", "129", "255", "256", "1000",
	"32767", "32768", "65535", "65536",
	"0x7fffffff", "0x80000000", "0xffffffff", "0x100000000", "1000000007", "0x7fffffffffffffff",
	"0x8000000000000000", "0xffffffffffffffff",
	"-1", "-2", "-7", "-8", "-100", "-127", "-128", "-129", "-32768", "-32769", "-2147483648",
	"-2147483649", "-9223372036854775807",
	"0xdeadbeefcafe", "-0x123456789abc", "1s", "4096",
}

// integer is an expression with an integer value. The numbers of the cases are chances in 28. A
// case that finds nothing to work on falls through to what exists always.
func (g *generator) integer(depth int) *Node {
	depth = g.deep(depth)
	if depth <= 0 {
		if n, ok := g.variable(integer); ok && !g.one(3) {
			return n
		}
		return leaf(Expr, pick(g, numbers...))
	}
	switch g.IntN(28) {
	case 26:
		return g.enumerator()
	case 27:
		return node(Expr, "("+pick(g, widths...)+")"+pick(g, numbers...)+" "+pick(g, "+", "-", "*", "&",
			"|", "^")+" ("+pick(g, widths...)+")#",
			leaf(Expr, pick(g, numbers...)))
	case 22:
		if n, ok := g.counted(depth); ok {
			return n
		}
	case 23:
		return node(Expr, "bswap(("+pick(g, widths...)+")#)", paren(g.integer(depth-1)))
	case 24:
		return g.called(depth)
	case 25:
		return node(Expr, "(int64)(("+pick(g, "int8", "int32", "uint64")+" *)# "+pick(g, "+",
			"-")+" #)", paren(g.integer(depth-1)), paren(g.integer(depth-1)))
	case 0, 1, 2:
		return g.integer(0)
	case 3:
		return leaf(Expr, "("+pick(g, widths...)+")"+pick(g, numbers...))
	case 4, 5, 6, 7, 8, 9:
		return g.arithmetic(depth)
	case 10:
		return node(Expr, pick(g, "-", "~")+"#", paren(g.integer(depth-1)))
	case 11, 12:
		return node(Expr, "("+pick(g, widths...)+")#", paren(g.integer(depth-1)))
	case 13:
		return node(Expr, "("+pick(g, widths...)+")#", paren(g.boolean(depth-1)))
	case 14:
		if t, ok := g.stepTarget(); ok {
			return node(Expr, pick(g, "#++", "#--", "(++#)", "(--#)"), t)
		}
	case 15:
		return node(Expr, "(# ?: #)", g.integer(depth-1), g.integer(depth-1))
	case 16:
		if n, ok := g.aggregate(); ok {
			return n
		}
	case 17:
		return g.ofText(depth)
	case 18:
		return node(Expr, "sizeof(#)", g.value(g.shape(1), 0))
	case 19:
		return g.ofArray(depth)
	}
	if n, ok := g.general(shape{kind: integer}, depth); ok {
		return n
	}
	return g.integer(depth - 1)
}

// arithmetic has a boolean as an operand at times, which the language lets be mixed with
// numbers.
func (g *generator) arithmetic(depth int) *Node {
	op := pick(g, "+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>", "+", "-")
	x, y := g.integer(depth-1), g.operand(op, depth-1)
	switch {
	case g.one(12):
		x = g.boolean(depth - 1)
	case g.one(12) && op != "/" && op != "%" && op != "<<" && op != ">>":
		y = g.boolean(depth - 1)
	}
	if literal(x) && literal(y) && !g.one(20) { // folding refuses overflows
		if n, ok := g.variable(integer); ok {
			x = n
		}
	}
	return node(Expr, "# "+op+" #", paren(x), paren(y))
}

// aggregate reads an aggregation as a number. Only kinds that have an integer value can be read.
// Kernels before 5.19 cannot join the cells of all processors in a program.
func (g *generator) aggregate() (*Node, bool) {
	m, ok := g.mapping(func(m mapping) bool {
		switch m.agg {
		case "count", "sum", "min", "max", "avg":
			return true
		}
		return false
	})
	if !ok || g.kernel.NoAggregation {
		return nil, false
	}
	// A cast and arithmetic are the two ways to the integer.
	hole := pick(g, "(int64)", "(# + 0)")
	if hole == "(int64)" {
		return node(Expr, hole+m.name+g.keyHole(m), g.keyValues(m)...), true
	}
	return node(Expr, "("+m.name+g.keyHole(m)+" + 0)", g.keyValues(m)...), true
}

// counted is the length of a map. The number of elements takes a walk over the map, which
// kernels before 5.13 cannot make.
func (g *generator) counted(int) (*Node, bool) {
	m, ok := g.mapping(func(m mapping) bool { return len(m.keys) > 0 })
	if !ok || g.kernel.NoIteration {
		return nil, false
	}
	return leaf(Expr, "len("+m.name+")"), true
}

// called is a use of a macro or function. bump changes its argument, so that it needs a variable
// of the script; the others take values.
func (g *generator) called(depth int) *Node {
	if n, ok := g.callOwn(integer, depth); ok && g.one(2) {
		return n
	}
	x, y := g.integer(depth-1), g.integer(depth-1)
	if v, ok := g.assignable(isInteger); ok && g.one(3) {
		g.uses["bump"] = true
		return leaf(Expr, "bump("+v.name+")")
	}
	name := pick(g, "sum2", "larger", "times", "triangle", "steps")
	g.uses[name] = true
	switch name {
	case "triangle", "steps":
		return node(Expr, name+"(#)", x)
	}
	return node(Expr, name+"(#, #)", x, y)
}

// ofText searches for short texts: programs compare byte by byte, and long ones would have too
// many instructions.
func (g *generator) ofText(depth int) *Node {
	switch g.IntN(6) {
	case 0:
		return node(Expr, "strlen(#)", g.text(depth-1))
	case 1:
		return node(Expr, "strstr(#, #)", g.text(depth-1),
			leaf(Expr, pick(g, `"a"`, `"bc"`, `""`, `"een"`, `"8"`, `"fifteen"`)))
	case 2:
		return node(Expr, "memcmp(#, #, 1)", g.text(depth-1), g.text(depth-1))
	}
	if g.one(2) {
		return node(Expr, fmt.Sprintf("strncmp(#, #, %d)", g.IntN(12)), g.text(depth-1), g.text(depth-1))
	}
	if v, ok := g.variable(text); ok && v.Text[0][0] == '$' { // (x[0]) & 3 is a cast to an array of x
		return node(Expr, "#[0]", v)
	}
	return leaf(Expr, `"hello"[1]`)
}

// ofArray keeps indices in range, by constants or a mask, since the language does not say what
// is beyond.
func (g *generator) ofArray(depth int) *Node {
	x := g.integer(depth - 1)
	switch g.IntN(4) {
	case 0:
		return node(Expr, "((uint8[8])(uint64)#)["+pick(g, "0", "3", "7")+"]", paren(x))
	case 1:
		return node(Expr, "((int16[2])(int32)#)[1]", paren(x))
	case 2:
		return node(Expr, "(uint32)((uint8[4])(uint32)#)", paren(x))
	}
	return node(Expr, "((int8[4])(int32)#)[# & 3]", paren(x), node(Fixed, "(uint64)(#)", g.integer(depth-1)))
}

// boolean is an expression with a truth value. Comparisons come most often. As in integer, a
// case without anything to work on goes on to what exists always.
func (g *generator) boolean(depth int) *Node {
	depth = g.deep(depth)
	if depth <= 0 {
		if n, ok := g.variable(boolean); ok && !g.one(3) {
			return n
		}
		return leaf(Expr, pick(g, "true", "false"))
	}
	switch g.IntN(17) {
	case 0:
		return g.boolean(0)
	case 1, 2, 3, 4, 5:
		return node(Expr, "# "+g.comparison()+" #", paren(g.integer(depth-1)), paren(g.integer(depth-1)))
	case 6:
		return node(Expr, "# "+pick(g, "==", "!=")+" #", paren(g.text(depth-1)), paren(g.text(depth-1)))
	case 7, 8:
		return node(Expr, "# "+pick(g, "&&", "||")+" #", paren(g.condition0(depth-1)), paren(g.condition0(depth-1)))
	case 9:
		return node(Expr, "!#", paren(g.condition0(depth-1)))
	case 10:
		return node(Expr, "# "+pick(g, "+", "-", "*", "&", "|", "^", "==", "!=", "<", ">=")+" #",
			paren(g.boolean(depth-1)), paren(g.boolean(depth-1)))
	case 11:
		return node(Expr, "(bool)#", paren(g.integer(depth-1)))
	case 12:
		if n, ok := g.removal(); ok {
			return n
		}
	case 13:
		if m, ok := g.mapping(func(m mapping) bool { return len(m.keys) > 0 }); ok {
			if len(m.keys) == 2 {
				return node(Expr, "has_key("+m.name+", (#, #))", g.keyValues(m)...)
			}
			return node(Expr, "has_key("+m.name+", #)", g.keyValues(m)...)
		}
	case 16:
		if n, ok := g.callOwn(boolean, depth); ok {
			return n
		}
	case 15:
		return node(Expr, "strcontains(#, #)", g.text(depth-1),
			leaf(Expr, pick(g, `"a"`, `"bc"`, `""`, `"een"`, `"8"`, `"fifteen"`)))
	case 14:
		// Only what has parts is compared here: the other cases have the rest.
		s := g.shape(2)
		if s.kind >= tuple {
			return node(Expr, "# "+pick(g, "==", "!=")+" #", g.value(s, depth-1), g.value(s, depth-1))
		}
	}
	if n, ok := g.general(shape{kind: boolean}, depth); ok {
		return n
	}
	return g.boolean(depth - 1)
}

// comparison is any of the six, which have one rule of types.
func (g *generator) comparison() string { return pick(g, "<", "<=", ">", ">=", "==", "!=") }

// texts have lengths on both sides of 8, 16, 32 and 64 bytes, at which strings change their
// size, and bytes that are no text: above 127, a NUL, a tab.
var texts = []string{
	`""`, `"a"`, `"b"`, `"ab"`, `"abc"`, `"abd"`, `"hello"`, `"seven77"`, `"eight888"`,
	`"fifteen fifteen"`, `"sixteen sixteen."`,
	`"a string of more than thirty-two bytes"`,
	`"a string that does not end before it has passed the sixty-fourth byte"`,
	`"\xff\x80"`, `"x\ty"`, `"a\x00b"`,
}

// text is an expression with a string.
func (g *generator) text(depth int) *Node {
	depth = g.deep(depth)
	if depth > 0 && g.one(8) {
		if n, ok := g.callOwn(text, depth); ok {
			return n
		}
	}
	if depth > 0 && g.one(12) {
		return node(Expr, "str_concat(#, #)", g.text(depth-1), leaf(Expr, pick(g, texts...)))
	}
	if depth > 0 && !g.one(3) {
		if n, ok := g.general(shape{kind: text}, depth); ok {
			return n
		}
	}
	if n, ok := g.variable(text); ok && g.one(2) {
		return n
	}
	return leaf(Expr, pick(g, texts...))
}
