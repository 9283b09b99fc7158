package ir

import (
	"errors"
	"fmt"
)

// Verify checks that p is well formed: edges agree on both sides, every use
// is dominated by its definition, phis have an argument per predecessor, and
// operands have the number, kind, size and range that their operation wants.
// The error lists every fault found, a line each.
func Verify(p *Prog) error {
	var errs []error
	known := map[*Func]bool{}
	for _, f := range p.Funcs {
		known[f] = true
	}
	if len(p.Funcs) == 0 {
		errs = append(errs, errors.New("program without functions"))
	}
	for _, f := range p.Funcs {
		v := verifier{f: f, funcs: known, state: p.State}
		v.run()
		for _, err := range v.errs {
			errs = append(errs, fmt.Errorf("%s: %w", f.Name, err))
		}
	}
	return errors.Join(errs...)
}

// A verifier checks one function.
type verifier struct {
	f     *Func
	funcs map[*Func]bool
	state int // bytes
	errs  []error

	objects map[*Object]bool
	blocks  []*Block // by ID
	values  []spot   // by ID
}

// A spot is where a value is: the compiler asks for it too often for maps.
type spot struct {
	v  *Value
	at int // position in its block
}

// find is the position of a value in its block; ok is false if it is in none.
func (c *verifier) find(v *Value) (at int, ok bool) {
	if v == nil || v.ID < 0 || v.ID >= len(c.values) || c.values[v.ID].v != v {
		return 0, false
	}
	return c.values[v.ID].at, true
}

// has reports whether a block is in the function.
func (c *verifier) has(b *Block) bool {
	return b != nil && b.ID >= 0 && b.ID < len(c.blocks) && c.blocks[b.ID] == b
}

// bad notes a fault, up to twenty: more would be the consequences of these.
func (c *verifier) bad(format string, args ...any) {
	if len(c.errs) < 20 {
		c.errs = append(c.errs, fmt.Errorf(format, args...))
	}
}

// run checks blocks and edges first, since dominance is not defined without them.
func (c *verifier) run() {
	f := c.f
	if len(f.Blocks) == 0 {
		c.bad("no blocks")
		return
	}
	c.objects = make(map[*Object]bool, len(f.Objects))
	for _, o := range f.Objects {
		c.objects[o] = true
		if o.Size <= 0 || (o.Align != 1 && o.Align != 2 && o.Align != 4 && o.Align != 8) {
			c.bad("o%d: size %d, align %d", o.ID, o.Size, o.Align)
		}
	}
	c.blocks, c.values = make([]*Block, f.nextBlock), make([]spot, f.nextValue)
	for _, b := range f.Blocks {
		if b.Func != f || b.ID < 0 || b.ID >= f.nextBlock || c.blocks[b.ID] != nil {
			c.bad("%s: listed twice, of another function, or not numbered by it", b)
			continue
		}
		c.blocks[b.ID] = b
		for i, v := range b.Values {
			if v.Block != b {
				c.bad("v%d: in two blocks, or in another than it says", v.ID)
			}
			if v.ID < 0 || v.ID >= f.nextValue || c.values[v.ID].v != nil {
				c.bad("v%d: number used twice or out of range", v.ID)
				continue
			}
			c.values[v.ID] = spot{v, i}
		}
	}
	if f.Body != nil && !c.has(f.Body) {
		c.bad("body %s is not in the function", f.Body)
	}
	for _, b := range f.Blocks {
		c.edges(b)
	}
	if len(f.Entry().Preds) > 0 {
		c.bad("the entry %s has predecessors", f.Entry())
	}
	if len(c.errs) > 0 {
		return // dominance would only repeat it
	}
	dom := f.Dominators()
	for _, b := range f.Blocks {
		c.block(b, dom)
	}
}

// successors is how many a block of a kind has.
var successors = [...]int{Jump: 1, If: 2, MayGoto: 2, Ret: 0}

// edges checks that the edges of a block are noted at both ends, as often at one as at the other.
func (c *verifier) edges(b *Block) {
	if int(b.Kind) >= len(successors) || successors[b.Kind] != len(b.Succs) {
		c.bad("%s: kind %d with %d successors", b, b.Kind, len(b.Succs))
	}
	if b.Kind == If && b.Ctl == nil || b.Kind != If && b.Kind != Ret && b.Ctl != nil {
		c.bad("%s: control value missing, or there without need", b)
	}
	count := func(list []*Block, x *Block) (n int) {
		for _, y := range list {
			if y == x {
				n++
			}
		}
		return n
	}
	for _, s := range b.Succs {
		if !c.has(s) {
			c.bad("%s: successor %s is not in the function", b, s)
		} else if count(s.Preds, b) != count(b.Succs, s) {
			c.bad("%s → %s: edges and predecessors disagree", b, s)
		}
	}
	for _, p := range b.Preds {
		if !c.has(p) || count(p.Succs, b) == 0 {
			c.bad("%s: predecessor %s does not lead here", b, p)
		}
	}
}

// A user is who has a value as an argument: another one, or the end of a block.
type user struct{ v *Value }

func (u user) String() string {
	if u.v == nil {
		return "the end"
	}
	return fmt.Sprintf("v%d", u.v.ID)
}

