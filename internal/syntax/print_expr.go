package syntax

import (
	"fmt"
	"strconv"
	"strings"
)

// level is how tightly the outermost operator of an expression binds.
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
		p.list(x.Keys)
		p.close(x, "]")
	case *PosParam:
		p.add(paramText(x))
	case *Paren:
		p.add("(")
		p.expr(x.X, 0)
		p.close(x, ")")
	case *Tuple:
		p.add("(")
		p.list(x.Elems)
		if len(x.Elems) == 1 {
			p.add(",")
		}
		p.close(x, ")")
	case *Record:
		p.add("(")
		for i, f := range x.Fields {
			p.comma(i)
			p.recordField(f)
		}
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
		p.gap(x.X, x.Y)
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
			p.add(" ?: ")
		} else {
			p.add(" ? ")
			p.expr(x.Then, 0)
			p.add(" : ")
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
		p.list(x.Args)
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
		p.list(x.Args)
		p.close(x, ")")
	case *Comptime:
		p.add("comptime ")
		p.expr(x.X, prefix)
	case *Bad:
		p.add(x.At.Text())
	}
}

// close ends a bracketed expression, after the comments inside its end.
func (p *printer) close(x Expr, bracket string) {
	p.inline(p.end(x)-1, " ", "")
	p.add(bracket)
}

func textOr(text, other string) string {
	if text != "" {
		return text
	}
	return other
}

// list prints expressions between commas. One that began a new line in the
// script begins a new line again.
func (p *printer) list(list []Expr) {
	for i, x := range list {
		if i > 0 {
			p.add(",")
			p.gap(list[i-1], x)
		}
		p.expr(x, 0)
	}
}

// gap separates two operands: by a new, further indented line if the script has
// one between them, or else by a space. Comments at the end of such a line keep
// their form.
func (p *printer) gap(before, x Expr) {
	end, start := p.end(before), p.start(x)
	if end < 0 || start < end || !breaksLine(p.file.Text[end:start]) {
		p.add(" ")
		return
	}
	for p.pending(start) {
		c := p.comments[0]
		if c.At.Start < end || strings.Contains(p.file.Text[end:c.At.Start], "\n") {
			break
		}
		p.add(" " + c.Text)
		end = c.At.End
		p.comments = p.comments[1:]
	}
	p.indent += 2
	p.newline()
	p.indent -= 2
}

// breaksLine reports whether a line ends in the text between two operands; the
// lines of a block comment do not count.
func breaksLine(text string) bool {
	for i := 0; i < len(text); i++ {
		if text[i] == '\n' {
			return true
		}
		if n, _ := commentLength(text[i:]); n > 0 {
			i += n - 1
		}
	}
	return false
}

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

func (p *printer) typeOrExpr(t *TypeExpr, x Expr) {
	if t != nil {
		p.typeExpr(t)
		return
	}
	p.expr(x, 0)
}

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
