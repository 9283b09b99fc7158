//go:build !min

package strace

import (
	"embed"
	"os"
	"strconv"
	"strings"
	"sync"

	"github.com/hawktrace/hawk/internal/pack"
)

// NetlinkDecoded is set if messages of netlink are decoded, for which the small build has no room.
const NetlinkDecoded = true

// netlink.txt has sets of constants and structs as flags.txt and structs.txt have them: nlN are the
// types of messages of a protocol, rtN the structs and atN the attributes of groups of types of
// NETLINK_ROUTE, askN, sayN and daN what NETLINK_SOCK_DIAG has for families of sockets. Behind the name
// of an attribute stands what its value is: u and d, a number; s, a text; b, bytes; n, an interface; m,
// an address of hardware; a, one of the family; e, f, S and N with a name, of a set, a struct and
// attributes of a table; M, memory of a socket.
var netlinkText = sync.OnceValue(func() string {
	return pack.Text(netlinkPacked, "packed/netlink.txt"+pack.Suffix)
})

//go:embed packed/netlink.txt.z
var netlinkPacked embed.FS

// conversation appends the messages that a call sent to netlink or received from it; false if the
// bytes at an address are not those, or were not copied.
func (d *decoder) conversation(addr uint64, n int64) bool {
	const header, most = 16, 1 << 15
	b, ok := d.c.mem.at(addr, int(min(n, most)), false)
	if !ok || len(b) < header {
		return false
	}
	d.message0(b, d.c.netlink-1)
	return true
}

// message0 appends all messages of a protocol, in brackets if there are several. Messages are
// aligned to four bytes. The lengths are the program's: one that is too small would have the
// loop stand still, and one that is too large ends the messages.
func (d *decoder) message0(b []byte, protocol int64) {
	var messages [][]byte
	for len(b) >= 16 && len(messages) <= d.o.Limit {
		size := max(int(min(u32(b, 0), 1<<30)), 16)
		messages = append(messages, b[:min(size, len(b))])
		b = b[min((size+3)&^3, len(b)):]
		if size == 16 && u32(messages[len(messages)-1], 0) < 16 {
			break // a length of none: what is behind it is not known
		}
	}
	d.several(len(messages), func(i int) { d.message1(messages[i], protocol) })
}

// several appends things in brackets, or the only one without.
func (d *decoder) several(n int, show func(i int)) {
	if n == 1 {
		show(0)
		return
	}
	d.list(n, func(i int) bool {
		show(i)
		return true
	})
}

// message1 appends a message: its header, and what is in it. An error has the message in it that
// it answers, whole or its header alone, by a flag.
func (d *decoder) message1(b []byte, protocol int64) {
	kind, flags := u16(b, 4), u16(b, 6)
	payload := b[16:]
	if len(payload) > 0 {
		d.str("[")
	}
	d.messageHeader(b, protocol)
	if len(payload) == 0 {
		return
	}
	d.str(", ")
	const request, capped, failed, done = 1, 0x100, 2, 3
	switch {
	case kind == failed && len(payload) >= 4:
		d.str("{error=").failure(int64(int32(u32(payload, 0))))
		if rest := payload[4:]; len(rest) >= 16 {
			d.str(", msg=")
			if flags&capped != 0 {
				rest = rest[:16]
			}
			d.message1(rest[:min(len(rest), max(int(u32(rest, 0)), 16))], protocol)
		}
		d.str("}")
	case kind == done && len(payload) >= 4:
		d.failure(int64(int32(u32(payload, 0))))
	case protocol == 0 && kind >= 16:
		const qdisc, filter = 5, 7 // of which those of a class in between are made alike
		// Types of NETLINK_ROUTE come in fours: new, delete, get, set.
		group := strconv.Itoa(int(kind-16) / 4)
		if n := int(kind-16) / 4; n > qdisc && n <= filter {
			group = strconv.Itoa(qdisc)
		}
		d.body(payload, "rt"+group, "at"+group)
	case protocol == 4 && kind == 20 && flags&request != 0:
		d.body(payload, "ask"+strconv.Itoa(int(payload[0])), "")
	case protocol == 4 && kind == 20:
		// NETLINK_SOCK_DIAG has one type for questions and answers.
		family := int(payload[0])
		attributes := "da" + strconv.Itoa(family)
		if family == 10 {
			attributes = "da2"
		}
		d.body(payload, "say"+strconv.Itoa(family), attributes)
	default:
		d.bytesInHex(payload)
	}
	d.str("]")
}

// messageHeader appends the header of a message. What some flags mean depends on its type. Flags
// of requests to make, to delete and to read share their bits.
func (d *decoder) messageHeader(b []byte, protocol int64) {
	kind := u16(b, 4)
	d.str("{nlmsg_len=").uint(u32(b, 0))
	// Types below 16 mean the same in all protocols.
	set := "nlmsg"
	if types := "nl" + strconv.FormatInt(protocol, 10); kind >= 16 && len(d.set(types)) > 0 {
		set = types
	}
	d.str(", nlmsg_type=").enum(set, kind)
	meaning := "nlm"
	switch {
	case kind == 2:
		meaning = "nlm_ack"
	case protocol == 0 && kind >= 16:
		meaning = [...]string{"nlm_new", "nlm_del", "nlm_get", "nlm"}[kind%4]
	case protocol == 4 && kind >= 16:
		meaning = "nlm_get"
	}
	d.str(", nlmsg_flags=").flags(meaning, u16(b, 6))
	d.str(", nlmsg_seq=").uint(u32(b, 8))
	d.str(", nlmsg_pid=").int(signed(u32(b, 12)))
	d.str("}")
}

