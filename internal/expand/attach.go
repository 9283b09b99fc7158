package expand

import (
	"errors"
	"io/fs"
	"slices"
	"strings"

	_ "github.com/hawktrace/hawk/internal/builtin/table" // all that there is
	_ "github.com/hawktrace/hawk/internal/probe/kinds"   // likewise

	"github.com/hawktrace/hawk/internal/errno"
	"github.com/hawktrace/hawk/internal/probe"
	"github.com/hawktrace/hawk/internal/source"
	"github.com/hawktrace/hawk/internal/spell"
	"github.com/hawktrace/hawk/internal/syntax"
)

// result says why an attach point gave nothing.
// The caller has several attach points, and decides by all of their results whether a probe is
// left.
type result uint8

const (
	resolved result = iota
	failure         // an error was reported
	noMatch         // a pattern that matches nothing, which is an error only if its probe is left with nothing
	skipped         // nothing there, or missing and allowed to be
)

// attach resolves an attach point: once, or for each element of the option with several
// that it names.
// The elements of such an option are tried one by one, so that one that is not there costs
// nothing but itself.
func (e *expander) attach(at *syntax.AttachPoint) ([]*Attach, result) {
	name, text := syntax.ListIn(at.Text, e.opts.Lists, e.optionText)
	if name == "" {
		return e.one(at)
	}
	var out []*Attach
	all := skipped
	for element := range strings.SplitSeq(text, ",") {
		e.element, e.narrow = map[string]string{name: element}, e.opts.Narrow[element]
		e.spare = element != text && e.out.Config.MissingProbes == "ignore"
		found, r := e.one(at)
		out = append(out, found...)
		if all == skipped || r == failure || r == resolved && all != failure {
			all = r
		}
	}
	e.element, e.narrow, e.spare = nil, nil, false
	return out, all
}

// one resolves one attach point; a pattern in place of the kind gives several results.
// The kind of probe does the work: here is only what all kinds have in common.
func (e *expander) one(at *syntax.AttachPoint) ([]*Attach, result) {
	split, d := syntax.SplitAttach(at.Text, at.Span(), syntax.Params{Positional: e.out.Params, Option: e.optionText})
	if d != nil {
		e.ds.Add(d)
		return nil, failure
	}
	if len(split.Parts) == 0 {
		return nil, skipped
	}
	provider := split.Parts[0]
	all := make([]probe.Part, 0, len(split.Parts))
	for _, p := range split.Parts {
		all = append(all, probe.Part{Text: p.Text, Literal: p.Quoted})
	}
	if provider.HasWildcard() {
		return e.anyKind(at, provider.Text, all[1:])
	}
	kind, parts, err := probe.KindOf(all)
	if err != nil {
		if unknown, ok := errors.AsType[probe.UnknownKind](err); ok {
			e.unknownKind(at, string(unknown), all)
		} else {
			e.bad(at, "attach-point", err, "")
		}
		return nil, failure
	}
	p := &probe.Point{Kind: kind, At: at.Span(), Parts: parts}
	if err := kind.Parse(p, parts, e.opts); err != nil {
		hint := glued(at)
		if hint == "" {
			hint = e.howToWrite(kind, parts, err.Error())
		}
		e.bad(at, "attach-point", err, hint)
		return nil, failure
	}
	points, r := e.points(at, p)
	switch {
	case r != resolved:
		return nil, r
	case len(points) == 0:
		return nil, e.matchesNothing(at, p)
	}
	// Keep leaves out what the command line does not want, which is no mistake of the script's.
	if points = e.unclaimed(e.opts.Keep(points)); len(points) == 0 {
		return nil, skipped
	}
	return []*Attach{{At: at.Span(), Kind: kind, Points: points, Wild: wild(p)}}, resolved
}

// wild reports whether a point stands for whatever matches it.
func wild(p *probe.Point) bool { return hasWild(p.Parts) || p.Wild() }

// glued is advice on a predicate that an attach point has run into; "" where none has.
func glued(at *syntax.AttachPoint) string {
	if strings.HasSuffix(at.Text, "/") {
		return syntax.Glued(at.Text)
	}
	return ""
}

