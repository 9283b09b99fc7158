package config

import (
	"fmt"
	"strings"
)

// A Setting is one row of the table: everything hawk knows about a key.
type Setting struct {
	Name    string   // lower case
	Type    Type     // of values
	Values  []string // of a Choice, in the order messages list them
	Default string   // as a script would write it
	Doc     string   // one line for the manual

	set func(c *Config, v Value) error // v is of Type already
	get func(c *Config) string
}

// Type is the type of a setting's values.
type Type uint8

// The types of settings.
const (
	Bool Type = iota
	Int
	Text
	Choice   // one of Values
	Unstable // enable, warn or error
)

// String is for the manual.
func (t Type) String() string {
	return [...]string{"bool", "int", "string", "choice", "unstable feature"}[t]
}

// Environment returns the names of environment variables that set s, the one
// that wins first.
func (s *Setting) Environment() [2]string {
	upper := strings.ToUpper(s.Name)
	return [2]string{"HAWK_" + upper, "BPFTRACE_" + upper}
}

// Old lists the names that s had, accepted with a warning.
func (s *Setting) Old() []string {
	var out []string
	for _, r := range renamed {
		if r.new == s.Name {
			out = append(out, r.old)
		}
	}
	return out
}

// Get is the effective value as text.
func (s *Setting) Get(c *Config) string { return s.get(c) }

// Settings returns the table in order of names.
func Settings() []Setting { return settings }

var licenses = []string{"GPL", "GPL v2", "GPL and additional rights", "Dual BSD/GPL", "Dual MIT/GPL", "Dual MPL/GPL"}

var cacheModes = []string{"PER_PROGRAM", "PER_PID", "NONE"}

// Names of unstable features, which are settings with this prefix.
const unstable = "unstable_"

var settings = []Setting{
	{Name: "cache_user_symbols", Type: Choice, Values: cacheModes, Default: "by the situation",
		Doc: "How long the symbols of user programs are kept: per program, per process, or not at all.",
		set: setCache, get: func(c *Config) string { return c.CacheUserSymbols }},
	boolean("cpp_demangle", true, "Whether C++ names are shown demangled.",
		func(c *Config) *bool { return &c.CppDemangle }),
	choice("escape_output", []string{"auto", "always", "never"}, "auto",
		"Whether control characters, bytes that are no text and characters that change the direction of writing "+
			"are shown as `\\n`, `\\x1b`, `\\u202e` in what traced programs have given; `auto`: where output goes "+
			"to a terminal. The text of formats is never changed.",
		func(c *Config) *string { return &c.EscapeOutput }),
	choice("event_rings", []string{"auto", "1", "2", "4", "8"}, "auto",
		"Number of ring buffers for events, each for a group of processors, which share the memory for events; "+
			"`auto`: one up to 16 processors, 4 up to 32, 8 above. Events come out in order of time. One it is, too, "+
			"where the verifier gives up on the script otherwise.",
		func(c *Config) *string { return &c.EventRings }),
	boolean("lazy_symbolication", true, "Whether user symbols are resolved only when they are shown.",
		func(c *Config) *bool { return &c.LazySymbolication }),
	{Name: "license", Type: Text, Values: licenses, Default: "GPL",
		Doc: "The license that the programs declare to the kernel.",
		set: func(c *Config, v Value) error { return oneOf("license", &c.License, v.Text, licenses, false) },
		get: func(c *Config) string { return c.License }},
	integer("log_size", "1000000", "Size of the verifier's log, in bytes.",
		func(c *Config) *int { return &c.LogSize }),
	integer("max_args", "128", "The most arguments that argv() has.",
		func(c *Config) *int { return &c.MaxArgs }).atLeast(1),
	integer("max_bpf_progs", "1024", "The most programs a script may become.",
		func(c *Config) *int { return &c.MaxBPFProgs }),
	integer("max_cat_bytes", "10240", "The most bytes that cat() shows of a file.",
		func(c *Config) *int { return &c.MaxCatBytes }),
	integer("max_map_keys", "4096", "Number of keys a map can hold unless it is declared with a size.",
		func(c *Config) *int { return &c.MaxMapKeys }).atLeast(1).atMost(MostMapKeys),
	integer("max_probes", "1024", "The most probes a script may attach.",
		func(c *Config) *int { return &c.MaxProbes }),
	integer("max_strlen", "1024", "Capacity of strings read by str() and the like, in bytes. Before Linux 5.11, "+
		"where keys take 512 bytes at most, the default is what makes them fit.",
		func(c *Config) *int { return &c.MaxStrlen }).atLeast(1).atMost(mostStrlen),
	choice("missing_probes", []string{"error", "warn", "ignore"}, "error",
		"What happens when a probe does not exist or cannot be attached.",
		func(c *Config) *string { return &c.MissingProbes }),
	integer("on_stack_limit", "32", "Largest value kept on the program's stack, in bytes.",
		func(c *Config) *int { return &c.OnStackLimit }),
	choice("overlapping_probes", []string{"all", "first"}, "all",
		"Which blocks run where the attach points of several are the same: all, or the first in the script.",
		func(c *Config) *string { return &c.OverlappingProbes }),
	integer("perf_rb_pages", "0", "Size of the ring buffer in pages; 0 chooses by the memory of the machine.",
		func(c *Config) *int { return &c.PerfRBPages }),
	boolean("print_maps_on_exit", true, "Whether all maps are printed at the end.",
		func(c *Config) *bool { return &c.PrintMapsOnExit }),
	boolean("show_debug_info", false,
		"Whether stacks, usym and func show source files, lines and inlined functions, of programs that have debug "+
			"information (DWARF), and of the kernel where there is a vmlinux with it.",
		func(c *Config) *bool { return &c.ShowDebugInfo }),
	choice("stack_mode", []string{"bpftrace", "raw", "perf", "build_id"}, "bpftrace",
		"How stacks are shown unless a call says otherwise.",
		func(c *Config) *string { return &c.StackMode }),
	{Name: "str_trunc_trailer", Type: Text, Default: "..", Doc: "Text after a string that was cut off.",
		set: func(c *Config, v Value) error { c.StrTruncTrailer = v.Text; return nil },
		get: func(c *Config) string { return c.StrTruncTrailer }},
	{Name: "str_unreadable", Type: Text, Default: "<unreadable>",
		Doc: "Text in place of a string of user memory that could not be read, mostly because it was not in memory.",
		set: func(c *Config, v Value) error { c.StrUnreadable = v.Text; return nil },
		get: func(c *Config) string { return c.StrUnreadable }},
	choice("target_filter", []string{"current", "own"}, "current",
		"Whether `-p` leaves out events during which another process runs, or the script asks is_target().",
		func(c *Config) *string { return &c.TargetFilter }),
	feature("unstable_dw_ustack", Warn),
	feature("unstable_import_statement", Refuse),
	feature("unstable_tseries", Warn),
	feature("unstable_typeinfo", Enable),
	{Name: "use_blazesym", Type: Bool, Default: "false", Doc: "Accepted and ignored.",
		set: func(*Config, Value) error { return nil }, get: func(*Config) string { return "false" }},
}

