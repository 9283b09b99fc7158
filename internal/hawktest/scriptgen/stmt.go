package scriptgen

import "fmt"

// declare is a new variable. It is also what generators fall back on, since it needs nothing
// that is there.
func (g *generator) declare() *Node {
	v := variable{name: g.fresh(), of: g.shape(2)}
	var out *Node
	switch {
	case v.of.kind == integer && g.one(3):
		v.sized = true
		w := pick(g, widths...)
		if g.one(6) {
			out = leaf(Stmt, "let "+v.name+": "+w+";\n")
		} else {
			out = node(Stmt, "let "+v.name+": "+w+" = #;\n", g.stored(v, 3))
		}
	case g.one(4):
		out = node(Stmt, "let "+v.name+" = #;\n", g.value(v.of, 3))
	default:
		out = node(Stmt, v.name+" = #;\n", g.value(v.of, 3))
	}
	g.bind(v)
	return out
}

// stored is a value for a variable. A literal that is out of the range of a
// declared type is a mistake, anything else is cut.
func (g *generator) stored(v variable, depth int) *Node {
	n := g.value(v.of, depth)
	if v.sized && literal(n) {
		return node(Expr, "("+pick(g, widths...)+")#", paren(n))
	}
	return n
}

// statement is any one statement. The numbers are chances in 44, those of statements that nest
// at the end, so that they can be left out: where blocks are four deep, a place runs more than
// sixty times, or mostly where it is calm.
func (g *generator) statement() *Node {
	g.budget--
	n := g.IntN(44)
	if len(g.scopes) > 4 || g.weight > 60 || g.calm && !g.one(4) {
		n = g.IntN(30) // no more nesting
	}
	switch {
	case n < 4:
		return g.declare()
	case n < 8:
		return g.assign()
	case n < 11:
		return g.compound()
	case n < 13:
		return g.step()
	case n < 19:
		return g.storeAny()
	case n < 20:
		return g.remove()
	case n < 26:
		return g.print()
	case n < 28:
		return g.printf()
	case n < 29:
		if g.one(2) {
			return g.twins()
		}
		return node(Stmt, "_ = #;\n", g.value(g.shape(1), 3))
	case n < 30:
		return g.jump()
	case n < 34:
		return g.ifStmt()
	case n < 36:
		return g.forRange()
	case n < 38:
		return g.unroll()
	case n < 39:
		return g.while()
	case n < 41:
		return g.forMap()
	case n < 43:
		if n == 41 {
			return g.nestedMaps()
		}
		return node(Stmt, "if comptime (sizeof(#) > 4) {\n#} else {\n#}\n", g.value(g.shape(1), 0),
			g.block(1), g.block(1))
	}
	return node(Stmt, "{\n#}\n", g.block(1))
}

// block is the inside of a block that runs so many times. The weight keeps nested loops from
// running for too long. A variable of the block is printed at its end, since it is gone behind
// it.
func (g *generator) block(times int) *Node {
	var body []*Node
	old := g.weight
	g.weight *= times
	g.scoped(func() {
		most := 4
		if g.calm {
			most = 2
		}
		for range 1 + g.IntN(most) {
			if g.budget > 0 {
				body = append(body, g.statement())
			}
		}
		// A value that nobody looks at would hide a mistake.
		if top := g.scopes[len(g.scopes)-1]; len(top) > 0 {
			body = append(body, leaf(Stmt, "print("+pick(g, top...).name+");\n"))
		}
	})
	g.weight = old
	return list(body)
}

// assignable leaves variables alone that count loops: a loop that does not end is no test.
func (g *generator) assignable(fits func(variable) bool) (variable, bool) {
	vs := g.visible(func(v variable) bool { return !v.frozen && fits(v) })
	if len(vs) == 0 {
		return variable{}, false
	}
	return pick(g, vs...), true
}

