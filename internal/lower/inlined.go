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
	result *check.Var
	end    *ir.Block
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
	call := &inlined{end: b.NewBlock()}
	t := f.info.Types[e]
	if t != types.Void {
		call.result = &check.Var{Name: "result", Type: t}
		to := f.variableOf(call.result)
		// Check demands a return on all paths; the verifier does not know that, and refuses to read
		// what may not be written.
		b.Zero(to.addr(f), 0, to.size)
	}
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
	return b.U64(f.variableOf(call.result).addr(f), 0)
}

// returnFrom is return inside an inlined call.
func (f *fn) returnFrom(s *syntax.JumpStmt) {
	c := f.inline
	switch {
	case s.Value == nil || c.result == nil:
	case inMemory(c.result.Type):
		f.Into(s.Value, c.result.Type, f.variableOf(c.result).addr(f), 0)
	default:
		v := f.number(f.scalarAs(s.Value, c.result.Type))
		f.b.Store(f.variableOf(c.result).addr(f), 0, 8, v)
	}
	f.b.Jump(f.reach(c.end))
}