// failure appends the number of an error, which is negative, by name.
func (d *decoder) failure(v int64) {
	if v < 0 && v > -4096 {
		d.str("-" + errorName(int(-v)))
		return
	}
	d.int(v)
}

// body appends a struct and the attributes behind it. A request may have the family alone. The
// kernel accepts a short request for a dump, which older programs send.
func (d *decoder) body(b []byte, name, attributes string) {
	l := d.layout(name)
	if l == nil {
		d.bytesInHex(b)
		return
	}
	if len(b) < l.size {
		d.str("{"+l.fields[0].name+"=").field(l.fields[0], b)
		d.str(", ...}")
		return
	}
	d.complete(name, b[:l.size])
	if rest := b[min((l.size+3)&^3, len(b)):]; len(rest) >= 4 && attributes != "" {
		d.str(", ").attributes(rest, attributes, int(b[0]))
	}
}

// attributes appends attributes of a table. The header of each has its length and its type. The
// family says how long addresses are in them.
func (d *decoder) attributes(b []byte, table string, family int) {
	var all [][]byte
	for len(b) >= 4 && len(all) <= d.o.Limit {
		size := int(u16(b, 0))
		if size < 4 {
			break
		}
		all = append(all, b[:min(size, len(b))])
		b = b[min((size+3)&^3, len(b)):]
	}
	d.several(len(all), func(i int) { d.attribute1(all[i], table, family) })
}

// attribute1 appends an attribute. The two highest bits of its type say how it is made.
// Attributes nest, a few levels deep as the tables have it.
func (d *decoder) attribute1(b []byte, table string, family int) {
	const nested, ordered, kinds = 0x8000, 0x4000, 0x3fff
	kind, value := u16(b, 2), b[4:]
	if len(value) > 0 {
		d.str("[")
	}
	d.str("{nla_len=").uint(u16(b, 0))
	d.str(", nla_type=")
	if kind&nested != 0 {
		d.str("NLA_F_NESTED|")
	}
	if kind&ordered != 0 {
		d.str("NLA_F_NET_BYTEORDER|")
	}
	d.enum(table, kind&kinds)
	d.str("}")
	if len(value) > 0 {
		d.str(", ")
		if !d.attributeValue(d.kindOf(table, kind&kinds), value, family) {
			d.bytesInHex(value)
		}
		d.str("]")
	}
}

// kindOf is what stands behind the name of an attribute.
func (d *decoder) kindOf(table string, v uint64) string {
	for _, c := range d.set(table) {
		if c.value == v {
			return c.kind
		}
	}
	return ""
}

// attributeValue appends a value; false if it has not the form that it should have. The kernel
// may have made the value longer than the tables know; then its bytes are shown.
func (d *decoder) attributeValue(kind string, b []byte, family int) bool {
	if kind == "" {
		return false
	}
	name := kind[1:]
	var v uint64
	switch len(b) {
	case 1:
		v = uint64(b[0])
	case 2:
		v = u16(b, 0)
	case 4:
		v = u32(b, 0)
	case 8:
		v = u64(b, 0)
	default:
		if strings.IndexByte("udnef", kind[0]) >= 0 {
			return false
		}
	}
	switch kind[0] {
	case 'u':
		d.uint(v)
	case 'd':
		d.int(signed(v))
	case 's':
		d.quote([]byte(strings.TrimSuffix(string(b), "\x00")))
	case 'b':
		d.text(b, uint64(len(b)))
	case 'n':
		d.interfaceName(v)
	case 'm':
		d.mac(b)
	case 'a':
		switch {
		case family == 2 && len(b) == 4:
			d.ipv4(b)
		case family == 10 && len(b) == 16:
			d.str("inet_pton(AF_INET6, \"" + address6([16]byte(b)) + "\")")
		default:
			return false
		}
	case 'e':
		d.enum(name, v)
	case 'f':
		d.flags(name, v)
	case 'S':
		if len(b) < d.layout(name).fields[0].size {
			return false
		}
		d.complete(name, b)
	case 'N':
		d.attributes(b, name, family)
	case 'M':
		d.list(len(b)/4, func(i int) bool {
			d.str("[").enum("skmem", uint64(i))
			d.str("]=").uint(u32(b, 4*i))
			return true
		})
	}
	return true
}

// bytesInHex appends bytes that nothing is known of.
func (d *decoder) bytesInHex(b []byte) {
	d.b = appendQuoted(d.b, b[:min(len(b), d.o.Limit)], hexAll)
	if len(b) > d.o.Limit {
		d.str("...")
	}
}

// maxInterfaces bounds the numbers of network interfaces that are kept with their names.
const maxInterfaces = 1 << 10

// interfaceName appends the interface that has a number, by the name that it has for hawk. The
// number is one of the program's network namespace, which may not be hawk's; strace has the same
// weakness.
func (d *decoder) interfaceName(index uint64) {
	name, known := d.interfaces[index]
	if !known && index != 0 {
		const dir = "/sys/class/net/"
		entries, _ := os.ReadDir(dir)
		for _, e := range entries {
			if text, err := os.ReadFile(dir + e.Name() + "/ifindex"); err == nil &&
				strings.TrimSpace(string(text)) == strconv.FormatUint(index, 10) {
				name = e.Name()
			}
		}
		if d.interfaces == nil || len(d.interfaces) >= maxInterfaces { // numbers are those of a traced program
			d.interfaces = map[uint64]string{}
		}
		d.interfaces[index] = name
	}
	if name == "" {
		d.uint(index)
		return
	}
	d.str("if_nametoindex(").quote([]byte(name))
	d.str(")")
}
