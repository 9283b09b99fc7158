package ir

// The operations. Arguments are named in order; Imm, Size, Sign, Obj, Fn and
// Sym are the fields of Value.
const (
	BadOp Op = iota

	// Values.
	Const   // Imm
	Param   // parameter number Imm of the function; Kind says what it is
	Phi     // one argument per predecessor, in Preds order
	Addr    // address of Obj plus Imm
	DataPtr // address of byte Imm of the program's data map (direct value)
	MapPtr  // map number Imm of the object
	FuncPtr // address of the callback Fn
	Reloc   // relocation Imm: an offset that the loader corrects, see object.Reloc
	State   // address of byte Imm of the state that the functions of a program share
	Slot    // number of the scratch slot that holds the state

	// Arithmetic, 64 bits, wrapping. Shift counts are taken modulo 64.
	Add // x, y; Ptr + I64 is Ptr (x is the pointer)
	Sub // x, y; Ptr - I64 is Ptr
	Mul
	UDiv // x, y; the caller makes sure that y is not 0 (eBPF yields 0)
	SDiv
	UMod
	SMod
	And
	Or
	Xor
	Shl
	LShr
	AShr
	UMin // x, y: the smaller one, of which the verifier knows that it is at most y
	Neg
	Ext   // x: keep the low Size bytes, extend by Sign
	Bswap // x: swap the low Size bytes, zero-extend

	// Comparisons give 0 or 1.
	Eq
	Ne
	ULt
	ULe
	SLt
	SLe
	// Select is missing on purpose: eBPF has none; use a branch.

	// Memory. Addresses are Ptr arguments plus Imm bytes.
	Load      // p: Size bytes at p+Imm, extended by Sign; Kind Ptr keeps provenance (Size 8)
	Store     // p, v: low Size bytes of v to p+Imm
	Zero      // p: clears Len bytes at p+Imm
	Copy      // dst, src: Len bytes from src+0 to dst+Imm; both readable directly and 8-aligned if Len ≥ 8
	AtomicAdd // p, v: add v to the Size (4 or 8) bytes at p+Imm
	AtomicXchg
	AtomicCmpXchg // p, old, new: yields what was there
	AtomicFetchAdd

	// Calls. Arguments are R1…R5.
	Call      // helper number Imm; Kind says whether the result is a pointer
	CallKfunc // kernel function Sym, BTF ID Imm
	CallPiece // the piece or static function Fn; the arguments are its parameters

	numOps
)

// opInfo is a row of the op table.
type opInfo struct {
	name  string
	args  int  // number of arguments, -1 for any
	pure  bool // no effect, result depends on arguments only: may be merged, moved, dropped
	reads bool // reads memory: may be dropped, not moved over writes
	comm  bool // commutative
	kind  Kind // of the result; Ptr arithmetic, loads and calls say it themselves
}

// Slot and State are pure: they are the same for the whole run of a program. Phi is not, since
// what it yields depends on where it stands.
var ops = [numOps]opInfo{
	BadOp:          {name: "bad"},
	Const:          {name: "const", pure: true, kind: I64},
	Param:          {name: "param", pure: true, kind: I64},
	Phi:            {name: "phi", args: -1, kind: I64},
	Addr:           {name: "addr", pure: true, kind: Ptr},
	DataPtr:        {name: "data", pure: true, kind: Ptr},
	MapPtr:         {name: "map", pure: true, kind: Ptr},
	FuncPtr:        {name: "func", pure: true, kind: Ptr},
	Reloc:          {name: "reloc", pure: true, kind: I64},
	State:          {name: "state", pure: true, kind: Ptr},
	Slot:           {name: "slot", pure: true, kind: I64},
	Add:            {name: "add", args: 2, pure: true, comm: true, kind: I64},
	Sub:            {name: "sub", args: 2, pure: true, kind: I64},
	Mul:            {name: "mul", args: 2, pure: true, comm: true, kind: I64},
	UDiv:           {name: "udiv", args: 2, pure: true, kind: I64},
	SDiv:           {name: "sdiv", args: 2, pure: true, kind: I64},
	UMod:           {name: "umod", args: 2, pure: true, kind: I64},
	SMod:           {name: "smod", args: 2, pure: true, kind: I64},
	And:            {name: "and", args: 2, pure: true, comm: true, kind: I64},
	Or:             {name: "or", args: 2, pure: true, comm: true, kind: I64},
	Xor:            {name: "xor", args: 2, pure: true, comm: true, kind: I64},
	Shl:            {name: "shl", args: 2, pure: true, kind: I64},
	LShr:           {name: "lshr", args: 2, pure: true, kind: I64},
	AShr:           {name: "ashr", args: 2, pure: true, kind: I64},
	UMin:           {name: "umin", args: 2, pure: true, kind: I64},
	Neg:            {name: "neg", args: 1, pure: true, kind: I64},
	Ext:            {name: "ext", args: 1, pure: true, kind: I64},
	Bswap:          {name: "bswap", args: 1, pure: true, kind: I64},
	Eq:             {name: "eq", args: 2, pure: true, comm: true, kind: I64},
	Ne:             {name: "ne", args: 2, pure: true, comm: true, kind: I64},
	ULt:            {name: "ult", args: 2, pure: true, kind: I64},
	ULe:            {name: "ule", args: 2, pure: true, kind: I64},
	SLt:            {name: "slt", args: 2, pure: true, kind: I64},
	SLe:            {name: "sle", args: 2, pure: true, kind: I64},
	Load:           {name: "load", args: 1, reads: true, kind: I64},
	Store:          {name: "store", args: 2},
	Zero:           {name: "zero", args: 1},
	Copy:           {name: "copy", args: 2},
	AtomicAdd:      {name: "xadd", args: 2},
	AtomicXchg:     {name: "xchg", args: 2, kind: I64},
	AtomicCmpXchg:  {name: "cmpxchg", args: 3, kind: I64},
	AtomicFetchAdd: {name: "fetchadd", args: 2, kind: I64},
	Call:           {name: "call", args: -1, kind: I64},
	CallKfunc:      {name: "kfunc", args: -1, kind: I64},
	CallPiece:      {name: "piece", args: -1, kind: I64},
}

func (op Op) String() string { return ops[op].name }

// Pure reports whether the operation has no effect and depends on its
// arguments only.
func (op Op) Pure() bool { return ops[op].pure }

// Commutative reports whether the two arguments may be swapped.
func (op Op) Commutative() bool { return ops[op].comm }

// Reads reports whether the operation reads memory and does nothing else: it
// may be dropped, but not moved over writes.
func (op Op) Reads() bool { return ops[op].reads }

// Compares reports whether the operation is a comparison.
func (op Op) Compares() bool { return op >= Eq && op <= SLe }

// Calls reports whether the operation is a call of any kind.
func (op Op) Calls() bool { return op >= Call && op <= CallPiece }

// Remade reports whether the value costs no more than a move wherever it is
// made: constants, and addresses that depend on nothing.
func (op Op) Remade() bool {
	switch op {
	case Const, Addr, DataPtr, MapPtr, FuncPtr, Reloc, State, Slot:
		return true
	}
	return false
}

// Accesses reports whether Args[0] is an address to which Imm is added.
func (op Op) Accesses() bool { return op >= Load && op <= AtomicFetchAdd }
