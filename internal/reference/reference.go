// Package reference prints the reference manual from the tables that declare
// the language, probe kinds, builtins, aggregations and settings, and formats.
package reference

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	_ "github.com/hawktrace/hawk/internal/builtin/table" // all that there is
	_ "github.com/hawktrace/hawk/internal/probe/kinds"   // likewise

	"github.com/hawktrace/hawk/internal/builtin"
	"github.com/hawktrace/hawk/internal/config"
	"github.com/hawktrace/hawk/internal/export"
	"github.com/hawktrace/hawk/internal/machine"
	"github.com/hawktrace/hawk/internal/markdown"
	"github.com/hawktrace/hawk/internal/output"
	"github.com/hawktrace/hawk/internal/probe"
	"github.com/hawktrace/hawk/internal/stdlib"
	"github.com/hawktrace/hawk/internal/types"
	"github.com/hawktrace/hawk/internal/ui/live"
)

//go:generate go test -run TestReference|TestFileFormats . -update

// preamble warns off editors: TestReference compares the page with what is printed here.
const preamble = `# Reference

This page is printed from the tables that the compiler itself uses; do not edit it. [language.md](language.md)
describes the language around it.
`

// Write prints the manual as markdown. The order of the parts is that in which a reader meets
// them in a script.
func Write(w io.Writer) error {
	out := bufio.NewWriter(w)
	out.WriteString(preamble)
	writeProbes(out)
	writeFuncs(out)
	writeAggs(out)
	writeMacros(out)
	writeSettings(out)
	writeFormats(out)
	return out.Flush()
}

// offers names what a probe kind may offer, in the order of the manual.
var offers = []struct {
	has  probe.Has
	name string
}{
	{probe.HasArgs, "args"},
	{probe.HasArgN, "arg0, arg1, …"},
	{probe.HasRetval, "retval"},
	{probe.HasFunc, "func"},
	{probe.HasRegs, "registers"},
	{probe.HasCtx, "ctx"},
	{probe.HasGoroutine, "goid"},
}

// writeProbes prints the kinds of probes with what each offers.
func writeProbes(w *bufio.Writer) {
	w.WriteString(`
## Probes

Long names may be written in any case, names of one or two letters exactly as they are here. In the parts of
an attach point ` + "`*`, `?` and `[…]`" + ` are wildcards unless the part is quoted.
`)
	for _, k := range probe.Kinds() {
		fmt.Fprintf(w, "\n### %s\n\n", k.Name)
		codeBlock(w, k.Forms...)
		paragraph(w, k.Doc)
		var facts list
		facts.add("other names", quoted(k.Aliases))
		var has []string
		for _, o := range offers {
			if k.Has&o.has != 0 {
				has = append(has, o.name)
			}
		}
		facts.add("offers", strings.Join(has, ", "))
		// Kinds that offer no addresses say nothing of it.
		if k.Space != types.Unset {
			facts.add("addresses", "of "+k.Space.String()+" memory unless a type says otherwise")
		}
		// Scripts compare it, so that it may differ from the name that people write.
		if k.TypeName() != k.Name {
			facts.add("`probetype`", "`"+k.TypeName()+"`")
		}
		facts.write(w)
		example(w, k.Example)
	}
}

// writeFuncs prints builtins, called functions in the manual whether they take arguments or not.
func writeFuncs(w *bufio.Writer) {
	w.WriteString(`
## Functions and variables

Names shown without parentheses may also be written with empty ones. Arguments in brackets may be left out.
`)
	for _, f := range builtin.All() {
		fmt.Fprintf(w, "\n### %s\n\n", f.Name)
		codeBlock(w, funcForms(f)...)
		paragraph(w, f.Doc)
		var facts list
		facts.params(f.Params, f.Words)
		facts.add("yields", yields(f))
		facts.add("probes", kindsWith(f.Probes))
		if f.Unsafe {
			facts.add("needs", "`--unsafe`")
		}
		// Versions are those of the kernel that has it first; distributions may have it earlier.
		for _, n := range f.Needs {
			facts.add("needs", fmt.Sprintf("%s (Linux %s)", n.What, n.Since))
		}
		// Old names are warned of; the others are those of the library of bpftrace, and taken as
		// they are.
		facts.add("old names", quoted(f.Old))
		facts.add("other names", quoted(f.Also))
		facts.write(w)
		example(w, f.Example)
	}
}

