package probe

import (
	"github.com/hawktrace/hawk/internal/arch"
	"github.com/hawktrace/hawk/internal/dwarf"
	"github.com/hawktrace/hawk/internal/types"
)

// A Place is where in a file a probe of user space goes.
type Place struct {
	Offset  uint64   // in the file, bytes
	Returns []uint64 // in the file: the return instructions, if those are to be traced instead of the return
	Kept    bool     // at these the return address is that of the caller, and the function's frame is gone
	ABI     arch.ABI
	GoMinor int       // N of the Go 1.N that compiled it, 0 if that is not known
	Func    uint64    // address of the function
	Size    uint64    // of its code, bytes; 0 if that is not known
	Args    *UserArgs // of the function, found when first asked for; nil if it is in none
	Err     error     // why the probe must not be put there; told when attaching
	Unsafe  error     // the same, where patterns pass over it
}

// UserArgs are the arguments of a function of user space by name.
type UserArgs struct {
	Record *types.Struct
	Placed map[string]PlacedArg
}

// A PlacedArg is an argument with its place.
type PlacedArg struct {
	In    ArgIn
	Reg   int          // number of the first register
	Regs  []int        // offsets of the registers in the context
	Parts []dwarf.Leaf // what of the value each register holds
	Stack int          // distance from the stack pointer, bytes
	Param *dwarf.Param
}

// An ArgIn says where an argument travels.
type ArgIn uint8

// The ways of arguments.
const (
	InNothing ArgIn = iota // it has no bytes
	InRegs                 // in registers
	InFloats               // in registers that programs cannot read, at least in part
	InStack                // on the stack
	InAddress              // in memory, its address as if that were the argument
	InSplit                // partly in a register, partly on the stack
)

// A BPFFunc is the function of a BPF program that a point is on.
type BPFFunc struct {
	Prog  uint32 // ID
	Type  uint32 // of the function, in the BTF of the program
	Proto *types.Func
}

// A PerfEvent is an event that the kernel counts.
type PerfEvent struct {
	Name, Alias string
	Config      uint64
	Count       uint64 // default period
	Type        uint32 // as perf_event_attr has it; 0 in rows of tables, whose kind says it
	Config12    [2]uint64
	CPUs        []int // nil: all
}

// MarkSites are the places of a program on USDT marks.
type MarkSites struct {
	Sites   []Site
	Specs   [][]USDTArg // distinct argument lists of the sites
	Cookies bool        // the cookie of a site is its point<<32 | spec
}

// A USDTArg is an argument of a mark with its symbol resolved.
type USDTArg struct {
	arch.USDTArg
	// FromIP is what to add to the instruction pointer at the probe to get the
	// address of Symbol: the two move together wherever the file is loaded.
	FromIP int64
}

// A Site is a breakpoint in a file.
type Site struct {
	Point     *Point // that it belongs to
	Path      string
	Offset    uint64 // in the file
	Semaphore uint64 // in the file, 0 if none
	Cookie    uint64
	Entry     bool  // where a function starts
	Unsafe    error // why no probe must be put there, nil unless that is known already
}
