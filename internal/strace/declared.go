package strace

import (
	"bytes"
	"net/netip"
	"strconv"
	"strings"
	"sync"
)

// structs.txt declares structs whose fields are shown one behind the other: NAME, and for each
// field its name, kind, size and, behind ":", its set of flags; ".4" is four bytes that are not
// shown, and "@4" goes on at that offset. The kinds are d and u, decimal; x, in hexadecimal; p, an
// address; e and f, of a set; D, a moment; o, a mode; i, an IPv4 address; s
// and z, a text and the address of one; v, a version; S, another struct; a, an array of a kind,
// which has its size behind it; t, a time in ticks; N, a number that bpf() replaces; m, a mode
// with the kind of file; n, a network interface; h, a port, j, an IPv6 address and c, a cookie, of
// sockets. One field without a name is an element of an array.
var structsText = sync.OnceValue(func() string { return table("structs.txt") })

// A layout is a declared struct. Bytes that are not shown count in its size, by which it is said
// how much is copied.
type layout struct {
	size   int
	fields []field
}

// A field is one that is shown, at and size in bytes.
type field struct {
	name, param string
	kind        byte
	at, size    int
}

// layout looks a declared struct up; nil if there is none of that name. A struct is parsed from
// the table when it is first shown: most runs show few.
func (d *decoder) layout(name string) *layout {
	if l, ok := d.layouts[name]; ok {
		return l
	}
	var l *layout
	rest, ok := entry(structsText(), name)
	if !ok {
		rest, ok = entry(netlinkText(), name)
	}
	if ok {
		l = &layout{}
		// A field behind "@" may lie in front of others, as in a union, so that the end is the
		// farthest one.
		whole := 0
		for word := range strings.FieldsSeq(rest) {
			if skip, ok := strings.CutPrefix(word, "."); ok {
				n, _ := strconv.Atoi(skip)
				l.size += n
				continue
			}
			if at, ok := strings.CutPrefix(word, "@"); ok {
				whole = max(whole, l.size)
				l.size, _ = strconv.Atoi(at)
				continue
			}
			f := field{at: l.size}
			f.name, word, _ = strings.Cut(word, "=")
			word, f.param, _ = strings.Cut(word, ":")
			f.kind = word[0]
			f.size, _ = strconv.Atoi(word[1:])
			l.fields = append(l.fields, f)
			l.size += f.size
		}
		l.size = max(l.size, whole)
	}
	d.layouts[name] = l
	return l
}

// declared appends a struct without its closing brace, as far as it is there. Programs pass
// shorter structs than the kernel knows today; what follows may be appended by more.
func (d *decoder) declared(l *layout, b []byte) { d.fields(l, b, "{") }

// complete appends a declared struct, by its name, or the one element of an array.
func (d *decoder) complete(name string, b []byte) {
	l := d.layout(name)
	if f := l.fields[0]; f.name == "" {
		d.str("[").field(f, b)
		d.str("]")
		return
	}
	d.declared(l, b)
	d.str("}")
}

// more appends further fields of a struct.
func (d *decoder) more(l *layout, b []byte) { d.fields(l, b, ", ") }

// fields ends at the first field that is not there as a whole.
func (d *decoder) fields(l *layout, b []byte, before string) {
	for _, f := range l.fields {
		if f.at+f.size > len(b) {
			break
		}
		if d.str(before); f.kind != 'j' {
			d.str(f.name + "=")
		}
		before = ", "
		d.field(f, b[f.at:])
	}
}