// isInteger fits variables that operators take.
func isInteger(v variable) bool { return v.of.kind == integer }

func (g *generator) assign() *Node {
	v, ok := g.assignable(func(variable) bool { return true })
	if !ok {
		return g.declare()
	}
	return node(Stmt, v.name+" = #;\n", g.stored(v, 4))
}

// compound is lv op= x on a variable or map. The key is evaluated twice in it, so that it must
// have no effects.
func (g *generator) compound() *Node {
	op := pick(g, "+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>")
	if g.one(2) {
		if m, ok := g.plainMap(integer); ok {
			return node(Stmt, m.name+g.keyHole(m)+" "+op+"= #;\n", append(g.pureKeys(m), g.operand(op, 3))...)
		}
	}
	v, ok := g.assignable(func(v variable) bool { return v.of.kind <= boolean })
	switch {
	case !ok:
		return g.declare()
	case v.of.kind == boolean:
		return node(Stmt, v.name+" "+pick(g, "&", "|", "^")+"= #;\n", g.boolean(3))
	}
	return node(Stmt, v.name+" "+op+"= #;\n", g.operand(op, 3))
}

// operand is the right side of an operator: what is known to be zero, or a
// shift by 64, would be refused.
func (g *generator) operand(op string, depth int) *Node {
	switch op {
	case "/", "%":
		if g.one(2) {
			return leaf(Expr, pick(g, "1", "2", "3", "7", "10", "-1", "-3", "255", "1000", "0x7fffffff",
				"(uint64)-1", "(int8)-128"))
		}
	case "<<", ">>":
		if g.one(2) {
			return leaf(Expr, pick(g, "0", "1", "3", "7", "8", "31", "32", "33", "63"))
		}
	default:
		return g.integer(depth)
	}
	n := g.integer(depth)
	if literal(n) {
		if w, ok := g.variable(integer); ok {
			return w
		}
		return leaf(Expr, "1")
	}
	return n
}

// plainMap is a map of plain values, which can be assigned to.
func (g *generator) plainMap(k kind) (mapping, bool) {
	return g.mapping(func(m mapping) bool { return m.agg == "" && m.of.kind == k })
}

func (g *generator) mapping(fits func(mapping) bool) (mapping, bool) {
	var out []mapping
	for _, m := range g.maps {
		if fits(m) {
			out = append(out, m)
		}
	}
	if len(out) == 0 {
		return mapping{}, false
	}
	return pick(g, out...), true
}

// keyHole is the template of a map's key. There are at most two parts, see makeMaps.
func (g *generator) keyHole(m mapping) string {
	switch len(m.keys) {
	case 0:
		return ""
	case 1:
		return "[#]"
	}
	return "[#, #]"
}

// keyValues are values for the holes of a key.
func (g *generator) keyValues(m mapping) (out []*Node) {
	for _, k := range m.keys {
		out = append(out, g.keyValue(k))
	}
	return out
}

// keyValue is one of few values, so that keys meet again. A map whose keys are all different
// would never find an element that is there.
func (g *generator) keyValue(k shape) *Node {
	switch k.kind {
	case integer:
		switch g.IntN(4) {
		case 0:
			return g.integer(2)
		case 1:
			return node(Expr, "# & 3", paren(g.integer(1)))
		}
		return leaf(Expr, pick(g, "0", "1", "2", "-1", "(uint8)1", "(int64)2", "300"))
	case text:
		if !g.one(4) {
			return leaf(Expr, pick(g, `""`, `"a"`, `"bc"`, `"a longer key, past one word"`))
		}
	case tuple, record:
		parts := make([]*Node, len(k.elems))
		for i, e := range k.elems {
			parts[i] = g.keyValue(e)
		}
		return compose(k, parts)
	}
	return g.value(k, 1)
}

// pureKeys are keys that may be evaluated twice.
func (g *generator) pureKeys(m mapping) (out []*Node) {
	for _, k := range m.keys {
		out = append(out, g.pure(k))
	}
	return out
}

