package strace

import (
	"bytes"
	"strings"
)

// structured appends what an argument points to; false if the kind is not of those here. An
// argument that the call writes is shown as it is when the call returns, others as they were
// when it began, for the kernel read them then.
func (d *decoder) structured(i int, a arg, v uint64) bool {
	if size, show := structOf(a.kind); show != nil {
		d.structAt(v, size, a.early || !a.out, show)
		return true
	}
	return d.conditional(i, a, v) || d.measured(i, a, v) || d.fromTable(i, a, v)
}

// structAt appends the struct at an address; one that is not there as a whole is the address.
func (d *decoder) structAt(v uint64, size int, early bool, show func(*decoder, []byte)) {
	if b, ok := d.c.mem.whole(v, size, early); ok && v != 0 {
		show(d, b)
	} else {
		d.ptr(v)
	}
}

// structOf is how large a struct is and how it is shown, if that depends on nothing else.
func structOf(kind string) (size int, show func(*decoder, []byte)) {
	switch kind {
	case "tss":
		return 32, func(d *decoder, b []byte) { d.two(b, 16, d.utime) }
	case "tvs":
		return 32, func(d *decoder, b []byte) { d.two(b, 16, d.datedTimeval) }
	case "statx":
		return 256, (*decoder).statx
	case "rlim", "rlim64":
		return 16, func(d *decoder, b []byte) {
			d.str("{rlim_cur=").rlimit(u64(b, 0))
			d.str(", rlim_max=").rlimit(u64(b, 8))
			d.str("}")
		}
	case "utsname":
		return 390, (*decoder).utsname
	case "fds":
		return 8, func(d *decoder, b []byte) { d.two(b, 4, func(b []byte) { d.fd(u32(b, 0), atExit) }) }
	case "termios":
		return 36, (*decoder).termios
	case "termio":
		return 18, (*decoder).termios
	case "psigset":
		return 16, (*decoder).pointedSet
	case "sigact":
		return 32, (*decoder).sigaction
	case "sigev":
		return 20, (*decoder).sigevent
	}
	return 0, nil
}

// conditional appends structs that depend on the call, on its result or on other arguments.
func (d *decoder) conditional(i int, a arg, v uint64) bool {
	early := a.early || !a.out
	size, there := 0, true // an address is shown of what is not there
	var show func(*decoder, []byte)
	switch a.kind {
	case "rem": // the kernel leaves the struct alone unless a signal came
		early, there = false, d.interrupted()
		size, show = 16, func(d *decoder, b []byte) { d.complete("ts", b) }
	case "stat":
		size, show = 144, (*decoder).stat
		if d.arch == "arm64" {
			size = 128
		}
	case "rusage":
		there = d.of.name != "wait4" || d.c.Result != 0 // of no process
		size, show = 144, (*decoder).rusage
	case "offpu":
		size, show = 8, func(d *decoder, b []byte) {
			d.str("[").uint(u64(b, 0))
			if now, ok := d.c.mem.whole(v, 8, false); ok && !d.c.failed() && !bytes.Equal(now, b) {
				d.str("] => [").uint(u64(now, 0))
			}
			d.str("]")
		}
	case "regset": // where registers go, and how much room there is
		size, show = 16, func(d *decoder, b []byte) {
			d.str("{iov_base=").ptr(u64(b, 0))
			d.str(", iov_len=").uint(u64(b, 8))
			d.returns()
			if now, ok := d.c.mem.whole(v, 16, false); ok && u64(now, 8) != u64(b, 8) {
				d.str(" => ").uint(u64(now, 8))
			}
			d.str("}")
		}
	case "epctl": // what is deleted needs no event
		there = d.num(1) != 2
		size, show = d.epollSize(), (*decoder).epollEvent
	case "epev":
		size, show = d.epollSize(), (*decoder).epollEvent
	case "sched_attr":
		size, show = 8, func(d *decoder, b []byte) { d.schedAttr(a, v, b) }
	case "wstatus":
		there = d.c.Result > 0
		size, show = 4, func(d *decoder, b []byte) {
			d.str("[").status(int(u32(b, 0)))
			d.str("]")
		}
	case "sigset": // the kernel refuses sets of any other size
		there = a.param == "" || d.counted(a) == 8
		size, show = 8, func(d *decoder, b []byte) { d.sigset(u64(b, 0)) }
	case "siginfo":
		there = d.of.name != "waitid" || d.c.Result == 0
		size, show = 48, (*decoder).siginfo
	case "openhow":
		there = d.num(i+1) >= 24
		size, show = 24, (*decoder).openHow
	case "capdata":
		// The version in the other struct says how this one is laid out.
		head, ok := d.c.mem.whole(d.num(0), 8, true)
		there = !(a.out && d.c.failed()) && (!ok || d.isNamed("capversion", u32(head, 0)))
		size, show = 24, (*decoder).capabilities
	default:
		return false
	}
	if there {
		d.structAt(v, size, early, show)
	} else {
		d.ptr(v)
	}
	return true
}