// field reads numbers as the machine has them; those in the order of the network have kinds of
// their own.
func (d *decoder) field(f field, b []byte) {
	var v uint64
	var signed int64
	switch f.size {
	case 1:
		v = uint64(b[0])
		signed = int64(int8(b[0]))
	case 2:
		v = u16(b, 0)
		signed = int64(int16(v))
	case 4:
		v = u32(b, 0)
		signed = int64(int32(v))
	case 8:
		v = u64(b, 0)
		signed = int64(v)
	}
	switch f.kind {
	case 'd':
		d.int(signed)
	case 'u':
		d.uint(v)
	case 'p':
		d.ptr(v)
	case 'e':
		d.enum(f.param, v)
	case 'f':
		d.flags(f.param, v)
	case 'N': // the call goes on from there
		d.uint(v)
		if b, ok := d.c.mem.whole(d.num(1), f.at+4, false); ok && !d.c.failed() && u32(b, f.at) != v {
			d.str(" => ").uint(u32(b, f.at))
		}
	case 'D':
		d.int(signed)
		d.date(signed, 0, 9)
	case 'o':
		d.octal(v)
	case 'i':
		d.ipv4(b)
	case 's':
		text, _, _ := bytes.Cut(b[:f.size], []byte{0})
		d.quote(text)
	case 'z':
		d.cstring(v)
	case 'v':
		d.str("KERNEL_VERSION(").uint(v >> 16)
		d.str(", ").uint(v >> 8 & 0xff)
		d.str(", ").uint(v & 0xff)
		d.str(")")
	case 'n':
		d.interfaceName(v)
	case 'h':
		d.str("htons(").uint(uint64(b[0])<<8 | uint64(b[1]))
		d.str(")")
	case 'j':
		d.str("inet_pton(AF_INET6, \"" + address6([16]byte(b[:16])) + "\", &" + f.name + ")")
	case 'c':
		d.str("[").uint(u32(b, 0))
		d.str(", ").uint(u32(b, 4))
		d.str("]")
	case 't':
		d.ticks(v)
	case 'm':
		d.mode(v)
	case 'a':
		size := int(f.param[1] - '0')
		d.array(b, f.size/size, size, func(b []byte) { d.field(field{kind: f.param[0], size: size}, b) })
	case 'S':
		d.complete(f.param, b[:f.size])
	default:
		d.hex(v)
	}
}

// entry is what stands behind a name at the beginning of a line of a table, with the lines behind
// it that begin with a blank. A table is text and is searched as such, for each name once: a run
// shows few of its lines.
func entry(text, name string) (string, bool) {
	rest, first := strings.CutPrefix(text, name+" ")
	if !first {
		i := strings.Index(text, "\n"+name+" ")
		if i < 0 {
			return "", false
		}
		rest = text[i+len(name)+2:]
	}
	for end := 0; ; end++ {
		i := strings.IndexByte(rest[end:], '\n')
		if i < 0 {
			return rest, true
		}
		if end += i; !strings.HasPrefix(rest[end:], "\n ") {
			return rest[:end], true
		}
	}
}

// indirect appends what a call wrote behind an address, in brackets. The kinds are those of
// arguments that are numbers. What could not be read, or was not written as the call failed, is
// the address.
func (d *decoder) indirect(a arg, addr uint64) {
	size := 4
	if a.kind == "p" || a.kind == "lu" {
		size = 8
	}
	b, ok := d.c.mem.whole(addr, size, false)
	if !ok || addr == 0 || d.c.failed() {
		d.ptr(addr)
		return
	}
	v := u32(b, 0)
	if size == 8 {
		v = u64(b, 0)
	}
	d.str("[")
	d.number(a, v)
	d.str("]")
}

// subordinate appends the arguments of a call that its first one chooses, from i on. calls.txt has
// them by NAME/NUMBER; those of a command that it does not know are shown as they are.
func (d *decoder) subordinate(set string) {
	op := d.num(0)
	// The kernel takes an int there; a program may leave anything in the upper half.
	if d.of.name == "prctl" {
		op = uint64(uint32(op))
	}
	d.enum(set, uint64(uint32(op)))
	name := d.of.name + "/" + strconv.FormatUint(op, 10)
	// A few commands have commands of their own.
	if d.commanded(name+"/"+strconv.FormatUint(d.num(1), 10), 1) || d.commanded(name, 1) {
		return
	}
	for _, v := range d.c.Args[1:5] { // of what is not known, six are shown
		d.str(", ").hex(v)
	}
}

