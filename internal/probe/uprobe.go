package probe

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/hawktrace/hawk/internal/bpf"
	"github.com/hawktrace/hawk/internal/exe"
	"github.com/hawktrace/hawk/internal/machine"
	"github.com/hawktrace/hawk/internal/types"
)

var _ = define(Kind{
	Name:    "uprobe",
	Aliases: []string{"u"},
	Doc: "Fires when a function of a program or library is called, or at an instruction of it. `args` has its arguments by name where there is debug information (DWARF) of the program; strings of Go, Rust and C++ are text. " +
		"A function of Go begins once more, and is seen so, where it finds at its start that its stack " +
		"has to grow or that another goroutine is to run: count returns where the number of calls matters.",
	Example: `uprobe:libc:malloc { @bytes[comm] = hist(arg0); }`,
	Forms:   []string{"uprobe:binary:function[+offset]", "uprobe:binary:cpp:name", "uprobe:binary:address", "uprobe:binary@file:line[:column]", "uprobe:\"archive.zip!/member\":function[+offset]"},
	Has:     HasArgs | HasArgN | HasRegs | HasFunc | HasUserAddrs | HasCtx | HasGoroutine,
	Space:   types.User,
	Wild:    UserWild,
	Multi:   machine.UprobeMulti,

	RegisterArgs: true,

	Parse:      parseUprobe,
	Match:      matchUprobe,
	Names:      symbolNames,
	Why:        whyNoSymbol,
	List:       listTwoParts,
	Describe:   describeUprobe,
	Args:       uprobeArgs,
	Types:      userType,
	Enumerator: userEnumerator,
	Plan:       planUprobe,
	listName:   symbolListName,
})

var _ = define(Kind{
	Name:       "uretprobe",
	Aliases:    []string{"ur"},
	Doc:        "Fires when a function of a program or library returns. Functions of Go programs are traced at their return instructions, since their stacks do not allow more; `args` has their results by name, `r0`, `r1` and so on where they have none.",
	Example:    `uretprobe:libc:malloc / retval == 0 / { @failed[comm] = count(); }`,
	Forms:      []string{"uretprobe:binary:function", "uretprobe:binary:cpp:name"},
	Has:        HasArgs | HasRetval | HasRegs | HasFunc | HasUserAddrs | HasCtx | HasGoroutine,
	Space:      types.User,
	Multi:      machine.UprobeMulti,
	Parse:      parseUretprobe,
	Match:      matchUretprobe,
	Names:      symbolNames,
	Why:        whyNoSymbol,
	List:       listTwoParts,
	Describe:   describeUprobe,
	Args:       uretprobeArgs,
	Types:      userType,
	Enumerator: userEnumerator,
	Retval:     func(*Point, *Options) (types.Type, error) { return types.Int64, nil },
	Plan:       planUprobe,
	listName:   symbolListName,
})

// symbolListName shows names of a language as the source has them, quoted so
// that the line can be pasted into a script.
func symbolListName(p *Point) string {
	if p.Provider == "" {
		return p.Name()
	}
	return p.Kind.Name + ":" + p.Target + ":" + p.Provider + ":" + strconv.Quote(exe.Demangle(p.Func))
}

// isLanguage reports whether hawk can match source-level names of a language.
func isLanguage(s string) bool { return s == "cpp" || s == "rust" || s == "go" }

func parseUprobe(p *Point, parts []Part, o *Options) error {
	for i, part := range parts {
		if part.Text == "@" && !part.Literal {
			return parseSource(p, parts[:i], parts[i+1:])
		}
	}
	hasPID := o.onePID()
	switch {
	case len(parts) == 1 && hasPID:
		p.pattern = &pattern{fn: parts[0]}
	case len(parts) == 2 && hasPID && isLanguage(parts[0].Text) && !parts[0].Literal:
		p.pattern = &pattern{provider: parts[0], fn: parts[1]}
	case len(parts) == 2:
		p.pattern = &pattern{target: parts[0], fn: parts[1]}
	case len(parts) == 3:
		p.pattern = &pattern{target: parts[0], provider: parts[1], fn: parts[2]}
		if !isLanguage(parts[1].Text) {
			return fmt.Errorf("unsupported language type: %s", parts[1].Text)
		}
	default:
		err := wrongCount(p, "2 or 3", parts)
		if slices.ContainsFunc(parts, func(part Part) bool { return part.Text == "" }) { // of a name with ::
			return Hinted{err, fmt.Sprintf("names with :: are quoted: %s:%s:cpp:\"scope::name\"", p.Kind.Name, parts[0].Text)}
		}
		return err
	}
	p.Target, p.Provider = p.pattern.target.Text, p.pattern.provider.Text
	fn := p.pattern.fn
	if startsNumber(fn.Text) && !fn.Literal {
		if strings.Contains(p.Target, "*") {
			return errors.New("Cannot use wildcards with absolute address")
		}
		addr, err := parseInt(fn.Text)
		if err != nil {
			return fmt.Errorf("Invalid address: %w", err)
		}
		p.Address = addr
		return nil
	}
	if err := parseFuncOffset(p, fn); err != nil {
		return err
	}
	p.pattern.fn.Text = p.Func
	if p.Func == "" {
		return fmt.Errorf("%s probe must have a target function or wildcard", p.Kind.Name)
	}
	return nil
}

