// Package lower turns a typed program into IR: one function per program to be
// loaded, the maps they use, the layout of the shared data map and of the
// records they send. It is the only package that knows both tree and IR.
package lower

import (
	"fmt"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/hawktrace/hawk/internal/bpf"
	"github.com/hawktrace/hawk/internal/check"
	"github.com/hawktrace/hawk/internal/errno"
	"github.com/hawktrace/hawk/internal/ir"
	"github.com/hawktrace/hawk/internal/machine"
	"github.com/hawktrace/hawk/internal/object"
	"github.com/hawktrace/hawk/internal/probe"
	"github.com/hawktrace/hawk/internal/source"
	"github.com/hawktrace/hawk/internal/types"
)

// Options are what lowering depends on besides the program.
type Options struct {
	Probe *probe.Options
	// Warnings reports failing reads and lookups at run time (-k).
	Warnings bool
	// Pieces lowers for a verifier that has given up before; see piece.go.
	Pieces bool
	// Rings is through how many ring buffers events go at most; 0: as many as the settings say. Choosing
	// one is a branch in each event, and an older verifier follows all of them to the end.
	Rings int
	// Stamp has events carry when, where and by whom they were sent, see object.Event.
	Stamp bool
	// Sums has histograms keep the sum of their values, beside the buckets.
	Sums bool
	// Take gives maps two generations, see object.Turns.
	Take bool
}

// A Program is one program to be optimised, given registers and loaded.
type Program struct {
	IR    *ir.Prog
	Group *probe.Group
	At    source.Span
	// Sleeps: it waits for pages of user memory, and the kernel has to know.
	Sleeps bool
}

// A Result is everything but the instructions.
type Result struct {
	Programs []*Program
	// Object has everything filled in but its Programs.
	Object *object.Object
	// Long: a loop has in it what takes the verifier long each time that it comes by,
	// which in pieces is once.
	Long bool
}

// Lower lowers a whole program. Diagnostics are about what the kernel cannot
// do; a program without them loads.
func Lower(p *check.Program, o Options) (*Result, *source.Diagnostics) {
	res, m := lowered(p, o, nil)
	if len(m.wanted) > 0 {
		res, m = lowered(p, o, m.wanted)
	}
	return res, m.diags
}

// lowered lowers a whole program. All CPUs share the cells of the maps in shared.
func lowered(p *check.Program, o Options, shared map[string]bool) (*Result, *module) {
	m := &module{
		prog: p, o: o, diags: &source.Diagnostics{}, shared: shared,
		obj:    &object.Object{License: p.Config.License},
		maps:   map[string]int{},
		stacks: map[int]int{},
		spills: map[int]int{},
		sites:  map[object.Site]*object.Site{},
	}
	m.data = object.DataFree
	m.obj.Data.CPUSlots = types.PowerOfTwo(o.Probe.Machine.PossibleCPUs())
	// The first two are at fixed numbers (object.RingMap and the scratch map); their sizes are
	// decided when everything is known.
	m.obj.Maps = append(m.obj.Maps, &object.Map{Name: "ring", Type: bpf.RingBuf})
	m.obj.Maps = append(m.obj.Maps, &object.Map{Name: "scratch", Type: bpf.Array, KeySize: 4})
	m.rings = []int{object.RingMap}
	rings := p.Config.Rings(o.Probe.Machine.PossibleCPUs())
	if o.Rings > 0 {
		rings = min(rings, o.Rings)
	}
	for len(m.rings) < rings {
		m.rings = append(m.rings, m.kernelMap(&object.Map{Name: "ring", Type: bpf.RingBuf}))
	}
	// Options come before the cells of maps: what is written down of the data ends with the last
	// byte that is not zero. Those that no program reads may be given, too.
	for _, o := range p.Declared {
		m.option(o)
	}
	for _, mp := range p.Maps {
		m.layoutMap(mp)
	}
	if o.Probe.Follow {
		m.follow = m.followed()
	}
	res := &Result{Object: m.obj}
	// Planning may leave out points, with a warning where the script asks for them.
	planning := *o.Probe
	planning.WarnPoint = func(at source.Span, msg string) { m.diags.Warnf("attach-point", at, "%s", msg) }
	for i, pr := range p.Probes {
		groups, err := pr.Kind.Plan(pr.Points, pr.Uses, &planning)
		if err != nil {
			m.diags.Errorf("not-supported", pr.At, "%s", errno.Message(err))
			continue
		}
		if most := p.Config.MaxBPFProgs; len(res.Programs)+len(groups) > most {
			check.TooManyPrograms(m.diags, pr.At, most)
			break
		}
		for _, g := range groups {
			g.Uses = pr.Uses
			f := newFn(m, pr, g)
			f.program()
			name := fmt.Sprintf("%s_%d", identifier(g.Points[0].Name()), i+1)
			res.Programs = append(res.Programs, &Program{
				IR:    &ir.Prog{Name: name, Funcs: append([]*ir.Func{f.root.Fn}, f.callbacks...), State: f.state},
				Group: g, At: pr.At, Sleeps: f.sleeps,
			})
		}
	}
	m.obj.Data.Bytes = types.RoundUp(m.data, 64)
	m.checkData()
	res.Long = m.long
	return res, m
}

// identifier makes a program's name of a probe's, as bpftool lists it.
func identifier(name string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, name)
}

