// Package stdlib holds the part of the language that is written in the
// language: macros in packages of one file each. A package is parsed only if a
// script uses one of its names.
package stdlib

import (
	"embed"
	"slices"
	"strings"

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
