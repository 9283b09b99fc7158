package user

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/hawktrace/hawk/internal/arch"
	"github.com/hawktrace/hawk/internal/attach"
	"github.com/hawktrace/hawk/internal/exe"
	"github.com/hawktrace/hawk/internal/ir"
	"github.com/hawktrace/hawk/internal/machine"
	"github.com/hawktrace/hawk/internal/order"
	"github.com/hawktrace/hawk/internal/probe"
	"github.com/hawktrace/hawk/internal/proc"
	"github.com/hawktrace/hawk/internal/types"
)

var _ = probe.Define(probe.Kind{
	Name:    "usdt",
	Aliases: []string{"U"},
	Doc: "A static probe that a program or library declares, with the arguments it declares. With -p, " +
		"usdt:provider:name is enough. With -p or -c, `usdt:*:provider:name` also covers files that are mapped while " +
		"hawk runs (Linux 5.15).",
	Example:    `usdt:libc:memory_arena_new { @[comm] = count(); }`,
	Forms:      []string{"usdt:binary:[provider:]name", "usdt:memfd:file:provider:name"},
	Has:        probe.HasArgN | probe.HasRegs | probe.HasUserAddrs | probe.HasCtx,
	Space:      types.User,
	Wild:       probe.UserWild,
	Multi:      machine.UprobeMulti,
	Parse:      parseUSDT,
	Match:      matchUSDT,
	Later:      laterUSDT,
	Names:      usdtNames,
	Why:        whyNoMark,
	List:       listUSDT,
	Describe:   describeUSDT,
	Types:      userType,
	Enumerator: userEnumerator,
	Plan:       planUSDT,
})

// parseUSDT takes file, provider and name; the provider may be left out, and with -p the file.
func parseUSDT(p *probe.Point, parts []probe.Part, o *probe.Options) error {
	hasPID := o.OnePID()
	if n := len(parts); n > 3 && parts[0].Text == strings.TrimSuffix(proc.MemoryPrefix, ":") {
		// The name of a file in memory often holds colons.
		parts = []probe.Part{{Text: joinParts(parts[:n-2])}, parts[n-2], parts[n-1]}
	}
	switch {
	case len(parts) == 1 && hasPID:
		p.Pattern = &probe.Pattern{Fn: parts[0]}
	case len(parts) == 2:
		p.Pattern = &probe.Pattern{Target: parts[0], Fn: parts[1]}
	case len(parts) == 3:
		p.Pattern = &probe.Pattern{Target: parts[0], Provider: parts[1], Fn: parts[2]}
	default:
		return probe.WrongCount(p, "2 or 3", parts)
	}
	p.Target, p.Provider, p.Func = p.Pattern.Target.Text, p.Pattern.Provider.Text, p.Pattern.Fn.Text
	if p.Func == "" {
		return errors.New("usdt probe must have a target function or wildcard")
	}
	if p.Target == "" && !hasPID {
		return errors.New("usdt probe must specify at least path or pid to probe")
	}
	return nil
}

// joinParts undoes the split of a name at its colons.
func joinParts(parts []probe.Part) string {
	words := make([]string, len(parts))
	for i, p := range parts {
		words[i] = p.Text
	}
	return strings.Join(words, ":")
}

// matchUSDT finds the probes of the files. All locations of a probe are one point. Two parts are file and
// name, or provider and name of what the process of -p has mapped, if there is no such file.
func matchUSDT(p *probe.Point, o *probe.Options) ([]*probe.Point, error) {
	out, err := matchMarks(p, o)
	if err != nil && mayCome(p, o) {
		return nil, nil // there is no such file yet
	}
	if len(out) > 0 || p.Target == "" || p.Provider != "" || strings.Contains(p.Target, "/") {
		return out, err
	}
	if !o.OnePID() {
		return nil, orProvider(p, err)
	}
	q := *p
	q.Target, q.Provider = "", p.Target
	q.Pattern = &probe.Pattern{Provider: p.Pattern.Target, Fn: p.Pattern.Fn}
	marks, other := matchMarks(&q, o)
	if len(marks) > 0 || err == nil {
		return marks, other
	}
	both := probe.Hinted{Err: err}
	errors.As(err, &both)
	both.Err = fmt.Errorf("%w, and process %d has no mark %s:%s", both.Err, o.PID, q.Provider, q.Func)
	return nil, both
}

// orProvider adds to the error of a file that is not there how its name is written if it is that of a
// provider.
func orProvider(p *probe.Point, err error) error {
	hinted := probe.Hinted{Err: err}
	if missing := exe.NotFound(""); !errors.As(err, &missing) {
		return err
	}
	errors.As(err, &hinted)
	if hinted.Hint != "" {
		hinted.Hint += "; "
	}
	hinted.Hint += fmt.Sprintf("if %s is a provider, usdt:*:%[1]s:%s finds its mark in any program, and -p PID in one",
		p.Target, p.Func)
	return hinted
}

