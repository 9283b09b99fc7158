package strace

import "strconv"

// command appends the arguments from i on of calls that do different things by a number in front of
// them, as special does; false if the kind is not of those here. The numbers of commands are
// those of the kernel's headers; calls.txt cannot say that one argument chooses how the next is
// shown. It is apart from special for the size of the files alone.
func (d *decoder) command(i int, kind string) bool {
	next := func(kind, param string) {
		d.str(", ")
		d.arg(i, arg{kind: kind, param: param})
		i++
	}
	switch kind {
	case "ipcbuf":
		d.str(", ")
		d.ipc(i, d.of.args[i-1].param[:3])
	// Buffers are an array of struct iovec, files and event descriptors one of ints. What else
	// is registered is shown as an address.
	case "uring_register":
		switch count := int(uint32(d.num(3))); d.num(1) {
		case 0:
			d.str(", ").elements("iovarray", d.num(2), count)
		case 2, 4, 7:
			d.str(", ").elements("intarray", d.num(2), count)
		default:
			d.str(", ").ptr(d.num(2))
		}
		i = 3
		next("u", "")
	case "membarrier":
		if next("f", "membarrier_flag"); d.num(1) != 0 {
			next("u", "")
		}
		// The query answers by bits in its result.
		if d.num(0) == 0 && !d.c.failed() {
			d.ownResult("f", "membarrier")
		}
	// The command has two numbers in it, that of the operation and, in eight bits, whose quota
	// it is.
	case "quotactl":
		cmd := d.num(0)
		d.str("QCMD(").enum("quotacmd", uint64(uint32(cmd))>>8)
		d.str(", ").enum("quotatype", cmd&0xff)
		d.str(")")
		i = 1
		next("path", "")
		switch cmd = uint64(uint32(cmd)) >> 8; cmd {
		case 0x800001: // Q_SYNC
		case 0x800002: // Q_QUOTAON
			next("e", "quotafmt")
			next("path", "")
		case 0x800003, 0x800004, 0x800005, 0x800006: // no user
			i = 3
			next("p", "")
		default:
			next("u", "")
			next("p", "")
		}
	case "fsconfig":
		if d.num(1) == 2 { // FSCONFIG_SET_BINARY
			d.str(", ").hexed(d.num(i), int64(int32(d.num(4))))
			i++
		} else {
			kinds := [...]string{"p", "str", "p", "path", "path", "p"}
			next(kinds[min(d.num(1), 5)], "")
		}
		// The two that set a path have the descriptor of a directory here.
		if cmd := d.num(1); cmd == 3 || cmd == 4 {
			next("at", "")
		} else {
			next("d", "")
		}
	// Only the command that restarts with one reads a text.
	case "reboot":
		if uint32(d.num(2)) == 0xa1b2c3d4 {
			next("str", "")
		}
	case "seccomp":
		switch uint32(d.num(0)) {
		case 1:
			next("f", "seccomp_filter")
			next("fprog", "")
		case 2:
			next("x", "")
			d.str(", ").indirect(arg{kind: "e", param: "seccomp_ret"}, d.num(2))
		case 3:
			next("x", "")
			d.str(", ")
			d.arg(i, arg{kind: "notif", out: true})
		default:
			next("x", "")
			next("p", "")
		}
	case "syslog":
		switch op := uint32(d.num(0)); {
		// Reading the log fills a buffer; other actions have none.
		case op >= 2 && op <= 4:
			d.returns()
			d.str(", ")
			d.arg(i, arg{kind: "rb", out: true})
			i++
			next("d", "")
		case op == 8:
			next("p", "")
			next("d", "")
		}
	case "bpf":
		d.bpf()
	default:
		return false
	}
	return true
}

