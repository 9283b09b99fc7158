package probe

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/cilium/ebpf"

	"github.com/hawktrace/hawk/internal/bpf"
	"github.com/hawktrace/hawk/internal/target"
	"github.com/hawktrace/hawk/internal/target/exe"
	"github.com/hawktrace/hawk/internal/target/proc"
	"github.com/hawktrace/hawk/internal/types"
)

var _ = define(Kind{
	Name:    "uprobe",
	Aliases: []string{"u"},
	Doc:     "Fires when a function of a program or library is called, or at an instruction of it. Arguments by name, from debug information, are not supported by this version.",
	Forms:   []string{"uprobe:binary:function[+offset]", "uprobe:binary:cpp:name", "uprobe:binary:address"},
	Has:     HasArgs | HasArgN | HasRegs | HasFunc | HasUserAddrs | HasCtx,
	Space:   types.User,
	Wild:    UserWild,
	Parse:   parseUprobe,
	Match:   matchUprobe,
	Names:   symbolNames,
	List:    listTwoParts,
	Args: func(p *Point, _ *Options) (*types.Struct, error) {
		return nil, errors.New("args of uprobes (from DWARF) are not supported by this version of hawk; arg0, arg1, … are the registers")
	},
	Plan:     planUprobe(&uprobeMulti, &uprobePerf),
	listName: symbolListName,
})