// matchMarks finds marks in all files that a point names. Those in front of a malformed note
// count, too.
func matchMarks(p *probe.Point, o *probe.Options) ([]*probe.Point, error) {
	q := *p
	if q.Target == "" { // of a process: everything it has mapped
		q.Target = "*"
	}
	pid := 0
	if o.OnePID() {
		pid = o.PID
	}
	files, known := o.Marked[pid]
	var err error
	if known = known && q.Target == "*"; !known {
		files, err = markedFiles(&q, o)
	}
	if o.Marked != nil && q.Target == "*" && err == nil {
		o.Marked[pid] = files
	}
	var out []*probe.Point
	for _, f := range files {
		out = append(out, matchNotes(p, o, f.Path, f.Notes)...)
	}
	return probe.SortPoints(out), err
}

// markedFiles reads the marks of all files that a point names.
func markedFiles(p *probe.Point, o *probe.Options) (out []probe.Marked, err error) {
	err = eachFile(p, o, func(path string, file *exe.File) error {
		if err := foreign(file, o.Machine.Arch()); err != nil && !o.ForListing {
			return err
		}
		notes, err := file.USDT()
		if len(notes) > 0 {
			out = append(out, probe.Marked{Path: path, Notes: notes})
		}
		return err
	})
	return out, err
}

// matchNotes makes a point of all notes of one name: the compiler has copied the code that the
// mark is in.
func matchNotes(p *probe.Point, o *probe.Options, path string, notes []exe.Note) []*probe.Point {
	wild := strings.Contains(p.Target, "*") || p.Pattern.Provider.HasWild() || p.Pattern.Fn.HasWild()
	type key struct{ provider, name string }
	points := map[key]*probe.Point{}
	var out []*probe.Point
	for _, n := range notes {
		if p.Provider != "" && !p.Pattern.Provider.Matches(n.Provider) || !p.Pattern.Fn.Matches(n.Name) {
			continue
		}
		if n.Err != nil && wild && !o.ForListing {
			continue // a pattern passes over what would be refused by name
		}
		k := key{n.Provider, n.Name}
		q := points[k]
		if q == nil {
			c := *p
			q = &c
			q.Target, q.Provider, q.Func, q.Notes = path, n.Provider, n.Name, nil
			q.Memory, _ = proc.MemoryName(path)
			points[k] = q
			out = append(out, q)
		}
		q.Notes = append(q.Notes, n)
	}
	return out
}

// usdtNames are the marks that a misspelt one may have been meant for.
func usdtNames(p *probe.Point, o *probe.Options) []string {
	all := *p
	all.Provider, all.Func = "", "*"
	all.Pattern = &probe.Pattern{Target: p.Pattern.Target, Fn: probe.Part{Text: "*"}}
	points, _ := matchUSDT(&all, o)
	var out []string
	for _, q := range points {
		out = append(out, q.Func)
	}
	return out
}

// listUSDT takes a single part for a pattern of the path, the provider or the
// name: usdt:*libc* lists what belongs to libc in any way.
func listUSDT(k *probe.Kind, parts []probe.Part, o *probe.Options, emit func(probe.Listed)) error {
	if len(parts) != 1 {
		return probe.ListTwoParts(k, parts, o, emit)
	}
	return probe.ListTwoParts(k, []probe.Part{{Text: "*"}, {Text: "*"}, {Text: "*"}}, o, func(l probe.Listed) {
		// The path can have colons, the provider and the name cannot: they are cut off from the
		// end.
		rest := strings.TrimPrefix(l.Name, k.Name+":")
		name := rest[strings.LastIndexByte(rest, ':')+1:]
		rest = strings.TrimSuffix(rest, ":"+name)
		provider := rest[strings.LastIndexByte(rest, ':')+1:]
		path := strings.TrimSuffix(rest, ":"+provider)
		if parts[0].Matches(path) || parts[0].Matches(provider) || parts[0].Matches(name) {
			emit(l)
		}
	})
}

// describeUSDT prints what the notes say: the arguments of the first location
// with their operands, the semaphore, and how many locations there are.
func describeUSDT(p *probe.Point, o *probe.Options) ([]probe.Detail, error) {
	notes := p.Notes
	args, err := arch.ParseUSDTArgs(o.Machine.Arch(), notes[0].Args)
	if err != nil {
		return []probe.Detail{{Text: "arguments not understood: " + err.Error()}}, nil
	}
	var out []probe.Detail
	for i, a := range args {
		d := probe.Detail{Name: fmt.Sprintf("arg%d", i), Type: TypeName(a)}
		d.Text = fmt.Sprintf("%s %s (%s)", d.Type, d.Name, a.Text)
		out = append(out, d)
	}
	say := func(format string, args ...any) {
		out = append(out, probe.Detail{Text: fmt.Sprintf(format, args...)})
	}
	if notes[0].Semaphore != 0 {
		say("semaphore at 0x%x", notes[0].Semaphore)
	}
	if len(notes) > 1 {
		say("%d locations", len(notes))
	}
	if p.Memory != "" || isContentName(p.Target, p.Provider) {
		say("mapped by %s", mappers(p.Target))
	}
	return out, nil
}

