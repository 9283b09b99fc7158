package cli

import (
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/hawktrace/hawk/internal/order"
	"github.com/hawktrace/hawk/internal/tool"
)

// tools is `hawk tools`: it lists the tools, or shows or checks some of them. It is read by
// hand, since its words are no options of a run.
func (c *command) tools(args []string) int {
	show, format := "", "text"
	var words []string
	for i := 0; i < len(args); i++ {
		arg := args[i]
		switch {
		case arg == "--cat" || arg == "--man" || arg == "--check" || arg == "--words":
			show = arg
		case arg == "-f" && i+1 < len(args) && (args[i+1] == "json" || args[i+1] == "text"):
			i++
			format = args[i]
		case strings.HasPrefix(arg, "-"):
			return findWord("tools").wrong(c, "unknown option "+arg)
		default:
			words = append(words, arg)
		}
	}
	switch show {
	case "":
		return c.listTools(words)
	case "--check":
		return c.checkTools(words, format)
	case "--words":
		return c.toolWords(words)
	}
	if len(words) != 1 {
		return findWord("tools").wrong(c, show+" takes the name of one tool")
	}
	t, ok := tool.Find(words[0])
	switch {
	case !ok:
		return c.scriptError(noTool(words[0]))
	case show == "--man":
		return c.tell(toolPage(t))
	}
	return c.tell(t.Whole())
}

// toolWords prints what completion offers: names of tools, or the options of one. Options without a
// text in help are left out: they are opposites and aliases.
func (c *command) toolWords(names []string) int {
	words := append(tool.Names(), commandWords()...)
	if len(names) > 0 {
		t, ok := tool.Find(names[0])
		if !ok {
			return exitUsage
		}
		words = nil
		for _, o := range toolTable(t) {
			if o.doc != "" {
				words = append(words, o.spellings()...)
			}
		}
	}
	return c.tell(strings.Join(words, "\n") + "\n")
}

// printTool is --print-script.
func (c *command) printTool() int {
	if c.narrow != nil {
		c.warn("the script has patterns of all names in place of regular expressions; --probe-filter narrows them")
	}
	return c.tell(c.tool.Filled(c.toolTexts()))
}

// listTools lists the tools by areas: those of the areas and with the words asked for.
func (c *command) listTools(words []string) int {
	var b strings.Builder
	// This one is a command, which users look for among the tools.
	all := append(tool.All(), &tool.Tool{Name: "tplist", Area: "general",
		Brief: "tracepoints of the kernel, and marks of programs and libraries"})
	order.By(all, tool.ByArea)
	longest := 0
	for _, t := range all {
		longest = max(longest, len(t.Name))
	}
	area := ""
	for _, t := range all {
		// Tools are found by their names in other collections, too.
		text := strings.ToLower(t.Name + " " + t.Brief + t.Abroad())
		if !slices.ContainsFunc(words, func(word string) bool {
			return word == t.Area || strings.Contains(text, strings.ToLower(word))
		}) && len(words) > 0 {
			continue
		}
		if t.Area != area {
			area = t.Area
			fmt.Fprintln(&b, area)
		}
		fmt.Fprintf(&b, "  %-*s  %s\n", longest, t.Name, t.Brief)
	}
	if b.Len() == 0 {
		return c.fail(exitUsage, fmt.Errorf("no tool has to do with \"%s\"\nHINT: \"hawk tools\" lists all",
			strings.Join(words, " ")))
	}
	return c.tell(b.String())
}

// help is `hawk help`: hawk's own, or the manual of a tool.
func (c *command) help(args []string) int {
	if len(args) == 0 {
		return c.tell(usage())
	}
	if s := findWord(args[0]); s != nil {
		return s.start(c, []string{"--help"})
	}
	t, ok := tool.Find(args[0])
	if !ok {
		return c.scriptError(noTool(args[0]))
	}
	return c.manualOf(t)
}

// commonOptions is what a manual says of the options that every tool has.
const commonOptions = "Every tool has hawk's own options -p, -c, -f, -o, --duration, --events, --match, " +
	"--columns, --no-header, --print-script and others, unless it calls something else so: see hawk --help."

// manualOf prints the manual of a tool, as wide as the terminal.
func (c *command) manualOf(t *tool.Tool) int {
	// A file or a pipe has no width, and manuals are read at 80 columns.
	width := 80
	if f, ok := fileOf(c.out); ok {
		if size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ); err == nil && size.Col > 0 {
			width = int(size.Col)
		}
	}
	return c.tell(t.Manual(width, commonOptions))
}

// toolPage is the manual of a tool in the language of man(7). Its sections are the headings of the
// comment at the top of the tool's script.
func toolPage(t *tool.Tool) string {
	var b strings.Builder
	fmt.Fprintf(&b, ".TH %s\\-HAWK 8 \"\" \"hawk %s\" \"System Administration\"\n.SH NAME\n%s\\-hawk \\- %s\n",
		strings.ToUpper(roff(t.Name)), roff(Version), roff(t.Name), roff(t.Brief))
	b.WriteString(".SH SYNOPSIS\n.nf\n")
	for _, line := range t.Synopsis {
		fmt.Fprintf(&b, ".B hawk %s\n", roff(line))
	}
	b.WriteString(".fi\n")
	paragraphs := func(title string, lines []string) {
		for i, text := range tool.Paragraphs(lines) {
			if i == 0 {
				b.WriteString(".SH " + title + "\n")
			} else {
				b.WriteString(".PP\n")
			}
			b.WriteString(roffText(text) + "\n")
		}
	}
	entry := func(name, doc string) { fmt.Fprintf(&b, ".TP\n.B %s\n%s\n", roff(name), roffText(doc)) }
	paragraphs("DESCRIPTION", t.Description)
	if len(t.Options) > 0 {
		b.WriteString(".SH OPTIONS\n")
	}
	for i := range t.Options {
		entry(t.Options[i].Spelling(), t.Options[i].Doc)
	}
	b.WriteString(".PP\n" + roffText(commonOptions) + "\n")
	if len(t.Operands) > 0 {
		b.WriteString(".SH OPERANDS\n")
	}
	for _, o := range t.Operands {
		entry(o.Name, o.Doc)
	}
	b.WriteString(".SH OUTPUT\n")
	for _, e := range t.Output {
		entry(e.Name, e.Doc)
	}
	b.WriteString(".SH EXAMPLES\n")
	for _, e := range t.Examples {
		entry("hawk "+e.Name, e.Doc)
	}
	b.WriteString(".SH SAMPLE\n.nf\n")
	for _, line := range t.Sample {
		b.WriteString(roffText(line) + "\n")
	}
	b.WriteString(".fi\n")
	paragraphs("COST", t.Cost)
	paragraphs("NEEDS", t.Needs)
	paragraphs("LIMITS", t.Limits)
	if len(t.Elsewhere) > 0 {
		b.WriteString(".SH ELSEWHERE\n" + roffText(tool.ElsewhereIntro) + "\n")
	}
	for _, f := range t.Elsewhere {
		entry(strings.Join(f.Words, ", "), f.Doc)
	}
	b.WriteString(".SH SEE ALSO\n.BR hawk (8)")
	for _, name := range t.See {
		b.WriteString(",\n.BR " + roff(name) + "\\-hawk (8)")
	}
	b.WriteString("\n")
	return ascii(b.String())
}
