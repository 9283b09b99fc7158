package output

import (
	"cmp"
	"io"
	"slices"
)

// A Form is a way to write what a script prints, a value of -f.
type Form struct {
	Name string
	Doc  string // what it is, and what reads it
	Of   Of
	JSON bool // one object a line, for programs
	// New makes what writes: to w what is printed, to stderr messages.
	New func(w, stderr io.Writer, o Options) Sink
}

// An Of is what a script has to print for a form to be of use.
type Of uint8

const (
	OfAnything Of = iota
	OfRows        // row() and table()
	OfStacks      // stacks()
)

// forms are the rows that the files of this package define, in the order of Forms.
var forms []*Form

// define makes a form one of the table. Its file does no more: who needs to know about forms asks the table.
// Package variables call it, so that the table is complete before main begins.
func define(f Form) *Form {
	forms = append(forms, &f)
	// It moves to its place: to sort anew for each would be work at every start.
	for i := len(forms) - 1; i > 0 && f.before(forms[i-1]); i-- {
		forms[i-1], forms[i] = forms[i], forms[i-1]
	}
	return &f
}

// before reports whether a form stands in front of another in the table.
func (f *Form) before(g *Form) bool {
	return cmp.Or(cmp.Compare(f.Of, g.Of), cmp.Compare(f.Name, g.Name)) < 0
}

// Forms are all forms: those for any script first, each sort by name.
func Forms() []*Form { return forms }

// FindForm is the form of a name, nil if there is none.
func FindForm(name string) *Form {
	if i := slices.IndexFunc(forms, func(f *Form) bool { return f.Name == name }); i >= 0 {
		return forms[i]
	}
	return nil
}
