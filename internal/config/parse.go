package config

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/hawktrace/hawk/internal/source"
	"github.com/hawktrace/hawk/internal/spell"
	"github.com/hawktrace/hawk/internal/syntax"
)

// A Value is what a script or the environment gives a key.
// How a value was written matters for some: true is no word for a string.
type Value struct {
	Text string // as written, a string without its quotes
	Int  uint64 // of an integer or a boolean
	Kind ValueKind
}

// ValueKind says how a value was written.
type ValueKind uint8

// The kinds of value. The environment knows words only.
const (
	Word ValueKind = iota // string, identifier, environment
	Number
	Truth
)

// An Environment is the settings found in the environment, checked.
type Environment struct {
	Warnings []string // about old names, without place
	values   []envValue
}

// An envValue is a setting that the environment gives.
type envValue struct {
	setting *Setting
	value   Value
}

// ReadEnvironment looks every setting up. The error is the whole message, such
// as "max_map_keys: expecting a number, got abc".
// It is read before there is a script: a mistake in it is told without one. Old names come
// first, so that a new one wins.
func ReadEnvironment(lookup func(name string) (string, bool)) (*Environment, error) {
	e := &Environment{}
	scratch := Default()
	set := func(s *Setting, text string) error {
		v, err := s.convert(Value{Text: text})
		if err == nil {
			err = s.set(scratch, v)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", s.Name, err)
		}
		e.values = append(e.values, envValue{s, v})
		return nil
	}
	for _, r := range renamed {
		text, ok := lookup("BPFTRACE_" + strings.ToUpper(r.old))
		if !ok {
			continue
		}
		e.Warnings = append(e.Warnings, fmt.Sprintf("BPFTRACE_%s has been renamed, please use BPFTRACE_%s",
			strings.ToUpper(r.old), strings.ToUpper(r.new)))
		s := find(r.new)
		v, err := r.convert(Value{Text: text}, s)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", r.old, err)
		}
		if err := set(s, v.Text); err != nil {
			return nil, err
		}
	}
	for i := range settings {
		s := &settings[i]
		for _, name := range s.Environment() {
			if text, ok := lookup(name); ok {
				if err := set(s, text); err != nil {
					return nil, err
				}
				break
			}
		}
	}
	return e, nil
}

// Given checks settings that are given by their names.
// Embedding programs set settings by it; the environment is not looked at.
func Given(settings map[string]string) (*Environment, error) {
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		if find(name) != nil {
			continue
		}
		if near := spell.Nearest(name, names()); near != "" {
			return nil, fmt.Errorf("%s: there is no such setting: did you mean %s?", name, near)
		}
		return nil, fmt.Errorf("%s: there is no such setting", name)
	}
	return ReadEnvironment(func(name string) (string, bool) {
		own, ok := strings.CutPrefix(name, "HAWK_")
		text, has := settings[strings.ToLower(own)]
		return text, ok && has
	})
}

// Apply puts the environment's values over c, which is how they win over a
// script's.
// Errors cannot happen any more, and would have no place.
func (e *Environment) Apply(c *Config) {
	for _, v := range e.values {
		v.setting.set(c, v.value) // checked when it was read
	}
}

// Apply puts the entries of a config block over c. Errors and warnings point
// at the key or the value.
func (c *Config) Apply(block *syntax.Config, ds *source.Diagnostics) {
	for _, entry := range block.Settings {
		if entry.Key != nil && entry.Value != nil {
			c.apply(entry, ds)
		}
	}
}

// apply applies an entry of a config block. Names are taken in any case, and with the prefix of the
// environment.
func (c *Config) apply(entry *syntax.Setting, ds *source.Diagnostics) {
	at := entry.Key.Span()
	name := strings.ToLower(entry.Key.Name)
	name = strings.TrimPrefix(strings.TrimPrefix(name, "bpftrace_"), "hawk_")
	v, ok := literal(entry.Value)
	if !ok {
		ds.Errorf("config-value", entry.Span(), "%s: expecting a literal value", name)
		return
	}
	for _, dead := range noEffect {
		if name == dead {
			ds.Warnf("config-no-effect", at, "%s is deprecated and has no effect", name)
			return
		}
	}
	for _, env := range environmentOnly {
		if name == env {
			ds.Errorf("config-environment-only", at, "%s: can only be set as an environment variable", name)
			return
		}
	}
	s := find(name)
	for _, r := range renamed {
		if name != r.old {
			continue
		}
		ds.Warnf("config-renamed", at, "%s has been renamed, please use %s", r.old, r.new)
		s = find(r.new)
		var err error
		if v, err = r.convert(v, s); err != nil {
			ds.Errorf("config-value", entry.Span(), "%s: %v", name, err)
			return
		}
	}
	if s == nil {
		d := ds.Errorf("config-unknown", entry.Span(), "%s: not a known configuration option", name)
		if near := spell.Nearest(name, names()); near != "" {
			d.Hint("did you mean %s?", near)
		}
		return
	}
	v, err := s.convert(v)
	if err == nil {
		err = s.set(c, v)
	}
	if err != nil {
		ds.Errorf("config-value", entry.Span(), "%s: %v", s.Name, err)
	}
}

// names are what a misspelt key may have been meant to be; old names are not suggested.
func names() []string {
	out := make([]string, len(settings))
	for i := range settings {
		out[i] = settings[i].Name
	}
	return out
}