// block checks the values of a block in their order. A phi uses its arguments at the ends of the
// predecessors.
func (c *verifier) block(b *Block, dom *DomTree) {
	reachable := dom.Dominates(b, b)
	use := func(who user, a *Value, at *Block, pos int) {
		i, ok := c.find(a)
		switch {
		case a == nil || !ok:
			c.bad("%s: %s uses a value that is in no block", b, who)
		case a.Kind == Nothing:
			c.bad("%s: %s uses v%d, which yields nothing", b, who, a.ID)
		case !reachable || !dom.Dominates(at, at):
		case a.Block == at && i >= pos || a.Block != at && !dom.Dominates(a.Block, at):
			c.bad("%s: %s uses v%d before its definition", b, who, a.ID)
		}
	}
	phis := true
	for i, v := range b.Values {
		who := user{v}
		if v.Op == BadOp || v.Op >= numOps {
			c.bad("%s: bad operation %d", who, v.Op)
			continue
		}
		if v.Op == Phi {
			if !phis {
				c.bad("%s: phi after other values", who)
			}
			if len(v.Args) != len(b.Preds) {
				c.bad("%s: %d phi arguments for %d predecessors", who, len(v.Args), len(b.Preds))
				continue
			}
			for k, a := range v.Args {
				use(who, a, b.Preds[k], len(b.Preds[k].Values))
			}
			continue
		}
		phis = false
		for _, a := range v.Args {
			use(who, a, b, i)
		}
		c.operands(v)
	}
	if b.Ctl != nil {
		use(user{}, b.Ctl, b, len(b.Values))
	}
}

// operands checks what an operation wants of its operands.
func (c *verifier) operands(v *Value) {
	who := user{v}
	info := ops[v.Op]
	if info.args >= 0 && len(v.Args) != info.args {
		c.bad("%s: %s with %d arguments", who, v.Op, len(v.Args))
		return
	}
	if v.Kind > Ptr || (info.kind == Nothing) != (v.Kind == Nothing) && !v.Op.Calls() {
		c.bad("%s: %s of kind %d", who, v.Op, v.Kind)
	}
	for _, a := range v.Args {
		if a == nil {
			c.bad("%s: argument missing", who)
			return
		}
	}
	if v.Op.Accesses() && v.Args[0].Kind != Ptr || v.Op == Copy && v.Args[1].Kind != Ptr {
		c.bad("%s: %s at an address that is no pointer", who, v.Op)
	}
	sizes := ""
	switch v.Op {
	case Addr:
		if !c.objects[v.Obj] {
			c.bad("%s: address of an object that is not of this function", who)
		} else if v.Imm < 0 || v.Imm > int64(v.Obj.Size) {
			c.bad("%s: byte %d of %d", who, v.Imm, v.Obj.Size)
		}
	case Param:
		if v.Imm < 0 || v.Imm >= int64(c.f.NParams) {
			c.bad("%s: parameter %d of %d", who, v.Imm, c.f.NParams)
		}
	case FuncPtr:
		if !c.funcs[v.Fn] || !v.Fn.Static {
			c.bad("%s: callback is not a static function of the program", who)
		}
	case MapPtr:
		if v.Imm < 0 {
			c.bad("%s: map %d", who, v.Imm)
		}
	case State:
		if v.Imm < 0 || v.Imm >= int64(c.state) {
			c.bad("%s: byte %d of a state of %d", who, v.Imm, c.state)
		}
	case CallPiece:
		if !c.funcs[v.Fn] || !v.Fn.Piece && !v.Fn.Static || len(v.Args) != v.Fn.NParams {
			c.bad("%s: call of what is no piece or static function of the program, or with %d arguments", who,
				len(v.Args))
		}
	case Call, CallKfunc:
		if len(v.Args) > 5 {
			c.bad("%s: call with %d arguments", who, len(v.Args))
		}
	case Load, Store, Ext:
		sizes = "\x01\x02\x04\x08"
		if v.Kind == Ptr && v.Size != 8 {
			c.bad("%s: a pointer of %d bytes", who, v.Size)
		}
	case Bswap:
		sizes = "\x02\x04\x08"
	case AtomicAdd, AtomicXchg, AtomicCmpXchg, AtomicFetchAdd:
		sizes = "\x04\x08"
	case Zero, Copy:
		if v.Len <= 0 {
			c.bad("%s: %s of %d bytes", who, v.Op, v.Len)
		}
	}
	if sizes != "" {
		ok := false
		for i := range len(sizes) {
			ok = ok || sizes[i] == v.Size
		}
		if !ok {
			c.bad("%s: %s of %d bytes", who, v.Op, v.Size)
		}
	}
	if v.Op.Accesses() && v.Imm != int64(int32(v.Imm)) {
		c.bad("%s: offset %d", who, v.Imm)
	}
	if v.Op.Accesses() && fixed(v.Args[0]) && Alignment(v.Args[0], int(v.Imm)) < int(v.Size) {
		c.bad("%s: misaligned %s of %d bytes", who, v.Op, v.Size)
	}
}

// fixed reports whether p is at a known offset in an object: there the kernel
// insists on alignment, and here it is known exactly.
func fixed(p *Value) bool {
	for p.Op == Add && p.Args[1].Op == Const {
		p = p.Args[0]
	}
	return p.Op == Addr
}
