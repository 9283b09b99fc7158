package config

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hawktrace/hawk/internal/source"
	"github.com/hawktrace/hawk/internal/syntax"
)

// parse applies a config block to the defaults and returns the messages.
func parse(t *testing.T, entries string) (*Config, []string) {
	t.Helper()
	tree, ds := syntax.Parse(source.NewFile("in.bt", "config = { "+entries+" } begin { }"))
	if ds.HasErrors() {
		t.Fatalf("%s: %s", entries, ds.List()[0].Msg)
	}
	c := Default()
	var out source.Diagnostics
	c.Apply(tree.Items[0].(*syntax.Config), &out)
	var msgs []string
	for _, d := range out.List() {
		msgs = append(msgs, strings.Join(append([]string{d.Severity.String() + " " + string(d.Code) + " " +
			d.Span.Text() + ": " + d.Msg}, d.Hints...), " | "))
	}
	return c, msgs
}

func get(c *Config, name string) string { return find(name).Get(c) }

func TestValues(t *testing.T) {
	for _, c := range []struct{ entry, name, want string }{
		{"max_strlen = 1m", "max_strlen", "!"},
		{"max_strlen = 64", "max_strlen", "64"},
		{"MAX_STRLEN = 0x40", "max_strlen", "64"},
		{"BPFTRACE_MAX_STRLEN = \"64\"", "max_strlen", "64"},
		{"hawk_max_strlen = 1us", "max_strlen", "1000"},
		{"stack_mode = perf", "stack_mode", "perf"},
		{"stack_mode = \"RAW\"", "stack_mode", "raw"},
		{"cpp_demangle = 0", "cpp_demangle", "false"},
		{"cpp_demangle = 7", "cpp_demangle", "true"},
		{"cpp_demangle = OFF", "cpp_demangle", "false"},
		{"cpp_demangle = false", "cpp_demangle", "false"},
		{"no_cpp_demangle = 1", "cpp_demangle", "false"},
		{"no_cpp_demangle = 0", "cpp_demangle", "true"},
		{"no_user_symbols = yes", "cache_user_symbols", "NONE"},
		{"cache_user_symbols = per_pid", "cache_user_symbols", "PER_PID"},
		{"cache_user_symbols = 0", "cache_user_symbols", "NONE"},
		{"map_keys_max = 5", "max_map_keys", "5"},
		{"license = \"Dual BSD/GPL\"", "license", "Dual BSD/GPL"},
		{"str_trunc_trailer = \"\"", "str_trunc_trailer", ""},
		{"unstable_tseries = true", "unstable_tseries", "enable"},
		{"unstable_tseries = 0", "unstable_tseries", "error"},
		{"unstable_tseries = Warn", "unstable_tseries", "warn"},
	} {
		conf, msgs := parse(t, c.entry)
		failed := slices.ContainsFunc(msgs, func(m string) bool { return strings.HasPrefix(m, "ERROR") })
		if c.want == "!" {
			if !failed {
				t.Errorf("%s: no error", c.entry)
			}
			continue
		}
		if got := get(conf, c.name); got != c.want || failed {
			t.Errorf("%s: %s is %q, want %q (%q)", c.entry, c.name, got, c.want, msgs)
		}
	}
}

func TestMessages(t *testing.T) {
	for _, c := range []struct{ entry, want string }{
		{"max_strlen = abc", "ERROR config-value max_strlen = abc: max_strlen: expecting a number, got abc"},
		{"max_strlen = 0", "ERROR config-value max_strlen = 0: max_strlen: 0 is too small, it must be at least 1"},
		{"max_map_keys = 0", "ERROR config-value max_map_keys = 0: max_map_keys: 0 is too small, it must " +
			"be at least 1"},
		{"max_strlen = true", "ERROR config-value max_strlen = true: max_strlen: expecting a number, got true"},
		{"stack_mode = zzz", "ERROR config-value stack_mode = zzz: stack_mode: Invalid value for stack_mode: valid " +
			"values are bpftrace, raw, perf, and build_id."},
		{"missing_probes = 1",
			"ERROR config-value missing_probes = 1: missing_probes: Invalid value for missing_probes: valid values " +
				"are error, warn, and ignore."},
		{"license = gpl", `ERROR config-value license = gpl: license: Invalid value for license: valid values are ` +
			strings.Join(licenses[:5], ", ") + ", and Dual MPL/GPL."},
		{"max_strln = 5", "ERROR config-unknown max_strln = 5: max_strln: not a known configuration option | did " +
			"you mean max_strlen?"},
		{"btf = \"x\"", "ERROR config-environment-only btf: btf: can only be set as an environment variable"},
		{"strlen = 5", "WARNING config-renamed strlen: strlen has been renamed, please use max_strlen"},
		{"unstable_macro = 1",
			"WARNING config-no-effect unstable_macro: unstable_macro is deprecated and has no effect"},
		{"max_ast_nodes = 1000",
			"WARNING config-no-effect max_ast_nodes: max_ast_nodes is deprecated and has no effect"},
	} {
		if _, msgs := parse(t, c.entry); !reflect.DeepEqual(msgs, []string{c.want}) {
			t.Errorf("%s:\n got %q\nwant %q", c.entry, msgs, c.want)
		}
	}
}

