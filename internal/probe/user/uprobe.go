package user

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/hawktrace/hawk/internal/attach"
	"github.com/hawktrace/hawk/internal/bpf"
	"github.com/hawktrace/hawk/internal/exe"
	"github.com/hawktrace/hawk/internal/machine"
	"github.com/hawktrace/hawk/internal/probe"
	"github.com/hawktrace/hawk/internal/types"
)

var _ = probe.Define(probe.Kind{
	Name:    "uprobe",
	Aliases: []string{"u"},
	Returns: "uretprobe",
	Doc: "Fires when a function of a program or library is called, or at an instruction of it. `args` has its " +
		"arguments by name where there is debug information (DWARF) of the program; strings of Go, Rust and " +
		"C++ are text. A function of Go begins once more, and is seen so, where it finds at its start that its stack " +
		"has to grow or that another goroutine is to run: count returns where the number of calls matters. Where " +
		"nobody can tell, the probe of a function stands a few instructions behind its start, which is faster; " +
		"that of `function+0` does not.",
	Example: `uprobe:libc:malloc { @bytes[comm] = hist(arg0); }`,
	Forms: []string{"uprobe:binary:function[+offset]", "uprobe:binary:cpp:name", "uprobe:binary:address",
		"uprobe:binary@file:line[:column]", "uprobe:\"archive.zip!/member\":function[+offset]"},
	Has: probe.HasArgs | probe.HasArgN | probe.HasRegs | probe.HasFunc | probe.HasUserAddrs | probe.HasCtx |
		probe.HasGoroutine,
	Space: types.User,
	Wild:  probe.UserWild,
	Multi: machine.UprobeMulti,

	RegisterArgs: true,

	Parse:      parseUprobe,
	Match:      matchUprobe,
	Names:      symbolNames,
	Why:        whyNoSymbol,
	List:       probe.ListTwoParts,
	Describe:   describeUprobe,
	Args:       uprobeArgs,
	Proto:      uprobeProto,
	Types:      userType,
	Enumerator: userEnumerator,
	Plan:       planUprobe,
	ListName:   symbolListName,
})

var _ = probe.Define(probe.Kind{
	Name:    "uretprobe",
	Aliases: []string{"ur"},
	Doc: "Fires when a function of a program or library returns. Functions of Go programs are traced at " +
		"their return instructions, since their stacks do not allow more; `args` has their results by name, `r0`, " +
		"`r1` and so on where they have none. So are those of C++ and Rust, since exceptions do not find their way " +
		"past the return addresses that the kernel's return probes put on the stack.",
	Example: `uretprobe:libc:malloc / retval == 0 / { @failed[comm] = count(); }`,
	Forms:   []string{"uretprobe:binary:function", "uretprobe:binary:cpp:name"},
	Has: probe.HasArgs | probe.HasRetval | probe.HasRegs | probe.HasFunc | probe.HasUserAddrs | probe.HasCtx |
		probe.HasGoroutine,
	Space:      types.User,
	Multi:      machine.UprobeMulti,
	Parse:      parseUretprobe,
	Match:      matchUretprobe,
	Names:      symbolNames,
	Why:        whyNoSymbol,
	List:       probe.ListTwoParts,
	Describe:   describeUprobe,
	Args:       uretprobeArgs,
	Proto:      uprobeProto,
	Types:      userType,
	Enumerator: userEnumerator,
	Retval:     func(*probe.Point, *probe.Options) (types.Type, error) { return types.Int64, nil },
	Plan:       planUprobe,
	ListName:   symbolListName,
})

// symbolListName shows names of a language as the source has them, quoted so
// that the line can be pasted into a script.
func symbolListName(p *probe.Point) string {
	if p.Provider == "" {
		return p.Name()
	}
	return p.Kind.Name + ":" + p.Target + ":" + p.Provider + ":" + strconv.Quote(exe.Demangle(p.Func))
}

// isLanguage reports whether hawk can match source-level names of a language.
func isLanguage(s string) bool { return s == "cpp" || s == "rust" || s == "go" }

