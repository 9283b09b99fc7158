package builtin

import (
	"fmt"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/hawktrace/hawk/internal/arch"
	"github.com/hawktrace/hawk/internal/errno"
	"github.com/hawktrace/hawk/internal/ir"
	"github.com/hawktrace/hawk/internal/types"
)

// A nameTable are the names of small numbers, "" for one that has none.
type nameTable struct {
	names    []string
	unknown  string // of every other number
	unsigned bool   // negative numbers count as their opposite
	status   bool   // the numbers are what wait(2) says of a process
}

// name is the name of a number, as the program finds it (see naming).
func (t *nameTable) name(n int64) string {
	if n < 0 && t.unsigned {
		n = -n
	}
	if t.status {
		n = waited(n)
	}
	return t.at(n)
}

// at is the name in a place of the table.
func (t *nameTable) at(n int64) string {
	if n < 0 || n >= int64(len(t.names)) || t.names[n] == "" {
		return t.unknown
	}
	return t.names[n]
}

// stride is the room for a name, with its NUL.
func (t *nameTable) stride() int {
	longest := len(t.unknown)
	for _, n := range t.names {
		longest = max(longest, len(n))
	}
	return types.RoundUp(longest+1, 8)
}

// image is the table as it lies in memory: the names and then the one for all
// other numbers.
func (t *nameTable) image() []byte {
	stride := t.stride()
	out := make([]byte, stride*(len(t.names)+1))
	for i := range len(t.names) + 1 {
		copy(out[i*stride:], t.at(int64(i)))
	}
	return out
}

// naming defines a function from numbers to names, which the probe finds in a
// table of the data map.
func naming(name, label, doc, example string, table func(c *Call) *nameTable) {
	Define(Func{
		Name: name, Label: label, Min: 1, Params: []Param{{"number", Integer}}, Yields: "string", Doc: doc,
		Example: example,
		Check:   func(c *Call) types.Type { return &types.String{Cap: table(c).stride()} },
		Const: func(c *Call) (Const, bool) {
			if c.Consts[0].Kind != IntConst {
				return Const{}, false
			}
			// The bits count, as at run time: -1 may have come as an unsigned number.
			return Const{Kind: StrConst, Str: table(c).name(int64(c.Consts[0].Int))}, true
		},
		Lower: func(g Gen, c *Call, dst *ir.Value) *ir.Value {
			b, t := g.B(), table(c)
			p := Place(g, c.Result, dst)
			n := g.Scalar(c.Args[0])
			if t.unsigned {
				n = g.Choose(b.SLt(n, 0),
					func() *ir.Value { return b.Emit(ir.Neg, ir.I64, n) },
					func() *ir.Value { return n })
			}
			if t.status {
				low := b.And(n, 0xff)
				n = g.Choose(low,
					func() *ir.Value { return b.Arith(ir.Add, low, Number(g, codes)) },
					func() *ir.Value { return b.And(b.LShr(n, 8), codes-1) })
			}
			// The last place of the table is the name of all other numbers: a bound that the
			// verifier sees.
			n = b.UMin(n, int64(len(t.names)))
			stride := t.stride()
			entry := b.Arith(ir.Add, b.Data(g.Table(t.image())), b.Mul(n, int64(stride)))
			b.Copy(p, 0, entry, stride)
			return p
		},
	})
}

// The functions that name a number by a table.
func init() {
	naming("strerror", "error", "The meaning of an error number of either sign.",
		`tracepoint:syscalls:sys_exit_openat / args.ret < 0 / { @[strerror(args.ret)] = count(); }`,
		func(*Call) *nameTable {
			return &nameTable{names: errno.Kernel[:], unknown: "Unknown error", unsigned: true}
		})
	naming("errname", "error", "The name of an error number of either sign: `ENOENT`; `0` of 0.",
		`tracepoint:syscalls:sys_exit_openat / args.ret < 0 / { @[errname(args.ret)] = count(); }`,
		func(*Call) *nameTable {
			return &nameTable{names: errno.Names(), unknown: "unknown error", unsigned: true}
		})
	naming("signal_name", "signal", "What a signal means, by its number.",
		`tracepoint:signal:signal_generate { @[signal_name(args.sig)] = count(); }`,
		func(*Call) *nameTable { return &nameTable{names: signalNames(), unknown: "N/A"} })
	naming("signal_abbrev", "signal", "The short name of a signal, without SIG, by its number.",
		`tracepoint:signal:signal_generate { @[signal_abbrev(args.sig)] = count(); }`,
		func(*Call) *nameTable { return &nameTable{names: signalAbbrevs(), unknown: "?"} })
	naming("exit_status", "status", "How a process has ended, by what wait(2) says of it and the kernel keeps in "+
		"`exit_code`: `0`, `code 3`, `signal 9 (KILL)`, `signal 11 (SEGV, core dumped)`.",
		`tracepoint:sched:sched_process_exit { @[comm, exit_status(curtask.exit_code)] = count(); }`,
		func(*Call) *nameTable { return &nameTable{names: exitStatuses(), unknown: "?", status: true} })
	naming("syscall_name", "syscall", "The name of a system call, by its number on this architecture.",
		`tracepoint:raw_syscalls:sys_enter { @[syscall_name(args.id)] = count(); }`,
		func(c *Call) *nameTable {
			return &nameTable{names: arch.SyscallNames(c.Machine.Arch().GoArch), unknown: "Unknown syscall"}
		})
	naming("syscall_name32", "syscall",
		"The name of a 32-bit program's system call by its number, as `open@32`; on x86-64.",
		`begin { print(syscall_name32(5)); }`,
		func(c *Call) *nameTable {
			return &nameTable{names: arch.CompatNames(c.Machine.Arch().GoArch), unknown: "Unknown syscall"}
		})
}

