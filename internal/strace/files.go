package strace

import (
	"bytes"
	"strconv"
	"strings"
)

// creates are the bits of the flags of open with which the mode behind them means something. The
// kernel ignores the mode else, and a program that calls open() with two arguments has left
// anything in the third register.
func (d *decoder) creates() uint64 {
	var bits uint64
	for _, c := range d.set("open") {
		switch c.name {
		case "O_CREAT":
			bits |= c.value
		// It contains O_DIRECTORY, with which alone nothing is created.
		case "O_TMPFILE":
			bits |= c.value &^ d.directory()
		}
	}
	return bits
}

// directory is O_DIRECTORY, whose value processors do not share.
func (d *decoder) directory() uint64 {
	for _, c := range d.set("open") {
		if c.name == "O_DIRECTORY" {
			return c.value
		}
	}
	return 0
}

// openFlags appends how a file is opened. The access mode is no set of bits: O_RDONLY is 0, and
// 3 is a mode of Linux that few know.
func (d *decoder) openFlags(v uint64) {
	at, whole := d.constant(), v
	const mask = 3
	switch v & mask {
	case mask:
		d.str("O_ACCMODE")
	default:
		d.str([...]string{"O_RDONLY", "O_WRONLY", "O_RDWR"}[v&mask])
	}
	if v &^= mask; v != 0 {
		d.str("|")
		d.onlyFlags("open", v)
	}
	d.named(at, int64(whole), 16)
}

// special appends the arguments from i on of calls whose arguments depend on each other.
//
// kind is the word of calls.txt behind "!". What a call writes when it returns stands behind
// d.returns(), so that the line of a call that waits can be cut there.
func (d *decoder) special(i int, kind string) {
	comma := func() {
		if i > 0 {
			d.str(", ")
		}
	}
	next := func(kind, param string) {
		comma()
		d.arg(i, arg{kind: kind, param: param})
		i++
	}
	switch kind {
	case "open":
		comma()
		d.openFlags(uint64(uint32(d.num(i))))
		if d.num(i)&d.creates() != 0 {
			i++
			next("mode", "")
			if d.of.name == "mq_open" {
				i++
				next("mqattr", "")
			}
		}
	// Only devices have a number.
	case "mknod":
		mode := d.num(i) & 0xffff
		comma()
		d.mode(mode)
		if kind := mode >> 12; kind == 2 || kind == 6 {
			d.str(", ").device(d.num(i + 1))
		}
	case "mmap":
		comma()
		d.mapFlags(d.num(i))
		i++
		next("fd", "")
		if d.of.name == "mmap2" { // counts pages
			d.str(", ").hex(d.num(i) << 12)
			break
		}
		next("x", "")
	// MREMAP_FIXED takes a new address.
	case "mremap":
		const moves = 3 // MREMAP_MAYMOVE, without which MREMAP_FIXED is refused
		if d.num(i-1)&moves == moves {
			next("p", "")
		}
	case "clone":
		d.clone()
	case "clone3":
		d.clone3()
	case "futex":
		d.futex()
	case "sub":
		d.subordinate(d.of.args[i].param)
	case "mount":
		d.mount()
	case "fanotify_init":
		flags := uint64(uint32(d.num(0)))
		d.enum("fan_class", flags&12)
		if flags &^= 12; flags != 0 {
			d.str("|").flags("fan_init", flags)
		}
		d.str(", ").openFlags(uint64(uint32(d.num(1))))
	case "kcmp": // what each kind compares
		kind := "x"
		switch op := uint32(d.num(2)); {
		case op == 0:
			kind = "fd"
		case op < 7:
			return
		}
		next(kind, "")
		next(kind, "")
	case "ptrace":
		if d.num(0) == 0 { // all arguments behind PTRACE_TRACEME mean nothing, the process included
			d.b = d.b[:bytes.LastIndexByte(d.b, ',')]
			return
		}
		if !d.commanded("ptrace/"+strconv.FormatUint(uint64(uint32(d.num(0))), 10), 2) {
			d.str(", ").ptr(d.num(2))
			d.str(", ").ptr(d.num(3))
		}
	case "fcntl":
		comma()
		d.fcntl(d.num(i), d.num(i+1))
	case "ioctl":
		comma()
		d.ioctl(uint64(uint32(d.num(i))), d.num(i+1))
	case "arch_prctl":
		d.enum("arch_prctl", d.num(0))
		d.str(", ")
		if d.num(0)&^7 == 0x1000 && d.num(0) > 0x1002 { // ARCH_GET_FS, ARCH_GET_GS
			d.returns()
			d.indirect(arg{kind: "p"}, d.num(1))
		} else {
			d.hex(d.num(1))
		}
	// The script copies the mask from the frame on the user's stack (copySignal) and gives it
	// address 1.
	case "sigreturn":
		d.str("{mask=")
		if b, ok := d.c.mem.whole(1, 8, true); ok {
			d.sigset(u64(b, 0))
		} else {
			d.str("[]")
		}
		d.str("}")
	case "restart":
		d.str("<... resuming interrupted system call ...>")
	case "socket", "socketpair":
		d.socket()
		if i = 3; kind == "socketpair" {
			d.str(", ")
			d.arg(3, arg{kind: "fds", out: true})
		}
	case "setsockopt", "getsockopt":
		d.sockopt(kind == "getsockopt")
	default:
		d.command(i, kind)
	}
}

