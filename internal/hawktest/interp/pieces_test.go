package interp_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hawktrace/hawk/internal/aot"
	"github.com/hawktrace/hawk/internal/arch"
	"github.com/hawktrace/hawk/internal/compile"
	"github.com/hawktrace/hawk/internal/machine"
	"github.com/hawktrace/hawk/internal/probe"
	"github.com/hawktrace/hawk/internal/session"
)

// branchy are scripts with more ways through them than the verifier follows, or
// with all ways out of functions that are made of parts of them.
var branchy = []struct{ name, script string }{
	{"an unrolled loop in a loop", `
macro bump($v) { $v += 3; $v }
macro larger(x, y) { let $x = x; let $y = y; $x > $y ? $x : $y }
begin {
	let $b = "eight888";
	let $e = (int8)10;
	$f = 0;
	for ($g : 250..254) {
		$f = larger(1, $e);
		unroll (4) {
			if (bswap((uint16)$e)) { continue; }
			printf("%%[%.3s]%%%#09.4hhu [%s]\n", ($e ? ({ --$e; "sixteen sixteen." }) : $b), 0, 0);
			$h = $g < $e;
			print($h);
		}
		$h = strcontains($b, "");
		print($h);
	}
	@m1 = bump($f);
}`},
	{"branches that multiply",
		"begin { $x = 7; " + strings.Repeat("if ($x & 1) { $x = $x * 3 + 1; @odd++; } else { $x /= 2; } ",
			40) + " print($x); }"},
	{"branches that multiply in a loop",
		"begin { $x = 7; $n = 0; while ($n < 90) { $n++; " + strings.Repeat("if ($x & 1) { $x = $x * 3 + 1; "+
			"@odd++; } else { $x /= 2; } ", 12) + " } print($x); }"},
	{"ways out of a loop", `begin { $n = 0; for ($i : 0..1000) { for ($j : 0..10) { if ($j == 3) { continue; } if ($j == 6) { break; } $n += $j; if ($i == 4 && $j == 5) { print(($i, $j, $n)); } }
		if ($i & 1) { continue; } if ($i > 20) { break; } @m[$i] = $n; } print($n); while (1) { if ($n++ > 300) { return; } } print("never"); } end { print("end"); }`},
	{"ways out of an unrolled loop",
		`begin { $n = 0; unroll (9) { $n++; if ($n == 3) { continue; } if ($n == 7) { break; } print($n); } unroll ` +
			`(3) { while ($n < 20) { $n++; if ($n == 15) { return; } } print($n); } print("never"); }`},
	{"functions that return from loops", `fn locate($a: int64, $b: int64): int64 { for ($i : 0..20) { $j = 0; while ($j < 9) { if ($i * $j == $a) { return $i * 100 + $j; } $j++; if ($j == $b) { break; } } } return -1; }
		begin { for ($k : 0..9) { print(locate($k * 7, 8)); @m[$k] = locate($k, $k); } print(locate(997, 3)); }`},
	{"loops that fill strings and tuples", `begin { $s = "a"; $t = (1, "x", (2, "yy")); for ($i : 0..7) { $s = str_concat($s, "bc"); if (strcontains($s, "cbcb")) { $t = ($i, $s, ($t.0, $t.1)); } @k[$s, $i] = $t; }
		for ($kv : @k) { @n[$kv.0.1] = strlen($kv.1.1); for ($e : 0..3) { @sum = sum($kv.0.1 * $e); } if ($kv.0.1 == 99) { return; } } print($t); print(len(@n)); }`},
	{"loops one after the other", "macro twice(x) { x + x } fn steps($n: int16): uint8 { $i = 0; while ($i < 9) { " +
		"if ($i >= ($n & 3)) { return $i; } $i++; } return 200; }\nbegin { $n = 7; " + strings.Repeat("$n += "+
		"twice(twice(steps($n))); ", 3) + " print($n); }"},
	{"deep loops", `begin { for ($a : 0..3) { for ($b : 0..3) { for ($c : 0..3) { for ($d : 0..3) { for ($e : ` +
		`0..3) { $n = $a + $b * $c - $d ^ $e; @m[$n & 7]++; if ($n == 5) { break; } } if ($d == $b) { continue; } ` +
		`} } if ($a + $b > 3) { return; } } } print("never"); }`},
}