// points finds what a point stands for on this machine, with what may come later. There may be nothing.
func (e *expander) points(at *syntax.AttachPoint, p *probe.Point) ([]*probe.Point, result) {
	kind := p.Kind
	points, err := kind.Match(p, e.opts)
	if err != nil {
		code := source.Code("attach-target")
		if errors.Is(err, fs.ErrPermission) {
			code = "attach-denied"
		}
		if e.bad(at, code, err, ""); e.spare {
			return nil, skipped
		}
		return nil, failure
	}
	if e.narrow != nil && len(points) > 0 {
		points = slices.DeleteFunc(slices.Clone(points), func(p *probe.Point) bool { return !e.narrow(p.Func) })
		if len(points) == 0 {
			e.nothing = "a regular expression is of whole names: .* stands for what is around"
			return nil, noMatch
		}
	}
	// Files may come later that the pattern matches. If missing probes may be left out, the script
	// wants to go on without what is not there now.
	if kind.Later != nil && e.narrow == nil && (len(points) > 0 || e.out.Config.MissingProbes == "error") {
		if later := kind.Later(p, e.opts, points); later != nil {
			points = append(points, later)
		}
	}
	return points, resolved
}

// matchesNothing says what it means that a point stands for nothing on this machine, with advice: a
// pattern waits for what the other attach points of its probe give, a name is missing.
func (e *expander) matchesNothing(at *syntax.AttachPoint, p *probe.Point) result {
	kind, glued := p.Kind, glued(at)
	if wild(p) {
		if e.nothing = glued; glued == "" && kind.Wild == probe.UserWild && e.out.Config.MissingProbes != "ignore" {
			e.nothing = kind.Why(p, e.opts)
		}
		return noMatch
	}
	if e.out.Config.MissingProbes == "ignore" {
		if e.out.Absent == "" {
			e.out.Absent = p.Name()
		}
		return skipped // advice, which takes long to find, would be given to nobody
	}
	name := strings.TrimPrefix(p.Name(), kind.Name+":")
	hint := ""
	switch {
	case strings.HasSuffix(name, ";"):
		hint = "no ';' is needed after an attach point"
	case glued != "":
		hint = glued
	case kind.Why != nil:
		hint = kind.Why(p, e.opts)
	}
	if hint == "" {
		hint = e.nearPoint(p, name)
	}
	if e.missing(at.Span(), "No matches for "+kind.Name+" "+name+".", hint) {
		return failure
	}
	return skipped
}

// unclaimed drops the points that attach points before have, if the setting says that
// the first block alone runs there.
// points is not changed: kinds may keep what they have matched.
func (e *expander) unclaimed(points []*probe.Point) []*probe.Point {
	if e.out.Config.OverlappingProbes != "first" {
		return points
	}
	out := points[:0:0]
	for _, p := range points {
		if name := p.Name(); p.Kind.Ours != probe.NotOurs || !e.claimed[name] {
			e.claimed[name] = true
			out = append(out, p)
		}
	}
	return out
}

// bad reports what is wrong with an attach point; errors joined to one are
// told one by one. The hint is for errors that bring none. What was said of a name in quotes, such as
// that a file is not there, is not said again for another attach point; the first word may be the kind of probe.
func (e *expander) bad(at *syntax.AttachPoint, code source.Code, err error, hint string) {
	if h, ok := errors.AsType[probe.Hinted](err); ok {
		hint, err = h.Hint, h.Err
	}
	errs := []error{err}
	if joined, ok := err.(interface{ Unwrap() []error }); ok && strings.Contains(err.Error(), "\n") {
		errs = joined.Unwrap()
	}
	var d *source.Diagnostic
	for _, err := range errs {
		message := errno.Message(err)
		_, rest, _ := strings.Cut(message, " ")
		if e.told[rest] && strings.Contains(rest, "'") {
			continue
		}
		if e.told == nil {
			e.told = map[string]bool{}
		}
		e.told[rest] = true
		if e.spare && (code == "attach-target" || code == "attach-denied") {
			d = e.ds.Warnf(code, source.Span{}, "%s. The other files are looked at.", message)
			continue
		}
		d = e.ds.Errorf(code, at.Span(), "%s", message)
	}
	if d != nil {
		d.Advise(hint)
	}
}

// anyKind tries a pattern on every kind that may match it; kinds that do not
// accept the parts drop out.
// Errors of single kinds are no errors: *:vfs_read is nothing to a profile.
func (e *expander) anyKind(at *syntax.AttachPoint, pattern string, parts []probe.Part) ([]*Attach, result) {
	user := e.opts.PID != 0 || len(parts) > 0 && strings.Contains(parts[0].Text, "/")
	var out []*Attach
	filtered := false
	candidates := probe.Candidates(strings.ToLower(pattern), user)
	for _, kind := range candidates {
		p := &probe.Point{Kind: kind, At: at.Span(), Parts: parts}
		if kind.Parse(p, parts, e.opts) != nil {
			continue
		}
		points, err := kind.Match(p, e.opts)
		if err != nil || len(points) == 0 {
			continue
		}
		if points = e.unclaimed(e.opts.Keep(points)); len(points) == 0 {
			filtered = true
			continue
		}
		out = append(out, &Attach{At: at.Span(), Kind: kind, Points: points, Wild: true})
	}
	if len(candidates) == 0 {
		e.ds.Errorf("unknown-probe", at.Span(), "Invalid probe type: %s", pattern)
		return nil, failure
	}
	switch {
	case len(out) > 0:
		return out, resolved
	case filtered:
		return nil, skipped
	}
	return nil, noMatch
}

