// Package kernel has the builtins that read objects of the kernel: sockets, packets, control groups.
package kernel

import (
	"github.com/cilium/ebpf/asm"

	"github.com/hawktrace/hawk/internal/builtin"
	"github.com/hawktrace/hawk/internal/ir"
	"github.com/hawktrace/hawk/internal/machine"
	"github.com/hawktrace/hawk/internal/probe"
	"github.com/hawktrace/hawk/internal/types"
)

// withObject is what use yields for argument i, a pointer that a helper takes
// only with the type that the kernel itself knows it to have; none for a null pointer.
// Such helpers are for fentry and the like, whose arguments have types to the verifier.
func withObject(g builtin.Gen, c *builtin.Call, i int, none int64, use func(p *ir.Value) *ir.Value) *ir.Value {
	p := g.Scalar(c.Args[i])
	if p.Kind != ir.Ptr {
		g.Errorf(c.Args[i], "%s() takes a pointer that the probe was given, as in args.%s: of a number the kernel "+
			"does not know what it points to", c.Name, c.Func.Params[i].Name)
		return builtin.Number(g, none)
	}
	b := g.B()
	return g.Choose(b.Ne(p, 0), func() *ir.Value {
		return use(p)
	}, func() *ir.Value { return builtin.Number(g, none) })
}

var _ = builtin.Define(builtin.Func{
	Name: "socket_cookie", Min: 1, Params: []builtin.Param{builtin.Address.Named("sk")}, Result: types.Uint64,
	Probes: probe.HasObjects,
	Needs:  []*machine.Feature{machine.SocketCookie},
	Doc: "The number that the kernel gives a socket for its lifetime, 0 of a null pointer. The socket is an " +
		"argument of the traced function; from the fields of arguments not all kernels take it.",
	Example: `fentry:tcp_connect { print(socket_cookie(args.sk)); }`,
	Check: func(c *builtin.Call) types.Type {
		needStruct(c, 0, "sock")
		return types.Uint64
	},
	Lower: func(g builtin.Gen, c *builtin.Call, _ *ir.Value) *ir.Value {
		return withObject(g, c, 0, 0, func(sk *ir.Value) *ir.Value {
			return builtin.Helper(g, asm.FnGetSocketCookie, sk)
		})
	},
})

// needStruct refuses an argument that is no pointer to the named struct of the kernel.
// The verifier would say the same in its own words, about an instruction.
func needStruct(c *builtin.Call, arg int, name string) {
	p, ok := c.Types[arg].(*types.Pointer)
	if ok {
		s, isStruct := p.Elem.(*types.Struct)
		ok = isStruct && s.Name == name
	}
	if !ok && c.Types[arg] != nil {
		c.Errorf(c.Args[arg], "argument-type", "%s() only supports 'struct %s *' arguments (%s provided)",
			c.Func.Name, name, c.Types[arg])
	}
}
