package user

import (
	"debug/elf"
	"errors"
	"fmt"

	"github.com/hawktrace/hawk/internal/arch"
	"github.com/hawktrace/hawk/internal/exe"
	"github.com/hawktrace/hawk/internal/insn"
	"github.com/hawktrace/hawk/internal/probe"
)

// warnChosen warns of a function that the loader chooses among several: its
// symbol is where that happens.
func warnChosen(p *probe.Point, o *probe.Options, path string, sym exe.Symbol) {
	if sym.Type == elf.STT_GNU_IFUNC && !o.ForListing {
		o.Warn(p, "%s of %s is chosen from several implementations when a program is loaded: the probe is where "+
			"that happens, and does not fire at calls "+
			"(the implementations have names of their own, which debug symbols know)", sym.Name, path)
	}
}

// symbolPlace finds the instruction of a probe on a function, or on its return if there are facts about
// returns.
func symbolPlace(p *probe.Point, o *probe.Options, file *exe.File, sym exe.Symbol, facts *returnFacts) *probe.Place {
	off, ok := file.Offset(sym.Addr)
	if !ok {
		return &probe.Place{Err: fmt.Errorf("%s of %s is not in a segment of the file", sym.Name, p.Target)}
	}
	pl := &probe.Place{Offset: file.Start + off + p.Offset, ABI: symbolABI(file, sym), GoMinor: goMinor(file),
		Func: sym.Addr, Size: sym.Size, Args: &probe.UserArgs{}}
	if facts != nil && file.IsGoCode(sym.Addr) {
		pl.Returns, pl.Err = returnPlaces(o, file, sym, facts, pl.ABI)
		return pl
	}
	if facts != nil {
		setReturn(p, o, file, sym, facts, pl)
	}
	if p.Offset == 0 || o.Unsafe {
		// The rule and its words are bpftrace's.
		if sym.Size == 0 && !o.Unsafe && p.Offset == 0 {
			pl.Err = fmt.Errorf("Could not determine boundary for %s (symbol has size 0)", sym.Name)
		}
		warnInside(p, o, file, sym, pl.ABI, p.Offset)
		return pl
	}
	// Symbols of size 0 end here, too: without an end nobody knows that the offset is in them.
	if p.Offset >= sym.Size {
		pl.Err = fmt.Errorf("Offset outside the function bounds ('%s' size is %d)", sym.Name, sym.Size)
		return pl
	}
	pl.Err = boundaryError(o, file, sym, pl.ABI, p.Offset)
	return pl
}

// errNoReturn is the error of functions that never return: loops, and those
// that end in a panic.
var errNoReturn = errors.New("no return instruction")

// returnPlaces finds the return instructions of a Go function. The kernel's return probes replace
// the return address on the stack: a stack that Go copies would keep it, and the runtime would find
// an address there that is in no function.
func returnPlaces(o *probe.Options, file *exe.File, sym exe.Symbol, facts *returnFacts, x arch.ABI) ([]uint64, error) {
	// The runtime moves stacks, and looks for return addresses on them.
	const why = "a Go function's return is traced at its return instructions"
	if !x.IsGo() {
		return nil, fmt.Errorf("%s, which hawk does not find in 32-bit code: %s", why, sym.Name)
	}
	code := file.Code(sym.Addr, sym.Size)
	if facts.left -= int64(len(code)); sym.Size == 0 || code == nil || facts.left < 0 {
		return nil, fmt.Errorf("%s, but %s has no code whose end is known", why, sym.Name)
	}
	offsets, err := insn.ReturnOffsets(setOf(x, o.Machine.Arch()), code)
	if err != nil {
		return nil, fmt.Errorf("%s, but in %s %w", why, sym.Name, err)
	}
	if len(offsets) == 0 {
		return nil, fmt.Errorf("%s, but %s has %w", why, sym.Name, errNoReturn)
	}
	base, ok := file.CodeOffset(sym.Addr)
	if !ok {
		return nil, fmt.Errorf("%s is not in the code of %s", sym.Name, file.Path)
	}
	for i := range offsets {
		offsets[i] += file.Start + base
	}
	return offsets, nil
}

