package strace

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"strconv"
)

// signals are the names of signals without SIG, from 1 on.
var signals = [...]string{"", "HUP", "INT", "QUIT", "ILL", "TRAP", "ABRT", "BUS", "FPE", "KILL", "USR1", "SEGV", "USR2",
	"PIPE", "ALRM", "TERM", "STKFLT", "CHLD", "CONT", "STOP", "TSTP", "TTIN", "TTOU", "URG", "XCPU", "XFSZ", "VTALRM",
	"PROF", "WINCH", "IO", "PWR", "SYS"}

// signalName is a signal's name without SIG, "" for a number that is none. strace calls the
// real-time signals by their distance from the first that the kernel has, 32, while the C
// library keeps two for itself.
func signalName(n int) string {
	const rtmin, last = 32, 64
	switch {
	case n > 0 && n < len(signals):
		return signals[n]
	case n == rtmin:
		return "RTMIN"
	case n > rtmin && n <= last:
		return "RT_" + strconv.Itoa(n-rtmin)
	}
	return ""
}

func (d *decoder) signal(n int) {
	if name := signalName(n); name != "" {
		at := d.constant()
		d.str("SIG"+name).named(at, int64(n), 10)
		return
	}
	d.int(int64(n))
}

// sigset shows a set of nearly all by what is missing, from two thirds on, as strace does.
func (d *decoder) sigset(v uint64) {
	const many = 42 // of 64
	if bits.OnesCount64(v) >= many {
		d.str("~")
		v = ^v
	}
	d.numbered(binary.LittleEndian.AppendUint64(nil, v), 64, func(bit int) {
		at := d.constant()
		d.str(signalName(bit+1)).named(at, int64(bit+1), 10)
	})
}

func (d *decoder) handler(v uint64) {
	at := d.constant()
	switch v {
	case 0:
		d.str("SIG_DFL")
	case 1:
		d.str("SIG_IGN")
	case ^uint64(0):
		d.str("SIG_ERR")
	default:
		d.hex(v)
	}
	d.named(at, int64(v), 16)
}

// sigaction is the struct that the kernel takes: handler, flags, restorer, mask. Programs pass
// the C library another struct; this one it hands on.
func (d *decoder) sigaction(b []byte) {
	// SA_RESTORER says that the field means something.
	const restorer = 0x4000000
	flags := u64(b, 8)
	d.str("{sa_handler=").handler(u64(b, 0))
	d.str(", sa_mask=").sigset(u64(b, 24))
	d.str(", sa_flags=").flags("sa", flags)
	if flags&restorer != 0 {
		d.str(", sa_restorer=").ptr(u64(b, 16))
	}
	d.str("}")
}

// siginfo is a siginfo_t, of the kernel or of the program, at least 48 bytes. It is a union: the
// signal and the code together say which fields are there.
func (d *decoder) siginfo(b []byte) {
	sig, code := int(int32(u32(b, 0))), int(int32(u32(b, 8)))
	if sig == 0 { // nothing has happened
		d.str("{}")
		return
	}
	d.str("{si_signo=").signal(sig)
	d.str(", si_code=").signalCode(sig, code)
	if errno := u32(b, 4); errno != 0 {
		d.str(", si_errno=")
		d.str(errorName(int(errno)))
	}
	who := func() {
		d.str(", si_pid=").int(signed(u32(b, 16)))
		d.str(", si_uid=").uint(u32(b, 20))
	}
	// The value is a union of an int and a pointer: strace shows both.
	val := func() {
		d.str(", si_int=").int(signed(u32(b, 24)))
		d.str(", si_ptr=").ptr(u64(b, 24))
	}
	const user, kernel, timer, tkill, dethread = 0, 0x80, -2, -6, -7
	switch {
	case code == timer:
		d.str(", si_timerid=").hex(u32(b, 16))
		d.str(", si_overrun=").int(signed(u32(b, 20)))
		val()
	case code == user || code == tkill || code == dethread:
		who()
	// Negative codes are user space's own, as sigqueue() sends them.
	case code < 0:
		who()
		val()
	case sig == 17 && code > 0 && code < 7: // SIGCHLD
		who()
		d.str(", si_status=")
		// A child that has exited has a status, others a signal.
		if code == 1 {
			d.int(signed(u32(b, 24)))
		} else {
			d.signal(int(int32(u32(b, 24))))
		}
		d.str(", si_utime=").ticks(u64(b, 32))
		d.str(", si_stime=").ticks(u64(b, 40))
	case code == kernel && sig != 11 && sig != 7:
	case sig == 4 || sig == 5 || sig == 7 || sig == 8 || sig == 11:
		d.str(", si_addr=").ptr(u64(b, 16))
	case sig == 29: // SIGIO
		d.str(", si_band=").flags("poll", u64(b, 16))
		d.str(", si_fd=").int(signed(u32(b, 24)))
	case sig == 31: // SIGSYS
		d.str(", si_call_addr=").ptr(u64(b, 16))
		d.str(", si_syscall=__NR_"+d.name(int(u32(b, 24)))+", si_arch=").enum("audit_arch", u32(b, 28))
	default:
		who()
	}
	d.str("}")
}