func TestEnvironment(t *testing.T) {
	read := func(vars map[string]string) (*Environment, error) {
		return ReadEnvironment(func(n string) (string, bool) { v, ok := vars[n]; return v, ok })
	}
	for _, c := range []struct {
		vars map[string]string
		name string
		want string
	}{
		{map[string]string{"BPFTRACE_MAX_STRLEN": "64"}, "max_strlen", "64"},
		{map[string]string{"BPFTRACE_MAX_STRLEN": "64", "HAWK_MAX_STRLEN": "65"}, "max_strlen", "65"},
		{map[string]string{"BPFTRACE_STRLEN": "66"}, "max_strlen", "66"},
		{map[string]string{"BPFTRACE_NO_CPP_DEMANGLE": "1"}, "cpp_demangle", "false"},
		{map[string]string{"BPFTRACE_CACHE_USER_SYMBOLS": "0"}, "cache_user_symbols", "NONE"},
		{map[string]string{"BPFTRACE_NOSUCH": "0"}, "max_strlen", "99"},
	} {
		e, err := read(c.vars)
		if err != nil {
			t.Errorf("%v: %v", c.vars, err)
			continue
		}
		conf := Default()
		conf.MaxStrlen = 99 // as a script's block would
		e.Apply(conf)
		if got := get(conf, c.name); got != c.want {
			t.Errorf("%v: %s is %q, want %q", c.vars, c.name, got, c.want)
		}
	}
	for vars, want := range map[[2]string]string{
		{"BPFTRACE_MAX_MAP_KEYS", "abc"}: "max_map_keys: expecting a number, got abc",
		{"HAWK_STACK_MODE", "zzz"}: "stack_mode: Invalid value for stack_mode: valid values are bpftrace, " +
			"raw, perf, and build_id.",
		{"HAWK_CPP_DEMANGLE", "maybe"}: "cpp_demangle: Invalid value for cpp_demangle: valid values are true, on, " +
			"yes, 1, false, off, no, and 0.",
	} {
		if _, err := read(map[string]string{vars[0]: vars[1]}); err == nil || err.Error() != want {
			t.Errorf("%v: %v, want %q", vars, err, want)
		}
	}
}

// The table and Default say the same, names are in order and documented.
func TestTable(t *testing.T) {
	var names []string
	for _, s := range Settings() {
		names = append(names, s.Name)
		if s.Doc == "" {
			t.Errorf("%s has no documentation", s.Name)
		}
		if got := s.Get(Default()); got != s.Default && s.Name != "cache_user_symbols" {
			t.Errorf("%s: Default has %q, the table %q", s.Name, got, s.Default)
		}
	}
	if sorted := slices.Sorted(slices.Values(names)); !slices.Equal(names, sorted) {
		t.Errorf("not in order: %s", cmp.Diff(sorted, names))
	}
}

// TestShown finds every setting but seven among those the config builtin shows.
func TestShown(t *testing.T) {
	names := map[string]bool{
		"cache_user_symbols": true, "escape_output": true, "event_rings": true, "max_args": true,
		"overlapping_probes": true, "str_unreadable": true, "target_filter": true,
	}
	for _, s := range Shown() {
		if s == nil || names[s.Name] {
			t.Fatalf("%v is no setting, or named twice", s)
		}
		names[s.Name] = true
	}
	for _, s := range Settings() {
		if !names[s.Name] {
			t.Errorf("%s is not shown", s.Name)
		}
	}
}
