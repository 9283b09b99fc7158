package view

import (
	"math"
	"slices"
	"testing"

	"github.com/hawktrace/hawk/internal/source"
)

func TestRefused(t *testing.T) {
	for want, r := range map[string]Refused{
		"": {Held: 3, Capacity: 4},
		"full: 4,096 of 4,096, 88 updates refused": {Updates: 88, Full: true, Held: 4096, Capacity: 4096},
		"was full: 10 of 4,096, 1 update refused":  {Updates: 1, Full: true, Held: 10, Capacity: 4096},
		"1,000 updates refused":                    {Updates: 1000, Held: 10, Capacity: 4096},
	} {
		if got := r.String(); got != want {
			t.Errorf("%+v: %q, want %q", r, got, want)
		}
	}
}

func TestKeyNames(t *testing.T) {
	for _, c := range []struct{ names, want []string }{
		{[]string{""}, []string{"key"}},
		{[]string{"", ""}, []string{"key0", "key1"}},
		{[]string{"pid", "", "pid", "pid"}, []string{"pid", "key1", "pid_2", "pid_3"}},
		{[]string{"pid_2", "pid", "pid"}, []string{"pid_2", "pid", "pid_3"}},
		{[]string{"key1", ""}, []string{"key1", "key1_2"}},
		{[]string{"le", "a-b", "9x", "__y", "größe"}, []string{"le_", "a_b", "_9x", "__y_", "gr__e"}},
		{nil, []string{}},
	} {
		if got := KeyNames(c.names); !slices.Equal(got, c.want) {
			t.Errorf("%q: %q, want %q", c.names, got, c.want)
		}
	}
}

func TestUnitOfName(t *testing.T) {
	for name, want := range map[string]Unit{
		"@usecs": Microseconds, "@ms": Milliseconds, "@total_bytes": Bytes, "@readBytes": Bytes, "@readKB": KiB,
		"@USECS": Microseconds, "@secs_of": NoUnit, "@": NoUnit, "@reads": NoUnit, "@aboutMs": Milliseconds,
		"@x_": NoUnit,
	} {
		if got := UnitOfName(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	for unit, words := range units {
		for _, word := range words {
			if UnitNamed(word) != Unit(unit) {
				t.Errorf("%s is %q, want %q", word, UnitNamed(word), Unit(unit))
			}
		}
	}
}

func TestIdentifies(t *testing.T) {
	for _, name := range []string{"pid", "PID", "@last_pid", "parentTid", "FD"} {
		if !Identifies(name) {
			t.Errorf("%s does not identify", name)
		}
	}
	for _, name := range []string{"", "@", "bytes", "pids", "rapid", "@pid_count"} {
		if Identifies(name) {
			t.Errorf("%s identifies", name)
		}
	}
}

func FuzzAnnotation(f *testing.F) {
	f.Add(`// hawk: @x unit=us help="a \"b\" c" show`)
	f.Add("// include: @a, b")
	f.Add(`// hawk: "`)
	f.Fuzz(func(t *testing.T, text string) {
		at := source.Span{Start: 10, End: 10 + len(text)}
		list, ok := ParseAnnotation(text, at)
		if ok != (len(list) > 0) {
			t.Errorf("%q: %d annotations, %v", text, len(list), ok)
		}
		for _, a := range list {
			for _, w := range a.Words {
				if w.At.Start < at.Start || w.At.End > at.End || w.At.Start > w.At.End {
					t.Errorf("%q: %s is at %d to %d", text, w.Key, w.At.Start, w.At.End)
				}
			}
		}
	})
}

func TestGrouped(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567", 100000: "100,000",
		-1: "-1", -999: "-999", -1000: "-1,000", math.MinInt64: "-9,223,372,036,854,775,808"} {
		if got := Grouped(n); got != want {
			t.Errorf("%d is %s, want %s", n, got, want)
		}
	}
	if got := Grouped(uint64(math.MaxUint64)); got != "18,446,744,073,709,551,615" {
		t.Error(got)
	}
}

// TestUnqualified shortens names by the path in front of them, and by nothing else.
func TestUnqualified(t *testing.T) {
	for name, want := range map[string]string{
		"github.com/a/b.(*T).F": "b.(*T).F", "main.Map[go/x.T].Each": "main.Map[go/x.T].Each", "read": "read",
		"a/b.Of[c/d.T]": "b.Of[c/d.T]", "/usr/lib/x.so+0x12": "x.so+0x12", "std::map<a/b>::at": "std::map<a/b>::at",
		"operator/(a)": "operator/(a)", "": "",
	} {
		if got := Unqualified(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}
