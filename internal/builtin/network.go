package builtin

import (
	"bytes"
	"fmt"
	"net/netip"

	"golang.org/x/sys/unix"

	"github.com/hawktrace/hawk/internal/ir"
	"github.com/hawktrace/hawk/internal/types"
	"github.com/hawktrace/hawk/internal/value"
)

// inetType is {u64 address family; u8 address[16]}.
var inetType = &types.Deferred{Name: "inet[24]", By: 3, Bytes: 24, Algn: 8}

// isBytes reports whether t holds n bytes one behind the other.
func isBytes(t types.Type) (n int, ok bool) {
	switch t := t.(type) {
	case *types.Array:
		return t.Size(), t.Elem.Size() == 1
	case *types.String:
		return t.Cap, true
	}
	return 0, false
}

// addressBytes is isBytes for an address, which the kernel and C libraries also
// wrap in a struct, and keep as wider integers that are in network byte order.
func addressBytes(t types.Type) (n int, ok bool) {
	switch t := t.(type) {
	case *types.Struct:
		return t.Size(), t.Name == "in_addr" || t.Name == "in6_addr"
	case *types.Array:
		_, ok = types.IsInteger(t.Elem)
		return t.Size(), ok
	}
	return isBytes(t)
}

var _ = Define(Func{
	Name: "ntop", LabelOf: LastArg, Min: 1, Params: []Param{{"family", AnyValue}, {"address", AnyValue}},
	Result: inetType, Renders: inetType, Spelled: "inet",
	Doc: "The text of an IP address: of an integer in network byte order or 4 bytes (IPv4), or of 16 bytes " +
		"(IPv6), in integers of any width, also as `struct in_addr` and `struct in6_addr`. A family in front, " +
		"2 or 10, decides instead: `ntop(family, address)`; without one the address is the only argument.",
	Example: `tracepoint:sock:inet_sock_set_state { @[ntop(args.daddr)] = count(); }`,
	Check: func(c *Call) types.Type {
		if len(c.Args) == 2 {
			if _, ok := types.IsInteger(c.Types[0]); !ok && c.Types[0] != nil {
				c.Errorf(c.Args[0], "argument-type", "ntop() only supports an integer as the address family, not %s",
					c.Types[0])
			}
		}
		last := len(c.Args) - 1
		t := c.Types[last]
		if _, ok := types.IsInteger(t); ok || t == nil {
			return inetType
		}
		if n, ok := addressBytes(t); !ok || n != 4 && n != 16 {
			c.Errorf(c.Args[last], "argument-type", "ntop() expects an integer or an array of 4 or 16 bytes, not %s", t)
		}
		return inetType
	},
	Lower: func(g Gen, c *Call, dst *ir.Value) *ir.Value {
		b := g.B()
		p := Place(g, inetType, dst)
		last := len(c.Args) - 1
		n, array := addressBytes(c.Types[last])
		// The length decides unless a family is given, as inet_ntop() is told one.
		family := Number(g, unix.AF_INET)
		if n == 16 {
			family = Number(g, unix.AF_INET6)
		}
		if last > 0 {
			family = g.Scalar(c.Args[0])
		}
		b.Store(p, 0, 8, family)
		if array {
			copyBytes(g, p, 8, g.Mem(c.Args[last]), n)
			b.Zero(p, 8+n, 16-n)
			return p
		}
		// A number is in network byte order, as it lies in memory.
		b.Store(p, 8, 8, b.Ext(g.Scalar(c.Args[last]), 4, false))
		b.Store(p, 16, 8, Number(g, 0))
		return p
	},
	Render: func(_ Env, _ *types.Deferred, raw []byte) value.Value {
		if addr, ok := addressOf(raw); ok {
			return value.Text(addr.String())
		}
		return value.Null{}
	},
})

// addressOf is the address that a value of inetType holds.
func addressOf(raw []byte) (addr netip.Addr, ok bool) {
	switch {
	case len(raw) < 24:
		return addr, false
	case Uint64(raw) == unix.AF_INET6:
		return netip.AddrFrom16([16]byte(raw[8:])), true
	}
	return netip.AddrFrom4([4]byte(raw[8:])), true
}

// hostType is inetType with another text.
var hostType = &types.Deferred{Name: "hostname_t", By: 14, Bytes: 24, Algn: 8}

var _ = Define(Func{
	Name: "hostname", LabelOf: FirstArg, Min: 1, Params: []Param{{"address", AnyValue}}, Result: hostType,
	Renders: hostType,
	Doc: "The name that `/etc/hosts` has for an IP address, as `ntop()` and `sockaddrs()` yield it: the first name " +
		"in the first line about the address, or else the one that `dnsanswer()` has learned. If there is none, the " +
		"text of the address. Nothing is asked over the network. The file is read when the first name is printed, " +
		"10,000 addresses of it at most.",
	Example: `tracepoint:sock:inet_sock_set_state { @[hostname(ntop(args.daddr))] = count(); }`,
	Check: func(c *Call) types.Type {
		if c.Types[0] != nil && !IsInet(c.Types[0]) {
			c.Errorf(c.Args[0], "argument-type", "hostname() expects an address as ntop() yields it, not %s",
				c.Types[0])
		}
		return hostType
	},
	Lower: func(g Gen, c *Call, dst *ir.Value) *ir.Value {
		p := Place(g, hostType, dst)
		g.B().Copy(p, 0, g.Mem(c.Args[0]), hostType.Bytes)
		return p
	},
	Render: func(e Env, _ *types.Deferred, raw []byte) value.Value {
		addr, ok := addressOf(raw)
		if !ok {
			return value.Null{}
		}
		// An IPv4 address in an IPv6 one is in the file as IPv4.
		if name, ok := e.Hostname(addr.Unmap().String()); ok {
			return value.Text(name)
		}
		return value.Text(addr.String())
	},
})

