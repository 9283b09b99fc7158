package kernel

import (
	"errors"
	"fmt"

	"github.com/cilium/ebpf/asm"

	"github.com/hawktrace/hawk/internal/arch"
	"github.com/hawktrace/hawk/internal/btf"
	"github.com/hawktrace/hawk/internal/ir"
	"github.com/hawktrace/hawk/internal/probe"
	"github.com/hawktrace/hawk/internal/types"
)

// args of a kprobe are the parameters that the kernel's types declare, read
// from where the calling convention puts them: types.Field.Arg is the number
// of an argument register, or, from the number of registers on, of a word on
// the stack.

// kprobeArgs is the type of args. At an offset the registers hold anything by then.
func kprobeArgs(p *probe.Point, o *probe.Options) (*types.Struct, error) {
	if p.Offset != 0 || p.Address != 0 {
		return nil, errors.New("arguments are where the calling convention puts them at the start of a function " +
			"only; read registers with reg()")
	}
	f, err := kprobeProto(p, o)
	if err != nil {
		return nil, err
	}
	return callStruct("kprobe:"+p.Func+"_args", f.Params, o.Machine.Arch()), nil
}

// callProto is what a function takes and returns.
func callProto(p *probe.Point, o *probe.Options) (*types.Struct, types.Type, error) {
	f, err := kprobeProto(p, o)
	if err != nil {
		return nil, nil, err
	}
	return callStruct("", f.Params, o.Machine.Arch()), f.Result, nil
}

// kprobeProto is the prototype of a function, in the module that the script
// names or the kernel lists.
func kprobeProto(p *probe.Point, o *probe.Options) (*types.Func, error) {
	module := p.Target
	if module == "" {
		if fns, err := o.Functions(); err == nil {
			// One of several would be a guess: without a module the kernel image is asked.
			if fns.Has(probe.Vmlinux, p.Func) {
				module = probe.Vmlinux
			} else if modules := fns.Modules(p.Func); len(modules) == 1 {
				module = modules[0]
			}
		}
	}
	f, err := o.Machine.FuncProto(module, p.Func)
	if errors.Is(err, btf.ErrNotFound) {
		return nil, fmt.Errorf("the kernel's types do not know %s; its arguments have numbers: arg0", p.Func)
	}
	return f, err
}

// callStruct places parameters by the calling convention. A struct that travels by its address is a
// pointer to scripts, too.
func callStruct(name string, params []types.Param, a *arch.Arch) *types.Struct {
	args := make([]arch.Arg, len(params))
	for i, p := range params {
		_, isStruct := p.Type.(*types.Struct)
		args[i] = arch.Arg{Bytes: p.Type.Size(), Align: p.Type.Align(), Struct: isStruct}
	}
	places, indirect := a.Places(args)
	fields := make([]types.Field, 0, len(params))
	end := 0
	for i, p := range params {
		word := places[i].Reg
		// Words of the stack are numbered on from the registers, so that one number says where an
		// argument is.
		if word < 0 {
			word = len(a.Args) + places[i].Stack/8
		}
		t := p.Type
		if indirect[i] {
			t = &types.Pointer{Elem: t, Space: types.Kernel}
		}
		fields = append(fields, types.Field{Name: p.Name, Type: t, Offset: 8 * word, Arg: word})
		end = max(end, 8*(word+slotsOf(t)))
	}
	return types.NewStruct(types.ContextKind, name, end, 8, fields)
}

// callField is Field of programs that see the registers at a function's
// entry.
func callField(c *probe.Context, f types.Field) *ir.Value {
	return narrow(c, callWord(c, f.Arg), f.Type)
}

// callWord is an argument register or, behind those, a word of the stack.
func callWord(c *probe.Context, n int) *ir.Value {
	b, a := c.B, c.O.Machine.Arch()
	if n < len(a.Args) {
		return b.U64(c.Ctx, a.Args[n])
	}
	// Programs of this type have the kernel's stack as a number, not as a pointer that they could
	// read through.
	tmp := b.Addr(b.NewObject("argument", 8, 8), 0)
	b.Zero(tmp, 0, 8)
	sp := b.U64(c.Ctx, a.SP)
	b.Call(int(asm.FnProbeReadKernel), tmp, b.Const(8), b.Add(sp, int64(a.Stack+8*(n-len(a.Args)))))
	return b.U64(tmp, 0)
}
