package regalloc

import (
	"slices"

	"github.com/cilium/ebpf/asm"
)

// slotSize is the size of a spill slot: the verifier keeps what it knows of a
// value only if all eight bytes are stored and loaded at once.
const slotSize = 8

var (
	loadSlot  = asm.LoadMemOp(asm.DWord)
	storeSlot = asm.StoreMemOp(asm.DWord)
	setSlot   = asm.OpCode(asm.StClass).SetMode(asm.MemMode).SetSize(asm.DWord)
)

// storable reports whether in sets a constant that can be stored at once.
func (in *Instr) storable() bool { return in.Form == Set && in.Op == asm.Mov.Op(asm.ImmSource) }

// spill moves the values of the given nodes to frame slots, or repeats their
// definitions, and rewrites the code with short-lived registers instead. A
// register loaded from a slot serves the uses within the next few
// instructions too: window of them, and not across a call.
func (g *graph) spill(nodes []Reg, window int) {
	f := g.f
	where := make(map[Reg]int16) // node → offset from FP
	remat := make(map[Reg]Instr)
	g.assignSlots(nodes, where, remat)
	// slot returns the frame offset of r if it was spilled to memory.
	slot := func(r Reg) (int16, bool) {
		if r < Virtual {
			return 0, false
		}
		off, ok := where[g.find(r)]
		return off, ok
	}
	again := func(r Reg) (Instr, bool) {
		if r < Virtual {
			return Instr{}, false
		}
		in, ok := remat[g.find(r)]
		return in, ok
	}
	type loaded struct {
		reg Reg
		at  int // position in the new code
	}
	for _, b := range f.Blocks {
		out := make([]Instr, 0, len(b.Instrs)+8)
		recent := make(map[int16]loaded) // by slot
		for _, in := range b.Instrs {
			if in.Form == Call {
				clear(recent)
			}
			if _, ok := again(in.def()); ok && (in.Form == Set || in.Form == Frame) {
				continue
			}
			if in.Form == Mov {
				out = g.spillMove(out, in, slot, again)
				if off, ok := slot(in.Dst); ok {
					delete(recent, off)
				}
				continue
			}
			if off, ok := slot(in.Dst); ok && in.storable() {
				delete(recent, off)
				out = append(out, Instr{Form: StoreImm, Op: setSlot, Dst: FP, Src: NoReg, Off: off,
					Imm: in.Imm, At: in.At})
				continue
			}
			// Operands: bring in what is read, then write back what is written.
			old := in
			fresh := map[Reg]Reg{}
			operand := func(r Reg) Reg {
				if n, ok := fresh[r]; ok {
					return n
				}
				off, ok := slot(r)
				def, ok2 := again(r)
				if !ok && !ok2 {
					return r
				}
				reads := false
				old.uses(func(u Reg) { reads = reads || u == r })
				if l, have := recent[off]; ok && have && reads && len(out)-l.at <= window {
					fresh[r] = l.reg
					return l.reg
				}
				n := f.New()
				fresh[r] = n
				switch {
				case !reads:
				case ok:
					recent[off] = loaded{n, len(out)}
					out = append(out, Instr{Form: Load, Op: loadSlot, Dst: n, Src: FP, Off: off, At: old.At})
				default:
					def.Dst, def.At = n, old.At
					out = append(out, def)
				}
				return n
			}
			if in.Dst >= Virtual {
				in.Dst = operand(in.Dst)
			}
			if in.Src >= Virtual {
				in.Src = operand(in.Src)
			}
			out = append(out, in)
			if d := old.def(); d >= Virtual {
				if off, ok := slot(d); ok {
					recent[off] = loaded{in.def(), len(out)}
					out = append(out, Instr{Form: Store, Op: storeSlot, Dst: FP, Src: in.def(), Off: off, At: old.At})
				}
			}
		}
		b.Instrs = out
	}
}

// spillMove rewrites a move of which either side may have been spilled.
func (g *graph) spillMove(out []Instr, in Instr, slot func(Reg) (int16, bool), again func(Reg) (Instr, bool)) []Instr {
	if def, ok := again(in.Src); ok {
		def.Dst, def.At = in.Dst, in.At
		in = def
		if off, ok := slot(in.Dst); ok {
			if in.storable() {
				return append(out, Instr{Form: StoreImm, Op: setSlot, Dst: FP, Src: NoReg, Off: off,
					Imm: in.Imm, At: in.At})
			}
			in.Dst = g.f.New()
			return append(out, in, Instr{Form: Store, Op: storeSlot, Dst: FP, Src: in.Dst, Off: off, At: in.At})
		}
		return append(out, in)
	}
	from, fromSlot := slot(in.Src)
	to, toSlot := slot(in.Dst)
	switch {
	case fromSlot && toSlot && from == to:
		return out
	case fromSlot && toSlot:
		tmp := g.f.New()
		return append(out,
			Instr{Form: Load, Op: loadSlot, Dst: tmp, Src: FP, Off: from, At: in.At},
			Instr{Form: Store, Op: storeSlot, Dst: FP, Src: tmp, Off: to, At: in.At})
	case fromSlot:
		return append(out, Instr{Form: Load, Op: loadSlot, Dst: in.Dst, Src: FP, Off: from, At: in.At})
	case toSlot:
		return append(out, Instr{Form: Store, Op: storeSlot, Dst: FP, Src: in.Src, Off: to, At: in.At})
	}
	return append(out, in)
}

// assignSlots gives each spilled node a frame slot, the same one to nodes
// that do not interfere (best: to both sides of a move, which then vanishes).
func (g *graph) assignSlots(nodes []Reg, where map[Reg]int16, remat map[Reg]Instr) {
	base := (g.f.Frame + slotSize - 1) &^ (slotSize - 1)
	used := 0
	index := make(map[Reg]int) // node → slot number
	for _, r := range nodes {
		if def := g.nodes[r].remat; def != nil {
			remat[r] = *def
			continue
		}
		var taken []int
		for _, t := range g.nodes[r].adj {
			if n, ok := index[g.find(t)]; ok {
				taken = append(taken, n)
			}
		}
		slot := 0
		for slices.Contains(taken, slot) {
			slot++
		}
		for _, i := range g.nodes[r].moves {
			for _, side := range [2]Reg{g.moves[i].dst, g.moves[i].src} {
				if n, ok := index[g.find(side)]; ok && g.find(side) != r && !slices.Contains(taken, n) {
					slot = n
				}
			}
		}
		index[r] = slot
		used = max(used, slot+1)
		where[r] = int16(-(base + (slot+1)*slotSize))
	}
	g.f.Frame = base + used*slotSize
}
