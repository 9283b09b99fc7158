package syntax

import (
	"strings"
	"testing"

	"github.com/hawktrace/hawk/internal/source"
)

// faulty is one script for each fault, with the codes and places of what is to
// be said about it: CODE@TEXT, TEXT being what the span covers.
var faulty = []struct{ text, want string }{
	{`begin { print("abc); }`, `unterminated-string@"abc); }`},
	{`begin { print("a\qb"); }`, `bad-escape@\q`},
	{`begin { print("\777"); }`, `bad-escape@\777`},
	{`begin { print("\xg"); }`, `bad-escape@\x`},
	{`begin { print(34e2); }`, "invalid-exponent@34e2"},
	{`begin { print(6days); }`, "invalid-suffix@6days"},
	{`begin { print(1_); }`, "invalid-integer@1_"},
	{`begin { print(18446744073709551616); }`, "integer-overflow@18446744073709551616"},
	{`begin { $ = 1; }`, "expected-name@$"},
	{`begin { print($0); }`, "bad-parameter@$0"},
	{`begin { print($9223372036854775808); }`, "bad-parameter@$9223372036854775808"},
	{`begin { print(1.5); }`, "floating-point@1.5"},
	{`begin { print('a'); }`, "invalid-character@'"},
	{"begin { \xff }", "invalid-character@\xff"},
	{`begin{ printf("x\n" }`, "syntax@}"},
	{`begin { $x = 1 $y = 2; }`, "syntax@$y"},
	{`begin { $x = ; }`, "syntax@;"},
	{`begin { f(1,); }`, "syntax@)"},
	{`begin { @m[1,] = 1; }`, "syntax@]"},
	{`begin { @m[] = 1; }`, "syntax@]"},
	{`begin { $x = (a=1,); }`, "syntax@)"},
	{`begin { printf("x")`, "syntax@"},
	{`begin { if 1 { f() }`, "syntax@"},
	{`begin { if pid == 1 { } }`, "syntax@=="},
	{`begin { if (a = 1) { } }`, "syntax@="},
	{`begin { if (1) f(); }`, "syntax@f"},
	{`begin { if (1) { } else f(); }`, "syntax@f"},
	{`begin { $a = $b = 1; }`, "syntax@="},
	{`begin { $x = +1; }`, "syntax@+"},
	{`begin { $x = 1 / { 2 }; }`, "syntax@/"},
	{`begin { tmp!(); }`, "syntax@!"},
	{`begin { let x = 1; }`, "syntax@x"},
	{`begin { let @x = 1; }`, "syntax@@x"},
	{`begin { let (x) = 1; }`, "syntax@x"},
	{`begin { let () = 1; }`, "syntax@)"},
	{`begin { let ($a, $b); }`, "syntax@;"},
	{`begin { let $x: 5; }`, "syntax@5"},
	{`begin { let $x: pid; }`, "syntax@pid"},
	{`begin { for ($i : 3) { } }`, "syntax@)"},
	{`begin { for (i : 0..3) { } }`, "syntax@i"},
	{`begin { for ($i : 0..3 { } }`, "syntax@{"},
	{`begin { typeof($x); }`, "syntax@typeof"},
	{`begin { $x.if.1a = 1; }`, "invalid-suffix@1a immutable@$x.if.1a"},
	{`begin { $t.0 = 1; }`, "immutable@$t.0"},
	{`begin { args.x = 1; }`, "immutable@args.x"},
	{`begin { $a[0] = 1; }`, "immutable@$a[0]"},
	{`begin { 5 = 2; pid = 3; }`, "invalid-target@5 invalid-target@pid"},
	{`begin { *$p = 2; }`, "invalid-target@*$p"},
	{`begin { pid++; ++3; }`, "invalid-target@pid invalid-target@3"},
	{`begin { print(&@m[1]); print(&pid); }`, "invalid-address@@m[1] invalid-address@pid"},
	{`begin { x( } end { y( }`, "syntax@} syntax@}"},
	{`kprobe:f bar { }`, "syntax@bar"},
	{`kprobe:f`, "syntax@"},
	{`kprobe:f /1 { }`, "syntax@{"},
	{`} begin { }`, "syntax@}"},
	{`kprobe:"f { }`, `unterminated-string@kprobe:"f { }`},
	{`let $x = 1; begin { }`, "syntax@$x"},
	{`let @x = hash($1); begin { }`, "syntax@$1"},
	{`macro m(pid) { } begin { }`, "builtin-parameter@pid"},
	{`macro m(1) { }`, "syntax@1"},
	{`fn f($a) { }`, "syntax@)"},
	{`fn f($a: int8) { }`, "syntax@{"},
	{`begin { } config = { }`, "out-of-order@config"},
	{`config = { } config = { } begin { }`, "duplicate-config@config"},
	{`config = { a = 1 b = 2 } begin { }`, "syntax@b"},
	{`config = { a = -1 } begin { }`, "syntax@-"},
	{`config = { a = -1; b 2; c = 3 d = 4; e = ) } begin { $x = ; }`, "syntax@- syntax@2 syntax@d syntax@) syntax@;"},
	{`config = { a = 1; b = 2`, "syntax@"},
	{`begin { } import "x"; end { }`, `out-of-order@import "x"`},
	{`import "x" begin { }`, "syntax@begin"},
	{"begin { }\n#include <a.h>\n", "out-of-order@#include <a.h>"},
	{"config = { }\n#include <a.h>\nbegin { }", "late-definition@#include <a.h>"},
	{`let @m = hash(1); struct s { int a; }; begin { }`, "late-definition@struct s { int a; };"},
	{`struct s { int a;`, "syntax@{"},
	{`struct s { } __attribute__((packed) begin { }`, "syntax@__attribute__"},
	{`typedef int x`, "syntax@typedef"},
	{`begin { $x = $a /= 2; }`, "syntax@/="},
	{`begin { print($t..1); }`, "syntax@.."},
	{`begin { print("a" "b"); }`, `syntax@"b"`},
	{`begin { for ($i = 0; $i < 3; $i++) { } }`, "syntax@="},
	{`begin { do { } while 1 { } }`, "syntax@{"},
	{`begin { switch (1) { } }`, "syntax@{"},
	{`begin { 1 as int8; }`, "syntax@as"},
	{`begin { (1, 2) = (3, 4); }`, "invalid-target@(1, 2)"},
	{`begin { break 5; }`, "syntax@5"},
	{`begin { 1 + 1 = 2; f() = 2; }`, "invalid-target@1 + 1 invalid-target@f()"},
	{`begin { "a"[0]++; --$x.a; $x++++; }`, `invalid-target@"a"[0] invalid-target@$x.a invalid-target@$x++`},
	{`begin { @m[1][2] = 3; }`, "immutable@@m[1][2]"},
	{`begin { for ($i : 0..1..2) { } }`, "syntax@.."},
	{`begin { unroll (2) print(1); }`, "syntax@print"},
	{`begin { $x = (1,,2); }`, "syntax@,"},
	{`begin { $x = (1 , ; }`, "syntax@;"},
	{`begin { print(sizeof()); }`, "syntax@)"},
	{`begin { print(offsetof(struct s, a.)); }`, "syntax@)"},
	{`begin { if (uint8)$x { } }`, "syntax@$x"},
	{`let @m; begin { }`, "syntax@;"},
	{`let @m = hash(-1); begin { }`, "syntax@-"},
	{`macro m(x,) { } begin { }`, "syntax@)"},
	{`fn f($a) : int8 { }`, "syntax@)"},
	{"begin { print(\"a\nb\"); }", `unterminated-string@"a`},
	{`begin { print("\400"); print("\08"); }`, `bad-escape@\400`},
	{`begin { } /* open`, "unterminated-comment@/*"},
	{`begin { print(1); /* open }`, "unterminated-comment@/*"},
	{`begin { print(1;) }`, "syntax@;"},
	{`begin { print(1;); print(2 3); }`, "syntax@; syntax@3"},
	{`begin { do { print(1); } while (1); }`, "syntax@{"},
	{`begin { do { print(1); } while (1); print(2 3); }`, "syntax@{ syntax@3"},
	{"\x7fELF\x00", "binary-file@"},
}

func TestErrors(t *testing.T) {
	for _, tt := range faulty {
		_, ds := Parse(source.NewFile("in.bt", tt.text))
		var got []string
		for _, d := range ds.List() {
			got = append(got, string(d.Code)+"@"+d.Span.Text())
			if d.Severity == source.Error && !strings.HasPrefix(d.Msg, "syntax: ") && d.Code != "binary-file" {
				t.Errorf("%q: message %q is not marked as syntax", tt.text, d.Msg)
			}
		}
		if s := strings.Join(got, " "); s != tt.want {
			t.Errorf("%q\n got %s\nwant %s", tt.text, s, tt.want)
		}
	}
}

// TestManyErrors checks that the parser stops looking after a while.
func TestManyErrors(t *testing.T) {
	_, ds := Parse(source.NewFile("in.bt", "begin { "+strings.Repeat("$x = ; ", 100)+"}"))
	if ds.Len() != maxErrors {
		t.Errorf("%d diagnostics, want %d", ds.Len(), maxErrors)
	}
}
