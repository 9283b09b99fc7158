package strace

import (
	"bytes"
	"cmp"
	"strconv"
	"strings"

	"github.com/hawktrace/hawk/internal/value"
)

// A Call is one system call of a thread, as the script reports it when it returns or is cut short.
type Call struct {
	Nr int // compat more in a 32-bit program
	// In the namespace of hawk.
	TID, PID    int
	Enter, Exit int64 // nanoseconds since the machine was started
	// As the kernel returns it: errors are -1 to -4095, and the codes by which a call is restarted.
	Result     int64
	Args       [6]uint64
	Unfinished bool // it never returned
	// Copies of the process's memory that the script made for this call. The thread uses them
	// again.
	mem memory
	// nil if nothing was noted.
	*noted
}

// A noted is what records of their own told of a call: descriptors (-y, -P), stack (-k) and place
// (-i).
type noted struct {
	files   map[int64]descriptor // by descriptor; behind the call by atExit more
	stack   *value.Stack
	pointer uint64 // where it was made
	netlink int64  // the protocol of the netlink socket that it is about, and 1 more
}

// atExit is added to a descriptor for what it was when the call returned.
//
// close() and dup2() have one number mean two files, so both are kept under keys that cannot meet:
// descriptors are ints.
const atExit = 1 << 40

// failed reports whether the call has an error.
func (c *Call) failed() bool { return c.Unfinished || c.Result < 0 && c.Result > -4096 }

// A decoder appends the text of calls. One decoder serves a whole run, so that tables are read
// once. It is not safe for two goroutines: a sink has one.
type decoder struct {
	// The options, also those of the filter.
	o     *Options
	arch  string
	names []string // of calls
	calls []*call  // by number, nil before they are asked for
	// Calls whose numbers are beyond the table: of kernels that are newer than it, or made up.
	other map[int]*call
	// Sets of constants that were read, by name.
	sets map[string]set
	// Declared structs that were looked up, and commands of calls by NAME/NUMBER.
	layouts map[string]*layout
	subs    map[string]*call

	// The line so far, the call that it shows, and what is known of calls of this name.
	b  []byte
	c  *Call
	of *call
	// after is what a call says behind its result; its own form of that, if any.
	after []byte
	// own is the result where a call shows it in a way of its own.
	own []byte
	// interfaces are names of network interfaces by number, "" of one that there is not.
	interfaces map[uint64]string
	paths      []string // that the call was given, if -P asks for some
	// mark is where in b begins what is known when the call has returned.
	mark int
	// whole says that what is appended is part of a constant.
	whole bool
}

func newDecoder(o *Options, arch string) *decoder {
	return &decoder{o: o, arch: arch, names: numbers(arch), other: map[int]*call{}, sets: map[string]set{},
		layouts: map[string]*layout{}, subs: map[string]*call{}}
}

// name is a call's name. One that is newer than the table is called by its number, in hexadecimal
// as strace does.
func (d *decoder) name(nr int) string {
	if nr >= 0 && nr < len(d.names) && d.names[nr] != "" {
		return d.names[nr]
	}
	return "syscall_" + string(appendHex(nil, uint64(number(nr))))
}

// call is what is known of the call with a number. It is looked up once: finding one is a search in
// the text of calls.txt, which is too slow for each of a million calls.
func (d *decoder) call(nr int) *call {
	if d.calls == nil {
		d.calls = make([]*call, len(d.names))
	}
	if nr >= 0 && nr < len(d.calls) {
		if d.calls[nr] == nil {
			c := find(d.name(nr))
			if nr >= compat {
				c = find32(d.name(nr))
			}
			d.calls[nr] = &c
		}
		return d.calls[nr]
	}
	if d.other[nr] == nil {
		if len(d.other) >= compat {
			clear(d.other) // a program may try any number
		}
		c := find(d.name(nr))
		d.other[nr] = &c
	}
	return d.other[nr]
}

// set is a set of constants by name, read once.
func (d *decoder) set(name string) set {
	s, ok := d.sets[name]
	if !ok {
		s = loadSet(name, d.arch)
		d.sets[name] = s
	}
	return s
}

// decode appends a call up to its closing parenthesis. What it appends may be cut at d.mark later:
// a line whose call has not returned ends there. Tables say what is shown. A call that they do
// not know has its registers as numbers, as under strace.
func (d *decoder) decode(c *Call) {
	d.c, d.of, d.after, d.own, d.mark = c, d.call(c.Nr), nil, nil, -1
	d.arguments()
	d.returns()
}

// returns says that what follows is known when the call has returned. The first one counts: a
// line that was begun cannot be resumed in two places.
func (d *decoder) returns() {
	if d.mark < 0 {
		d.mark = len(d.b)
	}
}

