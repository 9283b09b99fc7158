package notation

import (
	"fmt"
	"strings"
)

// A Translator makes a script of the operands of a tool; point makes an attach point in hawk's form
// of one in the short form.
type Translator func(operands []string, point func(string) string) (script string, err error)

// translators are the tools whose operands are a notation of their own.
var translators = map[string]Translator{"trace": trace}

// Of returns the translation of the operands of a tool; nil for tools without one.
func Of(tool string) Translator { return translators[tool] }

// prelude is what all traces have.
const prelude = `config = {
  print_maps_on_exit = false;
}

macro wanted()
{
  (getopt("tid", 0) == 0 || tid == getopt("tid", 0)) &&
      (getopt("name", "") == "" || strcontains(comm, comptime (getopt("name", ""))))
}
`

// trace translates the operands of trace: each is a probe and what it prints.
func trace(operands []string, point func(string) string) (string, error) {
	var b strings.Builder
	b.WriteString(prelude)
	for i, text := range operands {
		p, err := parse(text)
		if err != nil {
			return "", err
		}
		if err := p.write(&b, i, point(p.point)); err != nil {
			return "", fmt.Errorf("%w\n    %s", err, strings.TrimSpace(text))
		}
	}
	return b.String(), nil
}

// columns are those in front of the message.
const columns = "TIME:<8t?timestamp TIME(s):>12e?time PID:<7 TID:<7 COMM:<15 CPU:>3?print-cpu FUNC:<16"

// write adds the probe to a script.
func (p *probe) write(b *strings.Builder, id int, point string) error {
	kind, _, _ := strings.Cut(point, ":")
	entry := map[string]string{"kretprobe": "kprobe", "uretprobe": "uprobe", "fexit": "fentry"}[kind]
	s := &scope{probe: p, isExit: entry != "", id: id}
	condition := "wanted()"
	if p.filter != "" {
		filter, err := s.translate(p.filter)
		if err != nil {
			return err
		}
		condition += " && (" + filter + ")"
	}
	format, values, err := s.message()
	if err != nil {
		return err
	}
	for i, value := range s.entry {
		fmt.Fprintf(b, "\n%s\n/wanted()/\n{\n  %s[tid] = %s;\n}\n",
			entry+strings.TrimPrefix(point, kind), s.kept(i), value)
		condition = "has_key(" + s.kept(i) + ", tid) && " + condition
	}
	spec, args := columns, "nsecs, nsecs, pid, tid, comm, cpu, "+p.function(point)
	if p.format != "" {
		spec += " - | " + format
	}
	if len(values) > 0 {
		args += ", " + strings.Join(values, ", ")
	}
	fmt.Fprintf(b, "\n%s\n/%s/\n{\n", point, condition)
	for _, stacks := range []struct{ options, stacks string }{
		{"getopt(\"kernel-stack\") && getopt(\"user-stack\")", ", kstack, ustack"},
		{"getopt(\"kernel-stack\") && !getopt(\"user-stack\")", ", kstack"},
		{"!getopt(\"kernel-stack\") && getopt(\"user-stack\")", ", ustack"},
		{"!getopt(\"kernel-stack\") && !getopt(\"user-stack\")", ""},
	} {
		fmt.Fprintf(b, "  if comptime (%s) {\n    row(\"%s\", %s%s);\n  }\n", stacks.options, spec, args, stacks.stacks)
	}
	b.WriteString("}\n")
	for i := range s.entry {
		fmt.Fprintf(b, "\n%s\n{\n  delete(%s, tid);\n}\n", point, s.kept(i))
	}
	return nil
}

// function is an expression for what the column FUNC shows.
func (p *probe) function(point string) string {
	name := point[strings.LastIndexByte(point, ':')+1:]
	if strings.ContainsAny(name, "*?[") {
		return "probe_name"
	}
	name, _, _ = strings.Cut(name, "+")
	return fmt.Sprintf("%q", name)
}
