package syntax

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/hawktrace/hawk/internal/source"
)

// Dump writes a tree, one node a line, children indented by two spaces under
// their parent: kind, place as LINE:COL-LINE:COL with the end exclusive, and
// what the children do not say.
func Dump(w io.Writer, n Node) error {
	b := bufio.NewWriter(w)
	dump(b, n, 0)
	return b.Flush()
}

// dump writes a node and what lies under it; the depth is bounded as that of all trees (maxHeight).
func dump(b *bufio.Writer, n Node, depth int) {
	for range depth {
		b.WriteString("  ")
	}
	kind, detail := describe(n)
	b.WriteString(kind)
	if s := n.Span(); s.Valid() {
		line, col := s.File.Position(s.Start)
		endLine, endCol := s.File.Position(s.End)
		fmt.Fprintf(b, " %d:%d-%d:%d", line, col, endLine, endCol)
	}
	if detail != "" {
		b.WriteByte(' ')
		b.WriteString(detail)
	}
	b.WriteByte('\n')
	children(n, func(c Node) { dump(b, c, depth+1) })
}

// describe returns the name of the node's type and its own fields.
// Golden tests compare it, and hawk -d tree shows it.
func describe(n Node) (kind, detail string) {
	kind = strings.TrimPrefix(fmt.Sprintf("%T", n), "*syntax.")
	switch n := n.(type) {
	case *Script:
		if n.Shebang != "" {
			detail = fmt.Sprintf("%q", n.Shebang)
		}
	case *CDef:
		detail = fmt.Sprintf("%q", n.Text)
	case *AttachPoint:
		detail = fmt.Sprintf("%q", n.Text)
	case *IntLit:
		detail = n.Text
		if value := fmt.Sprint(n.Value); value != n.Text {
			detail += " = " + value
		}
	case *StringLit:
		detail = fmt.Sprintf("%q", n.Value)
	case *BoolLit:
		detail = fmt.Sprint(n.Value)
	case *Ident:
		detail = n.Name
	case *Var:
		detail = "$" + n.Name
	case *Map:
		detail = "@" + n.Name
	case *PosParam:
		detail = paramText(n)
	case *Field:
		detail = "."
		if n.Arrow {
			detail = "->"
		}
	case *Unary:
		detail = n.Op.String()
	case *Binary:
		detail = n.Op.String()
	case *IncDec:
		detail = n.Op.String() + " postfix"
		if n.Prefix {
			detail = n.Op.String() + " prefix"
		}
	case *AssignStmt:
		detail = n.Op.String()
	case *JumpStmt:
		detail = n.Kind.String()
	case *Cond:
		if n.Then == nil {
			detail = "?:"
		}
	case *Block:
		if n.Result != nil {
			detail = "with result"
		}
	case *TypeExpr:
		var p printer
		p.typeExpr(n)
		detail = p.buf.String()
	}
	return kind, detail
}

// paramText is a positional parameter as it is written.
func paramText(n *PosParam) string {
	if n.Index == 0 {
		return "$#"
	}
	return fmt.Sprintf("$%d", n.Index)
}

// DumpTokens writes the tokens of a file, one a line: place, kind and text.
// Attach points and C definitions, which are not made of tokens, are cut like
// everything else.
func DumpTokens(w io.Writer, f *source.File) error {
	b := bufio.NewWriter(w)
	s := NewScanner(f)
	for {
		l := s.Next()
		line, col := f.Position(l.Start)
		fmt.Fprintf(b, "%d:%d %s", line, col, l.Token)
		switch l.Token {
		case Invalid, Name, Integer, String, VarName, MapName, ParamNum:
			fmt.Fprintf(b, " %q", f.Text[l.Start:l.End])
		}
		if l.Err != nil {
			fmt.Fprintf(b, " (%s)", l.Err.Msg)
		}
		b.WriteByte('\n')
		if l.Token == EOF {
			return b.Flush()
		}
	}
}
