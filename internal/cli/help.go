package cli

import (
	"fmt"
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

// usage is the help text.
func usage() string {
	var b strings.Builder
	b.WriteString(`hawk traces programs and the kernel with scripts compiled to eBPF.

USAGE:
    hawk [options] FILE [arguments]
    hawk [options] -e PROGRAM [arguments]
    hawk [options] -              read the program from standard input
    hawk -l [PATTERN | FILE]      list probes
    hawk serve --stdio            answer requests of another program (docs/library.md)
    hawk tplist                   list tracepoints; with -l FILE or -p PID marks
    hawk diff OLD NEW             compare the profiles of two runs
    hawk view FILE                look at a saved run again
    hawk usdt gc                  remove files of marks that ended programs have left

`)
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
			b.WriteString(markdown.Wrap(fmt.Sprintf("    %-12s%s", f.name, f.doc), formatIndent, 100) + "\n")
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
