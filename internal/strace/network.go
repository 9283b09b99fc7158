package strace

import (
	"bytes"
	"math"
	"net/netip"
	"strconv"
)

// network appends what an argument points to that is of sockets; false if it is not.
func (d *decoder) network(i int, a arg, v uint64) bool {
	switch a.kind {
	case "sockaddr":
		d.sockaddr(v, int(int32(d.num(int(a.param[0]-'0')))), true)
	// accept() and alike write no more than there was room for, but say how long the whole is.
	case "sockaddrp":
		at := d.num(int(a.param[0] - '0'))
		b, ok := d.c.mem.whole(at, 4, false)
		if d.c.failed() || at == 0 || !ok {
			d.ptr(v)
			return true
		}
		n := int(int32(u32(b, 0)))
		if before, ok := d.c.mem.whole(at, 4, true); ok {
			// The kernel has cut the address to the room that there was.
			n = min(n, int(int32(u32(before, 0))))
		}
		d.sockaddr(v, n, false)
	case "lenp":
		before, ok := d.c.mem.whole(v, 4, true)
		// Without an address the kernel does not look at its length.
		noAddress := i > 0 && len(d.of.args) > i && d.of.args[i-1].kind == "sockaddrp" && d.num(i-1) == 0
		if !ok || v == 0 || noAddress {
			d.ptr(v)
			return true
		}
		d.str("[").int(signed(u32(before, 0)))
		if now, ok := d.c.mem.whole(v, 4, false); ok && !d.c.failed() && !bytes.Equal(now, before) {
			d.str(" => ").int(signed(u32(now, 0)))
		}
		d.str("]")
	case "iov":
		d.iovec(v, int(d.num(i+1)), -1)
	case "iova":
		d.iovec(v, int(d.num(i+1)), noData)
	case "iovr":
		d.iovec(v, int(d.num(i+1)), d.c.Result)
	case "iocbs":
		d.requests(v, int(int64(d.num(1))))
	case "iocb":
		d.request(v, false)
	case "msgs":
		d.messages(v, a.out)
	case "msghdr":
		if a.out {
			before, _ := d.c.mem.whole(v, 56, true)
			d.msghdr(v, d.c.Result, before)
		} else {
			d.msghdr(v, -1, nil)
		}
	default:
		return false
	}
	return true
}

func (d *decoder) family(v uint64) { d.enum("sock_domain", v) }

// sockaddr appends the address of a socket. Fewer than two bytes have no family.
func (d *decoder) sockaddr(addr uint64, n int, early bool) {
	b, ok := d.c.mem.at(addr, n, early)
	if addr == 0 || !ok || len(b) < 2 {
		d.ptr(addr)
		return
	}
	d.address(b)
}

// mac appends an address of hardware.
func (d *decoder) mac(b []byte) {
	for i, c := range b {
		if i > 0 {
			d.str(":")
		}
		d.b = append(d.b, hexDigits[c>>4], hexDigits[c&15])
	}
}

