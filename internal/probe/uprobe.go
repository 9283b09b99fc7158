package probe

import (
	"errors"
	"fmt"
	"slices"
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
	Doc:     "Fires when a function of a program or library is called, or at an instruction of it. `args` has its arguments by name where there is debug information (DWARF) of the program; strings of Go, Rust and C++ are text.",
	Example: `uprobe:libc:malloc { @bytes[comm] = hist(arg0); }`,
	Forms:   []string{"uprobe:binary:function[+offset]", "uprobe:binary:cpp:name", "uprobe:binary:address", "uprobe:binary@file:line[:column]", "uprobe:\"archive.zip!/member\":function[+offset]"},
	Has:     HasArgs | HasArgN | HasRegs | HasFunc | HasUserAddrs | HasCtx | HasGoroutine,
	Space:   types.User,
	Wild:    UserWild,
	Multi:   target.UprobeMulti,

	RegisterArgs: true,

	Parse:      parseUprobe,
	Match:      matchUprobe,
	Names:      symbolNames,
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
	Multi:      target.UprobeMulti,
	Parse:      parseUretprobe,
	Match:      matchUretprobe,
	Names:      symbolNames,
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
		if err := foreign(file, o.Target.Arch()); err != nil && !o.ForListing {
			return err
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
	if src := p.pattern.source; src != nil {
		addr, err := src.resolve(&q, o)
		if err != nil {
			return nil, err
		}
		q.Address = addr
	}
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
		q.Extra = symbolPlace(&q, o, file, sym, returns)
		return []*Point{&q}, nil
	}
	match := symbolMatcher(p)
	var out []*Point
	withDebugFile(file, o, func(f *exe.File) bool {
		seen := make(map[string]bool, len(out)) // in the file itself
		for _, q := range out {
			seen[q.Func] = true
		}
		for _, sym := range f.Functions(match) {
			// A pattern passes over what would be refused by name: stubs of the
			// C runtime, whose end nobody knows.
			if seen[sym.Name] || sym.Size == 0 && !o.Unsafe && !o.ForListing {
				continue
			}
			r := q
			r.Func = sym.Name
			pl := symbolPlace(&r, o, file, sym, returns)
			if errors.Is(pl.err, errNoReturn) && !o.ForListing {
				continue
			}
			r.Extra = pl
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
		plain := demangle(s)
		return fn.matches(plain) || strings.Contains(plain, "[abi:") && fn.matches(withoutABI(plain))
	}
}

// withoutABI cuts the tags off a name that compilers put there and nobody
// writes: name[abi:cxx11](int).
func withoutABI(name string) string {
	for {
		before, rest, ok := strings.Cut(name, "[abi:")
		_, after, closed := strings.Cut(rest, "]")
		if !ok || !closed {
			return name
		}
		name = before + after
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

// planUprobe prefers a link for all places of a file: detaching one costs a
// quarter of what a perf event does. Returns that are traced at the return
// instructions have mechanisms of their own, and a program reads arguments by one
// convention.
func planUprobe(points []*Point, uses Uses, o *Options) ([]*Group, error) {
	for _, p := range points {
		if p.Func == "" && uses.Func && p.Kind.Retval != nil && !o.has(target.GetFuncIP) {
			return nil, fmt.Errorf("func in %s probes at addresses: %w", p.Kind.Name, o.Target.Has(target.GetFuncIP))
		}
	}
	useMulti := o.has(target.UprobeMulti)
	if !useMulti {
		if err := o.Target.Has(target.UprobePMU); err != nil {
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
			cookies := len(same) > 1 && names && o.has(target.KprobeCookie)
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
		Program:   ebpf.Kprobe,
		Backwards: true,
		Sleepable: target.SleepableUprobe,
		Guard:     guardFollowed,
		Index:     cookieIndex,
		Regs:      contextRegs,
	}
	if multi {
		m.Attach = ebpf.AttachTraceUprobeMulti
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
			sites = append(sites, site{path: exe.OnDisk(p.Target), offset: off, cookie: cookieOf(g, i)})
		}
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
	for _, file := range byFile(sites) {
		m := bpf.UprobeMulti{Path: file[0].path, PID: o.kernelPID()}
		if flags != 0 {
			m.Flags = bpf.MultiReturn
		}
		counted := false
		for _, s := range file {
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
			return nil, errors.Join(fmt.Errorf("uprobe.multi on %s: %w", m.Path, err), closeAll(links))
		}
		links = append(links, bpf.FD(fd))
	}
	return links, nil
}

// byFile groups sites by file, in the order in which files come first.
func byFile(sites []site) (groups [][]site) {
	group := map[string]int{}
	for _, s := range sites {
		at, ok := group[s.path]
		if !ok {
			at = len(groups)
			group[s.path] = at
			groups = append(groups, nil)
		}
		groups[at] = append(groups[at], s)
	}
	return groups
}
