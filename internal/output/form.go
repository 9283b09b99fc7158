package output

import (
	"cmp"
	"io"
	"slices"

	"github.com/hawktrace/hawk/internal/order"
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
	order.By(forms, func(a, b *Form) int { return cmp.Or(cmp.Compare(a.Of, b.Of), cmp.Compare(a.Name, b.Name)) })
	return &f
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
