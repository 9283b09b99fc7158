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

// abiOf is the convention of the function at an address.
func abiOf(file *exe.File, addr uint64) arch.ABI {
	switch {
	case file.Machine == elf.EM_386:
		return arch.ABI386
	case file.Machine == elf.EM_ARM:
		return arch.ABIARM
	case file.IsGoCode(addr):
		return goABI(file)
	}
	return arch.ABIC
}

// goABI is the convention of functions that Go compiled: registers since 1.17
// on x86-64, since 1.18 on ARM.
func goABI(file *exe.File) arch.ABI {
	// Go 1.17 brought registers to x86-64, 1.18 to ARM; programs that do not say their version
	// are taken for newer ones.
	first := 17
	if file.Machine == elf.EM_AARCH64 {
		first = 18
	}
	if minor := goMinor(file); minor > 0 && minor < first {
		return arch.ABIGoStack
	}
	return arch.ABIGo
}

// goMinor is N of the Go 1.N that built a file, 0 if it does not say.
func goMinor(file *exe.File) int {
	minor, _ := file.GoVersion()
	return minor
}

// ofAssembly is how symbols of Go's functions in assembly end.
const ofAssembly = ".abi0"

// symbolABI is the convention of a function that has a symbol.
func symbolABI(file *exe.File, sym exe.Symbol) arch.ABI {
	x := abiOf(file, sym.Addr)
	// Go's assembly keeps the convention of old. The wrapper that other code calls has the name
	// without the end.
	if x == arch.ABIGo && strings.HasSuffix(sym.Name, ofAssembly) {
		return arch.ABIGoStack
	}
	return x
}

// ArgLimit is how many argN a probe has at a point.
func ArgLimit(p *probe.Point, a *arch.Arch) int {
	// Go has nine registers for integers where C has six on x86-64; further ones are read from
	// the stack by C's convention alone.
	if pl := p.Place; pl != nil && pl.ABI == arch.ABIGo {
		return len(a.GoArgs)
	}
	return len(a.Args)
}

// groupABI is the convention that all functions of a group have.
func groupABI(c *probe.Context) arch.ABI { return c.Group.Points[0].Place.ABI }

// userArg is argN of a function of user space.
func userArg(c *probe.Context, n int) *ir.Value {
	b, a, x := c.B, c.O.Machine.Arch(), groupABI(c)
	regs := x.Regs(a)
	if n < len(regs) {
		v := b.U64(c.Ctx, regs[n])
		if x.Bytes() < 8 {
			v = b.Ext(v, x.Bytes(), false)
		}
		return v
	}
	// In 32-bit programs argN count on where the registers end.
	// A read that fails leaves the zero that is put there first: the page need not be in memory.
	tmp := b.Addr(b.NewObject("arg", 8, 8), 0)
	b.Zero(tmp, 0, 8)
	at := b.Add(b.U64(c.Ctx, a.SP), int64(x.Stack(a)+(n-len(regs))*x.Bytes()))
	b.Call(int(asm.FnProbeReadUser), tmp, b.Const(int64(x.Bytes())), at)
	return b.U64(tmp, 0)
}

// userRetval is the result of a function of user space.
func userRetval(c *probe.Context) *ir.Value {
	v := probe.RegRetval(c)
	// The upper half of the register is not part of the result; int is what most functions
	// return.
	if x := groupABI(c); x.Bytes() < 8 {
		return c.B.Ext(v, x.Bytes(), true)
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

// setOf is the instruction set of functions, 0 if hawk does not decode it.
func setOf(x arch.ABI, a *arch.Arch) insn.Set {
	s := insn.Native(a.GoArch)
	if x == arch.ABI386 || x == arch.ABIARM {
		return s.Narrow()
	}
	return s
}
