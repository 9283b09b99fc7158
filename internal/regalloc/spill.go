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
	s := spiller{g: g, window: window, slots: make(map[Reg]int16), remat: make(map[Reg]Instr)}
	g.assignSlots(nodes, s.slots, s.remat)
	for _, b := range g.f.Blocks {
		s.out, s.recent = make([]Instr, 0, len(b.Instrs)+8), make(map[int16]loaded)
		for _, in := range b.Instrs {
			s.rewrite(in)
		}
		b.Instrs = s.out
	}
}

// A spiller rewrites blocks, one after the other, for nodes that get no register.
type spiller struct {
	g      *graph
	window int
	slots  map[Reg]int16    // of nodes in memory: offset from FP
	remat  map[Reg]Instr    // of nodes whose definition is repeated
	out    []Instr          // the new code of the block
	recent map[int16]loaded // by slot: what its value can still be read from in this block
}

// A loaded register has the value of a slot since a position in the new code.
type loaded struct {
	reg Reg
	at  int
}

// slot is the frame offset of r, if r was spilled to memory.
func (s *spiller) slot(r Reg) (int16, bool) {
	if r < Virtual {
		return 0, false
	}
	off, ok := s.slots[s.g.find(r)]
	return off, ok
}

// again is the definition of r, if r is made anew at each use.
func (s *spiller) again(r Reg) (Instr, bool) {
	if r < Virtual {
		return Instr{}, false
	}
	in, ok := s.remat[s.g.find(r)]
	return in, ok
}

func (s *spiller) add(ins ...Instr) { s.out = append(s.out, ins...) }

func reload(to Reg, off int16, at *Instr) Instr {
	return Instr{Form: Load, Op: loadSlot, Dst: to, Src: FP, Off: off, At: at.At}
}

func storeTo(off int16, from Reg, at *Instr) Instr {
	return Instr{Form: Store, Op: storeSlot, Dst: FP, Src: from, Off: off, At: at.At}
}

// storeImm stores the constant that in sets.
func storeImm(off int16, in *Instr) Instr {
	return Instr{Form: StoreImm, Op: setSlot, Dst: FP, Src: NoReg, Off: off, Imm: in.Imm, At: in.At}
}

// rewrite adds an instruction to the new code, with what its operands need.
func (s *spiller) rewrite(in Instr) {
	if in.Form == Call {
		clear(s.recent)
	}
	if _, ok := s.again(in.def()); ok && (in.Form == Set || in.Form == Frame) {
		return
	}
	off, toSlot := s.slot(in.Dst)
	if in.Form == Mov {
		s.move(in)
		if toSlot {
			delete(s.recent, off)
		}
		return
	}
	if toSlot && in.storable() {
		delete(s.recent, off)
		s.add(storeImm(off, &in))
		return
	}
	old := in
	in.Dst = s.operand(&old, old.Dst)
	if old.Src == old.Dst {
		in.Src = in.Dst
	} else {
		in.Src = s.operand(&old, old.Src)
	}
	s.add(in)
	if off, ok := s.slot(old.def()); ok {
		s.recent[off] = loaded{in.def(), len(s.out)}
		s.add(storeTo(off, in.def(), &old))
	}
}

// operand is the register that stands for r in an instruction: r itself if it was not spilled, or
// else one that has the value, which is brought in if the instruction reads it.
func (s *spiller) operand(in *Instr, r Reg) Reg {
	off, inSlot := s.slot(r)
	def, repeated := s.again(r)
	if !inSlot && !repeated {
		return r
	}
	reads := false
	in.uses(func(u Reg) { reads = reads || u == r })
	if l, ok := s.recent[off]; ok && inSlot && reads && len(s.out)-l.at <= s.window {
		return l.reg
	}
	n := s.g.f.New()
	switch {
	case !reads:
	case inSlot:
		s.recent[off] = loaded{n, len(s.out)}
		s.add(reload(n, off, in))
	default:
		def.Dst, def.At = n, in.At
		s.add(def)
	}
	return n
}

// move adds a move of which either side may have been spilled.
func (s *spiller) move(in Instr) {
	to, toSlot := s.slot(in.Dst)
	if def, ok := s.again(in.Src); ok {
		def.Dst, def.At = in.Dst, in.At
		switch {
		case !toSlot:
			s.add(def)
		case def.storable():
			s.add(storeImm(to, &def))
		default:
			def.Dst = s.g.f.New()
			s.add(def, storeTo(to, def.Dst, &def))
		}
		return
	}
	from, fromSlot := s.slot(in.Src)
	switch {
	case fromSlot && toSlot && from == to: // one slot, in which the value is already
	case fromSlot && toSlot:
		tmp := s.g.f.New()
		s.add(reload(tmp, from, &in), storeTo(to, tmp, &in))
	case fromSlot:
		s.add(reload(in.Dst, from, &in))
	case toSlot:
		s.add(storeTo(to, in.Src, &in))
	default:
		s.add(in)
	}
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