// counted is the argument that the parameter of another one names by its number.
func (d *decoder) counted(a arg) uint64 { return d.num(int(a.param[0] - '0')) }

// measured appends what is as long as the result or other arguments say, and numbers of several parts.
func (d *decoder) measured(i int, a arg, v uint64) bool {
	switch a.kind {
	case "gids":
		d.groups(v, int(d.c.Result))
	case "gidsw":
		d.groups(v, int(d.num(0)))
	case "cwd":
		d.path(v, false)
	case "hexb":
		d.hexed(v, d.c.Result)
	case "xlist": // with a size of 0 the call only asks how long the list is
		if d.num(i+1) == 0 {
			d.ptr(v)
		} else {
			d.buffer(v, d.c.Result)
		}
	case "wbx": // with a size of 0 the call only asks how long the value is
		if d.num(i+1) == 0 || d.c.Result == 0 {
			d.ptr(v)
		} else {
			d.attribute(v, d.c.Result)
		}
	case "xval":
		d.attribute(v, int64(d.counted(a)))
	case "hostname": // the kernel refuses longer names and so reads none of them
		const longest = 64
		if n := uint32(d.num(1)); n > longest {
			d.ptr(v)
		} else {
			d.buffer(v, int64(n))
		}
	case "vec":
		d.residence(v, d.num(1))
	case "msgbuf":
		d.message(v, d.num(2))
	case "name":
		d.text16(v, a.early || !a.out)
	case "uring":
		d.uring(v)
	case "handle":
		d.handle(v)
	case "nodes":
		d.nodes(v, d.counted(a))
	case "perf":
		d.perf(v)
	case "kept": // what a key holds or is called, as much as there is room for; names end with NUL
		n := min(d.c.Result, int64(d.num(3)))
		if d.num(0) != 11 && n == d.c.Result {
			n--
		}
		if d.returns(); d.c.failed() {
			d.ptr(v)
		} else {
			d.buffer(v, n)
		}
	case "ifconf":
		d.interfacesOf(v)
	case "ifreq", "ifreqs":
		sets := a.kind == "ifreq"
		b, ok := d.c.mem.whole(v, 40, sets)
		if !ok || v == 0 {
			return false
		}
		d.interfaceOf(d.num(1)&0xffffffff, b, sets)
	case "argv":
		d.argv(v)
	case "env":
		d.env(v)
	case "dents", "dents64":
		d.dents(v, a.kind == "dents64")
	case "cpuset", "cpusetw":
		d.cpus(v, a.out)
	case "epevs":
		d.epollEvents(v, int(d.c.Result))
	case "pollfds":
		d.pollfds(v, int(uint32(d.num(1))))
	case "fdset":
		d.fdset(v, int(int32(d.num(0))))
	case "statx_at":
		// The two bits are a number of its own, of which 0 has a name.
		const sync = 0x6000
		if d.str("AT_STATX_SYNC_AS_STAT"); v&sync != 0 {
			d.b = bytes.TrimSuffix(d.b, []byte("AT_STATX_SYNC_AS_STAT"))
			d.flags("statx_at", v&sync)
		}
		if v &^= sync; uint32(v) != 0 {
			d.str("|").flags("at", uint64(uint32(v)))
		}
	case "personality":
		if uint32(v) == ^uint32(0) {
			d.str("0xffffffff")
		} else {
			d.personality(uint64(uint32(v)))
		}
	default:
		return false
	}
	return true
}

