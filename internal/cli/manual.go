package cli

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/hawktrace/hawk/internal/config"
	"github.com/hawktrace/hawk/internal/probe"
)

// roffForm is a form of a command line: names for something in italics, what is typed in bold.
// Words in capitals are those that the user replaces.
func roffForm(form string) string {
	var b strings.Builder
	for word := range strings.FieldsFuncSeq(form, func(r rune) bool { return r == ' ' }) {
		// Brackets and dots say what may be left out or repeated, and are typed by nobody.
		core := strings.Trim(word, "[]…")
		at := strings.Index(word, core)
		font := `\fB`
		if core == "" || core == "|" {
			font = `\fR`
		} else if core == strings.ToUpper(core) && core[0] != '-' || core == "options" || core == "operands" ||
			core == "arguments" {
			font = `\fI`
		}
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(`\fR` + word[:at] + font + roff(core) + `\fR` + word[at+len(core):])
	}
	return b.String()
}

// manual is the page hawk(8) in the language of man(7), from the tables that the help text is made
// of. Options, probes, settings and formats come from the tables that implement them. No date
// stands in the head, so that the same version makes the same page.
func manual() string {
	var b strings.Builder
	fmt.Fprintf(&b, ".TH HAWK 8 \"\" \"hawk %s\" \"System Administration\"\n", roff(Version))
	b.WriteString(manualHead)
	for _, u := range uses() {
		fmt.Fprintf(&b, ".B hawk %s\n", roffForm(u.operands))
	}
	for _, s := range subcommands() {
		for _, u := range s.uses {
			fmt.Fprintf(&b, ".B hawk %s\n", roffForm(s.word+" "+u.operands))
		}
	}
	b.WriteString(manualDescription)
	table := options()
	for _, g := range groups {
		fmt.Fprintf(&b, ".SH %s\n", g.title)
		for i := range table {
			if table[i].group == g.group {
				b.WriteString(table[i].roff())
			}
		}
	}
	manualProbes(&b)
	b.WriteString(manualConfiguration)
	for _, s := range config.Settings() {
		fmt.Fprintf(&b, ".TP\n.BR %s \" (%s)\"\n%s\n", roff(s.Name), roff(s.Default), roffText(s.Doc))
	}
	for _, g := range formatGroups() {
		fmt.Fprintf(&b, ".SH %s\n", roff(g.title))
		for _, f := range g.list {
			fmt.Fprintf(&b, ".TP\n.B %s\n%s\n", roff(f.name), roffText(f.doc))
		}
	}
	b.WriteString(manualOutcome)
	for _, e := range examples {
		fmt.Fprintf(&b, ".TP\n.B %s\n%s\n", roff(e.command), roffText(e.doc))
	}
	b.WriteString(".SH SEE ALSO\n.BR bpf (2),\n.BR perf_event_open (2),\n.BR capabilities (7)\n")
	return ascii(b.String())
}

// manualProbes is the section about the types of probes.
func manualProbes(b *strings.Builder) {
	b.WriteString(".SH PROBES\n")
	for _, k := range probe.Kinds() {
		for i, form := range k.Forms {
			if i == 0 {
				b.WriteString(".TP\n")
			} else {
				b.WriteString(".TQ\n")
			}
			fmt.Fprintf(b, ".B %s\n", roff(form))
		}
		b.WriteString(roffText(k.Doc) + "\n")
	}
}

