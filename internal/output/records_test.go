package output

import (
	"github.com/hawktrace/hawk/internal/source"
	"github.com/hawktrace/hawk/internal/value"
)

// records are the items of the specification's samples: what a text sink
// writes to its output and to standard error, and what a JSON sink writes.
var records = []struct {
	name           string
	item           Item
	out, err, json string
}{
	{"printf", &Printf{Text: []byte("hi 5\n")}, "hi 5\n", "", `{"type": "printf", "data": "hi 5\n"}` + "\n"},
	{"print", Print{Value: value.Tuple{value.Int(1), value.Str("x"),
		value.Tuple{value.Int(2), value.Int(3)}}}, "(1, x, (2, 3))\n", "",
		`{"type": "value", "data": [1,"x",[2,3]]}` + "\n"},
	{"stack", Print{Value: stack("f", 1)}, "\n        f+1\n\n", "",
		`{"type": "value", "data": "\n        f+1\n"}` + "\n"},
	{"time", Raw{Type: "time", Text: []byte("2026\n")}, "2026\n", "", `{"type": "time", "data": "2026\n"}` + "\n"},
	{"join", Raw{Type: "join", Text: []byte("/bin/true a"), Line: true}, "/bin/true a\n", "",
		`{"type": "join", "data": "/bin/true a"}` + "\n"},
	{"attached", Attached{1}, "", "Attached 1 probe\n",
		`{"type": "attached_probes", "count": 1, "data": {"probes": 1}}` + "\n"},
	{"attached 3", Attached{3}, "", "Attached 3 probes\n",
		`{"type": "attached_probes", "count": 3, "data": {"probes": 3}}` + "\n"},
	{"lost", Lost{8}, "", "Lost 8 events\n", `{"type": "lost_events", "count": 8, "data": {"events": 8}}` + "\n"},
	{"skipped", Skipped{8}, "", "WARNING: Total skipped event count: 8. " +
		"The kernel did not run the probe for these: its program was running on that CPU, " +
		"or too many calls were waiting for their return. No filter was asked.\n",
		`{"type": "skipped_events", "count": 8, "data": {"events": 8}}` + "\n"},
	{"errorf", Message{source.Error, span(8, 14), "bad 4"}, "", "stdin:1:9-15: ERROR: bad 4\n",
		`{"type": "errorf", "msg": "bad 4", "filename": "stdin", "line": 1, "col": 9}` + "\n"},
	{"warnf", Message{source.Warning, span(8, 14), "hmm"}, "", "stdin:1:9-15: WARNING: hmm\n",
		`{"type": "warnf", "msg": "hmm", "filename": "stdin", "line": 1, "col": 9}` + "\n"},
	{"errorf in a macro", Message{source.Error, expanded(8, 14, 16, 27), "bad 4"}, "", `stdin:1:9-15: ERROR: bad 4
stdin:1:17-28: ERROR: expanded from
begin { $z = 0; $a = 5 / $z; print($a); }
                ~~~~~~~~~~~
`, `{"type": "errorf", "msg": "bad 4", "filename": "stdin", "line": 1, "col": 9}` + "\n"},
	{"helper error", HelperError{span(21, 27), "Bad address", "probe_read_user", -14, 1, false}, "", `stdin:1:22-28: WARNING: Bad address
Additional Info - helper: probe_read_user, retcode: -14
begin { $z = 0; $a = 5 / $z; print($a); }
                     ~~~~~~
`, `{"type": "helper_error", "msg": "Bad address", "helper": "probe_read_user", "retcode": -14, "filename": "stdin", "line": 1, "col": 22}` + "\n"},
	{"runtime error", RuntimeError{span(21, 27), "Divide or modulo by 0 detected.", 12}, "", `stdin:1:22-28: WARNING: Divide or modulo by 0 detected. (12 times)
begin { $z = 0; $a = 5 / $z; print($a); }
                     ~~~~~~
`, `{"type": "runtime_error", "msg": "Divide or modulo by 0 detected.", "filename": "stdin", "line": 1, "col": 22, "times": 12}` + "\n"},
	{"end", End{}, "\n\n", "", ""},

	{"scalar", scalar("@m", value.Int(4)), "@m: 4\n", "", `{"type": "map", "data": {"@m": 4}}` + "\n"},
	{"unnamed", scalar("@", value.Int(3)), "@: 3\n", "", `{"type": "map", "data": {"@": 3}}` + "\n"},
	{"tuple keys", keyed("@k", value.Tuple{value.Str("b"), value.Int(2)}, value.Int(5),
		value.Tuple{value.Str("a"), value.Int(1)}, value.Int(2)),
		"@k[a, 1]: 2\n@k[b, 2]: 5\n", "", `{"type": "map", "data": {"@k": {"a,1": 2, "b,2": 5}}}` + "\n"},
	{"nested tuple key", keyed("@km",
		value.Tuple{value.Int(1), value.Str("q"), value.Tuple{value.Int(3), value.Int(4)}}, value.Int(7)),
		"@km[1, q, (3, 4)]: 7\n", "", `{"type": "map", "data": {"@km": {"1,q,(3,4)": 7}}}` + "\n"},
	{"parentheses in a string", keyed("@k", value.Str("(p)"), value.Int(1)), "@k[(p)]: 1\n", "",
		`{"type": "map", "data": {"@k": {"(p)": 1}}}` + "\n"},
	{"record key", keyed("@r", value.Record{Names: []string{"a", "b"}, Values: ints(1, 2)},
		value.Int(1)), "@r[{ .a = 1, .b = 2 }]: 1\n", "",
		`{"type": "map", "data": {"@r": {"{.a=1,.b=2}": 1}}}` + "\n"},
	{"stack key", keyed("@st", stack("other", 0), value.Int(2)), "@st[\n        other+0\n]: 2\n", "",
		`{"type": "map", "data": {"@st": {"\nother+0\n": 2}}}` + "\n"},
	{"stack value", keyed("@k", value.Int(1), stack("f", 0)), "@k[1]: \n        f+0\n\n", "",
		`{"type": "map", "data": {"@k": {"1": "\n        f+0\n"}}}` + "\n"},
	{"empty", Map{Name: "@e", Keyed: true}, "", "", ""},
	{"stats", scalar("@st", value.Stats{Total: 11, Count: 2, Signed: true}),
		"@st: { .count = 2, .average = 5, .total = 11 }\n", "",
		`{"type": "stats", "data": {"@st": {"count": 2, "average": 5, "total": 11}}}` + "\n"},
	{"avg", scalar("@a", value.Avg{Total: 15, Count: 2, Signed: true}), "@a: 7\n", "",
		`{"type": "stats", "data": {"@a": 7}}` + "\n"},

	{"by value", keyed("@n", ints(1, 10, 2, 30, 3, 20)...), "@n[1]: 10\n@n[3]: 20\n@n[2]: 30\n", "",
		`{"type": "map", "data": {"@n": {"1": 10, "3": 20, "2": 30}}}` + "\n"},
	{"ties by key", keyed("@n", ints(9, 1, -1, 1, 3, 0)...), "@n[3]: 0\n@n[-1]: 1\n@n[9]: 1\n", "",
		`{"type": "map", "data": {"@n": {"3": 0, "-1": 1, "9": 1}}}` + "\n"},
	{"signed", keyed("@m", ints(1, -5, 2, 3, 3, -7)...), "@m[3]: -7\n@m[1]: -5\n@m[2]: 3\n", "",
		`{"type": "map", "data": {"@m": {"3": -7, "1": -5, "2": 3}}}` + "\n"},
	{"unsigned", keyed("@m", value.Int(1), value.Uint(1<<63), value.Int(2), value.Uint(3)),
		"@m[2]: 3\n@m[1]: 9223372036854775808\n", "",
		`{"type": "map", "data": {"@m": {"2": 3, "1": 9223372036854775808}}}` + "\n"},
	{"by average", keyed("@m", value.Int(1), value.Avg{Total: 9, Count: 1, Signed: true}, value.Int(2),
		value.Avg{Total: 10, Count: 5, Signed: true}),
		"@m[2]: 2\n@m[1]: 9\n", "", `{"type": "stats", "data": {"@m": {"2": 2, "1": 9}}}` + "\n"},
	{"strings by key", keyed("@m", value.Str("b"), value.Str("1"), value.Str("a"), value.Str("2")),
		"@m[a]: 2\n@m[b]: 1\n", "",
		`{"type": "map", "data": {"@m": {"a": "2", "b": "1"}}}` + "\n"},
	{"top", with(keyed("@n", ints(1, 10, 2, 30, 3, 20)...), 2, 1), "@n[3]: 20\n@n[2]: 30\n", "",
		`{"type": "map", "data": {"@n": {"3": 20, "2": 30}}}` + "\n"},
	{"top and div", with(keyed("@n", ints(1, 10, 2, 30, 3, 20)...), 2, 10), "@n[3]: 2\n@n[2]: 3\n", "",
		`{"type": "map", "data": {"@n": {"3": 2, "2": 3}}}` + "\n"},
	{"div", with(keyed("@n", ints(1, 10, 2, 30, 3, 20)...), 0, 3), "@n[1]: 3\n@n[3]: 6\n@n[2]: 10\n",
		"", `{"type": "map", "data": {"@n": {"1": 3, "3": 6, "2": 10}}}` + "\n"},
	{"div truncates", with(scalar("@n", value.Int(-7)), 5, 2), "@n: -3\n", "",
		`{"type": "map", "data": {"@n": -3}}` + "\n"},
	{"stats ignore both", with(keyed("@s", value.Int(1), value.Stats{Total: 8, Count: 2}, value.Int(2),
		value.Stats{Total: 2, Count: 2}), 1, 2),
		"@s[2]: { .count = 2, .average = 1, .total = 2 }\n@s[1]: { .count = 2, .average = 4, .total = 8 }\n", "",
		`{"type": "stats", "data": {"@s": {"2": {"count": 2, "average": 1, "total": 2}, "1": {"count": ` +
			`2, "average": 4, "total": 8}}}}` + "\n"},

	{"hist", scalar("@h", hist(0, map[int]uint64{0: 1, 1: 1, 2: 1, 3: 2, 4: 1, 6: 1})), `@h:
(..., 0)               1 |@@@@@@@@@@@@@@@@@@@@@@@@@@                          |
[0]                    1 |@@@@@@@@@@@@@@@@@@@@@@@@@@                          |
[1]                    1 |@@@@@@@@@@@@@@@@@@@@@@@@@@                          |
[2, 4)                 2 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@|
[4, 8)                 1 |@@@@@@@@@@@@@@@@@@@@@@@@@@                          |
[8, 16)                0 |                                                    |
[16, 32)               1 |@@@@@@@@@@@@@@@@@@@@@@@@@@                          |

`, "", `{"type": "hist", "data": {"@h": [{"max": -1, "count": 1},{"min": 0, "max": 0, "count": 1},{"min": 1, "max": 1, "count": 1},{"min": 2, "max": 3, "count": 2},{"min": 4, "max": 7, "count": 1},{"min": 8, "max": 15, "count": 0},{"min": 16, "max": 31, "count": 1}]}}` + "\n"},
	{"lhist", scalar("@l", lhist(0, 100, 10, 1, 2, 1, 0, 0, 0, 0, 0, 0, 0, 1, 3)), `@l:
(..., 0)               1 |@@@@@@@@@@@@@@@@@                                   |
[0, 10)                2 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@                  |
[10, 20)               1 |@@@@@@@@@@@@@@@@@                                   |
[20, 30)               0 |                                                    |
[30, 40)               0 |                                                    |
[40, 50)               0 |                                                    |
[50, 60)               0 |                                                    |
[60, 70)               0 |                                                    |
[70, 80)               0 |                                                    |
[80, 90)               0 |                                                    |
[90, 100)              1 |@@@@@@@@@@@@@@@@@                                   |
[100, ...)             3 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@|

`, "", `{"type": "hist", "data": {"@l": [{"max": -1, "count": 1},{"min": 0, "max": 9, "count": 2},{"min": 10, "max": 19, "count": 1},{"min": 20, "max": 29, "count": 0},{"min": 30, "max": 39, "count": 0},{"min": 40, "max": 49, "count": 0},{"min": 50, "max": 59, "count": 0},{"min": 60, "max": 69, "count": 0},{"min": 70, "max": 79, "count": 0},{"min": 80, "max": 89, "count": 0},{"min": 90, "max": 99, "count": 1},{"min": 100, "count": 3}]}}` + "\n"},
	{"small bar", scalar("@h", hist(0, map[int]uint64{7: 60, 8: 1})), `@h:
[32, 64)              60 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@|
[64, 128)              1 |                                                    |

`, "", `{"type": "hist", "data": {"@h": [{"min": 32, "max": 63, "count": 60},{"min": 64, "max": 127, "count": 1}]}}` + "\n"},
	{"wide row", scalar("@h", hist(0, map[int]uint64{65: 1 << 62})), `@h:
[8E, 16E)       4611686018427387904 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@|

`, "", `{"type": "hist", "data": {"@h": [{"min": 9223372036854775808, "max": "18446744073709551615", "count": 4611686018427387904}]}}` + "\n"},
	{"keyed hist by total", keyed("@h", value.Tuple{value.Str("k"), value.Int(1)},
		hist(0, map[int]uint64{4: 2}), value.Tuple{value.Str("j"), value.Int(2)}, hist(0, map[int]uint64{5: 1})),
		`@h[j, 2]:
[8, 16)                1 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@|

@h[k, 1]:
[4, 8)                 2 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@|

`, "", `{"type": "hist", "data": {"@h": {"j,2": [{"min": 8, "max": 15, "count": 1}], "k,1": [{"min": 4, "max": 7, "count": 2}]}}}` + "\n"},
	{"zeroed hist", scalar("@h", hist(0, nil)), "@h:\n\n", "", `{"type": "hist", "data": {"@h": []}}` + "\n"},
	{"div inside", with(scalar("@t",
		value.Tuple{value.Int(-7), value.Str("s"), value.Bool(true), value.Array{value.Uint(9)},
			value.Record{Names: []string{"a", "b"},
				Values: []value.Value{value.Tuple{value.Int(8)}, value.Pointer(8)}}}), 0, 2),
		"@t: (-3, s, true, [4], { .a = (4), .b = 0x8 })\n", "",
		`{"type": "map", "data": {"@t": [-3,"s",true,[4],{"a": [4], "b": 8}]}}` + "\n"},
	{"hist div", with(scalar("@h", hist(0, map[int]uint64{4: 9})), 0, 4),
		"@h:\n[4, 8)                 2 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@|\n\n", "",
		`{"type": "hist", "data": {"@h": [{"min": 4, "max": 7, "count": 2}]}}` + "\n"},
	{"hist div to nothing", with(scalar("@h", hist(0, map[int]uint64{4: 3, 5: 8})), 0, 4), "@h:\n" +
		"[4, 8)                 0 |                                                    |\n" +
		"[8, 16)                2 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@|\n\n", "",
		`{"type": "hist", "data": {"@h": [{"min": 4, "max": 7, "count": 0},{"min": 8, "max": 15, ` +
			`"count": 2}]}}` + "\n"},
	{"lhist ignores div", with(scalar("@h", lhist(0, 2, 1, 0, 9, 0, 0)), 0, 4),
		"@h:\n[0]                    9 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@|\n\n", "",
		`{"type": "hist", "data": {"@h": [{"min": 0, "max": 0, "count": 9}]}}` + "\n"},

	{"series", scalar("@a", value.Series{Interval: 1e9, Count: 4, Signed: true,
		Points: points(0, 99, 1, 3, 2, 7, 4, 9)}),
		`@a:
         3                                                   9
hh:mm:ss |___________________________________________________|
00:00:01 *                                                   | 3
00:00:02 |                                 *                 | 7
00:00:03 |                                                   | -
00:00:04 |                                                   * 9
         v___________________________________________________v
         3                                                   9

`, "", `{"type": "tseries", "data": {"@a": [{"interval_start":"1970-01-01 00:00:01.000000000","value":3},{"interval_start":"1970-01-01 00:00:02.000000000","value":7},{"interval_start":"1970-01-01 00:00:04.000000000","value":9}]}}` + "\n"},
	{"series across zero", keyed("@a", value.Str("x"),
		value.Series{Interval: 10_000, Count: 9, Signed: true, Points: points(100_000, -3, 100_001, 14)}),
		`@a[x]:
                -3                                                 14
hh:mm:ss.μs     |___________________________________________________|
00:00:01.000000 *        .                                          | -3
00:00:01.000010 |        .                                          * 14
                v___________________________________________________v
                -3                                                 14

`, "", `{"type": "tseries", "data": {"@a": {"x": [{"interval_start":"1970-01-01 00:00:01.000000000","value":-3},{"interval_start":"1970-01-01 00:00:01.000010000","value":14}]}}}` + "\n"},
	{"series of one", scalar("@ts", value.Series{Interval: 1e8, Count: 5, Points: points(6, 7)}),
		`@ts:
                   6                                                   8
hh:mm:ss.ns        |___________________________________________________|
00:00:00.600000000 |                         *                         | 7
                   v___________________________________________________v
                   6                                                   8

`, "", `{"type": "tseries", "data": {"@ts": [{"interval_start":"1970-01-01 00:00:00.600000000","value":7}]}}` + "\n"},
	{"series without data", scalar("@ts", value.Series{Interval: 1, Count: 5}), "@ts:\n<no data>\n\n",
		"", `{"type": "tseries", "data": {"@ts": []}}` + "\n"},
}
