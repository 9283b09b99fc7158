package arch

// An ABI is how functions of a file receive their arguments and return.
type ABI uint8

// The conventions.
const (
	ABIC       ABI = iota // of the machine
	ABIGo                 // Go's registers
	ABIGoStack            // Go's before it used registers, and that of its assembly: all on the stack
	ABI386                // 32-bit x86: all on the stack
	ABIARM                // 32-bit ARM: four registers, then the stack
)

// IsGo reports whether the convention is one of Go's.
func (x ABI) IsGo() bool { return x == ABIGo || x == ABIGoStack }

// Regs are the offsets in the context of the registers that carry integer
// arguments.
func (x ABI) Regs(a *Arch) []int {
	switch x {
	case ABIGo:
		return a.GoArgs
	case ABI386, ABIGoStack:
		return nil
	case ABIARM:
		// A 32-bit program has its first four arguments in the registers that a 64-bit one has
		// its first in.
		return a.Args[:4]
	}
	return a.Args
}

// Bytes is the size of a register or a slot of the stack.
func (x ABI) Bytes() int {
	if x == ABI386 || x == ABIARM {
		return 4
	}
	return 8
}

// Stack is how far above the stack pointer the first argument in memory lies
// on entry.
func (x ABI) Stack(a *Arch) int {
	switch {
	// The return address, which call has pushed, lies in front of the arguments.
	case x == ABI386:
		return 4
	case x == ABIARM:
		return 0
	case x.IsGo() && a.Return < 0:
		return 8 // Go's callee keeps the return address at the stack pointer
	}
	return a.Stack
}
