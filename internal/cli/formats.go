package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hawktrace/hawk/internal/builtin/show"
	"github.com/hawktrace/hawk/internal/export"
	"github.com/hawktrace/hawk/internal/object"
	"github.com/hawktrace/hawk/internal/output"
	"github.com/hawktrace/hawk/internal/ui/live"
	"github.com/hawktrace/hawk/internal/view"
)

// A formatGroup is a section of formats in help and manual.
type formatGroup struct {
	title string
	list  []namedFormat
}

// A namedFormat is a value of -f with its line of help.
type namedFormat struct{ name, doc string }

// formatGroups are the values of -f: forms of what a script prints and live views, then files made of a run. Each is
// declared in the file that writes it. Two of one name are one value: what the script prints decides between them.
func formatGroups() []formatGroup {
	var prints, files []namedFormat
	for _, f := range output.Forms() {
		prints = append(prints, namedFormat{f.Name, f.Doc})
	}
	for _, f := range live.Forms() {
		prints = append(prints, namedFormat{f.Name, f.Doc})
	}
	for _, f := range export.Formats() {
		files = append(files, namedFormat{f.Name, f.Doc})
	}
	return []formatGroup{{"FORMATS (-f)", prints}, {"FORMATS OF FILES (-f, --save)", files}}
}

// formatNames are the names of all formats.
func formatNames() (out []string) {
	for _, g := range formatGroups() {
		for _, f := range g.list {
			if !slices.Contains(out, f.name) {
				out = append(out, f.name)
			}
		}
	}
	return out
}

// liveNames are the values of -f that show a run as it goes on.
func liveNames() (out []string) {
	for _, f := range live.Forms() {
		out = append(out, f.Name)
	}
	return out
}

// live reports whether -f names a live view.
func (c *command) live() bool { return slices.Contains(liveNames(), c.format) }

// prints reports whether a format is a form of what the script itself prints, which then needs no
// maps to be of use. It is known when the script is compiled, and of that of -f noted in printed: a name
// such as folded stands for what the script prints if it prints stacks, else for a file of its maps.
func prints(format string, o *object.Object) bool {
	f := output.FindForm(format)
	if f == nil {
		return false
	}
	switch f.Of {
	case output.OfRows:
		return show.PrintsRows(o)
	case output.OfStacks:
		return show.PrintsStacks(o)
	}
	return true
}

// noFormat is the error for a format that a tool has nothing for, with those that it has. Its user knows
// the tool, and not the maps of its script.
func (c *command) noFormat(s *view.Script, o *object.Object) error {
	var have []string
	for _, name := range formatNames() {
		f := export.Find(name)
		if f == nil || prints(name, o) {
			have = append(have, name)
		} else if maps, err := f.Choose(s, nil); err == nil && (len(maps) == 1 || !f.Takes.One()) {
			have = append(have, name)
		}
	}
	return fmt.Errorf("%s has nothing for -f %s\nHINT: its formats are %s", c.tool.Name, c.format,
		strings.Join(have, ", "))
}

// form is how what the script prints is written; text where -f names something made of a run. A
// name may be one of both, and printed decides.
func (c *command) form() *output.Form {
	if f := output.FindForm(c.format); f != nil && (c.printed || f.Of == output.OfAnything) {
		return f
	}
	return output.PlainText
}

// json reports whether the output is JSON of some form.
func (c *command) json() bool { return c.form().JSON }

// viewFormat is the format that -f names, nil if it is of the sort that a script
// prints in. nil is the common case: most runs print.
func (c *command) viewFormat() *export.Format {
	if c.form().Name == c.format {
		return nil
	}
	return export.Find(c.format)
}

// badFormat reports a format of output that does not exist. The words are bpftrace's for scripts,
// since programs compare them, and hawk's for tools. It is asked late, since errors in the
// script come first.
func (c *command) badFormat() (status int, bad bool) {
	names := formatNames()
	if c.format == "" || slices.Contains(names, c.format) {
		return exitOK, false
	}
	if c.tool != nil {
		fmt.Fprintf(c.err, "ERROR: Invalid output format \"%s\"\nHINT: formats are %s%s\n", c.format,
			strings.Join(names, ", "), c.elsewhere("-f"))
		return exitUsage, true
	}
	fmt.Fprintf(c.err, "ERROR: Invalid output format \"%s\"\nValid formats: '%s'\n", c.format,
		strings.Join(names, "', '"))
	return exitUsage, true
}