func parseUretprobe(p *Point, parts []Part, o *Options) error {
	if err := parseUprobe(p, parts, o); err != nil {
		return err
	}
	if p.pattern.source != nil {
		return errors.New("Source code location not allowed")
	}
	if p.Offset != 0 || strings.Contains(parts[len(parts)-1].Text, "+") && !parts[len(parts)-1].Literal {
		return errNoOffset
	}
	return nil
}

// planUprobe prefers a link for all places of a file: detaching one costs a
// quarter of what a perf event does. Returns that are traced at the return
// instructions have mechanisms of their own, and a program reads arguments by one
// convention.
func planUprobe(points []*Point, uses Uses, o *Options) ([]*Group, error) {
	for _, p := range points {
		if p.Func == "" && uses.Func && p.Kind.Retval != nil && !o.has(machine.GetFuncIP) {
			return nil, fmt.Errorf("func in %s probes at addresses: %w", p.Kind.Name, o.Machine.Has(machine.GetFuncIP))
		}
	}
	useMulti := o.has(machine.UprobeMulti)
	if !useMulti {
		if err := o.Machine.Has(machine.UprobePMU); err != nil {
			return nil, err
		}
	}
	var out []*Group
	for len(points) > 0 {
		mech, convention := uprobeMechanism(points[0], useMulti), points[0].Extra.(place).abi
		var same, rest []*Point
		for _, p := range points {
			if uprobeMechanism(p, useMulti) == mech && p.Extra.(place).abi == convention {
				same = append(same, p)
			} else {
				rest = append(rest, p)
			}
		}
		if useMulti {
			out = append(out, split(same, mech, true, indexCookies(len(same) > 1))...)
		} else {
			names := uses.Probe || uses.Func // func is the name of the point's function
			cookies := len(same) > 1 && names && o.has(machine.KprobeCookie)
			out = append(out, split(same, mech, !names || cookies, indexCookies(cookies))...)
		}
		points = rest
	}
	return out, nil
}

// uprobeMechanism is how a point is attached.
func uprobeMechanism(p *Point, multi bool) *Mechanism {
	returns := p.Kind.Retval != nil
	switch {
	case returns && p.Extra.(place).returns != nil && multi:
		return &goReturnMulti
	case returns && p.Extra.(place).returns != nil:
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
)

// userMechanism attaches to functions of user space, by one link for many or a
// perf event for each.
func userMechanism(name string, multi, returns bool) Mechanism {
	m := Mechanism{
		Name:      name,
		Program:   bpf.Kprobe,
		Backwards: true,
		Slow:      true,
		Sleepable: machine.SleepableUprobe,
		Guard:     guardFollowed,
		Index:     cookieIndex,
		Regs:      contextRegs,
	}
	if multi {
		m.Attach = bpf.AttachUprobeMulti
	}
	flags := uint32(0)
	if returns {
		m.Retval, m.Func, flags = userRetval, funcIP, returnBit
	} else {
		m.Arg, m.Field, m.Memory, m.Func = userArg, userField, userMemory, currentIP
	}
	m.Link = func(fd int, g *Group, o *Options) ([]Link, error) { return linkUprobes(fd, g, o, multi, flags) }
	return m
}

// returnSites is m for functions that are traced at their return instructions,
// where the result is in the same register as after the return.
func returnSites(m Mechanism, name string, multi bool) Mechanism {
	m.Name, m.Func, m.Field, m.Memory = name, currentIP, userField, userMemory
	m.Link = func(fd int, g *Group, o *Options) ([]Link, error) { return linkUprobes(fd, g, o, multi, 0) }
	return m
}

func linkUprobes(progFD int, g *Group, o *Options, multi bool, flags uint32) ([]Link, error) {
	sites := make([]site, 0, len(g.Points))
	for i, p := range g.Points {
		pl := p.Extra.(place)
		if pl.err != nil {
			return nil, pl.err
		}
		offsets := pl.returns
		if offsets == nil {
			offsets = []uint64{pl.offset}
		}
		for _, off := range offsets {
			sites = append(sites, site{
				point: p, path: exe.OnDisk(p.Target), offset: off, cookie: cookieOf(g, i),
				entry: pl.fn != 0 && p.Offset == 0, unsafe: pl.unsafe,
			})
		}
	}
	return linkSites(progFD, g, sites, o, multi, flags)
}