// fromTable appends structs that structs.txt declares: one, an array, or what a pointer leads to.
func (d *decoder) fromTable(i int, a arg, v uint64) bool {
	if name, ok := strings.CutPrefix(a.kind, "[]"); ok {
		n := int(d.c.Result)
		if a.param != "7" {
			n = int(uint32(d.counted(a)))
		}
		d.elements(name, v, n)
		return true
	}
	if kind, ok := strings.CutPrefix(a.kind, "*"); ok {
		d.indirect(arg{kind: kind, param: a.param}, v)
		return true
	}
	l := d.layout(a.kind)
	switch {
	case l == nil:
		return false
	// The kernel refuses those that are too short, and knows one kind of rule.
	case (a.kind == "mountattr" || a.kind == "ruleset") && d.num(i+1) < uint64(l.size),
		a.kind == "rulepath" && uint32(d.num(1)) != 1:
		d.ptr(v)
		return true
	}
	d.structAt(v, l.size, a.early || !a.out, func(d *decoder, b []byte) {
		d.complete(a.kind, b)
	})
	return true
}

// schedAttr appends struct sched_attr. It has grown, and says in front how long this one is.
func (d *decoder) schedAttr(a arg, v uint64, b []byte) {
	size := int(min(u32(b, 0), 56))
	b, _ = d.c.mem.at(v, size, a.early || !a.out)
	const keepsPolicy, flags = 8, 8
	if !a.out && len(b) > flags && b[flags]&keepsPolicy != 0 {
		d.str("{size=").uint(u32(b, 0))
		d.more(d.layout("sched_rest"), b)
	} else {
		d.declared(d.layout(a.kind), b)
	}
	d.str("}")
}

// pointedSet appends the struct in which pselect6 has a set of signals and its size.
func (d *decoder) pointedSet(b []byte) {
	d.str("{sigmask=")
	d.structAt(u64(b, 0), 8, true, func(d *decoder, set []byte) { d.sigset(u64(set, 0)) })
	d.str(", sigsetsize=").uint(u64(b, 8))
	d.str("}")
}

// sigevent appends how a timer or a queue of messages tells that something happened.
func (d *decoder) sigevent(b []byte) {
	const bySignal, byThread = 0, 4
	d.str("{")
	if u64(b, 0) != 0 {
		d.str("sigev_value={sival_int=").int(signed(u32(b, 0)))
		d.str(", sival_ptr=").ptr(u64(b, 0))
		d.str("}, ")
	}
	notify := u32(b, 12)
	if d.str("sigev_signo="); notify == bySignal || notify == byThread {
		d.signal(int(int32(u32(b, 8))))
	} else {
		d.uint(u32(b, 8))
	}
	d.str(", sigev_notify=").enum("sigev", u32(b, 12))
	if notify == byThread && len(b) >= 20 {
		d.str(", sigev_notify_thread_id=").int(signed(u32(b, 16)))
	}
	d.str("}")
}

// uring appends the parameters of io_uring_setup, with what the kernel says of its rings.
func (d *decoder) uring(v uint64) {
	b, ok := d.c.mem.whole(v, 120, d.c.failed())
	if v == 0 || !ok {
		d.ptr(v)
		return
	}
	d.declared(d.layout("uring"), b)
	if d.c.failed() {
		d.str("}")
		return
	}
	d.str(", sq_entries=").uint(u32(b, 0))
	d.str(", cq_entries=").uint(u32(b, 4))
	d.str(", features=").flags("uring_feat", u32(b, 20))
	d.str(", sq_off=").complete("uring_sq", b[40:])
	d.str(", cq_off=").complete("uring_cq", b[80:])
	d.str("}")
}

// attribute appends the value of an extended attribute: one NUL at the end goes without saying.
// Values of the kernel's own attributes end in one: it would stand in every line.
func (d *decoder) attribute(addr uint64, n int64) {
	s, ok := d.c.mem.at(addr, int(max(min(n, 1<<20), 0)), false)
	if !ok || n <= 0 || addr == 0 || int64(len(s)) < min(n, int64(d.o.Limit)) {
		d.buffer(addr, n)
		return
	}
	shown := s[:min(len(s), d.o.Limit)]
	if short, ok := bytes.CutSuffix(shown, []byte{0}); ok {
		d.quote(short)
		return
	}
	d.text(s, uint64(n))
}

// residence appends which pages of so many bytes are in memory. Other bits of the bytes are
// reserved.
func (d *decoder) residence(addr, bytes uint64) {
	n := int(min((bytes+4095)/4096, 1<<20))
	b, ok := d.c.mem.at(addr, n, false)
	if !ok || addr == 0 {
		d.ptr(addr)
		return
	}
	d.array(b, n, 1, func(b []byte) { d.uint(uint64(b[0] & 1)) })
}

