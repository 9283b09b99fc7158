package user

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/cilium/ebpf/asm"

	"github.com/hawktrace/hawk/internal/arch"
	"github.com/hawktrace/hawk/internal/dwarf"
	"github.com/hawktrace/hawk/internal/exe"
	"github.com/hawktrace/hawk/internal/ir"
	"github.com/hawktrace/hawk/internal/probe"
	"github.com/hawktrace/hawk/internal/types"
)

// debugInfo is the debug information of a point's file.
func debugInfo(p *probe.Point, o *probe.Options) (*dwarf.File, error) {
	return o.Machine.Debug(p.Target, o.Root())
}

// userFunc is the function that a point is at the start of, or in.
func userFunc(p *probe.Point, o *probe.Options) (*dwarf.Func, error) {
	pl := p.Place
	// Their arguments are on the stack, and package dwarf reads 64-bit programs only.
	if pl.ABI != arch.ABIC && !pl.ABI.IsGo() {
		return nil, fmt.Errorf("%s is a 32-bit program, of which hawk does not know arguments by name", p.Target)
	}
	d, err := debugInfo(p, o)
	if err != nil {
		return nil, err
	}
	fn, err := d.Function(pl.Func)
	if errors.Is(err, dwarf.ErrNotFound) {
		return nil, fmt.Errorf("the debug information of %s does not describe %s", p.Target, pointFunc(p))
	}
	return fn, err
}

// pointFunc names the function of a point in messages.
func pointFunc(p *probe.Point) string {
	if p.Func == "" {
		return fmt.Sprintf("the function at 0x%x", p.Address)
	}
	return p.Func
}

// uprobeArgs is the type of args of a uprobe. Arguments that programs cannot read have no field,
// but a message that says why.
func uprobeArgs(p *probe.Point, o *probe.Options) (*types.Struct, error) {
	return argsOrResults(p, o, p.Kind.Retval != nil)
}

// uprobeProto is what a function takes and returns.
func uprobeProto(p *probe.Point, o *probe.Options) (*types.Struct, types.Type, error) {
	if p.Place == nil || p.Place.ABI.IsGo() {
		return nil, nil, errors.New("functions of Go have several results")
	}
	fn, err := userFunc(p, o)
	if err != nil {
		return nil, nil, err
	}
	args, err := argsOrResults(p, o, false)
	return args, fn.Result.Type, err
}

// argsOrResults is uprobeArgs of what a function takes or, in Go, returns.
func argsOrResults(p *probe.Point, o *probe.Options, results bool) (*types.Struct, error) {
	pl := p.Place
	if pl.Args == nil {
		return nil, fmt.Errorf("args can not be used in %s: only functions have arguments", p.Name())
	}
	// Each pass over the script asks again.
	if pl.Args.Record != nil {
		return pl.Args.Record, nil
	}
	// GCC removes or splits parameters of such clones; the debug information has those of the
	// source.
	for _, part := range [...]string{".isra.", ".constprop."} {
		if strings.Contains(p.Func, part) {
			return nil, fmt.Errorf("the compiler changed which arguments %s takes; arg0, arg1, … are "+
				"the registers", p.Func)
		}
	}
	fn, err := userFunc(p, o)
	if err != nil {
		return nil, err
	}
	if fn.Optimized {
		return nil, fmt.Errorf("Rust may have optimised %s, after which its arguments can be anywhere; arg0, arg1, "+
			"… are the registers", exe.DemangleName(pointFunc(p)))
	}
	// A register is known only once all arguments in front of it have theirs.
	a := placer{abi: pl.ABI, rust: fn.Rust, arch: o.Machine.Arch()}
	a.result(fn.Result.Shape)
	params, places := fn.Params, a.params(fn)
	if results {
		if params, places = fn.Results, a.results(fn); len(params) == 0 {
			return nil, fmt.Errorf("%s has no results", pointFunc(p))
		}
	}
	pl.Args.Placed = map[string]probe.PlacedArg{}
	unreadable := map[string]string{}
	var fields []types.Field
	for i, param := range params {
		at := places[i]
		switch {
		// The first of one name counts, as _ may be given to several.
		case param.Name == "" || pl.Args.Placed[param.Name].Param != nil:
		case at.In == probe.InNothing:
			unreadable[param.Name] = fmt.Sprintf("%s has no data", param.Name)
		case at.In == probe.InFloats:
			unreadable[param.Name] = fmt.Sprintf("%s (%s) travels in a floating-point register, which programs "+
				"cannot read", param.Name, param.Decl)
		case at.In == probe.InSplit:
			unreadable[param.Name] = fmt.Sprintf("%s (%s) travels in a register and on the stack at once",
				param.Name, param.Decl)
		default:
			at.Param = &param
			pl.Args.Placed[param.Name] = at
			fields = append(fields, types.Field{Name: param.Name, Type: param.Type, Offset: at.Stack,
				// Two functions of a pattern may share a program if their arguments are at the
				// same places: Arg tells.
				Arg: int(at.In)<<8 | at.Reg})
		}
	}
	r := types.NewStruct(types.ContextKind, "uprobe:"+pointFunc(p)+"_args", 0, 8, fields)
	// The message comes only if the script asks for the argument.
	r.Absent = func(name string) string { return unreadable[name] }
	pl.Args.Record = r
	return r, nil
}

