package cli

import (
	"cmp"
	"errors"
	"fmt"
	"os"

	"github.com/hawktrace/hawk/internal/aot"
	"github.com/hawktrace/hawk/internal/arch"
	"github.com/hawktrace/hawk/internal/compile"
	"github.com/hawktrace/hawk/internal/errno"
	"github.com/hawktrace/hawk/internal/machine"
	"github.com/hawktrace/hawk/internal/source"
)

// ownFile is the executable that runs.
const ownFile = "/proc/self/exe"

// ahead compiles the script into an executable. It has a variant of the script
// for this kernel, and more for older ones that offer less.
func (c *command) ahead(f *source.File, named []string, o compile.Options) int {
	status, err := c.writeAhead(f, named, o)
	if err != nil {
		status = c.fail(status, err)
	}
	const notice = "__BPFTRACE_NOTIFY_AOT_PORTABILITY_DISABLED"
	if _, ok := os.LookupEnv(notice); ok && status != exitOK {
		fmt.Fprintln(c.out, notice)
	}
	return status
}

// compilePortable compiles the script for kernels before one, "" for this one.
func (c *command) compilePortable(f *source.File, o compile.Options, a *arch.Arch, before string) (*compile.Result, *source.Diagnostics, *machine.Ledger) {
	t, ledger := machine.Portable(a, before)
	t.DebugDirs, t.Named = c.debugDirs, c.machine.Named
	o.Probe.Machine = t
	res, ds := compile.Compile(f, o)
	return res, ds, ledger
}

// inPieces is the variant for a verifier that gives up on the one in front, nil
// if there is none.
func (c *command) inPieces(f *source.File, o compile.Options, a *arch.Arch, before string) (*aot.Variant, error) {
	o.Pieces, o.Dumps = true, nil
	res, ds, ledger := c.compilePortable(f, o, a, before)
	if res == nil || ds.HasErrors() {
		return nil, nil
	}
	v, err := aot.NewVariant(res.Object, ledger)
	if err == nil {
		v.Pieces = true
	}
	return v, err
}

func (c *command) writeAhead(f *source.File, named []string, o compile.Options) (status int, err error) {
	name := cmp.Or(c.aotRuntime, ownFile)
	runtime, err := aot.OpenRuntime(name)
	if err != nil {
		return exitUsage, fmt.Errorf("cannot use the executable '%s' for --aot: %s", name, errno.Reason(err))
	}
	defer runtime.Close()
	p := &aot.Payload{Arch: runtime.Arch.Name, Unsafe: c.unsafe, NoFeature: c.noFeature, Filter: c.filter}
	for before := ""; ; {
		res, ds, ledger := c.compilePortable(f, o, runtime.Arch, before)
		if before == "" {
			c.print(ds)
		}
		if res == nil || ds.HasErrors() {
			if before == "" {
				return exitUsage, nil
			}
			if c.verbose > 0 {
				fmt.Fprintf(c.err, "kernels before %s can not run the script\n", before)
			}
			break
		}
		values, status, done := c.namedOptions(named, res.Object)
		if done {
			return status, nil
		}
		for _, o := range res.Object.Options {
			if v, ok := values[o.Name]; ok {
				res.Object.Data.Set(o, v)
			}
		}
		if res.Probes == 0 {
			return exitUsage, errors.New("No probes to attach")
		}
		v, err := aot.NewVariant(res.Object, ledger)
		if err != nil {
			return exitUsage, err
		}
		p.Config, p.Variants = res.Config, append(p.Variants, v)
		if v, err = c.inPieces(f, o, runtime.Arch, before); err != nil {
			return exitUsage, err
		} else if v != nil {
			p.Variants = append(p.Variants, v)
		}
		if before = ledger.Youngest(); before == "" {
			break
		}
		o.Dumps = nil
	}
	payload, err := p.Encode()
	if err != nil {
		return exitUsage, err
	}
	if err := runtime.Write(c.aot, Version, payload); err != nil {
		return exitUsage, fmt.Errorf("cannot write '%s': %s", c.aot, errno.Reason(err))
	}
	return exitOK, nil
}
