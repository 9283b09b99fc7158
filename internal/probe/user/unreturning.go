package user

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/hawktrace/hawk/internal/exe"
	"github.com/hawktrace/hawk/internal/probe"
)

// entry begins the names of what the dynamic linker is entered by at the first call of a function.
const entry = "_dl_runtime_"

// Reasons for which returns are traced at return instructions.
const (
	asksCaller = "it looks for its callers by their return address"
	passed     = "exceptions"
)

// unreturning are functions that a probe on their return would break, as it
// replaces the return address on entry: some find no return address where it
// would be, some keep it to return once more, some look for who has called them. Through some of C libraries
// exceptions pass: those that call what may throw, and those in which a thread may be cancelled, which runs
// destructors as an exception does.
var unreturning = []string{"it is not entered by a call",
	"_start __restore __restore_rt __start_context _dl_start_user",
	"it keeps its return address and returns there once more",
	"setjmp _setjmp __setjmp sigsetjmp __sigsetjmp savectx getcontext __getcontext swapcontext __swapcontext",
	"it looks for its callers by their return addresses",
	"_Unwind_RaiseException _Unwind_Resume _Unwind_Resume_or_Rethrow _Unwind_ForcedUnwind _Unwind_Backtrace " +
		"__cxa_throw __cxa_rethrow backtrace __backtrace",
	"it computes with its return address",
	"__morestack __morestack_non_split __morestack_large_model",
	"it is entered with something else where the return address would be",
	entry,
	asksCaller, "dlsym dlvsym dlopen dlmopen",
	passed, "call_once dl_iterate_phdr ftw glob nftw pthread_once qsort qsort_r scandir " +
		"tdestroy twalk pthread_exit pthread_testcancel accept accept4 clock_nanosleep close connect " +
		"creat epoll_pwait epoll_wait fcntl fdatasync fsync lockf " +
		"msgrcv msgsnd nanosleep open openat pause poll ppoll pread pselect pthread_cond_clockwait " +
		"pthread_cond_timedwait pthread_cond_wait pthread_join pwrite read readv recv recvfrom recvmmsg recvmsg " +
		"select sem_timedwait sem_wait send sendmmsg sendmsg sendto sigsuspend sigtimedwait sigwait sleep system " +
		"usleep wait wait4 waitid waitpid write writev sigcancel_handler __pthread_unwind __pthread_once_slow " +
		"__pthread_enable_asynccancel __syscall_cancel __internal_syscall_cancel __futex_abstimed_wait_common " +
		"__pthread_clockjoin_ex do_system trecurse ftw_startup ftw_dir process_entry msort_with_tmp.part.0 " +
		"__futex_abstimed_wait_common64 __futex_abstimed_wait_cancelable64 do_futex_wait.constprop.0 " +
		"__new_sem_wait_slow64.constprop.0 __uflow __underflow _IO_file_underflow _IO_file_read _IO_default_uflow",
}

// returnFacts are what matters to probes on the returns of a file's functions.
type returnFacts struct {
	// unreturning are the addresses of functions that a probe on their return would break, whatever other
	// names they have.
	unreturning map[uint64]string
	throws      bool         // exceptions may pass through functions of the file
	signals     bool         // handlers of signals may throw: an exception may begin anywhere
	libc        bool         // it is a C library, or has one in it
	stripped    *returnFacts // of the file, if these are of its debug file
	left        int64        // bytes of code that may be looked through yet
	// cold has the parts of functions that compilers put elsewhere, by the name of the function. Files without
	// symbols do not say it, and those that are linked with no other lack the table of exe.File.FrameSpan.
	cold map[string]exe.Symbol
}

// returnFactsOf has what the file says and, if stripping took names away, its separate debug file.
func returnFactsOf(file *exe.File, o *probe.Options) *returnFacts {
	its := returnFact.Of(file)
	facts := *its
	if !file.HasSymbols() {
		if d := file.OwnDebugFile(o.Root(), o.Machine.DebugDirs...); d != nil {
			facts = *returnFact.Of(d)
			facts.stripped = its
			facts.throws = facts.throws || its.throws
			facts.signals = facts.signals || its.signals
		}
	}
	facts.left = int64(min(mostTimes*file.CodeSize(), mostCode))
	return &facts
}

// Functions share code by having several names; those of a file that was made to burst share all of it. So the
// code that is looked through for one pattern is bounded.
const (
	mostTimes = 16
	mostCode  = 1 << 30 // bytes
)

// special is why a function needs care, by all of its names.
func (facts *returnFacts) special(addr uint64) string {
	why := facts.unreturning[addr]
	switch {
	case (why == "" || why == passed) && facts.stripped != nil && facts.stripped.special(addr) != "":
		return facts.stripped.special(addr)
	case why == passed && !facts.libc:
		return ""
	}
	return why
}

var returnFact = exe.FactOf(lookForReturns)

// coldSuffix is what GCC and LLVM name the part of a function by that is rarely reached.
const coldSuffix = ".cold"

// maxReturnFacts bounds what is kept of a file, more than any program has.
const maxReturnFacts = 1 << 17

// lookForReturns finds functions by all of their names: symbols, and what the file imports.
func lookForReturns(file *exe.File) *returnFacts {
	at, special, rust := map[uint64]string{}, map[string]string{}, false
	for i := 0; i+1 < len(unreturning); i += 2 {
		for _, name := range strings.Fields(unreturning[i+1]) {
			special[name] = unreturning[i]
		}
	}
	facts := &returnFacts{unreturning: at, throws: file.Throws(), signals: file.HandlesSignals(),
		cold: map[string]exe.Symbol{}}
	// An address is remembered rather than a name: aliases, as __GI_ ones, are the same code.
	for r := range file.Symbols() {
		// No name is copied unless it is kept: a file may have a million.
		name := r.Name
		if bytes.HasPrefix(name, []byte(entry)) {
			name = name[:len(entry)]
		}
		if why := special[string(name)]; why != "" && r.Addr != 0 && len(at) < maxReturnFacts {
			at[r.Addr] = why
		}
		if of, cold := bytes.CutSuffix(r.Name, []byte(coldSuffix)); cold && len(facts.cold) < maxReturnFacts {
			facts.cold[string(of)] = r.Symbol()
		}
		// A program that is linked with no other file has its own.
		switch string(r.Name) {
		case "__gxx_personality_v0":
			facts.throws = true
		case "rust_eh_personality":
			facts.throws, rust = true, true
		case "__libc_start_main", "pthread_create":
			facts.libc = true
		case "sigaction":
			facts.signals = true
		}
	}
	facts.signals = facts.signals && !rust // a panic does not leave a handler
	// Stripping leaves the table of what is to be done as exceptions pass. C libraries have one for threads
	// that end.
	facts.throws = facts.throws || !facts.libc && file.Section(".gcc_except_table") != nil
	imports, unwinds := "the program may leave what it calls by an exception, or on another stack", file.Unwinds()
	if file.Section(".interp") != nil {
		// Callers that these do not know they take for the program, which it is that calls here.
		delete(special, "dlopen")
		delete(special, "dlmopen")
	}
	for _, s := range file.Imports(nil) {
		name := strings.TrimSuffix(s.Name, exe.ImportSuffix)
		if why := special[name]; why != "" && why != passed {
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
		at[file.Entry] = special["_start"]
	}
	return facts
}

// returnUnsafe reports why no probe must be put on the return of a function.
func returnUnsafe(p *probe.Point, sym exe.Symbol, why string) error {
	return fmt.Errorf("the return of %s in %s cannot be probed: %s; a uprobe on it can", sym.Name, p.Target, why)
}