// setReturn decides how the return of a function is traced that is no Go code. The kernel's return probes
// replace the return address, where the unwinder then finds a function that does not exist: an exception that
// passes through is not caught, and ends the program. So functions of files with exceptions are traced at
// their return instructions, if these are all the ways out. Of the others patterns pass over; one that is
// named is traced by the kernel's means.
func setReturn(p *probe.Point, o *probe.Options, file *exe.File, sym exe.Symbol, facts *returnFacts, pl *probe.Place) {
	special := facts.special(sym.Addr)
	passes := special == passed
	switch {
	case special == asksCaller:
		// It may end as a hook that programs linked with no library have does.
		offsets, _, err := keptReturns(o, file, sym, facts, pl.ABI, true)
		if pl.Returns, pl.Kept = offsets, err == nil; err != nil {
			pl.Unsafe = returnUnsafe(p, sym, special)
		}
		return
	case special != "" && !passes:
		pl.Unsafe = returnUnsafe(p, sym, special)
		return
	case !facts.throws && !passes:
		return
	}
	const why = "an exception that passes through a function whose return is probed ends the program"
	offsets, calls, err := keptReturns(o, file, sym, facts, pl.ABI, false)
	named := p.Pattern == nil || !p.Pattern.Fn.HasWild()
	switch {
	// No exception passes through a function that calls nothing, unless a signal begins one there, and the
	// kernel's means cost a part of a step over a return instruction.
	case err == nil && !calls && !passes && !facts.signals:
	case err == nil:
		pl.Returns, pl.Kept = offsets, true
	case o.Unsafe || o.ForListing:
	case errors.Is(err, errNoReturn):
		pl.Err = fmt.Errorf("%s of %s has %w", sym.Name, p.Target, err)
	case named:
		o.Warn(p, "%s of %s %v: %s", sym.Name, p.Target, err, why)
	default:
		pl.Unsafe = fmt.Errorf("%s of %s %w: %s; --unsafe probes it all the same", sym.Name, p.Target, err, why)
	}
}

// mostParts bounds the parts of one function that are looked at.
const mostParts = 16

// keptReturns finds the return instructions of a function, if it ends by these alone, and whether it calls
// others. The error is a clause about the function. With partly other ways out do not matter.
// Compilers put what is rarely reached of a function elsewhere. Code that it jumps to counts as such a part
// if it does not return: a function that is called last does, or ends as unknown.
func keptReturns(o *probe.Options, file *exe.File, sym exe.Symbol, facts *returnFacts, x arch.ABI, partly bool) (
	offsets []uint64, calls bool, err error,
) {
	set := setOf(x, o.Machine.Arch())
	parts, cold := []exe.Symbol{sym}, facts.cold[sym.Name]
	away := errors.New("may end with a jump to other code")
	for i := 0; i < len(parts); i++ {
		code := file.Code(parts[i].Addr, parts[i].Size)
		facts.left -= int64(len(code))
		if set == 0 || set == insn.I386 || len(code) == 0 || len(parts) > mostParts || facts.left < 0 {
			return nil, false, away
		}
		out, err := insn.ExitsOf(set, code)
		if err != nil || out.Unknown && !partly || i > 0 && len(out.Returns) > 0 {
			return nil, false, away
		}
		calls = calls || out.Calls
		if i == 0 {
			offsets = out.Returns
		}
		for _, table := range out.Tables {
			// The first place tells whose all are.
			out.Away = append(out.Away, int64(file.Word(uint64(table))-parts[i].Addr))
		}
		for _, to := range out.Away {
			target := parts[i].Addr + uint64(to)
			if partly || within(parts, target) {
				continue
			}
			if target-cold.Addr < cold.Size {
				parts = append(parts, cold)
				continue
			}
			start, end, ok := file.FrameSpan(target)
			if !ok {
				return nil, false, away
			}
			parts = append(parts, exe.Symbol{Addr: start, Size: end - start})
		}
	}
	base, ok := file.CodeOffset(sym.Addr)
	switch {
	case !ok:
		return nil, false, away
	case len(offsets) == 0:
		return nil, false, errNoReturn
	}
	for i := range offsets {
		offsets[i] += file.Start + base
	}
	return offsets, calls, nil
}

