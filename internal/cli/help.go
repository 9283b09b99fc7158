package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hawktrace/hawk/internal/markdown"
)

// groups are the sections of options, in the order of help and manual page.
var groups = []struct {
	title string
	group group
}{{"OPTIONS", ordinary}, {"FILES AND PICTURES", pictures}, {"LIVE VIEWS", views},
	{"DEVELOPER OPTIONS", developer}, {"TROUBLESHOOTING OPTIONS", trouble}, {"COMPATIBILITY OPTIONS", compatible}}

// examples are commands that help and manual page show.
var examples = []struct{ command, doc string }{
	{`hawk -e 'begin { printf("hello\n"); }'`, "say hello"},
	{`hawk -l 'tracepoint:syscalls:sys_enter_*'`, "list tracepoints"},
	{`hawk -lv 'tracepoint:sched:sched_switch'`, "show what a probe offers"},
	{`hawk -e 'tracepoint:raw_syscalls:sys_enter { @[comm] = count(); }'`, "count system calls by program"},
	{`hawk -e 'uprobe:libc:malloc { @ = hist(arg0); }' -c './program'`, "how much a program allocates"},
}

// uses are the forms of the command line that begin with no command's word.
func uses() []use {
	return []use{
		{"TOOL [options] [operands]", "run a ready-made tool, such as opensnoop or tcplife"},
		{"[options] FILE [arguments]", "run a script"},
		{"[options] -e PROGRAM [arguments]", "run a script that is given as text"},
		{"[options] -", "read the script from standard input"},
		{"-l [PATTERN | FILE]", "list probes"},
	}
}

// usage is the help text. The text is made of the tables, so that no option can be missing in
// it.
func usage() string {
	var b strings.Builder
	b.WriteString(`hawk traces programs and the kernel with scripts compiled to eBPF.

USAGE:
`)
	for _, u := range uses() {
		b.WriteString(usageLine("hawk "+u.operands, u.doc))
	}
	for _, s := range subcommands() {
		b.WriteString(s.help())
	}
	b.WriteByte('\n')
	table := options()
	for _, section := range groups {
		fmt.Fprintf(&b, "%s:\n", section.title)
		for i := range table {
			if table[i].group == section.group {
				b.WriteString(table[i].help())
			}
		}
		b.WriteByte('\n')
	}
	for _, g := range formatGroups() {
		fmt.Fprintf(&b, "%s:\n", g.title)
		for _, f := range g.list {
			text := markdown.Wrap(f.doc, formatIndent, 100-len(formatIndent))
			fmt.Fprintf(&b, "    %-*s%s\n", len(formatIndent)-4, f.name, text)
		}
		b.WriteByte('\n')
	}
	b.WriteString(`CONFIGURATION:
    Settings come from the environment (HAWK_MAX_STRLEN=200, BPFTRACE_… as well), then from a
    config block in the script (config = { max_strlen = 200 }), then from defaults.

EXAMPLES:
`)
	for _, e := range examples {
		fmt.Fprintf(&b, "    %s\n        %s\n", e.command, e.doc)
	}
	b.WriteString(`
DOCUMENTATION:
    docs/ of the source, starting at docs/reference.md
`)
	return b.String()
}

// formatIndent is in front of the second line of what a format is.
const formatIndent = "                "

// helpColumn is where the texts of the options begin.
const helpColumn = 32

// help is the lines of an option in the help text: its forms, and what it does from helpColumn on,
// on a line of its own if the forms are too long.
func (o *option) help() string {
	left := "    "
	switch {
	case o.short != 0 && o.long != "":
		left += "-" + string(o.short) + ", --" + o.long
	case o.short != 0:
		left += "-" + string(o.short)
	default:
		left += "    --" + o.long
	}
	if o.arg != "" && !o.optional() {
		left += " "
	}
	left += o.arg
	if n := len([]rune(left)); n < helpColumn-1 {
		return left + strings.Repeat(" ", helpColumn-n) + o.doc + "\n"
	}
	return left + "\n" + strings.Repeat(" ", helpColumn) + o.doc + "\n"
}

// A subcommand is a first operand that is neither a tool, a file nor an option. A file of its name is run as ./NAME.
type subcommand struct {
	word string
	run  func(c *command, args []string) int
	uses []use
	// manual: it answers --help at more length than uses do.
	manual bool
}

// A use is a form of a command: what stands behind its word, and what it does.
type use struct{ operands, doc string }

// subcommands are all of them, in the order of help. It is a function, as a variable would refer
// to itself by way of help.
func subcommands() []subcommand {
	return []subcommand{
		{"tools", (*command).tools, []use{
			{"[AREA | WORD…]", "list ready-made tools, or those of an area"},
			{"--check [-f json] [NAME…]", "say what tools will do on this kernel"},
			{"--cat NAME", "print the script of a tool"},
			{"--man NAME", "print the manual page of a tool"},
		}, false},
		{"help", (*command).help, []use{{"[TOOL]", "the manual of a tool or command"}}, false},
		{"tplist", (*command).tplist, []use{{"[-l FILE | -p PID] [PATTERN]", "list tracepoints, or marks of programs"}},
			true},
		{"diff", (*command).diff, []use{{"OLD NEW", "compare the profiles of two runs"}}, true},
		{"view", (*command).view, []use{{"FILE", "look at a saved run again"}}, true},
		{"serve", (*command).serveStreams, []use{{"--stdio", "answer requests of another program (docs/library.md)"}},
			false},
		{"usdt", (*command).marks, []use{{"gc", "remove files of marks that ended programs have left"}}, false},
	}
}

// findWord is the command of a name; nil if there is none.
func findWord(name string) *subcommand {
	all := subcommands()
	if i := slices.IndexFunc(all, func(s subcommand) bool { return s.word == name }); i >= 0 {
		return &all[i]
	}
	return nil
}

// commandWords are the words of all commands.
func commandWords() (out []string) {
	for _, s := range subcommands() {
		out = append(out, s.word)
	}
	return out
}

// start runs the command. Commands of one line need no parser for --help.
func (s *subcommand) start(c *command, args []string) int {
	if !s.manual && len(args) == 1 && (args[0] == "--help" || args[0] == "-h") {
		return c.tell("USAGE:\n" + s.help())
	}
	return s.run(c, args)
}

// help is a line for each use.
func (s *subcommand) help() string {
	var b strings.Builder
	for _, u := range s.uses {
		b.WriteString(usageLine("hawk "+s.word+" "+u.operands, u.doc))
	}
	return b.String()
}

// wrong is the error of a command line that is no use of the command.
func (s *subcommand) wrong(c *command, what string) int {
	var forms []string
	for _, u := range s.uses {
		forms = append(forms, "hawk "+s.word+" "+u.operands)
	}
	return c.fail(exitUsage, fmt.Errorf("%s: %s\nHINT: %s", s.word, what, strings.Join(forms, ", ")))
}

// usageColumn is where it stands what a form of the command line does.
const usageColumn = 46

// usageLine is a line of usage.
func usageLine(form, doc string) string {
	return fmt.Sprintf("    %-*s%s\n", usageColumn-4, form, doc)
}
