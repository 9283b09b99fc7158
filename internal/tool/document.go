package tool

import (
	"fmt"
	"strings"

	"github.com/hawktrace/hawk/internal/markdown"
	"github.com/hawktrace/hawk/internal/order"
)

const preamble = `# Tools

This page is printed from the headers of the scripts in ` + "`tools`" + `; do not edit it. ` + "`hawk NAME`" + ` runs a
tool, ` + "`hawk help NAME`" + ` prints its manual, ` + "`hawk tools`" + ` lists all, ` + "`hawk tools --cat NAME`" + ` prints the
script. Options of hawk's own, -p, -c, -f json, -o, --duration and others, stand behind the name as well.
Errors begin with the name; with -v they have their places in the script. What other collections call their tools
and options is understood where something here does the same: ` + "`hawk ext4slower-bpfcc 5`, `hawk tcplife -s`" + `. Where
a letter is another option there, that of this page is meant.
[Adding things](design/adding.md#a-tool) says how a tool is written.
`

// Document lists tools with their manuals as markdown. A test compares the page with this, so
// that it cannot fall behind.
func Document(tools []*Tool) string {
	// The order is that of the list that `hawk tools` prints.
	order.By(tools, ByArea)
	var b strings.Builder
	b.WriteString(preamble)
	area := ""
	for _, t := range tools {
		if t.Area != area {
			area = t.Area
			fmt.Fprintf(&b, "\n## %s\n", area)
		}
		fmt.Fprintf(&b, "\n### %s\n\n%s.\n\n```\n", t.Name, sentence(t.Brief))
		for _, line := range t.Synopsis {
			b.WriteString("hawk " + line + "\n")
		}
		b.WriteString("```\n")
		for _, text := range Paragraphs(t.Description) {
			b.WriteString("\n" + markdown.Fold(escaped(text), "") + "\n")
		}
		// Tables without rows have no head either.
		if len(t.Options) > 0 {
			b.WriteString("\n| option | |\n|---|---|\n")
		}
		for i := range t.Options {
			fmt.Fprintf(&b, "| `%s` | %s |\n", t.Options[i].Spelling(), escaped(t.Options[i].Doc))
		}
		if len(t.Operands) > 0 {
			b.WriteString("\n| operand | |\n|---|---|\n")
		}
		for _, o := range t.Operands {
			fmt.Fprintf(&b, "| %s | %s |\n", o.Name, escaped(o.Doc))
		}
		b.WriteString("\n| column | |\n|---|---|\n")
		for _, e := range t.Output {
			fmt.Fprintf(&b, "| `%s` | %s |\n", e.Name, escaped(e.Doc))
		}
		b.WriteString("\n```\n" + strings.Join(t.Sample, "\n") + "\n```\n\n")
		for _, e := range t.Examples {
			b.WriteString(markdown.Fold(fmt.Sprintf("- `hawk %s`: %s", e.Name, escaped(e.Doc)), "  ") + "\n")
		}
		for _, section := range []struct {
			title string
			lines []string
		}{{"Cost", t.Cost}, {"Needs", t.Needs}, {"Limits", t.Limits}} {
			for i, text := range Paragraphs(section.lines) {
				if i == 0 {
					text = section.title + ": " + text
				}
				b.WriteString("\n" + markdown.Fold(escaped(text), "") + "\n")
			}
		}
		if len(t.Elsewhere) > 0 {
			b.WriteString("\n| elsewhere | here |\n|---|---|\n")
		}
		for _, f := range t.Elsewhere {
			fmt.Fprintf(&b, "| `%s` | %s |\n", f.spelled("`, `"), escaped(f.Doc))
		}
	}
	return b.String()
}

// sentence begins with a capital.
func sentence(s string) string { return strings.ToUpper(s[:min(1, len(s))]) + s[min(1, len(s)):] }

// escaped is text in which nothing is markup.
func escaped(s string) string {
	// The bar would end a cell of a table.
	return strings.NewReplacer("*", `\*`, "_", `\_`, "<", "&lt;", "|", `\|`).Replace(s)
}
