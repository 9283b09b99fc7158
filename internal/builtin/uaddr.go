package builtin

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/hawktrace/hawk/internal/errno"
	"github.com/hawktrace/hawk/internal/exe"
	"github.com/hawktrace/hawk/internal/ir"
	"github.com/hawktrace/hawk/internal/machine"
	"github.com/hawktrace/hawk/internal/probe"
	"github.com/hawktrace/hawk/internal/probe/user"
	"github.com/hawktrace/hawk/internal/types"
)

// A spot is a breakpoint of a probe and how far from it a symbol lies: code
// and data of a file move together wherever it is loaded.
type spot struct {
	addr  uint64 // of the breakpoint, in the file's numbering
	delta int64
}

// pageBits are those of an address that loading a file leaves alone.
const pageBits = 1<<12 - 1

// spots finds a symbol from all breakpoints of a point, and its size.
func spots(p *probe.Point, symbol string, m *machine.Machine) ([]spot, uint64, error) {
	file, err := m.Executables.Open(p.Target)
	if err != nil {
		return nil, 0, err
	}
	defer file.Close()
	sym, ok := file.Symbol(symbol)
	if !ok {
		if d := file.OwnDebugFile("", m.DebugDirs...); d != nil {
			sym, ok = d.Symbol(symbol)
		}
	}
	if !ok {
		return nil, 0, &exe.ErrNoSymbol{Path: p.Target, Name: symbol}
	}
	var out []spot
	for _, addr := range user.Locations(p, file) {
		out = append(out, spot{addr, int64(sym.Addr - addr)})
	}
	if len(out) == 0 {
		return nil, 0, fmt.Errorf("%s: the place of the probe is not in the file", p.Name())
	}
	return out, sym.Size, nil
}

// distinct reports whether every breakpoint can be known: by its point where
// each has one, else by the bits of its address that loading leaves alone.
func distinct(found map[*probe.Point][]spot) bool {
	several := false
	seen := map[uint64]bool{}
	clash := false
	for _, at := range found {
		several = several || len(at) > 1
		for _, s := range at {
			clash = clash || seen[s.addr&pageBits]
			seen[s.addr&pageBits] = true
		}
	}
	return !several || !clash
}

var _ = Define(Func{
	Name: "uaddr", Wide: true, Also: []string{"__builtin_uaddr"}, Min: 1, Params: []Param{{"symbol", StringLit}},
	Probes: probe.HasUserAddrs, Uses: probe.Uses{Probe: true},
	Doc: "The address of a symbol of the probed program or library in the current process. Its size says what " +
		"the pointer leads to: an integer of 1, 2, 4 or 8 bytes.",
	Example: `uprobe:/bin/bash:readline { printf("%s\n", str(*uaddr("ps1_prompt"))); }`,
	Yields:  "pointer to an unsigned integer of the symbol's size",
	Check: func(c *Call) types.Type {
		out := &types.Pointer{Elem: types.Uint64, Space: types.User}
		symbol, ok := c.Str(0)
		if !ok || len(c.Points) == 0 {
			return out
		}
		found := map[*probe.Point][]spot{}
		for i, p := range c.Points {
			at, size, err := spots(p, symbol, c.Machine)
			if err == nil {
				err = c.Machine.Same(p.Target)
			}
			var none *exe.ErrNoSymbol
			switch {
			case errors.As(err, &none):
				c.Errorf(c.Args[0], "unknown-symbol", "Could not resolve symbol: %s:%s", none.Path, none.Name)
				return out
			case err != nil:
				c.Errorf(c.Expr, "not-supported", "uaddr: %s", errno.Message(err))
				return out
			}
			if i == 0 && (size == 1 || size == 2 || size == 4) {
				out.Elem = types.IntOf(int(size), false)
			}
			found[p] = at
		}
		if !distinct(found) {
			c.Errorf(c.Expr, "not-supported", "uaddr: the probe has several locations that cannot be told apart")
		}
		c.Found.symbols = found
		if c.Kind.Has&probe.HasRetval != 0 && c.Diags != nil {
			// Since then the kernel says in a return probe which function it is of.
			if err := c.Machine.Has(machine.UprobeMulti); err != nil {
				c.Errorf(c.Expr, "missing-feature", "uaddr can not be used with %s probes: needs Linux %s or newer",
					c.Kind.Name, machine.UprobeMulti.Since).
					Hint("take the address in a uprobe and keep it in a map")
			}
		}
		return out
	},
	Space: func(*Call) types.Space { return types.User },
	Lower: func(g Gen, c *Call, _ *ir.Value) *ir.Value {
		b, ctx := g.B(), g.Context()
		found := c.Found.symbols
		ip := user.Breakpoint(ctx)
		var all [][]spot
		single, same := true, true
		for _, p := range ctx.Group.Points {
			s := found[p]
			all = append(all, s)
			single = single && len(s) == 1
			same = same && len(s) == 1 && s[0].delta == all[0][0].delta
		}
		if same {
			return b.Arith(ir.Add, ip, Number(g, all[0][0].delta))
		}
		if single {
			return b.Arith(ir.Add, ip, deltaOf(g, all))
		}
		return b.Arith(ir.Add, ip, deltaNear(g, ip, slices.Concat(all...)))
	},
})

// deltaOf takes the delta of the point that fired from a table.
func deltaOf(g Gen, all [][]spot) *ir.Value {
	entry := entryOfPoint(g, len(all), 8, func(entry []byte, i int) {
		binary.LittleEndian.PutUint64(entry, uint64(all[i][0].delta))
	})
	return g.B().U64(entry, 0)
}

// deltaNear finds the breakpoint that fired by the bits of its address that
// loading leaves alone.
func deltaNear(g Gen, ip *ir.Value, all []spot) *ir.Value {
	b := g.B()
	if len(all) == 1 {
		return Number(g, all[0].delta)
	}
	here := b.Eq(b.And(ip, pageBits), int64(all[0].addr&pageBits))
	return g.Choose(here, func() *ir.Value {
		return Number(g, all[0].delta)
	}, func() *ir.Value { return deltaNear(g, ip, all[1:]) })
}
