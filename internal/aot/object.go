package aot

import (
	"math"

	"github.com/cilium/ebpf/asm"

	"github.com/hawktrace/hawk/internal/bpf"
	"github.com/hawktrace/hawk/internal/builtin"
	"github.com/hawktrace/hawk/internal/codegen"
	"github.com/hawktrace/hawk/internal/machine"
	"github.com/hawktrace/hawk/internal/object"
	"github.com/hawktrace/hawk/internal/probe"
	"github.com/hawktrace/hawk/internal/types"
	"github.com/hawktrace/hawk/internal/value"
)

// A program is an object.Program whose group has to be found again.
// Groups have functions of the machine in them, and cannot be written down.
type program struct {
	object.Program
	group *probe.Stored
}

// maxData bounds the memory that programs and user space share, in bytes.
const maxData = 1 << 30

// variant is a compiled object and what it needs.
func (c *codec) variant(v *Variant) {
	list(c, &v.Features, func(s *string) { text(c, s) })
	c.bool(&v.Pieces)
	list(c, &v.Facts, c.fact)
	o := &v.object
	list(c, &v.programs, c.program)
	pointers(c, &o.Maps, func(m *object.Map) {
		text(c, &m.Name)
		within(c, &m.Role, 0, int64(object.Roles)-1)
		number(c, &m.Type)
		within(c, &m.KeySize, 0, maxBytes)
		within(c, &m.ValueSize, 0, maxData)
		within(c, &m.MaxEntries, 0, math.MaxInt32)
		number(c, &m.Flags)
		text(c, &m.Text)
		within(c, &m.Inner, 0, maxElements)
	})
	within(c, &o.Data.Bytes, 0, maxData)
	within(c, &o.Data.CPUSlots, 0, maxElements)
	c.bytes(&o.Data.Init)
	pointers(c, &o.Events, c.event)
	pointers(c, &o.Sites, func(s *object.Site) {
		c.span(&s.At)
		within(c, &s.Kind, 0, int64(object.IndexBeyondEnd))
		text(c, &s.Helper)
		within(c, &s.Map, -1, maxElements)
		within(c, &s.Offset, 0, maxData)
	})
	pointers(c, &o.Scripts, func(s *object.ScriptMap) {
		text(c, &s.Name)
		c.typ(&s.Key)
		c.elem(&s.Value)
		s.Agg, _ = s.Value.(*types.Agg)
		within(c, &s.Map, -1, int64(len(o.Maps))-1)
		within(c, &s.Offset, 0, maxData)
		c.flags(&s.PerCPU, &s.Soft)
		within(c, &s.Stride, 0, maxData)
		within(c, &s.Cell, 0, maxBytes)
		within(c, &s.Parts, 0, int64(len(o.Maps))-1)
		within(c, &s.Short, 0, int64(len(o.Maps))-1)
		within(c, &s.Turns.Outer, 0, int64(len(o.Maps))-1)
		within(c, &s.Turns.Word, 0, maxData)
		within(c, &s.Turns.Bytes, 0, maxData)
	})
	pointers(c, &o.Options, func(p *object.Option) {
		text(c, &p.Name)
		text(c, &p.Doc)
		c.elem(&p.Type)
		c.bytes(&p.Default)
		within(c, &p.Offset, 0, maxData)
		c.span(&p.At)
	})
	list(c, &o.Strings, func(s *string) { text(c, s) })
	text(c, &o.License)
	if c.reading && c.err == nil {
		c.sound(v)
	}
}

// fact is something that the compiler was told by the kernel, to be asked again.
func (c *codec) fact(f *machine.Fact) {
	number(c, &f.Kind)
	text(c, &f.Module)
	text(c, &f.Of)
	list(c, &f.Path, func(s *string) { text(c, s) })
	number(c, &f.Value)
	text(c, &f.Shape)
}

// program is the code and its attach points, by name.
func (c *codec) program(p *program) {
	text(c, &p.Name)
	c.span(&p.At)
	c.bool(&p.Sleeps)
	if p.group == nil {
		p.group = new(probe.Stored)
	}
	c.stored(p.group)
	if p.Code == nil {
		p.Code = new(codegen.Code)
	}
	c.code(p.Code)
}

// stored is what is kept of a group of attach points: as written, what they stand for, and what the
// program uses.
func (c *codec) stored(s *probe.Stored) {
	text(c, &s.Kind)
	text(c, &s.Mechanism)
	list(c, &s.Written, func(w *probe.Written) {
		c.span(&w.At)
		list(c, &w.Parts, func(p *probe.Part) {
			text(c, &p.Text)
			c.bool(&p.Literal)
		})
	})
	list(c, &s.Points, func(p *probe.StoredPoint) {
		within(c, &p.Written, 0, int64(len(s.Written))-1)
		text(c, &p.Name)
		text(c, &p.Target)
		text(c, &p.Func)
		within(c, &p.Locations, 0, maxElements)
		c.bool(&p.Semaphore)
	})
	u := &s.Uses
	within(c, &u.ArgN, 0, maxElements)
	c.flags(&s.Numbered, &u.Args, &u.Retval, &u.Probe, &u.Func, &u.Regs, &u.Ctx, &u.Kfunc, &u.Stack, &u.Kernel)
}