// TypeName is the type of an argument in the words of the language.
func TypeName(a arch.USDTArg) string {
	if a.Float {
		return fmt.Sprintf("float%d", a.Size*8)
	}
	return types.IntOf(a.Size, a.Signed).String()
}

// A Place is one of the places in a file where a mark is.
type Place struct {
	Addr, Semaphore uint64 // addresses; 0: no semaphore
	Args            []arch.USDTArg
	Err             error // why the arguments are not known
}

// Places are those of a mark that was matched or listed.
func Places(p *probe.Point, machine *arch.Arch) []Place {
	notes := p.Notes
	var out []Place
	for _, n := range notes {
		args, err := arch.ParseUSDTArgs(machine, n.Args)
		out = append(out, Place{n.Addr, n.Semaphore, args, err})
	}
	return out
}

// isContentName reports whether a file is of a program that declares marks while it runs: package usdt
// calls it PROVIDER-HASH.so. Who has such a file tells what runs.
func isContentName(path, provider string) bool {
	hash, ok := strings.CutPrefix(filepath.Base(path), provider+"-")
	hash, so := strings.CutSuffix(hash, ".so")
	return ok && so && len(hash) == 12 && strings.Trim(hash, "0123456789abcdef") == ""
}

// mappers lists the processes that have mapped a file.
func mappers(path string) string {
	pids, err := proc.Mappers(path)
	switch {
	case err != nil:
		return "unknown processes: " + err.Error()
	case len(pids) == 0:
		return "no process"
	}
	var b strings.Builder
	b.WriteString("PID")
	for i, pid := range pids {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, " %d", pid)
	}
	return b.String()
}

// planUSDT has a program of its own read the arguments of marks that come later.
func planUSDT(points []*probe.Point, uses probe.Uses, o *probe.Options) ([]*probe.Group, error) {
	here, later := splitLater(points)
	groups, err := planMarks(here, uses, o)
	if err == nil && later != nil {
		groups = append(groups, laterGroup(later, o.Has(machine.UprobeMulti)))
	}
	return groups, err
}

// planMarks makes one program of all locations where it can tell them apart by
// cookie, else one for every list of arguments and, if the body asks for its
// name, every probe.
func planMarks(points []*probe.Point, uses probe.Uses, o *probe.Options) ([]*probe.Group, error) {
	mech := &usdtMulti
	cookies := true
	if !o.Has(machine.UprobeMulti) {
		if err := o.Machine.Has(machine.UprobePMU); err != nil {
			return nil, err
		}
		mech = &usdtPerf
		cookies = o.Has(machine.KprobeCookie)
	}
	type key struct {
		point int
		spec  string
	}
	groups := map[key]*probe.Group{}
	specs := map[*probe.Group]map[string]int{}
	var out []*probe.Group
	for i, p := range points {
		lists, err := usdtArgs(p, uses.ArgN, o)
		if err != nil {
			return nil, err
		}
		for j, n := range p.Notes {
			if n.Err != nil {
				return nil, fmt.Errorf("%s: %w", p.Name(), n.Err)
			}
			var k key
			// The program has the name of the mark as a constant then.
			if !cookies && uses.Probe {
				k.point = i
			}
			if !cookies {
				k.spec = lists[j].key
			}
			g := groups[k]
			if g == nil {
				g = &probe.Group{Mechanism: mech.ID, Marks: &probe.MarkSites{Cookies: cookies}}
				groups[k], specs[g] = g, map[string]int{}
				out = append(out, g)
			}
			u := g.Marks
			at := len(g.Points) - 1
			if at < 0 || g.Points[at] != p {
				g.Points = append(g.Points, p)
				at++
			}
			spec, ok := specs[g][lists[j].key]
			if !ok {
				spec = len(u.Specs)
				specs[g][lists[j].key] = spec
				u.Specs = append(u.Specs, lists[j].args)
			}
			s := probe.Site{Point: p, Path: exe.OnDisk(p.Target), Offset: n.Offset, Semaphore: n.SemaphoreOffset}
			if cookies {
				// The upper half tells the point, for the name, the lower one how its arguments
				// are read.
				s.Cookie = uint64(at)<<32 | uint64(spec)
			}
			u.Sites = append(u.Sites, s)
		}
	}
	return out, nil
}