// parseUprobe parses what stands behind uprobe:. With -p the file may be left out: it is the
// program's.
func parseUprobe(p *probe.Point, parts []probe.Part, o *probe.Options) error {
	// The @ of file@source:line is a part of its own; in a name that is quoted it is a letter.
	for i, part := range parts {
		if part.Text == "@" && !part.Literal {
			return parseSource(p, parts[:i], parts[i+1:])
		}
	}
	hasPID := o.OnePID()
	switch {
	case len(parts) == 1 && hasPID:
		p.Pattern = &probe.Pattern{Fn: parts[0]}
	case len(parts) == 2 && hasPID && isLanguage(parts[0].Text) && !parts[0].Literal:
		p.Pattern = &probe.Pattern{Provider: parts[0], Fn: parts[1]}
	case len(parts) == 2:
		p.Pattern = &probe.Pattern{Target: parts[0], Fn: parts[1]}
	case len(parts) == 3:
		p.Pattern = &probe.Pattern{Target: parts[0], Provider: parts[1], Fn: parts[2]}
		if !isLanguage(parts[1].Text) {
			return fmt.Errorf("unsupported language type: %s", parts[1].Text)
		}
	default:
		err := probe.WrongCount(p, "2 or 3", parts)
		if slices.ContainsFunc(parts, func(part probe.Part) bool { return part.Text == "" }) { // of a name with ::
			return probe.Hint(err, fmt.Sprintf("names with :: are quoted: %s:%s:cpp:\"scope::name\"",
				p.Kind.Name, parts[0].Text))
		}
		return err
	}
	p.Target, p.Provider = p.Pattern.Target.Text, p.Pattern.Provider.Text
	fn := p.Pattern.Fn
	// No function's name begins with a digit, unless it is quoted.
	if probe.StartsNumber(fn.Text) && !fn.Literal {
		if strings.Contains(p.Target, "*") {
			return errors.New("Cannot use wildcards with absolute address")
		}
		addr, err := probe.ParseInt(fn.Text)
		if err != nil {
			return fmt.Errorf("Invalid address: %w", err)
		}
		p.Address = addr
		return nil
	}
	if err := probe.ParseFuncOffset(p, fn); err != nil {
		return err
	}
	p.Pattern.Fn.Text = p.Func
	if p.Func == "" {
		return fmt.Errorf("%s probe must have a target function or wildcard", p.Kind.Name)
	}
	return nil
}

// parseUretprobe is parseUprobe without what has no return: an instruction, a source line.
func parseUretprobe(p *probe.Point, parts []probe.Part, o *probe.Options) error {
	if err := parseUprobe(p, parts, o); err != nil {
		return err
	}
	if p.Pattern.Source != nil {
		return errors.New("Source code location not allowed")
	}
	if p.Offset != 0 || strings.Contains(parts[len(parts)-1].Text, "+") && !parts[len(parts)-1].Literal {
		return probe.ErrNoOffset
	}
	return nil
}

// planUprobe prefers a link for all places of a file: detaching one costs a
// quarter of what a perf event does. Returns that are traced at the return
// instructions have mechanisms of their own, and a program reads arguments by one
// convention.
func planUprobe(points []*probe.Point, uses probe.Uses, o *probe.Options) ([]*probe.Group, error) {
	for _, p := range points {
		if p.Func == "" && uses.Func && p.Kind.Retval != nil && !o.Has(machine.GetFuncIP) {
			return nil, fmt.Errorf("func in %s probes at addresses: %w", p.Kind.Name, o.Machine.Has(machine.GetFuncIP))
		}
	}
	useMulti := o.Has(machine.UprobeMulti)
	if !useMulti {
		if err := o.Machine.Has(machine.UprobePMU); err != nil {
			return nil, err
		}
	}
	var out []*probe.Group
	// Each round takes the points that are like the first one, in their order.
	for len(points) > 0 {
		mech, convention := uprobeMechanism(points[0], useMulti), points[0].Place.ABI
		var same, rest []*probe.Point
		for _, p := range points {
			if uprobeMechanism(p, useMulti) == mech && p.Place.ABI == convention {
				same = append(same, p)
			} else {
				rest = append(rest, p)
			}
		}
		if useMulti {
			out = append(out, probe.Split(same, mech, true, len(same) > 1)...)
		} else {
			// A perf event tells a program nothing of its place but by a cookie (Linux 5.15):
			// without, a body that asks for names is loaded for each point.
			names := uses.Probe || uses.Func // func is the name of the point's function
			cookies := len(same) > 1 && names && o.Has(machine.KprobeCookie)
			out = append(out, probe.Split(same, mech, !names || cookies, cookies)...)
		}
		points = rest
	}
	return out, nil
}