// ipc appends the buffer of msgctl, shmctl or semctl, whose struct the command chooses. The
// three kinds share the commands up to 3, and have numbers of their own from 11 on. Programs of
// 32 bits have other structs.
func (d *decoder) ipc(i int, what string) {
	const ipc64, set, stat, info, statOne, infoOne, statAny = 0x100, 1, 2, 3, 11, 12, 13
	name := ""
	switch cmd := uint32(d.num(i-1)) &^ ipc64; {
	case cmd == set:
		name = what + "_set"
	case cmd == stat || what == "msg" && (cmd == statOne || cmd == statAny) ||
		what == "shm" && (cmd == 13 || cmd == 15) || what == "sem" && (cmd == 18 || cmd == 20):
		name = what + "_stat"
		// amd64 has room between the times in struct semid64_ds that other processors have not.
		if what == "sem" && d.arch == "arm64" {
			name += "_arm64"
		}
	case (cmd == info || what == "msg" && cmd == infoOne) && what != "sem":
		name = what + "_info"
	}
	if name == "" || d.c.Nr >= compat {
		d.ptr(d.num(i))
		return
	}
	d.returns()
	d.arg(i, arg{kind: name, out: name != what+"_set"})
}

// handle appends what names a file for open_by_handle_at. name_to_handle_at says in the same
// struct how many bytes it would have taken, also when it fails with EOVERFLOW. The handle is
// the file system's own, and shown as bytes.
func (d *decoder) handle(addr uint64) {
	makes := d.of.name == "name_to_handle_at"
	// The struct is shown as it was given, and its length as the call left it, too.
	before, ok := d.c.mem.at(addr, 8, true)
	now, _ := d.c.mem.at(addr, 136, !makes)
	if addr == 0 || !ok || len(before) < 8 || len(now) < 8 {
		d.ptr(addr)
		return
	}
	d.str("{handle_bytes=").uint(u32(before, 0))
	if makes {
		d.returns()
		if u32(before, 0) != u32(now, 0) {
			d.str(" => ").uint(u32(now, 0))
		}
	}
	if !makes || !d.c.failed() {
		d.str(", handle_type=").int(signed(u32(now, 4)))
		d.str(", f_handle=")
		d.b = appendQuoted(d.b, now[8:min(8+int(u32(now, 0)), len(now))], hexAll)
	}
	d.str("}")
}

// nodes appends a set of memory nodes in longs of 64, of which the script copies 16. The kernel takes
// one bit less than it is given. It is a quirk of get_nodes() that programs work around by
// giving one more.
func (d *decoder) nodes(addr, n uint64) {
	longs := int(min((n+62)/64, 17))
	b, ok := d.c.mem.whole(addr, 8*longs, true)
	if addr == 0 || !ok || longs == 0 {
		d.ptr(addr)
		return
	}
	d.array(b, longs, 8, func(b []byte) {
		text := strconv.FormatUint(u64(b, 0), 16)
		if u64(b, 0) != 0 {
			d.str("0x")
		}
		d.str("0000000000000000"[len(text):] + text)
	})
}

// bpf appends the attributes of the commands that programs begin with. What is behind the struct
// that is known here is compared with 0, as the kernel does: newer programs pass longer ones.
func (d *decoder) bpf() {
	cmd, addr, size := d.num(0), d.num(1), int(uint32(d.num(2)))
	d.str(", ")
	// structs.txt has the attributes of a command as bpf and its number.
	l := d.layout("bpf" + strconv.FormatUint(cmd, 10))
	b, ok := d.c.mem.at(addr, min(size, 144), true)
	if l == nil || !ok || addr == 0 || len(b) == 0 {
		d.ptr(addr)
	} else {
		d.declared(l, b)
		for _, c := range b[min(l.size, len(b)):] {
			if c != 0 {
				d.str(", ...")
				break
			}
		}
		d.str("}")
	}
	d.str(", ").uint(uint64(uint32(size)))
}

