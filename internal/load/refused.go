package load

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/hawktrace/hawk/internal/attach"
	"github.com/hawktrace/hawk/internal/bpf"
	"github.com/hawktrace/hawk/internal/object"
	"github.com/hawktrace/hawk/internal/probe"
	"github.com/hawktrace/hawk/internal/source"
)

// A program that follows one function is bound to it when it is loaded. What
// the kernel has against the function it says then, and that is the same as a
// function that cannot be attached to.

// targetComplaints begin what the kernel says of a function that no program may
// follow (bpf_check_attach_target in kernel/bpf/verifier.c,
// btf_distill_func_proto in kernel/bpf/btf.c).
var targetComplaints = []string{"The function ", "The address of function ", "Attaching ",
	"Cannot recursively attach", "Cannot extend ", "Subprog ", "Can only attach to JITed"}

// blamesTarget reports whether the kernel has something against what a program
// is to follow, not against the program.
func blamesTarget(p *object.Program, words []string, err error) bool {
	if !boundToFunction(p) {
		return false
	}
	if len(words) == 0 {
		return errors.Is(err, unix.EINVAL)
	}
	return slices.ContainsFunc(targetComplaints, func(start string) bool { return strings.HasPrefix(words[0], start) })
}

// boundToFunction reports whether a program is loaded for one function.
func boundToFunction(p *object.Program) bool {
	m := p.Group.Mech()
	return m.Attach == bpf.AttachFentry || m.Attach == bpf.AttachFexit
}

// refusedTarget is the diagnostic of a program whose function may not be followed.
func refusedTarget(r *Rejected, p *object.Program, words []string) *Rejected {
	pt := p.Group.Points[0]
	if r.Target = strings.Join(words, " "); len(words) == 0 {
		// The kernel's list of functions that none may follow (btf_id_deny)
		// says nothing.
		r.Target = "it gives no reason"
	}
	r.Diag.Code, r.Diag.Span = "not-attachable", pt.At
	r.Diag.Msg = fmt.Sprintf("the kernel refuses probes on %s: %s", pt.Func, r.Target)
	r.Diag.Hint("if this is expected, set the 'missing_probes' config variable to 'warn'")
	return r
}

// leaveOut drops the programs that were not loaded since the kernel refuses
// their functions: those that a pattern found beside others, and those that the
// settings let be missing. errs are the errors of loading by program.
func (s *Session) leaveOut(errs []error) error {
	strict := s.opts.Config == nil || s.opts.Config.MissingProbes == "error"
	var programs []*object.Program
	var fds []int
	type refusal struct {
		points []*probe.Point
		first  *Rejected
	}
	refused := map[source.Span]*refusal{} // by attach point as written
	loaded := map[source.Span]bool{}
	var order []*refusal
	for i, p := range s.Object.Programs {
		pt := p.Group.Points[0]
		if errs[i] == nil {
			loaded[pt.At] = true
			programs, fds = append(programs, p), append(fds, s.Programs[i])
			continue
		}
		r := (*Rejected)(nil)
		if !errors.As(errs[i], &r) || r.Target == "" {
			return errs[i]
		}
		if refused[pt.At] == nil {
			refused[pt.At] = &refusal{first: r}
			order = append(order, refused[pt.At])
		}
		refused[pt.At].points = append(refused[pt.At].points, pt)
	}
	for _, r := range order {
		// The user asked for a function that is named, and for a pattern of which nothing is
		// left.
		if pt := r.points[0]; strict && (!pt.Wild() || !loaded[pt.At]) {
			return r.first
		}
		attach.WarnRefused(s.opts.Probe, &attach.Refused{Points: r.points, First: errors.New(r.first.Target)}, 0)
	}
	counts := func(p *object.Program) bool {
		ours := p.Group.Points[0].Kind.Ours
		return ours == probe.NotOurs || ours.Counts()
	}
	if len(order) > 0 && !slices.ContainsFunc(programs, counts) {
		return errors.New("Attachment failed for all probes.")
	}
	s.Object.Programs, s.Programs = programs, fds
	return nil
}