// uprobeMechanism is how a point is attached.
func uprobeMechanism(p *probe.Point, multi bool) *probe.Mechanism {
	returns := p.Kind.Retval != nil
	switch {
	case p.Place.Kept && multi:
		return &keptReturnMulti
	case p.Place.Kept:
		return &keptReturnPerf
	case returns && p.Place.Returns != nil && multi:
		return &goReturnMulti
	case returns && p.Place.Returns != nil:
		return &goReturnPerf
	case returns && multi:
		return &uretprobeMulti
	case returns:
		return &uretprobePerf
	case multi:
		return &uprobeMulti
	}
	return &uprobePerf
}

var (
	uprobeMulti    = userMechanism("uprobe.multi", true, false)
	uprobePerf     = userMechanism("perf uprobe", false, false)
	uretprobeMulti = userMechanism("uprobe.multi return", true, true)
	uretprobePerf  = userMechanism("perf uretprobe", false, true)
	goReturnMulti  = returnSites(uretprobeMulti, "uprobe.multi at return instructions", true)
	goReturnPerf   = returnSites(uretprobePerf, "perf uprobe at return instructions", false)

	keptReturnMulti = keptReturn(goReturnMulti)
	keptReturnPerf  = keptReturn(goReturnPerf)
)

// keptReturn is m where what is seen is to be that of the kernel's return probes: the stack begins with
// the caller.
func keptReturn(m probe.Mechanism) probe.Mechanism {
	m.AtReturn = true
	return m
}

// userMechanism attaches to functions of user space, by one link for many or a
// perf event for each.
func userMechanism(name string, multi, returns bool) probe.Mechanism {
	m := probe.Mechanism{
		Name:      name,
		Program:   bpf.Kprobe,
		Backwards: true,
		Slow:      true,
		Sleepable: machine.SleepableUprobe,
		Guard:     probe.GuardFollowed,
		Index:     probe.CookieIndex,
		Regs:      probe.ContextRegs,
	}
	if multi {
		m.Attach = bpf.AttachUprobeMulti
	}
	flags := uint32(0)
	if returns {
		m.Retval, m.Func, flags = userRetval, probe.FuncIP, attach.ReturnBit
	} else {
		m.Arg, m.Field, m.Memory, m.Func = userArg, userField, userMemory, probe.CurrentIP
	}
	m.Link = func(fd int, g *probe.Group, o *probe.Options) ([]probe.Link, error) {
		return linkUprobes(fd, g, o, multi, flags)
	}
	return m
}

// returnSites is m for functions that are traced at their return instructions,
// where the result is in the same register as after the return.
func returnSites(m probe.Mechanism, name string, multi bool) probe.Mechanism {
	m.Name, m.Func, m.Field, m.Memory = name, probe.CurrentIP, userField, userMemory
	m.Link = func(fd int, g *probe.Group, o *probe.Options) ([]probe.Link, error) {
		return linkUprobes(fd, g, o, multi, 0)
	}
	return m
}

// linkUprobes attaches a group. What was wrong with a place when it was matched is an error only
// now: listing shows it, and a pattern may have passed over it.
func linkUprobes(progFD int, g *probe.Group, o *probe.Options, multi bool, flags uint32) ([]probe.Link, error) {
	sites := make([]probe.Site, 0, len(g.Points))
	moved := cheaperPlaces(g, o)
	for i, p := range g.Points {
		pl := p.Place
		if pl.Err != nil {
			return nil, pl.Err
		}
		offsets := pl.Returns
		if offsets == nil {
			offsets = []uint64{pl.Offset}
			if moved != nil {
				offsets[0] += moved[i]
			}
		}
		for _, off := range offsets {
			sites = append(sites, probe.Site{
				Point: p, Path: exe.OnDisk(p.Target), Offset: off, Cookie: probe.CookieOf(g, i),
				Entry: pl.Func != 0 && p.Offset == 0, Unsafe: pl.Unsafe,
			})
		}
	}
	return attach.LinkSites(progFD, g, sites, o, multi, flags)
}