// address appends what the bytes of a struct sockaddr say, two at least. Each family has a
// struct of its own behind the same two bytes. The numbers are AF_INET 2, AF_INET6 10, AF_UNIX
// 1, AF_NETLINK 16, AF_PACKET 17 and AF_VSOCK 40.
func (d *decoder) address(b []byte) {
	family := u16(b, 0)
	d.str("{sa_family=")
	d.family(family)
	switch {
	case family == 2 && len(b) >= 16:
		d.str(", sin_port=htons(")
		d.port(b)
		d.str("), sin_addr=inet_addr(\"" + netip.AddrFrom4([4]byte(b[4:8])).String() + "\")")
	case family == 10 && len(b) >= 24:
		d.str(", sin6_port=htons(")
		d.port(b)
		d.str("), sin6_flowinfo=htonl(").uint(uint64(b[4])<<24 | uint64(b[5])<<16 | uint64(b[6])<<8 | uint64(b[7]))
		d.str("), inet_pton(AF_INET6, \"" + address6([16]byte(b[8:24])) + "\", &sin6_addr)")
		if len(b) >= 28 {
			if d.str(", sin6_scope_id="); b[8] == 0xfe && b[9]>>6 == 2 || b[8] == 0xff && b[9]&15 == 2 { // of a link
				d.interfaceName(u32(b, 24))
			} else {
				d.uint(u32(b, 24))
			}
		}
	case family == 1 && len(b) > 2:
		d.str(", sun_path=")
		// struct sockaddr_un has room for so many; one that fills it has no NUL.
		const longest = 108
		path := b[2:min(len(b), 2+longest)]
		// A name that begins with NUL is in the abstract namespace, and has no other end than
		// its length.
		if path[0] == 0 {
			d.str("@").quote(path[1:])
		} else {
			path, _, _ = bytes.Cut(path, []byte{0})
			d.quote(path)
		}
	case family == 16 && len(b) >= 12:
		if u16(b, 2) != 0 {
			d.str(", nl_pad=").hex(u16(b, 2))
		}
		d.str(", nl_pid=").int(signed(u32(b, 4)))
		d.str(", nl_groups=")
		d.b = append(d.b, hex8(u32(b, 8))...)
	case family == 17 && len(b) >= 20:
		d.str(", sll_protocol=").protocol(uint64(b[2])<<8 | uint64(b[3]))
		d.str(", sll_ifindex=").interfaceName(u32(b, 4))
		d.str(", sll_hatype=").enum("arphrd", u16(b, 8))
		d.str(", sll_pkttype=").enum("packet_type", uint64(b[10]))
		d.str(", sll_halen=").uint(uint64(b[11]))
		if n := min(int(b[11]), len(b)-12); n > 0 {
			d.str(", sll_addr=[")
			for i, c := range b[12 : 12+n] {
				if i > 0 {
					d.str(", ")
				}
				if c == 0 {
					d.str("0")
				}
				d.hex(uint64(c))
			}
			d.str("]")
		}
	case family == 40 && len(b) >= 16:
		if u16(b, 2) != 0 {
			d.str(", svm_reserved1=").hex(u16(b, 2))
		}
		d.str(", svm_cid=")
		if cid := u32(b, 8); d.isNamed("vsock_cid", cid) {
			d.enum("vsock_cid", cid)
		} else {
			d.hex(cid)
		}
		if d.str(", svm_port="); u32(b, 4) == 1<<32-1 {
			d.str("VMADDR_PORT_ANY")
		} else {
			d.hex(u32(b, 4))
		}
		d.str(", svm_flags=").flags("vsock_flag", uint64(b[12]))
	case len(b) > 2:
		d.str(", sa_data=").quote(b[2:])
	}
	d.str("}")
}

// protocol appends the protocol of a packet.
func (d *decoder) protocol(v uint64) {
	d.str("htons(").enum("eth_p", v)
	d.str(")")
}

// hex8 is a mask in eight digits, as strace shows groups: zeros, or %#08x, whose 0x counts.
func hex8(v uint64) string {
	s := strconv.FormatUint(v, 16)
	if v == 0 {
		return "00000000"
	}
	return "0x" + "000000"[min(len(s), 6):] + s
}

// port is the one behind the family, in the order of the network.
func (d *decoder) port(b []byte) { d.uint(uint64(b[2])<<8 | uint64(b[3])) }

// address6 is an IPv6 address as inet_ntop writes it. Package netip writes mapped addresses
// likewise, but the old compatible ones, ::1.2.3.4, as numbers.
func address6(b [16]byte) string {
	a := netip.AddrFrom16(b)
	if a.Is4In6() {
		return "::ffff:" + a.Unmap().String()
	}
	if head, tail := [12]byte(b[:12]), [4]byte(b[12:]); head == [12]byte{} && (b[12] != 0 || b[13] != 0) {
		return "::" + netip.AddrFrom4(tail).String()
	}
	return a.String()
}

// noData has iovec show addresses.
const noData = -2

// iovec appends buffers; limit is how many bytes of all were read, -1 if they are written. The
// kernel fills buffers one after the other, so that each has what the ones before left over.
func (d *decoder) iovec(addr uint64, n int, limit int64) {
	array, ok := d.c.mem.at(addr, min(n, 1<<20)*16, false)
	if addr == 0 || !ok {
		if n == 0 && addr != 0 {
			d.str("[]")
			return
		}
		d.ptr(addr)
		return
	}
	out := limit >= 0
	d.array(array, n, 16, func(b []byte) {
		base, size := u64(b, 0), u64(b, 8)
		have := int64(min(size, math.MaxInt32)) // of -1, too, strace shows the beginning
		if out {
			have = min(have, limit)
			limit -= have
		}
		if d.str("{iov_base="); limit == noData {
			d.ptr(base)
		} else {
			d.buffer(base, have)
		}
		d.str(", iov_len=").uint(size)
		d.str("}")
	})
}