// message appends a message of a queue: its type, and n bytes. The type is a long in front of
// the text, which msgsz does not count.
func (d *decoder) message(addr, n uint64) {
	b, ok := d.c.mem.at(addr, 8+int(min(n, 1<<20)), false)
	if addr == 0 || !ok || len(b) < 8 {
		d.ptr(addr)
		return
	}
	d.str("{mtype=").int(int64(u64(b, 0)))
	d.str(", mtext=").text(b[8:], n)
	d.str("}")
}

// mount appends the last arguments of mount: a kind of file system and data mean nothing to
// some. Moving, binding and changing how a mount propagates need no file system.
func (d *decoder) mount() {
	const moves, remount = 0x1000 | 0x2000 | 0x20000 | 0x40000 | 0x80000 | 0x100000, 32
	kind, data := d.num(2), d.num(4)
	const magic, magicMask = 0xc0ed0000, 0xffff0000
	flags := d.num(3)
	old := flags&magicMask == magic // as programs set the upper bits that were written for Linux 2.2
	if old {
		flags &^= magicMask
	}
	d.str(", ")
	if flags&(moves|remount) != 0 {
		d.ptr(kind)
	} else {
		d.cstring(kind)
	}
	if d.str(", "); old {
		d.str("MS_MGC_VAL")
	}
	if old && flags != 0 {
		d.str("|")
	}
	if !old || flags != 0 {
		d.flags("mount", flags)
	}
	d.str(", ")
	if flags&moves != 0 {
		d.ptr(data)
	} else {
		d.cstring(data)
	}
}

// personality appends the kind of system that programs are shown, and flags.
func (d *decoder) personality(v uint64) {
	const kinds = 0xff
	if d.enum("personality", v&kinds); v&^kinds != 0 {
		d.str("|").flags("personality_flag", v&^kinds)
	}
}

// interrupted reports whether a call was cut short by a signal. Only then the kernel writes how
// much time was left.
func (d *decoder) interrupted() bool {
	return d.c.Result == -516 || d.c.Result == -4 || d.c.Result == -514
}

// two appends an array of two elements of a size.
func (d *decoder) two(b []byte, size int, f func([]byte)) {
	d.str("[")
	f(b)
	d.str(", ")
	f(b[size:])
	d.str("]")
}

// datedTimeval is a time that utimes sets.
func (d *decoder) datedTimeval(b []byte) {
	d.complete("tv", b[:16])
	d.date(int64(u64(b, 0)), u64(b, 8)*1000, 6)
}

// utime is a time that utimensat sets.
func (d *decoder) utime(b []byte) {
	switch u64(b, 8) {
	case 0x3fffffff:
		d.str("UTIME_NOW")
	case 0x3ffffffe:
		d.str("UTIME_OMIT")
	default:
		d.complete("ts", b[:16])
		d.date(int64(u64(b, 0)), u64(b, 8), 9)
	}
}

// fileTypes are the kinds of files in a mode.
var fileTypes = [16]string{1: "S_IFIFO", 2: "S_IFCHR", 4: "S_IFDIR", 6: "S_IFBLK", 8: "S_IFREG", 10: "S_IFLNK",
	12: "S_IFSOCK"}

// mode appends a mode with the kind of file. 0o7777 are the permissions with the three bits
// above.
func (d *decoder) mode(v uint64) {
	at, whole := d.constant(), v
	if kind := fileTypes[v>>12&15]; kind != "" {
		d.str(kind + "|")
		v &= 0o7777
	}
	for _, bit := range []constant{{name: "S_ISUID", value: 0o4000}, {name: "S_ISGID", value: 0o2000},
		{name: "S_ISVTX", value: 0o1000}} {
		if v&bit.value != 0 {
			d.str(bit.name + "|")
			v &^= bit.value
		}
	}
	d.octal(v)
	d.named(at, int64(whole), 8)
}

// device takes a dev_t of the C library apart, whose major and minor numbers are each in two
// pieces.
func (d *decoder) device(v uint64) {
	at := d.constant()
	d.str("makedev(").hex(v>>8&0xfff | v>>32&^0xfff)
	d.str(", ").hex(v&0xff | v>>12&0xffffff00)
	d.str(")").named(at, int64(v), 16)
}

