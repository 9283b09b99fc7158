package probe

import (
	"errors"
	"fmt"
	"strings"

	"github.com/hawktrace/hawk/internal/source"
	"github.com/hawktrace/hawk/internal/spell"
	"github.com/hawktrace/hawk/internal/syntax"
)

// A Listing lists what patterns match, and says what it leaves out.
type Listing struct {
	Options *Options // with ForListing
	Emit    func(Listed)
	// Warn takes what keeps the list of one kind from being complete.
	Warn func(msg string)
	// Passed takes a kind that could not be listed among others, nobody having
	// asked for it in particular.
	Passed func(kind string, err error)
}

// PatternParts splits a pattern for probes.
func PatternParts(pattern string) ([]Part, error) {
	f := source.NewFile("pattern", pattern)
	split, d := syntax.SplitAttach(pattern, source.Span{File: f, End: len(pattern)}, syntax.Params{})
	if d != nil {
		return nil, errors.New(d.Msg)
	}
	parts := make([]Part, len(split.Parts))
	for i, p := range split.Parts {
		parts[i] = Part{Text: p.Text, Literal: p.Quoted}
	}
	return parts, nil
}

// Pattern lists what a pattern matches.
func (l *Listing) Pattern(pattern string) error {
	parts, err := PatternParts(pattern)
	if err != nil || len(parts) == 0 {
		return err
	}
	o := *l.Options
	if len(parts) == 1 {
		l.names(parts[0], &o)
		return nil
	}
	if parts[0].HasWild() {
		user := o.PID != 0 || strings.Contains(parts[1].Text, "/")
		l.kinds(Candidates(strings.ToLower(parts[0].Text), user), parts[1:], &o)
		return nil
	}
	k, ok := Lookup(parts[0].Text)
	if !ok {
		err := fmt.Errorf("Invalid probe type: %s", parts[0].Text)
		if near := spell.Nearest(parts[0].Text, Words()); near != "" {
			err = fmt.Errorf("%w\nHINT: did you mean %s?", err, near)
		}
		return err
	}
	if k.List == nil {
		l.Warn(k.Name + " probes are not listed")
		return nil
	}
	o.WarnPoint = func(_ source.Span, msg string) { l.Warn(msg) }
	return k.List(k, parts[1:], &o, l.Emit)
}

// names lists what a pattern without a kind covers: "*" is everything the
// kernel offers, other patterns apply to the names of events.
func (l *Listing) names(name Part, o *Options) {
	if name.Text != "*" {
		l.kinds(Candidates("*", false), []Part{name}, o)
		return
	}
	var all []*Kind
	for _, k := range Kinds() {
		if k.ListedByDefault() || o.PID != 0 && k.Wild == UserWild {
			all = append(all, k)
		}
	}
	l.kinds(all, nil, o)
}

// kinds passes over kinds that do not take such a pattern and those whose
// names cannot be read.
func (l *Listing) kinds(kinds []*Kind, parts []Part, o *Options) {
	for _, k := range kinds {
		if k.List == nil {
			continue
		}
		if err := k.List(k, parts, o, l.Emit); err != nil {
			l.Passed(k.Name, err)
		}
	}
}

// Marks says of a point that is a mark how many locations it has, and whether a
// semaphore says if it is traced; 0 and false of others.
func (p *Point) Marks() (locations int, semaphore bool) {
	return len(p.Notes), len(p.Notes) > 0 && p.Notes[0].Semaphore != 0
}