// atReturn are the kinds of arguments that are shown then, although the call may only read them.
var atReturn = map[string]bool{"rem": true, "sockaddrp": true, "lenp": true}

// arguments appends the name and the arguments, or with -e raw the registers as they are.
func (d *decoder) arguments() {
	d.str(d.of.name)
	d.str("(")
	if d.o.isRaw(d.of) {
		for i := range min(d.registers(), len(d.c.Args)) {
			if i > 0 {
				d.str(", ")
			}
			d.hex(d.num(i))
		}
		return
	}
	for i, a := range d.of.args {
		if a.custom {
			d.special(i, a.kind)
			break
		}
		if a.kind == "skip" { // the upper half of the one in front
			continue
		}
		if i > 0 {
			d.str(", ")
		}
		// The first argument that the call writes is where a line of a call that waits stops.
		if a.out || atReturn[a.kind] {
			d.returns()
		}
		d.arg(i, a)
	}
}

// registers is how many arguments a call has; those of which some depend on others are counted by
// the names that the kernel has for them.
func (d *decoder) registers() int {
	n := len(d.of.args)
	if n > 0 && d.of.args[n-1].custom && d.o.Names != nil {
		if d.of.registers == 0 {
			d.of.registers = max(n, len(d.o.Names(d.of.name)))
		}
		return d.of.registers
	}
	return n
}

// str appends text; it returns the decoder so that a value can be appended in the same statement.
func (d *decoder) str(s string) *decoder {
	d.b = append(d.b, s...)
	return d
}

func (d *decoder) int(v int64)    { d.b = strconv.AppendInt(d.b, v, 10) }
func (d *decoder) uint(v uint64)  { d.b = strconv.AppendUint(d.b, v, 10) }
func (d *decoder) hex(v uint64)   { d.b = appendHex(d.b, v) }
func (d *decoder) octal(v uint64) { d.b = appendOctal(d.b, v) }

// num is an argument as the register had it, all 64 bits; an int is cut by who knows that it is
// one.
func (d *decoder) num(i int) uint64 { return d.c.Args[i] }

// ptr appends an address, which is also how data are shown that could not be copied.
func (d *decoder) ptr(v uint64) {
	if v == 0 {
		d.str("NULL")
		return
	}
	d.hex(v)
}

// quote appends a string as the options say.
func (d *decoder) quote(s []byte) { d.b = appendQuoted(d.b, s, d.o.Quoting) }

// text appends a string that is shown up to the limit of -s; total is how long it is.
func (d *decoder) text(s []byte, total uint64) {
	limit := d.o.Limit
	d.quote(s[:min(len(s), limit)])
	if total > uint64(limit) {
		d.str("...")
	}
}

// constant says that what is appended next, until named is called, is a constant. One may be made of
// others, as the flags of open() are: of those the outermost counts, for others it returns -1.
func (d *decoder) constant() int {
	if d.whole || d.o.Style == "" {
		return -1
	}
	d.whole = true
	return len(d.b)
}

// named puts, as -X says, in place of the name that has been appended since at, or in front of it as a
// comment, the number, in this base. Base -10 is that of numbers without sign.
func (d *decoder) named(at int, v int64, base int) {
	if at < 0 {
		return
	}
	d.whole = false
	name := string(d.b[at:])
	d.b = d.b[:at]
	switch base {
	case 8:
		d.octal(uint64(v))
	case 16:
		d.hex(uint64(v))
	case -10:
		d.uint(uint64(v))
	default:
		d.int(v)
	}
	switch bare := string(d.b[at:]); {
	case d.o.Style == "raw":
	case name == bare || strings.HasPrefix(name, bare+" "): // no name, or a comment that says so
		d.b = append(d.b[:at], name...)
	default:
		d.str(" /* " + name + " */")
	}
}

// flags appends the constants of a set that are in a number, with "|" in between, and the rest
// in hexadecimal; name is that of the set. A set whose first constant is 0 has a name for that,
// as PROT_NONE.
func (d *decoder) flags(name string, v uint64) {
	at := d.constant()
	d.allFlags(name, v)
	d.named(at, int64(v), 16)
}

func (d *decoder) allFlags(name string, v uint64) {
	s := d.set(name)
	if v == 0 {
		if len(s) > 0 && s[0].value == 0 {
			d.str(s[0].name)
			return
		}
		d.str("0")
		return
	}
	some := false
	rest := v
	// Constants of several bits stand in front of those that they contain, so that O_SYNC is not
	// O_DSYNC and a rest.
	for _, c := range s {
		if c.value != 0 && rest&c.value == c.value {
			if some {
				d.str("|")
			}
			d.str(c.name)
			rest &^= c.value
			some = true
		}
	}
	switch {
	case rest == 0:
	case some:
		d.str("|").hex(rest)
	default:
		d.hex(rest)
		d.unknown(name)
	}
}

