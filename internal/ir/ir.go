// Package ir is hawk's intermediate representation: SSA over basic blocks,
// close enough to eBPF that code generation is a choice of registers.
//
// Scalars are 64-bit values. What narrower types mean is explicit: loads
// extend, stores truncate, Ext normalises. Strings, tuples, keys and records
// are memory: an Object is a piece of stack or scratch memory, referred to by
// address. A value of kind Ptr must reach the instruction that dereferences
// it with its provenance intact, because the kernel's verifier follows it.
package ir

import "github.com/hawktrace/hawk/internal/source"

// Kind is what a value is to the verifier.
type Kind uint8

// The kinds of value.
const (
	Nothing Kind = iota
	I64
	Ptr // a pointer the verifier knows: context, map value, stack, record, BTF
)

// Op is an operation. The table in op.go gives arity and properties.
type Op uint8

// A Value is one operation and its result.
type Value struct {
	ID   int
	Op   Op
	Kind Kind
	Args []*Value
	Imm  int64   // constant, byte offset, helper number: see the op table
	Size uint8   // bytes moved by loads, stores, atomics; width of Ext
	Len  int     // bytes cleared or moved by Zero and Copy
	Sign bool    // loads and Ext: sign-extend
	Obj  *Object // Addr
	Fn   *Func   // FuncPtr, CallPiece
	Sym  string  // CallKfunc: name; comments elsewhere
	At   source.Span

	Block *Block
}

// An Object is memory of one function invocation. Its content is undefined
// until written.
type Object struct {
	ID    int
	Name  string // for printing: variable name, "key", "record"
	Size  int    // bytes
	Align int    // power of two, at most 8
	// Stack forces the object onto the stack: helpers such as bpf_loop accept
	// nothing else for their context.
	Stack bool
	// Far keeps the object off the stack: kernels refuse places of the stack that only the run knows.
	Far bool
	// Offset is where placement put the object in the frame: its first byte is
	// at r10-Offset. 0: not placed yet.
	Offset int
}

// BlockKind is how a block ends.
type BlockKind uint8

// The ways to end a block.
const (
	Jump    BlockKind = iota // to Succs[0]
	If                       // Ctl != 0: Succs[0], else Succs[1]
	Ret                      // return Ctl
	MayGoto                  // loop budget left: Succs[0], used up: Succs[1] (needs the feature)
)

// A Block is a straight run of values with one way out.
type Block struct {
	ID     int
	Kind   BlockKind
	Values []*Value // Phis first
	Ctl    *Value
	Succs  []*Block
	Preds  []*Block // same order as the arguments of Phis
	Cold   bool     // unlikely: laid out last
	Func   *Func
	At     source.Span
}

// A Func is one function: a program's main function, a callback, or a piece.
type Func struct {
	Name    string
	NParams int // R1…R5 on entry, read by Param; the context is Param 0 of a main function
	Blocks  []*Block
	Objects []*Object
	// Body is the block in front of which scratch memory is claimed when
	// objects do not fit the stack: after pid filter and predicate, so that
	// events of no interest do not pay. It dominates every use of an object
	// that may be moved to scratch. Nil: Entry.
	Body *Block
	// Static marks a callback, called through its address, or a function that is
	// part of its callers to the verifier: static linkage.
	Static bool
	// Piece marks a function with global linkage, which the verifier looks at by
	// itself, whoever calls it. With one or two parameters, 0 is the number of the
	// scratch slot that holds the program's state and 1 the context; more are numbers.
	Piece bool
	// SlotAt is where a callback finds the number of that slot: the offset from
	// its last parameter.
	SlotAt int

	nextValue, nextBlock, nextObject int
}

// Entry is the first block.
func (f *Func) Entry() *Block { return f.Blocks[0] }

// A Prog is all functions loaded together as one program; Funcs[0] is main.
type Prog struct {
	Name  string
	Funcs []*Func
	// State is how many bytes of memory the functions share; see op State.
	State int
}
