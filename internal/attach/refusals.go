package attach

import (
	"fmt"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/hawktrace/hawk/internal/errno"
	"github.com/hawktrace/hawk/internal/probe"
)

// Refusals collects the functions of a pattern that are refused: by the
// kernel, or by hawk, since a probe there would change the traced program.
type Refusals struct {
	Group            *probe.Group
	byKernel, unsafe Refused
}

// Refused is functions of a pattern that no probe is put on. It is the error of
// attaching a group that nothing is left of.
type Refused struct {
	Points []*probe.Point
	Unsafe bool  // by hawk, not by the kernel
	First  error // why the first was
}

func (r *Refused) Error() string { return r.First.Error() }
func (r *Refused) Unwrap() error { return r.First }

// Add notes a refusal. It is final for what the script names itself.
func (r *Refusals) Add(p *probe.Point, err error) error {
	of := &r.byKernel
	switch {
	case !p.Wild() || !RefusesFunction(err):
		return err
	case isUnsafe(err):
		of = &r.unsafe
		of.Unsafe = true
	}
	if n := len(of.Points); n > 0 && of.Points[n-1] == p {
		return nil // at another of its places
	}
	if of.Points = append(of.Points, p); of.First == nil {
		of.First = err
	}
	return nil
}

// End reports what was refused; it is an error if nothing else was attached.
func (r *Refusals) End(attached bool, o *probe.Options) error {
	if !attached {
		if r.byKernel.First != nil {
			return &r.byKernel
		}
		return &r.unsafe
	}
	if o.Missed != nil {
		o.Missed(len(r.byKernel.Points) + len(r.unsafe.Points))
	}
	WarnRefused(o, &r.byKernel, len(r.Group.Points))
	WarnRefused(o, &r.unsafe, len(r.Group.Points))
	return nil
}

// WarnRefused warns of functions that are left out, of so many that one attach
// point stands for.
func WarnRefused(o *probe.Options, r *Refused, of int) {
	switch {
	case len(r.Points) == 0:
	case r.Unsafe:
		o.Warn(r.Points[0], "passed over %d of %d functions where no probe can be put: %s (%s)",
			len(r.Points), of, SomeOf(namesOf(r.Points)), errno.Message(r.First))
	default:
		o.Warn(r.Points[0], "the kernel refuses probes on %s: %s", SomeOf(namesOf(r.Points)), errno.Message(r.First))
	}
}

func namesOf(points []*probe.Point) []string {
	names := make([]string, len(points))
	for i, p := range points {
		names[i] = p.Func
	}
	return names
}

// RefusesFunction tells a refusal of one function from what would befall all.
func RefusesFunction(err error) bool {
	return isUnsafe(err) || errno.Among(err, unix.ESRCH, unix.ENOENT, unix.EINVAL, unix.EADDRNOTAVAIL, unix.EILSEQ,
		unix.ERANGE, unix.EBUSY, unix.EOPNOTSUPP, unix.ENOEXEC, errno.NotSupported)
}

// SomeOf names a few of many.
func SomeOf(names []string) string {
	const most = 5
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}