// A usdtList is the arguments at one location; lists with equal keys are read
// alike.
type usdtList struct {
	key  string
	args []probe.USDTArg
}

// usdtArgs works out the first want arguments at each location of a probe.
func usdtArgs(p *probe.Point, want int, o *probe.Options) ([]usdtList, error) {
	notes := p.Notes
	out := make([]usdtList, len(notes))
	if want == 0 {
		return out, nil
	}
	if err := o.Machine.Same(p.Target); err != nil {
		return nil, err
	}
	a := o.Machine.Arch()
	most := 0
	var file *exe.File
	defer func() {
		if file != nil {
			file.Close()
		}
	}()
	for i, n := range notes {
		parsed, err := arch.ParseUSDTArgs(a, n.Args)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.Name(), err)
		}
		most = max(most, len(parsed))
		out[i].key = n.Args
		for j, arg := range parsed[:min(want, len(parsed))] {
			u := probe.USDTArg{USDTArg: arg}
			if arg.Symbol != "" {
				if file == nil {
					if file, err = o.Machine.Executables.Open(p.Target); err != nil {
						return nil, err
					}
				}
				sym, ok := file.Variable(arg.Symbol)
				if !ok {
					return nil, fmt.Errorf("%s: argument %s: %w", p.Name(), arg.Text,
						&exe.ErrNoSymbol{Path: p.Target, Name: arg.Symbol})
				}
				u.FromIP = int64(sym.Addr - n.Addr)
				out[i].key += fmt.Sprintf(" %d", u.FromIP)
			}
			if !arg.Readable() && i == 0 {
				o.Warn(p, "arg%d of %s travels in a floating-point register, which programs cannot read: it is 0", j,
					p.Name())
			}
			out[i].args = append(out[i].args, u)
		}
	}
	if want > most {
		o.Warn(p, "%s has %d arguments: arg%d is 0", p.Name(), most, want-1)
	}
	return out, nil
}

var (
	usdtMulti = usdtMechanism("uprobe.multi", true)
	usdtPerf  = usdtMechanism("perf uprobe", false)
)

func usdtMechanism(name string, multi bool) probe.Mechanism {
	m := userMechanism(name, multi, false)
	m.Field, m.Memory, m.Func, m.Packed = nil, nil, nil, true
	m.Index, m.Arg = usdtIndex, usdtValue
	m.Link = func(fd int, g *probe.Group, o *probe.Options) ([]probe.Link, error) {
		return attach.LinkSites(fd, g, g.Marks.Sites, o, multi, 0)
	}
	return m
}

func usdtIndex(c *probe.Context) *ir.Value {
	return c.B.Arith(ir.LShr, probe.CookieIndex(c), c.B.Const(32))
}

// usdtValue reads argument n, by the list of arguments that belongs to the
// location where those differ. An argument that a location lacks is 0.
func usdtValue(c *probe.Context, n int) *ir.Value {
	u := c.Group.Marks
	// Lists that agree on this argument are one case.
	type variant struct {
		arg   *probe.USDTArg // nil: no such argument
		specs []int
	}
	type place struct {
		text     string
		fromIP   int64
		readable bool
	}
	var variants []variant
	index := map[place]int{}
	for i, list := range u.Specs {
		var arg *probe.USDTArg
		var key place
		if n < len(list) && list[n].Readable() {
			arg = &list[n]
			key = place{arg.Text, arg.FromIP, true}
		}
		at, ok := index[key]
		if !ok {
			at = len(variants)
			index[key] = at
			variants = append(variants, variant{arg: arg})
		}
		variants[at].specs = append(variants[at].specs, i)
	}
	if len(variants) == 0 {
		return c.B.Const(0)
	}
	if len(variants) == 1 {
		return operand(c, variants[0].arg)
	}
	// The variant with most lists needs no comparison: it comes last.
	order.Stably(variants, func(a, b variant) int { return cmp.Compare(len(a.specs), len(b.specs)) })
	b := c.B
	spec := b.Ext(probe.CookieIndex(c), 4, false)
	result := b.Addr(b.NewObject("arg", 8, 8), 0)
	done := b.NewBlock()
	for _, v := range variants[:len(variants)-1] {
		here := b.NewBlock()
		for _, s := range v.specs {
			other := b.NewBlock()
			b.If(b.Eq(spec, int64(s)), here, other)
			b.Begin(other)
		}
		next := b.Cur
		b.Begin(here)
		b.Store(result, 0, 8, operand(c, v.arg))
		b.Jump(done)
		b.Begin(next)
	}
	b.Store(result, 0, 8, operand(c, variants[len(variants)-1].arg))
	b.Jump(done)
	b.Begin(done)
	return b.U64(result, 0)
}