// funcForms are the ways to write a use of a builtin. A builtin that may stand without
// parentheses, and takes arguments, has two forms.
func funcForms(f *builtin.Func) []string {
	switch {
	case f.Bare && len(f.Params) == 0:
		return []string{f.Name}
	case f.Bare:
		return []string{f.Name, builtin.Signature(f.Name, f.Params, max(f.Min, 1), f.Variadic)}
	}
	return []string{builtin.Signature(f.Name, f.Params, f.Min, f.Variadic)}
}

// yields is what a use comes to, in words where the type depends on the arguments.
func yields(f *builtin.Func) string {
	switch {
	case f.Yields != "":
		return f.Yields
	case f.Result == nil || f.Result == types.Void:
		return ""
	}
	return f.Result.String()
}

// kindsWith lists the supported kinds that offer all of need; "" for no need. The reader of a
// builtin wants to know where it works, rather than by what.
func kindsWith(need probe.Has) string {
	if need == 0 {
		return ""
	}
	var out []string
	for _, k := range probe.Kinds() {
		if k.Has&need == need {
			out = append(out, k.Name)
		}
	}
	return strings.Join(out, ", ")
}

// writeAggs prints aggregations with the type that a cast or a comparison makes of them.
func writeAggs(w *bufio.Writer) {
	w.WriteString(`
## Aggregations

An aggregation is assigned to a map, ` + "`@name = count()` or `@name[key] = count()`" + `, and updates it. Every CPU has a cell
of its own; the cells are merged when the map is printed or read.
`)
	for _, a := range builtin.Aggs() {
		fmt.Fprintf(w, "\n### %s\n\n", a.Name)
		codeBlock(w, builtin.Signature(a.Name, a.Params, a.Min, false))
		paragraph(w, a.Doc)
		var facts list
		facts.params(a.Params, nil)
		switch {
		case a.Castable && a.Unsigned:
			facts.add("reads as", "uint64")
		case a.Castable:
			facts.add("reads as", "int64, or uint64 if all arguments are unsigned")
		default:
			facts.add("reads as", "nothing: it can be printed, cleared, zeroed and deleted only")
		}
		facts.write(w)
		example(w, a.Example)
	}
}

// writeMacros prints the library's macros from their comments: they have no table.
func writeMacros(w *bufio.Writer) {
	w.WriteString(`
## Macros of the library

They are written in the language and stand there for any script. A macro of the script's own with the same name
and as many parameters takes the place of one of these.
`)
	for _, m := range stdlib.Macros() {
		fmt.Fprintf(w, "\n### %s\n\n", m.Name)
		codeBlock(w, m.Signature)
		paragraph(w, m.Doc)
		example(w, m.Example)
	}
}

// An Example is a script of the manual. Tests compile each and run it on the kernels that can.
type Example struct {
	Section string // that it stands in: probes, functions, aggregations, library, settings
	Name    string
	Script  string
	Needs   []*machine.Feature // what the kernel must offer, apart from the probes
}

// Examples lists the scripts of all entries. Settings have none of their own: the one made here
// sets the default, so that it does no harm.
func Examples() []Example {
	var out []Example
	for _, k := range probe.Kinds() {
		out = append(out, Example{Section: "probes", Name: k.Name, Script: k.Example})
	}
	for _, f := range builtin.All() {
		out = append(out, Example{Section: "functions", Name: f.Name, Script: f.Example, Needs: f.Needs})
	}
	for _, a := range builtin.Aggs() {
		out = append(out, Example{Section: "aggregations", Name: a.Name, Script: a.Example})
	}
	for _, m := range stdlib.Macros() {
		out = append(out, Example{Section: "library", Name: m.Name, Script: m.Example})
	}
	for _, s := range config.Settings() {
		value := s.Default
		switch {
		case s.Type == config.Choice && !slices.Contains(s.Values, value):
			value = s.Values[0]
		case s.Type == config.Text:
			value = strconv.Quote(value)
		}
		out = append(out, Example{Section: "settings", Name: s.Name,
			Script: "config = { " + s.Name + " = " + value + " } begin { }"})
	}
	return out
}