// signalText are the meanings of signals 1 to 31.
var signalText = [...]string{
	"Hangup", "Interrupt", "Quit", "Illegal instruction", "Trace/breakpoint trap", "Aborted", "Bus error",
	"Floating point exception", "Killed", "User defined signal 1", "Segmentation fault", "User defined signal 2",
	"Broken pipe", "Alarm clock", "Terminated", "Stack fault", "Child exited", "Continued", "Stopped (signal)",
	"Stopped", "Stopped (tty input)", "Stopped (tty output)", "Urgent I/O condition", "CPU time limit exceeded",
	"File size limit exceeded", "Virtual timer expired", "Profiling timer expired", "Window changed", "I/O possible",
	"Power failure", "Bad system call",
}

const (
	firstRealTime = 34 // the C library keeps two for itself
	lastSignal    = 64
)

// signalNames are the meanings of signals, in the words of the kernel and of strsignal(3).
func signalNames() []string {
	out := make([]string, lastSignal+1)
	for n := range out {
		switch {
		case n > 0 && n <= len(signalText):
			out[n] = signalText[n-1]
		case n < firstRealTime:
			out[n] = fmt.Sprintf("Unknown signal %d", n)
		default:
			out[n] = fmt.Sprintf("Real-time signal %d", n-firstRealTime)
		}
	}
	return out
}

// signalAbbrevs are the names of signals by their numbers.
func signalAbbrevs() []string {
	out := make([]string, lastSignal+1)
	out[0] = "0"
	for n := 1; n < len(out); n++ {
		name := strings.TrimPrefix(unix.SignalName(unix.Signal(n)), "SIG")
		switch {
		case name != "":
			out[n] = name
		case n < firstRealTime:
			out[n] = fmt.Sprint(n)
		case n == firstRealTime:
			out[n] = "RTMIN"
		default:
			out[n] = fmt.Sprintf("RTMIN+%d", n-firstRealTime)
		}
	}
	return out
}

// codes is how many codes a process can end with; the ends by signals are behind them in
// the table.
const codes = 256

// waited is the place of a status in the table.
func waited(status int64) int64 {
	if low := status & 0xff; low != 0 {
		return codes + low
	}
	return status >> 8 & (codes - 1)
}

// exitStatuses are the texts of exit_status by place: codes, then signals, then signals with a core
// dump, whose bit 0x80 adds to the signal.
func exitStatuses() []string {
	const dumped = 0x80
	out := make([]string, codes+dumped+lastSignal+1)
	out[0] = "0"
	for n := 1; n < codes; n++ {
		out[n] = fmt.Sprintf("code %d", n)
	}
	for n, name := range signalAbbrevs() {
		if n > 0 {
			out[codes+n] = fmt.Sprintf("signal %d (%s)", n, name)
			out[codes+dumped+n] = fmt.Sprintf("signal %d (%s, core dumped)", n, name)
		}
	}
	return out
}

// signalNumber is the number of a signal by name, with or without SIG, 0 if
// there is none.
func signalNumber(name string) int {
	if n := unix.SignalNum(name); n != 0 {
		return int(n)
	}
	return int(unix.SignalNum("SIG" + name))
}

// InetOf is inet[n], of which inet is the one that holds every address.
func InetOf(n int) types.Type {
	if n == inetType.Bytes {
		return inetType
	}
	return &types.Deferred{Name: fmt.Sprintf("inet[%d]", n), By: inetType.By, Bytes: n, Algn: inetType.Algn}
}

// IsInet reports whether t is inet, whose brackets are its capacity.
func IsInet(t types.Type) bool { return t == types.Type(inetType) }
