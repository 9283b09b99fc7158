package user

import (
	"debug/elf"
	"fmt"
	"strings"

	"github.com/cilium/ebpf/asm"

	"github.com/hawktrace/hawk/internal/arch"
	"github.com/hawktrace/hawk/internal/exe"
	"github.com/hawktrace/hawk/internal/insn"
	"github.com/hawktrace/hawk/internal/ir"
	"github.com/hawktrace/hawk/internal/probe"
)

// An abi is how functions of a file receive their arguments and return.
type abi uint8

const (
	abiC       abi = iota // of the machine
	abiGo                 // Go's registers
	abiGoStack            // Go's before it used registers, and that of its assembly: all on the stack
	abi386                // 32-bit x86: all on the stack
	abiARM                // 32-bit ARM: four registers, then the stack
)

// abiOf is the convention of the function at an address.
func abiOf(file *exe.File, addr uint64) abi {
	switch {
	case file.Machine == elf.EM_386:
		return abi386
	case file.Machine == elf.EM_ARM:
		return abiARM
	case file.IsGoCode(addr):
		return goABI(file)
	}
	return abiC
}

// goABI is the convention of functions that Go compiled: registers since 1.17
// on x86-64, since 1.18 on ARM.
func goABI(file *exe.File) abi {
	// Go 1.17 brought registers to x86-64, 1.18 to ARM; programs that do not say their version
	// are taken for newer ones.
	first := 17
	if file.Machine == elf.EM_AARCH64 {
		first = 18
	}
	if minor := goMinor(file); minor > 0 && minor < first {
		return abiGoStack
	}
	return abiGo
}

// goMinor is N of the Go 1.N that built a file, 0 if it does not say.
func goMinor(file *exe.File) int {
	minor, _ := file.GoVersion()
	return minor
}

// ofAssembly is how symbols of Go's functions in assembly end.
const ofAssembly = ".abi0"

// symbolABI is the convention of a function that has a symbol.
func symbolABI(file *exe.File, sym exe.Symbol) abi {
	x := abiOf(file, sym.Addr)
	// Go's assembly keeps the convention of old. The wrapper that other code calls has the name
	// without the end.
	if x == abiGo && strings.HasSuffix(sym.Name, ofAssembly) {
		return abiGoStack
	}
	return x
}

// isGo reports whether the convention is one of Go's.
func (x abi) isGo() bool { return x == abiGo || x == abiGoStack }

// ArgLimit is how many argN a probe has at a point.
func ArgLimit(p *probe.Point, a *arch.Arch) int {
	// Go has nine registers for integers where C has six on x86-64; further ones are read from
	// the stack by C's convention alone.
	if pl, ok := p.Extra.(place); ok && pl.abi == abiGo {
		return len(a.GoArgs)
	}
	return len(a.Args)
}

// regs are the offsets in the context of the registers that carry integer
// arguments.
func (x abi) regs(a *arch.Arch) []int {
	switch x {
	case abiGo:
		return a.GoArgs
	case abi386, abiGoStack:
		return nil
	case abiARM:
		// A 32-bit program has its first four arguments in the registers that a 64-bit one has
		// its first in.
		return a.Args[:4]
	}
	return a.Args
}

// bytes is the size of a register or a slot of the stack.
func (x abi) bytes() int {
	if x == abi386 || x == abiARM {
		return 4
	}
	return 8
}

// stack is how far above the stack pointer the first argument in memory lies
// on entry.
func (x abi) stack(a *arch.Arch) int {
	switch {
	// The return address, which call has pushed, lies in front of the arguments.
	case x == abi386:
		return 4
	case x == abiARM:
		return 0
	case x.isGo() && a.Return < 0:
		return 8 // Go's callee keeps the return address at the stack pointer
	}
	return a.Stack
}

// groupABI is the convention that all functions of a group have.
func groupABI(c *probe.Context) abi { return c.Group.Points[0].Extra.(place).abi }

// userArg is argN of a function of user space.
func userArg(c *probe.Context, n int) *ir.Value {
	b, a, x := c.B, c.O.Machine.Arch(), groupABI(c)
	regs := x.regs(a)
	if n < len(regs) {
		v := b.Load(c.Ctx, regs[n], 8, false)
		if x.bytes() < 8 {
			v = b.Ext(v, x.bytes(), false)
		}
		return v
	}
	// In 32-bit programs argN count on where the registers end.
	// A read that fails leaves the zero that is put there first: the page need not be in memory.
	tmp := b.Addr(b.NewObject("arg", 8, 8), 0)
	b.Zero(tmp, 0, 8)
	at := b.Add(b.Load(c.Ctx, a.SP, 8, false), int64(x.stack(a)+(n-len(regs))*x.bytes()))
	b.Call(int(asm.FnProbeReadUser), tmp, b.Const(int64(x.bytes())), at)
	return b.Load(tmp, 0, 8, false)
}

// userRetval is the result of a function of user space.
func userRetval(c *probe.Context) *ir.Value {
	v := probe.RegRetval(c)
	// The upper half of the register is not part of the result; int is what most functions
	// return.
	if x := groupABI(c); x.bytes() < 8 {
		return c.B.Ext(v, x.bytes(), true)
	}
	return v
}

// foreign explains why the code of a file cannot run on the machine being
// traced; nil if it can.
func foreign(file *exe.File, a *arch.Arch) error {
	native := file.Machine == elf.EM_X86_64 || file.Machine == elf.EM_386
	// Kernels run 32-bit programs of the same family; whether this one does is found out when one
	// runs.
	if a.GoArch == "arm64" {
		native = file.Machine == elf.EM_AARCH64 || file.Machine == elf.EM_ARM
	}
	switch {
	case file.BigEndian():
		return fmt.Errorf("%s is a big-endian program (%s), which does not run on this machine (%s)", file.Path,
			file.Machine, a.Name)
	case !native:
		return fmt.Errorf("%s is a program for another machine (%s) than this one (%s)", file.Path,
			file.Machine, a.Name)
	}
	return nil
}

// Set is the instruction set of a function, 0 if hawk does not decode it.
func (x abi) set(a *arch.Arch) insn.Set {
	s := insn.Native(a.GoArch)
	if x == abi386 || x == abiARM {
		return s.Narrow()
	}
	return s
}