// msghdr appends a message; n is how many bytes were received, -1 if it is sent. before is the struct
// as the call was given it, if that is known. The offsets are those of struct user_msghdr with
// 64-bit pointers.
func (d *decoder) msghdr(addr uint64, n int64, before []byte) {
	b, ok := d.c.mem.whole(addr, 56, false)
	if addr == 0 || !ok {
		d.ptr(addr)
		return
	}
	size := int(int32(u32(b, 8)))
	d.str("{msg_name=")
	if name := u64(b, 0); name == 0 {
		d.str("NULL")
	} else {
		d.sockaddr(name, size, false)
	}
	d.str(", msg_namelen=")
	if len(before) >= 56 && n >= 0 && u32(before, 8) != u32(b, 8) {
		d.int(signed(u32(before, 8)))
		d.str(" => ")
	}
	d.int(int64(size))
	d.str(", msg_iov=")
	d.iovec(u64(b, 16), int(min(u64(b, 24), 1<<20)), n)
	d.str(", msg_iovlen=").uint(u64(b, 24))
	if control, size := u64(b, 32), u64(b, 40); control != 0 && size != 0 {
		d.str(", msg_control=")
		d.control(control, int(min(size, 1<<20)))
	}
	d.str(", msg_controllen=").uint(u64(b, 40))
	d.str(", msg_flags=").flags("msg", u32(b, 48))
	d.str("}")
}

// received appends what is known of a message when nothing was received. The room for a name is
// all that a failed call has left as it was.
func (d *decoder) received(addr uint64) {
	b, ok := d.c.mem.whole(addr, 56, true)
	if addr == 0 || !ok {
		d.ptr(addr)
		return
	}
	d.str("{msg_namelen=").int(signed(u32(b, 8)))
	d.str("}")
}

// control appends control messages. Messages are aligned to 8 bytes; lengths are the program's,
// and are checked against what was copied.
func (d *decoder) control(addr uint64, n int) {
	b, ok := d.c.mem.at(addr, n, false)
	if !ok || n < 16 {
		d.ptr(addr)
		return
	}
	d.str("[")
	for first := true; len(b) >= 16; first = false {
		// The length counts the header; one that is shorter would have the loop stand still.
		size := int(u64(b, 0))
		if size < 16 || size > len(b) {
			break
		}
		if !first {
			d.str(", ")
		}
		level, kind := u32(b, 8), u32(b, 12)
		d.str("{cmsg_len="+strconv.Itoa(size)+", cmsg_level=").enum("sol", level)
		d.str(", cmsg_type=")
		data := b[16:size]
		switch {
		case level == 1 && kind == 1:
			// The numbers are those of the sender or of the receiver, by who of them is traced.
			d.str("SCM_RIGHTS, cmsg_data=")
			d.array(data, len(data)/4, 4, func(b []byte) { d.int(signed(u32(b, 0))) })
		case level == 1 && kind == 2 && len(data) >= 12:
			d.str("SCM_CREDENTIALS, cmsg_data=")
			d.ucred(data)
		case level == 1 && (kind == 29 || kind == 35) && len(data) >= 16: // SO_TIMESTAMP, SO_TIMESTAMPNS
			d.enum("so", kind)
			if d.str(", cmsg_data="); kind == 29 {
				d.complete("tv", data[:16])
			} else {
				d.complete("ts", data[:16])
			}
		case level == 0 && d.isNamed("ip_cmsg", kind):
			d.enum("ip_cmsg", kind)
			switch d.str(", cmsg_data="); {
			case kind == 8 && len(data) >= 12: // IP_PKTINFO
				d.str("{ipi_ifindex=").interfaceName(u32(data, 0))
				d.more(d.layout("pktinfo"), data[4:])
				d.str("}")
			case kind == 20 && len(data) >= 2: // IP_ORIGDSTADDR
				d.address(data)
			case kind == 1 && len(data) > 0: // IP_TOS
				d.str("[").hex(uint64(data[0]))
				d.str("]")
			case len(data) >= 4 && kind != 7 && kind != 11: // but for options and errors
				d.str("[").uint(u32(data, 0))
				d.str("]")
			default:
				d.quote(data)
			}
		default:
			if level == 1 {
				d.enum("scm", kind)
			} else {
				d.hex(kind)
			}
			if len(data) > 0 {
				d.str(", cmsg_data=").quote(data)
			}
		}
		d.str("}")
		b = b[min((size+7)&^7, len(b)):]
	}
	d.str("]")
}

