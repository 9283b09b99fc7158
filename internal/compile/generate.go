package compile

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/hawktrace/hawk/internal/codegen"
	"github.com/hawktrace/hawk/internal/ir"
	"github.com/hawktrace/hawk/internal/lower"
	"github.com/hawktrace/hawk/internal/machine"
	"github.com/hawktrace/hawk/internal/object"
	"github.com/hawktrace/hawk/internal/opt"
)

// generated is what became of one program.
type generated struct {
	code    *codegen.Code
	scratch int // bytes of scratch memory that it needs
	err     error
	failure any // what generate panicked with
}

// generateAll takes programs from lowered IR to instructions, several at a time unless somebody
// looks at how that is done, or at what the machine is asked for in turn. A panic goes on in the caller.
// Programs do not depend on each other, and their results stand in the order of the script.
func generateAll(programs []*lower.Program, o Options, enter func(stage string)) []generated {
	all := make([]generated, len(programs))
	workers := min(len(programs), runtime.GOMAXPROCS(0))
	if o.Watch != nil || o.Took != nil || o.Trace || o.Probe.Machine.Portable() {
		workers = 1
	}
	var asking sync.Mutex
	offers := func(f *machine.Feature) bool {
		asking.Lock()
		defer asking.Unlock()
		return !o.Probe.NoFeature[f.Name] && o.Probe.Machine.Has(f) == nil
	}
	if workers <= 1 {
		for i, p := range programs {
			enter("optimise")
			all[i].code, all[i].scratch, all[i].err = generate(p.IR, o, offers, enter)
		}
		return all
	}
	enter("optimise")
	var next atomic.Int32
	var stop atomic.Bool
	one := func(g *generated, p *ir.Prog) {
		defer func() {
			if g.failure = recover(); g.failure != nil {
				stop.Store(true)
			}
		}()
		if o.Cancelled != nil {
			if err := o.Cancelled(); err != nil {
				panic(cancelled{err})
			}
		}
		g.code, g.scratch, g.err = generate(p, o, offers, func(string) {})
	}
	work := func() {
		for !stop.Load() {
			i := int(next.Add(1)) - 1
			if i >= len(programs) {
				return
			}
			one(&all[i], programs[i].IR)
		}
	}
	var others sync.WaitGroup
	for range workers - 1 {
		others.Go(work)
	}
	work()
	others.Wait()
	for i := range all {
		if all[i].failure != nil {
			panic(all[i].failure)
		}
	}
	return all
}

// mostValues is how many values the IR of a function may begin with. About
// as many instructions are made of them, and a jump passes over 32,768.
const mostValues = 32_000

// generate takes one program from lowered IR to instructions. offers reports whether the machine has a
// feature that programs may use.
func generate(p *ir.Prog, o Options, offers func(*machine.Feature) bool, enter func(stage string)) (*codegen.Code,
	int, error) {
	if o.Watch != nil {
		o.Watch.Lowered(p)
	}
	if o.Verify {
		if err := ir.Verify(p); err != nil {
			return nil, 0, err
		}
	}
	for _, f := range p.Funcs {
		if f.NumValues() > mostValues {
			return nil, 0, fmt.Errorf("%w: %d operations", codegen.ErrLong, f.NumValues())
		}
	}
	oo := opt.Options{ScratchMap: object.ScratchMap, ScratchSlots: slots, MissedData: object.DataMissed,
		Verify: o.Verify}
	if o.Watch != nil {
		oo.Dump = o.Watch.Passed
	}
	oo.AtomicFetch = func() bool { return offers(machine.AtomicFetch) }
	done, err := opt.Run(p, oo)
	if err != nil {
		return nil, 0, err
	}
	if o.Watch != nil {
		o.Watch.Optimised(p)
	}
	enter("generate")
	v4 := p.Needs(ir.SDiv, ir.SMod) && offers(machine.CPUv4)
	code, err := codegen.Generate(p, codegen.Options{CPUv4: v4})
	if err != nil {
		return nil, 0, err
	}
	if o.Watch != nil {
		err = o.Watch.Generated(p, code)
	}
	return code, done.ScratchBytes, err
}