// pure is a constant of a shape, of few and without effects.
func (g *generator) pure(k shape) *Node {
	switch k.kind {
	case integer:
		return leaf(Expr, pick(g, "0", "1", "2", "-1", "(uint16)2", "(uint64)1"))
	case boolean:
		return leaf(Expr, pick(g, "true", "false"))
	case text:
		return leaf(Expr, pick(g, `""`, `"a"`, `"bc"`))
	}
	parts := make([]*Node, len(k.elems))
	for i, e := range k.elems {
		parts[i] = g.pure(e)
	}
	return compose(k, parts)
}

// step is ++ or --.
func (g *generator) step() *Node {
	target, ok := g.stepTarget()
	if !ok {
		return g.declare()
	}
	return node(Stmt, pick(g, "#++;\n", "#--;\n", "++#;\n", "--#;\n"), target)
}

// stepTarget is fixed: shrinking must not put a number in its place, which cannot be counted up.
func (g *generator) stepTarget() (*Node, bool) {
	if g.one(2) {
		if m, ok := g.plainMap(integer); ok {
			return node(Fixed, m.name+g.keyHole(m), g.keyValues(m)...), true
		}
	}
	v, ok := g.assignable(isInteger)
	return leaf(Fixed, v.name), ok
}

// storeAny gives some map a value, or a variable if there is none.
func (g *generator) storeAny() *Node {
	if len(g.maps) == 0 {
		return g.assign()
	}
	return g.store(pick(g, g.maps...))
}

// store gives a map a value.
func (g *generator) store(m mapping) *Node {
	keys := g.keyValues(m)
	if m.agg != "" {
		if m.agg == "count" {
			return node(Stmt, m.name+g.keyHole(m)+" = count();\n", keys...)
		}
		return node(Stmt, m.name+g.keyHole(m)+" = "+m.agg+"(#"+m.args+");\n", append(keys, g.integer(3))...)
	}
	return node(Stmt, m.name+g.keyHole(m)+" = #;\n", append(keys, g.value(m.of, 3))...)
}

// first gives a map its first value, whose type depends on no other map. Types of maps are
// inferred over the whole script, and a circle of maps that take theirs from each other has
// none.
func (g *generator) first(m mapping) *Node {
	// Keys without effects leave the rest of the script as it would be.
	keys := g.pureKeys(m)
	switch m.agg {
	case "":
		return node(Stmt, m.name+g.keyHole(m)+" = #;\n", append(keys, g.pure(m.of))...)
	case "count":
		return node(Stmt, m.name+g.keyHole(m)+" = count();\n", keys...)
	}
	return node(Stmt, m.name+g.keyHole(m)+" = "+m.agg+"(#"+m.args+");\n", append(keys, g.pure(shape{kind: integer}))...)
}

// removal is a call of delete. It yields whether there was an element.
func (g *generator) removal() (*Node, bool) {
	m, ok := g.mapping(func(m mapping) bool { return m.deletes })
	switch {
	case !ok:
		return nil, false
	case len(m.keys) == 0:
		return leaf(Expr, "delete("+m.name+")"), true
	case len(m.keys) == 2:
		return node(Expr, pick(g, "delete("+m.name+"[#, #])", "delete("+m.name+", (#, #))"), g.keyValues(m)...), true
	}
	return node(Expr, pick(g, "delete("+m.name+"[#])", "delete("+m.name+", #)"), g.keyValues(m)...), true
}

func (g *generator) remove() *Node {
	if n, ok := g.removal(); ok {
		return node(Stmt, "#;\n", n)
	}
	return g.declare()
}

