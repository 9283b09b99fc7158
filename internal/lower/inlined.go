package lower

import (
	"github.com/hawktrace/hawk/internal/check"
	"github.com/hawktrace/hawk/internal/ir"
	"github.com/hawktrace/hawk/internal/syntax"
	"github.com/hawktrace/hawk/internal/types"
)

// An inlined call is the body of a function where it is called; return ends
// the body and not the program.
type inlined struct {
	cb     *callback // that the call is in, nil: the main function
	result *check.Var
	// returned is 1 after a return in the callback of a loop, which can end
	// no more than its own round.
	returned *check.Var
	end      *ir.Block
}

// inlinedCall lowers a call and yields its result: a number, the address of
// what lives in memory, or nil if there is none.
func (f *fn) inlinedCall(e *syntax.Inlined) *ir.Value {
	b := f.b
	for i, p := range e.Params {
		if decl := f.info.Vars[p.Var]; decl != nil && decl.Type != nil {
			f.storeVar(p.Var, decl, e.Args[i])
		}
	}
	call := &inlined{cb: f.cb, end: b.NewBlock(), returned: &check.Var{Name: "returned", Type: types.Uint64}}
	t := f.info.Types[e]
	if t != types.Void {
		call.result = &check.Var{Name: "result", Type: t}
		to := f.variableOf(call.result)
		b.Zero(to.addr(f), 0, to.size)
	}
	f.setNumber(call.returned, f.konst(0))
	outer := f.inline
	f.inline = call
	f.scoped(func() { f.quietly(func() { f.block(e.Body) }) })
	f.inline = outer
	if !b.Ended() {
		b.Jump(call.end)
	}
	b.Begin(call.end)
	switch {
	case call.result == nil:
		return nil
	case inMemory(t):
		return f.variableOf(call.result).addr(f)
	}
	return b.Load(f.variableOf(call.result).addr(f), 0, 8, false)
}

func (f *fn) setNumber(decl *check.Var, v *ir.Value) {
	f.b.Store(f.variableOf(decl).addr(f), 0, 8, v)
}

// returnFrom is return inside an inlined call.
func (f *fn) returnFrom(s *syntax.JumpStmt) {
	c := f.inline
	switch {
	case s.Value == nil || c.result == nil:
	case inMemory(c.result.Type):
		f.Into(s.Value, c.result.Type, f.variableOf(c.result).addr(f), 0)
	default:
		f.setNumber(c.result, f.number(f.scalarAs(s.Value, c.result.Type)))
	}
	if f.cb == c.cb {
		f.b.Jump(c.end)
		return
	}
	f.setNumber(c.returned, f.konst(1))
	f.b.Jump(f.loops[0].out)
}

// loopStmt lowers a loop inside an inlined call: a return in a callback ends
// the rounds, and then goes on here.
func (f *fn) loopStmt(s syntax.Stmt, fill func()) {
	callbacks := len(f.callbacks)
	fill()
	if f.inline == nil || len(f.callbacks) == callbacks || f.b.Ended() || !returns(s) {
		return
	}
	out := f.inline.end
	if f.cb != f.inline.cb {
		out = f.loops[0].out
	}
	on := f.b.NewBlock()
	f.b.If(f.b.Load(f.variableOf(f.inline.returned).addr(f), 0, 8, false), out, on)
	f.b.Begin(on)
}

// returns reports whether there is a return statement under n, but for those
// of calls inside it.
func returns(n syntax.Node) bool {
	found := false
	syntax.Walk(n, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.JumpStmt:
			found = found || n.Kind == syntax.Return
		case *syntax.Inlined:
			return false
		}
		return !found
	})
	return found
}
