package scriptgen

import (
	"fmt"
	"strings"
)

// enums are what scripts with enumerators begin with.
const enums = "enum level { LOW, MID = 7, HIGH = 0x90000000 };\nenum side { LEFT = -1, RIGHT = 5 };\n"

// enumerator is an integer of an enum's. Something is done to it, as an enumerator alone prints
// by its name.
func (g *generator) enumerator() *Node {
	g.enums = true
	name := pick(g, "LOW", "MID", "HIGH", "LEFT", "RIGHT")
	return leaf(Expr, pick(g, "("+name+" + 0)", "("+name+" | 0)", "(int64)"+name, "(uint8)"+name, "(-"+name+")"))
}

// A twinned expression is written with constants, which fold, and with
// variables, which do not.
type twinned struct{ folded, run string }

// twins are statements that print an expression of typed constants, the same
// of variables, and whether the two are equal. The compiler folds in code of its own, which has
// to agree with the one that the kernel runs.
func (g *generator) twins() *Node {
	var lets strings.Builder
	leaves := 0
	var expr func(depth int) twinned
	expr = func(depth int) twinned {
		if depth == 0 || g.one(5) {
			if g.one(5) { // a literal is one in both
				n := pick(g, "0", "1", "3", "64", "200", "40000", "0x80000000", "-1", "-129")
				return twinned{n, n}
			}
			leaves++
			width := pick(g, append([]string{"int64", "uint64", "int64", "uint64"}, widths...)...)
			c := "(" + width + ")" + pick(g, numbers...)
			if g.one(8) {
				g.enums = true
				c = pick(g, "LOW", "MID", "HIGH", "LEFT", "RIGHT")
			}
			name := fmt.Sprintf("$tw%d", leaves)
			fmt.Fprintf(&lets, "%s = %s;\n", name, c)
			return twinned{"(" + c + ")", name}
		}
		x := expr(depth - 1)
		switch g.IntN(9) {
		case 0:
			return x.in(pick(g, "(- #)", "(~#)"))
		case 1:
			return x.in("((" + pick(g, widths...) + ")#)")
		case 2:
			return x.in("bswap((" + pick(g, widths...) + ")#)")
		case 3:
			y, z, limit := expr(depth-1), expr(depth-1), expr(depth-1)
			form := "(%s " + g.comparison() + " %s ? (int64)(%s) : (int64)(%s))"
			return twinned{fmt.Sprintf(form, x.folded, limit.folded, y.folded, z.folded),
				fmt.Sprintf(form, x.run, limit.run, y.run, z.run)}
		}
		op := pick(g, "+", "-", "*", "&", "|", "^", "<<", ">>", "<", "<=", ">", ">=", "==", "!=", "/", "%")
		y := expr(depth - 1)
		switch op {
		case "/", "%": // by zero is an error between constants
			y = y.in("((#) | (int64)1)")
		case "<<", ">>": // and so is too large a count
			y = y.in("((uint64)(#) & (uint64)63)")
		}
		form := "(%s " + strings.ReplaceAll(op, "%", "%%") + " %s)"
		return twinned{fmt.Sprintf(form, x.folded, y.folded), fmt.Sprintf(form, x.run, y.run)}
	}
	// The factor of a fixed type gives both the same one, whatever the expression came to.
	w := expr(1 + g.IntN(3)).in("(uint64)1 * #")
	fmt.Fprintf(&lets, "print((%s, %s, (%s) == (%s)));\n", w.folded, w.run, w.folded, w.run)
	return leaf(Stmt, "{\n"+lets.String()+"}\n")
}

// in puts a twin in the place of # in a form.
func (w twinned) in(form string) twinned {
	return twinned{strings.ReplaceAll(form, "#", w.folded), strings.ReplaceAll(form, "#", w.run)}
}
