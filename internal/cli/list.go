package cli

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/hawktrace/hawk/internal/btf"
	"github.com/hawktrace/hawk/internal/check"
	"github.com/hawktrace/hawk/internal/errno"
	"github.com/hawktrace/hawk/internal/expand"
	"github.com/hawktrace/hawk/internal/order"
	"github.com/hawktrace/hawk/internal/probe"
	"github.com/hawktrace/hawk/internal/spell"
	"github.com/hawktrace/hawk/internal/syntax"
	"github.com/hawktrace/hawk/internal/tool"
	"github.com/hawktrace/hawk/internal/value"
)

// list is -l: what patterns match, or what a script would attach to. It needs
// no privileges but those to read what it lists.
func (c *command) list() int {
	// A listing may have hundreds of thousands of lines.
	out := bufio.NewWriterSize(c.out, 1<<16)
	status := exitOK
	besideSignals(func() { status = c.listTo(out) })
	if err := out.Flush(); err != nil && status == exitOK {
		return c.fail(exitUsage, fmt.Errorf("cannot write output: %w", err))
	}
	return status
}

// listTo lists what the operand stands for: a script's probes, types of the kernel, or patterns
// with commas in between. A pattern that nothing matches is warned of, once.
func (c *command) listTo(out *bufio.Writer) int {
	var found int   // what the pattern at hand has listed
	var warned bool // it is known why it has listed no more
	name := func(s string) string { return s }
	if isTerminal(c.out) {
		name = value.Escape // files of others name what they like
	}
	emit := func(l probe.Listed) {
		found++
		out.WriteString(name(l.Name))
		out.WriteByte('\n')
		for _, a := range l.Details {
			out.WriteString("    ")
			out.WriteString(name(a.Text))
			out.WriteByte('\n')
		}
	}
	operand := ""
	if len(c.operands) > 0 {
		operand = c.operands[0]
	}
	if c.program != nil || isScript(operand) {
		return c.listScript(emit)
	}
	// hawk -l alone lists everything.
	if operand == "" {
		operand = "*"
	}
	for _, pattern := range splitPatterns(operand) {
		found, warned = 0, false
		// No kind of probe has a dot in its name.
		if !strings.Contains(pattern, ":") && strings.Contains(pattern, ".") {
			c.warn(fmt.Sprintf("'%s' looks like a file name but there is no such file; it is taken for a pattern",
				pattern))
			warned = true
		}
		types, err := c.listPattern(pattern, out, emit, func(text string) { warned = true; c.warn(text) })
		if err != nil {
			out.Flush()
			c.fail(exitUsage, err)
			if errors.Is(err, fs.ErrPermission) && c.machine.Privileges() != nil {
				io.WriteString(c.err, "HINT: only root may read that: sudo hawk -l '"+c.plain(pattern)+"'\n")
			}
			return exitUsage
		}
		if found == 0 && !types && !warned {
			c.warn(fmt.Sprintf("nothing matches '%s'", pattern) + c.listHint(pattern))
		}
	}
	return exitOK
}

// isScript reports whether an operand of -l names an existing file. A pattern is never a path of an
// existing file by accident: kinds are followed by colons.
func isScript(name string) bool {
	if name == "-" {
		return true
	}
	st, err := os.Stat(name)
	return err == nil && !st.IsDir()
}

// splitPatterns splits at commas outside of quotes. In quotes, a backslash takes the meaning of the
// character behind it away. Names of files and of C++ have commas at times.
func splitPatterns(s string) []string {
	var out []string
	start, quoted := 0, false
	for i := 0; i <= len(s); i++ {
		switch {
		case i == len(s) || s[i] == ',' && !quoted:
			if p := strings.TrimSpace(s[start:i]); p != "" {
				out = append(out, p)
			}
			start = i + 1
		case s[i] == '\\' && quoted:
			i++
		case s[i] == '"':
			quoted = !quoted
		}
	}
	return out
}

// listHint says what a pattern that nothing matches was probably meant to be, as a line of its own;
// "" if that is not known. It reads lists again, and so is asked for one pattern that failed and
// never on the way.
func (c *command) listHint(pattern string) string {
	parts, err := probe.PatternParts(pattern)
	if err != nil || len(parts) == 0 {
		return ""
	}
	k, ok := probe.Lookup(parts[0].Text)
	switch {
	case !ok || k.List == nil:
		return ""
	case len(parts) == 1:
		return fmt.Sprintf("\nHINT: hawk -l '%s:*' lists probes of this kind", k.Name)
	// A pattern with wildcards is near to everything.
	case slices.ContainsFunc(parts, probe.Part.HasWild):
		return ""
	}
	o := c.probeOptions()
	// Arguments would have to be read for each name.
	o.ForListing, o.Verbose = true, false
	others := slices.Clone(parts[1:])
	last := others[len(others)-1].Text
	meant := k.Name + ":" + others[0].Text
	if len(others) > 1 {
		meant += ":" + last
	}
	// The neighbours come first, by what follows the category or the file, of which there may be
	// more in a name; then those of other categories.
	for i := len(others) - 1; i >= 0 && !strings.Contains(others[i].Text, "/"); i-- {
		others[i] = probe.Part{Text: "*"}
		var ends, names []string
		k.List(k, others, &o, func(l probe.Listed) {
			name := strings.TrimSuffix(l.Name, ":")
			ends, names = append(ends, name[strings.LastIndexByte(name, ':')+1:]), append(names, name)
		})
		if near := spell.Nearest(last, ends); near != "" && i == len(others)-1 {
			return "\nHINT: did you mean " + names[slices.Index(ends, near)] + "?"
		}
		if near := spell.Nearest(meant, names); near != "" {
			return "\nHINT: did you mean " + near + "?"
		}
	}
	return ""
}