// mapFlags appends the flags of mmap: a kind in the lowest four bits, flags, and with MAP_HUGETLB
// the binary logarithm of the size of a page from bit 26 on.
func (d *decoder) mapFlags(v uint64) {
	at, whole := d.constant(), v
	const kinds = 15
	d.enum("map_type", v&kinds)
	if v &^= kinds; v != 0 {
		d.str("|").hugeFlags("map", "MAP", v)
	}
	d.named(at, int64(whole), 16)
}

// hugeFlags appends flags above which the binary logarithm of the size of a page stands.
// MAP_HUGE_2MB and others are this number in the place of a flag; strace shows the shift.
func (d *decoder) hugeFlags(set, name string, v uint64) {
	const shift, mask = 26, 63
	huge := v >> shift & mask
	if v &^= mask << shift; set == "memfd" && v != 0 {
		d.flags(set, v)
	} else if v != 0 || huge == 0 {
		d.onlyFlags(set, v)
	}
	if huge != 0 {
		if v != 0 {
			d.str("|")
		}
		d.str(strconv.FormatUint(huge, 10) + "<<" + name + "_HUGE_SHIFT")
	}
}

// fcntl appends command and argument, and notes what the result means: a descriptor, flags, a kind
// of lock. The numbers are those of include/uapi/linux/fcntl.h and asm-generic/fcntl.h.
func (d *decoder) fcntl(cmd, v uint64) {
	cmd = uint64(uint32(cmd))
	d.enum("fcntl", cmd)
	// Structs have another form in programs of 32 bits.
	if lock := cmd-5 < 3 || cmd-36 < 3; lock && d.c.Nr >= compat {
		d.str(", ").ptr(v)
	} else if !d.commanded("fcntl/"+strconv.FormatUint(cmd, 10), 2) {
		d.str(", ").hex(v)
	}
	if cmd == 0 || cmd == 1030 { // DUPFD
		d.own = []byte("fd")
		return
	}
	// The words in front of what a result means differ from command to command in strace.
	at, r := len(d.b), uint64(d.c.Result)
	switch {
	case d.c.failed():
	case cmd == 3:
		d.hex(r)
		d.str(" (flags ").openFlags(r)
	case cmd == 1025:
		d.hex(r)
		d.str(" (").enum("lock", r)
	case r == 0:
	case cmd == 1:
		d.hex(r)
		d.str(" (flags ").flags("fdflags", r)
	case cmd == 1034:
		d.hex(r)
		d.str(" (seals ").flags("seals", r)
	case cmd == 11:
		d.uint(r)
		d.str(" (").signal(int(r))
	}
	if len(d.b) > at {
		d.str(")")
		d.own = append([]byte{}, d.b[at:]...)
		d.b = d.b[:at]
	}
}

// ioctl appends a command by name or by its parts, and what is known of its argument: calls.txt has
// it by ioctl/NUMBER, structs.txt structs by io and the number, both in hexadecimal. Else it is a number.
//
// Commands are shared by drivers, so that names of two may have one number; the first in flags.txt
// is shown.
func (d *decoder) ioctl(cmd, v uint64) {
	at := d.constant()
	d.ioctlName(cmd)
	d.named(at, int64(cmd), 16)
	number := strconv.FormatUint(cmd, 16)
	if d.commanded("ioctl/"+number, 2) {
		return
	}
	if cmd>>30 == 2 { // it reads
		d.returns()
	}
	d.str(", ")
	if strings.Contains(structsText(), "\nio"+number+" ") {
		d.ioctlStruct(cmd, v, d.layout("io"+number))
	} else {
		d.hex(v)
	}
}

