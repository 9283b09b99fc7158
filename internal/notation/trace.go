package notation

import (
	"fmt"
	"strings"
)

// A Translator makes scripts of what a tool is given.
// The script that it makes is compiled like any other: its options are found as those of a
// script are.
type Translator struct {
	// Options are those that the script is made of, beside the operands.
	Options []string
	// Translate makes the script; given is the values of Options and, by "", of the operands; point makes
	// an attach point in hawk's form of one in the short form; where is told what the script's parts were.
	Translate func(given map[string][]string, point func(string) string, where *Places) (script string, err error)
}

// translators are the tools whose operands are a notation of their own.
// Both are wanted by users who know the notation by heart. New tools are scripts.
var translators = map[string]*Translator{
	"trace":   {Translate: trace},
	"argdist": {Options: []string{counts, histograms, textSize}, Translate: argdist},
}

// Of returns what translates for a tool; nil for those that are scripts as they are.
func Of(tool string) *Translator { return translators[tool] }

// prelude begins the script of every trace.
// Options that every probe obeys are asked in one macro, which is empty work when none is
// given. What hawk does to print a line would be the next line where a probe is on writes, and so
// it is left out; begin runs in hawk.
const prelude = `config = {
  print_maps_on_exit = false;
}

begin
{
  @self = pid;
}

macro others(@self)
{
  getopt("include-self") || pid != @self
}

macro wanted()
{
  (getopt("tid", 0) == 0 || tid == getopt("tid", 0)) &&
      (getopt("name", "") == "" || strcontains(comm, comptime (getopt("name", ""))))
}
`

// trace translates the operands of trace: each is a probe and what it prints.
// A mistake is shown with the operand that it is in.
func trace(given map[string][]string, point func(string) string, where *Places) (string, error) {
	var b strings.Builder
	b.WriteString(prelude)
	for i, text := range given[""] {
		p, err := parse(text)
		if err != nil {
			return "", err
		}
		if err := p.write(&b, i, point(p.point), where); err != nil {
			return "", err
		}
	}
	return b.String(), nil
}

// columns are those in front of the message.
const columns = "TIME:<8t?timestamp TIME(s):>12e?time PID:<7 TID:<7 COMM:<15 CPU:>3?print-cpu FUNC:<16"

// write adds the probe to a script.
// Whether stacks are wanted is decided while the script is compiled, since rows with and
// without are of different types.
func (p *probe) write(b *strings.Builder, id int, point string, where *Places) error {
	s := newScope(p, id, point, where)
	condition, err := s.condition()
	if err != nil {
		return err
	}
	format, values, err := s.message()
	if err != nil {
		return err
	}
	s.writeEntry(b)
	spec, args := columns, "nsecs, nsecs, pid, tid, comm, cpu, "+p.function(point)
	if p.format != "" {
		spec += " - | " + format
	}
	if len(values) > 0 {
		args += ", " + strings.Join(values, ", ")
	}
	fmt.Fprintf(b, "\n%s\n/%s/\n{\n", point, s.begun()+"others(@self) && "+condition)
	key := strings.Join(append([]string{p.function(point)}, values...), ", ")
	fmt.Fprintf(b, "  if comptime (getopt(\"aggregate\", 0) > 0) {\n    @told%d[%s] = count();\n  }\n", id, key)
	for _, stacks := range []struct{ options, stacks string }{
		{"getopt(\"kernel-stack\") && getopt(\"user-stack\")", ", kstack, ustack"},
		{"getopt(\"kernel-stack\") && !getopt(\"user-stack\")", ", kstack"},
		{"!getopt(\"kernel-stack\") && getopt(\"user-stack\")", ", ustack"},
		{"!getopt(\"kernel-stack\") && !getopt(\"user-stack\")", ""},
	} {
		fmt.Fprintf(b, "  if comptime (getopt(\"aggregate\", 0) <= 0 && %s) {\n    row(\"%s\", %s%s);\n  }\n",
			stacks.options, spec, args, stacks.stacks)
	}
	b.WriteString("}\n")
	s.writeExit(b)
	text := "%s"
	if p.format != "" {
		text += " " + format
	}
	fmt.Fprintf(b, "\nend\n/getopt(\"aggregate\", 0) > 0/\n{\n  table(\"COUNT:>8 - | %s\", getopt(\"aggregate\", 0), "+
		"@told%d);\n}\n", text, id)
	return nil
}

// function is an expression for what the column FUNC shows.
// Only the probe itself knows which function of a pattern has fired.
func (p *probe) function(point string) string {
	name := point[strings.LastIndexByte(point, ':')+1:]
	if strings.ContainsAny(name, "*?[") {
		return "probe_name"
	}
	name, _, _ = strings.Cut(name, "+")
	return fmt.Sprintf("%q", name)
}