// copyBytes copies n bytes between places of any alignment.
func copyBytes(g Gen, dst *ir.Value, off int, src *ir.Value, n int) {
	b := g.B()
	for i := 0; i < n; {
		w := min(width(n-i), ir.Alignment(dst, off+i), ir.Alignment(src, i))
		b.Store(dst, off+i, w, b.Load(src, i, w, false))
		i += w
	}
}

// parseIP yields the bytes of an address in network order.
func parseIP(text string) ([]byte, bool) {
	a, err := netip.ParseAddr(text)
	if err != nil || a.Zone() != "" {
		return nil, false
	}
	return a.AsSlice(), true
}

var _ = Define(Func{
	Name: "pton", Min: 1, Params: []Param{{"address", StringLit}},
	Doc:     "The bytes of an IP address written as text, in network order.",
	Example: `begin { print(ntop(pton("fe80::1"))); }`,
	Yields:  "uint8[4] or uint8[16]",
	Check: func(c *Call) types.Type {
		text, ok := c.Str(0)
		if !ok {
			return nil
		}
		ip, ok := parseIP(text)
		if !ok {
			c.Errorf(c.Args[0], "bad-argument", "pton() expects an IPv4 or IPv6 address, not %q", text)
			return &types.Array{Elem: types.Uint8, Len: 4}
		}
		return &types.Array{Elem: types.Uint8, Len: len(ip)}
	},
	Lower: func(g Gen, c *Call, dst *ir.Value) *ir.Value {
		text, _ := c.Str(0)
		ip, _ := parseIP(text)
		p := Place(g, c.Result, dst)
		StoreBytes(g, p, ip, len(ip))
		return p
	},
})

// macType is the six bytes of a hardware address.
var macType = &types.Deferred{Name: "mac_address", By: 4, Bytes: 6, Algn: 1}

var _ = Define(Func{
	Name: "macaddr", LabelOf: FirstArg, Min: 1, Params: []Param{{"address", AnyValue}}, Result: macType,
	Renders: macType, Spelled: "macaddr_t",
	Doc:     "The text of a hardware address: of 6 bytes at an address, or of an array of them.",
	Example: `kprobe:__dev_queue_xmit { print(macaddr(((struct sk_buff *)arg0)->dev->dev_addr)); }`,
	Check: func(c *Call) types.Type {
		t := c.Types[0]
		if t == nil || types.IsScalar(t) && t != types.Bool {
			return macType
		}
		_, literal := c.Str(0)
		if n, ok := isBytes(t); !ok || n < 6 || literal {
			c.Errorf(c.Args[0], "argument-type", "macaddr() expects an address or an array of at least 6 "+
				"bytes, not %s", t)
		}
		return macType
	},
	Lower: func(g Gen, c *Call, dst *ir.Value) *ir.Value {
		p := Place(g, macType, dst)
		src, space, own := memory(g, c.Args[0], c.Types[0])
		if own {
			copyBytes(g, p, 0, src, 6)
			return p
		}
		g.B().Zero(p, 0, 6)
		g.ReadMem(c.Args[0], space, p, 0, Number(g, 6), src)
		return p
	},
	Render: func(_ Env, _ *types.Deferred, raw []byte) value.Value {
		if len(raw) < 6 {
			return value.Null{}
		}
		return value.Text(fmt.Sprintf("%02X:%02X:%02X:%02X:%02X:%02X", raw[0], raw[1], raw[2], raw[3], raw[4], raw[5]))
	},
})

// dnsType is a name as it stands in a message, 255 bytes at most by RFC 1035, section 3.1.
var dnsType = &types.Deferred{Name: "dnsname_t", By: 13, Bytes: 256, Algn: 8}

var _ = Define(Func{
	Name: "dnsname", LabelOf: FirstArg, Min: 1, Params: []Param{{"labels", StringLike}}, Result: dnsType,
	Renders: dnsType,
	Doc: "The text of a host's name as messages of DNS have it, where each part of the name has its length in front: " +
		"the bytes `\\x03www\\x07example` are `www.example`. The root is `.`. Bytes that are no name follow as " +
		"they are.",
	Example: `begin { print(dnsname("\x03www\x07example")); }`,
	Check: func(c *Call) types.Type {
		if _, ok := isBytes(c.Types[0]); !ok && c.Types[0] != nil {
			c.Errorf(c.Args[0], "argument-type", "dnsname() expects bytes, as str() reads them, not %s", c.Types[0])
		}
		return dnsType
	},
	Lower: func(g Gen, c *Call, dst *ir.Value) *ir.Value {
		n, _ := isBytes(c.Types[0])
		n = min(n, dnsType.Bytes)
		p := Place(g, dnsType, dst)
		g.B().Copy(p, 0, g.Mem(c.Args[0]), n)
		g.B().Zero(p, n, dnsType.Bytes-n)
		return p
	},
	Render: func(_ Env, _ *types.Deferred, raw []byte) value.Value {
		raw, _, _ = bytes.Cut(raw, []byte{0})
		var name []byte
		// A length that leads beyond the end is none, also one with both upper bits set, by which
		// messages point to an earlier name.
		for len(raw) > 0 && int(raw[0]) < len(raw) {
			name = append(append(name, raw[1:1+raw[0]]...), '.')
			raw = raw[1+raw[0]:]
		}
		if name = append(name, raw...); len(name) > 1 {
			return value.Text(bytes.TrimSuffix(name, []byte(".")))
		}
		return value.Text(".")
	},
})