// within reports whether an address is in one of some stretches of code.
func within(parts []exe.Symbol, addr uint64) bool {
	for i := range parts {
		if addr-parts[i].Addr < parts[i].Size {
			return true
		}
	}
	return false
}

// boundaryError explains why a probe must not be put at an offset into a
// function: it is no start of an instruction.
func boundaryError(o *probe.Options, file *exe.File, sym exe.Symbol, x arch.ABI, off uint64) error {
	if off == 0 {
		return nil
	}
	// All instructions from the start of the function on are decoded, as their lengths differ.
	set, code := setOf(x, o.Machine.Arch()), file.Code(sym.Addr, sym.Size)
	if set == 0 {
		return fmt.Errorf("%s is 32-bit code, of which hawk does not know where instructions start: use --unsafe "+
			"to attach to %s+%d. "+
			"WARNING: in the middle of an instruction a probe changes what the program does.", file.Path, sym.Name, off)
	}
	if insn.IsBoundary(set, code, off) {
		return nil
	}
	near := insn.NearBoundaries(set, code, off)
	if near != "" {
		near = "Instructions start at offsets " + near + ".\n"
	}
	return fmt.Errorf("Could not add uprobe into middle of instruction: %s:%s+%d\n%s"+
		"Use --unsafe to force attachment. WARNING: This option could lead to data corruption in the "+
		"target process.", file.Path, sym.Name, off, near)
}

// warnInside warns of a probe that is put into the middle of an instruction.
func warnInside(p *probe.Point, o *probe.Options, file *exe.File, sym exe.Symbol, x arch.ABI, off uint64) {
	if o.ForListing || setOf(x, o.Machine.Arch()) == 0 || off >= sym.Size {
		return
	}
	if boundaryError(o, file, sym, x, off) != nil {
		o.Warn(p, "Unsafe uprobe in the middle of the instruction: %s:%s+%d; it can crash traced programs",
			file.Path, sym.Name, off)
	}
}

// addressPlace finds the instruction at an address of the file's numbering.
func addressPlace(p *probe.Point, o *probe.Options, file *exe.File, returns bool) *probe.Place {
	off, ok := file.CodeOffset(p.Address)
	if !ok {
		return &probe.Place{Err: fmt.Errorf("%s has no code at address 0x%x", p.Target, p.Address)}
	}
	pl := &probe.Place{Offset: file.Start + off, GoMinor: goMinor(file)}
	sym, found := lookUp(file, o, func(f *exe.File) (exe.Symbol, bool) { return f.FunctionAt(p.Address) })
	pl.ABI = abiOf(file, p.Address)
	// Arguments are where the convention puts them only at the start.
	if found && sym.Addr == p.Address {
		pl.Func, pl.Args = sym.Addr, &probe.UserArgs{}
	}
	switch {
	case returns && (!found || sym.Addr != p.Address):
		pl.Err = fmt.Errorf("0x%x is not the start of a function of %s: return probes need one", p.Address, p.Target)
	case returns && file.IsGoCode(sym.Addr):
		pl.Returns, pl.Err = returnPlaces(o, file, sym, returnFactsOf(file, o), pl.ABI)
	case returns:
		setReturn(p, o, file, sym, returnFactsOf(file, o), pl)
	case !found && o.Unsafe:
		o.Warn(p, "0x%x is in no function of %s; a probe that is not at the start of an instruction can crash "+
			"traced programs", p.Address, p.Target)
	case !found:
		pl.Err = fmt.Errorf("0x%x is in no function of %s; use --unsafe to attach there anyway", p.Address, p.Target)
	case o.Unsafe:
		warnInside(p, o, file, sym, pl.ABI, p.Address-sym.Addr)
	default:
		pl.Err = boundaryError(o, file, sym, pl.ABI, p.Address-sym.Addr)
	}
	return pl
}