func writeSettings(w *bufio.Writer) {
	w.WriteString(`
## Settings

A setting is written in the script, ` + "`config = { max_strlen = 256; }`" + `, or given in the environment,
` + "`HAWK_MAX_STRLEN=256`" + `, which wins. Names with ` + "`BPFTRACE_`" + ` are read too.

| setting | values | default | |
|---|---|---|---|
`)
	for _, s := range config.Settings() {
		def := "`" + s.Default + "`"
		// The default may depend on the machine, and then is described instead.
		if s.Type == config.Choice && !slices.Contains(s.Values, s.Default) {
			def = s.Default // words
		}
		// A choice has its values in place of its type, which would say nothing.
		kind := s.Type.String()
		if len(s.Values) > 0 {
			kind = quoted(s.Values)
		}
		doc := s.Doc
		if old := s.Old(); len(old) > 0 {
			doc += " Old name: " + quoted(old) + "."
		}
		fmt.Fprintf(w, "| `%s` | %s | %s | %s |\n", s.Name, kind, def, doc)
	}
}

// writeFormats prints the formats of three packages, each of which has a table of its own.
func writeFormats(w *bufio.Writer) {
	w.WriteString(`
## Formats

What a script prints is written in one of these forms, and a run that goes on can be looked at:

| ` + "`-f`" + ` | What it is |
|---|---|
`)
	for _, f := range output.Forms() {
		fmt.Fprintf(w, "| `%s` | %s |\n", f.Name, f.Doc)
	}
	// Views of a run that goes on are chosen by the same option.
	for _, f := range live.Forms() {
		fmt.Fprintf(w, "| `%s` | %s |\n", f.Name, f.Doc)
	}
	w.WriteString("\nFiles are made of the run, by `-f` or `--save` ([views.md](views.md)):\n\n" + FileFormats())
}

// FileFormats is the table of the formats of files. docs/views.md has it too, which a test keeps
// the same.
func FileFormats() string {
	var b strings.Builder
	b.WriteString("| Format | What it is | Name ends in | Written | Maps |\n|---|---|---|---|---|\n")
	for _, f := range export.Formats() {
		// A format that goes to a socket has no file, and one that streams is there before the
		// end.
		end, written := "`."+f.Ext+"`", "at the end"
		switch {
		case f.Socket != "":
			end, written = "", "as it happens, to `"+f.Socket+"`"
		case f.Stream != nil:
			written = "as it happens"
		}
		if f.Binary {
			written += "; not for a terminal"
		}
		maps := map[export.Takes]string{
			export.Everything: "all, and events", export.Profiles: "all profiles", export.OneProfile: "one profile",
			export.OneTable: "one of any kind",
		}[f.Takes]
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", f.Name, f.Doc, end, written, maps)
	}
	return b.String()
}

// A list is the facts below an entry's text.
type list []string

// add leaves out a fact without text, so that callers need not ask first.
func (l *list) add(what, text string) {
	if text != "" {
		*l = append(*l, "- "+what+": "+text)
	}
}

// params lists the words that a parameter can be, as their kind would not say which there are.
func (l *list) params(params []builtin.Param, words []string) {
	for _, p := range params {
		text := p.Kind.String()
		if p.Kind == builtin.Word || p.Kind == builtin.WordOrIntLit {
			text = quoted(words)
			if p.Kind == builtin.WordOrIntLit {
				text += " or an integer"
			}
		}
		l.add("`"+p.Name+"`", text)
	}
}

// write begins with an empty line: markdown takes a list that follows text at once for more of
// that.
func (l list) write(w *bufio.Writer) {
	if len(l) > 0 {
		w.WriteString("\n")
	}
	for _, line := range l {
		w.WriteString(markdown.Fold(line, "  ") + "\n")
	}
}

// paragraph folds lines, so that a change of a word is a small difference in the page.
func paragraph(w *bufio.Writer, text string) {
	w.WriteString("\n" + markdown.Fold(text, "") + "\n")
}

// codeBlock is fenced: indented code behind a list would belong to the list.
func codeBlock(w *bufio.Writer, lines ...string) {
	fmt.Fprintf(w, "```\n%s\n```\n", strings.Join(lines, "\n"))
}

// example says that a script is one: a block of code behind a list would look like a form to
// fill in.
func example(w *bufio.Writer, script string) {
	w.WriteString("\nFor example:\n\n")
	codeBlock(w, script)
}

// quoted joins names, each as code.
func quoted(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return "`" + strings.Join(names, "`, `") + "`"
}
