package user

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/hawktrace/hawk/internal/exe"
	"github.com/hawktrace/hawk/internal/probe"
)

// unreturning are functions that a probe on their return would break, as it
// replaces the return address on entry: some find no return address where it
// would be, some keep it to return once more, some look for who has called them.
var unreturning = map[string]string{}

func init() {
	for why, names := range map[string][]string{
		"it is not entered by a call": {"_start", "__restore", "__restore_rt",
			"__start_context", "_dl_start_user"},
		"it keeps its return address and returns there once more": {"setjmp", "_setjmp", "__setjmp", "sigsetjmp",
			"__sigsetjmp", "savectx", "getcontext", "__getcontext", "swapcontext", "__swapcontext"},
		"it looks for its callers by their return addresses": {"_Unwind_RaiseException", "_Unwind_Resume",
			"_Unwind_Resume_or_Rethrow", "_Unwind_ForcedUnwind", "_Unwind_Backtrace",
			"__cxa_throw", "__cxa_rethrow", "backtrace", "__backtrace"},
		"it is entered with something else where the return address would be": {"_dl_runtime_resolve",
			"_dl_runtime_resolve_fxsave", "_dl_runtime_resolve_xsave", "_dl_runtime_resolve_xsavec",
			"_dl_runtime_profile", "_dl_runtime_profile_avx", "_dl_runtime_profile_avx512", "_dl_runtime_profile_sse"},
	} {
		for _, name := range names {
			unreturning[name] = why
		}
	}
}

// returnFacts are what matters to probes on the returns of a file's functions.
type returnFacts struct {
	// unreturning are the addresses of functions that a probe on their return would break, whatever other
	// names they have.
	unreturning map[uint64]string
	throws      bool // exceptions may pass through functions of the file
	// cold has the parts of functions that compilers put elsewhere, by the name of the function. Files without
	// symbols do not say it, and those that are linked with no other lack the table of exe.File.FrameSpan.
	cold map[string]exe.Symbol
}

func returnFactsOf(file *exe.File) *returnFacts { return returnFact.Of(file) }

var returnFact = exe.FactOf(lookForReturns)

// coldSuffix is what GCC and LLVM name the part of a function by that is rarely reached.
const coldSuffix = ".cold"

// maxReturnFacts bounds what is kept of a file, more than any program has.
const maxReturnFacts = 1 << 17

// lookForReturns finds functions by all of their names: symbols, and what the file imports.
func lookForReturns(file *exe.File) *returnFacts {
	at := map[uint64]string{}
	facts := &returnFacts{unreturning: at, throws: file.Throws(), cold: map[string]exe.Symbol{}}
	// An address is remembered rather than a name: aliases, as __GI_ ones, are the same code.
	for r := range file.Symbols() {
		// No name is copied unless it is kept: a file may have a million.
		if why := unreturning[string(r.Name)]; why != "" && r.Addr != 0 && len(at) < maxReturnFacts {
			at[r.Addr] = why
		}
		if of, cold := bytes.CutSuffix(r.Name, []byte(coldSuffix)); cold && len(facts.cold) < maxReturnFacts {
			facts.cold[string(of)] = r.Symbol()
		}
		// A program that is linked with no other file has its own.
		facts.throws = facts.throws || string(r.Name) == "__gxx_personality_v0" ||
			string(r.Name) == "rust_eh_personality"
	}
	imports, unwinds := "the program may leave what it calls by an exception, or on another stack", file.Unwinds()
	for _, s := range file.Imports(nil) {
		name := strings.TrimSuffix(s.Name, exe.ImportSuffix)
		if why := unreturning[name]; why != "" {
			at[s.Addr] = why
			// A stub jumps to the function, whose return address is its caller's, so that an exception
			// of what is called goes through the frame whose return address was replaced.
		} else if unwinds {
			at[s.Addr] = imports
		}
	}
	// The entry of a stripped program has no symbol; the kernel jumps there with no return
	// address on the stack.
	if file.Entry != 0 {
		at[file.Entry] = unreturning["_start"]
	}
	return facts
}

// returnUnsafe reports why no probe must be put on the return of a function.
func returnUnsafe(p *probe.Point, sym exe.Symbol, facts *returnFacts) error {
	why := facts.unreturning[sym.Addr]
	if why == "" {
		return nil
	}
	return fmt.Errorf("the return of %s in %s cannot be probed: %s; a uprobe on it can", sym.Name, p.Target, why)
}
