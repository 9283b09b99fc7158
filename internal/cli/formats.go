package cli

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/hawktrace/hawk/internal/builtin/show"
	"github.com/hawktrace/hawk/internal/export"
	"github.com/hawktrace/hawk/internal/object"
	"github.com/hawktrace/hawk/internal/outfile"
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

// A printing is a --save of what the script prints, in a form of -f. It is written as the script prints.
type printing struct {
	form *output.Form
	name string // of the file
	file *outfile.File
	sink output.Sink
	err  error // the first, with which it is given up
}

// findPrinting is the form of a name that --save takes; nil: there is none. Forms for some scripts alone share
// their names with files that are made of any run.
func findPrinting(name string) *output.Form {
	if f := output.FindForm(name); f != nil && f.Of == output.OfAnything {
		return f
	}
	return nil
}

// printNames are the names that findPrinting knows.
func printNames() (out []string) {
	for _, f := range output.Forms() {
		if findPrinting(f.Name) == f {
			out = append(out, f.Name)
		}
	}
	return out
}

// openPrints opens the files, which keep what they hold until begin. loaded says whether they do any more.
func (c *command) openPrints() (closed func(loaded bool), err error) {
	closed = func(loaded bool) {
		for _, p := range c.prints {
			switch {
			case p.file == nil:
			case loaded:
				p.file.Close()
			default:
				p.file.Drop()
			}
		}
	}
	if len(c.prints) > 0 && c.lines != nil {
		return closed, fmt.Errorf("--save %s is for scripts; this command has its own lines: use -o FILE",
			c.prints[0].form.Name)
	}
	var all []*target
	for _, s := range c.saves {
		all = append(all, &target{format: s.format, file: s.file})
	}
	if c.output != "" {
		all = append(all, &target{format: &export.Format{Name: "the output"}, file: c.output})
	}
	for _, p := range c.prints {
		all = append(all, &target{format: &export.Format{Name: p.form.Name}, file: p.name})
		if outfile.Standard(p.name) {
			return closed, fmt.Errorf("--save %s writes while the script prints: name a file", p.form.Name)
		}
	}
	if err := apart(all); err != nil {
		return closed, err
	}
	for _, p := range c.prints {
		if p.file, err = outfile.Open(p.name); err != nil {
			return closed, err
		}
	}
	return closed, nil
}

// beginPrints empties the files.
func (c *command) beginPrints() error {
	for _, p := range c.prints {
		if err := p.file.Empty(); err != nil {
			return err
		}
	}
	return nil
}

// withPrints is a sink that writes the files, too, through valve: who reads a pipe may stop.
func (c *command) withPrints(to output.Sink, valve func(io.Writer) io.Writer) output.Sink {
	if len(c.prints) == 0 {
		return to
	}
	for _, p := range c.prints {
		p.sink = p.form.New(valve(p.file), io.Discard, output.Options{NoWarnings: c.noWarnings, Quiet: c.quiet,
			NoHeader: c.noHeader, NoEnd: c.tool != nil, MaxKeys: c.tool != nil, Tool: c.unread()})
	}
	return &printer{to, c.prints}
}

// donePrints says what went wrong with the files. Such a file is given up, and the run has gone on.
func (c *command) donePrints() (err error) {
	for _, p := range c.prints {
		if p.err != nil {
			p.err = fmt.Errorf("cannot write output file %q: %w", p.name, outfile.Cause(p.err))
		}
		err = cmp.Or(err, p.err, p.file.Done())
	}
	return err
}

// A printer is a sink with files beside it.
type printer struct {
	output.Sink
	files []*printing
}

func (p *printer) each(do func(output.Sink) error) error {
	for _, f := range p.files {
		if f.err == nil {
			f.err = do(f.sink)
		}
	}
	return do(p.Sink)
}

func (p *printer) Write(item output.Item) error {
	return p.each(func(s output.Sink) error { return s.Write(item) })
}

func (p *printer) Idle() error  { return p.each(output.Sink.Idle) }
func (p *printer) Flush() error { return p.each(output.Sink.Flush) }
