package lower

import (
	"github.com/cilium/ebpf/asm"
	"golang.org/x/sys/unix"

	"github.com/hawktrace/hawk/internal/bpf"
	"github.com/hawktrace/hawk/internal/builtin"
	"github.com/hawktrace/hawk/internal/ir"
	"github.com/hawktrace/hawk/internal/object"
)

// packetMap is the kernel map of the buffers for packets.
func (m *module) packetMap() int {
	if m.packets == 0 {
		m.packets = m.ownMap(object.PacketRole, &object.Map{Type: bpf.PerfEventArray, KeySize: 4, ValueSize: 4})
	}
	return m.packets
}

// Packet sends a record of words and the first n bytes of a packet: the kernel
// copies them itself, and can do so to a perf buffer only. It yields what the
// kernel says, 0 or a negative error.
func (f *fn) Packet(c *builtin.Call, ev *object.Event, skb, n *ir.Value, words ...*ir.Value) *ir.Value {
	b := f.b
	id := f.enter(c, ev)
	ev.Bytes = headerBytes + 8*len(words)
	rec := f.Temp("record", ev.Bytes, 8)
	b.Store(rec, 0, 8, f.konst(int64(id)))
	for i, w := range words {
		b.Store(rec, headerBytes+8*i, 8, w)
	}
	const currentCPU = 0xffffffff // BPF_F_CURRENT_CPU; the length stands above it
	flags := b.Or(b.Shl(n, 32), currentCPU)
	r := b.Call(int(asm.FnSkbOutput), skb, b.MapPtr(f.m.packetMap()), flags, rec, f.konst(int64(ev.Bytes)))
	f.Rarely(b.Eq(r, -int64(unix.ENOSPC)), f.countLost)
	return r
}
