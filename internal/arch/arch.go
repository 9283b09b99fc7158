// Package arch holds what differs between processors: where registers lie in
// the context of a program (struct pt_regs), which of them carry arguments
// and results, and how the operands of USDT probes are written.
//
// Offsets are bytes from the start of struct pt_regs as BPF programs see it;
// every register there is a 64-bit little-endian word.
package arch

import "runtime"

// A Reg is a register or a part of one.
type Reg struct {
	Offset int // of the 8-byte word in struct pt_regs
	Shift  int // bits: how far the part lies above bit 0
	Width  int // bits: 64 for a full register
}

func full(offset int) Reg { return Reg{Offset: offset, Width: 64} }

// An Arch is one processor architecture.
type Arch struct {
	Name   string // as uname -m says: x86_64, aarch64
	GoArch string

	Args   []int // offsets of the argument registers of functions
	GoArgs []int // the same by the convention of Go, for integers and pointers
	GoG    int   // the goroutine's descriptor, in code that Go compiled
	Ret    int   // result of a function
	IP     int   // instruction pointer
	SP     int   // stack pointer
	FP     int   // frame pointer
	Return int   // offset from SP of the return address on entry, -1: in the link register
	Stack  int   // offset from SP of the first stack argument on entry

	// How arguments that are structs or do not fit travel; see Places.
	LargeByAddress bool // structs of more than two words as the address of a copy, not on the stack
	EvenRegisters  bool // what is aligned to 16 bytes starts at an even register
	StackFromThen  bool // once one argument is on the stack all that follow are

	// WatchModes are what hardware breakpoints can wait for: sorted letters of
	// r (read), w (write) and x (execute).
	WatchModes []string
	// WatchKernelForAll: breakpoints on the kernel's addresses are for whoever
	// runs, never for one thread.
	WatchKernelForAll bool

	// Those of the pt_regs that the sys_enter and sys_exit tracepoints pass.
	SyscallArgs   []int // offsets; on entry only
	SyscallNumber Reg   // valid on entry and exit
	SyscallRet    int

	// A program interrupted user code if the word at User.Offset, masked by
	// User.Mask, is User.Equal.
	User struct {
		Offset      int
		Mask, Equal uint64
	}
	// The current task runs a 32-bit program if this integer field of struct
	// task_struct has a bit of Mask set.
	Compat struct {
		Field []string
		Mask  uint64
		Args  []int // offsets of arguments in pt_regs; nil: where those of 64-bit programs are
	}

	// Unwind has the offsets from the stack pointer at which the frame of a signal
	// handler, where it has returned to, keeps registers of the code that was
	// interrupted, the link register where there is one; all 0 if user stacks are
	// not unwound by tables.
	Unwind struct{ SP, FP, PC, Link int }
	// Link is the register that return addresses are passed in, and CodeBits the
	// bits of one that are an address, others being a signature; 0 if there are
	// none.
	Link, CodeBits int

	reg     func(name string) (Reg, bool)
	operand func(text string) (USDTArg, error)
}

// Reg finds a register by the name that the language's reg() takes.
func (a *Arch) Reg(name string) (Reg, bool) { return a.reg(name) }

// ByName finds an architecture by its uname or Go name, nil if hawk does not
// know it.
func ByName(name string) *Arch {
	switch name {
	case "x86_64", "amd64":
		return AMD64
	case "aarch64", "arm64":
		return ARM64
	}
	return nil
}

// Native is the architecture hawk was built for, nil if it is not known.
func Native() *Arch { return ByName(runtime.GOARCH) }