// stat decodes struct stat, whose layout differs between architectures. Without -v strace shows
// what is asked for most: the mode, and the size or the device.
func (d *decoder) stat(b []byte) {
	mode, links, uid, rdev, size, blksize, blocks := u32(b, 24), u64(b, 16), 28, 40, 48, 56, 64
	if d.arch == "arm64" {
		mode, links, uid, rdev, size, blksize, blocks = u32(b, 16), u32(b, 20), 24, 32, 48, 56, 64
	}
	d.str("{")
	if !d.o.isShort(d.of) {
		d.str("st_dev=").device(u64(b, 0))
		d.str(", st_ino=").uint(u64(b, 8))
		d.str(", ")
	}
	d.str("st_mode=").mode(mode)
	if !d.o.isShort(d.of) {
		d.str(", st_nlink=").uint(links)
		d.str(", st_uid=").uint(u32(b, uid))
		d.str(", st_gid=").uint(u32(b, uid+4))
		d.str(", st_blksize=").uint(u32(b, blksize))
		d.str(", st_blocks=").uint(u64(b, blocks))
	}
	if kind := mode >> 12 & 15; kind == 2 || kind == 6 {
		d.str(", st_rdev=").device(u64(b, rdev))
	} else {
		d.str(", st_size=").uint(u64(b, size))
	}
	if d.o.isShort(d.of) {
		d.str(", ...}")
		return
	}
	for i, name := range []string{"atime", "mtime", "ctime"} {
		// The three times lie at one place on all processors.
		at := 72 + 16*i
		d.str(", st_" + name + "=").int(int64(u64(b, at)))
		d.b = appendDate(d.b, int64(u64(b, at)), u64(b, at+8), 9)
		d.str(", st_" + name + "_nsec=").uint(u64(b, at+8))
	}
	d.str("}")
}

// statx decodes struct statx, which is the same everywhere. The mask in front says which fields
// the file system has filled in.
func (d *decoder) statx(b []byte) {
	const born, mounted = 0x800, 0x1000
	if d.o.isShort(d.of) {
		d.declared(d.layout("statx_short"), b)
		d.str(", ...}")
		return
	}
	d.declared(d.layout("statx_long"), b)
	for i, name := range []string{"atime", "btime", "ctime", "mtime"} {
		at := 64 + 16*i
		if name == "btime" && u32(b, 0)&born == 0 {
			continue
		}
		d.str(", stx_" + name + "={tv_sec=").int(int64(u64(b, at)))
		d.str(", tv_nsec=").uint(u32(b, at+8))
		d.str("}")
		d.b = appendDate(d.b, int64(u64(b, at)), u32(b, at+8), 9)
	}
	d.more(d.layout("statx_devices"), b)
	if u32(b, 0)&mounted != 0 {
		d.str(", stx_mnt_id=").hex(u64(b, 144))
	}
	d.str("}")
}

// rusage decodes struct rusage.
func (d *decoder) rusage(b []byte) {
	if d.declared(d.layout("rusage_short"), b); d.o.isShort(d.of) {
		d.str(", ...}")
		return
	}
	d.more(d.layout("rusage_rest"), b)
	d.str("}")
}

// rlimit writes whole kibibytes as a product, as strace does.
func (d *decoder) rlimit(v uint64) {
	at := d.constant()
	switch {
	case v == ^uint64(0):
		d.str("RLIM64_INFINITY")
	case v > 1024 && v%1024 == 0:
		d.uint(v / 1024)
		d.str("*1024")
	default:
		d.uint(v)
	}
	d.named(at, int64(v), -10)
}

// utsname has fields of 65 bytes each, the NUL included.
func (d *decoder) utsname(b []byte) {
	for i, name := range []string{"{sysname", ", nodename", ", release", ", version", ", machine", ", domainname"} {
		if i == 2 && d.o.isShort(d.of) {
			d.str(", ...")
			break
		}
		d.str(name + "=")
		s, _, _ := bytes.Cut(b[65*i:65*i+65], []byte{0})
		d.quote(s)
	}
	d.str("}")
}

// openHow shows a mode that is not 0 in any case: the kernel refuses one that nothing is created
// with.
func (d *decoder) openHow(b []byte) {
	d.str("{flags=").openFlags(u64(b, 0))
	if u64(b, 0)&d.creates() != 0 || u64(b, 8) != 0 {
		d.str(", mode=").octal(u64(b, 8))
	}
	d.str(", resolve=").flags("resolve", u64(b, 16))
	d.str("}")
}