// literal reads the value of a block entry.
func literal(e syntax.Expr) (Value, bool) {
	switch e := e.(type) {
	case *syntax.IntLit:
		return Value{Text: strconv.FormatUint(e.Value, 10), Int: e.Value, Kind: Number}, true
	case *syntax.StringLit:
		return Value{Text: e.Value}, true
	case *syntax.BoolLit:
		v := Value{Text: boolText(e.Value), Kind: Truth}
		if e.Value {
			v.Int = 1
		}
		return v, true
	case *syntax.Ident:
		return Value{Text: e.Name}, true
	}
	return Value{}, false
}

// convert makes a value one of the setting's type.
func (s *Setting) convert(v Value) (Value, error) {
	switch s.Type {
	case Bool:
		if v.Kind != Word {
			return v, nil
		}
		b, ok := parseBool(v.Text)
		if !ok {
			return v, fmt.Errorf("Invalid value for %s: valid values are true, on, yes, 1, false, off, no, and 0.",
				s.Name)
		}
		v.Int = b
		return v, nil
	case Int:
		if v.Kind == Word {
			n, err := syntax.ParseInt(v.Text)
			if err != nil {
				return v, fmt.Errorf("expecting a number, got %s", v.Text)
			}
			v.Int, v.Kind = n, Number
		}
		if v.Kind != Number {
			return v, fmt.Errorf("expecting a number, got %s", v.Text)
		}
		if v.Int > math.MaxInt32 {
			return v, fmt.Errorf("%s is too large", v.Text)
		}
		return v, nil
	case Text:
		if v.Kind != Word {
			return v, fmt.Errorf("expecting a string, got %s", v.Text)
		}
		return v, nil
	case Unstable:
		return s.convertFeature(v)
	}
	return v, nil
}

// convertFeature takes the words for an unstable feature, and truth values for them.
func (s *Setting) convertFeature(v Value) (Value, error) {
	switch text := strings.ToLower(v.Text); {
	case v.Kind == Truth && v.Int == 1, v.Kind != Truth && text == "1", text == "true":
		v.Text = "enable"
	case v.Kind == Truth, text == "0", text == "false":
		v.Text = "error"
	case text == "enable", text == "warn", text == "error":
		v.Text = text
	default:
		return v, invalid(s.Name, s.Values)
	}
	v.Kind = Word
	return v, nil
}

// parseBool takes any number but 0 for true. So does an integer in a config block.
func parseBool(text string) (uint64, bool) {
	switch strings.ToLower(text) {
	case "true", "on", "yes", "1":
		return 1, true
	case "false", "off", "no", "0":
		return 0, true
	}
	if n, err := syntax.ParseInt(text); err == nil {
		return min(n, 1), true
	}
	return 0, false
}

// oneOf sets a choice.
func oneOf(name string, to *string, text string, values []string, anyCase bool) error {
	for _, v := range values {
		if v == text || anyCase && strings.EqualFold(v, text) {
			*to = v
			return nil
		}
	}
	return invalid(name, values)
}

// setCache takes two numbers beside the words, which were the values in versions of old.
func setCache(c *Config, v Value) error {
	switch v.Text {
	case "0":
		c.CacheUserSymbols = "NONE"
		return nil
	case "1":
		c.CacheUserSymbols = ""
		return nil
	}
	return oneOf("cache_user_symbols", &c.CacheUserSymbols, v.Text, cacheModes, true)
}

// invalid lists what would have been right, in the reference's words.
func invalid(name string, values []string) error {
	last := len(values) - 1
	return fmt.Errorf("Invalid value for %s: valid values are %s, and %s.", name,
		strings.Join(values[:last], ", "), values[last])
}

// A renaming is an old key. negate turns a value's meaning around.
type renaming struct {
	old, new string
	negate   bool
	value    string // what the old key stands for when it is true, if not the value itself
}

var renamed = []renaming{
	{old: "strlen", new: "max_strlen"},
	{old: "cat_bytes_max", new: "max_cat_bytes"},
	{old: "map_keys_max", new: "max_map_keys"},
	{old: "no_cpp_demangle", new: "cpp_demangle", negate: true},
	{old: "no_user_symbols", new: "cache_user_symbols", value: "NONE"},
}

// convert makes a value of the old setting one of the new. The sense may be the opposite.
func (r *renaming) convert(v Value, s *Setting) (Value, error) {
	if !r.negate && r.value == "" {
		return v, nil
	}
	on := v.Int != 0
	if v.Kind == Word {
		b, ok := parseBool(v.Text)
		if !ok {
			return v, fmt.Errorf("Invalid value for %s: valid values are true, on, yes, 1, false, off, no, and 0.",
				r.old)
		}
		on = b != 0
	}
	switch {
	case r.negate:
		return Value{Text: boolText(!on)}, nil
	case on:
		return Value{Text: r.value}, nil
	}
	return Value{Text: "1"}, nil
}

var noEffect = []string{
	"symbol_source", "max_type_res_iterations", "unstable_addr", "unstable_import", "unstable_macro",
	"unstable_map_decl", "max_ast_nodes",
}

var environmentOnly = []string{"btf", "vmlinux", "kernel_source", "kernel_build"}

// boolText is the text that parseBool reads again.
func boolText(b bool) string {
	if b {
		return "true"
	}
	return "false"
}

// intText is shared by the getters of all integers.
func intText(n int) string { return strconv.Itoa(n) }