// socket appends what kind of socket is made. The upper bits of the type are flags. The set of
// protocols belongs to the family.
func (d *decoder) socket() {
	domain, kind, protocol := uint64(uint32(d.num(0))), uint64(uint32(d.num(1))), uint64(uint32(d.num(2)))
	d.family(domain)
	d.str(", ")
	at := d.constant()
	if rest := kind &^ 15; d.isNamed("sock_kind", kind&15) {
		if d.enum("sock_kind", kind&15); rest != 0 {
			d.str("|").flags("sock_type", rest)
		}
	} else {
		d.flags("sock_type", kind)
	}
	d.named(at, int64(kind), 16)
	d.str(", ")
	if d.of.name == "socketpair" {
		d.uint(protocol)
		return
	}
	switch domain {
	case 2, 10:
		d.enum("ipproto", protocol)
	case 16:
		d.enum("netlink", protocol)
	case 17:
		// Packet sockets name the protocol in the order of the network.
		d.protocol(protocol>>8&0xff | protocol&0xff<<8)
	case 29, 31:
		d.enum(map[uint64]string{29: "can", 31: "btproto"}[domain], protocol)
	default:
		d.uint(protocol)
	}
}

// optionSets are the options of sockets by level.
var optionSets = map[uint64]string{0: "ip", 1: "so", 6: "tcp", 17: "udp", 41: "ipv6", 263: "packet", 270: "netlink_opt"}

// sockopt decodes setsockopt, or getsockopt, whose value is there only when it returns. Options
// are decoded whose structs are common; numbers of levels and options are those of the kernel.
func (d *decoder) sockopt(get bool) {
	level, name, value, size := uint64(uint32(d.num(1))), uint64(uint32(d.num(2))), d.num(3), int(int32(d.num(4)))
	d.fd(d.num(0), 0)
	d.str(", ").enum("sol", level)
	d.str(", ")
	if s := optionSets[level]; s != "" {
		d.enum(s, name)
	} else {
		d.uint(name)
	}
	d.str(", ")
	if get {
		d.returns()
		// The length that the kernel has written is that of the value.
		b, ok := d.c.mem.whole(d.num(4), 4, false)
		if !ok || d.c.failed() {
			d.ptr(value)
			d.str(", ")
			d.arg(4, arg{kind: "lenp"})
			return
		}
		size = int(int32(u32(b, 0)))
	}
	b, ok := d.c.mem.at(value, size, !get)
	switch {
	// Options of SOL_SOCKET are ints but for a few. The kernel refuses what is shorter, and
	// strace shows its address.
	case value == 0 || !ok || len(b) < size || size < 0 || !get && (level == 1 && name == 13 && size < 8 ||
		size < 4 && size > 0 && level == 1 && name != 25 && name < 48):
		if size == 0 && value != 0 && ok {
			d.str(`""`)
		} else {
			d.ptr(value)
		}
	case level == 1 && name == 13 && size == 8:
		d.complete("linger", b)
	case level == 1 && name == 17 && size == 12:
		d.ucred(b)
	case level == 0 && (name == 35 || name == 36) && size >= 8: // IP_ADD_MEMBERSHIP
		d.complete("ip_mreq", b)
	case level == 41 && (name == 20 || name == 21) && size == 20: // IPV6_ADD_MEMBERSHIP
		d.str("{inet_pton(AF_INET6, \"" + address6([16]byte(b[:16])) + "\", &ipv6mr_multiaddr), ipv6mr_interface=")
		d.interfaceName(u32(b, 16))
		d.str("}")
	case level == 263 && name <= 2 && size == 16: // PACKET_ADD_MEMBERSHIP
		d.str("{mr_ifindex=").interfaceName(u32(b, 0))
		d.str(", mr_type=").enum("packet_mr", u16(b, 4))
		d.str(", mr_alen=").uint(u16(b, 6))
		d.str(", mr_address=").mac(b[8 : 8+min(u16(b, 6), 8)])
		d.str("}")
	case get && level == 263 && name == 6 && size == 8: // PACKET_STATISTICS
		d.str("{tp_packets=").uint(u32(b, 0))
		d.str(", tp_drops=").uint(u32(b, 4))
		d.str("}")
	case level == 1 && (name == 26 || name == 51) && size == 16: // SO_ATTACH_FILTER
		d.complete("fprog", b)
	case get && level == 1 && name == 4 && size == 4 && u32(b, 0) != 0: // SO_ERROR
		d.str("[" + errorName(int(u32(b, 0))) + "]")
	case size == 4:
		d.str("[").int(signed(u32(b, 0)))
		d.str("]")
	default:
		d.text(b, uint64(size))
	}
	d.str(", ")
	if get {
		d.arg(4, arg{kind: "lenp"})
	} else {
		d.int(int64(size))
	}
}

// ucred is the struct by which sockets name a peer, of 12 bytes.
func (d *decoder) ucred(b []byte) {
	d.complete("ucred", b)
}
