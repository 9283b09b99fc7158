package tool

import (
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Letters are those of options of hawk's that mean the same in every tool.
const Letters = "pcofqvkBh"

// Areas are what tools are about, in the order in which they are listed.
var Areas = []string{
	"files", "processes", "cpu", "disks", "memory", "network", "locks", "programs", "general",
}

// A Tool is a script and what its header says of it.
type Tool struct {
	Name, Brief string
	Area        string
	Synopsis    []string
	Description []string // lines, "" between paragraphs
	Options     []Option
	Operands    []Operand
	Output      []Entry // columns and their units
	Examples    []Entry // commands and what they are for
	Sample      []string
	Cost        []string
	Needs       []string
	Limits      []string
	Elsewhere   []Foreign
	See         []string
	Unknown     []string // words at the margin that are no section

	Script string // all of it
}

// An Option is one that a tool declares, by getopt() in its script too unless it is short for another.
type Option struct {
	Letter byte   // 0: none
	Name   string // without dashes
	Value  string // what its value is called, "" if it takes none
	Doc    string
	Here   string // the option of hawk's that it is short for, in front of its value: --match=COMM=
}

// List reports whether an option can be given several times, or several values with
// commas in between.
func (o *Option) List() bool { return strings.HasSuffix(o.Value, more) }

// Choices are the values that an option can have, nil: any.
func (o *Option) Choices() []string {
	if !strings.Contains(o.Value, "|") {
		return nil
	}
	return strings.Split(o.Unit(), "|")
}

// Unit is what the value of an option is called, in the singular.
func (o *Option) Unit() string { return strings.TrimSuffix(o.Value, more) }

// more is behind what there can be several of.
const more = "…"

// An Operand is an argument without a dash. It sets the option of its name.
type Operand struct {
	Name string
	Kind string // int, time, text, tty, regex, probe, pid, command, program, or choice
	Rest bool   // all arguments that are left
	Doc  string

	Choices  []string // of a choice, which is one of them and has to be made
	Optional bool     // a choice that may be left out, since its list ends with a bar: one without words
}

// An Entry is a word and what it means.
type Entry struct{ Name, Doc string }

// sections are the words that begin one, in the order of the manual.
var sections = []string{"Area", "Synopsis", "Options", "Operands", "Output", "Examples", "Sample", "Cost", "Needs",
	"Limits", "Elsewhere", "See"}

// The forms of lines, made when the first header is read: most runs read none.
var (
	sectionLine = form(`^([A-Z][a-z]+):(?: +(.*))?$`)
	titleLine   = form(`^(\S+) - (.*)$`)
	optionLine  = form(`^(?:-(\w), )? *--([\w-]+)(?: (\S+))?(?:  +(.*))?$`)
	entryLine   = form(`^(\S+)(?:  +(.*))?$`)
	kindWord    = form(`\[(int|time|text|tty|regex|probe|pid|command|program|\w+(?:\|\w+)+\|?)\] *`)
)

// form compiles a pattern when it is first used: together they take a millisecond at start-up
// else.
func form(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}

// Parse reads the header of a script. What is missing in it stays empty.
func Parse(script string) *Tool {
	t := &Tool{Script: script}
	// Sections may come in any order, and the description has no name.
	texts := map[string][]string{}
	section := ""
	for _, line := range comment(script) {
		// The title is the first line that looks like one; a licence may stand in front.
		if t.Name == "" {
			if m := titleLine().FindStringSubmatch(line); m != nil {
				t.Name, t.Brief = m[1], m[2]
			}
			continue
		}
		if m := sectionLine().FindStringSubmatch(line); m != nil {
			if section = m[1]; !slices.Contains(sections, section) {
				t.Unknown = append(t.Unknown, section)
			}
			line = m[2]
		}
		// An empty line ends these two alone; in others it separates paragraphs.
		if line == "" && (section == "Area" || section == "Synopsis") {
			section = "" // the description follows
		}
		texts[section] = append(texts[section], line)
	}
	for name := range texts {
		texts[name] = trimmed(texts[name])
	}
	t.Area = strings.Join(texts["Area"], " ")
	for _, line := range texts["Synopsis"] {
		t.Synopsis = append(t.Synopsis, strings.TrimSpace(line))
	}
	t.Description, t.Cost, t.Needs, t.Limits = texts[""], texts["Cost"], texts["Needs"], texts["Limits"]
	t.See = strings.FieldsFunc(strings.Join(texts["See"], " "), func(r rune) bool { return r == ',' || r == ' ' })
	t.Options, t.Elsewhere = options(texts["Options"]), elsewhere(texts["Elsewhere"])
	t.Operands = operands(texts["Operands"])
	t.Output = entries(texts["Output"], entryLine())
	t.Examples = entries(texts["Examples"], nil)
	for _, line := range texts["Sample"] {
		// A sample keeps its blanks but for the indent of the header.
		t.Sample = append(t.Sample, strings.TrimPrefix(line, "  "))
	}
	return t
}

// comment are the lines of a script's first comment, without what frames them.
func comment(script string) []string {
	// The first comment counts, wherever it stands.
	_, text, _ := strings.Cut(script, "/*")
	text, _, _ = strings.Cut(text, "*/")
	var out []string
	for line := range strings.Lines(text) {
		line = strings.TrimPrefix(strings.TrimSpace(line), "*")
		out = append(out, strings.TrimPrefix(line, " "))
	}
	return out
}

// Body is the script below its header.
func (t *Tool) Body() string {
	_, body, _ := strings.Cut(t.Script, "*/\n")
	return body
}

// trimmed leaves out empty lines at both ends.
func trimmed(lines []string) []string {
	for len(lines) > 0 && lines[0] == "" {
		lines = lines[1:]
	}
	for len(lines) > 0 && lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// items cuts the lines of a section at those that begin one: those at the margin of
// the section, two blanks. What follows deeper belongs to the one before.
func items(lines []string) (out [][]string) {
	const margin = "  "
	for _, line := range lines {
		text, ok := strings.CutPrefix(line, margin)
		switch {
		case strings.TrimSpace(line) == "":
		case ok && !strings.HasPrefix(text, " ") || strings.HasPrefix(strings.TrimSpace(line), "--"):
			out = append(out, []string{strings.TrimSpace(text)})
		case len(out) > 0:
			last := &out[len(out)-1]
			*last = append(*last, strings.TrimSpace(line))
		}
	}
	return out
}

// options reads the options of a tool's header.
func options(lines []string) (out []Option) {
	for _, item := range items(lines) {
		m := optionLine().FindStringSubmatch(item[0])
		if m == nil {
			out = append(out, Option{Doc: strings.Join(item, " ")}) // which a test finds
			continue
		}
		o := Option{Name: m[2], Value: m[3], Doc: text(m[4], item[1:])}
		if m[1] != "" {
			o.Letter = m[1][0]
		}
		// As in the section of what is elsewhere, an equals sign says what does the same.
		if doc, here, same := strings.Cut(o.Doc, " = --"); same {
			o.Doc, o.Here = doc, "--"+here
		}
		out = append(out, o)
	}
	return out
}

// operands reads the operands of a tool's header.
func operands(lines []string) (out []Operand) {
	for _, e := range entries(lines, entryLine()) {
		o := Operand{Doc: e.Doc}
		o.Name, o.Rest = strings.CutSuffix(e.Name, more)
		if m := kindWord().FindStringSubmatch(e.Doc); m != nil {
			o.Kind, o.Doc = m[1], strings.Replace(e.Doc, m[0], "", 1)
			if strings.Contains(o.Kind, "|") {
				o.Kind, o.Optional = strings.CutSuffix(o.Kind, "|")
				o.Kind, o.Choices = "choice", strings.Split(o.Kind, "|")
			}
		}
		out = append(out, o)
	}
	return out
}

// entries are the items of a section. The first line of each is split as split says,
// nil: it is the name.
func entries(lines []string, split *regexp.Regexp) (out []Entry) {
	for _, item := range items(lines) {
		e := Entry{Name: item[0], Doc: text("", item[1:])}
		if split != nil {
			if m := split.FindStringSubmatch(item[0]); m != nil {
				e = Entry{m[1], text(m[2], item[1:])}
			}
		}
		out = append(out, e)
	}
	return out
}

// text is running text out of lines.
func text(first string, rest []string) string {
	return strings.TrimSpace(first + " " + strings.Join(rest, " "))
}
