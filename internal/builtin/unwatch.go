package builtin

import (
	"encoding/binary"

	"github.com/hawktrace/hawk/internal/ir"
	"github.com/hawktrace/hawk/internal/object"
	"github.com/hawktrace/hawk/internal/types"
)

var _ = Define(Func{
	Name: "unwatch", Min: 1, Params: []Param{{"address", Address}}, Result: types.Void,
	Doc: "Ends the watchpoints at an address, when user space handles the event: in all threads and on all " +
		"processors, whose registers are free then. " +
		"The others go on, and so does the run, even if none is left.",
	Example: `watchpoint:0x10000000:8:w { printf("%s\n", ustack); unwatch(0x10000000); }`,
	Lower: func(g Gen, c *Call, _ *ir.Value) *ir.Value {
		addr := g.Scalar(c.Args[0])
		g.Send(c, &object.Event{Map: -1}, 16, func(rec *ir.Value) *ir.Value {
			g.B().Store(rec, 8, 8, addr)
			return Number(g, 16)
		})
		return nil
	},
	Handle: func(e Env, ev *object.Event, rec []byte) error {
		if len(rec) < 16 {
			return nil
		}
		if len(rec) < 16 {
			return nil
		}
		if addr := binary.NativeEndian.Uint64(rec[8:]); !e.Unwatch(addr) {
			e.Warnf(ev.At, "unwatch: nothing is watched at %#x", addr)
		}
		return nil
	},
})
