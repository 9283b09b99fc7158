package arch

// A Place is where the words of an argument lie when a function is entered:
// in argument registers from Reg on, or on the stack from Stack on.
type Place struct {
	Reg   int // number of the first argument register, -1: on the stack
	Stack int // bytes above the first stack argument
}

// An Arg is what the calling convention asks of an argument. Floating-point
// arguments are none of its business: the kernel has none.
type Arg struct {
	Bytes  int
	Align  int  // bytes
	Struct bool // a struct or union by value
}

// wordsInRegisters is how large a struct may be to travel in registers.
const wordsInRegisters = 2

// Places assigns arguments to registers and stack in order. Indirect tells
// which are passed as the address of a copy, in place of themselves.
func (a *Arch) Places(args []Arg) (places []Place, indirect []bool) {
	places, indirect = make([]Place, len(args)), make([]bool, len(args))
	reg, stack := 0, 0
	for i, arg := range args {
		words := max(1, (arg.Bytes+7)/8)
		large := arg.Struct && words > wordsInRegisters
		if large && a.LargeByAddress {
			words, large, indirect[i] = 1, false, true
		}
		wide := arg.Align > 8 && !indirect[i]
		if wide && a.EvenRegisters && reg%2 == 1 {
			reg++
		}
		if !large && reg+words <= len(a.Args) {
			places[i] = Place{Reg: reg}
			reg += words
			continue
		}
		if !large && a.StackFromThen {
			reg = len(a.Args)
		}
		if wide {
			stack = (stack + 15) &^ 15
		}
		places[i] = Place{Reg: -1, Stack: stack}
		stack += 8 * words
	}
	return places, indirect
}