// perf appends what perf_event_open is asked for, up to the bits that say how. The bits stand in
// the order in which strace shows them, with precise_ip in between, which has two.
func (d *decoder) perf(addr uint64) {
	b, ok := d.c.mem.at(addr, 64, true)
	if addr == 0 || !ok || len(b) < 48 || !d.o.isShort(d.of) {
		d.ptr(addr)
		return
	}
	kind, bits := u32(b, 0), u64(b, 40)
	d.str("{type=").enum("perf_type", kind)
	d.str(", size=").enum("perf_size", u32(b, 4))
	d.str(", config=")
	switch kind {
	case 0:
		d.enum("perf_hw", u64(b, 8))
	case 1:
		d.enum("perf_sw", u64(b, 8))
	case 2:
		d.uint(u64(b, 8))
	default:
		d.hex(u64(b, 8))
	}
	// One field is a frequency or a period, by this bit.
	const freq = 1 << 10
	if bits&freq != 0 {
		d.str(", sample_freq=").uint(u64(b, 16))
	} else {
		d.str(", sample_period=").uint(u64(b, 16))
	}
	d.str(", sample_type=").flags("perf_sample", u64(b, 24))
	d.str(", read_format=").flags("perf_read", u64(b, 32))
	d.bits("perf_bits", bits)
	precise := bits >> 15 & 3
	d.str(", precise_ip=").uint(precise)
	// The two bits are a number, and the comment on it is strace's.
	skids := [...]string{"arbitrary skid", "constant skid", "requested to have 0 skid", "must have 0 skid"}
	d.str(" /* " + skids[precise] + " */")
	d.bits("perf_bits2", bits)
	d.str(", ...}")
}

// bits appends the fields of one bit that are set, whose numbers a set has. Unlike flags these
// are fields, and so are named each by itself.
func (d *decoder) bits(set string, v uint64) {
	for _, c := range d.set(set) {
		if v>>c.value&1 != 0 {
			d.str(", " + c.name + "=1")
		}
	}
}

// interfaceOf appends the struct of the ioctls that ask about a network interface. The same
// struct has a union behind the name: the command says which of its fields means something.
func (d *decoder) interfaceOf(cmd uint64, b []byte, sets bool) {
	d.str("{ifr_name=").field(field{kind: 's', size: 16}, b)
	if !sets {
		d.returns()
		if d.c.failed() {
			d.str("}")
			return
		}
	}
	d.str(", ifr_").enum("ifr", cmd)
	d.str("=")
	// Flags, addresses, the address of the hardware, its mapping; all others are a number.
	switch b = b[16:]; cmd {
	case 0x8913, 0x8914:
		d.flags("ifflags", u16(b, 0))
	case 0x8915, 0x8917, 0x8919, 0x891b:
		d.address(b[:16])
	case 0x8927:
		d.str("{sa_family=").enum("arphrd", u16(b, 0))
		d.str(", sa_data=").mac(b[2:8])
		d.str("}")
	case 0x8970:
		d.complete("ifmap", b)
	default:
		d.int(signed(u32(b, 0)))
	}
	d.str("}")
}

// interfacesOf appends what SIOCGIFCONF is given and answers: addresses of interfaces, of which as many
// are shown as bytes of strings.
func (d *decoder) interfacesOf(v uint64) {
	const size = 40 // of struct ifreq
	b, ok := d.c.mem.whole(v, 16, true)
	if v == 0 || !ok {
		d.ptr(v)
		return
	}
	length := func(n uint64) {
		if d.int(signed(n)); n > 0 && n%size == 0 {
			d.str(" /* ").uint(n / size)
			d.str(" * sizeof(struct ifreq) */")
		}
	}
	d.str("{ifc_len=")
	given, at := u32(b, 0), u64(b, 8)
	now, ok := d.c.mem.whole(v, 16, false)
	if d.returns(); d.c.failed() || !ok {
		length(given)
		d.str(", ifc_buf=").ptr(at)
		d.str("}")
		return
	}
	n := u32(now, 0)
	// Without a buffer the kernel says how large one would have to be.
	if at != 0 && given != n {
		length(given)
		d.str(" => ")
	}
	length(n)
	d.str(", ifc_buf=")
	all, ok := d.c.mem.at(at, int(min(n, 4096)), false)
	if at == 0 || !ok && n > 0 {
		d.ptr(at)
	} else {
		d.array(all, int(n)/size, size, func(b []byte) {
			d.str("{ifr_name=").field(field{kind: 's', size: 16}, b)
			d.str(", ifr_addr=").address(b[16:32])
			d.str("}")
		})
	}
	d.str("}")
}

