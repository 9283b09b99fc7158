package show

import (
	"encoding/binary"

	"github.com/cilium/ebpf/asm"

	"github.com/hawktrace/hawk/internal/builtin"
	"github.com/hawktrace/hawk/internal/ir"
	"github.com/hawktrace/hawk/internal/object"
	"github.com/hawktrace/hawk/internal/output"
	"github.com/hawktrace/hawk/internal/types"
)

// A record of snap is, behind its header, the integers, {s64 bytes or an error}, and the bytes.

var _ = builtin.Define(builtin.Func{
	Name: "snap", Emits: true, Min: 2, Variadic: true, Result: types.Void,
	Params: []builtin.Param{
		builtin.Address.Named("address"), builtin.Integer.Named("length"), builtin.Integer.Named("integer"),
	},
	Doc: "Prints a tuple of the integers and the bytes at an address, `max_strlen` at most. A length " +
		"below 0 is that of a string, which ends at its NUL; with 0 nothing is read. The record has the size of " +
		"what it holds, so that this is how memory of very different length is sent.",
	Example: `tracepoint:syscalls:sys_enter_write { snap(args.buf, args.count, pid, args.fd); }`,
	Lower: func(g builtin.Gen, c *builtin.Call, _ *ir.Value) *ir.Value {
		b, limit := g.B(), c.Config.MaxStrlen
		// Arguments are evaluated before the record is reserved: what is reserved has to be
		// sent.
		addr, n := g.Scalar(c.Args[0]), g.Scalar(c.Args[1])
		var words []*ir.Value
		for _, a := range c.Args[2:] {
			words = append(words, g.Scalar(a))
		}
		// An address that nobody has said anything of is taken for the process's, which write()
		// and the like are given.
		mem, str := asm.FnProbeReadUser, asm.FnProbeReadUserStr
		if g.Space(c.Args[0]) == types.Kernel {
			mem, str = asm.FnProbeReadKernel, asm.FnProbeReadKernelStr
		}
		// The length is written behind the integers, since it is known only when the bytes were
		// read.
		at := headerBytes + 8*len(words) // of the length
		none := func() *ir.Value { return builtin.Number(g, 0) }
		g.Send(c, &object.Event{Map: -1, Extra: []int64{int64(len(words))}}, at+8+limit, func(rec *ir.Value) *ir.Value {
			for i, w := range words {
				b.Store(rec, headerBytes+8*i, 8, w)
			}
			to := b.Add(rec, int64(at+8))
			// Three cases: nothing, a string of at most -n bytes, or n bytes.
			got := g.Choose(b.Arith(ir.Eq, n, none()), none, func() *ir.Value {
				return g.Choose(b.Arith(ir.SLt, n, none()), func() *ir.Value {
					room := builtin.Clamp(g, b.Arith(ir.Sub, none(), n), limit)
					n := builtin.Helper(g, str, to, room, addr)
					// Kernels before 6.2 do not count the NUL of an empty string, which they have copied
					// (strncpy_from_user_nofault in mm/maccess.c).
					return g.Choose(n, func() *ir.Value { return n }, func() *ir.Value { return builtin.Number(g, 1) })
				}, func() *ir.Value {
					room := builtin.Clamp(g, n, limit)
					failed := builtin.Helper(g, mem, to, room, addr)
					return g.Choose(b.Arith(ir.SLt, failed, none()), func() *ir.Value { return failed },
						func() *ir.Value { return room })
				})
			})
			b.Store(rec, at, 8, got)
			// Unsigned, an error is far above the limit.
			size := g.Choose(b.ULe(got, int64(limit)),
				func() *ir.Value { return got }, none)
			return b.Add(size, int64(at+8))
		})
		return nil
	},
	Handle: func(e builtin.Env, ev *object.Event, rec []byte) error {
		// The number comes from a file, if the script was compiled ahead of time.
		if len(ev.Extra) < 1 || ev.Extra[0] < 0 || ev.Extra[0] > int64(len(rec)/8) {
			return nil
		}
		end := headerBytes + 8*int(ev.Extra[0]) // of the integers
		if len(rec) < end+8 {
			return nil
		}
		// The bytes are the record's: who keeps them makes a copy.
		it := &output.Snap{Integers: rec[headerBytes:end], Unreadable: e.Config().StrUnreadable}
		if n := int64(binary.NativeEndian.Uint64(rec[end:])); n >= 0 {
			it.Bytes = rec[end+8 : end+8+min(int(n), len(rec)-end-8)]
		}
		e.Emit(it)
		return nil
	},
})

// headerBytes are what each record begins with.
// Package lower has the same number, for the records that it lays out itself.
const headerBytes = 8