// uretprobeArgs is the type of args of a uretprobe: the results of a function of
// Go, which may have many.
func uretprobeArgs(p *probe.Point, o *probe.Options) (*types.Struct, error) {
	if pl := p.Place; !pl.ABI.IsGo() {
		return nil, fmt.Errorf("%s is no function of Go, which have results by name; retval is what it returned",
			pointFunc(p))
	}
	return uprobeArgs(p, o)
}

// userField is Field of functions of user space: scalars in registers.
func userField(c *probe.Context, f types.Field) *ir.Value {
	at := c.Group.Points[0].Place.Args.Placed[f.Name]
	if at.In != probe.InRegs || !types.IsScalar(f.Type) {
		return nil
	}
	return c.B.U64(c.Ctx, at.Regs[0])
}

// userMemory is Memory of functions of user space: what is on the stack or
// behind an address there, and structs that registers hold.
func userMemory(c *probe.Context, f types.Field) (base *ir.Value, user bool) {
	b := c.B
	at := c.Group.Points[0].Place.Args.Placed[f.Name]
	if at.In == probe.InRegs {
		// The last register can reach beyond the value: it is stored whole, and the rest is not
		// read.
		tmp := b.Addr(b.NewObject("arg", types.RoundUp(f.Type.Size(), 8)+8, 8), 0)
		// The registers are put together on the program's own stack as they lie in the value.
		for i, part := range at.Parts {
			b.Store(tmp, part.Offset, part.Bytes, b.U64(c.Ctx, at.Regs[i]))
		}
		return tmp, false
	}
	// The stack pointer is that of the function's first instruction, which is where the probe is.
	onStack := func() *ir.Value { return b.Add(b.U64(c.Ctx, c.O.Machine.Arch().SP), int64(at.Stack)) }
	switch {
	case at.In == probe.InStack:
		return onStack(), true
	case len(at.Regs) > 0:
		return b.U64(c.Ctx, at.Regs[0]), true
	}
	tmp := b.Addr(b.NewObject("arg", 8, 8), 0)
	// If the read fails the address is 0, and so is what is read from there.
	b.Zero(tmp, 0, 8)
	b.Call(int(asm.FnProbeReadUser), tmp, b.Const(8), onStack())
	return b.U64(tmp, 0), true
}

// describeUprobe prints the arguments, or the results that args has, as the
// source declares them.
func describeUprobe(p *probe.Point, o *probe.Options) ([]probe.Detail, error) {
	fn, err := userFunc(p, o)
	none, split := (*dwarf.ErrNone)(nil), (*dwarf.ErrSplit)(nil)
	if errors.As(err, &none) || errors.As(err, &split) {
		// A listing goes through thousands of functions, and the file lacks the same for each.
		o.WarnOnce(p, err.Error())
		return nil, nil
	}
	if err != nil {
		return nil, nil // one of the compiler's own, or of the C runtime
	}
	params := fn.Params
	if p.Kind.Retval != nil {
		params = fn.Results
	}
	var out []probe.Detail
	for _, param := range params {
		out = append(out, probe.Declared(param.Decl, param.Name))
	}
	return out, nil
}

// pointAddr is an address in the code that a point is in, 0 if none is known.
func pointAddr(p *probe.Point) uint64 {
	switch {
	case p.Place != nil:
		return cmp.Or(p.Place.Func, p.Address)
	case len(p.Notes) > 0:
		return p.Notes[0].Addr
	}
	return 0
}

// userType finds a type that the program of a point defines.
func userType(p *probe.Point, o *probe.Options, keyword, name string) (types.Type, bool) {
	d, err := debugInfo(p, o)
	if err != nil {
		return nil, false
	}
	t, err := d.TypeByName(keyword, name, pointAddr(p))
	return t, err == nil
}

// userEnumerator finds an enumerator that the program of a point defines.
func userEnumerator(p *probe.Point, o *probe.Options, name string) (*types.Enum, int64, error) {
	d, err := debugInfo(p, o)
	if err != nil {
		return nil, 0, err
	}
	return d.Enumerator(name, pointAddr(p))
}