// jump puts a condition around, since statements behind a bare jump would never run. A macro
// must not jump out of itself, so that there a loop of its own must be around.
func (g *generator) jump() *Node {
	switch {
	case g.loops > 0 && (g.in == nil || g.in.fn || g.in.loops < g.loops):
		return node(Stmt, "if (#) { "+pick(g, "break", "continue", "continue")+"; }\n", g.boolean(2))
	case g.in != nil && g.in.fn:
		return node(Stmt, "if (#) { return #; }\n", g.boolean(2),
			g.stored(variable{of: shape{kind: integer}, sized: true}, 2))
	case g.in == nil && g.one(4):
		return node(Stmt, "if (#) { return; }\n", g.boolean(2))
	}
	return g.declare()
}

// ifStmt has all three forms, since each ends in another place.
func (g *generator) ifStmt() *Node {
	cond := g.condition()
	then := g.block(1)
	switch g.IntN(3) {
	case 0:
		return node(Stmt, "if (#) {\n#}\n", cond, then)
	case 1:
		return node(Stmt, "if (#) {\n#} else {\n#}\n", cond, then, g.block(1))
	}
	return node(Stmt, "if (#) {\n#} else if (#) {\n#} else {\n#}\n", cond, then, g.condition(), g.block(1), g.block(1))
}

// condition is that of a statement, which may be deeper than one inside an expression.
func (g *generator) condition() *Node {
	if g.one(4) {
		return g.integer(3)
	}
	return g.boolean(3)
}

// looped makes the body of a loop that runs so many times, in a scope in which
// v is visible. calm says that the verifier does not know how many rounds there are.
func (g *generator) looped(times int, v *variable, calm bool) (body *Node) {
	old := g.calm
	g.calm = g.calm || calm
	g.loops++
	g.scoped(func() {
		if v != nil {
			g.bind(*v)
		}
		body = g.block(times)
	})
	g.loops--
	g.calm = old
	return body
}

// forRange has constants as ends, or one that only the run knows and that is masked to be small.
func (g *generator) forRange() *Node {
	from, n := pick(g, 0, 0, 0, 1, -3, 5, 250), g.IntN(7)
	ends := fmt.Sprintf("%d..%d", from, from+n)
	switch g.IntN(4) {
	case 0:
		ends = fmt.Sprintf("(int64)%d..(int64)%d", from, from+n)
	case 1:
		ends = fmt.Sprintf("(uint16)%d..(%d)", max(from, 0), max(from, 0)+n)
	}
	// A bound that the verifier does not know makes the loop one whose rounds it cannot count.
	var end []*Node
	v := &variable{name: g.fresh(), of: shape{kind: integer}}
	if g.one(3) {
		end = append(end, g.integer(2))
		ends, n = "0..((#) & 7)", 7
	}
	return node(Stmt, "for ("+v.name+" : "+ends+") {\n#}\n", append(end, g.looped(max(n, 1), v, end != nil))...)
}

// unroll multiplies the instructions of its body, so that its numbers are small.
func (g *generator) unroll() *Node {
	n := 1 + g.IntN(4)
	return node(Stmt, fmt.Sprintf("unroll (%d) {\n#}\n", n), g.looped(n, nil, false))
}

// while counts in a variable that nothing else changes. It counts at the beginning of the body,
// so that continue does not skip it.
func (g *generator) while() *Node {
	v := &variable{name: g.fresh(), of: shape{kind: integer}, frozen: true}
	n := 1 + g.IntN(6)
	body := g.looped(n, v, true)
	return node(Stmt, fmt.Sprintf("{ let %s = 0;\nwhile (%s < %d) {\n%s++;\n#}\n}\n", v.name, v.name, n, v.name), body)
}