// boolean is a row of the table for a field that is true or false.
func boolean(name string, def bool, doc string, field func(*Config) *bool) Setting {
	return Setting{Name: name, Type: Bool, Default: boolText(def), Doc: doc,
		set: func(c *Config, v Value) error { *field(c) = v.Int != 0; return nil },
		get: func(c *Config) string { return boolText(*field(c)) }}
}

// MostMapKeys is how many keys a map can have room for. The kernel makes all of a map in one system call, which takes
// a processor some 150 ns for each; one that is not given up for 20 s is reported as stuck.
const MostMapKeys = 1 << 25

// mostStrlen is the longest string: the verifier takes no sizes of 1<<29 and more (BPF_MAX_VAR_SIZ), and a value
// holds several.
const mostStrlen = 1 << 27

// integer is one for a number. Its bounds are added by atLeast and atMost; MaxInt32 holds for
// all.
func integer(name, def, doc string, field func(*Config) *int) Setting {
	return Setting{Name: name, Type: Int, Default: def, Doc: doc,
		set: func(c *Config, v Value) error { *field(c) = int(v.Int); return nil },
		get: func(c *Config) string { return intText(*field(c)) }}
}

// atLeast refuses smaller numbers.
func (s Setting) atLeast(least uint64) Setting {
	set := s.set
	s.set = func(c *Config, v Value) error {
		if v.Int < least {
			return fmt.Errorf("%d is too small, it must be at least %d", v.Int, least)
		}
		return set(c, v)
	}
	return s
}

// atMost refuses larger numbers.
func (s Setting) atMost(most uint64) Setting {
	set := s.set
	s.set = func(c *Config, v Value) error {
		if v.Int > most {
			return fmt.Errorf("%d is too large, it must be at most %d", v.Int, most)
		}
		return set(c, v)
	}
	return s
}

// choice is one for a word of several, in upper or lower case.
func choice(name string, values []string, def, doc string, field func(*Config) *string) Setting {
	return Setting{Name: name, Type: Choice, Values: values, Default: def, Doc: doc,
		set: func(c *Config, v Value) error { return oneOf(name, field(c), v.Text, values, true) },
		get: func(c *Config) string { return *field(c) }}
}

// feature is the setting of an unstable feature.
func feature(name, def string) Setting {
	return Setting{Name: name, Type: Unstable, Values: []string{Enable, Warn, Refuse}, Default: def,
		Doc: "Whether the unstable feature " + strings.TrimPrefix(name,
			unstable) + " may be used, with a warning or without.",
		set: func(c *Config, v Value) error {
			if c.Unstable == nil {
				c.Unstable = map[string]string{}
			}
			c.Unstable[strings.TrimPrefix(name, unstable)] = v.Text
			return nil
		},
		get: func(c *Config) string {
			if v, ok := c.Unstable[strings.TrimPrefix(name, unstable)]; ok {
				return v
			}
			return def
		}}
}

// shown are the settings in the order in which the config builtin has them,
// the reference's. cache_user_symbols is not among them: what it means depends
// on the run; nor are escape_output, event_rings, max_args, overlapping_probes, str_unreadable and
// target_filter, which are hawk's own.
var shown = [...]string{
	"cpp_demangle", "lazy_symbolication", "print_maps_on_exit", "use_blazesym", "show_debug_info",
	"log_size", "max_bpf_progs",
	"max_cat_bytes", "max_map_keys", "max_probes", "max_strlen", "on_stack_limit", "perf_rb_pages", "str_trunc_trailer",
	"unstable_import_statement", "unstable_tseries", "unstable_typeinfo", "unstable_dw_ustack",
	"missing_probes", "stack_mode", "license",
}

// Shown returns the settings that the config builtin shows, in its order.
func Shown() []*Setting {
	out := make([]*Setting, len(shown))
	for i, name := range shown {
		out[i] = find(name)
	}
	return out
}

// find is the row of a setting, nil if there is none. The table is short, and asked a few times
// in a run.
func find(name string) *Setting {
	for i := range settings {
		if settings[i].Name == name {
			return &settings[i]
		}
	}
	return nil
}
