package expand

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hawktrace/hawk/internal/builtin"
	"github.com/hawktrace/hawk/internal/config"
	"github.com/hawktrace/hawk/internal/machine"
	"github.com/hawktrace/hawk/internal/probe"
	"github.com/hawktrace/hawk/internal/source"
	"github.com/hawktrace/hawk/internal/stdlib"
	"github.com/hawktrace/hawk/internal/syntax"
)

// recorded makes a machine with a few tracepoints.
func recorded(t *testing.T) *machine.Machine {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("uname", "x86_64 6.12.0\n")
	events := []string{"syscalls:sys_enter_open", "syscalls:sys_enter_openat", "sched:sched_switch"}
	write("sys/kernel/tracing/available_events", strings.Join(events, "\n")+"\n")
	for _, e := range events {
		write("sys/kernel/tracing/events/"+strings.Replace(e, ":", "/", 1)+"/format",
			"name: x\nID: 1\nformat:\n\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n\tfield:long "+
				"a;\toffset:8;\tsize:8;\tsigned:1;\n\n")
	}
	return machine.Recorded(dir)
}

// expandText lists the points of all probes, or the messages with hints.
func expandText(t *testing.T, text string, env map[string]string, params ...string) []string {
	t.Helper()
	tree, ds := syntax.Parse(source.NewFile("in.bt", text))
	if ds.HasErrors() {
		t.Fatalf("%s: does not parse: %s", text, ds.List()[0].Msg)
	}
	e, err := config.ReadEnvironment(func(name string) (string, bool) {
		v, ok := env[name]
		return v, ok
	})
	if err != nil {
		t.Fatal(err)
	}
	s, ds := Expand(tree, Options{Params: params, Environment: e, Probe: probe.Options{Machine: recorded(t)}})
	var out []string
	for _, d := range ds.List() {
		out = append(out, fmt.Sprintf("%s %s %q: %s", d.Severity, d.Code, d.Span.Text(),
			strings.Join(append([]string{d.Msg}, d.Hints...), " | ")))
	}
	if s == nil {
		return append(out, "nothing")
	}
	for _, p := range s.Probes {
		var names []string
		for _, a := range p.Attach {
			for _, pt := range a.Points {
				names = append(names, pt.Name())
			}
		}
		out = append(out, strings.Join(names, " "))
	}
	return out
}

func TestAttach(t *testing.T) {
	warn := map[string]string{"BPFTRACE_MISSING_PROBES": "warn"}
	ignore := map[string]string{"HAWK_MISSING_PROBES": "ignore"}
	for _, c := range []struct {
		text   string
		env    map[string]string
		params []string
		want   []string
	}{
		{"BEGIN, end {}", nil, nil, []string{"begin end"}},
		{"t:syscalls:sys_enter_open {}", nil, nil, []string{"tracepoint:syscalls:sys_enter_open"}},
		{"t:syscalls:sys_enter_open* {}", nil, nil,
			[]string{"tracepoint:syscalls:sys_enter_open tracepoint:syscalls:sys_enter_openat"}},
		{"tracepoint:*switch {}", nil, nil, []string{"tracepoint:sched:sched_switch"}},
		{"tracepo*:sched:* {}", nil, nil, []string{"tracepoint:sched:sched_switch"}},
		{"i:$1 {}", nil, []string{"ms:5"}, []string{"interval:ms:5"}},
		{"i:1s {}", nil, nil, []string{"interval:us:1000000"}},
		{"warm=i:s:1 {}", nil, nil, []string{"interval:s:1"}},
		{"t:syscalls:sys_enter_opan {}", nil, nil, []string{
			`ERROR missing-probe "t:syscalls:sys_enter_opan": No matches for tracepoint syscalls:sys_enter_opan. | ` +
				`did you mean tracepoint:syscalls:sys_enter_open?`}},
		{"t:syscall:sys_enter_openat {}", nil, nil, []string{
			`ERROR missing-probe "t:syscall:sys_enter_openat": No matches for tracepoint syscall:sys_enter_openat. ` +
				`| did you mean tracepoint:syscalls:sys_enter_openat?`}},
		{"syscall:sys_enter_open {}", nil, nil, []string{
			`ERROR unknown-probe "syscall": Invalid probe type: syscall | did you mean ` +
				`tracepoint:syscalls:sys_enter_open?`}},
		{"sched:sched_switch {}", nil, nil, []string{
			`ERROR unknown-probe "sched": Invalid probe type: sched | did you mean tracepoint:sched:sched_switch?`}},
		{"tracepiont:a:b {}", nil, nil,
			[]string{`ERROR unknown-probe "tracepiont": Invalid probe type: tracepiont | did you mean tracepoint?`}},
		{"I:s:1 {}", nil, nil, []string{`ERROR unknown-probe "I": Invalid provider: 'I' | did you mean i?`}},
		{"t:nosuch* {}", nil, nil, []string{
			`ERROR missing-probe "t:nosuch*": Probe has no valid attach points. If this is expected, set the ` +
				`'missing_probes' config variable to 'warn'.`}},
		{"t:nosuch*, begin {}", nil, nil, []string{"begin"}},
		{"t:a:b, begin {}", warn, nil,
			[]string{`WARNING missing-probe "t:a:b": No matches for tracepoint a:b. Skipping.`, "begin"}},
		{"t:a:b {} end {}", ignore, nil, []string{"end"}},
		{"t:nosuch* {} end {}", warn, nil,
			[]string{`WARNING missing-probe "t:nosuch*": Probe has no valid attach points. Skipping.`, "end"}},
		{"i:s:1:2 {}", nil, nil,
			[]string{`ERROR attach-point "i:s:1:2": interval probe type requires 1 or 2 arguments, found 3 | it is ` +
				`written interval:s:count or interval:ms:count or interval:us:count or interval:hz:rate or ` +
				`interval:duration`}},
		{"config = { max_probes = 1; } begin, end {}", nil, nil, []string{
			`ERROR too-many-probes "": Can't attach to 2 probes because it exceeds the current limit of 1 probes. | ` +
				`Raise the limit with the max_probes setting or HAWK_MAX_PROBES. Many probes take long to attach ` +
				`and may slow the system down.`,
			"begin end"}},
		{"struct s { int a; }; begin {}", nil, nil, []string{"begin"}},
	} {
		if diff := cmp.Diff(c.want, expandText(t, c.text, c.env, c.params...)); diff != "" {
			t.Errorf("%s (-want +got)\n%s", c.text, diff)
		}
	}
}

// TestSaidOnce: a lack of the machine is said at the first attach point that has it, not at each.
func TestSaidOnce(t *testing.T) {
	all := strings.Join(expandText(t, "k:a {} k:b, kr:a {}", nil), "\n")
	if strings.Count(all, `"k:a": no list of traceable functions: `) != 1 ||
		strings.Count(all, "no list") != 1 || strings.Count(all, "No matches") != 3 {
		t.Error(all)
	}
}

// The library is not asked for names that builtins have, so that scripts which
// use builtins alone never read it.
func TestLibraryNames(t *testing.T) {
	for _, name := range stdlib.Names() {
		f, _ := stdlib.Open(name)
		tree, _ := syntax.Parse(f)
		for _, item := range tree.Items {
			m := item.(*syntax.Macro)
			if _, ok := builtin.Lookup(m.Name.Name); ok {
				t.Errorf("%s of package %s is a builtin too", m.Name.Name, name)
			}
		}
	}
}
