package interp_test

import (
	"bytes"
	"testing"

	"github.com/hawktrace/hawk/internal/compile"
	"github.com/hawktrace/hawk/internal/hawktest/interp"
	"github.com/hawktrace/hawk/internal/probe"
	"github.com/hawktrace/hawk/internal/source"
)

// edges are scripts with what they print, worked out by hand; "\n\n" and the
// maps are left out where there are none. TestEdges asks the interpreter,
// which needs no kernel, TestEdgesInKernel both roads.
var edges = []struct{ name, script, want string }{
	{"narrow increments", `begin { let $b: uint8 = 255; $b++; $c = (uint8)255; $c++; print(($b, $c)); }`,
		"(0, 256)\n\n\n"},
	{"narrow decrements", `begin { let $b: uint8 = 0; $b--; let $c: int8 = -128; print(--$c); print($b--); ` +
		`print($b); }`, "127\n255\n254\n\n\n"},
	{"casts extend by the sign of the source",
		`begin { print((uint16)(int8)-56); print((int64)(uint32)-1); $m = (int8)-1; print((uint64)$m); ` +
			`print((uint32)$m); print((int64)(uint16)$m); }`,
		"65480\n4294967295\n18446744073709551615\n4294967295\n65535\n\n\n"},
	{"subtraction is signed", `begin { $a = (uint64)3; $b = (uint64)5; print($a - $b); print(($a - $b) < 0); }`,
		"-2\ntrue\n\n\n"},
	{"signed division and shift", `begin { $a = -9; print(($a / 2, $a % 2, $a % -2, $a >> 1, $a / -2)); }`,
		"(-4, -1, -1, -5, 4)\n\n\n"},
	{"unsigned division and shift", `begin { $a = (uint64)-9; print(($a / 2, $a % 4, $a >> 60, $a / 3)); }`,
		"(9223372036854775803, 3, 15, 6148914691236517202)\n\n\n"},
	{"a signed operand makes division signed",
		`begin { $a = (uint64)-9; $b = (int8)2; print(($a / $b, $a % $b, $a >> $b)); $b = -2; print($a / $b); }`,
		"(-4, -1, 4611686018427387901)\n4\n\n\n"},
	{"division by zero", `begin { $z = 0; print((8 / $z, 8 % $z, -8 / $z)); let $u: uint8 = 0; $u /= $z; ` +
		`print($u); }`, "(1, 1, 1)\n1\n\n\n"},
	{"least number by -1", `begin { $a = -9223372036854775807 - $#; $a -= 1; $m = -1 - $#; print($a / $m); ` +
		`print($a % $m); print(-$a); print($a * $m); }`,
		"-9223372036854775808\n0\n-9223372036854775808\n-9223372036854775808\n\n\n"},
	{"shift counts modulo 64",
		`begin { $n = 64; $m = 65; $k = -1; print((1 << $n, 1 << $m, 8 >> $m, 1 << $k, -1 >> $k)); }`,
		"(1, 2, 4, -9223372036854775808, -1)\n\n\n"},
	{"wrap-around", `begin { $a = 9223372036854775807; $a++; print($a); $b = 18446744073709551615; print($b + 1); ` +
		`print($b * $b); $c = $a - 1; print($c); }`,
		"-9223372036854775808\n0\n1\n9223372036854775807\n\n\n"},
	{"comparison by the joined type", `begin { $u = (uint64)-1; $i = -1; $u32 = (uint32)-1; $i32 = (int32)-1; $s = (int8)-1; $u8 = (uint8)255;
		print(($u == $i, $u > $i, $u32 == $i32, $u32 > $i32, $s == $u8, $s < $u8, $u > 5, $u > -5)); }`,
		"(true, false, false, true, false, true, true, true)\n\n\n"},
	{"literals take the other side's sign",
		`begin { $u = (uint64)-1; print(($u > 0, $u / 2 > 7, 0 < $u, $u % 10)); print(($u > (int16)7, $u / ` +
			`(int16)7)); }`,
		"(true, true, true, 5)\n(false, 0)\n\n\n"},
	{"arithmetic of booleans",
		`begin { $t = 1 == 1; $f = 1 == 2; print(($t + $t, $t * $f, $t - $t, $t ^ $f, $f | $t, $t & $f, $t > $f)); ` +
			`print(($t + 1, $t << 3, -(int8)$t)); }`,
		"(true, false, false, true, true, false, true)\n(2, 8, -1)\n\n\n"},
	{"negation is of 64 bits, of unsigned operands of their width",
		`begin { let $a: uint8 = 5; let $b: int8 = -128; $c = (uint32)7; print((-$a, ~$a, -$b, ~$b, !$a, ~$c, ` +
			`~~$c)); }`,
		"(251, 250, 128, 127, false, 4294967288, 18446744069414584327)\n\n\n"},
	{"operators short-circuit",
		`begin { $n = 0; $x = 0 && $n++; $y = 1 || $n++; $z = $n++ || $n++; print(($x, $y, $z, $n)); print($n == 2 ` +
			`? $n++ : $n--); print($n); }`,
		"(false, true, true, 2)\n2\n3\n\n\n"},
	{"c ?: b evaluates c once", `begin { $n = 0; print($n++ ?: 7); print($n); print($n++ ?: 7); print($n); }`,
		"7\n1\n1\n2\n\n\n"},
	{"left to right", `begin { $i = 1; print(($i++, $i++, $i * 10, --$i)); print($i++ - $i); print($i + ({ $i = ` +
		`100; $i }) + $i); }`,
		"(1, 2, 30, 2)\n-1\n203\n\n\n"},
	{"the right side comes first",
		`begin { $i = 0; @m[$i++] = $i; $i = 5; @m[$i] = $i++; $j = 1; $j += $j++; print($j); }`,
		"2\n\n\n@m[0]: 0\n@m[6]: 5\n"},
	{"operands that change what the other one reads", `begin { $s = "one"; print($s == ({ $s = "two"; "one" })); $t = (1, "x"); print($t == ({ $t = (2, "y"); (1, "x") })); print(($s, $t));
		$t = ($t.0 + 1, "long enough to matter, really"); $t = ($t.0 * 2, $t.1); print($t); }`,
		"true\ntrue\n(two, (2, y))\n(6, long enough to matter, really)\n\n\n"},
	{"arguments that change what others read",
		`begin { $s = "one"; print(strncmp($s, ({ $s = "two"; "one" }), 3)); print(strncmp($s, ({ $s = "three"; ` +
			`"two" }), 3)); @k = "map"; print(@k == ({ @k = "x"; "map" })); printf("%s %s %s\n", $s, ({ $s = "4"; ` +
			`"in between" }), $s); }`,
		"0\n0\ntrue\nthree in between 4\n\n\n@k: x\n"},
	{"what a comparison evaluates",
		`begin { $b = "a string of more than thirty-two bytes" != ({ ++@m[""]; "abc" }); print($b); }`,
		"true\n\n\n@m[]: 1\n"},
	{"strings of different capacity", `begin { $s = "abc"; $t = "abc"; if ($s == "abc") { $t = "a longer string than that"; } print(($s == $t, $s != $t)); $t = $s; print($s == $t);
		print((strncmp($s, "abd", 2), strncmp($s, "abd", 3), strncmp($s, "abcdefgh", 3), strncmp($s, "abcdefgh", 4), strncmp("", "x", 0)));
		@k[$s] = 1; @k["another, longer key"] = 2; @k["abc"]++; }`,
		"(false, true)\ntrue\n(0, 1, 0, 1, 0)\n\n\n@k[abc]: 2\n@k[another, longer key]: 2\n"},
	{"a NUL ends a string", `begin { $s = "a\x00b"; print($s); print($s == "a"); $t = "a"; print($t == "a\x00c"); ` +
		`@k["a\x00b"] = 1; @k["a"] += 1; }`,
		"a\ntrue\ntrue\n\n\n@k[a]: 2\n"},
	{"bytes of strings", `begin { $s = "hello"; print(($s[0], $s[4], $s[5])); $i = (uint64)1; print($s[$i]); $x = ` +
		`"\xff"; print($x[0]); }`,
		"(104, 111, 0)\n101\n-1\n\n\n"},
	{"memcmp compares values",
		`begin { $n = (uint32)115; print((memcmp("seven", $n, 1), memcmp($n, "s", 2), memcmp("seven77", 1, 1), ` +
			`memcmp((int16)-1, (uint16)65535, 2), memcmp(1 == 1, 1 == 2, 1), memcmp((uint8[2])(uint16)5, 5, 2))); }`,
		"(0, 0, 114, 0, 1, 0)\n\n\n"},
	{"tuples join", `begin { $t = (1, "z", (true, 3)); $t = (300, "longer", (false, -1)); print($t); ` +
		`print(sizeof($t)); print($t.2.1); print($t == (300, "longer", (false, -1))); }`,
		"(300, longer, (false, -1))\n12\n-1\ntrue\n\n\n"},
	{"records by name", `begin { $r = (lo=1, hi="b"); $r = (hi="bb", lo=300); print($r.lo); print($r == (hi="bb", ` +
		`lo=300)); print($r); }`,
		"300\ntrue\n{ .lo = 300, .hi = bb }\n\n\n"},
	{"tuples as keys", `begin { @m[1, "a"] = 1; @m[(1, "a")]++; @m[(int64)-1, ""] = 5; $k = (1, "a"); @m[$k] += ` +
		`10; print(@m[1, "a"]); print(has_key(@m, (-1, ""))); print(delete(@m, (1, "a"))); ` +
		`print(delete(@m[1, "a"])); }`,
		"12\ntrue\ntrue\nfalse\n\n\n@m[-1, ]: 5\n"},
	{"absent elements", `begin { print((@i[1], @s["x"], @b[2], @t[3])); @i[0] = 5; @s[""] = "text"; @b[0] = true; ` +
		`@t[1] = (1, "z"); print(has_key(@i, 1)); @i[7]++; @i[8] -= 2; }`,
		"(0, , false, (0, ))\nfalse\n\n\n@b[0]: true\n@i[8]: -2\n@i[7]: 1\n@i[0]: 5\n@s[]: text\n@t[1]: (1, z)\n"},
	{"deleted elements are absent",
		`begin { @i[1] = 5; @i[2] = 6; delete(@i, 1); print((@i[1], has_key(@i, 1), has_key(@i, 2), delete(@i, ` +
			`1))); @i[1]++; print(@i[1]); @x = 3; print(delete(@x)); print(@x + 0); print(delete(@x)); @x++; }`,
		"(0, false, true, false)\n1\ntrue\n0\nfalse\n\n\n@i[1]: 1\n@i[2]: 6\n@x: 1\n"},
	{"keys of compound assignments are evaluated twice",
		`begin { $i = 0; @m[$i++] += 5; print($i); $j = 0; @n[$j++] *= 5; print($j); }`,
		"2\n2\n\n\n@m[1]: 5\n@n[1]: 0\n"},
	{"a map on both sides", `begin { @m += @m++; print(@m + 0); @m++; @m += @m++; print(@m + 0); }`,
		"0\n2\n\n\n@m: 2\n"},
	{"narrow maps", `begin { @a = (uint8)200; @a = (uint8)100; print(sizeof(@a)); @b[1] = (int8)-1; print(@b[1] == ` +
		`255); print(@b[2] - 1); @t = (uint16)65535; @t++; }`,
		"1\nfalse\n-1\n\n\n@a: 100\n@b[1]: -1\n@t: 65536\n"},
	{"aggregations", `begin { @c = count(); @c = count(); @s = sum(-4); @s = sum(1); @u = sum((uint64)-1); @u = sum((uint8)2); @lo = min(-3); @lo = min(4); @hi = max(-3); @hi = max(-7);
		@a = avg(-5); @a = avg(-2); @st = stats(7); @st = stats(-2); print((@c + 0, @s * 2, @u > 0, @lo, @hi, (int64)@a)); if (@s < 0) { print("negative"); } }`,
		"(2, -6, true, -3, -3, -3)\nnegative\n\n\n@a: -3\n@c: 2\n@hi: -3\n@lo: -3\n@s: -3\n@st: { .count = 2, " +
			".average = 2, .total = 5 }\n@u: 1\n"},
	{"extremes by sign", `begin { @a = max((uint64)-1); @a = max((uint64)5); @b = min((uint64)-1); @b = ` +
		`min((uint64)7); @c[1] = max(-1); @c[1] = max((int8)-128); @d[1] = min(5); print(@d[2] + 1); }`,
		"1\n\n\n@a: 18446744073709551615\n@b: 7\n@c[1]: -1\n@d[1]: 5\n"},
	{"loop variables", `begin { for ($i : 2..5) { if ($i == 3) { continue; } print($i); } for ($i : 0..3) { $i += ` +
		`10; print($i); } for ($i : 5..2) { print($i); } for ($i : -2..0) { print($i); } $n = 2; for ($i : 0..$n) ` +
		`{ $n = 100; print($n); } }`,
		"2\n4\n10\n11\n12\n-2\n-1\n100\n100\n\n\n"},
	{"ends of ranges join", `begin { for ($i : (uint8)254..(uint16)257) { print($i); } for ($i : (int8)126..128) { ` +
		`print($i); } }`, "254\n255\n256\n126\n127\n\n\n"},
	{"jumps", `begin { $n = 0; while (1) { $n++; if ($n == 3) { continue; } if ($n > 5) { break; } unroll (2) { if ($n == 2) { break; } @b++; } for ($j : 0..10) { if ($j > $n) { break; } @c++; } } print($n); if ($n) { return; } print("never"); }
		begin { print("next"); }`, "6\nnext\n\n\n@b: 6\n@c: 16\n"},
	{"variables of blocks", `begin { for ($i : 0..2) { let $x; print($x); $x = 5; } $k = 4; { $k += 1; let $l = 7; ` +
		`} $l = "text"; print(($k, $l)); let $z: string[5]; print($z); let $t; print($t); $t = (1, "x"); }`,
		"0\n0\n(5, text)\n\n(0, )\n\n\n"},
	{"blocks as values", `begin { $y = { let $u = 6; $u * 7 }; print($y); print(if ($y > 40) { "big" } else { ` +
		`"small" }); $z = { if ($y) { return; } 5 }; print($z); }`, "42\nbig\n\n\n"},
	{"printf", `begin { $v = (uint64)0x1122334455667788; printf("[%d] [%ld] [%u] [%x] [%lx]\n", $v, $v, $v, $v, $v); printf("%hhd %hd %u %lx %c%c|%5d|%-5d|%05d|%+d|%#x|%p\n", 200, 70000, (int8)-1, -1, 72, 105, 42, 42, -42, 42, 255, 0);
		printf("%s %s %s %s %10s|%-4s|%.2s|%d%%\n", 5, true, (1, "x"), "s", "right", "l", "cut", true); }`,
		"[1432778632] [1234605616436508552] [1432778632] [55667788] [1122334455667788]\n-56 4464 4294967295 " +
			"ffffffffffffffff Hi|   42|42   |-0042|+42|0xff|0\n5 true (1, x) s      right|l   |cu|1%\n\n\n"},
	{"arrays", `begin { $x = (uint8[4])(uint32)0x01020304; print($x); print($x[1]); print((uint32)$x); ` +
		`print(((int16[2])(int32)-2)[1]); print((uint8[8])(int8)-1); print((int8[2])(int16)0x4142); print($x == ` +
		`(uint8[4])(uint32)0x01020304); }`,
		"[4,3,2,1]\n3\n16909060\n-1\n[255,255,255,255,255,255,255,255]\n[66,65]\ntrue\n\n\n"},
	{"arrays of odd sizes", `begin { $n = -5; $t = ((uint8)1, (uint8[3])$n, (uint16[3])$n, (uint8[8])$n, ` +
		`(uint8)7); print($t); @m[$t] = $t; print(@m[$t].1); $u = ((uint8)1, (uint8[5])(int32)$n); print($u); ` +
		`clear(@m); }`,
		"(1, [251,255,255], [65531,65535,65535], [251,255,255,255,255,255,255,255], 7)\n[251,255,255]\n(1, " +
			"[251,255,255,255,255])\n\n\n"},
	{"blocks that end in aggregations",
		`begin { @c = count(); @c = count(); $v = { let $z = 1; @c }; print(($v, { @c }, -{ (@c) })); if ({ @c } > ` +
			`1) { @m[{ @c }] = if ($v) { @c } else { 7 }; } print({ let $z = 1; @c }); @a = avg({ @c }); }`,
		"(2, 2, 18446744073709551614)\n2\n\n\n@a: 2\n@c: 2\n@m[2]: 2\n"},
	{"pointers", `begin { $p = (int32 *)1000; print($p + 3); print($p - 1); $p++; print($p); print($p > (int32 ` +
		`*)1000); print($p == 1004); print((uint64)($p + 1)); $q = (int8 *)0; print(!$q); print($q); }`,
		"0x3f4\n0x3e4\n0x3ec\ntrue\ntrue\n1008\ntrue\n0x0\n\n\n"},
	{"predicates and exit", `begin / 0 / { print("no"); } begin /7 / 2 == 3/ { print("yes"); exit(); print("no"); ` +
		`} begin { print("no"); } end { print("end"); }`, "yes\nend\n\n\n"},
	{"joined maps of booleans", `begin { @b = 1 == 1; @b = false; @n[1] = 5; @n[2] = 1 == 1; @q = sum(1 == 2); }`,
		"\n\n@b: false\n@n[2]: 1\n@n[1]: 5\n@q: 0\n"},
	{"histograms", `begin { @h = hist(-1); @h = hist(0); @h = hist(1); @h = hist(3); @l = lhist(3, 0, 10, 5); @l = ` +
		`lhist(10, 0, 10, 5); @l = lhist(-1, 0, 10, 5); delete(@h); @h = hist((uint64)1); }`,
		"\n\n@h:\n[1]                    1 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@|\n\n@l:\n(..., " +
			"0)               1 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@|\n[0, 5)                 1 " +
			"|@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@|\n[5, 10)                0 " +
			"|                                                    |\n[10, ...)              1 " +
			"|@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@|\n\n"},
	{"large histograms can be deleted",
		`begin { @h = hist(32767, 5); delete(@h); @h = hist(4, 5); @l = lhist(5, 100, 1000, 1); print(delete(@l)); }`,
		"true\n\n\n@h:\n[4]                    1 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@|\n\n"},
	{"strings without room", `begin { $e = ""; $s = str_concat($e, "a string of more than thirty-two bytes"); ` +
		`print((strlen($e), $s, str_concat($e, $e))); print(({ $e = ""; $e }) == str_concat($e, "")); }`,
		"(0, a string of more than thirty-two bytes, )\ntrue\n\n\n"},
	{"strings that grow", `begin { $s = "a"; for ($i : 0..3) { $s = str_concat($s, "bc"); } print($s); $t = ` +
		`str_concat(str_concat($s, ""), $s); print(($t, strlen($t), $t == "abcbcbcabcbcbc")); @k[$t] = 1; ` +
		`@k["abcbcbcabcbcbc"]++; }`,
		"abcbcbc\n(abcbcbcabcbcbc, 14, true)\n\n\n@k[abcbcbcabcbcbc]: 2\n"},
	{"addresses on the stack of a callback",
		`begin { @m["seven77"] = 1; $b = ("seven77", 0, true); $i = 0; while ($i < 2) { $i++; $b = ($b.0, $i, ` +
			`false); @n[str_concat($b.0, "xy"), 0] += $i; } for ($kv : @m) { @o[str_concat($kv.0, "\xff"), ` +
			`1] = $b; } }`,
		"\n\n@m[seven77]: 1\n@n[seven77xy, 0]: 3\n@o[seven77\xff, 1]: (seven77, 2, false)\n"},
	{"values of more than a page",
		`begin { $s = "abc"; $s = str_concat($s, "de"); $t = ($s, ($s, $s), 7); $t = ($t.0, ($t.1.0, "last"), 8); ` +
			`@t = $t; @k[$t.2] = ($t, $s); print(@t.1); print($t == @t); print(@k[8].0.1.1); for ($kv : @k) { @l = ` +
			`$kv.1; } if (@k[7].0.2) { print("never"); } }`,
		"(abcde, last)\ntrue\nlast\n\n\n@k[8]: ((abcde, (abcde, last), 8), abcde)\n@l: ((abcde, (abcde, last), 8), " +
			"abcde)\n@t: (abcde, (abcde, last), 8)\n"},
	{"the length of a map decides",
		`begin { @m[1] = 1; @m[2] = 1; if (len(@m) > 1) { print(len(@m)); } delete(@m, 1); print(len(@m) ?: 7); ` +
			`@n["x"]++; delete(@n, "x"); print(len(@n) == 0); }`, "2\n1\ntrue\n\n\n@m[2]: 1\n"},
	{"loops over maps", `begin { @m[1] = 5; @m[2] = 6; @m[3] = 7; $n = 0; $sum = 0; for ($kv : @m) { $n++; if ` +
		`($kv.0 == 2) { delete(@m, 2); continue; } $sum += $kv.1; @copy[$kv.0, $kv.1] = $kv; } print(($n, $sum)); ` +
		`@c["a"] = count(); @c["a"] = count(); for ($kv : @c) { @d[$kv.0] = $kv.1; } for ($kv : @m) { if ($n++ > ` +
		`0) { break; } } for ($kv : @m) { if ($kv.1) { return; } } print("never"); }`,
		"(3, 12)\n\n\n@c[a]: 2\n@copy[1, 5]: (1, 5)\n@copy[3, 7]: (3, 7)\n@d[a]: 2\n@m[1]: 5\n@m[3]: 7\n"},
	{"loops whose variables tests make known",
		`begin { @n = 9; $a = 0xffffffff; for ($h : 0..($a & 3)) { $i = 0; while ($i < 2) { $i++; print(--$h ?: ` +
			`$i); } } for ($i : 0..@n) { if ($i == 3) { print("three"); } } $x = -7; while ($x) { if ($x == -4) { ` +
			`print("x"); } $x++; } }`,
		"-1\n-2\n1\n-1\n1\n2\nthree\nx\n\n\n@n: 9\n"},
}

func TestEdges(t *testing.T) {
	o := compile.Options{Probe: probe.Options{Machine: host()}}
	for _, e := range edges {
		t.Run(e.name, func(t *testing.T) {
			res, ds := compile.Compile(source.NewFile("stdin", e.script), o)
			if res == nil {
				var b bytes.Buffer
				ds.Print(&b, source.PrintOptions{NoWarnings: true})
				t.Fatal(b.String())
			}
			got, err := interp.Run(res.Checked)
			if err != nil {
				t.Fatal(err)
			}
			if got != e.want {
				t.Errorf("the interpreter says:\n%s\nright is:\n%s", got, e.want)
			}
		})
	}
}

func TestEdgesInKernel(t *testing.T) {
	needKernel(t)
	for _, e := range edges {
		t.Run(e.name, func(t *testing.T) {
			for _, features := range older {
				for _, pieces := range []bool{false, true} {
					if v, text, _ := judgeAs(e.script, pieces, features); v != agree {
						t.Errorf("without %v, pieces %v: %s", features, pieces, text)
					}
				}
			}
		})
	}
}