// print prints a value. A map without a key would be printed as a whole, and
// nobody knows when.
func (g *generator) print() *Node {
	if g.one(6) { // one element of an aggregation
		m, ok := g.mapping(func(m mapping) bool {
			return m.agg != "" && m.agg != "hist" && m.agg != "lhist" && len(m.keys) > 0
		})
		if ok && !g.kernel.NoAggregation {
			return node(Stmt, pick(g, "print("+m.name+g.keyHole(m)+");\n",
				"printf(\"%s\\n\", "+m.name+g.keyHole(m)+");\n"), g.keyValues(m)...)
		}
	}
	x := g.value(g.shape(2), 4)
	// A tuple around it has the value printed.
	if x.Text[0] != "" && x.Text[0][0] == '@' {
		return node(Stmt, "print((#, 0));\n", x)
	}
	return node(Stmt, "print(#);\n", x)
}

// forMap goes through a map. Its order is nobody's business, so that the body
// may only do what comes to the same in any order.
func (g *generator) forMap() *Node {
	m, ok := g.mapping(func(m mapping) bool {
		switch m.agg {
		case "stats", "hist", "lhist":
			return false
		}
		return len(m.keys) > 0
	})
	if !ok || g.kernel.NoIteration {
		return g.declare()
	}
	name := g.fresh()
	key := m.keys[0]
	if len(m.keys) > 1 {
		key = shape{kind: tuple, elems: m.keys}
	}
	of := shape{kind: tuple, elems: []shape{key, m.of}}
	numbers := append(pathsTo(shape{kind: integer}, of, name), "1", "2")
	for _, path := range pathsTo(shape{kind: text}, of, name) {
		numbers = append(numbers, "strlen("+path+")")
	}
	var body []*Node
	// Operators of one group commute with each other; those of different groups do not.
	same := pick(g, []string{" += ", " -= "}, []string{" ^= "}, []string{" |= "})
	for range 1 + g.IntN(3) {
		n := pick(g, numbers...)
		switch v, ok := g.assignable(isInteger); {
		case ok && g.one(2):
			body = append(body, leaf(Stmt, v.name+pick(g, same...)+n+";\n"))
		case g.one(3):
			body = append(body, leaf(Stmt, "if ("+n+" "+g.comparison()+" "+pick(g, numbers...)+") { continue; }\n"))
		case m.deletes && g.one(3):
			body = append(body, leaf(Stmt, pick(g, "delete("+m.name+", "+name+".0);\n",
				"if ("+n+" & 1) { delete("+m.name+"["+name+".0]); }\n")))
		default:
			g.made++
			to := fmt.Sprintf("@l%d", g.made)
			body = append(body, leaf(Stmt, pick(g,
				to+" = sum("+n+");\n", to+" = max("+n+");\n", to+" += "+n+";\n",
				to+"["+n+"] = count();\n", to+"["+name+".0] = "+name+".1;\n",
				to+"["+name+"] = hist("+n+");\n")))
		}
	}
	return node(Stmt, "for ("+name+" : "+m.name+") {\n#}\n", list(body))
}

// printf prints a few values. The text is put together without node, since a format has # and %
// of its own.
func (g *generator) printf() *Node {
	format := ""
	var args []*Node
	for range 1 + g.IntN(4) {
		format += pick(g, " ", ":", "%%", "|", "")
		if g.one(2) {
			format += "[" + pick(g, "%s", "%s", "%12s", "%-9s", "%.3s") + "]"
			args = append(args, g.value(g.shape(1), 3))
			continue
		}
		format += "%" + pick(g, "", "", "", "-", "+", " ", "#", "0", "#0") + pick(g, "", "", "5", "12", ".3", "9.4") +
			pick(g, "", "", "l", "ll", "h", "hh") + pick(g, "d", "d", "i", "u", "x", "X", "o")
		args = append(args, g.value(shape{kind: pick(g, integer, integer, boolean)}, 3))
	}
	out := &Node{Role: Stmt, Text: []string{`printf("` + format + `\n"`}}
	for _, a := range args {
		out.Text[len(out.Text)-1] += ", "
		out.Text, out.Kids = append(out.Text, ""), append(out.Kids, a)
	}
	out.Text[len(out.Text)-1] += ");\n"
	return out
}