// onlyFlags appends the constants as flags does, without a comment on those that have no name.
// strace has none behind these sets, as more stands behind them.
func (d *decoder) onlyFlags(name string, v uint64) {
	at := len(d.b)
	d.flags(name, v)
	if i := bytes.Index(d.b[at:], []byte(" /*")); i >= 0 {
		d.b = d.b[:at+i]
	}
}

// numbered appends the numbers of the bits that are set, of the first n. Blanks part them, as in
// strace: these are sets, not arrays.
func (d *decoder) numbered(b []byte, n int, show func(bit int)) {
	some := false
	d.str("[")
	for bit := range min(n, 8*len(b)) {
		if b[bit/8]>>(bit%8)&1 == 0 {
			continue
		}
		if some {
			d.str(" ")
		}
		show(bit)
		some = true
	}
	d.str("]")
}

// bit is what numbered shows of sets without names.
func (d *decoder) bit(n int) { d.int(int64(n)) }

// unknown is the comment behind a number that has no name in a set: what all names begin with, or
// the first one up to its "_", with question marks for the rest. It is strace's way to say of
// which set a number is. A word in the table says it where names have no common beginning.
func (d *decoder) unknown(name string) {
	if d.o.Style == "raw" {
		return
	}
	words, known := entry(flagsText(), name)
	if !known {
		words, _ = entry(netlinkText(), name)
	}
	first, _, _ := strings.Cut(words, " ")
	if said, ok := strings.CutPrefix(first, "/"); ok {
		d.str(" /* " + said + " */")
		return
	}
	s := d.set(name)
	if len(s) == 0 {
		return
	}
	same := s[0].name
	for _, c := range s {
		n := 0
		for n < min(len(same), len(c.name)) && same[n] == c.name[n] {
			n++
		}
		same = same[:n]
	}
	same = same[:strings.LastIndexByte(same, '_')+1]
	if same == "" || len(s) == 1 {
		same, _, _ = strings.Cut(s[0].name, "_")
		same += "_"
	}
	d.str(" /* " + same + "??? */")
}

// enum appends the constant that a number is. Several names of one number are in the order of
// the table: the first one is strace's.
func (d *decoder) enum(name string, v uint64) {
	at := d.constant()
	if text := d.nameIn(name, v); text != "" {
		d.str(text)
	} else {
		// A number without a name is shown with what those of the set begin with: 0x63 /* AF_??? */.
		d.hex(v)
		d.unknown(name)
	}
	d.named(at, int64(v), 16)
}

// arg appends an argument. Most kinds are words of calls.txt; those that need memory are in
// structs.go and network.go. An argument that a failed call would have written is an address only:
// there is nothing behind it.
func (d *decoder) arg(i int, a arg) {
	v := d.num(i)
	if a.out && d.c.failed() {
		switch {
		case a.kind == "iovr":
			d.iovec(v, int(d.num(i+1)), noData)
		case a.kind == "msghdr":
			d.received(v)
		default:
			d.ptr(v)
		}
		return
	}
	switch a.kind {
	case "fd":
		d.fd(v, 0)
	case "at":
		d.at(v)
	case "fanfd":
		if int32(v) == -1 {
			d.str("FAN_NOFD")
		} else {
			d.at(v)
		}
	// -1 is how chown and setreuid are told to leave an ID as it is.
	case "uid":
		if uint32(v) == ^uint32(0) {
			d.str("-1")
		} else {
			d.uint(uint64(uint32(v)))
		}
	case "mode": // the kernel looks at no more bits
		d.octal(v & 0xffff)
	case "path":
		d.path(v, a.early)
	case "str":
		d.cstring(v)
	case "rb":
		d.buffer(v, d.c.Result)
	case "wb":
		d.buffer(v, int64(d.num(int(a.param[0]-'0'))))
	default:
		if !d.number(a, v) && (d.o.isOpaque(d.of) || !d.structured(i, a, v) && !d.network(i, a, v)) {
			d.ptr(v)
		}
	}
}