// ioctlName appends the name of a command, or its parts.
func (d *decoder) ioctlName(cmd uint64) {
	// Where two drivers have the number, strace shows both names.
	if name := d.nameIn("ioctl", cmd); name != "" {
		d.str(strings.ReplaceAll(name, "~", " or "))
	} else {
		d.ioc(cmd)
	}
}

// ioctlStruct appends the struct that structs.txt has for a command by "io" and its number, as it
// was given, and behind that what the kernel made of it, "made_" and the number.
func (d *decoder) ioctlStruct(cmd, v uint64, l *layout) {
	const api, fiemap = 0xc018aa3f, 0xc020660b
	b, ok := d.c.mem.whole(v, l.size, true)
	if v == 0 || !ok {
		d.ptr(v)
		return
	}
	d.declared(l, b)
	if w := d.layout("made_" + strconv.FormatUint(cmd, 16)); w != nil {
		d.returns()
		made, ok := d.c.mem.whole(v, w.size, false)
		switch {
		case !ok || d.c.failed():
		case cmd == api: // says again what it has features of
			d.fields(w, made, " => ")
		case cmd == fiemap:
			d.str("} => ").declared(w, made)
			d.str(", ...")
		default:
			d.more(w, made)
		}
	}
	d.str("}")
}

// ioc is a number that nothing is known of but what its bits say. The layout is that of
// include/uapi/asm-generic/ioctl.h: direction, size, type, number. strace does the same with
// numbers that it does not know.
func (d *decoder) ioc(cmd uint64) {
	dirs := [...]string{"_IOC_NONE", "_IOC_WRITE", "_IOC_READ", "_IOC_READ|_IOC_WRITE"}
	d.str("_IOC(" + dirs[cmd>>30&3] + ", ").hex(cmd >> 8 & 0xff)
	d.str(", ").hex(cmd & 0xff)
	d.str(", ").hex(cmd >> 16 & 0x3fff)
	d.str(")")
}

// termios appends the settings of a terminal, b the 36 bytes of struct termios or 18 of the older
// struct termio, whose flags are half as wide.
func (d *decoder) termios(b []byte) {
	speeds := [...]int{0, 50, 75, 110, 134, 150, 200, 300, 600, 1200, 1800, 2400, 4800, 9600, 19200, 38400, 57600,
		115200, 230400, 460800, 500000, 576000, 921600, 1000000, 1152000, 1500000, 2000000, 2500000, 3000000, 3500000,
		4000000}
	get := func(i int) uint64 {
		if len(b) < 36 {
			return u16(b, 2*i)
		}
		return u32(b, 4*i)
	}
	in, out, control, local := get(0), get(1), get(2), get(3)
	// The bits of a delay or a speed stand in front: what is left of the flags follows behind a
	// bar.
	rest := func(set string, v uint64, first bool) {
		if v != 0 {
			if !first {
				d.str("|")
			}
			d.onlyFlags(set, v)
		} else if !first && set == "cflag" {
			d.str("|")
		}
	}
	d.str("{c_iflag=")
	rest("iflag", in, true)
	d.str(", c_oflag=")
	for _, delay := range []struct {
		name        string
		shift, mask uint64
	}{{"NL", 8, 1}, {"CR", 9, 3}, {"TAB", 11, 3}, {"BS", 13, 1}, {"VT", 14, 1}, {"FF", 15, 1}} {
		n := out >> delay.shift & delay.mask
		if out &^= delay.mask << delay.shift; delay.name == "TAB" && n == 3 {
			d.str("XTABS|")
		} else {
			d.str(delay.name).uint(n)
			d.str("|")
		}
	}
	// Each delay has put a bar behind itself.
	d.b = d.b[:len(d.b)-1]
	if rest("oflag", out, false); out == 0 {
		d.str("|")
	}
	speed := func(v uint64) {
		// Speeds above 38400 have the bit CBAUDEX, and count on from there.
		if v >= 0x1000 {
			v -= 0x1000 - 15
		}
		d.str("B").int(int64(speeds[min(v, uint64(len(speeds)-1))]))
	}
	const speedMask, inputShift = 0x100f, 16
	d.str(", c_cflag=")
	speed(control & speedMask)
	if input := control >> inputShift & speedMask; input != 0 {
		d.str("|")
		speed(input)
		d.str("<<IBSHIFT")
	}
	d.str("|CS").uint(control>>4&3 + 5)
	rest("cflag", control&^(speedMask|speedMask<<inputShift|0x30), false)
	d.str(", c_lflag=")
	rest("lflag", local, true)
	d.str(", ")
	if d.o.isShort(d.of) || len(b) < 36 {
		d.str("...}")
		return
	}
	d.str("c_line=").uint(uint64(b[16]))
	d.str(", c_cc=")
	d.b = append(appendEscaped(append(d.b, '"'), b[17:36], "", hexAll), '"')
	d.str("}")
}

