package syntax

import (
	"fmt"
	"io"
	"strings"

	"github.com/hawktrace/hawk/internal/source"
)

// Print writes a tree in canonical layout. A Script is printed with its
// comments, anything less without. Parsing the text of a tree that came from
// Parse gives an equal tree; trees made otherwise get the parentheses that they
// need.
func Print(w io.Writer, n Node) error {
	var p printer
	p.node(n)
	_, err := io.WriteString(w, p.buf.String())
	return err
}

// Format is Print into a string.
func Format(n Node) string {
	var b strings.Builder
	Print(&b, n)
	return b.String()
}

// A printer holds the text so far and the comments not yet printed.
type printer struct {
	buf      strings.Builder
	indent   int
	file     *source.File // the script; nil if there are no positions to go by
	comments []*Comment
	first    bool   // nothing is printed yet in this file or block
	params   []Expr // of the macro that is printed
}

// start is where a node starts in the script, -1 if it is not from there.
func (p *printer) start(n Node) int {
	if s := n.Span(); s.File != nil && s.File == p.file {
		return s.Start
	}
	return -1
}

// end is where a node ends, as start.
func (p *printer) end(n Node) int {
	if s := n.Span(); s.File != nil && s.File == p.file {
		return s.End
	}
	return -1
}

// node prints any node.
func (p *printer) node(n Node) {
	switch n := n.(type) {
	case *Script:
		p.script(n)
	case *Import: // an item and a statement
		p.item(n)
	case Item:
		p.item(n)
	case Stmt:
		p.stmt(n)
	case Expr:
		p.expr(n, 0)
	case *TypeExpr:
		p.typeExpr(n)
	case *AttachPoint:
		p.add(n.Text)
	case *Setting:
		p.setting(n)
	case *Param:
		p.param(n)
	case *RecordField:
		p.recordField(n)
	case *Comment:
		p.add(n.Text)
	}
}

// add appends text.
func (p *printer) add(s string) { p.buf.WriteString(s) }

// addf appends formatted text.
func (p *printer) addf(format string, args ...any) { fmt.Fprintf(&p.buf, format, args...) }

// newline starts a line at the current indentation.
func (p *printer) newline() {
	p.add("\n")
	for range p.indent {
		p.add("  ")
	}
}

// script prints a file. Comments come out between the items, at the places that they have in the
// source.
func (p *printer) script(s *Script) {
	p.file = s.At.File
	if p.file != nil {
		p.comments = s.Comments
	}
	p.first = s.Shebang == ""
	p.add(s.Shebang)
	for _, item := range s.Items {
		p.open(item)
		p.item(item)
		p.trail(p.end(item))
	}
	p.lead(p.end(s) + 1)
	// A comment that is not closed has the end of the last line inside.
	if p.buf.Len() > 0 && !(len(s.Comments) > 0 && strings.HasSuffix(s.Comments[len(s.Comments)-1].Text, "\n")) {
		p.add("\n")
	}
}

// open starts the line of an item or statement, after the comments and the empty
// line that the script has before it.
// More than one empty line becomes one.
func (p *printer) open(n Node) {
	start := p.start(n)
	p.lead(start)
	p.blank(start)
	p.line()
}

// line starts a line, except at the start of the text.
func (p *printer) line() {
	if p.buf.Len() > 0 || p.indent > 0 {
		p.newline()
	}
	p.first = false
}

// item prints an item without what stands around it.
func (p *printer) item(item Item) {
	switch item := item.(type) {
	case *CDef:
		p.add(item.Text)
		if start := p.start(item); start >= 0 {
			// C text is printed as it is, with the comments inside of it.
			p.skipComments(start + len(strings.TrimSuffix(item.Text, ";")))
			p.rest(p.end(item))
		}
	case *Config:
		p.config(item)
	case *Import:
		p.addf("import ")
		p.expr(item.Path, 0)
		p.add(";")
	case *Probe:
		p.probe(item)
	case *Macro:
		p.addf("macro %s(", item.Name.Name)
		p.list(p.end(item.Name), item.Params)
		p.add(")")
		p.params = item.Params
		p.body(item.Body)
		p.params = nil
	case *Subprog:
		p.addf("fn %s(", item.Name.Name)
		printList(p, p.end(item.Name), item.Params, p.param)
		p.add("): ")
		p.typeExpr(item.Result)
		p.body(item.Body)
	case *MapDecl:
		p.addf("let @%s = %s(", item.Map.Name, item.Kind.Name)
		p.expr(item.Entries, 0)
		p.add(");")
	}
}

// param prints a parameter of a function.
func (p *printer) param(n *Param) {
	p.addf("$%s: ", n.Var.Name)
	p.typeExpr(n.Type)
}

// config prints the block of settings, one a line.
func (p *printer) config(c *Config) {
	p.add("config = {")
	if start := p.start(c); start >= 0 {
		p.trailBrace(start + strings.IndexByte(p.file.Text[start:], '{') + 1)
	}
	p.indent++
	p.first = true
	for _, s := range c.Settings {
		p.open(s)
		p.setting(s)
		p.add(";")
		p.trail(p.end(s))
	}
	p.lead(p.end(c) - 1)
	p.indent--
	p.newline()
	p.add("}")
}

// setting prints a setting; quotes that change nothing are left out.
// Words are values of settings by themselves, as in the manual.
func (p *printer) setting(s *Setting) {
	p.addf("%s = ", s.Key.Name)
	if str, ok := s.Value.(*StringLit); ok && isPlainWord(str) {
		p.add(str.Value)
		return
	}
	p.expr(s.Value, 0)
}

// isPlainWord reports whether a setting's string means the same without quotes.
func isPlainWord(s *StringLit) bool {
	return isName(s.Value) && s.Value != "true" && s.Value != "false"
}