// unknownKind reports a word that is no kind of probe. parts is the whole
// attach point.
// The advice is tried from the most certain to the least, and one piece is given.
func (e *expander) unknownKind(at *syntax.AttachPoint, name string, parts []probe.Part) {
	span := at.Span()
	if rest, ok := strings.CutPrefix(at.Text, name); ok {
		span.End -= len(rest)
	}
	d := e.ds.Errorf("unknown-probe", span, "Invalid probe type: %s", name)
	if len(name) <= 2 {
		d.Msg = "Invalid provider: '" + name + "'"
		if _, ok := probe.Lookup(strings.ToLower(name)); ok {
			d.Hint("did you mean %s?", strings.ToLower(name))
			return
		}
	}
	if instead := probe.Removed(name); instead != "" {
		d.Hint("%s was removed from the language: %s", name, instead)
		return
	}
	if hint := e.otherKind(name, parts); hint != "" {
		d.Hint("%s", hint)
		return
	}
	if near := e.event(name); near != "" && len(parts) == 1 {
		d.Hint("did you mean %s?", near)
		return
	}
	if near := spell.Nearest(name, probe.Words()); near != "" {
		d.Hint("did you mean %s?", near)
		return
	}
	if hint := e.withoutKind(at, parts); hint != "" {
		d.Hint("%s", hint)
		return
	}
	var long []string
	for _, k := range probe.Kinds() {
		long = append(long, k.Name)
	}
	d.Hint("probe types are: %s", strings.Join(long, ", "))
}

// withoutKind suggests what an attach point would be if only the kind was forgotten: vfs_read, or
// syscall:sys_enter_open. It asks all kinds in turn, with warnings off: most of them know nothing
// of the name.
func (e *expander) withoutKind(at *syntax.AttachPoint, parts []probe.Part) string {
	if hasWild(parts) {
		return ""
	}
	quiet := *e.opts
	quiet.WarnPoint = nil
	near := ""
	for _, k := range probe.Kinds() {
		p := &probe.Point{Kind: k, At: at.Span()}
		if k.Wild != probe.KernelWild || k.Names == nil || k.Parse(p, parts, &quiet) != nil {
			continue
		}
		if points, err := k.Match(p, &quiet); err == nil && len(points) > 0 {
			return "did you mean " + p.Name() + "?"
		}
		if near == "" && len(parts) > 1 {
			near = e.nearPoint(p, strings.TrimPrefix(p.Name(), k.Name+":"))
		}
	}
	return near
}

// nearPoint suggests an attach point whose name is close to one that does not
// exist.
// Lists of symbols are long: it is asked once, for an attach point that has failed.
func (e *expander) nearPoint(p *probe.Point, name string) string {
	if p.Kind.Names == nil {
		return ""
	}
	names := p.Kind.Names(p, e.opts)
	want, prefix := p.Func, ""
	if i := strings.LastIndex(name, p.Func); i > 0 {
		prefix = name[:i]
	}
	// Symbols of programs may hold colons themselves; they come without a path.
	if p.Kind.Wild != probe.UserWild && len(names) > 0 && strings.Contains(names[0], ":") {
		want, prefix = name, ""
		// The first part alone is wrong more often than a long name is: syscall
		// for syscalls.
		if category, event, ok := strings.Cut(name, ":"); ok {
			if near := spell.Nearest(category, categoriesOf(names, event)); near != "" {
				return "did you mean " + p.Kind.Name + ":" + near + ":" + event + "?"
			}
		}
	}
	near := spell.Nearest(want, names)
	if near == "" {
		return ""
	}
	return "did you mean " + p.Kind.Name + ":" + prefix + near + "?"
}

// categoriesOf lists the categories that have an event.
func categoriesOf(names []string, event string) []string {
	var out []string
	for _, n := range names {
		if c, ok := strings.CutSuffix(n, ":"+event); ok {
			out = append(out, c)
		}
	}
	return out
}

// hasWild reports whether a part is a pattern.
// Quoted stars do not count, as they are parts of names.
func hasWild(parts []probe.Part) bool {
	for _, p := range parts {
		if p.HasWild() {
			return true
		}
	}
	return false
}
