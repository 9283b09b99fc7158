// Package expand turns the tree of a script into what is to be checked and
// attached: imports are read, settings too, every use of a macro or function
// gets the body in its place, and every attach point is resolved against the
// machine to the concrete points it stands for.
package expand

import (
	"io/fs"
	"strings"

	"github.com/hawktrace/hawk/internal/builtin"
	"github.com/hawktrace/hawk/internal/cdef"
	"github.com/hawktrace/hawk/internal/config"
	"github.com/hawktrace/hawk/internal/object"
	"github.com/hawktrace/hawk/internal/probe"
	"github.com/hawktrace/hawk/internal/source"
	"github.com/hawktrace/hawk/internal/syntax"
)

// Options is what a script does not say itself.
type Options struct {
	Params      []string            // positional parameters, $1 first
	IncludeDirs []string            // where headers are looked for first, and imports
	Includes    []string            // headers read before the script
	Environment *config.Environment // settings that win over the script's; nil: none
	Defaults    *config.Environment // settings that the script's win over; nil: none
	MaxStrlen   int                 // max_strlen where nobody sets it; 0: its own default
	// Files are what imports and headers are read from, and nothing else is; nil: the
	// files of the machine that hawk runs on, if they are to be trusted.
	Files fs.FS
	// Library is the text of a file that comes with hawk, by the name of an import; nil:
	// there are none.
	Library func(name string) (text string, ok bool)
	// Caller is the user who has called hawk by other means than as himself, and
	// whose files are trusted therefore; 0: nobody.
	Caller uint32
	// Probe says how attach points are resolved. MaxProbes and WarnPoint
	// are filled in from the script's settings.
	Probe probe.Options
}

// A Script is an expanded script.
type Script struct {
	Tree    *syntax.Script
	Config  *config.Config
	Params  []string
	Options *probe.Options
	C       *cdef.Unit // what C text defines; nil: there is none
	Probes  []*Probe   // in source order, those of imports first; without those whose points are all missing
	Fns     []*Fn      // in the order of their definitions
	Maps    []*syntax.MapDecl
	// Declared has the options of the script, in order, one for each place that names
	// it; those of probes that were left out by their predicates, too.
	Declared []*object.Option
	// Incomplete: probes were left out because of errors, so that what only
	// they define seems undefined.
	Incomplete bool
	// Absent is the first point that is not on this machine and may be missing in silence; "" if none is.
	Absent string
	// Lacking: an import or C text could not be read, so that what it defines
	// seems unknown.
	Lacking bool
}

// A Probe is a probe of the script with its resolved attach points.
type Probe struct {
	Tree   *syntax.Probe
	Attach []*Attach // at least one
}

// An Attach is one attach point as written and what it stands for.
type Attach struct {
	At     source.Span
	Kind   *probe.Kind
	Points []*probe.Point // sorted by name, at least one
	Wild   bool           // a pattern, of the kind or in a part
}

// An expander is the state of an expansion.
type expander struct {
	out  *Script
	opts *probe.Options
	ds   source.Diagnostics
	told map[string]bool // what bad has said

	spare bool // an element of several is resolved, and may be missing

	files   []*syntax.Script    // the script and what it imports, imports first
	macros  map[string][]*macro // the script's, in order of definition
	library map[string][]*macro // the library's; nil: it has no such name
	loaded  map[string]bool     // packages of the library
	fns     map[string]*syntax.Subprog
	fnOrder []*syntax.Subprog

	chain    []use                     // what is being expanded, outermost first
	nodes    int                       // copied so far
	serial   int                       // uses of macros so far
	tooLarge bool                      // expanding was given up
	options  map[string]*object.Option // by name
	element  map[string]string         // of the list that the attach point at hand is resolved for
	narrow   func(name string) bool    // which names that element means, nil: all
	nothing  string                    // advice on the last pattern of a probe that matched nothing
	claimed  map[string]bool           // the points that probes have, by name, if each is to have one
	// recursive has the macros and functions whose recursion was reported.
	recursive map[syntax.Node]bool
}