// ticks are hundredths of a second, with their meaning if there are some. USER_HZ is 100 on
// every machine that hawk runs on, whatever the kernel's clock does.
func (d *decoder) ticks(v uint64) {
	d.uint(v)
	if v != 0 {
		d.str(" /* " + strconv.FormatFloat(float64(v)/100, 'f', -1, 64) + " s */")
	}
}

// signalCode decodes si_code, whose numbers mean something else for each signal.
func (d *decoder) signalCode(sig, code int) {
	name := "si"
	if code > 0 && code != 0x80 {
		switch sig {
		case 4:
			name = "ill"
		case 5:
			name = "trap"
		case 7:
			name = "bus"
		case 8:
			name = "fpe"
		case 11:
			name = "segv"
		case 17:
			name = "chld"
		case 31:
			name = "sys"
		}
	}
	// That of an event of ptrace is beyond those with names.
	if code > 0x100 {
		d.hex(uint64(code))
		return
	}
	d.enum(name, uint64(uint32(int32(code))))
}

// status appends the status of a child in the words of the macros that take it apart. The layout
// is as old as Unix: the signal in seven bits, a flag for a core, above them the status.
func (d *decoder) status(v int) {
	sig := v & 0x7f
	switch {
	case v == 0xffff:
		d.str("{WIFCONTINUED(s)}")
	case sig == 0:
		d.str("{WIFEXITED(s) && WEXITSTATUS(s) == ").int(int64(v >> 8 & 0xff))
		d.str("}")
	case v&0xff == 0x7f:
		d.str("{WIFSTOPPED(s) && WSTOPSIG(s) == ").signal(v >> 8 & 0xff)
		d.str("}")
	default:
		d.str("{WIFSIGNALED(s) && WTERMSIG(s) == ").signal(sig)
		if v&0x80 != 0 {
			d.str(" && WCOREDUMP(s)")
		}
		d.str("}")
	}
}

// argv are the arguments of a program: the array of pointers, and the strings. With -v all are
// shown, else as many as -s has bytes of strings, as under strace.
func (d *decoder) argv(addr uint64) {
	array, ok := d.c.mem.at(addr, 1<<20, true)
	if addr == 0 || !ok {
		d.ptr(addr)
		return
	}
	d.str("[")
	for i := 0; (i+1)*8 <= len(array); i++ {
		p := u64(array, i*8)
		if p == 0 {
			d.str("]")
			return
		}
		if i > 0 {
			d.str(", ")
		}
		if i >= d.o.Limit && d.o.isShort(d.of) {
			break
		}
		d.cstring(p)
	}
	d.str("...]")
}

// env shows an environment as strace does: its address and how many variables it has. Its
// content is long, and secret at times.
func (d *decoder) env(addr uint64) {
	if !d.o.isShort(d.of) {
		d.argv(addr)
		return
	}
	array, ok := d.c.mem.at(addr, 1<<20, true)
	d.ptr(addr)
	if addr == 0 || !ok {
		return
	}
	n := 0
	for n*8+8 <= len(array) && u64(array, n*8) != 0 {
		n++
	}
	d.str(" /* " + strconv.Itoa(n))
	if n*8+8 > len(array) {
		d.str(" or more")
	}
	if d.str(" var"); n != 1 {
		d.str("s")
	}
	d.str(" */")
}

// clone appends the arguments of clone, which processors have in different orders.
func (d *decoder) clone() {
	const pidfd, setTLS, parentSet, childClear, childSet = 0x1000, 0x80000, 0x100000, 0x200000, 0x1000000
	flags, stack, parent, child, tls := d.num(0), d.num(1), d.num(2), d.num(3), d.num(4)
	if d.arch == "arm64" {
		// CONFIG_CLONE_BACKWARDS has these two the other way round.
		child, tls = tls, child
	}
	d.str("child_stack=").ptr(stack)
	d.str(", flags=").cloneFlags(flags)
	d.returns()
	if flags&(parentSet|pidfd) != 0 {
		d.str(", parent_tid=")
		if b, ok := d.c.mem.whole(parent, 4, false); ok && !d.c.failed() {
			d.str("[").int(signed(u32(b, 0)))
			d.str("]")
		} else {
			d.ptr(parent)
		}
	}
	if flags&setTLS != 0 {
		d.str(", tls=").ptr(tls)
	}
	if flags&(childSet|childClear) != 0 {
		d.str(", child_tidptr=").ptr(child)
	}
}

