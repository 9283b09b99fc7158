package user

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/cilium/ebpf/asm"

	"github.com/hawktrace/hawk/internal/arch"
	"github.com/hawktrace/hawk/internal/attach"
	"github.com/hawktrace/hawk/internal/exe"
	"github.com/hawktrace/hawk/internal/ir"
	"github.com/hawktrace/hawk/internal/machine"
	"github.com/hawktrace/hawk/internal/probe"
	"github.com/hawktrace/hawk/internal/proc"
)

// Marks of files that are mapped while a run lasts: a library that is opened, a provider that a program declares. Their
// arguments are not known when the programs are compiled, so these look them up in a table, by the cookie of the place.

// laterUSDT is a pattern of files with -p or -c. A file that is named is there or is an error: waiting for a name that
// is misspelt would be silence. Without cookies a program could not tell the places apart.
func laterUSDT(p *probe.Point, o *probe.Options, found []*probe.Point) *probe.Point {
	if !mayCome(p, o) {
		return nil
	}
	q := *p
	if len(found) > 0 { // types and variables that the body names are looked for there
		q.Later, q.Target = probe.AlsoLater, found[0].Target
		return &q
	}
	if q.Later = probe.OnlyLater; o.OnePID() {
		o.Warn(p, "process %d has no mark %s yet; hawk waits for one", o.PID, p.Name())
	}
	return &q
}

// mayCome reports whether files that are mapped later can be for a point: it names many, there is
// a process to watch, and the kernel has cookies.
func mayCome(p *probe.Point, o *probe.Options) bool {
	files := p.Target == "*" || strings.Contains(p.Target, "*") && (strings.Contains(p.Target, "/") ||
		strings.HasPrefix(p.Target, proc.MemoryPrefix)) // others are programs of PATH, or providers
	return files && !o.ForListing && (o.OnePID() || o.Command != nil && *o.Command) &&
		(o.Has(machine.UprobeMulti) || o.Has(machine.KprobeCookie) && o.Machine.Has(machine.UprobePMU) == nil)
}

// covers reports whether a file that a process has mapped is one that a pattern of files stands for, by now.
func covers(pattern string, o *probe.Options, f *proc.MappedFile, memory string) bool {
	switch {
	case pattern == "*":
		return true
	case memory != "":
		return probe.Part{Text: pattern}.Matches(memory)
	}
	// The pattern is expanded anew, as the file may be younger than the run, and files are
	// compared by number, as the process may have another name for it.
	s := exe.Search{Unsafe: o.Unsafe}
	if o.OnePID() {
		s.PID = o.PID
	}
	st, err := os.Stat(f.Path)
	if err != nil {
		return false
	}
	paths, _ := s.Find(pattern)
	return slices.ContainsFunc(paths, func(path string) bool {
		other, err := os.Stat(path)
		return err == nil && os.SameFile(st, other)
	})
}

// laterGroup serves all points of a probe that come later.
func laterGroup(points []*probe.Point, multi bool) *probe.Group {
	// One program serves all of them: what differs between marks is in the table.
	mech := &laterPerf
	if multi {
		mech = &laterMulti
	}
	return &probe.Group{Mechanism: mech.ID, Points: points}
}

var (
	laterMulti = laterMechanism(usdtMulti, true)
	laterPerf  = laterMechanism(usdtPerf, false)
)

func laterMechanism(m probe.Mechanism, multi bool) probe.Mechanism {
	m.Name += " of files to come"
	m.Arg = laterArg
	// Nothing is attached at the start, which is no failure.
	m.Link = func(int, *probe.Group, *probe.Options) ([]probe.Link, error) { return nil, nil }
	m.More = func(fd int, g *probe.Group, o *probe.Options, more *probe.More) ([]probe.Link, int, error) {
		return linkLater(fd, g, o, more, multi)
	}
	return m
}