// code is the instructions of a program with their lines and functions.
// The verifier judges the instructions: whoever may load programs may load these.
func (c *codec) code(code *codegen.Code) {
	list(c, (*[]asm.Instruction)(&code.Insns), func(in *asm.Instruction) {
		number(c, &in.OpCode)
		number(c, &in.Dst)
		number(c, &in.Src)
		number(c, &in.Offset)
		number(c, &in.Constant)
	})
	list(c, &code.Lines, func(l *codegen.Line) {
		within(c, &l.Slot, 0, math.MaxInt32)
		c.span(&l.At)
	})
	list(c, &code.Funcs, func(f *codegen.Func) {
		within(c, &f.Slot, 0, math.MaxInt32)
		text(c, &f.Name)
		within(c, &f.NParams, 0, 5)
		c.bool(&f.Static)
		c.bool(&f.Piece)
		within(c, &f.Stack, 0, codegen.MaxStack)
	})
	within(c, &code.StackUsed, 0, codegen.MaxStack)
	list(c, &code.Relocs, func(r *codegen.Reloc) {
		within(c, &r.Insn, 0, int64(len(code.Insns))-1)
		number(c, &r.Number)
	})
}

// event is an event of the script: its arguments, which lie inside of its record.
// How many arguments and numbers a builtin wants is for its Handle to look at.
func (c *codec) event(e *object.Event) {
	text(c, &e.Builtin)
	c.span(&e.At)
	within(c, &e.Bytes, 0, maxBytes)
	list(c, &e.Args, func(a *object.Arg) {
		c.elem(&a.Type)
		within(c, &a.Offset, 0, int64(e.Bytes))
		c.bool(&a.Tail)
	})
	text(c, &e.Text)
	number(c, &e.Map)
	list(c, &e.Extra, func(n *int64) { number(c, n) })
	within(c, &e.Stamp, 0, int64(e.Bytes))
	format := e.Format != nil // which the text yields again
	c.bool(&format)
	if !format || !c.reading {
		return
	}
	f, err := value.ParseFormat(e.Text)
	if err != nil {
		c.fail("%w", err)
		return
	}
	e.Format = f
}

// sound makes sure that what was read refers to nothing outside of itself: the
// packages that run an object trust it.
func (c *codec) sound(v *Variant) {
	o := &v.object
	if len(o.Maps) <= object.ScratchMap {
		c.fail("maps are missing")
		return
	}
	size := max(o.Data.Bytes, object.DataFree)
	if len(o.Data.Init) > size {
		c.fail("there is more data than room")
	}
	fits := func(what string, offset, n int) {
		if offset < 0 || n < 0 || n > size || offset > size-n {
			c.fail("%s lies outside of the data", what)
		}
	}
	for _, s := range o.Sites {
		fits("a counter", s.Offset, 16)
		if s.Map >= len(o.Scripts) {
			c.fail("a map is missing")
		}
	}
	for _, p := range o.Options {
		fits("--"+p.Name, p.Offset, p.Type.Size())
	}
	for i, m := range o.Maps {
		if m.Type == bpf.ArrayOfMaps && (m.Inner <= object.ScratchMap || m.Inner >= i) {
			c.fail("map %d holds map %d", i, m.Inner)
		}
	}
	for _, s := range o.Scripts {
		if t := s.Turns; t.Two() {
			fits(s.Name, t.Word, 8)
			fits(s.Name, s.Offset+t.Bytes, 8+max(s.Cell, 8, s.Stride*o.Data.CPUSlots))
			if m := o.Maps[t.Outer]; t.Outer != 0 && (m.Type != bpf.ArrayOfMaps || m.Inner != s.Map) {
				c.fail("%s has no second generation", s.Name)
			}
		}
		if s.Short != 0 {
			if s.Map < 0 {
				c.fail("%s has only short keys", s.Name)
			} else if short, all := o.Maps[s.Short], o.Maps[s.Map]; short.KeySize <= 0 ||
				short.KeySize >= all.KeySize || short.ValueSize != all.ValueSize {
				c.fail("the short keys of %s do not fit", s.Name)
			}
		}
		if s.Agg != nil {
			if _, ok := builtin.LookupAgg(s.Agg.Kind); !ok {
				c.fail("%s: there is no aggregation %s", s.Name, s.Agg.Kind)
			}
		}
		switch {
		case s.Map >= 0 && s.Soft:
			fits(s.Name, s.Offset, 8)
		case s.Map < 0 && s.PerCPU:
			fits(s.Name, s.Offset, s.Stride*max(o.Data.CPUSlots, 1))
		case s.Map < 0:
			fits(s.Name, s.Offset, 8+max(s.Cell, 8))
		}
	}
	for _, e := range o.Events {
		f, ok := builtin.Lookup(e.Builtin)
		if !ok || f.Handle == nil {
			c.fail("nobody handles records of %s()", e.Builtin)
		}
		if e.Map < -1 || e.Map > 0 && e.Map >= len(o.Scripts) { // events that have no map leave it 0
			c.fail("%s() refers to map %d", e.Builtin, e.Map)
		}
	}
	for i := range v.programs {
		if p := &v.programs[i]; len(p.Code.Insns) == 0 || len(p.Code.Funcs) == 0 || len(p.group.Points) == 0 {
			c.fail("the program %s is empty", p.Name)
		}
	}
}
