package cli

import (
	"cmp"
	"errors"
	"fmt"
	"os"

	"github.com/hawktrace/hawk/internal/aot"
	"github.com/hawktrace/hawk/internal/compile"
	"github.com/hawktrace/hawk/internal/errno"
	"github.com/hawktrace/hawk/internal/object"
	"github.com/hawktrace/hawk/internal/session"
	"github.com/hawktrace/hawk/internal/source"
)

// ownFile is the executable that runs.
const ownFile = "/proc/self/exe"

// ahead compiles the script into an executable. It has a variant of the script for this kernel, and
// more for older ones that offer less. If it fails and bpftrace's own tests ask for it, the notice
// goes to standard output that tells them that this build compiles no portable executables.
func (c *command) ahead(f *source.File, named []string, o compile.Options) int {
	status, err := c.writeAhead(f, named, o)
	if err != nil {
		status = c.fail(status, err)
	}
	const notice = "__BPFTRACE_NOTIFY_AOT_PORTABILITY_DISABLED"
	// A user has the error alone; the notice is for those tests.
	if _, ok := os.LookupEnv(notice); ok && status != exitOK {
		fmt.Fprintln(c.out, notice)
	}
	return status
}

// errAsked ends a compilation that somebody only wanted to know the script's
// options of, or that they were wrong for.
var errAsked = errors.New("the options of the script were asked for")

// writeAhead makes the executable: a copy of a hawk with the payload behind it. The status is that
// of a script whose options were asked for; everything else is an error.
func (c *command) writeAhead(f *source.File, named []string, o compile.Options) (status int, err error) {
	name := cmp.Or(c.aotRuntime, ownFile)
	runtime, err := aot.OpenRuntime(name)
	if err != nil {
		return exitUsage, fmt.Errorf("cannot use the executable '%s' for --aot: %s", name, errno.Reason(err))
	}
	defer runtime.Close()
	ahead := session.Ahead{File: f, Options: o, Arch: runtime.Arch, Filter: c.filter, Report: c.print}
	// Options behind "--" become the defaults of the executable.
	ahead.Given = func(obj *object.Object) error {
		// The options are known only when the script has been compiled, and are needed before
		// the payload is written: hence the callback.
		values, s, done := c.namedOptions(named, obj)
		if done {
			status = s
			return errAsked
		}
		for _, o := range obj.Options {
			if v, ok := values[o.Name]; ok {
				obj.Data.Set(o, v)
			}
		}
		return nil
	}
	// A variant for older kernels is tried, and may be impossible: that is no mistake of the
	// script.
	ahead.Refused = func(before string) {
		if c.verbose > 0 {
			fmt.Fprintf(c.err, "kernels before %s can not run the script\n", before)
		}
	}
	p, err := ahead.Compile()
	switch {
	case err == errAsked:
		return status, nil
	case err != nil || p == nil:
		return exitUsage, err
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