// linkLater attaches a program to the marks of a file that its points match. Marks whose arguments nobody understands
// are passed over with a warning, as are those beyond bounds: the traced program chooses what it maps.
func linkLater(fd int, g *probe.Group, o *probe.Options, more *probe.More, multi bool) ([]probe.Link, int, error) {
	var waiting []int
	path := more.File.Path
	memory, _ := proc.MemoryName(path)
	name := cmp.Or(memory, more.File.Name)
	for i, p := range g.Points {
		if covers(p.Pattern.Target.Text, o, more.File, memory) && !more.Known(p) {
			waiting = append(waiting, i)
		}
	}
	if len(waiting) == 0 {
		return nil, 0, nil
	}
	file, err := exe.Open(path)
	if err != nil {
		return nil, 0, nil // it is no program, or gone already
	}
	defer file.Close()
	notes, err := file.USDT()
	if err != nil || foreign(file, o.Machine.Arch()) != nil {
		return nil, 0, nil
	}
	var sites []probe.Site
	points := 0
	for _, i := range waiting {
		for _, q := range matchNotes(g.Points[i], o, path, notes) {
			q.Later = probe.Here
			for _, n := range q.Notes {
				// The traced program chooses how many marks its files have, so that the bound of
				// the run goes for all of them together.
				if points+len(sites) >= more.Most {
					more.Warn("%s has more marks than max_probes allows", name)
					return nil, 0, nil
				}
				args, err := laterArgs(file, n, o.Machine.Arch())
				if err != nil {
					more.Warn("%s: %v", q.Name(), err)
					continue
				}
				number, room, err := more.Marks.Number(args)
				if err != nil {
					return nil, 0, err
				}
				if !room {
					more.Warn("marks of more than %d kinds came later: %s is not traced", probe.MarkLists, q.Name())
					continue
				}
				sites = append(sites, probe.Site{Point: q, Path: exe.OnDisk(path), Offset: n.Offset,
					Semaphore: n.SemaphoreOffset, Cookie: uint64(i)<<32 | uint64(number)})
			}
			points++
		}
	}
	if len(sites) == 0 {
		return nil, 0, nil
	}
	links, err := attach.LinkSites(fd, g, sites, o, multi, 0)
	if err != nil {
		return nil, 0, fmt.Errorf("%s: %w", name, err)
	}
	return links, points, nil
}

// A list of the table has an element for each argument, which is
//
//	value + base·baseFactor + index·indexFactor + ip·ipFactor
//
// or, with bytes, what so many bytes of user memory at that address are. A register is cut out of its word in pt_regs
// by a shift to the left and one to the right. What is signed has the weight of its sign bit: (x ^ sign) - sign.
const (
	laterValue       = 0  // i64
	laterBaseFactor  = 8  // i64: 0 or 1
	laterIndexFactor = 16 // i64: 0 or the scale
	laterIPFactor    = 24 // i64: 0 or 1
	laterIndexSign   = 32 // u64
	laterSign        = 40 // u64, of the result
	laterBase        = 48 // u16: offset in pt_regs
	laterIndex       = 50 // u16
	laterBaseLeft    = 52 // u8, as those below
	laterBaseRight   = 53
	laterIndexLeft   = 54
	laterIndexRight  = 55
	laterShift       = 56 // of the result to the left and back: its size
	laterBytes       = 57 // 0: it is not in memory
)

// maxRegs bounds offsets in pt_regs for the verifier, which is shown a mask.
const maxRegs = 0x1f8

