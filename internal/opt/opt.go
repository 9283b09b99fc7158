// Package opt improves IR and decides where objects live. What comes in is
// what lowering wrote: correct, naive, variables in memory. What goes out is
// SSA without needless memory, and every object at a place in the frame.
//
// A pass may rely on what the ones before it in the list did, never needs it:
// each is correct on its own, for any IR that ir.Verify accepts.
package opt

import (
	"fmt"

	"github.com/hawktrace/hawk/internal/ir"
)

// Options describes the memory for objects that do not fit the stack, and how
// to watch the passes.
type Options struct {
	ScratchMap   int // number of the array map of scratch slots; a value is one slot
	ScratchSlots int // slots per CPU, at least 1; slot s of CPU c is element c*ScratchSlots+s
	MissedData   int // data map offset of a u64: events skipped since no slot was free
	// AtomicFetch reports whether the kernel has atomic exchange (5.12); it is
	// asked only when scratch memory is needed. Nil: it has.
	AtomicFetch func() bool

	Verify bool                          // check the IR after each pass
	Dump   func(pass string, p *ir.Prog) // called before the first pass (with "lower") and after each; may be nil
}

// A Result is what the caller has to provide for the program to run.
type Result struct {
	// ScratchBytes is the size of a scratch slot, busy word included; 0 if the
	// program needs none.
	ScratchBytes int
}

// The passes in order.
// They run once each, in the order that lowering's output was found to need, and not to a fixed
// point: compiling is a part of how long a script takes to start.
var passes = [...]struct {
	name string
	run  func(*ir.Func)
}{
	{"unreachable", func(f *ir.Func) { f.RemoveUnreachable() }},
	{"fold addresses", simplify}, // promotion wants plain addresses of objects
	{"promote", promote},
	{"simplify", simplify},
	{"thread", thread},
	{"merge blocks", mergeBlocks},
	{"gvn", gvn},
	{"simplify again", simplify},
	{"decided", decided},
	{"forward", forward},
	{"overwritten", overwritten},
	{"dead code", deadCode},
	{"dead stores", deadStores},
	{"dead code again", deadCode},
	{"promote again", promote}, // what dead code kept in memory
	{"simplify at last", simplify},
	{"thread again", thread},
	{"merge again", mergeBlocks},
	{"dead code at last", deadCode},
}

// Run optimises p in place and places its objects. It fails if the objects of
// a callback, or those that must be on the stack, do not fit.
// compile calls it for one program after another, or for several at a time: it has no state of
// its own.
func Run(p *ir.Prog, o Options) (Result, error) {
	check := func(pass string) error {
		if o.Dump != nil {
			o.Dump(pass, p)
		}
		if o.Verify {
			if err := ir.Verify(p); err != nil {
				return fmt.Errorf("after %s: %w", pass, err)
			}
		}
		return nil
	}
	if err := check("lower"); err != nil {
		return Result{}, err
	}
	for _, pass := range passes {
		for _, f := range p.Funcs {
			pass.run(f)
		}
		if err := check(pass.name); err != nil {
			return Result{}, err
		}
	}
	dropUnused(p)
	shareLookups(p)
	res, err := place(p, o)
	if err != nil {
		return res, err
	}
	dropUnused(p) // what places show to be decided may have been the last loop with a callback
	return res, check("place")
}

// dropUnused removes functions that nothing refers to any more: the kernel
// refuses code that cannot be reached.
// A callback goes with the last loop that used it.
func dropUnused(p *ir.Prog) {
	if len(p.Funcs) < 2 {
		return
	}
	used := map[*ir.Func]bool{p.Funcs[0]: true}
	work := []*ir.Func{p.Funcs[0]}
	for len(work) > 0 {
		f := work[len(work)-1]
		work = work[:len(work)-1]
		for _, c := range f.Callees() {
			if !used[c] {
				used[c] = true
				work = append(work, c)
			}
		}
	}
	kept := p.Funcs[:0]
	for _, f := range p.Funcs {
		if used[f] {
			kept = append(kept, f)
		}
	}
	p.Funcs = kept
}

// RunPass runs the one pass of that name on every function; it is for tests.
func RunPass(name string, p *ir.Prog) error {
	for _, pass := range passes {
		if pass.name == name {
			for _, f := range p.Funcs {
				pass.run(f)
			}
			return nil
		}
	}
	return fmt.Errorf("no pass %q", name)
}

// helpers whose result is the same all through one run of a program.
// The clock is not among them: a script that asks twice measures something.
func constantHelper(n int64) bool {
	switch n {
	case 8, // get_smp_processor_id: programs do not migrate
		14,      // get_current_pid_tgid
		15,      // get_current_uid_gid
		35, 158, // get_current_task, get_current_task_btf
		80: // get_current_cgroup_id
		return true
	}
	return false
}

// idleHelper reports whether a call may be dropped if nothing uses its result.
// Their numbers are those of enum bpf_func_id, which the kernel never changes.
func idleHelper(n int64) bool {
	switch n {
	case 1, // map_lookup_elem
		5, 125, 160, 208, // clocks: ktime_get_ns, _boot_ns, _coarse_ns, _tai_ns
		7,   // get_prandom_u32
		118: // jiffies64
		return true
	}
	return constantHelper(n)
}

// isContext reports whether v is the context of a program, which programs of
// tracing types cannot write.
// A static function is given memory that others write as well.
func isContext(f *ir.Func, v *ir.Value) bool {
	return v.Op == ir.Param && v.Kind == ir.Ptr && !f.Static
}

// constantLoad reports whether v reads what does not change during a run.
func constantLoad(f *ir.Func, v *ir.Value) bool {
	return v.Op == ir.Load && isContext(f, v.Args[0])
}

// isConst reports whether a value is the constant n.
func isConst(v *ir.Value, n int64) bool { return v.Op == ir.Const && v.Imm == n }

// droppable reports whether v has no effect but its result.
func droppable(v *ir.Value) bool {
	return v.Op == ir.Phi || v.Op.Pure() || v.Op.Reads() || v.Op == ir.Call && idleHelper(v.Imm)
}
