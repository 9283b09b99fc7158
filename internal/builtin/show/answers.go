package show

import (
	"encoding/binary"
	"net/netip"

	"github.com/hawktrace/hawk/internal/builtin"
	"github.com/hawktrace/hawk/internal/ir"
	"github.com/hawktrace/hawk/internal/object"
	"github.com/hawktrace/hawk/internal/types"
)

var _ = builtin.Define(builtin.Func{
	Name: "dnsanswer", Emits: true, Min: 1, Params: []builtin.Param{builtin.AnyValue.Named("message")},
	Result: types.Void,
	Doc: "Learns from an answer of DNS, which `buf()` has read, what its addresses are called: `hostname()` tells of " +
		"an address that `/etc/hosts` does not have the name that was asked for last, for rows and maps that are " +
		"printed from then on. 10,000 addresses are kept, those that were learned last. Bytes that are no " +
		"answer are left aside.",
	Example: `tracepoint:syscalls:sys_exit_recvfrom / args.ret > 12 && has_key(@to, tid) / ` +
		`{ dnsanswer(buf(uptr(@to[tid]), args.ret)); }`,
	Check: func(c *builtin.Call) types.Type {
		if t := c.Types[0]; t != nil && !isBuffer(t) {
			c.Errorf(c.Args[0], "argument-type", "dnsanswer() expects bytes as buf() reads them, not %s", t)
		}
		return types.Void
	},
	Lower: func(g builtin.Gen, c *builtin.Call, _ *ir.Value) *ir.Value {
		g.Event(c, &object.Event{Map: -1}, c.Args)
		return nil
	},
	Handle: func(e builtin.Env, ev *object.Event, rec []byte) error {
		if len(ev.Args) == 0 {
			return nil
		}
		message := e.Bytes(ev.Args[0], rec)
		// A row that was printed before keeps the address.
		name, addrs := answer(message)
		for _, a := range addrs {
			e.Learn(a.Unmap().String(), name)
		}
		return nil
	},
})

// Sizes, types and bits of messages, by RFC 1035, section 4.
const (
	messageHeader = 12
	isAnswer      = 1 << 15
	resultBits    = 1<<4 - 1
	classInternet = 1
	typeA         = 1
	typeAAAA      = 28
	pointerBits   = 0xc0 // of a length: the rest of a name is elsewhere
	maxAnswers    = 256
)

// answer is the name that a message of DNS answers a question about, and the addresses that it has;
// none if it is no such message. An alias has the addresses of what it stands for, so that those of
// all records are the name's.
// Anybody on the network may have sent it: all that it can do is to name addresses wrongly.
func answer(m []byte) (name string, addrs []netip.Addr) {
	if len(m) < messageHeader {
		return "", nil
	}
	flags, questions, records := word(m, 2), word(m, 4), word(m, 6)
	if flags&isAnswer == 0 || flags&resultBits != 0 || questions != 1 {
		return "", nil
	}
	// A question for an address itself, as some resolvers send it, teaches nothing.
	name, at := questionName(m, messageHeader)
	if _, err := netip.ParseAddr(name); name == "" || err == nil { // it may not pass for another address
		return "", nil
	}
	at += 4 // type and class of the question
	for range min(records, maxAnswers) {
		// Behind the name of a record stand 10 bytes: type, class, time to live, and the length
		// of its data.
		if at = skipName(m, at); at < 0 || at+10 > len(m) {
			break
		}
		// The time to live in between is not kept: names are forgotten when others come.
		kind, class, size := word(m, at), word(m, at+2), word(m, at+8)
		at += 10
		if at+size > len(m) {
			break
		}
		if class == classInternet && (kind == typeA && size == 4 || kind == typeAAAA && size == 16) {
			addr, _ := netip.AddrFromSlice(m[at : at+size])
			addrs = append(addrs, addr)
		}
		at += size
	}
	return name, addrs
}

// word is a number of two bytes; 0 where there is none.
// The message was written by whoever answers, and may say anything: no length in it is
// believed.
func word(m []byte, at int) int {
	if at < 0 || at+2 > len(m) {
		return 0
	}
	return int(binary.BigEndian.Uint16(m[at:]))
}

// questionName is the name at a place, and the place behind it; "" if it is none that has addresses. The
// name of a question lies there whole.
// Compressed names are for records; a question that has one is odd, and left aside.
func questionName(m []byte, at int) (name string, end int) {
	var text []byte
	for at < len(m) && len(text) < 255 {
		n := int(m[at])
		at++
		switch {
		case n == 0:
			return string(text), at
		case n&pointerBits != 0 || at+n > len(m):
			return "", at
		}
		if len(text) > 0 {
			text = append(text, '.')
		}
		for _, c := range m[at : at+n] {
			if c <= ' ' || c >= 0x7f || c == '.' || c == '\\' {
				return "", at // it is shown in place of an address, and may not pass for another name
			}
			text = append(text, c)
		}
		at += n
	}
	return "", at
}

// skipName is the place behind a name, which may end with a pointer to another; -1 if there is none.
// It follows no pointer, so that a message cannot send it in circles.
func skipName(m []byte, at int) int {
	for at >= 0 && at < len(m) {
		switch n := int(m[at]); {
		case n == 0:
			return at + 1
		case n&pointerBits == pointerBits:
			return at + 2
		case n&pointerBits != 0:
			return -1
		default:
			at += 1 + n
		}
	}
	return -1
}
