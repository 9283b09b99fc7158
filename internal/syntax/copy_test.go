package syntax

import (
	"reflect"
	"testing"

	"github.com/hawktrace/hawk/internal/source"
)

// everything holds every kind of statement and expression.
const everything = `begin / pid == 1 && @p[1, 2] != $1 / {
	let $a: int32*[4] = (1, "x", true); let $b; let $t: typeof($a); $a = (x=1, y=-$#)->x; @m[1].0.f[3]++; ++$a;
	let ($p, $q) = ($a, 2); _ = { let $c = 1; $c + 1 }; for ($i : 0..4) { break; continue; return 4; } for ($kv : @m) { return; }
	while ($a) { f(typeof(struct s *), *$p, &$q) } unroll (3) { print((uint8)$x ? : 2); }
	if (a) { 1 } else if comptime (b ? c : d) { sizeof(int8) } else { typeinfo(@x) }
	offsetof(struct t, a.b); sizeof($x + 1); import "x";
}`

// nodes lists every node of a tree.
func nodes(n Node) []Node {
	var out []Node
	Walk(n, func(n Node) bool {
		out = append(out, n)
		return true
	})
	return out
}

func TestCopy(t *testing.T) {
	script, _ := Parse(source.NewFile("in.bt", everything))
	probe := script.Items[0].(*Probe)
	dup := (&Copier{}).Probe(probe)
	if got, want := Format(dup), Format(probe); got != want {
		t.Errorf("the copy reads\n%s\nwant\n%s", got, want)
	}
	old := map[Node]bool{}
	for _, n := range nodes(probe) {
		old[n] = true
	}
	list := nodes(dup)
	if len(list) != len(old) {
		t.Errorf("%d nodes of %d", len(list), len(old))
	}
	for _, n := range list {
		if old[n] {
			t.Errorf("%T %s is not copied", n, Format(n))
		}
	}
	if !reflect.DeepEqual(probe, dup) {
		t.Error("the copy is not equal to its original")
	}
}

func TestCopyReplace(t *testing.T) {
	x, ds := ParseExpr(source.NewFile("in.bt",
		"{ $a = n + f.n; for ($a : @m) { @m[n]++ } sizeof(n) + sizeof(T[3]) + offsetof(T, p.q) + n() }"))
	if ds.HasErrors() {
		t.Fatal(ds.List()[0].Msg)
	}
	at := source.Span{File: x.Span().File, From: &source.Expansion{}}
	c := &Copier{
		Expr: func(e Expr) Expr {
			switch e := e.(type) {
			case *Ident:
				if e.Name == "n" {
					return &IntLit{Text: "7", Value: 7}
				}
			case *Var:
				return &Var{Name: e.Name + "1"}
			case *Map:
				return &Map{Name: "other"}
			}
			return nil
		},
		Type: func(t *TypeExpr, operand bool) (*TypeExpr, Expr) {
			switch t.Name {
			case "n":
				if !operand {
					return nil, nil
				}
				return nil, &IntLit{Text: "7", Value: 7}
			case "T":
				return &TypeExpr{Tag: "struct", Name: "s", Suffixes: t.Suffixes}, nil
			}
			return nil, nil
		},
		Path: func([]*Ident) []*Ident { return []*Ident{{Name: "z"}} },
		Pos:  func(p Pos) Pos { p.At.From = at.From; return p },
	}
	got := c.Copy(x)
	want := "{ $a1 = 7 + f.n; for $a1 : @other { @other[7]++; } sizeof(7) + sizeof(struct s[3]) + offsetof(struct " +
		"s, z) + n() }"
	if text := flat(Format(got)); text != want {
		t.Errorf("got  %s\nwant %s", text, want)
	}
	if got.Span().From != at.From {
		t.Error("places do not say what they were expanded for")
	}
}

// flat puts text on one line.
func flat(s string) string {
	out := []byte{}
	for i := range len(s) {
		switch c := s[i]; {
		case c == '\n' || c == '\t' || c == ' ':
			if len(out) > 0 && out[len(out)-1] != ' ' {
				out = append(out, ' ')
			}
		default:
			out = append(out, c)
		}
	}
	return string(out)
}