var _ = define(Kind{
	Name:     "uretprobe",
	Aliases:  []string{"ur"},
	Doc:      "Fires when a function of a program or library returns.",
	Forms:    []string{"uretprobe:binary:function", "uretprobe:binary:cpp:name"},
	Has:      HasRetval | HasRegs | HasFunc | HasUserAddrs | HasCtx,
	Space:    types.User,
	Parse:    parseUretprobe,
	Match:    matchUretprobe,
	Names:    symbolNames,
	List:     listTwoParts,
	Retval:   func(*Point, *Options) (types.Type, error) { return types.Int64, nil },
	Plan:     planUprobe(&uretprobeMulti, &uretprobePerf),
	listName: symbolListName,
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
	for _, part := range parts {
		if part.Text == "@" && !part.Literal {
			return fmt.Errorf("%s probes at source locations are not supported by this version of hawk", p.Kind.Name)
		}
	}
	hasPID := o.PID != 0 && o.PIDFilter
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
		return wrongCount(p, "2 or 3", parts)
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
	if p.Offset != 0 || strings.Contains(parts[len(parts)-1].Text, "+") && !parts[len(parts)-1].Literal {
		return errNoOffset
	}
	return nil
}

// A place is where in a file a probe goes.
type place struct {
	offset uint64 // in the file, bytes
	err    error  // why the probe must not be put there; told when attaching
}

// findFiles lists the files that the target of a point names.
func findFiles(p *Point, o *Options) ([]string, error) {
	s := exe.Search{Unsafe: o.Unsafe, Libraries: true}
	if o.PIDFilter {
		s.PID = o.PID
	}
	files, err := s.Find(p.Target)
	if err != nil {
		return nil, fmt.Errorf("%s %w", p.Kind.Name, err)
	}
	if len(files) > 1 && !strings.Contains(p.Target, "*") {
		o.warn(p, "attaching to %s target file '%s' but matched %d binaries", p.Kind.Name, files[0], len(files))
		files = files[:1]
	}
	return files, nil
}

// eachFile opens the files of a point. Where a pattern covers many, those
// that cannot be read are passed over.
func eachFile(p *Point, o *Options, f func(path string, file *exe.File) error) error {
	paths, err := findFiles(p, o)
	if err != nil {
		return err
	}
	for _, path := range paths {
		file, err := exe.Open(path)
		if err == nil {
			err = f(path, file)
			file.Close()
		}
		if err != nil && !strings.Contains(p.Target, "*") {
			return err
		}
	}
	return nil
}

// withDebugFile calls f with the file, then with its separate debug file if
// it has one, until f returns true.
func withDebugFile(file *exe.File, o *Options, f func(*exe.File) bool) {
	if f(file) {
		return
	}
	root := ""
	if o.PIDFilter && o.PID != 0 {
		root = proc.Root(o.PID)
	}
	if d := file.DebugFile(root); d != nil {
		f(d)
		d.Close()
	}
}

func matchUprobe(p *Point, o *Options) ([]*Point, error) { return matchSymbols(p, o, false) }

func matchUretprobe(p *Point, o *Options) ([]*Point, error) { return matchSymbols(p, o, true) }

func matchSymbols(p *Point, o *Options, returns bool) ([]*Point, error) {
	var out []*Point
	err := eachFile(p, o, func(path string, file *exe.File) error {
		if returns && file.HasGoBuildInfo() && !o.ForListing {
			return fmt.Errorf("%s was built by Go, whose runtime crashes when the return address of a function is replaced; use uprobes", path)
		}
		points, err := matchFile(p, o, path, file, returns)
		out = append(out, points...)
		return err
	})
	return sortPoints(out), err
}

func matchFile(p *Point, o *Options, path string, file *exe.File, returns bool) ([]*Point, error) {
	q := *p
	q.Target = path
	if p.Func == "" {
		q.Extra = addressPlace(&q, o, file, returns)
		return []*Point{&q}, nil
	}
	if p.Provider == "" && !p.pattern.fn.HasWild() {
		var sym exe.Symbol
		found := false
		withDebugFile(file, o, func(f *exe.File) bool {
			sym, found = f.Symbol(p.Func)
			return found
		})
		if !found {
			return nil, nil
		}
		q.Extra = symbolPlace(&q, o, file, sym)
		return []*Point{&q}, nil
	}
	match := symbolMatcher(p)
	var out []*Point
	seen := map[string]bool{}
	withDebugFile(file, o, func(f *exe.File) bool {
		for _, sym := range f.Functions(match) {
			// A pattern passes over what would be refused by name: stubs of the
			// C runtime, whose end nobody knows.
			if seen[sym.Name] || sym.Size == 0 && !o.Unsafe && !o.ForListing {
				continue
			}
			seen[sym.Name] = true
			r := q
			r.Func = sym.Name
			r.Extra = symbolPlace(&r, o, file, sym)
			out = append(out, &r)
		}
		return f == file && f.HasSymbols()
	})
	return out, nil
}

// symbolMatcher tells the symbols a point's pattern covers: by the name in
// the table or, in a language's slot, by the demangled name, which counts with
// its parameters only if the pattern has some.
func symbolMatcher(p *Point) func(name []byte) bool {
	fn := p.pattern.fn
	if p.Provider == "" {
		return func(name []byte) bool {
			return partMatches(fn, name) && !strings.Contains(string(name), ".part.")
		}
	}
	demangle := exe.DemangleName
	if strings.Contains(fn.Text, "(") {
		demangle = exe.Demangle
	}
	word := mangledWord(fn.Text)
	return func(name []byte) bool {
		if partMatches(fn, name) {
			return true
		}
		s := string(name)
		if !exe.IsMangled(s) || !strings.Contains(s, word) {
			return false
		}
		return fn.matches(demangle(s))
	}
}

// mangledWord is a word of a pattern that every mangled name of a matching
// function contains as it is, so that not all names need be demangled; "" if
// there is none that is certain.
func mangledWord(pattern string) string {
	if i := strings.IndexAny(pattern, "<([ "); i >= 0 {
		pattern = pattern[:i]
	}
	if strings.Contains(pattern, "std::") || strings.Contains(pattern, "operator") {
		return "" // abbreviated in mangled names
	}
	best := ""
	for word := range strings.FieldsFuncSeq(pattern, func(r rune) bool { return r == ':' || r == '*' || r == '?' || r == '~' || r == ']' }) {
		if len(word) > len(best) {
			best = word
		}
	}
	return best
}

func symbolNames(p *Point, o *Options) []string {
	var out []string
	eachFile(p, o, func(_ string, file *exe.File) error {
		for _, s := range file.Functions(nil) {
			out = append(out, s.Name)
		}
		return nil
	})
	return out
}

// symbolPlace finds the instruction of a probe on a function.
func symbolPlace(p *Point, o *Options, file *exe.File, sym exe.Symbol) place {
	off, ok := file.Offset(sym.Addr)
	if !ok {
		return place{err: fmt.Errorf("%s of %s is not in a segment of the file", sym.Name, p.Target)}
	}
	pl := place{offset: off + p.Offset}
	if p.Offset == 0 || o.Unsafe {
		if sym.Size == 0 && !o.Unsafe && p.Offset == 0 {
			pl.err = fmt.Errorf("Could not determine boundary for %s (symbol has size 0)", sym.Name)
		}
		return pl
	}
	switch {
	case p.Offset >= sym.Size:
		pl.err = fmt.Errorf("Offset outside the function bounds ('%s' size is %d)", sym.Name, sym.Size)
	case !isBoundary(o.Target.Arch(), file.Code(sym.Addr, sym.Size), p.Offset):
		pl.err = middleError(p.Target, sym.Name, p.Offset)
	}
	return pl
}

func middleError(path, fn string, off uint64) error {
	return fmt.Errorf("Could not add uprobe into middle of instruction: %s:%s+%d\n"+
		"Use --unsafe to force attachment. WARNING: This option could lead to data corruption in the target process.", path, fn, off)
}

// addressPlace finds the instruction at an address of the file's numbering.
func addressPlace(p *Point, o *Options, file *exe.File, returns bool) place {
	off, ok := file.CodeOffset(p.Address)
	if !ok {
		return place{err: fmt.Errorf("%s has no code at address 0x%x", p.Target, p.Address)}
	}
	pl := place{offset: off}
	var sym exe.Symbol
	found := false
	withDebugFile(file, o, func(f *exe.File) bool {
		sym, found = f.FunctionAt(p.Address)
		return found
	})
	switch {
	case returns && (!found || sym.Addr != p.Address):
		pl.err = fmt.Errorf("0x%x is not the start of a function of %s: return probes need one", p.Address, p.Target)
	case !found && o.Unsafe:
		o.warn(p, "0x%x is in no function of %s; a probe that is not at the start of an instruction can crash traced programs", p.Address, p.Target)
	case !found:
		pl.err = fmt.Errorf("0x%x is in no function of %s; use --unsafe to attach there anyway", p.Address, p.Target)
	case !o.Unsafe && !isBoundary(o.Target.Arch(), file.Code(sym.Addr, sym.Size), p.Address-sym.Addr):
		pl.err = middleError(p.Target, sym.Name, p.Address-sym.Addr)
	}
	return pl
}

// planUprobe prefers a link for all places of a file: detaching one costs a
// quarter of what a perf event does.
func planUprobe(multi, perf *Mechanism) func([]*Point, Uses, *Options) ([]*Group, error) {
	return func(points []*Point, uses Uses, o *Options) ([]*Group, error) {
		for _, p := range points {
			if p.Func == "" && uses.Func && perf.Retval != nil && !o.has(target.GetFuncIP) {
				return nil, fmt.Errorf("func in %s probes at addresses: %w", p.Kind.Name, o.Target.Has(target.GetFuncIP))
			}
		}
		if o.has(target.UprobeMulti) {
			return split(points, multi, true, indexCookies(len(points) > 1)), nil
		}
		if err := o.Target.Has(target.UprobePMU); err != nil {
			return nil, err
		}
		names := uses.Probe || uses.Func // func is the name of the point's function
		cookies := len(points) > 1 && names && o.has(target.KprobeCookie)
		return split(points, perf, !names || cookies, indexCookies(cookies)), nil
	}
}

var (
	uprobeMulti = Mechanism{
		Name:      "uprobe.multi",
		Program:   ebpf.Kprobe,
		Attach:    ebpf.AttachTraceUprobeMulti,
		Backwards: true,
		Index:     cookieIndex,
		Arg:       regArg,
		Regs:      contextRegs,
		Func:      currentIP,
		Link:      func(fd int, g *Group, o *Options) ([]Link, error) { return linkUprobes(fd, g, o, true, 0) },
	}
	uretprobeMulti = Mechanism{
		Name:      "uprobe.multi return",
		Program:   ebpf.Kprobe,
		Attach:    ebpf.AttachTraceUprobeMulti,
		Backwards: true,
		Index:     cookieIndex,
		Retval:    regRetval,
		Regs:      contextRegs,
		Func:      funcIP,
		Link:      func(fd int, g *Group, o *Options) ([]Link, error) { return linkUprobes(fd, g, o, true, returnBit) },
	}
	uprobePerf = Mechanism{
		Name:      "perf uprobe",
		Program:   ebpf.Kprobe,
		Backwards: true,
		Index:     cookieIndex,
		Arg:       regArg,
		Regs:      contextRegs,
		Func:      currentIP,
		Link:      func(fd int, g *Group, o *Options) ([]Link, error) { return linkUprobes(fd, g, o, false, 0) },
	}
	uretprobePerf = Mechanism{
		Name:      "perf uretprobe",
		Program:   ebpf.Kprobe,
		Backwards: true,
		Index:     cookieIndex,
		Retval:    regRetval,
		Regs:      contextRegs,
		Func:      funcIP,
		Link:      func(fd int, g *Group, o *Options) ([]Link, error) { return linkUprobes(fd, g, o, false, returnBit) },
	}
)

func linkUprobes(progFD int, g *Group, o *Options, multi bool, flags uint32) ([]Link, error) {
	sites := make([]site, len(g.Points))
	for i, p := range g.Points {
		pl := p.Extra.(place)
		if pl.err != nil {
			return nil, pl.err
		}
		sites[i] = site{path: p.Target, offset: pl.offset, cookie: cookieOf(g, i)}
	}
	if multi {
		return linkSites(progFD, sites, o, flags)
	}
	return linkSitesPerf(progFD, sites, o, flags)
}

// A site is one breakpoint in a file.
type site struct {
	path      string
	offset    uint64 // in the file
	semaphore uint64 // in the file, 0 if none
	cookie    uint64
}

// linkSites attaches by one link for each file.
func linkSites(progFD int, sites []site, o *Options, flags uint32) ([]Link, error) {
	var links []Link
	for len(sites) > 0 {
		path := sites[0].path
		m := bpf.UprobeMulti{Path: path, PID: o.PID}
		if flags != 0 {
			m.Flags = bpf.MultiReturn
		}
		counted := false
		var rest []site
		for _, s := range sites {
			if s.path != path {
				rest = append(rest, s)
				continue
			}
			m.Offsets = append(m.Offsets, s.offset)
			m.Semaphores = append(m.Semaphores, s.semaphore)
			m.Cookies = append(m.Cookies, s.cookie)
			counted = counted || s.semaphore != 0
		}
		if !counted {
			m.Semaphores = nil
		}
		fd, err := m.Link(progFD)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("uprobe.multi on %s: %w", path, err), closeAll(links))
		}
		links = append(links, bpf.FD(fd))
		sites = rest
	}
	return links, nil
}