// TestBranchy runs the scripts in pieces on all kinds of kernels, and as hawk
// does on this one.
func TestBranchy(t *testing.T) {
	needKernel(t)
	for _, c := range branchy {
		t.Run(c.name, func(t *testing.T) {
			for _, features := range older {
				if v, text, _ := judgeAs(c.script, true, features); v != agree {
					t.Errorf("without %v: %s", features, text)
				}
			}
			if v, text := judge(c.script); v != agree {
				t.Error(text)
			}
		})
	}
}

// TestLongLoops reads a text in a loop of known length, in which each way leads to other numbers:
// the verifier is not to follow every combination of ways, nor to give up.
func TestLongLoops(t *testing.T) {
	needKernel(t)
	const script = `begin { $list = "10.0.0.0/8,192.168.1.7/32,x"; $a = 0; $n = 0; $parts = 0; $slash = 0; $odd = 0;
		for ($i : 0..256) {
			$c = (uint64)$list[$i & 31];
			if ($c >= 48 && $c <= 57) { $n = $n * 10 + $c - 48; continue; }
			if (!$slash) { $a = ($a << 8) + $n; $parts++; }
			if ($c == 47) { $slash = 1; } else if ($c != 46) {
				if ($parts > 4 || $n > 32 || ($c != 44 && $c != 0)) { $odd++; }
				@networks[$a] = ($n, $parts, $odd); $a = 0; $parts = 0; $slash = 0;
			}
			$n = 0;
			if ($c == 0) { break; }
		}
		print($odd); }`
	for _, features := range older {
		if v, text, gaveUp := judgeAs(script, false, features); v != agree || gaveUp {
			t.Errorf("without %v: the verifier gave up: %t: %s", features, gaveUp, text)
		}
	}
}

// TestLong compiles, in a row, more instructions than one function has room
// for.
func TestLong(t *testing.T) {
	needKernel(t)
	var script strings.Builder
	script.WriteString("begin {\n$x = 1; let $s: string[64] = \"abc\";\n")
	for i := range 450 {
		fmt.Fprintf(&script, "if ($x & %d) { @m%d[$x & 63, $s] = %d; $x += %d; printf(\"%%d %%s\\n\", $x, $s); } "+
			"else { $x ^= %d; }\n", i%7+1, i%5, i, i, i)
	}
	script.WriteString("print($x);\n}\n")
	if v, text := judge(script.String()); v != agree {
		t.Error(text)
	}
}

// TestManyProcessors reads aggregations again and again for a machine with room for many processors
// and without a loop budget, where the verifier walks through the cells of all of them.
func TestManyProcessors(t *testing.T) {
	needKernel(t)
	if lacks(host()).NoAggregation {
		t.Skip("programs cannot read other processors' values on this kernel")
	}
	var script strings.Builder
	script.WriteString("begin { @c = count(); @s = sum(3); @k[1] = count(); @k[-2] = count(); @k[-2] = count(); " +
		"@m[1] = max(-4); $n = 1; $sum = (int64)0;\n")
	for i := range 200 {
		fmt.Fprintf(&script, "if ($n %% %d != 1) { $sum += (int64)@c + (int64)@s + (int64)@k[%d - $n] + "+
			"(int64)@m[$n]; } else { $n++; $sum += (int64)@k[$n]; $n--; }\n", i%7+1, i%5-1)
	}
	script.WriteString("print($sum); }\n")
	target, ledger := host().ForOthers(arch.Native(), "")
	ledger.CPUs = 64
	o := probe.Options{Machine: target, NoFeature: map[string]bool{machine.MayGoto.Name: true}}
	res, v, text := compiled(script.String(), compile.Options{Probe: o, Verify: true})
	if res == nil {
		t.Fatal(v, text)
	}
	want, v, text := interpreted(res)
	if v != agree {
		t.Fatal(text)
	}
	variant, err := aot.NewVariant(res.Object, ledger)
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := (&aot.Payload{Arch: arch.Native().Name, NoFeature: o.NoFeature, Config: res.Config,
		Variants: []*aot.Variant{variant}}).Encode()
	if err != nil {
		t.Fatal(err)
	}
	payload, err := aot.Decode(encoded)
	if err != nil {
		t.Fatal(err)
	}
	program, ds := session.Bind(payload, &probe.Options{Machine: host()})
	if ds.HasErrors() {
		t.Fatal(ds.List())
	}
	if v, text, _ := judgeOutput(program, &probe.Options{Machine: host()}, want); v != agree {
		t.Error(text)
	}
}
