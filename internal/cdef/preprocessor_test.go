package cdef

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hawktrace/hawk/internal/source"
)

// preprocessed is the text after preprocessing and the codes of what is wrong.
func preprocessed(text string, o Options) (string, []string) {
	ds := &source.Diagnostics{}
	p := &preprocessor{opts: &o, ds: ds, macros: predefined(&o), files: map[string]string{}, once: map[string]bool{}}
	f := source.NewFile("test.bt", text)
	p.piece(&file{src: f, text: text, script: true, dir: ".", search: -1})
	var out []string
	for t := p.next(); t.kind != eof; t = p.next() {
		if t.kind != end {
			out = append(out, t.text)
		}
	}
	var codes []string
	for _, d := range ds.List() {
		codes = append(codes, string(d.Code))
	}
	return strings.Join(out, " "), codes
}

func TestPreprocess(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"a // b\n/* c\n d */ e", "a e"},
		{"a \\\n b", "a b"},
		{"#define A 1 + \\\n 2\nA", "1 + 2"},
		{"#define A B\n#define B A x\nA B", "A x B x"},
		{"#define f(x) (x + 1)\nf(2) f f (f(3))", "( 2 + 1 ) f ( ( 3 + 1 ) + 1 )"},
		{"#define f(x, y) x y\nf((1, 2), [3)", "( 1 , 2 ) [ 3"},
		{"#define f() 7\nf() f( )", "7 7"},
		{"#define s(x) #x\ns(a  b) s(\"q\\n\")", `"a b" "\"q\\n\""`},
		{"#define c(a, b) a ## b\nc(x, 1) c(, y) c(z, )", "x1 y z"},
		{"#define c(a, b) a##b\n#define X 5\nc(X, X) c(<, <)", "XX <<"},
		{"#define v(f, ...) f(__VA_ARGS__)\nv(a) v(b, 1, 2)", "a ( ) b ( 1 , 2 )"},
		{"#define v(f, a...) f(0, ## a)\nv(x) v(y, 1)", "x ( 0 ) y ( 0 , 1 )"},
		{"#define g f(1)\n#define f(x) x g\nf(2)", "2 f ( 1 )"},
		{"#define f(x) x\n#define g f\ng(3) g\n(4)", "3 4"},
		{"#define A 1\n#undef A\nA", "A"},
		{"#define EMPTY\nEMPTY a EMPTY", "a"},
		{"#if 0\na\n#elif 1\nb\n#else\nc\n#endif\nd", "b d"},
		{"#if 0\n#if 1\na\n#else\nb\n#endif\n#else\nc\n#endif", "c"},
		{"#if 1\na\n#elif 1/0\nb\n#else\nc\n#endif", "a"},
		{"#ifdef A\na\n#endif\n#ifndef A\nb\n#endif", "b"},
		{"#define A\n#if defined A && defined(A) && !defined(B)\nyes\n#endif", "yes"},
		{"#define F(x) x == 3\n#if F(3) && UNKNOWN == 0 && 'A' == 65 && 0x10u > -1\nyes\n#else\nno\n#endif", "no"},
		{"#if -1 >> 1 == -1 && 7 / 2 * 2 == 6 && (1 ? 2 : 3) == 2 && ~0 == -1 && -7 % 3 == -1 && 010 == " +
			"8\nyes\n#endif", "yes"},
		{"#if 0\ndon't \"mind\n#endif\nok", "ok"},
		{"#if __has_include(<none.h>) || __has_attribute(packed)\na\n#else\nb\n#endif", "b"},
		{"#if __has_include(<stddef.h>)\na\n#endif", "a"},
		{"__x86_64__ __BYTE_ORDER__ A\\\nB", "1 1234 A B"},
		{"#ifdef __aarch64__\na\n#endif\n#ifdef BPFTRACE_HAVE_BTF\nb\n#endif", ""},
		{"# define A 3\n#\n#pragma whatever\n#line 7\nA", "3"},
		{"1.5e+3 0x1e3 .5 L'x' u8\"s\" a->b <<= ...", `1.5e+3 0x1e3 .5 L'x' u8"s" a -> b <<= ...`},
		{"it's", "it ' s"},
	} {
		got, codes := preprocessed(c.in, Options{})
		if got != c.want || codes != nil {
			t.Errorf("%q:\n got %q %v\nwant %q", c.in, got, codes, c.want)
		}
	}
}

func TestPreprocessErrors(t *testing.T) {
	for _, c := range []struct{ in, want, code string }{
		{"#nonsense\na", "a", "c-directive"},
		{"#else\na", "a", "c-directive"},
		{"#define\n#define 1\na", "a", "c-directive"},
		{"#define f(\na", "a", "c-directive"},
		{"#if\n#endif\na", "a", "c-directive"},
		{"#if 1 +\nb\n#endif\na", "a", "c-expression"},
		{"#if (1\nb\n#endif\na", "a", "c-expression"},
		{"#if 1.5\nb\n#endif\na", "a", "c-expression"},
		{"#if 0x10000000000000000\nb\n#endif\na", "a", "c-expression"},
		{"#if " + strings.Repeat("(", 1000) + "\nb\n#endif\na", "a", "c-expression"},
		{"#if 1\n#else\n#else\n#endif\na", "a", ""},
		{"#define f(x) x\nf(1, 2) a", "f a", "c-macro"},
		{"#define f(x) x\nf(1", "f", "c-macro"},
		{"#define c(a, b) a ## b\nc(+, 1)", "+", "c-macro"},
		{"#error no way\na", "a", "c-error"},
		{"#warning look\na", "a", "c-warning"},
		{"#include\na", "a", "c-include"},
		{"#include <nowhere.h>\na", "a", "c-include"},
		{"#include <linux/sched.h>\na", "a", "c-include"},
		{"#define defined 1\na", "a", "c-directive"},
	} {
		got, codes := preprocessed(c.in, Options{})
		if len(codes) == 0 && c.code != "" || len(codes) > 0 && codes[0] != c.code || got != c.want {
			t.Errorf("%.60q: %q %v, want %q %s", c.in, got, codes, c.want, c.code)
		}
	}
}

