package opt

import (
	"github.com/cilium/ebpf/asm"

	"github.com/hawktrace/hawk/internal/ir"
)

// Moving the code behind each lookup takes time that grows with the square of their number.
const (
	// manyLookups is from how many lookups on they are calls of one function.
	manyLookups = 256
	// mostDeep is how many functions may be on the stack above a function more:
	// the kernel has room for eight, one of which can be codegen.Either's.
	mostDeep = 6
)

// shareLookups has all lookups of a program with very many of them done by one
// function. The kernel puts its own code in place of each lookup, and moves all
// that follows it each time: thousands of them take it many seconds. A lookup
// behind a call costs a nanosecond or two more.
// It comes behind all passes, since a call of a function is opaque to them.
func shareLookups(p *ir.Prog) {
	n := 0
	each := func(do func(v *ir.Value)) {
		for _, f := range p.Funcs {
			for _, b := range f.Blocks {
				for _, v := range b.Values {
					if v.Op == ir.Call && v.Imm == int64(asm.FnMapLookupElem) {
						do(v)
					}
				}
			}
		}
	}
	each(func(*ir.Value) { n++ })
	if n < manyLookups || depth(p.Funcs[0], map[*ir.Func]int{}) > mostDeep {
		return
	}
	b := ir.NewBuilder("lookup", 2)
	b.Fn.Static = true
	b.Ret(b.CallPtr(int(asm.FnMapLookupElem), b.Param(0, ir.Ptr), b.Param(1, ir.Ptr)))
	each(func(v *ir.Value) { v.Op, v.Imm, v.Fn = ir.CallPiece, 0, b.Fn })
	p.Funcs = append(p.Funcs, b.Fn)
}

// depth is how many functions may be on the stack at once; known has the
// answers given so far.
// Functions do not call themselves, so that it ends.
func depth(f *ir.Func, known map[*ir.Func]int) int {
	if n, ok := known[f]; ok {
		return n
	}
	below := 0
	for _, c := range f.Callees() {
		below = max(below, depth(c, known))
	}
	known[f] = 1 + below
	return 1 + below
}