// dents counts the entries of a directory that were read. Each entry has its size at 16, behind
// inode and offset (struct linux_dirent64 and its older form alike); a name follows at 18 or 19, so
// that an entry has 19 bytes at least. A smaller size would have the loop stand still. strace
// has the entries themselves with -v; the count alone is shown here.
func (d *decoder) dents(addr uint64, is64 bool) {
	d.ptr(addr)
	b, ok := d.c.mem.at(addr, int(max(d.c.Result, 0)), false)
	if d.c.failed() || !ok && d.c.Result > 0 {
		return
	}
	n, whole := 0, int64(len(b)) >= d.c.Result
	for len(b) >= 19 {
		size := int(u16(b, 16))
		if size < 19 {
			break
		}
		n++
		b = b[min(size, len(b)):]
	}
	if d.str(" /* " + strconv.Itoa(n)); !whole {
		d.str(" or more")
	}
	d.str(" entries */")
}

// epollSize is the size of struct epoll_event, which is packed on amd64 alone. The packing keeps
// the layout of 32-bit programs, which amd64 has had from the beginning.
func (d *decoder) epollSize() int {
	if d.arch == "amd64" {
		return 12
	}
	return 16
}

// epollEvent appends an event; the data behind it are aligned to 8 bytes but on amd64. data is a
// union, of which nobody can tell which member the program uses: strace shows two.
func (d *decoder) epollEvent(b []byte) {
	data := b[4:]
	if d.arch != "amd64" {
		data = b[8:]
	}
	d.str("{events=").flags("epoll", u32(b, 0))
	d.str(", data={u32=").uint(u32(data, 0))
	d.str(", u64=").uint(u64(data, 0))
	d.str("}}")
}

// epollEvents appends the n events that epoll_wait has returned.
func (d *decoder) epollEvents(addr uint64, n int) {
	if n == 0 {
		d.str("[]")
		return
	}
	size := d.epollSize()
	b, ok := d.c.mem.at(addr, n*size, false)
	if !ok {
		d.ptr(addr)
		return
	}
	d.array(b, n, size, d.epollEvent)
}

// list appends elements up to the limit of -s, or as many as there are. show appends one and
// reports whether there was one: fewer may have been copied than the call has.
func (d *decoder) list(n int, show func(i int) bool) {
	d.str("[")
	for i := range n {
		if i > 0 {
			d.str(", ")
		}
		if i >= d.o.Limit || !show(i) {
			d.str("...")
			break
		}
	}
	d.str("]")
}

// array appends n elements of a size, of which as many can be shown as were copied.
func (d *decoder) array(b []byte, n, size int, show func(b []byte)) {
	d.list(n, func(i int) bool {
		there := (i+1)*size <= len(b)
		if there {
			show(b[i*size:])
		}
		return there
	})
}

// appended appends to what stands behind the result, in parentheses, as to the line.
func (d *decoder) appended(show func()) {
	line := d.b
	d.b = bytes.TrimSuffix(d.after, []byte(")"))
	if len(d.b) == 0 {
		d.str(" (")
	} else {
		d.str(", ")
	}
	show()
	d.str(")")
	d.after, d.b = d.b, line
}

// timeout says behind the result that nothing came in time, which 0 means of a call that has returned.
func (d *decoder) timeout() {
	if d.c.Result == 0 && !d.c.Unfinished {
		d.after = []byte(" (Timeout)")
	}
}