func TestInclude(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"a.h":        "#ifndef A_H\n#define A_H\n#include \"sub/b.h\"\na\n#endif\n",
		"sub/b.h":    "#pragma once\n#include \"c.h\"\n#include \"../a.h\"\nb\n",
		"sub/c.h":    "c",
		"open.h":     "#if 1\nx",
		"self.h":     "#include \"self.h\"\n",
		"first/n.h":  "one\n#include_next <n.h>\n",
		"second/n.h": "two\n",
		"name.h":     "#define NAME \"sub/c.h\"\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	o := Options{Dirs: []string{dir, filepath.Join(dir, "first"), filepath.Join(dir, "second")}}
	for _, c := range []struct {
		in, want string
		kernel   bool
		codes    []string
	}{
		{in: "#include <a.h>\n#include <a.h>\nz", want: "c b a z"},
		{in: "#include <sub/b.h>\n#include <sub/b.h>\nz", want: "c a b z"},
		{in: "#include <name.h>\n#include NAME\nz", want: "c z"},
		{in: "#include <n.h>\nz", want: "one two z"},
		{in: "#include <open.h>\nz", want: "x z", codes: []string{"c-directive"}},
		{in: "#include <linux/sched.h>\n#include <net/sock.h>\nz", want: "z", kernel: true},
		{in: "#include <fcntl.h>\n#include <stdint.h>\nz", want: "z"},
		{in: "#include \"" + dir + "\"\nz", want: "z", codes: []string{"c-include"}},
		{in: "#include \"/dev/zero\"\nz", want: "z", codes: []string{"c-include"}},
	} {
		o.KernelTypes = c.kernel
		got, codes := preprocessed(c.in, o)
		if got != c.want || !cmp.Equal(codes, c.codes) {
			t.Errorf("%q: %q %v, want %q %v", c.in, got, codes, c.want, c.codes)
		}
	}
	_, ds := read(t, "#include <self.h>\nstruct s { int a; };", o)
	if list := ds.List(); len(list) != 1 || list[0].Code != "c-limit" {
		t.Errorf("a header that includes itself: %v", list)
	}
}

// Conditionals of the script span its pieces.
func TestPieces(t *testing.T) {
	for _, c := range []struct {
		pieces []string
		want   string // tags that are defined
		code   source.Code
	}{
		{[]string{"#if 0", "struct a { int x; }", "#else", "struct b { int x; }", "#endif",
			"struct c { int x; }"}, "b c", ""},
		{[]string{"#if 1", "struct a { int x; }", "#else", "#if 1", "struct b { int x; }", "#endif",
			"#endif", "struct c { int x; }"}, "a c", ""},
		{[]string{"#if 0", "#if 1", "struct a { int x; }", "#else", "struct b { int x; }", "#endif",
			"#elif 1", "struct c { int x; }", "#endif"}, "c", ""},
		{[]string{"#if 0", "struct a { int x; }"}, "", "c-directive"},
		{[]string{"struct a { int x", "struct b { int x; }"}, "b", "c-syntax"},
	} {
		text := strings.Join(c.pieces, "\n")
		f := source.NewFile("t.bt", text)
		var pieces []Piece
		at := 0
		for _, p := range c.pieces {
			pieces = append(pieces, Piece{p, source.Span{File: f, Start: at, End: at + len(p)}})
			at += len(p) + 1
		}
		u, ds := Read(pieces, Options{})
		got := strings.Join(u.TypeNames("struct"), " ")
		code := source.Code("")
		if ds.Len() > 0 {
			code = ds.List()[0].Code
		}
		if got != c.want || code != c.code {
			t.Errorf("%q: %q %s, want %q %s", c.pieces, got, code, c.want, c.code)
		}
	}
}

// Macros that double end at a limit and not in the memory of the machine.
func TestLimit(t *testing.T) {
	var b strings.Builder
	b.WriteString("#define A0 x x\n")
	for _, c := range "123456789abcdefghijklmnopqrstuvwxyz" {
		prev := string(c - 1)
		switch c {
		case 'a':
			prev = "9"
		}
		b.WriteString("#define A" + string(c) + " A" + prev + " A" + prev + "\n")
	}
	b.WriteString("struct s { int a[Az]; };")
	_, ds := read(t, b.String(), Options{})
	if list := ds.List(); len(list) == 0 || list[len(list)-1].Code != "c-limit" {
		t.Errorf("%d messages", len(list))
	}
}
