package session

import (
	"errors"

	"github.com/hawktrace/hawk/internal/aot"
	"github.com/hawktrace/hawk/internal/arch"
	"github.com/hawktrace/hawk/internal/compile"
	"github.com/hawktrace/hawk/internal/machine"
	"github.com/hawktrace/hawk/internal/object"
	"github.com/hawktrace/hawk/internal/source"
)

// Ahead is a script to be compiled ahead of time, for other kernels too.
type Ahead struct {
	File    *source.File
	Options compile.Options // for the machine at hand
	Arch    *arch.Arch      // of the machines that it is to run on
	Filter  string          // --probe-filter
	// Report is given what the compiler says of the script. Compiling for kernels that
	// offer less is tried, and says nothing.
	Report func(*source.Diagnostics)
	// Given sets the script's own options in what it was compiled to; nil: they keep
	// their defaults. An error of it ends the compilation.
	Given func(*object.Object) error
	// Refused is told before which kernels the script cannot run; nil: nobody asks.
	Refused func(before string)
}

// Compile compiles the script for the machine at hand, and then again and again for
// kernels before the youngest feature that it used. The payload is nil if the script
// is wrong, which Report was told.
func (a *Ahead) Compile() (*aot.Payload, error) {
	o := a.Options
	p := &aot.Payload{
		Arch: a.Arch.Name, Unsafe: o.Probe.Unsafe, NoFeature: o.Probe.NoFeature, Filter: a.Filter,
	}
	for before := ""; ; {
		res, ds, ledger := a.portable(o, before)
		if before == "" {
			a.Report(ds)
		}
		if res == nil || ds.HasErrors() {
			if before == "" {
				return nil, nil
			}
			if a.Refused != nil {
				a.Refused(before)
			}
			return p, nil
		}
		if a.Given != nil {
			if err := a.Given(res.Object); err != nil {
				return nil, err
			}
		}
		if res.Probes == 0 {
			return nil, errors.New("No probes to attach")
		}
		v, err := aot.NewVariant(res.Object, ledger)
		if err != nil {
			return nil, err
		}
		p.Config, p.Variants = res.Config, append(p.Variants, v)
		if v, err = a.inPieces(o, before); err != nil {
			return nil, err
		} else if v != nil {
			p.Variants = append(p.Variants, v)
		}
		// Each round leaves out the youngest feature that was used, so that the rounds end.
		if before = ledger.Youngest(); before == "" {
			return p, nil
		}
		o.Watch = nil
	}
}

// portable compiles the script for kernels before one, "" for this one.
func (a *Ahead) portable(o compile.Options, before string) (*compile.Result, *source.Diagnostics, *machine.Ledger) {
	m, ledger := o.Probe.Machine.ForOthers(a.Arch, before)
	o.Probe.Machine = m
	res, ds := compile.Compile(a.File, o)
	return res, ds, ledger
}

// inPieces is the variant for a verifier that gives up on the one in front, nil if
// there is none.
func (a *Ahead) inPieces(o compile.Options, before string) (*aot.Variant, error) {
	o.Pieces, o.Rings, o.Watch = true, 1, nil
	res, ds, ledger := a.portable(o, before)
	if res == nil || ds.HasErrors() {
		return nil, nil
	}
	v, err := aot.NewVariant(res.Object, ledger)
	if err == nil {
		v.Pieces = true
	}
	return v, err
}