// cloneFlags takes the lowest byte for the signal that the parent gets.
func (d *decoder) cloneFlags(v uint64) {
	const sigMask = 0xff
	if v&^sigMask != 0 {
		d.flags("clone", v&^sigMask)
		if v&sigMask != 0 {
			d.str("|")
		}
	}
	if v&sigMask != 0 || v == 0 {
		d.signal(int(v & sigMask))
	}
}

// clone3 decodes the struct of clone3(2): fields that its flags do not ask for are left out. The
// struct has grown from 64 bytes in Linux 5.3 to 80 in 5.5 and 88 in 5.7; its size says which it
// is.
func (d *decoder) clone3() {
	addr, size := d.num(0), d.num(1)
	b, ok := d.c.mem.whole(addr, 64, true)
	if addr == 0 || !ok || size < 64 {
		d.ptr(addr)
		d.str(", ").uint(size)
		return
	}
	// CLONE_INTO_CGROUP lies above what clone() can be passed.
	const intoCgroup = 1 << 33
	const pidfd, parentSet, setTLS, childClear, childSet = 0x1000, 0x100000, 0x80000, 0x200000, 0x1000000
	flags := u64(b, 0)
	d.str("{flags=").flags("clone", flags)
	field := func(name string, at int, when bool) {
		if when {
			d.str(", " + name + "=").ptr(u64(b, at))
		}
	}
	field("pidfd", 8, flags&pidfd != 0)
	field("child_tid", 16, flags&(childSet|childClear) != 0)
	field("parent_tid", 24, flags&parentSet != 0)
	d.str(", exit_signal=").signal(int(u64(b, 32)))
	field("stack", 40, true)
	d.str(", stack_size=").hex(u64(b, 48))
	field("tls", 56, flags&setTLS != 0)
	if more, ok := d.c.mem.whole(addr, int(min(size, 88)), true); ok && size >= 80 {
		if u64(more, 64) != 0 || u64(more, 72) != 0 {
			d.str(", set_tid=").elements("intarray", u64(more, 64), int(min(u64(more, 72), 32)))
			d.str(", set_tid_size=").uint(u64(more, 72))
		}
		if size >= 88 && (flags&intoCgroup != 0 || u64(more, 80) != 0) {
			d.str(", cgroup=").uint(u64(more, 80))
		}
	}
	d.str("}")
	d.returns()
	sep := " => {"
	for _, out := range []struct {
		name string
		at   int
		flag uint64
	}{{"pidfd", 8, pidfd}, {"parent_tid", 24, parentSet}} {
		now, ok := d.c.mem.whole(u64(b, out.at), 4, false)
		if ok && flags&out.flag != 0 && !d.c.failed() {
			d.str(sep + out.name + "=[").int(signed(u32(now, 0)))
			d.str("]")
			sep = ", "
		}
	}
	if sep == ", " {
		d.str("}")
	}
	d.str(", ").uint(size)
}

// futex decodes futex(2), whose arguments depend on the operation.
func (d *decoder) futex() {
	op := d.num(1)
	d.ptr(d.num(0))
	d.str(", ").futexOp(op)
	number := func(i int) {
		d.str(", ").uint(uint64(uint32(d.num(i))))
	}
	val := func() { number(2) }
	val3 := func() {
		d.str(", ").hex(uint64(uint32(d.num(5))))
	}
	// FUTEX_WAIT has a time from now on, others a moment: it is one struct for both.
	timeout := func() {
		d.str(", ")
		kind := "ts"
		if d.c.Nr >= compat && d.of.name == "futex" {
			kind = "ts32"
		}
		d.arg(3, arg{kind: kind, early: true})
	}
	// In place of the timeout stands a number: how many waiters are woken or moved at the other
	// address.
	second := func() {
		number(3)
		d.str(", ").ptr(d.num(4))
	}
	match := func() {
		if uint32(d.num(5)) == ^uint32(0) {
			d.str(", FUTEX_BITSET_MATCH_ANY")
		} else {
			val3()
		}
	}
	switch op & futexCommand {
	case 0: // WAIT
		val()
		timeout()
	case 1, 2: // WAKE, FD
		val()
	case 3: // REQUEUE
		val()
		second()
	case 4, 12: // CMP_REQUEUE, CMP_REQUEUE_PI
		val()
		second()
		d.str(", ").uint(uint64(uint32(d.num(5))))
	case 5: // WAKE_OP
		val()
		second()
		d.wakeOp(uint32(d.num(5)))
	case 6, 13: // LOCK_PI
		timeout()
	case 7, 8: // UNLOCK_PI, TRYLOCK_PI
	case 9: // WAIT_BITSET
		val()
		timeout()
		match()
	case 10: // WAKE_BITSET
		val()
		match()
	default:
		val()
		d.str(", ").hex(d.num(3))
		d.str(", ").ptr(d.num(4))
		val3()
	}
}

