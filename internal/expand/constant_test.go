package expand

import (
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/hawktrace/hawk/internal/config"
	"github.com/hawktrace/hawk/internal/probe"
	"github.com/hawktrace/hawk/internal/source"
	"github.com/hawktrace/hawk/internal/syntax"
)

// early expands a script whose options were given values, and lists the points of its
// probes with a mark for those that kept a predicate.
func early(t *testing.T, text string, named config.Named) string {
	t.Helper()
	tree, ds := syntax.Parse(source.NewFile("in.bt", text))
	if ds.HasErrors() {
		t.Fatalf("%s: does not parse: %s", text, ds.List()[0].Msg)
	}
	command := false
	s, ds := Expand(tree, Options{Probe: probe.Options{Machine: recorded(t), Named: named, Command: &command}})
	var out []string
	for _, d := range ds.List() {
		out = append(out, string(d.Code)+": "+d.Msg)
	}
	for _, p := range s.Probes {
		mark := ""
		if p.Tree.Predicate != nil {
			mark = "?"
		}
		for _, a := range p.Attach {
			for _, pt := range a.Points {
				out = append(out, pt.Name()+mark)
			}
		}
	}
	for _, m := range s.Maps {
		out = append(out, "@"+m.Map.Name+" "+m.Entries.(*syntax.IntLit).Text)
	}
	return strings.Join(out, ", ")
}

func TestDecided(t *testing.T) {
	const every = "interval:ms:5 "
	none := config.Named{}
	x := config.Named{"x": {Text: "true", Bare: true}}
	for _, c := range []struct {
		text  string
		named config.Named
		want  string
	}{
		{`t:no:such / getopt("x") / {}`, none, ""},
		{`t:no:such / getopt("x") / {}`, x, "missing-probe: No matches for tracepoint no:such."},
		{every + `/ getopt("x") / {}`, x, "interval:ms:5"},
		{every + `/ !getopt("x") / {}`, x, ""},
		{every + `/ getopt("x") && pid == 1 / {}`, x, "interval:ms:5?"},
		{every + `/ getopt("x") && pid == 1 / {}`, none, ""},
		{every + `/ pid == 1 && getopt("x") / {}`, none, ""},
		{every + `/ pid == 1 || !getopt("x") / {}`, none, "interval:ms:5"},
		{every + `/ getopt("n", 7) >= 7 / {}`, none, "interval:ms:5"},
		{every + `/ getopt("n", 7) >= 7 / {}`, config.Named{"n": {Text: "6"}}, ""},
		{every + `/ getopt("n", -1) < 0 / {}`, none, "interval:ms:5"},
		{every + `/ getopt("n", -1) < -5 / {}`, none, ""},
		{every + `/ getopt("n", -9) < -5 / {}`, none, "interval:ms:5"},
		{every + `/ getopt("s", "a") == "b" / {}`, config.Named{"s": {Text: "b"}}, "interval:ms:5"},
		{every + `/ getopt("s", "a") / {}`, config.Named{"s": {Text: ""}}, ""},
		{every + `/ config.max_strlen == 1024 / {}`, none, "interval:ms:5"},
		{every + `/ has_cpid / {}`, none, ""},
		{every + `/ has_target / {}`, none, ""},
		{every + `/ probe_exists("t:sched:sched_switch") / {}`, none, "interval:ms:5"},
		{every + `/ probe_exists("t:sched:*") && !probe_exists("t:sched:nosuch") / {}`, none, "interval:ms:5"},
		{every + `/ probe_exists("t:$cat:sched_switch") && getopt("cat", "sched") != "" / {}`, none, "interval:ms:5"},
		{`macro wanted() { getopt("x") } ` + every + `/ wanted() / {}`, none, ""},
		// A condition that asks for nothing is left to the program, as is one that is not known ahead of time.
		{every + `/ 0 / {}`, none, "interval:ms:5?"},
		{every + `/ getopt("x") / {}`, nil, "interval:ms:5?"},
		{every + `/ ncpus == 0 / {}`, nil, "interval:ms:5?"},
		// Nothing would end a run of begin and end.
		{`begin {} t:no:such / getopt("x") / {}`, none, ""},
		{`begin {} ` + every + `/ getopt("x") / {}`, x, "begin, interval:ms:5"},
		{`begin / getopt("x") / {} BEGIN, end / getopt("x") / {} begin {}`, none, "begin"},
		// Numbers are those of their types; where two types meet, the program compares.
		{every + `/ (uint8)getopt("n", 300) == 44 / {}`, none, "interval:ms:5"},
		{every + `/ (int8)getopt("n", 255) == -1 / {}`, none, "interval:ms:5"},
		{every + `/ (bool)getopt("n", 5) == true / {}`, none, "interval:ms:5"},
		{every + `/ (uint64*)getopt("n", 5) == 5 / {}`, none, "interval:ms:5?"},
		{every + `/ -getopt("n", 5) < 0 / {}`, none, "interval:ms:5?"},
		{every + `/ getopt("n", 18446744073709551615) > -1 / {}`, none, "interval:ms:5?"},
		// Options in attach points, and as sizes.
		{`interval:$unit:$n / getopt("unit", "s") != "" && getopt("n", 3) > 0 / {}`, none, "interval:s:3"},
		{`interval:ms:$n / getopt("n", 3) > 0 / {}`, config.Named{"n": {Text: "0x10"}}, "interval:ms:16"},
		{`interval:ms:$n {}`, none, "bad-parameter: The script has no option 'n': declare it by getopt(\"n\", …)"},
		{`interval:ms:$n { print(getopt("n", 3)); }`, nil,
			"bad-parameter: The value of option --n is not known while the script is compiled"},
		{`let @m = hash(getopt("n", 5)); begin {}`, config.Named{"n": {Text: "9"}}, "begin, @m 9"},
		{`let @m = hash(getopt("n")); begin {}`, none, "bad-map-size: The number of entries of @m must be an " +
			"integer, or an option that is one and known while the script is compiled, begin, @m 1"},
	} {
		if got := early(t, c.text, c.named); got != c.want {
			t.Errorf("%s with %v:\n got %s\nwant %s", c.text, c.named, got, c.want)
		}
	}
}

// TestUndecided asks for a probe while no file can be opened. That is no answer: the block neither
// goes nor loses its predicate, at which the check of types will say what was wrong.
func TestUndecided(t *testing.T) {
	const text = `interval:ms:5 / !probe_exists("uprobe:libc:no_such") / {}`
	tree, _ := syntax.Parse(source.NewFile("in.bt", text))
	o := Options{Probe: probe.Options{Machine: recorded(t)}}
	decided, _ := Expand(tree, o)
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 0, Max: limit.Max}); err != nil {
		t.Fatal(err)
	}
	undecided, _ := Expand(tree, o)
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	if p := decided.Probes; len(p) != 1 || p[0].Tree.Predicate != nil {
		t.Errorf("with files the predicate is not decided: %v", p)
	}
	if p := undecided.Probes; len(p) != 1 || p[0].Tree.Predicate == nil {
		t.Errorf("without files the predicate is decided: %v", p)
	}
}
