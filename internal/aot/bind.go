package aot

import (
	"errors"
	"io/fs"
	"slices"

	_ "github.com/hawktrace/hawk/internal/builtin/table" // all that there is
	_ "github.com/hawktrace/hawk/internal/probe/kinds"   // likewise

	"github.com/hawktrace/hawk/internal/btf"
	"github.com/hawktrace/hawk/internal/codegen"
	"github.com/hawktrace/hawk/internal/errno"
	"github.com/hawktrace/hawk/internal/machine"
	"github.com/hawktrace/hawk/internal/object"
	"github.com/hawktrace/hawk/internal/probe"
	"github.com/hawktrace/hawk/internal/source"
)

// OtherKernel is the code of the error that this kernel is too different from
// the one that a script was compiled on.
const OtherKernel = "other-kernel"

// Bind makes an object for this machine: of the variant that the kernel can
// run, in pieces or not, with the attach points that there are, its instructions relocated. The
// payload stays as it is but for the names of enumerators, which are this machine's
// then. opts has the machine, and Filter as a function; what else the script was compiled
// with is filled in.
// The caller asks for pieces when the verifier has given up on the whole.
func (p *Payload) Bind(opts *probe.Options, pieces bool) (*object.Object, *source.Diagnostics) {
	ds := &source.Diagnostics{}
	if err := p.bindOptions(opts); err != nil {
		ds.Errorf("aot", source.Span{}, "%s", errno.Message(err))
		return nil, ds
	}
	v, err := p.choose(opts.Machine, pieces)
	if err != nil {
		ds.Errorf(OtherKernel, source.Span{}, "%s", errno.Message(err))
		return nil, ds
	}
	for _, f := range machine.Features() {
		if !slices.Contains(v.Features, f.Name) {
			opts.NoFeature[f.Name] = true // the program was made without
		}
	}
	o := v.object
	if err := fit(&o, opts.Machine); err != nil {
		ds.Errorf("aot", source.Span{}, "%s", err)
		return nil, ds
	}
	finder := &probe.Finder{Options: opts}
	for i := range v.programs {
		pr := &v.programs[i]
		g, missing, err := finder.Find(pr.group)
		if err != nil {
			ds.Errorf("attach-target", pr.At, "%s", errno.Message(err))
			continue
		}
		for _, name := range missing {
			p.missing(ds, pr, name)
		}
		if g != nil {
			bound := pr.Program
			bound.Group = g
			o.Programs = append(o.Programs, &bound)
		}
	}
	if ds.HasErrors() {
		return nil, ds
	}
	if err := v.relocate(&o, opts.Machine); err != nil {
		ds.Errorf(OtherKernel, source.Span{}, "%s", errno.Message(err)).
			Hint("compile the script on a machine with this kernel, or with its types (HAWK_BTF)")
		return nil, ds
	}
	p.read.refresh(opts.Machine)
	return &o, ds
}

// bindOptions fills in what the script was compiled with.
// A filter is a regular expression of the command line, of which an object has the text: only
// the command reads it.
func (p *Payload) bindOptions(opts *probe.Options) error {
	opts.Unsafe, opts.NoFeature = p.Unsafe, map[string]bool{}
	for name := range p.NoFeature {
		opts.NoFeature[name] = true
	}
	opts.MaxProbes = p.Config.MaxProbes
	if p.Filter != "" && opts.Filter == nil {
		return errors.New("the script was compiled with --probe-filter, which only the command applies")
	}
	return nil
}

// missing reports an attach point that this machine lacks. One of many that a
// pattern stood for may be.
// The setting is that of the script when it was compiled.
func (p *Payload) missing(ds *source.Diagnostics, pr *program, name string) {
	const msg = "No matches for %s on this machine."
	switch {
	case pr.group.Wild(name), p.Config.MissingProbes == "ignore":
	case p.Config.MissingProbes == "warn":
		ds.Warnf("no-match", pr.At, msg, name)
	default:
		ds.Errorf("no-match", pr.At, msg, name)
	}
}

// relocate looks up what the instructions depend on.
// Code is copied where it changes: a payload may be bound more than once.
func (v *Variant) relocate(o *object.Object, t *machine.Machine) error {
	moves := make([]bool, len(v.Facts))   // some program is relocated by it
	waiting := make([]bool, len(v.Facts)) // a program that is to run is
	for i := range v.programs {
		mark(v.programs[i].Code, moves)
	}
	for _, p := range o.Programs {
		mark(p.Code, waiting)
	}
	values := make([]int64, len(v.Facts))
	for i := range v.Facts {
		if moves[i] && !waiting[i] || !moves[i] && v.Facts[i].Idle() {
			continue
		}
		n, err := t.Look(&v.Facts[i], moves[i])
		// A target that is not there has no attach point either: the program is not
		// among those that run.
		gone := errors.Is(err, btf.ErrNotFound) || errors.Is(err, fs.ErrNotExist)
		if err != nil && (moves[i] || !gone || !v.Facts[i].OfProbe()) {
			return err
		}
		values[i] = n
	}
	for _, p := range o.Programs {
		code, err := p.Code.Relocate(values)
		if err != nil {
			return err
		}
		p.Code = code
	}
	return nil
}

// mark sets what code is relocated by.
// A number out of range was read from a file; Relocate refuses it.
func mark(code *codegen.Code, set []bool) {
	for _, r := range code.Relocs {
		if r.Number >= 0 && r.Number < len(set) {
			set[r.Number] = true
		}
	}
}
