package perf

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/hawktrace/hawk/internal/attach"
	"github.com/hawktrace/hawk/internal/bpf"
	"github.com/hawktrace/hawk/internal/errno"
	"github.com/hawktrace/hawk/internal/order"
	"github.com/hawktrace/hawk/internal/probe"
	"github.com/hawktrace/hawk/internal/probe/user"
)

var _ = probe.Define(probe.Kind{
	Name:    "watchpoint",
	Aliases: []string{"w"},
	Removed: map[string]string{"asyncwatchpoint": "use watchpoint with an address",
		"aw": "use watchpoint with an address"},
	Doc: "Fires when memory is read, written or executed: an address of the traced process, or of the kernel, " +
		"which may also be given as the name of a " +
		"variable, or a variable of a program or library by its name: `-p` says in which process, unless it is a " +
		"program that is always loaded at the same addresses. The processor watches 1, 2, 4 or 8 bytes; it has few " +
		"such registers (4 on x86_64) for the whole machine. On x86_64 the modes are `w`, `rw` and " +
		"`x`, and a program runs after the access.",
	Example: `watchpoint:0x10000000:8:rw { printf("%s\n", ustack); }`,
	Forms: []string{"watchpoint:address:length:mode", "watchpoint:symbol:length:mode",
		"watchpoint:binary:symbol:length:mode"},
	Has:           probe.HasRegs | probe.HasCtx,
	Parse:         parseWatchpoint,
	Match:         matchWatchpoint,
	Names:         user.VariableNames,
	Ctx:           probe.PerfEventContext,
	Plan:          probe.PlanAlone(watchpointMechanism),
	CanonicalName: watchpointName,
})

// parseWatchpoint parses an address or the name of a variable, a length and the accesses; the file
// of a variable may stand in front.
func parseWatchpoint(p *probe.Point, parts []probe.Part, o *probe.Options) error {
	// Three parts are an address or a symbol of the kernel; a variable of a file takes the file
	// in front.
	inFile := len(parts) == 4
	if len(parts) != 3 && !inFile {
		return probe.WrongCount(p, "3 or 4", parts)
	}
	if inFile {
		p.Target, parts = parts[0].Text, parts[1:]
		p.Pattern = &probe.Pattern{Target: probe.Part{Text: p.Target, Literal: true}}
	}
	where := parts[0].Text
	addr, err := probe.ParseInt(where)
	switch {
	case inFile && (err == nil || where == ""):
		return fmt.Errorf("%s takes the name of a variable or function of %s, not %q", p.Kind.Name, p.Target, where)
	case inFile:
		p.Func = where
	case err == nil && addr == 0:
		return errors.New("watchpoint must be attached to a non-zero address")
	case err == nil:
		p.Address = addr
	case argumentOf(where):
		return fmt.Errorf("watching what an argument of a function points to (%s) was removed from the language: "+
			"give an address", where)
	case !isIdentifier(where):
		return badAddress(where)
	default:
		p.Func = where
	}
	length, err := probe.ParseInt(parts[1].Text)
	if err != nil {
		return fmt.Errorf("Invalid length argument: %w", err)
	}
	if length != 1 && length != 2 && length != 4 && length != 8 {
		return errors.New("watchpoint length must be one of (1,2,4,8)")
	}
	mode, err := watchMode(parts[2].Text, o)
	if err != nil {
		return err
	}
	p.Length, p.Mode = length, mode
	return nil
}

// argumentOf recognises function+argN.
func argumentOf(where string) bool {
	name, arg, ok := strings.Cut(where, "+arg")
	return ok && isIdentifier(name) && arg != "" && strings.Trim(arg, "0123456789") == ""
}

// badAddress has the reference's words, which scripts of tests look for.
func badAddress(text string) error {
	return fmt.Errorf("Invalid function/address argument: invalid integer: %s", text)
}

// isIdentifier tells what may be a symbol from what is a misspelt number.
func isIdentifier(s string) bool {
	for i := range len(s) {
		switch c := s[i]; {
		case 'a' <= c|0x20 && c|0x20 <= 'z', c == '_':
		case i > 0 && ('0' <= c && c <= '9' || c == '.'):
		default:
			return false
		}
	}
	return s != ""
}

// watchMode sorts the letters of a mode and compares them with what the
// machine can watch for.
func watchMode(text string, o *probe.Options) (string, error) {
	letters := []byte(text)
	order.By(letters, cmp.Compare)
	mode := string(letters)
	// Processors differ: x86-64 cannot watch reads alone, for one.
	able := o.Machine.Arch().WatchModes
	if slices.Contains(able, mode) {
		return mode, nil
	}
	err := fmt.Errorf("invalid watchpoint mode: %q", text)
	// Both are said, the duplicate first: "rr" is none of the modes either.
	if len(slices.Compact(letters)) < len(mode) {
		err = errors.Join(errors.New("watchpoint modes may not be duplicated"), err)
	}
	return "", probe.Hint(err, "supported modes: "+strings.Join(able, ","))
}

