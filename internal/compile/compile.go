// Package compile strings the stages together, from text to object. It is
// plain calls in order; the one thing it adds is that a stage which panics is
// reported as a fault of hawk's, with the stage and the script.
package compile

import (
	"errors"
	"fmt"
	"io/fs"
	"runtime/debug"
	"slices"
	"time"

	"github.com/hawktrace/hawk/internal/check"
	"github.com/hawktrace/hawk/internal/codegen"
	"github.com/hawktrace/hawk/internal/config"
	"github.com/hawktrace/hawk/internal/expand"
	"github.com/hawktrace/hawk/internal/lower"
	"github.com/hawktrace/hawk/internal/machine"
	"github.com/hawktrace/hawk/internal/object"
	"github.com/hawktrace/hawk/internal/opt"
	"github.com/hawktrace/hawk/internal/probe"
	"github.com/hawktrace/hawk/internal/source"
	"github.com/hawktrace/hawk/internal/syntax"
)

// Options is what a compilation depends on besides the script.
type Options struct {
	Params      []string            // positional parameters
	IncludeDirs []string            // where headers are looked for first
	Includes    []string            // headers read before the script
	Environment *config.Environment // settings from outside; nil: none
	Defaults    *config.Environment // see expand.Options
	Files       fs.FS               // see expand.Options
	Caller      uint32              // see expand.Options
	Probe       probe.Options       // target, -p, --unsafe, …
	Warnings    bool                // -k
	Pieces      bool                // the verifier gave up on the script as it is compiled otherwise; see lower.Options
	Rings       int                 // see lower.Options
	Take        bool                // maps have two generations; see lower.Options
	Stamp       bool                // events say when and by whom they were sent
	Sums        bool                // histograms keep the sum of their values
	Watch       Watcher             // nil: nobody looks
	Verify      bool                // check the IR after every pass
	Trace       bool                // show where hawk failed if it does
	// Library is that of expand.Options.
	Library func(name string) (text string, ok bool)
	// Vet judges the typed program, before anything is made of it; nil: nobody does.
	Vet func(*check.Program, *source.Diagnostics)
	// TypesOnly ends the compilation there: the result has no object.
	TypesOnly bool
	// Took is told how long each stage took, some of them for each program; nil:
	// nobody wants to know.
	Took func(stage string, d time.Duration)
	// Cancelled ends the compilation before the next stage once it yields an error; nil:
	// nothing does. The error is a diagnostic with the code "cancelled".
	Cancelled func() error
}

// A Result is a compiled script.
type Result struct {
	Object *object.Object
	Config *config.Config
	// Probes is the number of attach points, as `Attached N probes` counts.
	Probes int
	// Checked is the typed program: what -l needs of a script. Tree is the script
	// as parsed.
	Checked *check.Program
	Tree    *syntax.Script
}

// slots is how many programs on one CPU may hold scratch memory at once: one
// that was interrupted, and those that interrupt it or are preempted.
// An event that finds none free is counted and left out.
const slots = 4

// Compile compiles a script. The result is nil if the diagnostics have errors.
// The types in it are resolved, so that many may read it at a time.
func Compile(f *source.File, o Options) (res *Result, ds *source.Diagnostics) {
	ds = &source.Diagnostics{}
	o.Probe.Machine.Resolve.Lock()
	defer o.Probe.Machine.Resolve.Unlock()
	defer o.Probe.Machine.CloseLists()
	stage, since := "", time.Time{}
	enter := func(next string) {
		if o.Cancelled != nil {
			if err := o.Cancelled(); err != nil {
				panic(cancelled{err})
			}
		}
		if o.Took != nil {
			t := time.Now()
			if stage != "" {
				o.Took(stage, t.Sub(since))
			}
			since = t
		}
		stage = next
	}
	defer func() {
		r := recover()
		if c, ok := r.(cancelled); ok {
			res = nil
			ds.Errorf("cancelled", source.Span{}, "%s", c.error)
			return
		}
		if r != nil {
			res = nil
			d := ds.Add(&source.Diagnostic{
				Severity: source.Bug, Code: "internal",
				Msg: fmt.Sprintf("hawk failed in stage %s: %v", stage, r),
			})
			d.Hint("please report this with the script; HAWK_TRACE=1 shows where it happened")
			if o.Trace {
				d.Msg += "\n" + string(debug.Stack())
			}
		}
	}()
	in, more := fitting(f, o, enter)
	ds.Merge(more)
	prog := in.prog
	if prog == nil {
		return nil, ds
	}
	if !ds.HasErrors() && o.Vet != nil {
		o.Vet(prog, ds)
	}
	if ds.HasErrors() {
		return nil, ds
	}
	if o.TypesOnly {
		enter("")
		return &Result{Config: prog.Config, Probes: points(prog), Checked: prog}, ds
	}
	if o.Watch != nil {
		o.Watch.Checked(in.tree, prog)
	}

	res, more = build(prog, in.script.Options, o, enter)
	if !o.Pieces && slices.ContainsFunc(more.List(), func(d *source.Diagnostic) bool { return d.Code == tooLarge }) {
		// A program that is too large for one function may fit in several.
		o.Pieces = true
		again, also := build(prog, in.script.Options, o, enter)
		ours := slices.ContainsFunc(also.List(), func(d *source.Diagnostic) bool { return d.Severity == source.Bug })
		if again != nil || !ours { // what is too large in several, too, is all that has to be changed
			res, more = again, also
		}
	}
	ds.Merge(more)
	if res != nil {
		res.Tree = in.tree
		res.Object.Settle()
	}
	return res, ds
}