// Expand expands a script. After errors the result holds what could be resolved, so that checking
// it finds more errors at once; it is nil where that would only repeat the first ones. The order
// matters: C text and names decide how the rest reads, predicates decide which attach points are
// resolved.
func Expand(s *syntax.Script, o Options) (*Script, *source.Diagnostics) {
	opts := o.Probe
	opts.Marked = map[int][]probe.Marked{}
	e := &expander{
		out:  &Script{Tree: s, Config: config.Default(), Params: o.Params, Options: &opts},
		opts: &opts, library: map[string][]*macro{}, loaded: map[string]bool{}, recursive: map[syntax.Node]bool{},
		claimed: map[string]bool{},
	}
	e.imports(s, o)
	e.out.Lacking = e.ds.HasErrors()
	e.config(o)
	before := e.ds.Errors()
	e.readC(o)
	e.out.Lacking = e.out.Lacking || e.ds.Errors() > before
	e.define()
	for _, f := range e.fnOrder {
		if fn := e.checkedFn(f); fn != nil {
			e.out.Fns = append(e.out.Fns, fn)
		}
	}
	var probes []*syntax.Probe
	for _, item := range e.out.Tree.Items {
		switch item := item.(type) {
		case *syntax.Probe:
			p := e.replace(item)
			e.declare(p)
			probes = append(probes, p)
		case *syntax.MapDecl:
			e.out.Maps = append(e.out.Maps, e.sized(item))
		}
	}
	dropped := false
	for _, tree := range probes {
		p := e.decide(tree)
		if p == nil {
			dropped = dropped || !isFrame(tree)
			continue
		}
		p = e.outlive(p)
		e.misplaced(p)
		e.probe(p)
	}
	// Predicates have removed all that was to be traced.
	if dropped && onlyFrames(e.out.Probes) {
		e.out.Probes = nil // there is nothing that would end the run
	}
	e.limitProbes()
	e.alone()
	e.named()
	return e.out, &e.ds
}

// define enters the macros and functions of the script. What they are called
// may change how other text reads: (name) - 1.
// Macros are not asked for by the parser, since imports may define more of them than the file
// has.
func (e *expander) define() {
	e.names()
	changed := false
	for i, tree := range e.files {
		if e.ambiguous(tree) {
			again, ds := syntax.Reparse(tree.Span().File, e.isValue)
			e.ds.Merge(ds)
			e.files[i], changed = again, true
		}
	}
	if changed {
		e.join()
		e.names()
	}
}

// names enters all definitions, macros first: whether a function may have a name depends on them.
func (e *expander) names() {
	e.macros, e.fns, e.fnOrder = map[string][]*macro{}, map[string]*syntax.Subprog{}, nil
	for _, item := range e.out.Tree.Items {
		if m, ok := item.(*syntax.Macro); ok {
			e.defineMacro(m, false)
		}
	}
	for _, item := range e.out.Tree.Items {
		if f, ok := item.(*syntax.Subprog); ok {
			e.defineFn(f)
		}
	}
}

// ambiguous reports whether the tree has a cast whose type is the name of a
// value. Bodies of macros are looked at when they are used.
func (e *expander) ambiguous(tree *syntax.Script) bool {
	found := false
	for _, item := range tree.Items {
		if _, isMacro := item.(*syntax.Macro); !isMacro && !found {
			syntax.AmbiguousCasts(item, func(c *syntax.Cast) bool {
				found = e.isValue(c.Type.Name)
				return !found
			})
		}
	}
	return found
}

// isValue reports whether a bare name is a value and certainly no type.
// Asking the kernel for a type is the dearest, and comes last.
func (e *expander) isValue(name string) bool {
	if e.bareValue(name) {
		return true
	}
	if syntax.IsTypeName(name) || e.isCType(name) {
		return false
	}
	if e.isEnumerator(name) {
		return true
	}
	if !e.isKnownValue(name) {
		return false
	}
	_, err := e.opts.Machine.TypeByName("", name)
	return err != nil
}

// isKnownValue reports whether a name is a builtin that stands alone, an
// enumerator of the kernel or a constant of well-known headers.
func (e *expander) isKnownValue(name string) bool {
	if f, ok := builtin.Lookup(name); ok {
		return f.Bare
	}
	if _, _, err := e.opts.Machine.EnumeratorByName(name); err == nil {
		return true
	}
	_, ok := cdef.Constant(name, e.opts.Machine.Arch().Name)
	return ok
}

// config applies settings, those that win over others last: defaults, the script's, the
// environment.
func (e *expander) config(o Options) {
	c := e.out.Config
	if o.MaxStrlen > 0 {
		c.MaxStrlen = o.MaxStrlen
	}
	if o.Defaults != nil {
		o.Defaults.Apply(c)
	}
	for _, item := range e.out.Tree.Items {
		if block, ok := item.(*syntax.Config); ok {
			c.Apply(block, &e.ds)
		}
	}
	if env := o.Environment; env != nil {
		env.Apply(c)
		for _, w := range env.Warnings {
			e.ds.Warnf("config-renamed", source.Span{}, "%s", w)
		}
	}
	if e.opts.Most > 0 {
		c.MaxProbes = e.opts.Most
	}
	e.opts.MaxProbes = c.MaxProbes
	e.opts.Option = e.optionText
	e.opts.WarnPoint = func(at source.Span, msg string) {
		if c.MissingProbes != "ignore" {
			e.ds.Warnf("attach-point", at, "%s", msg)
		}
	}
}