// commanded appends the arguments of a command, from one of the call's on, if calls.txt has it.
// "*" in front of a kind: it is that of a number that the call writes there; "+": one that it reads.
func (d *decoder) commanded(name string, from int) bool {
	c, known := d.subs[name]
	if !known {
		// Commands that are not there are not kept: a program can make up as many as it likes.
		if !strings.Contains(callsText(), "\n"+name+" ") {
			return false
		}
		found := find(name)
		c = &found
		d.subs[name] = c
	}
	for i, a := range c.args {
		if a.kind == "skip" {
			continue
		}
		v := d.num(i + from)
		if d.str(", "); a.out || a.kind[0] == '*' {
			d.returns()
		}
		switch kind := a.kind[1:]; a.kind[0] {
		case '*':
			d.indirect(arg{kind: kind, param: a.param}, v)
		case '+':
			if b, ok := d.c.mem.whole(v, 4, true); ok && v != 0 {
				d.str("[").number(arg{kind: kind, param: a.param}, u32(b, 0))
				d.str("]")
			} else {
				d.ptr(v)
			}
		default:
			d.arg(i+from, a)
		}
	}
	if kind, set, ok := strings.Cut(c.result, ":"); ok && !d.c.failed() {
		d.ownResult(kind, set)
	}
	return true
}

// ownResult has a result be shown with what it means: by the kinds e and f, the one behind a
// decimal number, the other behind one in hexadecimal unless it is 0. It is called while
// arguments are shown, since what the result means depends on them.
func (d *decoder) ownResult(kind, set string) {
	r := uint64(d.c.Result)
	if kind == "f" && r == 0 {
		return
	}
	// The text is made at the end of the line for want of another buffer, and cut off again.
	at := len(d.b)
	if kind == "f" {
		d.hex(r)
		d.str(" (").flags(set, r)
	} else {
		if !d.isNamed(set, r) {
			return
		}
		d.uint(r)
		d.str(" (").enum(set, r)
	}
	d.str(")")
	d.own = append([]byte{}, d.b[at:]...)
	d.b = d.b[:at]
}

// isNamed reports whether a number has a name in a set.
func (d *decoder) isNamed(set string, v uint64) bool { return d.nameIn(set, v) != "" }

// nameIn is the name of a number in a set, the first one, "" if it has none.
func (d *decoder) nameIn(set string, v uint64) string {
	for _, c := range d.set(set) {
		if c.value == v {
			return c.name
		}
	}
	return ""
}

// date appends a moment as a comment, unless it is none. A year beyond those of the calendar
// would be one of garbage that a program passed.
func (d *decoder) date(sec int64, nsec uint64, digits int) {
	if nsec < 1e9 && sec < 1<<46 {
		d.b = appendDate(d.b, sec, nsec, digits)
	}
}

// ipv4 appends an address of IPv4 in the words that make one.
func (d *decoder) ipv4(b []byte) {
	d.str("inet_addr(\"" + netip.AddrFrom4([4]byte(b[:4])).String() + "\")")
}

// elements appends an array of n declared structs, or of numbers. An element without a name in
// its layout is a bare number.
func (d *decoder) elements(name string, addr uint64, n int) {
	l := d.layout(name)
	n = max(n, 0)
	b, ok := d.c.mem.at(addr, min(n, 1024)*l.size, true)
	if addr == 0 || !ok && n > 0 {
		d.ptr(addr)
		return
	}
	d.array(b, n, l.size, func(b []byte) {
		if f := l.fields[0]; f.name == "" {
			d.field(f, b)
		} else {
			d.complete(name, b[:l.size])
		}
	})
}
