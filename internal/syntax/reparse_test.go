package syntax

import (
	"strings"
	"testing"

	"github.com/hawktrace/hawk/internal/source"
)

// shape writes an expression with every operator in brackets.
func shape(x Expr) string {
	switch x := x.(type) {
	case *Binary:
		return "[" + shape(x.X) + " " + x.Op.String() + " " + shape(x.Y) + "]"
	case *Unary:
		return "[" + x.Op.String() + shape(x.X) + "]"
	case *Cast:
		return "<" + Format(x.Type) + ">" + shape(x.X)
	case *Paren:
		return shape(x.X)
	}
	return Format(x)
}

func TestReparse(t *testing.T) {
	value := func(name string) bool { return name == "N" }
	tests := []struct{ text, blind, knowing string }{
		{"(N) - 1 * 2", "[<N>[-1] * 2]", "[N - [1 * 2]]"},
		{"a / (N) * b", "[a / <N>[*b]]", "[[a / N] * b]"},
		{"(N) & $m == c", "[<N>[&$m] == c]", "[N & [$m == c]]"},
		{"(N[1]) - 1", "<N[1]>[-1]", "[N[1] - 1]"},
		{"(T) - 1", "<T>[-1]", "<T>[-1]"},
		{"(struct N *) - 1", "<struct N *>[-1]", "<struct N *>[-1]"},
		{"sizeof(N)", "sizeof(N)", "sizeof(N)"},
	}
	for _, tt := range tests {
		f := source.NewFile("in.bt", "macro m(N) { "+tt.text+" }")
		blind, ds := Parse(f)
		if ds.Len() > 0 {
			t.Fatal(render(ds))
		}
		body := blind.Items[0].(*Macro).Body
		if got := shape(body.Result); got != tt.blind {
			t.Errorf("%s: Parse reads %s, want %s", tt.text, got, tt.blind)
		}
		knowing, ds := Reparse(f, value)
		if ds.Len() > 0 {
			t.Fatal(render(ds))
		}
		if got := shape(knowing.Items[0].(*Macro).Body.Result); got != tt.knowing {
			t.Errorf("%s: Reparse reads %s, want %s", tt.text, got, tt.knowing)
		}
		block, ds := ReparseBlock(body, value)
		if ds.Len() > 0 {
			t.Fatal(render(ds))
		}
		if got := shape(block.Result); got != tt.knowing || block.At != body.At {
			t.Errorf("%s: ReparseBlock reads %s at %v, want %s at %v", tt.text, got, block.At, tt.knowing, body.At)
		}
	}
}

func TestAmbiguousCasts(t *testing.T) {
	s := parseClean(t, "begin { f((a) - 1, (b)2, (uint8) - 1, (struct c) - 1, (d) * 3, (e *) - 1); }")
	var names []string
	AmbiguousCasts(s, func(c *Cast) bool {
		names = append(names, c.Type.Name)
		return c.Type.Name != "d"
	})
	if got := strings.Join(names, " "); got != "a d" {
		t.Errorf("ambiguous casts: %s, want a and d, and no more after f returns false", got)
	}
}

func TestParseExpr(t *testing.T) {
	tests := []struct {
		text string
		c    bool
		want string // "" for an error
	}{
		{"(1 << 3) | N", false, "[[1 << 3] | N]"},
		{"", false, ""},
		{"1 2", false, ""},
		{"x; y", false, ""},
		{"do { } while (0)", true, ""},
		{"'A'", true, "'A'"},
		{"'A'", false, ""},
		{`"a" "b"`, true, `"a" "b"`},
		{`"a" "b"`, false, ""},
		{"'ab'", true, ""},
		{"''", true, ""},
		{"0XFFUl", true, "0XFFUl"},
	}
	for _, tt := range tests {
		parse := ParseExpr
		if tt.c {
			parse = ParseCExpr
		}
		x, ds := parse(source.NewFile("x", tt.text))
		_, bad := x.(*Bad)
		if bad != ds.HasErrors() || bad != (tt.want == "") {
			t.Errorf("%q: bad %v, errors %v", tt.text, bad, ds.HasErrors())
		} else if !bad && shape(x) != tt.want {
			t.Errorf("%q reads %s, want %s", tt.text, shape(x), tt.want)
		}
	}
	for text, want := range map[string]uint64{`'A'`: 65, `'\n'`: 10, `'\''`: 39, `'\0'`: 0, `'\xff'`: 1<<64 - 1} {
		x, _ := ParseCExpr(source.NewFile("x", text))
		if lit, ok := x.(*IntLit); !ok || lit.Value != want {
			t.Errorf("%s = %v, want %d", text, x, want)
		}
	}
	x, _ := ParseCExpr(source.NewFile("x", `"a" "\n"`))
	if s, ok := x.(*StringLit); !ok || s.Value != "a\n" {
		t.Errorf("adjacent strings give %v", x)
	}
}

// TestPrintMade checks trees that no text stands behind.
func TestPrintMade(t *testing.T) {
	v := func(name string) Expr { return &Var{Name: name} }
	sum := &Binary{Op: Add, X: v("a"), Y: v("b")}
	block := &Block{Result: v("a")}
	tests := []struct {
		node Node
		want string
	}{
		{&Binary{Op: Mul, X: sum, Y: sum}, "($a + $b) * ($a + $b)"},
		{&Binary{Op: Sub, X: sum, Y: sum}, "$a + $b - ($a + $b)"},
		{&Unary{Op: Sub, X: sum}, "-($a + $b)"},
		{&Unary{Op: Sub, X: &Unary{Op: Sub, X: v("a")}}, "- -$a"},
		{&Unary{Op: Sub, X: &IncDec{Op: Dec, X: v("a"), Prefix: true}}, "- --$a"},
		{&Field{X: sum, Name: &Ident{Name: "f"}}, "($a + $b).f"},
		{&Field{X: &Unary{Op: Mul, X: v("a")}, Name: &Ident{Name: "f"}, Arrow: true}, "(*$a)->f"},
		{&Index{X: &Map{Name: "m"}, I: v("i")}, "(@m)[$i]"},
		{&Cast{Type: &TypeExpr{Name: "u8"}, X: sum}, "(u8)($a + $b)"},
		{&Cond{Cond: &Cond{Cond: v("a"), Else: v("b")}, Then: v("c"), Else: v("d")}, "($a ?: $b) ? $c : $d"},
		{&Binary{Op: Div, X: v("a"), Y: block}, "$a / ({\n  $a\n})"},
		{&ExprStmt{X: &Binary{Op: Add, X: block, Y: v("b")}}, "({\n  $a\n} + $b);"},
		{&WhileStmt{Cond: &Cast{Type: &TypeExpr{Name: "u8"}, X: v("a")}, Body: &Block{}}, "while ((u8)$a) {}"},
		{&WhileStmt{Cond: &Unary{Op: Not, X: v("a")}, Body: &Block{}}, "while !$a {}"},
		{&IntLit{Value: 7}, "7"},
		{&StringLit{Value: "a\"\n\x01"}, `"a\"\n\x01"`},
		{&TypeExpr{Tag: "struct", Name: "s", Suffixes: []TypeSuffix{{Pointer: true}, {Pointer: true},
			{Len: 3}, {Len: -1}}}, "struct s **[3][]"},
	}
	for _, tt := range tests {
		if got := Format(tt.node); got != tt.want {
			t.Errorf("got %s, want %s", got, tt.want)
		}
	}
}

func BenchmarkParse(b *testing.B) {
	text := strings.Join(corpus[:20], "\n")
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		Parse(source.NewFile("in.bt", text))
	}
}