// messages appends the array of sendmmsg, or of recvmmsg. sendmmsg may send fewer than it was
// given, and has lengths for those alone.
func (d *decoder) messages(addr uint64, out bool) {
	const size, length = 64, 56
	n := int(uint32(d.num(2)))
	// A call that failed has sent or received none.
	sent := max(int(d.c.Result), 0)
	if out {
		n = sent
		d.timeout()
		d.left(4)
	}
	// The kernel takes no more than 1024 of them, UIO_MAXIOV.
	array, ok := d.c.mem.at(addr, min(n, 1024)*size, false)
	if n == 0 && addr != 0 {
		d.str("[]")
		return
	}
	if addr == 0 || !ok || len(array) < size {
		d.ptr(addr)
		return
	}
	// recvmmsg overwrites how much room there was for names, which strace shows beside what
	// came.
	given, _ := d.c.mem.at(addr, len(array), true)
	d.list(n, func(i int) bool {
		if (i+1)*size > len(array) {
			return false
		}
		received := int64(-1)
		if out {
			received = int64(u32(array[size*i:], length))
		}
		d.str("{msg_hdr=")
		d.msghdr(addr+uint64(size*i), received, given[min(size*i, len(given)):])
		if i < sent && !d.c.failed() {
			d.str(", msg_len=").uint(u32(array[size*i:], length))
		}
		d.str("}")
		return true
	})
}

// requests appends what io_submit is given: n addresses of a struct iocb. The bound of 1024
// keeps a made-up number from taking memory.
func (d *decoder) requests(addr uint64, n int) {
	array, ok := d.c.mem.at(addr, min(max(n, 0), 1024)*8, false)
	if n == 0 && addr != 0 {
		d.str("[]")
		return
	}
	if addr == 0 || n < 0 || !ok {
		d.ptr(addr)
		return
	}
	d.array(array, n, 8, func(b []byte) { d.request(u64(b, 0), true) })
}

// request appends a struct iocb, to its end or up to the file that it is about. io_cancel names
// a request by the same struct, of which strace shows less.
func (d *decoder) request(addr uint64, whole bool) {
	const key, op, prio, file, buffer, size, offset, flags, event = 8, 16, 18, 20, 24, 32, 40, 56, 60
	const read, write, poll, readv, writev = 0, 1, 5, 7, 8
	const hasEvent, hasPriority = 1, 2
	b, ok := d.c.mem.whole(addr, 64, false)
	if addr == 0 || !ok {
		d.ptr(addr)
		return
	}
	d.str("{aio_data=").hex(u64(b, 0))
	// strace leaves the key out where a program has not set it.
	if u32(b, key) != 0 {
		d.str(", aio_key=").uint(u32(b, key))
	}
	code := u16(b, op)
	if d.str(", aio_lio_opcode="); d.isNamed("iocb", code) {
		d.enum("iocb", code)
	} else {
		d.uint(code)
		d.unknown("iocb")
	}
	if v := u16(b, prio); u32(b, flags)&hasPriority != 0 {
		d.str(", aio_reqprio=").number(arg{kind: "ioprio"}, v)
	} else if v != 0 {
		d.str(", aio_reqprio=").int(int64(int16(v)))
	}
	d.str(", aio_fildes=").fd(u32(b, file), 0)
	at := u64(b, buffer)
	switch {
	case !whole:
	case code == poll:
		d.str(", aio_buf=").flags("poll", at)
	case code == read || code == write || code == readv || code == writev:
		d.str(", aio_buf=")
		switch n := u64(b, size); code {
		case read:
			// The buffer of a read is yet to be filled.
			d.ptr(at)
		case write:
			d.buffer(at, int64(n))
		case readv:
			d.iovec(at, int(min(n, 1<<20)), noData)
		default:
			d.iovec(at, int(min(n, 1<<20)), -1)
		}
		if code < readv {
			d.str(", aio_nbytes=").uint(u64(b, size))
		}
		d.str(", aio_offset=").int(int64(u64(b, offset)))
		if u32(b, flags)&hasEvent != 0 {
			d.str(", aio_flags=").flags("iocb_flag", u32(b, flags))
			d.str(", aio_resfd=").fd(u32(b, event), 0)
		}
	}
	d.str("}")
}