// listPattern lists what a pattern matches, probes by emit; types is whether it matches types. What keeps
// the list from being complete goes to warn. A kind that only root may read is named in one line at the
// end; with -v every kind says why it has listed nothing.
func (c *command) listPattern(pattern string, out *bufio.Writer, emit func(probe.Listed), warn func(string)) (
	types bool, err error) {

	if words := strings.Fields(pattern); len(words) == 2 {
		switch words[0] {
		case "struct", "union", "enum":
			return c.listTypes(words[0], words[1], out)
		}
	}
	o := c.probeOptions()
	o.ForListing = true
	var forbidden []string
	l := probe.Listing{Options: &o, Emit: emit, Warn: warn, Passed: func(kind string, err error) {
		switch {
		case c.verbose > 0:
			c.warn(kind + ": " + errno.Message(err))
		case errors.Is(err, fs.ErrPermission):
			forbidden = append(forbidden, kind)
		}
	}}
	if err := l.Pattern(pattern); err != nil {
		return false, err
	}
	if forbidden != nil && c.machine.Privileges() != nil {
		c.warn("not listed without root: " + strings.Join(forbidden, ", "))
	}
	return false, nil
}

// listScript lists the attach points of a script that hawk itself does not fire. The script must be
// correct. The script is expanded and checked, not compiled: that needs neither privileges nor a
// kernel that could run it. One place is listed once, although several probes may be attached to
// it.
func (c *command) listScript(emit func(probe.Listed)) int {
	f, params, named, err := c.script()
	if err != nil {
		return c.scriptError(err)
	}
	opts := c.probeOptions()
	// Attach points may depend on options of the script and on -c.
	opts.Named, opts.Command = namedValues(named), new(c.command != "")
	env, err := c.environment()
	if err != nil {
		fmt.Fprintln(c.err, err)
		return exitSettings
	}
	tree, ds := syntax.Parse(f)
	c.print(ds)
	if ds.HasErrors() {
		return exitUsage
	}
	script, ds := expand.Expand(tree, expand.Options{
		Params: params, IncludeDirs: c.includeDirs, Includes: c.includes, Environment: env, Caller: caller(),
		Library: tool.Library, Probe: opts,
	})
	if script != nil {
		_, more := check.Check(script)
		ds.Merge(more)
	}
	c.print(ds)
	if ds.HasErrors() || script == nil {
		return exitUsage
	}
	var lines []probe.Listed
	for _, p := range script.Probes {
		for _, at := range p.Attach {
			// begin, end, test and bench probes are hawk's own to fire.
			if at.Kind.Ours != probe.NotOurs {
				continue
			}
			for _, point := range at.Points {
				l, err := probe.ListPoint(point, script.Options)
				if err != nil {
					return c.fail(exitUsage, err)
				}
				lines = append(lines, l)
			}
		}
	}
	order.Stably(lines, func(a, b probe.Listed) int { return strings.Compare(a.Name, b.Name) })
	for i, l := range lines {
		if i == 0 || l.Name != lines[i-1].Name {
			emit(l)
		}
	}
	return exitOK
}

// listTypes lists the kernel's structs, unions or enums by pattern: names, or
// with -v definitions, each under the module it belongs to. It reports whether there were any.
func (c *command) listTypes(keyword, pattern string, out *bufio.Writer) (any bool, err error) {
	kinds := btf.Set(btf.Struct)
	switch keyword {
	case "union":
		kinds = btf.Set(btf.Union)
	case "enum":
		kinds = btf.Set(btf.Enum, btf.Enum64)
	}
	for _, module := range append([]string{"vmlinux"}, c.machine.BTFModules()...) {
		s, err := c.machine.ModuleBTF(module)
		if err != nil {
			// Without the kernel's own types there are none of modules either.
			if module == "vmlinux" {
				return any, err
			}
			continue // unloaded meanwhile
		}
		type found struct {
			name string
			id   uint32
		}
		var all []found
		err = s.Each(kinds, func(id uint32, _ btf.Kind, name []byte) bool {
			if probe.Glob(pattern, string(name)) {
				all = append(all, found{string(name), id})
			}
			return true
		})
		if err != nil {
			return any, err
		}
		any = any || len(all) > 0
		order.By(all, func(a, b found) int {
			return cmp.Or(strings.Compare(a.name, b.name), cmp.Compare(a.id, b.id))
		})
		for i, f := range all {
			if c.verbose == 0 {
				if i == 0 || f.name != all[i-1].name {
					out.WriteString(keyword + " " + f.name + "\n")
				}
				continue
			}
			text, err := s.Definition(f.id)
			if err != nil {
				return any, err
			}
			out.WriteString(module + ": " + text + "\n")
		}
	}
	return any, nil
}