// Parts of the page that no table has.
const (
	manualHead = `.SH NAME
hawk \- trace programs and the kernel with scripts compiled to eBPF
.SH SYNOPSIS
.nf
`
	manualDescription = `.fi
.SH DESCRIPTION
.B hawk
traces a running Linux system. A script in the language of bpftrace is compiled to eBPF by hawk's own compiler, runs
inside the kernel whenever an event fires, and summarises data there.
.PP
A script is a list of probes: attach points, a predicate between slashes that may be left out, and a body in braces.
.BR begin
runs before anything is attached,
.BR end
when tracing is over; then all maps that hold something are printed.
.PP
Operands behind the script are its parameters,
.BR $1 ", " $2 " and so on;"
what follows
.B \-\-
and begins with two dashes are options that it declares with
.BR getopt ().
`
	manualConfiguration = `.SH CONFIGURATION
Settings come from the environment, with
.B HAWK_
or
.B BPFTRACE_
in front of the name in upper case, then from a block in the script,
.BR "config = { max_strlen = 200 }" ,
then from defaults.
`
	// manualOutcome is about output, status, signals and the environment; examples follow.
	manualOutcome = `.SH OUTPUT FOR PROGRAMS
.B -f json
is what bpftrace writes: keys of maps are joined to one text, and two keys can become the same. Programs written
anew should take
.BR "-f json-safe" ,
which has keys as arrays and bytes that are no text as {"$bytes": "ff"}.
.SH EXIT STATUS
.TP
.B 0
The run came to its end: by
.BR exit (),
SIGINT, SIGTERM or SIGHUP, or with the command or process that was traced.
.TP
.I N
The status that the script gave to
.BR exit (),
of which 8 bits count.
.TP
.B 1
Wrong usage, an error in the script, missing privileges, or a test that failed.
.TP
.B 2
A setting in the environment is wrong.
.TP
.B 3
The probes cost more than
.B --max-overhead
allows.
.TP
.B 255
The programs could not be loaded or attached.
.SH SIGNALS
SIGINT, SIGTERM and SIGHUP (unless it is ignored, as by
.BR nohup (1))
end the run in good order: end probes run and maps are printed. Commands of system() are ended, and those that are
waiting are dropped and counted. Output that nobody has read for a second is given up, with an error. A second signal
leaves out whatever takes long. SIGUSR1 runs
.B self:signal:SIGUSR1
probes. SIGQUIT ends hawk at once, without output.
.SH ENVIRONMENT
.TP
.B HAWK_COLOR
.BR always ", " never " or " auto ,
which is the default: whether messages are coloured.
.TP
.B NOTIFY_SOCKET
Set by service managers: hawk says there when everything is attached.
.SH EXAMPLES
`
)

// ascii spells other characters as the formatters do, whatever their locale.
func ascii(s string) string {
	var b strings.Builder
	for _, r := range s {
		if r < utf8.RuneSelf {
			b.WriteRune(r)
		} else {
			fmt.Fprintf(&b, "\\[u%04X]", r)
		}
	}
	return b.String()
}

// roff escapes what has a meaning in the text of a page. A hyphen in a command must be a minus
// sign, or it cannot be copied from the page.
func roff(s string) string {
	return strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`, "`", `\(ga`, "^", `\(ha`, "~", `\(ti`, `"`,
		`\(dq`).Replace(s)
}

// roffText is running text: names between backquotes become bold.
func roffText(s string) string {
	parts := strings.Split(s, "`")
	var b strings.Builder
	for i, p := range parts {
		if i%2 == 1 && i < len(parts)-1 {
			b.WriteString(`\fB` + roff(p) + `\fR`)
		} else {
			b.WriteString(roff(p))
		}
	}
	text := b.String()
	// A line that begins with a dot is a request of the formatter.
	if strings.HasPrefix(text, ".") {
		text = `\&` + text
	}
	return text
}

// roff is an option as the manual page has it.
func (o *option) roff() string {
	var names []string
	if o.short != 0 {
		names = append(names, `\fB\-`+string(o.short)+`\fR`)
	}
	if o.long != "" {
		names = append(names, `\fB\-\-`+roff(o.long)+`\fR`)
	}
	head := strings.Join(names, ", ")
	if o.arg != "" && !o.optional() {
		head += " "
	}
	if o.arg != "" {
		head += `\fI` + roff(o.arg) + `\fR`
	}
	text := o.doc
	if len(o.values) > 3 { // fewer are in the text
		text += "; one of " + strings.Join(o.values, ", ")
	}
	return ".TP\n" + head + "\n" + roffText(sentence(text)) + "\n"
}

// sentence begins with a capital and ends with a stop.
func sentence(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:] + "."
}
