package check

import (
	"bufio"
	"fmt"
	"io"
	"sort"
	"strings"

	"github.com/hawktrace/hawk/internal/syntax"
	"github.com/hawktrace/hawk/internal/types"
)

// Dump writes a program with its types as comments: the maps, then every copy
// of every probe with its variables, each statement on a line.
func Dump(w io.Writer, p *Program) {
	out := bufio.NewWriter(w)
	defer out.Flush()
	for _, m := range p.Maps {
		key := ""
		if m.Key != nil {
			key = "[" + m.Key.String() + "]"
		}
		fmt.Fprintf(out, "// %s%s: %s, %d entries\n", m.Name, key, name(m.Value), m.MaxEntries)
	}
	for _, pr := range p.Probes {
		d := dumper{out, pr.Info, 1}
		names := make([]string, len(pr.Points))
		for i, pt := range pr.Points {
			names[i] = pt.Name()
		}
		fmt.Fprintf(out, "%s", strings.Join(names, ",\n"))
		if pr.Predicate != nil {
			fmt.Fprintf(out, " / %s /", syntax.Format(pr.Predicate))
		}
		fmt.Fprint(out, " {\n")
		d.variables()
		d.block(pr.Body)
		fmt.Fprint(out, "}\n")
	}
}

// name is a type in a dump, "?" if it is not known.
func name(t types.Type) string {
	if t == nil {
		return "?"
	}
	return t.String()
}

// A dumper writes one copy of a probe.
type dumper struct {
	out    *bufio.Writer
	info   *Info
	indent int
}

// line writes a statement on one line and, behind it, what is known of it.
func (d *dumper) line(text, comment string) {
	fmt.Fprintf(d.out, "%s%s", strings.Repeat("\t", d.indent), strings.ReplaceAll(text, "\n", " "))
	if comment != "" {
		if text != "" {
			d.out.WriteByte(' ')
		}
		fmt.Fprintf(d.out, "// %s", comment)
	}
	d.out.WriteByte('\n')
}

// variables lists the declarations in source order.
func (d *dumper) variables() {
	var vars []*Var
	seen := map[*Var]bool{}
	for _, v := range d.info.Vars {
		if !seen[v] {
			seen[v] = true
			vars = append(vars, v)
		}
	}
	sort.Slice(vars, func(i, j int) bool { return vars[i].Decl.Start < vars[j].Decl.Start })
	for _, v := range vars {
		d.line("", "$"+v.Name+": "+name(v.Type))
	}
}

func (d *dumper) block(b *syntax.Block) {
	for _, s := range b.Stmts {
		d.statement(s)
	}
	if b.Result != nil {
		d.line(syntax.Format(b.Result), d.typeOf(b.Result))
	}
}

// nested writes a statement with a body, indented.
func (d *dumper) nested(head string, b *syntax.Block, tail string) {
	d.line(head+" {", "")
	d.indent++
	d.block(b)
	d.indent--
	d.line("}"+tail, "")
}

// statement writes a statement and the types of its parts. Loops over maps are written whole, on
// one line.
func (d *dumper) statement(s syntax.Stmt) {
	switch s := s.(type) {
	case *syntax.ExprStmt:
		switch x := s.X.(type) {
		case *syntax.If:
			d.ifElse("", x)
		case *syntax.Block:
			d.nested("", x, "")
		default:
			d.line(syntax.Format(s), d.typeOf(s.X))
		}
	case *syntax.AssignStmt:
		d.line(syntax.Format(s), d.typeOf(s.LHS)+" = "+d.typeOf(s.RHS))
	case *syntax.DiscardStmt:
		d.line(syntax.Format(s), d.typeOf(s.X))
	case *syntax.LetStmt:
		comment := ""
		if s.Init != nil {
			comment = d.typeOf(s.Init)
		}
		d.line(syntax.Format(s), comment)
	case *syntax.LetTupleStmt:
		d.line(syntax.Format(s), d.typeOf(s.Init))
	case *syntax.ForStmt:
		if s.Over == nil {
			d.nested("for ($"+s.Var.Name+" : "+syntax.Format(s.From)+".."+syntax.Format(s.To)+")", s.Body, "")
		}
	case *syntax.WhileStmt:
		d.nested("while ("+syntax.Format(s.Cond)+")", s.Body, "")
	case *syntax.UnrollStmt:
		d.nested(fmt.Sprintf("unroll (%d)", d.info.Unrolls[s]), s.Body, "")
	default:
		d.line(syntax.Format(s), "")
	}
}

func (d *dumper) ifElse(prefix string, x *syntax.If) {
	tail := ""
	if x.Else != nil {
		tail = " else"
	}
	d.nested(prefix+"if ("+syntax.Format(x.Cond)+")", x.Then, tail)
	switch e := x.Else.(type) {
	case *syntax.Block:
		d.nested("", e, "")
	case *syntax.If:
		d.ifElse("", e)
	}
}

// typeOf shows type, value and address space of an expression.
func (d *dumper) typeOf(e syntax.Expr) string {
	t, ok := d.info.Types[e]
	if !ok {
		return "?"
	}
	text := t.String()
	if k, ok := d.info.Consts[e]; ok {
		text += " " + constText(k)
	}
	if s, ok := d.info.Spaces[e]; ok {
		text += " in " + s.String()
	}
	return text
}
