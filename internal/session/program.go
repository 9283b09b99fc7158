package session

import (
	"errors"
	"fmt"
	"slices"

	"github.com/hawktrace/hawk/internal/aot"
	"github.com/hawktrace/hawk/internal/compile"
	"github.com/hawktrace/hawk/internal/config"
	"github.com/hawktrace/hawk/internal/object"
	"github.com/hawktrace/hawk/internal/order"
	"github.com/hawktrace/hawk/internal/probe"
	"github.com/hawktrace/hawk/internal/source"
)

// A Program is a compiled script, which can be loaded many times, at once too. It
// does not change.
type Program struct {
	*compile.Result
	mode     probe.Trigger   // tests or measurements, if Select was asked for them
	unused   int             // attach points that Select has left out
	inPieces func() *Program // nil if there is no other way to compile it
}

// Compile compiles a script. The program is nil if the diagnostics have errors.
func Compile(f *source.File, o compile.Options) (*Program, *source.Diagnostics) {
	res, ds := compile.Compile(f, o)
	if res == nil || ds.HasErrors() {
		return nil, ds
	}
	p := &Program{Result: res}
	if !o.Pieces {
		o.Pieces, o.Rings, o.Watch = true, 1, nil
		p.inPieces = func() *Program {
			p, _ := Compile(f, o)
			return p
		}
	}
	return p, ds
}

// New makes a program of what has been compiled; it can be loaded in no other way.
func New(res *compile.Result) *Program { return &Program{Result: res} }

// Bind makes a program of a script that was compiled ahead of time, for the machine
// that the options name; what else it was compiled with is filled in.
func Bind(payload *aot.Payload, o *probe.Options) (*Program, *source.Diagnostics) {
	p, ds := bind(payload, o, false)
	if p != nil {
		// The options are copied: they are the caller's, who may change them before the script is
		// loaded again.
		own := *o
		p.inPieces = func() *Program {
			p, _ := bind(payload, &own, true)
			return p
		}
	}
	return p, ds
}

// bind chooses the variant for the machine, whole or in pieces, and resolves its facts.
func bind(payload *aot.Payload, o *probe.Options, pieces bool) (*Program, *source.Diagnostics) {
	obj, ds := payload.Bind(o, pieces)
	if ds.HasErrors() {
		return nil, ds
	}
	points := 0
	for _, p := range obj.Programs {
		points += len(p.Group.Points)
	}
	return &Program{Result: &compile.Result{Object: obj, Config: payload.Config, Probes: points}}, ds
}

// Set gives the script's own options values, by their names, as they lie in memory
// (object.Option.Parse); names that the script does not have are passed over.
func (p *Program) Set(values map[string][]byte) *Program {
	if len(values) == 0 {
		return p
	}
	return p.change(func(o *object.Object) {
		o.Data.Init = slices.Clone(o.Data.Init)
		for _, opt := range o.Options {
			if v, ok := values[opt.Name]; ok {
				o.Data.Set(opt, v)
			}
		}
	})
}

// Select leaves in the program what a mode runs: tests (probe.AtTest) and measurements
// (probe.AtBench) only if they are asked for, and then nothing but begin and end runs
// beside them. With probe.NotOurs it is the probes that trace. The error says that
// there is nothing to trace.
func (p *Program) Select(t probe.Trigger) (*Program, error) {
	keeps := func(p *object.Program) bool {
		of := trigger(p)
		return of == t || of == probe.AtBegin || of == probe.AtEnd || !t.Verdict() && !of.Verdict()
	}
	programs := p.Object.Programs
	if len(programs) == 0 {
		return nil, errors.New("No probes to attach")
	}
	if !t.Verdict() && !slices.ContainsFunc(programs, func(p *object.Program) bool { return !trigger(p).Verdict() }) {
		kind := programs[0].Group.Points[0].Kind.Name
		return nil, fmt.Errorf("No probes attached; use --%s to run %s probes.", kind, kind)
	}
	if !t.Verdict() && !slices.ContainsFunc(programs, func(p *object.Program) bool { return !keeps(p) }) {
		return p, nil
	}
	selected := p.change(func(o *object.Object) {
		o.Programs = order.Without(slices.Clone(o.Programs), func(p *object.Program) bool { return !keeps(p) })
	})
	selected.mode = t
	for _, dropped := range programs {
		if !keeps(dropped) {
			selected.unused += len(dropped.Group.Points)
		}
	}
	return selected, nil
}

// change is the program with a copy of its object changed, whole and in pieces. What
// the object refers to is shared.
func (p *Program) change(do func(o *object.Object)) *Program {
	res, obj := *p.Result, *p.Object
	do(&obj)
	res.Object = &obj
	changed := &Program{Result: &res, mode: p.mode, unused: p.unused}
	if other := p.inPieces; other != nil {
		changed.inPieces = func() *Program {
			p := other()
			if p == nil {
				return nil
			}
			return p.change(do)
		}
	}
	return changed
}

// Configure is the program with settings changed, whole and in pieces.
func (p *Program) Configure(set func(c *config.Config)) *Program {
	changed := *p
	res, conf := *p.Result, *p.Config
	set(&conf)
	res.Config = &conf
	changed.Result = &res
	if other := p.inPieces; other != nil {
		changed.inPieces = func() *Program {
			p := other()
			if p == nil {
				return nil
			}
			return p.Configure(set)
		}
	}
	return &changed
}
