package source

import "fmt"

// Severity orders diagnostics by weight.
type Severity uint8

// The severities, as diagnostics print them.
const (
	Error Severity = iota
	Warning
	Hint
	Bug
)

func (s Severity) String() string {
	return [...]string{"ERROR", "WARNING", "HINT", "BUG"}[s]
}

// A Code names the rule that a diagnostic reports, stable across releases:
// lower-case words joined by '-', such as "unknown-field". Tests compare codes.
type Code string

// A Note is a second place that explains a diagnostic: an earlier declaration,
// an operand, an expansion.
type Note struct {
	Span Span
	Msg  string
}

// A Diagnostic is one message about a script.
type Diagnostic struct {
	Severity Severity
	Code     Code
	Span     Span // zero: about the script as a whole
	Msg      string
	Notes    []Note   // context blocks, drawn after the excerpt at the same severity
	Hints    []string // what to do about it, one line each
	Trail    []Span   // "expanded from", innermost first
}

// Hint adds a line of advice and returns d, so that it can end a report call.
func (d *Diagnostic) Hint(format string, args ...any) *Diagnostic {
	d.Hints = append(d.Hints, fmt.Sprintf(format, args...))
	return d
}

// Advise adds a line of advice that is already made, unless it is "".
func (d *Diagnostic) Advise(text string) *Diagnostic {
	if text != "" {
		d.Hints = append(d.Hints, text)
	}
	return d
}

// Note adds a context block and returns d.
func (d *Diagnostic) Note(span Span, format string, args ...any) *Diagnostic {
	d.Notes = append(d.Notes, Note{span, fmt.Sprintf(format, args...)})
	return d
}

// A message is what tells two diagnostics apart.
type message struct {
	file       *File
	start, end int
	severity   Severity
	text       string
}

// Diagnostics collects messages in discovery order. A repeated message (same
// span and text) is kept once. The zero value is ready to use.
type Diagnostics struct {
	list []*Diagnostic
	seen map[message]bool

	repeated Diagnostic // takes the hints and notes of messages that are there already
}

// Errorf adds an error.
func (ds *Diagnostics) Errorf(code Code, span Span, format string, args ...any) *Diagnostic {
	return ds.report(Error, code, span, format, args)
}

// Warnf adds a warning.
func (ds *Diagnostics) Warnf(code Code, span Span, format string, args ...any) *Diagnostic {
	return ds.report(Warning, code, span, format, args)
}

// report adds a message. One that is there already is not made anew: a macro that
// is used ten thousand times says the same as often.
func (ds *Diagnostics) report(severity Severity, code Code, span Span, format string, args []any) *Diagnostic {
	text := format
	if len(args) > 0 {
		text = fmt.Sprintf(format, args...)
	}
	if span.Valid() && !span.File.Library && ds.seen[message{span.File, span.Start, span.End, severity, text}] {
		ds.repeated = Diagnostic{}
		return &ds.repeated
	}
	return ds.Add(&Diagnostic{Severity: severity, Code: code, Span: span, Msg: text})
}

// Add adds d unless the same message at the same place is there already. What
// the place was expanded from becomes part of the message.
//
// There are no warnings about hawk's own text: neither script nor user can change it.
func (ds *Diagnostics) Add(d *Diagnostic) *Diagnostic {
	if d.Severity == Warning && d.Span.Valid() && (d.Span.File.Library || d.Span.File.Unwarned) {
		return d
	}
	d.Locate()
	key := message{d.Span.File, d.Span.Start, d.Span.End, d.Severity, d.Msg}
	if ds.seen == nil {
		ds.seen = map[message]bool{}
	}
	if ds.seen[key] {
		return d
	}
	ds.seen[key] = true
	ds.list = append(ds.list, d)
	return d
}

// Locate fills the trail of a message about expanded text. A message about
// hawk's own text is shown where the script uses that. Diagnostics does it for
// what it collects, Print for the rest.
func (d *Diagnostic) Locate() {
	if !d.Span.Valid() || len(d.Trail) > 0 {
		return
	}
	d.Trail = d.Span.Trail()
	if !d.Span.File.Library {
		return
	}
	for i, at := range d.Trail {
		if !at.File.Library {
			d.Notes = append(d.Notes, Note{d.Span, "in the library"})
			d.Span, d.Trail = at, d.Trail[i+1:]
			return
		}
	}
}

// Merge adds the messages of another collection, which may be nil.
func (ds *Diagnostics) Merge(more *Diagnostics) {
	if more == nil {
		return
	}
	for _, d := range more.list {
		ds.Add(d)
	}
}

// List returns all errors (and bugs) first, then all warnings, each in
// discovery order.
func (ds *Diagnostics) List() []*Diagnostic {
	var out []*Diagnostic
	for _, d := range ds.list {
		if d.Severity != Warning && d.Severity != Hint {
			out = append(out, d)
		}
	}
	for _, d := range ds.list {
		if d.Severity == Warning || d.Severity == Hint {
			out = append(out, d)
		}
	}
	return out
}

// HasErrors reports whether anything stops the script from running.
func (ds *Diagnostics) HasErrors() bool {
	for _, d := range ds.list {
		if d.Severity == Error || d.Severity == Bug {
			return true
		}
	}
	return false
}

// Errors is the number of errors.
func (ds *Diagnostics) Errors() int {
	n := 0
	for _, d := range ds.list {
		if d.Severity == Error || d.Severity == Bug {
			n++
		}
	}
	return n
}

// Len is the number of diagnostics.
func (ds *Diagnostics) Len() int { return len(ds.list) }