// A typed script is a text that has been taken to its types. What it cannot be taken to is nil.
type typed struct {
	tree   *syntax.Script
	script *expand.Script
	prog   *check.Program
}

// fitting reads a script, once more with shorter texts if it has keys that are too long for the kernel,
// unless somebody says how long texts are.
func fitting(f *source.File, o Options, enter func(stage string)) (typed, *source.Diagnostics) {
	in, ds := read(f, o, 0, enter)
	if in.prog == nil || ds.HasErrors() {
		return in, ds
	}
	size, at := lower.TextSize(in.prog, in.script.Options)
	if size == 0 {
		return in, ds
	}
	again, more := read(f, o, size, enter)
	if again.prog == nil || more.HasErrors() || again.prog.Config.MaxStrlen != size {
		return in, ds
	}
	more.Warnf("short-texts", at, "this kernel takes keys of %d bytes at most, so that texts are cut after %d",
		lower.OldKey, size).
		Hint("max_strlen says how many bytes are kept; kernels from %s on take longer keys", machine.LargeKey.Since)
	return again, more
}

// read takes a script from its text to its types.
func read(f *source.File, o Options, maxStrlen int, enter func(stage string)) (in typed, ds *source.Diagnostics) {
	ds = &source.Diagnostics{}
	enter("parse")
	if o.Watch != nil {
		o.Watch.File(f)
	}
	tree, more := syntax.Parse(f)
	ds.Merge(more)
	in.tree = tree
	if ds.HasErrors() {
		return in, ds
	}
	if o.Watch != nil {
		o.Watch.Parsed(tree)
	}

	enter("expand")
	in.script, more = expand.Expand(tree, expand.Options{
		Params: o.Params, IncludeDirs: o.IncludeDirs, Includes: o.Includes, Environment: o.Environment,
		Defaults: o.Defaults, MaxStrlen: maxStrlen,
		Files: o.Files, Library: o.Library, Caller: o.Caller, Probe: o.Probe,
	})
	ds.Merge(more)
	if in.script == nil {
		return in, ds
	}
	enter("check")
	in.prog, more = check.Check(in.script)
	ds.Merge(more)
	return in, ds
}

// A cancelled compilation unwinds to its caller.
// No stage knows of it: it is asked for between stages.
type cancelled struct{ error }

// build takes a typed program to its object.
// It may run twice for one script: check's result is not changed by it.
func build(prog *check.Program, probes *probe.Options, o Options,
	enter func(stage string)) (*Result, *source.Diagnostics) {
	enter("lower")
	lowered := func() (*lower.Result, *source.Diagnostics) {
		return lower.Lower(prog, lower.Options{Probe: probes, Warnings: o.Warnings, Pieces: o.Pieces, Rings: o.Rings,
			Take: o.Take, Stamp: o.Stamp, Sums: o.Sums})
	}
	low, ds := lowered()
	if low.Long && !o.Pieces {
		o.Pieces = true
		low, ds = lowered()
	}
	if ds.HasErrors() {
		return nil, ds
	}
	res := &Result{Object: low.Object, Config: prog.Config, Probes: points(prog), Checked: prog}
	for i, g := range generateAll(low.Programs, o, enter) {
		p := low.Programs[i]
		if g.err != nil {
			ds.Add(refused(p.At, g.err))
			continue
		}
		m := low.Object.Maps[object.ScratchMap]
		m.ValueSize = max(m.ValueSize, g.scratch)
		low.Object.Programs = append(low.Object.Programs, &object.Program{
			Name: p.IR.Name, Group: p.Group, Code: g.code, At: p.At, Sleeps: p.Sleeps,
		})
	}
	enter("join")
	if ds.HasErrors() {
		return nil, ds
	}
	mergeEnds(low.Object, probes)
	if m := low.Object.Maps[object.ScratchMap]; m.ValueSize > 0 {
		m.MaxEntries = slots * o.Probe.Machine.PossibleCPUs()
	}
	enter("")
	return res, ds
}

// points is the number of attach points.
// Copies of a probe have different points, so that none counts twice.
func points(prog *check.Program) int {
	n := 0
	for _, p := range prog.Probes {
		n += len(p.Points)
	}
	return n
}

// tooLarge is the code of the message that there is no room for a probe.
const tooLarge source.Code = "too-large"

// refused words why there is no code for a probe: it is too large for the
// kernel's machine, or hawk is wrong.
func refused(at source.Span, err error) *source.Diagnostic {
	d := &source.Diagnostic{Severity: source.Error, Code: tooLarge, Span: at, Msg: "This probe is too large: " +
		err.Error()}
	switch {
	case errors.Is(err, opt.ErrStack), errors.Is(err, codegen.ErrStack):
		d.Hint("keep some of the variables in maps, or split the probe")
	case errors.Is(err, codegen.ErrLong):
		d.Hint("split the probe into several with the same attach point")
	default:
		d.Severity, d.Code, d.Msg = source.Bug, "internal", err.Error()
		d.Hint("please report this with the script")
	}
	return d
}
