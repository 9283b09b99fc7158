package lower

import (
	"github.com/hawktrace/hawk/internal/check"
	"github.com/hawktrace/hawk/internal/ir"
	"github.com/hawktrace/hawk/internal/machine"
	"github.com/hawktrace/hawk/internal/object"
	"github.com/hawktrace/hawk/internal/syntax"
	"github.com/hawktrace/hawk/internal/types"
)

// mostCopies is how many copies unrolling may make of bodies in all: more than
// any program has room for, few enough to be made in no time.
const mostCopies = 20_000

// unroll repeats the body; every copy has a scope of its own.
func (f *fn) unroll(s *syntax.UnrollStmt) {
	b := f.b
	out := b.NewBlock()
	for range f.unrollParts(s, out) {
		if !f.copy(s) {
			break
		}
		f.unrolled(s, out)
	}
	b.Jump(out)
	b.Begin(out)
}

// copy reports whether one copy more may be made of a loop's body, or one more
// call of it.
func (f *fn) copy(s *syntax.UnrollStmt) bool {
	if f.m.copies++; f.m.copies == mostCopies+1 {
		f.m.diags.Errorf("too-large", s.Span(), "The script becomes too large when its loops are unrolled").
			Hint("for and while loops run without copies of their bodies")
	}
	return f.m.copies <= mostCopies
}

// unrolled is one copy of the body.
func (f *fn) unrolled(s *syntax.UnrollStmt, out *ir.Block) {
	next := f.b.NewBlock()
	f.loops = append(f.loops, loop{next, out})
	f.scoped(func() { f.block(s.Body) })
	f.loops = f.loops[:len(f.loops)-1]
	if !f.b.Ended() {
		f.b.Jump(next)
	}
	f.b.Begin(next)
}

// Limits of loops whose end the verifier has to find by itself.
const (
	// plainLoop is up to how many rounds a loop of known length is a plain one.
	plainLoop = 64
	// plainWalk is how many parts of statements, all rounds together, the verifier may go through in a plain
	// loop where it need not: at some ten instructions each it takes some milliseconds. So few rounds as
	// fewRounds it also needs on the loop budget until they are all the same to it.
	plainWalk = 1000
	fewRounds = 8
	// cappedLoop is how many rounds a loop may have on kernels without a loop
	// budget, which walk through every round when they verify.
	cappedLoop = 1024
	// budgetLoop is up to how many rounds a loop is one on the loop budget, which some kernels make
	// one of time, where a function that the kernel calls back has no such limit.
	budgetLoop = 1 << 16
)

// forRange is for ($v : from..to).
func (f *fn) forRange(s *syntax.ForStmt) {
	from, to := f.number(f.integer(s.From)), f.number(f.integer(s.To))
	decl := f.info.Vars[s.Var]
	less := ir.SLt
	if i, ok := types.IsInteger(decl.Type); ok && !i.Signed {
		less = ir.ULt
	}
	// A loop whose rounds the verifier can count is accepted as it is, and costs nothing at run
	// time. The verifier goes through every round of it.
	known := from.Op == ir.Const && to.Op == ir.Const && to.Imm-from.Imm <= plainLoop
	most := int64(cappedLoop)
	if from.Op == ir.Const && to.Op == ir.Const {
		most = max(most, to.Imm-from.Imm)
	}
	if rounds := to.Imm - from.Imm; known && f.m.has(machine.MayGoto) && rounds > fewRounds {
		known = parts(s.Body)*rounds <= plainWalk
	}
	if f.m.o.Pieces && known {
		known, most = false, max(to.Imm-from.Imm, 0)+1
	}
	// The counter and the end are variables of no name, so that the loop can
	// become a function of its own.
	i, end := f.hidden("i", from), f.hidden("end", to)
	f.loop(s, known, most, f.variableOf(i).obj,
		func() *ir.Value { return f.b.Arith(less, f.hiddenValue(i), f.hiddenValue(end)) },
		func() {
			// The script's variable is a copy: assigning to it does not change how often the loop
			// runs.
			v := f.convert(f.hiddenValue(i), types.IntOf(8, true), decl.Type)
			f.b.Store(f.variable(s.Var).addr(f), 0, 8, v)
			f.block(s.Body)
		},
		func() {
			f.b.Store(f.variableOf(i).addr(f), 0, 8, f.b.Add(f.hiddenValue(i), 1))
		})
}