// A module is what all functions of one script share.
type module struct {
	prog  *check.Program
	o     Options
	diags *source.Diagnostics
	obj   *object.Object
	data  int            // next free byte of the data map
	maps  map[string]int // script map by name
	// An aggregation has cells for each CPU before it is known that a probe reads them, which older
	// kernels let nobody do: all is lowered once more then, with one cell for all CPUs.
	shared   map[string]bool // have one
	sharable map[string]bool // could have one
	wanted   map[string]bool // are to have one
	rings    []int           // kernel maps: the ring buffers
	stacks   map[int]int     // kernel map by stack limit
	spills   map[int]int     // likewise
	unwind   *unwindMaps     // nil while no stack needs them
	follow   int             // kernel map of the threads that are traced, 0 without --follow
	marks    int             // kernel map of marks that come later, likewise
	packets  int             // kernel map of the buffers for packets, likewise
	names    int             // kernel map of the format for names of addresses, likewise
	layout   **mmLayout      // what mmLayout found, nil while it was not called
	sites    map[object.Site]*object.Site
	unset    []origin // what unsetSpace has warned of
	zeros    int      // offset and size of the block of zeroes that new cells are copied from
	zeroN    int
	unread   int  // offset of types.Unreadable in the data map, 0 if it is not there
	copies   int  // of bodies of unrolled loops
	long     bool // see Result.Long
}

// place reserves n bytes of the data map.
func (m *module) place(n, align int) int {
	m.data = types.RoundUp(m.data, align)
	at := m.data
	m.data += n
	return at
}

// table places read-only bytes.
func (m *module) table(data []byte) int {
	at := m.place(len(data), 8)
	if len(m.obj.Data.Init) < at+len(data) {
		m.obj.Data.Init = append(m.obj.Data.Init, make([]byte, at+len(data)-len(m.obj.Data.Init))...)
	}
	copy(m.obj.Data.Init[at:], data)
	return at
}

// zeroBlock is the offset of n zero bytes that nothing ever writes.
func (m *module) zeroBlock(n int) int {
	if n > m.zeroN {
		m.zeros, m.zeroN = m.place(n, 8), n
	}
	return m.zeros
}

// unreadable is the offset of what stands in place of strings that could not be read.
func (m *module) unreadable() int {
	if m.unread == 0 {
		m.unread = m.table([]byte(types.Unreadable))
	}
	return m.unread
}

// kernelMap adds a map to be created and yields its number.
func (m *module) kernelMap(mp *object.Map) int {
	m.obj.Maps = append(m.obj.Maps, mp)
	return len(m.obj.Maps) - 1
}

// ownMap enters a map of hawk's own.
func (m *module) ownMap(role object.Role, mp *object.Map) int {
	mp.Name, mp.Role = role.Name(), role
	return m.kernelMap(mp)
}

// followed is the map of the threads that --follow traces, whether a program asks for
// them or not: the run ends with the last. It has its memory from the start, as maps of
// programs that sleep must have on old kernels.
func (m *module) followed() int {
	return m.ownMap(object.FollowRole, &object.Map{Type: bpf.Hash, KeySize: 4, ValueSize: 4,
		MaxEntries: probe.FollowMost})
}

// marks is the map of what arguments of marks that come later are.
func (f *fn) marks() *ir.Value {
	if f.m.marks == 0 {
		f.m.marks = f.m.ownMap(object.MarksRole, &object.Map{Type: bpf.Array, KeySize: 4,
			ValueSize: probe.MarkArgs * probe.MarkArg, MaxEntries: probe.MarkLists})
	}
	return f.b.MapPtr(f.m.marks)
}

// stackMap is the kernel map for stacks of at most limit frames. It has four
// buckets for each element that the largest map can hold, as only one stack of
// a bucket is kept there; see spillMap.
func (m *module) stackMap(limit int) int {
	n, ok := m.stacks[limit]
	if !ok {
		entries := types.PowerOfTwo(4 * min(max(m.prog.Config.MaxMapKeys, 1), 4096))
		n = m.kernelMap(&object.Map{Name: "stacks", Type: bpf.StackTrace, KeySize: 4, ValueSize: 8 * limit,
			MaxEntries: entries})
		m.stacks[limit] = n
	}
	return n
}

// spillMap is the kernel map for the stacks that found their bucket taken.
func (m *module) spillMap(limit int) int {
	n, ok := m.spills[limit]
	if !ok {
		k := &object.Map{Type: bpf.Hash, KeySize: 8, ValueSize: 8 * limit, MaxEntries: 16384}
		if m.has(machine.NoPreallocPerf) {
			k.Flags = unix.BPF_F_NO_PREALLOC
		} else {
			k.MaxEntries = 512
		}
		n = m.ownMap(object.SpillRole, k)
		m.spills[limit] = n
	}
	return n
}

// site is the counter of failures at a place of the script, one for the same thing at the same place.
func (m *module) site(of object.Site) *object.Site {
	s := m.sites[of]
	if s == nil {
		s = new(object.Site)
		*s = of
		s.Offset = m.place(16, 8)
		m.sites[of] = s
		m.obj.Sites = append(m.obj.Sites, s)
	}
	return s
}

// has reports whether the kernel offers a feature, and the user lets it be used.
func (m *module) has(f *machine.Feature) bool {
	return !m.o.Probe.NoFeature[f.Name] && m.o.Probe.Machine.Has(f) == nil
}
