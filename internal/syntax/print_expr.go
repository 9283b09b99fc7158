package syntax

import (
	"fmt"
	"strconv"
	"strings"
)

// level is how tightly the outermost operator of an expression binds.
// Operands that are no operators bind tightest.
func level(x Expr) int {
	switch x := x.(type) {
	case *Binary:
		return precedence(x.Op)
	case *Cond:
		return 0
	case *Unary, *Cast, *Comptime:
		return prefix
	case *IncDec:
		if x.Prefix {
			return prefix
		}
	}
	return postfix
}

// expr prints an expression, in parentheses if it binds less tightly than the
// place demands.
func (p *printer) expr(x Expr, demand int) {
	p.inline(p.start(x), "", " ")
	if level(x) < demand {
		p.add("(")
		p.expr(x, 0)
		p.add(")")
		return
	}
	switch x := x.(type) {
	case *IntLit:
		p.add(textOr(x.Text, strconv.FormatUint(x.Value, 10)))
	case *StringLit:
		p.add(textOr(x.Text, quote(x.Value)))
	case *BoolLit:
		p.add(strconv.FormatBool(x.Value))
	case *Ident:
		p.add(x.Name)
	case *Var:
		p.add("$" + x.Name)
	case *Map:
		p.add("@" + x.Name)
	case *MapIndex:
		p.addf("@%s[", x.Map.Name)
		p.list(p.end(x.Map), x.Keys)
		p.close(x, "]")
	case *PosParam:
		p.add(paramText(x))
	case *Paren:
		p.add("(")
		p.expr(x.X, 0)
		p.close(x, ")")
	case *Tuple:
		p.add("(")
		p.list(p.start(x)+1, x.Elems)
		if len(x.Elems) == 1 {
			p.add(",")
		}
		p.close(x, ")")
	case *Record:
		p.add("(")
		printList(p, p.start(x)+1, x.Fields, p.recordField)
		p.close(x, ")")
	case *Field:
		p.expr(x.X, postfix)
		if x.Arrow {
			p.add("->")
		} else {
			p.add(".")
		}
		p.add(x.Name.Name)
	case *TupleIndex:
		p.expr(x.X, postfix)
		p.add(".")
		p.expr(x.Index, 0)
	case *Index:
		// Without parentheses @m[i] would be a keyed access.
		_, isMap := x.X.(*Map)
		if isMap {
			p.add("(")
		}
		p.expr(x.X, postfix)
		if isMap {
			p.add(")")
		}
		p.add("[")
		p.expr(x.I, 0)
		p.close(x, "]")
	case *Unary:
		p.prefixOp(x.Op, x.X)
	case *IncDec:
		if x.Prefix {
			p.prefixOp(x.Op, x.X)
		} else {
			p.expr(x.X, postfix)
			p.add(x.Op.String())
		}
	case *Binary:
		prec := precedence(x.Op)
		p.expr(x.X, prec)
		if x.OpPos.File == p.file {
			p.inline(x.OpPos.Start, " ", "")
		}
		p.addf(" %s", x.Op)
		p.gap(p.end(x.X), x.Y)
		_, isBlock := x.Y.(*Block)
		if isBlock && x.Op == Div { // would end a predicate
			p.add("(")
			p.expr(x.Y, 0)
			p.add(")")
		} else {
			p.expr(x.Y, prec+1)
		}
	case *Cond:
		p.expr(x.Cond, lowest)
		if x.Then == nil {
			p.add(" ?:")
			p.gap(p.end(x.Cond), x.Else)
		} else {
			p.add(" ?")
			p.gap(p.end(x.Cond), x.Then)
			p.expr(x.Then, 0)
			p.add(" :")
			p.gap(p.end(x.Then), x.Else)
		}
		p.expr(x.Else, 0)
	case *If:
		p.ifExpr(x)
	case *Block:
		p.block(x)
	case *Cast:
		p.add("(")
		p.typeExpr(x.Type)
		p.add(")")
		if p.binaryCast(x) {
			op := x.X.(*Unary)
			p.addf(" %s", op.Op)
			p.gap(p.end(x.Type), op.X)
			p.expr(op.X, prefix)
			return
		}
		_, isBlock := x.X.(*Block)
		if isBlock { // is not taken for the operand of a cast
			p.add("(")
			p.expr(x.X, 0)
			p.add(")")
		} else {
			p.expr(x.X, prefix)
		}
	case *Call:
		p.add(x.Func.Name + "(")
		p.list(p.end(x.Func), x.Args)
		p.close(x, ")")
	case *TypeArg:
		p.typeExpr(x.Type)
	case *SizeOf:
		p.add("sizeof(")
		p.typeOrExpr(x.Type, x.X)
		p.add(")")
	case *TypeInfo:
		p.add("typeinfo(")
		p.typeOrExpr(x.Type, x.X)
		p.add(")")
	case *OffsetOf:
		p.add("offsetof(")
		p.typeOrExpr(x.Type, x.X)
		for i, name := range x.Path {
			p.add([]string{", ", "."}[min(i, 1)] + name.Name)
		}
		p.add(")")
	case *Inlined:
		p.add(x.Name.Name + "(")
		p.list(p.end(x.Name), x.Args)
		p.close(x, ")")
	case *Comptime:
		p.add("comptime ")
		p.expr(x.X, prefix)
	case *Bad:
		p.add(x.At.Text())
	}
}

// close ends a bracketed expression, after the comments inside its end.
// No comment may come out behind the bracket that it stood in.
func (p *printer) close(x Expr, bracket string) {
	p.inline(p.end(x)-1, " ", "")
	p.add(bracket)
}