// number appends an argument for which no memory is read; false if it is none of these. Most are
// ints, of which the kernel reads 32 bits. That is why they are cut here, and not where the
// registers are read.
func (d *decoder) number(a arg, v uint64) bool {
	switch a.kind {
	case "d":
		d.int(int64(int32(v)))
	case "u":
		d.uint(uint64(uint32(v)))
	case "ld", "off":
		d.int(int64(v))
	case "lu":
		d.uint(v)
	case "x":
		d.hex(v)
	case "p":
		d.ptr(v)
	case "sig":
		d.signal(int(int32(v)))
	case "siglu":
		if name := signalName(int(min(v, 65))); name != "" {
			d.str("SIG" + name)
		} else {
			d.uint(v)
		}
	case "f":
		d.flags(a.param, uint64(uint32(v)))
	case "X":
		d.flags(a.param, v)
	case "e":
		d.enum(a.param, uint64(uint32(v)))
	case "E": // the number, and its name as a comment
		d.int(int64(int32(v)))
		if s := a.param; d.isNamed(s, uint64(uint32(v))) {
			d.str(" /* ").enum(s, uint64(uint32(v)))
			d.str(" */")
		} else {
			d.unknown(s)
		}
	case "keyid":
		if name := cmp.Or(a.param, "keyid"); d.isNamed(name, uint64(uint32(v))) {
			at := d.constant()
			d.enum(name, uint64(uint32(v)))
			d.named(at, int64(int32(v)), 10)
		} else {
			d.int(int64(int32(v)))
			if a.param == "reqkey" {
				d.unknown(name)
			}
		}
	case "errno":
		if v = uint64(uint32(v)); v-1 < 4095 {
			at := d.constant()
			d.str(errorName(int(v))).named(at, int64(v), 10)
		} else {
			d.uint(v)
		}
	case "key":
		if uint32(v) == 0 {
			at := d.constant()
			d.str("IPC_PRIVATE").named(at, 0, 10)
		} else {
			d.hex(uint64(uint32(v)))
		}
	case "ipcctl":
		const ipc64 = 0x100
		if v = uint64(uint32(v)); v&ipc64 != 0 {
			d.str("IPC_64|")
		}
		d.enum(a.param, v&^ipc64)
	case "shmflg": // flags, and a mode
		const mode = 0o777
		if v = uint64(uint32(v)); v&^mode != 0 {
			d.onlyFlags(a.param, v&^mode)
			d.str("|")
		}
		d.octal(v & mode)
	case "swap":
		const priority = 0x7fff
		if v = uint64(uint32(v)); v&^priority != 0 {
			d.flags("swap", v&^priority)
			d.str("|").uint(v & priority)
		} else {
			d.uint(v)
		}
	case "ioprio":
		d.str("IOPRIO_PRIO_VALUE(").enum("ioprio_class", uint64(uint32(v)>>13))
		d.str(", ").uint(v & 0x1fff)
		d.str(")")
	case "mapfl":
		d.mapFlags(v)
	case "openfl":
		d.openFlags(uint64(uint32(v)))
	case "memfd":
		at := d.constant()
		d.hugeFlags("memfd", "MFD", uint64(uint32(v)))
		d.named(at, int64(v), 16)
	case "dev":
		d.device(uint64(uint32(v)))
	default:
		return false
	}
	return true
}

// pathMax is PATH_MAX, the NUL included: the kernel refuses longer paths.
const pathMax = 4096

// path appends a file's name, which is shown whole. -s does not cut paths: a path that is cut does
// not say which file it is.
func (d *decoder) path(addr uint64, early bool) {
	s, ok := d.c.mem.at(addr, 1<<20, early)
	if addr == 0 || !ok {
		d.ptr(addr)
		return
	}
	s, _, ended := bytes.Cut(s, []byte{0})
	d.given(string(s))
	d.quote(s)
	if !ended || len(s) == pathMax-1 { // the copy ends with a NUL of its own
		d.str("...")
	}
}

// cstring appends a string that ends with NUL, cut as -s says. A copy without a NUL is one that
// the limit has cut: there is more.
func (d *decoder) cstring(addr uint64) {
	s, ok := d.c.mem.at(addr, 1<<20, true)
	if addr == 0 || !ok {
		d.ptr(addr)
		return
	}
	s, _, ended := bytes.Cut(s, []byte{0})
	total := uint64(len(s))
	if !ended {
		total++
	}
	d.text(s, total)
}

// buffer appends n bytes of data. n is a size of the program's or the call's result, negative if
// there is none. It may be one of a netlink socket, and then is shown as messages.
func (d *decoder) buffer(addr uint64, n int64) {
	if addr == 0 {
		d.str("NULL")
		return
	}
	if n <= 0 {
		if n == 0 {
			d.str(`""`)
			return
		}
		d.ptr(addr)
		return
	}
	if d.c.noted != nil && d.c.netlink > 0 && d.conversation(addr, n) {
		return
	}
	s, ok := d.c.mem.at(addr, int(min(n, 1<<20)), false)
	if !ok && d.o.Limit > 0 {
		d.ptr(addr)
		return
	}
	d.text(s, uint64(n))
}
