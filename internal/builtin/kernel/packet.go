package kernel

import (
	"encoding/binary"
	"time"

	"github.com/cilium/ebpf/asm"
	"golang.org/x/sys/unix"

	"github.com/hawktrace/hawk/internal/builtin"
	"github.com/hawktrace/hawk/internal/ir"
	"github.com/hawktrace/hawk/internal/machine"
	"github.com/hawktrace/hawk/internal/object"
	"github.com/hawktrace/hawk/internal/probe"
	"github.com/hawktrace/hawk/internal/types"
)

// mostPacket is how many bytes of a packet are sent: what a perf record, whose
// length has 16 bits, has room for besides our words.
// A longer one would be refused by the kernel as a whole.
const mostPacket = 65536 - 128

// Words of a packet's record, behind the header.
const (
	packetTime   = 8 + 8*iota // nanoseconds of the boot clock
	packetOffset              // bytes to leave out in front
	packetLength              // bytes that follow; the kernel pads what it sends
	packetWire                // bytes that the packet had
	packetBytes               // they follow here
)

var _ = builtin.Define(builtin.Func{
	Name: "skboutput", Min: 4, Result: types.Uint32,
	Params: []builtin.Param{
		builtin.StringLit.Named("file"), builtin.Address.Named("skb"), builtin.Integer.Named("length"),
		builtin.Integer.Named("offset"),
	},
	Ignorable: true, Probes: probe.HasObjects, Needs: []*machine.Feature{machine.SkbOutput},
	Doc: "Appends a packet to a pcap file, which is made at the start: at most `length` bytes of it, without the " +
		"first `offset`; 14 leaves out an Ethernet header, as the " +
		"file is one of IP packets. The packet is an argument of the traced function. Yields 0 or, as the kernel " +
		"says it, a negative number. Packets have " +
		"a buffer of their own on each CPU; `perf_rb_pages` makes it larger.",
	Example: `fentry:__dev_queue_xmit { skboutput("sent.pcap", args.skb, args.skb.len, 14); }`,
	Check: func(c *builtin.Call) types.Type {
		needStruct(c, 1, "sk_buff")
		if path, ok := c.Str(0); ok && path == "" {
			c.Errorf(c.Args[0], "bad-argument", "skboutput() expects the name of a file")
		}
		builtin.KernelMembers(c, "sk_buff", "len")
		for i := 2; i < 4; i++ {
			if i < len(c.Consts) && c.Consts[i].Neg {
				c.Errorf(c.Args[i], "bad-argument", "skboutput(): the %s must not be negative", c.Func.Params[i].Name)
			}
		}
		return types.Uint32
	},
	Lower: func(g builtin.Gen, c *builtin.Call, _ *ir.Value) *ir.Value {
		b := g.B()
		path, _ := c.Str(0)
		offset := g.Scalar(c.Args[3])
		limit := builtin.Clamp(g, g.Scalar(c.Args[2]), mostPacket)
		r := withObject(g, c, 1, -int64(unix.EFAULT), func(skb *ir.Value) *ir.Value {
			t, _ := c.Machine.TypeByName("struct", "sk_buff") // Check has seen that it is there
			length, _ := t.(*types.Struct).Field("len")
			wire := b.U32(probe.Member(b, skb, length), 0)
			n := b.Arith(ir.UMin, wire, limit)
			ev := &object.Event{Text: path, Map: -1}
			return g.Packet(c, ev, skb, n, builtin.Helper(g, asm.FnKtimeGetBootNs), offset, n, wire)
		})
		g.Rarely(b.Ne(r, 0), func() {
			g.Rarely(b.Ne(r, -int64(unix.ENOSPC)), func() { // that is counted as lost
				g.Failed(c.Expr, object.HelperFailed, "skb_output", r)
			})
		})
		return b.Ext(r, 4, false)
	},
	Prepare: func(e builtin.Env, ev *object.Event) error {
		_, err := e.Capture(ev.Text)
		return err
	},
	Handle: func(e builtin.Env, ev *object.Event, rec []byte) error {
		if len(rec) < packetBytes {
			return nil
		}
		if len(rec) < packetBytes {
			return nil
		}
		word := func(at int) uint64 { return binary.NativeEndian.Uint64(rec[at:]) }
		data := rec[packetBytes:]
		data = data[:min(word(packetLength), uint64(len(data)))]
		skip := max(int64(word(packetOffset)), 0)
		if skip >= int64(len(data)) {
			return nil // nothing of it is left
		}
		file, err := e.Capture(ev.Text)
		if err != nil {
			return err
		}
		at := e.BootTime().Add(time.Duration(word(packetTime)))
		return file.Packet(at, data[skip:], int(int64(word(packetWire))-skip))
	},
})