// probe prints attach points one a line, then predicate and body.
func (p *printer) probe(n *Probe) {
	for i, at := range n.Attach {
		if i > 0 {
			p.lead(p.start(at))
			p.newline()
			// A comma in front, which the grammar skips, keeps it from being read as a definition.
		} else if beginsItem(at.Text) {
			p.add(",")
		}
		p.add(at.Text)
		if i+1 < len(n.Attach) {
			p.add(",")
		}
		p.trail(p.end(at))
	}
	if n.Predicate != nil {
		p.lead(p.start(n.Predicate))
		p.newline()
		text := p.part(n.Predicate, 0)
		if strings.HasPrefix(text, "/") || strings.HasPrefix(text, "*") {
			text = " " + text // "/*" would be a comment
		}
		p.add("/" + text + "/")
		p.trail(p.end(n.Predicate))
	}
	p.body(n.Body)
}

// part is the text of an expression that needs looking at before it is added.
// Comments that it prints are taken from those that are left.
func (p *printer) part(x Expr, demand int) string {
	q := printer{indent: p.indent, file: p.file, comments: p.comments, params: p.params}
	q.expr(x, demand)
	p.comments = q.comments
	return q.buf.String()
}

// body prints the block of an item, whose brace stands on its own line.
// Blocks of statements begin on the line of their statement.
func (p *printer) body(b *Block) {
	p.lead(p.start(b))
	p.newline()
	p.block(b)
}

// block prints { … }, empty on one line.
func (p *printer) block(b *Block) {
	p.add("{")
	end := p.end(b) - 1
	if len(b.Stmts) == 0 && b.Result == nil && !p.pending(end) {
		p.add("}")
		return
	}
	p.trailBrace(p.start(b) + 1)
	p.indent++
	p.first = true
	for _, s := range b.Stmts {
		p.open(s)
		p.stmt(s)
		p.trail(p.end(s))
	}
	if b.Result != nil {
		p.open(b.Result)
		p.statementExpr(b.Result)
		p.rest(p.end(b.Result))
		p.trail(p.end(b.Result))
	}
	p.lead(end)
	p.indent--
	p.newline()
	p.add("}")
}

// stmt prints a statement with its ';'.
func (p *printer) stmt(s Stmt) {
	switch s := s.(type) {
	case *ExprStmt:
		p.statementExpr(s.X)
		switch s.X.(type) {
		case *If, *Block:
			if !s.Ended {
				return
			}
		}
	case *LetStmt:
		p.addf("let $%s", s.Var.Name)
		end := p.end(s.Var)
		if s.Type != nil {
			p.add(": ")
			p.typeExpr(s.Type)
			end = p.end(s.Type)
		}
		if s.Init != nil {
			p.add(" =")
			p.gap(end, s.Init)
			p.expr(s.Init, 0)
		}
	case *LetTupleStmt:
		p.add("let (")
		printList(p, p.start(s.Vars[0]), s.Vars, func(v *Var) { p.addf("$%s", v.Name) })
		p.add(") =")
		p.gap(p.end(s.Vars[len(s.Vars)-1]), s.Init)
		p.expr(s.Init, 0)
	case *AssignStmt:
		p.expr(s.LHS, 0)
		p.addf(" %s", s.Op)
		p.gap(p.end(s.LHS), s.RHS)
		p.expr(s.RHS, 0)
	case *JumpStmt:
		p.add(s.Kind.String())
		if s.Value != nil {
			p.add(" ")
			p.expr(s.Value, 0)
		}
	case *DiscardStmt:
		p.add("_ = ")
		p.expr(s.X, 0)
	case *Import:
		p.add("import ")
		p.expr(s.Path, 0)
	case *ForStmt:
		p.addf("for $%s : ", s.Var.Name)
		if s.Over != nil {
			p.expr(s.Over, 0)
		} else {
			p.expr(s.From, additive)
			p.add("..")
			p.expr(s.To, additive)
		}
		p.add(" ")
		p.block(s.Body)
		return
	case *WhileStmt:
		p.add("while ")
		p.cond(s.Cond)
		p.add(" ")
		p.block(s.Body)
		return
	case *UnrollStmt:
		p.add("unroll (")
		p.expr(s.Count, 0)
		p.add(") ")
		p.block(s.Body)
		return
	}
	p.add(";")
	p.rest(p.end(s))
}

// statementExpr prints an expression where a statement may start. One that
// merely begins with a block or an if needs parentheses there.
func (p *printer) statementExpr(x Expr) {
	first := leftmost(x)
	_, isBlock := first.(*Block)
	_, isIf := first.(*If)
	if first != x && (isBlock || isIf) {
		p.add("(")
		p.expr(x, 0)
		p.add(")")
		return
	}
	p.expr(x, 0)
}

// cond prints a condition. Without parentheses only a unary expression can
// stand before a '{', and one that begins with '(' would lose it.
func (p *printer) cond(x Expr) {
	bare := level(x) >= prefix
	switch leftmost(x).(type) {
	case *Paren, *Tuple, *Record, *Cast, *Block, *If, *Binary, *Cond:
		bare = false
	}
	if bare {
		p.expr(x, 0)
		return
	}
	p.add("(")
	p.expr(x, 0)
	p.add(")")
}

// leftmost is the subexpression whose text comes first.
func leftmost(x Expr) Expr {
	for {
		switch e := x.(type) {
		case *Field:
			x = e.X
		case *TupleIndex:
			x = e.X
		case *Index:
			x = e.X
		case *Binary:
			x = e.X
		case *Cond:
			x = e.Cond
		case *IncDec:
			if e.Prefix {
				return x
			}
			x = e.X
		default:
			return x
		}
	}
}