// hidden makes a variable that the script does not see.
func (f *fn) hidden(name string, v *ir.Value) *check.Var {
	decl := &check.Var{Name: name, Type: types.Int64}
	f.b.Store(f.variableOf(decl).addr(f), 0, 8, v)
	return decl
}

// private makes a hidden variable that lies in this function even if the script
// is in pieces, so that it can hold a pointer.
func (f *fn) private(name string, v *ir.Value) *check.Var {
	decl := &check.Var{Name: name, Type: types.Int64}
	x := &variable{obj: f.b.NewObject(name, 8, 8), size: 8, ptr: v.Kind == ir.Ptr}
	f.vars[decl] = x
	f.b.Store(x.addr(f), 0, 8, v)
	return decl
}

// hiddenValue reads such a variable.
func (f *fn) hiddenValue(decl *check.Var) *ir.Value {
	return f.b.U64(f.variableOf(decl).addr(f), 0)
}

// while is a loop of unknown length.
func (f *fn) while(s *syntax.WhileStmt) {
	f.loop(s, false, cappedLoop, nil,
		func() *ir.Value { return f.condition(s.Cond) },
		func() { f.block(s.Body) },
		func() {})
}

// loop emits a loop with its test at the top. A loop of unknown length runs on
// the kernel's loop budget, or on older kernels at most cappedLoop times;
// running out of either is counted. most is more than how many rounds it has if
// that is known, else no less than cappedLoop. counter is the object that the
// loop itself counts in, nil if there is none; a loop that has one is never a
// piece.
func (f *fn) loop(at syntax.Node, known bool, most int64, counter *ir.Object, test func() *ir.Value,
	body, step func()) {
	b := f.b
	budget := !known && f.m.has(machine.MayGoto) && (most <= budgetLoop || !f.m.has(machine.BPFLoop))
	if !known && !budget && f.m.has(machine.BPFLoop) {
		f.rounds(at, counter, test, body, step)
		return
	}
	head, out := b.NewBlock(), b.NewBlock()
	var rounds *ir.Object
	capped := !known && !budget
	switch {
	case capped:
		f.capped++
		defer func() { f.capped-- }()
	case budget:
		f.budgets++
		defer func() { f.budgets-- }()
	}
	if budget {
		f.forgetAssigned(at, counter)
	}
	if capped {
		rounds = b.NewObject("rounds", 8, 8)
		b.Store(b.Addr(rounds, 0), 0, 8, f.konst(0))
	}
	// An element that was looked up before may be gone in the second round.
	f.lookups.forget()
	b.Jump(head)
	b.Begin(head)
	if !known {
		tired, more := b.NewBlock(), b.NewBlock()
		tired.Cold = true
		if budget {
			b.MayGoto(more, tired)
		} else {
			n := b.U64(b.Addr(rounds, 0), 0)
			b.Store(b.Addr(rounds, 0), 0, 8, b.Add(n, 1))
			b.If(b.ULt(n, min(most, cappedLoop)), more, tired)
		}
		b.Begin(tired)
		f.Failed(at, object.LoopTooLong, "", nil)
		b.Jump(out)
		b.Begin(more)
		if budget {
			f.forgetAssigned(at, counter)
		}
	}
	round := func() {
		f.round(out, test, func() {
			if (known || capped && counter != nil) && at != nil && branches(at) {
				f.forgetAssigned(at, nil)
			}
			body()
		}, step)
	}
	if at != nil && counter == nil {
		f.piece(at, round)
	} else {
		round()
	}
	b.Jump(head)
	b.Begin(out)
	f.lookups.forget()
}