// futexCommand are the bits of an operation of futex(2) that are no flags (FUTEX_CMD_MASK).
const futexCommand = 0x7f

// futexOp appends an operation of futex(2) with its flags.
func (d *decoder) futexOp(op uint64) {
	const private, realtime = 0x80, 0x100
	// Operations that wait have a name with the flag, others are none with it.
	const waits = 1<<0 | 1<<9 | 1<<11
	command := op & futexCommand
	// Bits that are neither flags nor in the mask make the operation one that the kernel
	// refuses.
	known := d.isNamed("futex", command) && op&^(futexCommand|private|realtime) == 0
	if op&realtime != 0 && (command > 13 || waits>>command&1 == 0) || !known {
		d.hex(uint64(uint32(op)))
		d.unknown("futex")
		return
	}
	at := d.constant()
	d.enum("futex", command)
	if op&private != 0 {
		d.str("_PRIVATE")
	}
	if op&realtime != 0 {
		d.str("|FUTEX_CLOCK_REALTIME")
	}
	d.named(at, int64(op), 16)
}

// wakeOp decodes the operation that FUTEX_WAKE_OP has in its last argument. The word packs an
// operation, a comparison and an argument for each of 12 bits.
func (d *decoder) wakeOp(v uint32) {
	ops := [...]string{"FUTEX_OP_SET", "FUTEX_OP_ADD", "FUTEX_OP_OR", "FUTEX_OP_ANDN", "FUTEX_OP_XOR"}
	cmps := [...]string{"EQ", "NE", "LT", "LE", "GT", "GE"}
	op, cmp := v>>28&7, v>>24&15
	d.str(", ")
	if v>>31 != 0 {
		d.str("FUTEX_OP_OPARG_SHIFT<<28|")
	}
	if int(op) < len(ops) {
		d.str(ops[op] + "<<28|")
	} else {
		d.hex(uint64(op))
		d.str("<<28 /* FUTEX_OP_??? */|")
	}
	d.hex(uint64(v >> 12 & 0xfff))
	if d.str("<<12|"); int(cmp) < len(cmps) {
		d.str("FUTEX_OP_CMP_" + cmps[cmp] + "<<24|")
	} else {
		d.hex(uint64(cmp))
		d.str("<<24 /* FUTEX_OP_CMP_??? */|")
	}
	d.hex(uint64(v & 0xfff))
}

// text16 is the name of a thread, of which the kernel takes 15 bytes.
func (d *decoder) text16(addr uint64, early bool) {
	s, ok := d.c.mem.at(addr, 17, early)
	if !ok || addr == 0 {
		d.ptr(addr)
		return
	}
	s, _, _ = bytes.Cut(s, []byte{0})
	d.quote(s[:min(len(s), 15)])
	if len(s) > 15 {
		d.str("...")
	}
}

// capabilities has two structs one behind the other, with the lower and upper halves of three
// sets.
func (d *decoder) capabilities(b []byte) {
	d.str("{effective=").caps(u32(b, 0) | u32(b, 12)<<32)
	d.str(", permitted=").caps(u32(b, 4) | u32(b, 16)<<32)
	d.str(", inheritable=").caps(u32(b, 8) | u32(b, 20)<<32)
	d.str("}")
}

// caps decodes a set of capabilities.
func (d *decoder) caps(v uint64) {
	some := false
	for _, c := range d.set("cap") {
		if v>>c.value&1 != 0 {
			if some {
				d.str("|")
			}
			d.str("1<<" + c.name)
			some, v = true, v&^(1<<c.value)
		}
	}
	if v != 0 || !some {
		if some {
			d.str("|")
		}
		d.hex(v)
	}
}