// textOr is the text of a literal as written, or another for one that was made.
func textOr(text, other string) string {
	if text != "" {
		return text
	}
	return other
}

// list prints expressions between commas, behind a bracket that stands at or
// after from.
func (p *printer) list(from int, list []Expr) {
	printList(p, from, list, func(x Expr) { p.expr(x, 0) })
}

// printList prints nodes between commas. One that began a new line in the script
// begins a new line again: if the first did, one level deeper than the statement,
// or else two, apart from what a block has.
func printList[N Node](p *printer, from int, list []N, print func(N)) {
	levels := 2
	for i, x := range list {
		start := p.start(x)
		switch broken := p.breaks(from, start); {
		case i == 0 && broken:
			levels = 1
			p.wrap(from, start, levels)
		case i > 0:
			p.add(",")
			if broken {
				p.wrap(from, start, levels)
			} else {
				p.add(" ")
			}
		}
		print(x)
		from = p.end(x)
	}
}

// gap separates an operator from its right operand, of which the left ended at
// end: by a new, further indented line if the script has one between the two, or
// else by a space.
func (p *printer) gap(end int, x Expr) {
	if start := p.start(x); p.breaks(end, start) {
		p.wrap(end, start, 2)
	} else {
		p.add(" ")
	}
}

// breaks reports whether the script has the end of a line, and no words, between
// two neighbours; the lines of a block comment do not count.
// Words in between belong to some other node, whose line it then is.
func (p *printer) breaks(end, start int) bool {
	if end < 0 || start < end {
		return false
	}
	found := false
	for i := end; i < start; i++ {
		if n, _ := commentLength(p.file.Text[i:start]); n > 0 {
			i += n - 1
			continue
		}
		found = found || p.file.Text[i] == '\n'
		if isNamePart(p.file.Text[i]) {
			return false
		}
	}
	return found
}

// wrap starts a line for what is at start. Comments at the end of the line
// before, and those with a line of their own, keep their form.
func (p *printer) wrap(end, start, levels int) {
	p.indent += levels
	defer func() { p.indent -= levels }()
	for p.pending(start) && p.comments[0].At.Start >= end {
		c := p.comments[0]
		own := strings.Contains(p.file.Text[end:c.At.Start], "\n")
		if strings.Contains(c.Text, "\n") || own && !endsLine(p.file.Text[c.At.End:]) {
			break
		}
		if own {
			p.newline()
			p.add(ownLine(c.Text))
		} else {
			p.add(" " + c.Text)
		}
		end = c.At.End
		p.comments = p.comments[1:]
	}
	p.newline()
}

// binaryCast reports whether what reads as a cast of a signed, dereferenced or
// addressed value is rather a name in parentheses and a binary operator: (n) - 1
// with a parameter of a macro, or with the spaces of such an operator.
func (p *printer) binaryCast(x *Cast) bool {
	op, ok := x.X.(*Unary)
	if !ok || !ambiguous(x) {
		return false
	}
	for _, param := range p.params {
		if id, ok := param.(*Ident); ok && id.Name == x.Type.Name {
			return true
		}
	}
	// As in (n) - 1: blanks on both sides of the operator.
	start, operand := p.start(op), p.start(op.X)
	return start > 0 && operand > start+1 && strings.IndexByte(" \t\r\n", p.file.Text[start-1]) >= 0
}

// recordField prints name=value.
func (p *printer) recordField(f *RecordField) {
	p.add(f.Name.Name + "=")
	p.expr(f.Value, 0)
}

// prefixOp keeps two operators apart that would be read as one: - -x.
func (p *printer) prefixOp(op Token, x Expr) {
	p.add(op.String())
	text := p.part(x, prefix)
	if text != "" && (op == Sub || op == Add || op == And) && text[0] == op.String()[0] {
		p.add(" ")
	}
	p.add(text)
}

// ifExpr prints an if and its else branches, in a loop: a chain of them may be long.
func (p *printer) ifExpr(x *If) {
	for {
		p.add("if ")
		p.cond(x.Cond)
		p.add(" ")
		p.block(x.Then)
		if x.Else == nil {
			return
		}
		p.add(" else ")
		next, ok := x.Else.(*If)
		if !ok {
			p.block(x.Else.(*Block))
			return
		}
		x = next
	}
}

// typeOrExpr prints the operand of sizeof and the like.
// Exactly one of the two is set.
func (p *printer) typeOrExpr(t *TypeExpr, x Expr) {
	if t != nil {
		p.typeExpr(t)
		return
	}
	p.expr(x, 0)
}

// typeExpr prints a type with a blank in front of the first '*'.
func (p *printer) typeExpr(t *TypeExpr) {
	switch {
	case t.Of != nil || t.OfType != nil:
		p.add("typeof(")
		p.typeOrExpr(t.OfType, t.Of)
		p.add(")")
	case t.Tag != "":
		p.add(t.Tag + " " + t.Name)
	default:
		p.add(t.Name)
	}
	pointer := false
	for _, s := range t.Suffixes {
		switch {
		case s.Pointer && pointer:
			p.add("*")
		case s.Pointer:
			p.add(" *")
		case s.Len < 0:
			p.add("[]")
		default:
			p.addf("[%d]", s.Len)
		}
		pointer = s.Pointer
	}
}

// quote writes a string literal with the escapes of the language.
func quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '\n':
			b.WriteString(`\n`)
		case c == '\t':
			b.WriteString(`\t`)
		case c == '\r':
			b.WriteString(`\r`)
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c < ' ' || c == 0x7f:
			fmt.Fprintf(&b, `\x%02x`, c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}