// round is one round of a loop: the test, the body, and the step, with which
// continue goes on. out is behind the loop.
func (f *fn) round(out *ir.Block, test func() *ir.Value, body, step func()) {
	run, next := f.b.NewBlock(), f.b.NewBlock()
	f.b.If(test(), run, f.reach(out))
	f.b.Begin(run)
	f.loops = append(f.loops, loop{next, out})
	f.scoped(body)
	f.loops = f.loops[:len(f.loops)-1]
	if !f.b.Ended() {
		f.b.Jump(next)
	}
	f.b.Begin(next)
	step()
}

// forgetAssigned hides from the verifier what it knows of the variables that a
// loop assigns to and of its counter. A loop on the loop budget is accepted once
// a round begins in a state that was seen before; a number whose value is known
// is different in every round. That goes for the first round, and for all
// others, since a test in the body can make a number known: after
// `if ($i == 3)` the next rounds would begin with 4, 5, 6 and so on. In a plain
// loop with branches it keeps the verifier from following every combination of
// them that leads to another number: there the counter, which it has to know,
// stays known.
func (f *fn) forgetAssigned(loop syntax.Node, counter *ir.Object) {
	b := f.b
	unknown := f.unknownZero()
	forget := func(o *ir.Object) {
		p := b.Addr(o, 0)
		b.Store(p, 0, 8, b.Arith(ir.Add, b.U64(p, 0), unknown))
	}
	if counter != nil {
		forget(counter)
	}
	if f.m.o.Pieces {
		return // the state is hidden as it is
	}
	seen := map[*check.Var]bool{}
	assigned := func(e syntax.Expr) {
		v, ok := syntax.Unparen(e).(*syntax.Var)
		if !ok {
			return
		}
		decl := f.info.Vars[v]
		x := f.vars[decl] // nil: declared inside
		if x == nil || seen[decl] || x.ptr || !types.IsScalar(decl.Type) {
			return
		}
		seen[decl] = true
		forget(x.obj)
	}
	syntax.Walk(loop, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.AssignStmt:
			assigned(n.LHS)
		case *syntax.IncDec:
			assigned(n.X)
		}
		return true
	})
}

// parts counts the statements of a body and what they consist of.
func parts(body *syntax.Block) (n int64) {
	syntax.Walk(body, func(syntax.Node) bool {
		n++
		return true
	})
	return n
}

// branches reports whether a loop can take more than one way through its body.
func branches(loop syntax.Node) bool {
	found := false
	syntax.Walk(loop, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.If, *syntax.Cond, *syntax.JumpStmt:
			found = true
		case *syntax.Binary:
			found = found || n.Op == syntax.LAnd || n.Op == syntax.LOr
		case *syntax.ForStmt, *syntax.WhileStmt:
			found = found || n != loop
		}
		return !found
	})
	return found
}

// hides reports whether the verifier must not learn from tests here. In a loop
// whose rounds it does not count, two states are one only if they agree on what
// is known of every number, needed or not: what a test told would make two of
// one from there on, and ten tests a thousand. A loop that the verifier walks
// through round by round is the opposite: it has to know what ends it. In pieces
// nothing hangs on what a test tells.
func (f *fn) hides() bool {
	return f.m.o.Pieces || f.capped == 0 && (f.budgets > 0 || f.cb != nil)
}

// unknown is v, of which the verifier knows nothing.
func (f *fn) unknown(v *ir.Value) *ir.Value { return f.b.Arith(ir.Add, v, f.unknownZero()) }

// hide is v for a test or for memory that outlives it; see hides.
func (f *fn) hide(v *ir.Value) *ir.Value {
	if !f.hides() || v.Kind == ir.Ptr || v.Op == ir.Const {
		return v
	}
	return f.unknown(v)
}

// unknownZero is 0, which the verifier does not know.
func (f *fn) unknownZero() *ir.Value { return f.b.U64(f.b.Data(object.DataZero), 0) }

