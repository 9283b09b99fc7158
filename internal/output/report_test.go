package output

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"
)

var longName = strings.Repeat("n", 45)

func TestReports(t *testing.T) {
	ok := TestDone{"ok", true, 1234 * time.Microsecond, []byte("quiet\n")}
	bad := TestDone{"bad", false, 42 * time.Second, []byte("seen\n\nand \xff\n")}
	quick := TestDone{"quick", true, 900, nil}
	for _, c := range []struct {
		item       Item
		text, json string
	}{
		{Tests{1}, "[==========] Running 1 test.\n", ""},
		{Tests{2}, "[==========] Running 2 tests.\n", ""},
		{Test{"ok"}, "[ RUN      ] ok\n", ""},
		{ok, "[       OK ] ok (1234 μs)\n", ""},
		{quick, "[       OK ] quick (900 ns)\n", ""},
		{bad, "seen\nand \xff\n[  FAILED  ] bad (42 s)\n", ""},
		{TestsDone{[]TestDone{ok, bad}}, "[==========] 2 tests ran.\n[  PASSED  ] 1 test.\n[  FAILED  ] 1 test, " +
			"listed below:\n[  FAILED  ] bad\n",
			`{"type": "test_result", "data": {"ok": {"duration": 1234000, "passed": true, "output": "quiet\n"}, ` +
				`"bad": {"duration": 42000000000, "passed": false, "output": "seen\n\nand \u00ff\n"}}}` + "\n"},
		{TestsDone{[]TestDone{ok}}, "[==========] 1 test ran.\n[  PASSED  ] 1 test.\n",
			`{"type": "test_result", "data": {"ok": {"duration": 1234000, "passed": true, "output": ` +
				`"quiet\n"}}}` + "\n"},
		{TestsDone{}, "[==========] 0 tests ran.\n[  PASSED  ] 0 tests.\n",
			`{"type": "test_result", "data": {}}` + "\n"},
		{Benches{3}, "Benchmark                                Time(ns)       " +
			"Iterations\n------------------------------------------------------------------\n", ""},
		{Bench{"inc", 3, 54, 20000}, "inc                                      54             20000\n",
			`{"type": "benchmark_result", "data": {"inc": {"average": 54, "iters": 20000}}}` + "\n"},
		{Benches{45}, "Benchmark                                     Time(ns)       Iterations\n" +
			strings.Repeat("-", 71) + "\n", ""},
		{Bench{longName, 45, 54, 20000}, longName + " 54             20000\n",
			`{"type": "benchmark_result", "data": {"` + longName + `": {"average": 54, "iters": 20000}}}` + "\n"},
	} {
		var out, j, stderr bytes.Buffer
		text, js := NewText(&out, &stderr, Options{}), NewJSON(&j, &stderr, Options{})
		for _, s := range []Sink{text, js} {
			if err := errors.Join(s.Write(c.item), s.Flush()); err != nil {
				t.Fatal(err)
			}
		}
		if out.String() != c.text || j.String() != c.json || stderr.Len() > 0 {
			t.Errorf("%#v: text\n%swant\n%sJSON %s\nwant %s", c.item, &out, c.text, &j, c.json)
		}
		if j.Len() > 0 && !json.Valid(j.Bytes()) {
			t.Errorf("%s is no JSON", &j)
		}
	}
	var out bytes.Buffer
	s := NewText(&out, &out, Options{Color: true})
	s.Write(bad)
	s.Flush()
	if want := "seen\nand \xff\n\x1b[31m[  FAILED  ]\x1b[0m bad (42 s)\n"; out.String() != want {
		t.Errorf("in colour: %q, want %q", &out, want)
	}
}