// laterArgs is the list of a mark.
func laterArgs(file *exe.File, n exe.Note, a *arch.Arch) ([]byte, error) {
	if n.Err != nil {
		return nil, n.Err
	}
	args, err := arch.ParseUSDTArgs(a, n.Args)
	if err != nil {
		return nil, err
	}
	list := make([]byte, probe.MarkArgs*probe.MarkArg)
	for i := range args {
		if err := putLater(list[i*probe.MarkArg:(i+1)*probe.MarkArg], file, n, &args[i]); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// putLater writes the element of an argument, which is all zeroes before.
func putLater(to []byte, file *exe.File, n exe.Note, arg *arch.USDTArg) error {
	put64 := func(at int, v uint64) { binary.NativeEndian.PutUint64(to[at:], v) }
	if !arg.Readable() {
		return nil // it is 0, as elsewhere
	}
	value := uint64(arg.Value)
	if arg.Symbol != "" {
		sym, ok := file.Variable(arg.Symbol)
		if !ok {
			return fmt.Errorf("argument %s: %w", arg.Text, &exe.ErrNoSymbol{Path: file.Path, Name: arg.Symbol})
		}
		// Both move together wherever the file is loaded, so that the distance from the mark is
		// what is known.
		value += sym.Addr - n.Addr
		put64(laterIPFactor, 1)
	}
	put64(laterValue, value)
	cut := func(r *arch.Reg, offset, left int) error {
		// A program masks the offset for the verifier: one that the mask changes would be another
		// register.
		if r.Offset < 0 || r.Offset&^maxRegs != 0 {
			return errors.New("argument " + arg.Text + ": its register has no place")
		}
		binary.NativeEndian.PutUint16(to[offset:], uint16(r.Offset))
		// The shift to the left drops what is above the part, the one to the right brings it
		// down.
		to[left], to[left+1] = byte(64-r.Shift-r.Width), byte(64-r.Width)
		return nil
	}
	if arg.Base != nil {
		put64(laterBaseFactor, 1)
		if err := cut(arg.Base, laterBase, laterBaseLeft); err != nil {
			return err
		}
	}
	if arg.Index != nil {
		put64(laterIndexFactor, uint64(max(arg.Scale, 1)))
		if arg.IndexSigned {
			put64(laterIndexSign, 1<<(arg.Index.Width-1))
		}
		if err := cut(arg.Index, laterIndex, laterIndexLeft); err != nil {
			return err
		}
	}
	if arg.Kind == arch.USDTMem {
		to[laterBytes] = byte(arg.Size)
	}
	if arg.Kind == arch.USDTMem || arg.Kind == arch.USDTReg {
		to[laterShift] = byte(64 - 8*arg.Size)
		if arg.Signed {
			put64(laterSign, 1<<(8*arg.Size-1))
		}
	}
	return nil
}

// laterArg looks argument n up and reads it. It is 0 where the mark has no such argument: then its element is all
// zeroes.
func laterArg(c *probe.Context, n int) *ir.Value {
	b := c.B
	if n >= probe.MarkArgs {
		return b.Const(0)
	}
	result := b.Addr(b.NewObject("arg", 16, 8), 0)
	b.Zero(result, 0, 16)
	key := b.NewObject("mark", 4, 4)
	key.Stack = true
	b.Store(b.Addr(key, 0), 0, 4, b.Ext(probe.CookieIndex(c), 4, false))
	list := b.CallPtr(int(asm.FnMapLookupElem), c.Marks(), b.Addr(key, 0))
	there, done := b.NewBlock(), b.NewBlock()
	// A mark of no list, which cannot be, has arguments that are 0.
	b.If(list, there, done)
	b.Begin(there)
	at := n * probe.MarkArg
	get := func(field int) *ir.Value { return b.U64(list, at+field) }
	get8 := func(field int) *ir.Value { return b.U8(list, at+field) }
	register := func(offset, left int) *ir.Value {
		word := b.Addr(b.NewObject("register", 8, 8), 0)
		b.Zero(word, 0, 8)
		// The verifier lets a program read its context at constant offsets only; a helper reads
		// it at any.
		off := b.And(b.Load(list, at+offset, 2, false), maxRegs)
		b.Call(int(asm.FnProbeReadKernel), word, b.Const(8), b.Arith(ir.Add, c.Ctx, off))
		return b.Arith(ir.LShr, b.Arith(ir.Shl, b.U64(word, 0), get8(left)), get8(left+1))
	}
	signed := func(v, sign *ir.Value) *ir.Value { return b.Arith(ir.Sub, b.Arith(ir.Xor, v, sign), sign) }
	v := b.Arith(ir.Mul, register(laterBase, laterBaseLeft), get(laterBaseFactor))
	index := signed(register(laterIndex, laterIndexLeft), get(laterIndexSign))
	v = b.Arith(ir.Add, v, b.Arith(ir.Mul, index, get(laterIndexFactor)))
	v = b.Arith(ir.Add, v, b.Arith(ir.Mul, probe.CurrentIP(c), get(laterIPFactor)))
	v = b.Arith(ir.Add, v, get(laterValue))
	inMemory, asItIs, cut := b.NewBlock(), b.NewBlock(), b.NewBlock()
	b.If(get8(laterBytes), inMemory, asItIs)
	b.Begin(inMemory)
	// The mask shows the verifier that no more is read than result has room for.
	b.Call(int(asm.FnProbeReadUser), result, b.And(get8(laterBytes), 15), v)
	b.Jump(cut)
	b.Begin(asItIs)
	b.Store(result, 0, 8, v)
	b.Jump(cut)
	b.Begin(cut)
	v = b.Arith(ir.Shl, b.U64(result, 0), get8(laterShift))
	v = b.Arith(ir.LShr, v, get8(laterShift))
	b.Store(result, 0, 8, signed(v, get(laterSign)))
	b.Jump(done)
	b.Begin(done)
	return b.U64(result, 0)
}

// splitLater takes the points that come later from those that are there.
func splitLater(points []*probe.Point) (here, later []*probe.Point) {
	isLater := func(p *probe.Point) bool { return p.Later != probe.Here }
	// As mostly: the list is not copied.
	if !slices.ContainsFunc(points, isLater) {
		return points, nil
	}
	for _, p := range points {
		if isLater(p) {
			later = append(later, p)
		} else {
			here = append(here, p)
		}
	}
	return here, later
}