// pollfds appends the array of poll: what is asked for as an argument, what has happened behind the
// result. The kernel passes over negative descriptors, which have no events.
func (d *decoder) pollfds(addr uint64, n int) {
	b, ok := d.c.mem.at(addr, n*8, true)
	d.timeout()
	if n == 0 && addr != 0 {
		d.str("[]")
		return
	}
	if addr == 0 || !ok {
		d.ptr(addr)
		return
	}
	d.array(b, n, 8, func(b []byte) {
		d.str("{fd=").fd(u32(b, 0), 0)
		if int32(u32(b, 0)) >= 0 {
			d.str(", events=").flags("poll", u16(b, 4))
		}
		d.str("}")
	})
	// The array is copied twice (copyAround): revents has a meaning only when the call has
	// returned.
	now, ok := d.c.mem.at(addr, n*8, false)
	if d.c.Result <= 0 || !ok {
		return
	}
	d.appended(func() {
		before := "["
		for i := range len(now) / 8 {
			if r := u16(now, 8*i+6); r != 0 {
				d.str(before + "{fd=").int(signed(u32(now, 8*i)))
				d.str(", revents=").flags("poll", r)
				d.str("}")
				before = ", "
			}
		}
		if before == "[" {
			d.str(before)
		}
		d.str("]")
	})
	d.left(2)
}

// left says behind the result how much time ppoll and select had left. The kernel writes the rest
// of the time into the struct that was passed; nothing is left after a timeout. Linux alone
// does.
func (d *decoder) left(i int) {
	kind := d.of.args[i].kind
	if kind != "ts" && kind != "tv" || d.num(i) == 0 || d.c.Result < 0 {
		return
	}
	b, ok := d.c.mem.whole(d.num(i), 16, false)
	if !ok || d.c.Result == 0 {
		return
	}
	d.appended(func() { d.str("left ").complete(kind, b) })
}

// fdset appends a set of descriptors; what select left of them stands behind the result. The last
// of the three sets that was given writes the text behind the result, for all three. left counts
// the ones of the result down, so that bits which are still set in a set that select has not
// cleared are no more than it returned.
func (d *decoder) fdset(addr uint64, n int) {
	left := int64(1 << 62) // of the ones that are counted in the result
	bits := func(b []byte) {
		d.numbered(b, n, func(bit int) {
			d.bit(bit)
			left--
		})
	}
	// The kernel reads and writes whole longs.
	size := (n + 63) / 64 * 8
	if b, ok := d.c.mem.at(addr, size, true); addr != 0 && ok && n > 0 {
		bits(b)
	} else {
		d.ptr(addr)
	}
	last := addr == d.num(3)
	if last {
		d.timeout()
	}
	if d.c.Result <= 0 || d.c.failed() {
		return
	}
	if last {
		d.after = nil
		left = d.c.Result
		for i, name := range []string{"in", "out", "except"} {
			b, ok := d.c.mem.at(d.num(i+1), size, false)
			if d.num(i+1) == 0 || !ok || len(bytes.Trim(b, "\x00")) == 0 || left <= 0 {
				continue
			}
			d.appended(func() {
				d.str(name + " ")
				bits(b)
			})
		}
		d.left(4)
	}
}

// cpus appends a set of processors. What sched_setaffinity reads has the length of argument 1; what
// sched_getaffinity writes has that of the result. The script copies 128 bytes at most
// (copyNumbered). 128 bytes are 1024 processors.
func (d *decoder) cpus(addr uint64, out bool) {
	n := int(min(d.num(1), 128))
	if out {
		n = int(max(min(d.c.Result, 128), 0))
	}
	b, ok := d.c.mem.at(addr, n, false)
	if !ok || addr == 0 {
		d.ptr(addr)
		return
	}
	d.numbered(b, 8*len(b), d.bit)
}

// groups appends the IDs of getgroups and setgroups. With a size of 0, getgroups only counts
// them and writes nothing.
func (d *decoder) groups(addr uint64, n int) {
	if n == 0 && addr != 0 {
		d.str("[]")
		return
	}
	b, ok := d.c.mem.at(addr, 4*n, false)
	if d.num(0) == 0 || addr == 0 || !ok {
		d.ptr(addr)
		return
	}
	d.array(b, n, 4, func(b []byte) { d.uint(u32(b, 0)) })
}

// hexed appends data that are never text, as getrandom's, in hexadecimal.
func (d *decoder) hexed(addr uint64, n int64) {
	s, ok := d.c.mem.at(addr, int(max(min(n, 1<<20), 0)), false)
	if !ok && d.o.Limit > 0 {
		d.ptr(addr)
		return
	}
	d.b = appendQuoted(d.b, s[:min(len(s), d.o.Limit)], hexAll)
	if n > int64(d.o.Limit) {
		d.str("...")
	}
}
