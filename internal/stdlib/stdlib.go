// Package stdlib holds the part of the language that is written in the
// language: macros in packages of one file each. A package is parsed only if a
// script uses one of its names.
package stdlib

import (
	"embed"
	"slices"
	"strings"

	"github.com/hawktrace/hawk/internal/order"
	"github.com/hawktrace/hawk/internal/source"
)

//go:embed *.bt
var packages embed.FS

// Names lists the packages in order.
func Names() []string {
	entries, err := packages.ReadDir(".")
	if err != nil {
		return nil // the directory is part of the binary
	}
	var out []string
	for _, e := range entries {
		out = append(out, strings.TrimSuffix(e.Name(), ".bt"))
	}
	slices.Sort(out)
	return out
}

// Open returns the text of a package.
func Open(name string) (*source.File, bool) {
	text, err := packages.ReadFile(name + ".bt")
	if err != nil {
		return nil, false
	}
	f := source.NewFile("stdlib/"+name+".bt", string(text))
	f.Library = true
	return f, true
}

// Find is the package that defines a macro, "" if none does.
func Find(macro string) string {
	for _, name := range Names() {
		text, err := packages.ReadFile(name + ".bt")
		if err == nil && defines(string(text), macro) {
			return name
		}
	}
	return ""
}

// defines looks for a definition at the start of a line, as all of them are
// written.
func defines(text, macro string) bool {
	head := "\nmacro " + macro + "("
	return strings.HasPrefix(text, head[1:]) || strings.Contains(text, head)
}

// A Macro is an entry of the manual, from the comment above a definition.
type Macro struct {
	Name      string
	Signature string // as it is called: "is_str(x)"
	Doc       string
	Example   string // a one-line script
}

// Macros lists what all packages define, in order of names.
func Macros() []Macro {
	var out []Macro
	for _, name := range Names() {
		text, err := packages.ReadFile(name + ".bt")
		if err != nil {
			continue // Names has just read the directory
		}
		var comment []string
		for line := range strings.Lines(string(text)) {
			line = strings.TrimRight(line, "\n")
			if text, ok := strings.CutPrefix(line, "// "); ok {
				comment = append(comment, text)
				continue
			}
			if head, ok := strings.CutPrefix(line, "macro "); ok {
				out = append(out, describe(strings.TrimSuffix(head, " {"), comment))
			}
			comment = nil
		}
	}
	order.By(out, func(a, b Macro) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// describe makes an entry of the head of a definition and the lines above it.
func describe(head string, comment []string) Macro {
	m := Macro{Signature: head}
	m.Name, _, _ = strings.Cut(head, "(")
	for _, line := range comment {
		if example, ok := strings.CutPrefix(line, "Example: "); ok {
			m.Example = example
			continue
		}
		m.Doc = strings.TrimSpace(m.Doc + " " + line)
	}
	return m
}