// probe resolves the attach points of one probe. It is left out if none
// remains, be it by errors or because what is missing may be missing.
// Incomplete keeps check from complaining of maps that only this probe writes.
func (e *expander) probe(tree *syntax.Probe) {
	p := &Probe{Tree: tree}
	failed := false
	var patterns []source.Span // that matched nothing
	e.nothing = ""
	for _, at := range tree.Attach {
		attach, r := e.attach(at)
		p.Attach = append(p.Attach, attach...)
		switch r {
		case failure:
			failed = true
		case noMatch:
			patterns = append(patterns, at.Span())
		}
	}
	if len(p.Attach) > 0 {
		e.out.Probes = append(e.out.Probes, p)
		e.out.Incomplete = e.out.Incomplete || failed
		return
	}
	if len(patterns) > 0 && !failed {
		failed = e.missing(patterns[0].To(patterns[len(patterns)-1]),
			"Probe has no valid attach points. If this is expected, set the 'missing_probes' config "+
				"variable to 'warn'.", e.nothing)
	}
	e.out.Incomplete = e.out.Incomplete || failed
}

// missing reports a probe that does not exist as the settings want it and
// reports whether that was an error.
func (e *expander) missing(at source.Span, msg, hint string) bool {
	var d *source.Diagnostic
	switch e.out.Config.MissingProbes {
	case "ignore":
		return false
	case "warn":
		d = e.ds.Warnf("missing-probe", at, "%s Skipping.", firstSentence(msg))
	default:
		d = e.ds.Errorf("missing-probe", at, "%s", msg)
	}
	if hint != "" {
		d.Hint("%s", hint)
	}
	return e.out.Config.MissingProbes == "error"
}

// firstSentence is a message without its advice.
// A warning is followed by the word Skipping, and not by what to do against an error.
func firstSentence(s string) string {
	if i := strings.Index(s, ". "); i >= 0 {
		return s[:i+1]
	}
	return s
}

// limitProbes applies the max_probes setting. A pattern over functions counts
// once: one link of the kernel serves all of it.
// The limit is for scripts that attach by mistake to all of the kernel, one point at a time.
func (e *expander) limitProbes() {
	n := 0
	for _, p := range e.out.Probes {
		for _, a := range p.Attach {
			if e.opts.Most > 0 {
				if a.Kind.Ours == probe.NotOurs && !a.Kind.Nobodys {
					n += len(a.Points)
				}
			} else if a.Wild && a.Kind.OneLink(e.opts) {
				n++
			} else {
				n += len(a.Points)
			}
		}
	}
	if limit := e.opts.Most; limit > 0 {
		if n > limit {
			e.ds.Errorf("too-many-probes", source.Span{}, "%d probes are more than %d", n, limit).
				Hint("Choose fewer, or allow more by --max-probes.")
		}
	} else if limit := e.out.Config.MaxProbes; n > limit {
		e.ds.Errorf("too-many-probes", source.Span{},
			"Can't attach to %d probes because it exceeds the current limit of %d probes.", n, limit).
			Hint("Raise the limit with the max_probes setting or HAWK_MAX_PROBES. Many probes take long to attach " +
				"and may slow the system down.")
	}
}

// named reports tests and benches that have the name of another.
func (e *expander) named() {
	first := map[string]*Attach{}
	for _, p := range e.out.Probes {
		for _, a := range p.Attach {
			if !a.Kind.Ours.Verdict() {
				continue
			}
			name := a.Points[0].Name()
			if old := first[name]; old != nil {
				e.ds.Errorf("duplicate-probe", a.At,
					"%s is defined twice: names of %s probes are unique", name, a.Kind.Name).
					Note(old.At, "this is the other instance")
				continue
			}
			first[name] = a
		}
	}
}

// alone reports probes that cannot be attached together with others.
// An iterator runs while hawk reads it: there is no time at which other probes would be wanted.
func (e *expander) alone() {
	var all []*Attach
	for _, p := range e.out.Probes {
		for _, a := range p.Attach {
			if a.Kind.Ours == probe.NotOurs {
				all = append(all, a)
			}
		}
	}
	for i, a := range all {
		if a.Kind.Alone && len(all) > 1 {
			other := all[0]
			if i == 0 {
				other = all[1]
			}
			e.ds.Errorf("not-alone", a.At,
				"Only a single %s attach point is allowed in a script, and no other probes but begin and end",
				a.Kind.Name).
				Note(other.At, "this one has to go to a script of its own")
			return
		}
	}
}