// matchWatchpoint finds the address of a variable, of the kernel or of a file.
func matchWatchpoint(p *probe.Point, o *probe.Options) ([]*probe.Point, error) {
	switch {
	case p.Address != 0:
		return []*probe.Point{p}, nil
	case p.Target != "":
		return user.MatchVariable(p, o)
	}
	syms, err := o.Machine.KernelSymbols()
	if err != nil {
		return nil, fmt.Errorf("%w; symbols of the kernel cannot be looked up: %s", badAddress(p.Func),
			errno.Message(err))
	}
	// The table is read as a whole for this, some 100 ms: a variable is looked up once in a run.
	addr, ok := syms.Address(p.Func)
	if !ok {
		return nil, probe.Hint(badAddress(p.Func), "it is neither a number nor a symbol of the kernel; an address "+
			"in a program is where its loader put it: "+
			"what nm shows, plus the start of the mapping in /proc/PID/maps if it is position-independent")
	}
	q := *p
	q.Address = addr
	return []*probe.Point{&q}, nil
}

// watchpointName spells the place as the script does.
func watchpointName(p *probe.Point) string {
	// The address that was found is not shown: it differs from boot to boot.
	where := p.Func
	switch {
	case p.Target != "":
		where = p.Target + ":" + p.Func
	case where == "":
		where = strconv.FormatUint(p.Address, 10)
	}
	return fmt.Sprintf("%s:%s:%d:%s", p.Kind.Name, where, p.Length, p.Mode)
}

// watchpointMechanism has no guard: with a process, events are opened on its threads alone.
var watchpointMechanism = &probe.Mechanism{
	Name:    "hardware breakpoint",
	Program: bpf.PerfEvent,
	Regs:    probe.ContextRegs,
	Link:    linkWatchpoint,
}

// Bits of perf_event_attr.bp_type, include/uapi/linux/hw_breakpoint.h.
var watchBits = map[byte]uint32{'r': 1, 'w': 2, 'x': 4}

// linkWatchpoint sets a breakpoint for every thread of a process, or on every
// CPU for whatever runs there.
func linkWatchpoint(progFD int, g *probe.Group, o *probe.Options) ([]probe.Link, error) {
	p := g.Points[0]
	attr := unix.PerfEventAttr{Type: unix.PERF_TYPE_BREAKPOINT, Sample: 1, Ext1: p.Address, Ext2: p.Length}
	for i := range len(p.Mode) {
		attr.Bp_type |= watchBits[p.Mode[i]]
	}
	if p.Mode == "x" {
		attr.Ext2 = 8 // sizeof(long): the kernel takes no other length
	}
	cpus, err := o.Machine.OnlineCPUs()
	if err != nil {
		return nil, err
	}
	places, err := perfPlaces(cpus, o.PID)
	if err != nil {
		return nil, err
	}
	var links []probe.Link
	var first error
	failed := 0
	for _, at := range places {
		// Threads that begin later inherit the breakpoint from the one that starts them.
		if at.tid > 0 {
			attr.Bits |= unix.PerfBitInherit
		}
		link, err := attach.OpenPerf(nil, &attr, "", progFD, at.tid, at.cpu, 0)
		switch {
		case err == nil:
			links = append(links, link)
		case errors.Is(err, unix.ESRCH) || errors.Is(err, unix.ENODEV):
			// The thread has ended, the CPU has gone offline.
		default:
			if failed++; first == nil {
				first = err
			}
		}
	}
	switch {
	case len(links) == 0 && first == nil:
		return nil, fmt.Errorf("%s: nothing left to watch", p.Name())
	// The kernel reserves a register on every CPU for each breakpoint, whoever set it: a debugger
	// or another hawk may hold them.
	case len(links) == 0 && errors.Is(first, unix.ENOSPC):
		return nil, fmt.Errorf("No more HW registers left: %w", first)
	case len(links) == 0:
		return nil, fmt.Errorf("%s: %w%s", p.Name(), first, watchAdvice(first, p, o))
	case failed > 0:
		o.Warn(p, "%d of %d breakpoints for %s could not be set: %s", failed, len(places), p.Name(),
			errno.Message(first))
	}
	return links, nil
}

// watchAdvice guesses what EINVAL means, by the rules that the kernel's hw_breakpoint.c has for
// the machine; "" if none of them was broken.
func watchAdvice(err error, p *probe.Point, o *probe.Options) string {
	const kernel = 1 << 63 // set in addresses of the kernel
	switch a := o.Machine.Arch(); {
	case !errors.Is(err, unix.EINVAL):
	case p.Mode != "x" && p.Address%p.Length != 0:
		return fmt.Sprintf(" (%#x is not a multiple of %d)", p.Address, p.Length)
	case p.Address&kernel != 0 && o.PID != 0 && a.WatchKernelForAll:
		return fmt.Sprintf(" (on %s addresses of the kernel are watched for all processes: leave out -p and -c, "+
			"and test pid in the script)", a.Name)
	}
	return ""
}