// count emits a loop of our own over 0…n, of which n is short enough for any kernel. Where there is a
// loop budget the verifier is done with it after a few rounds, however many there are: it walks
// through each round of a plain one, and anew on each way that leads to the loop.
func (f *fn) count(n int64, body func(i *ir.Value)) {
	b := f.b
	i := b.NewObject("i", 8, 8)
	p := func() *ir.Value { return b.Addr(i, 0) }
	at := func() *ir.Value { return b.U64(p(), 0) }
	test := func() *ir.Value { return b.ULt(at(), n) }
	step := func() { b.Store(p(), 0, 8, b.Add(at(), 1)) }
	b.Store(p(), 0, 8, f.konst(0))
	if !f.m.has(machine.MayGoto) {
		f.loop(nil, true, cappedLoop, nil, test, func() { body(at()) }, step)
		return
	}
	head, more, out := b.NewBlock(), b.NewBlock(), b.NewBlock()
	f.lookups.forget()
	b.Store(p(), 0, 8, f.unknown(at()))
	b.Jump(head)
	b.Begin(head)
	b.MayGoto(more, out) // the budget is of millions of rounds
	b.Begin(more)
	b.Store(p(), 0, 8, f.unknown(at()))
	f.round(out, test, func() { body(at()) }, step)
	b.Jump(head)
	b.Begin(out)
	f.lookups.forget()
}

// Search is a loop that ends at the first i from 0 to n-1 for which test is
// not zero, and yields it, or -1. n is at most most, which the verifier does
// not know. The loop may become a function of its own,
// so that test must not use values from outside but those that it is given:
// vals, as they are there.
func (f *fn) Search(at syntax.Node, n *ir.Value, most int, vals []*ir.Value,
	test func(i *ir.Value, vals []*ir.Value) *ir.Value) *ir.Value {
	return f.search(at, n.Op == ir.Const && n.Imm <= plainLoop, n, most, vals, test)
}

// Walk is a Search whose rounds are long. Where there is a loop budget the verifier is spared to go through
// each of them: what the budget costs at run time is little beside such a round.
func (f *fn) Walk(at syntax.Node, n *ir.Value, most int, vals []*ir.Value,
	test func(i *ir.Value, vals []*ir.Value) *ir.Value) *ir.Value {
	known := n.Op == ir.Const && n.Imm <= plainLoop && !f.m.has(machine.MayGoto)
	return f.search(at, known, n, most, vals, test)
}

// search is the loop of Search; known says that it is a plain one.
func (f *fn) search(at syntax.Node, known bool, n *ir.Value, most int, vals []*ir.Value,
	test func(i *ir.Value, vals []*ir.Value) *ir.Value) *ir.Value {
	i, end, found := f.private("i", f.konst(0)), f.private("end", n), f.private("found", f.konst(-1))
	outside := make([]*check.Var, len(vals))
	for k, v := range vals {
		outside[k] = f.private("search", v)
	}
	counter := f.variableOf(i).obj
	f.loop(at, known, int64(most)+1, counter,
		func() *ir.Value { return f.b.Arith(ir.ULt, f.hiddenValue(i), f.hiddenValue(end)) },
		func() {
			b := f.b
			inside := make([]*ir.Value, len(vals))
			for k, decl := range outside {
				if x := f.variableOf(decl); x.ptr {
					inside[k] = b.LoadPtr(x.addr(f), 0)
				} else {
					inside[k] = b.U64(x.addr(f), 0)
				}
			}
			f.Rarely(test(f.hiddenValue(i), inside), func() {
				// The verifier need not know which round it was.
				unknown := f.b.U64(f.b.Data(object.DataZero), 0)
				f.b.Store(f.variableOf(found).addr(f), 0, 8, f.b.Arith(ir.Add, f.hiddenValue(i), unknown))
				f.b.Jump(f.loops[len(f.loops)-1].out)
			})
		},
		func() {
			f.b.Store(f.variableOf(i).addr(f), 0, 8, f.b.Add(f.hiddenValue(i), 1))
		})
	return f.hiddenValue(found)
}
