package hawk

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/hawktrace/hawk/internal/policy"
	"github.com/hawktrace/hawk/internal/source"
	"github.com/hawktrace/hawk/internal/spell"
)

// A Position is a place in a file. Lines and columns, in bytes, count from 1; 0: unknown.
type Position struct {
	File         string
	Line, Column int
}

// A Span is a part of a file; End is behind it. The zero Span is no place.
type Span struct {
	Start, End Position
	Expanded   []Span // uses of macros that it was expanded for, innermost first
}

// Severity is the weight of a diagnostic. Programs must take unknown ones.
type Severity int

// The severities. Bug is a mistake of hawk's.
const (
	Error Severity = iota
	Warning
	Bug

	severities = iota // how many there are
)

// A Note explains a diagnostic: a second place, or, without one, what to do.
type Note struct {
	Span    Span
	Message string
}

// A Fix is what a part of the script should be replaced by.
type Fix struct {
	Span Span
	Text string
}

// A Diagnostic is one message about a script. Codes, such as "unknown-field", are
// stable; there may be new ones.
type Diagnostic struct {
	Severity Severity
	Code     string
	Span     Span
	Message  string
	Notes    []Note
	Fix      *Fix // nil: none is known

	drawn *source.Diagnostic // nil of those that hawk has not made
}

// Diagnostics are all messages about a script, errors first.
type Diagnostics []Diagnostic

func (ds Diagnostics) failed() bool {
	for _, d := range ds {
		if d.Severity != Warning {
			return true
		}
	}
	return false
}

// Error draws the diagnostics with their lines of the script, as the command does.
func (ds Diagnostics) Error() string {
	var b strings.Builder
	for _, d := range ds {
		if d.drawn != nil {
			d.drawn.Print(&b, source.PrintOptions{})
			continue
		}
		b.WriteString(d.Message + "\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// kinds says which errors diagnostics with certain codes are as well.
var kinds = map[string]error{
	"policy": ErrPolicy, "missing-feature": errors.ErrUnsupported,
	"not-supported": errors.ErrUnsupported, "attach-target": fs.ErrNotExist, "attach-denied": fs.ErrPermission,
	"no-match": fs.ErrNotExist, "missing-probe": fs.ErrNotExist, "other-kernel": ErrBind,
}

// Is reports whether an error among them is target. [ErrScript] is any about the script, which what
// the machine keeps from this process is not; others go by the code.
func (ds Diagnostics) Is(target error) bool {
	for _, d := range ds {
		kind := kinds[d.Code]
		ofScript := d.Code != string(policy.Bad) && kind != fs.ErrPermission
		if d.Severity == Error && (target == ErrScript && ofScript || target == kind) {
			return true
		}
	}
	return false
}

// diagnostics makes values of what stages report.
func diagnostics(ds *source.Diagnostics) Diagnostics {
	var out Diagnostics
	for _, d := range ds.List() {
		v := Diagnostic{Code: string(d.Code), Span: span(d.Span), Message: d.Msg, drawn: d}
		switch d.Severity {
		case source.Warning, source.Hint:
			v.Severity = Warning
		case source.Bug:
			v.Severity = Bug
		}
		for _, n := range d.Notes {
			v.Notes = append(v.Notes, Note{span(n.Span), n.Msg})
		}
		for _, h := range d.Hints {
			v.Notes = append(v.Notes, Note{Message: h})
			if v.Fix == nil {
				v.Fix = fix(d.Span, h)
			}
		}
		for _, at := range d.Trail {
			v.Span.Expanded = append(v.Span.Expanded, span(at))
		}
		out = append(out, v)
	}
	return out
}

// fix is the change that a hint suggests, if it is about the place.
func fix(at source.Span, hint string) *Fix {
	text, ok := strings.CutSuffix(strings.TrimPrefix(hint, "did you mean "), "?")
	if !ok || spell.Nearest(at.Text(), []string{text}) == "" {
		return nil
	}
	return &Fix{span(at), text}
}

func span(s source.Span) Span {
	if !s.Valid() {
		return Span{}
	}
	return Span{Start: position(s.File, s.Start), End: position(s.File, s.End)}
}

func position(f *source.File, offset int) Position {
	line, column := f.Position(min(max(offset, 0), len(f.Text)))
	return Position{f.Name, line, column}
}

var errAttach = errors.New("hawk: a probe cannot be attached")

// words are those of the error behind one of hawk's. One that a test of the caller's has made has
// none behind it: it is called by its sentinel and what its fields say.
func words(err, sentinel error, fields ...string) string {
	if err != nil {
		return named(err).Error()
	}
	text := named(sentinel).Error()
	for _, f := range fields {
		if f != "" {
			text += ": " + f
		}
	}
	return text
}

// named says that an error is hawk's. In the log of a program its words alone do not.
func named(err error) error {
	if err == nil || strings.HasPrefix(err.Error(), "hawk: ") {
		return err
	}
	return fmt.Errorf("hawk: %w", err)
}

// A PermissionError says which capabilities the process lacks.
type PermissionError struct {
	Need []string // as capabilities(7) calls them
	err  error
}

func (e *PermissionError) Error() string { return words(e.err, fs.ErrPermission, e.Need...) }
func (e *PermissionError) Unwrap() error { return fs.ErrPermission }

// An AttachError is a probe that cannot be attached. Mostly there is no such function,
// file or process. The probe is "" if it is the process, or the command to start, that is not there.
type AttachError struct {
	Probe string
	Err   error
}

func (e *AttachError) Error() string { return words(e.Err, errAttach, e.Probe) }
func (e *AttachError) Unwrap() error { return e.Err }

// A VerifierError is a program that the kernel's verifier refused. It has the place in the
// script.
type VerifierError struct {
	Probe string
	Span  Span
	Tail  string // the end of what it said
	text  string
}

func (e *VerifierError) Error() string {
	return cmp.Or(e.text, words(nil, ErrVerifier, e.Probe, e.Tail))
}
func (e *VerifierError) Unwrap() error { return ErrVerifier }

// A BindError is an object that was made for another machine or by another version.
type BindError struct {
	Fact       string // "machine", "format", "architecture", or what the kernel lacks, in words
	Want, Have string // what the object was made for, and what there is; "" if the Fact says it
	err        error
}

func (e *BindError) Error() string { return words(e.err, ErrBind, e.Fact, e.Want, e.Have) }
func (e *BindError) Unwrap() error { return ErrBind }

// A FeatureError says what the kernel cannot do, and since which version kernels can.
type FeatureError struct {
	Feature, Since string
	err            error
}

func (e *FeatureError) Error() string { return words(e.err, errors.ErrUnsupported, e.Feature, e.Since) }
func (e *FeatureError) Unwrap() error { return errors.ErrUnsupported }
