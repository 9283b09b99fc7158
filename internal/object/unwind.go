package object

// Unwinding of user stacks without frame pointers: two kernel maps, which user
// space fills and programs search.
//
// UnwindSpaces has an UnwindSpace for each process, by u32 process ID.
// UnwindChunks has sorted rows of u32 position and u32 payload, by u32 chunk
// number: in the index of a file the payload is another chunk's number, in
// that one a Rule. Positions are addresses of the file less its lowest one.
const (
	UnwindSpacesName = "unwind.spaces" // no script can name maps so
	UnwindChunksName = "unwind.chunks"
	UnwindAskedName  = "unwind.asked" // processes that wait for their space, by u32 process ID

	// UnwindRows is the number of rows of a chunk, a power of two. Rows that
	// are not used have the greatest position.
	UnwindRows    = 2048
	UnwindRowSize = 8
	UnwindChunk   = UnwindRows * UnwindRowSize // bytes

	// A space: u32 state, u32 unused, u64 count of addresses outside of all
	// mappings, then the mappings with tables by address.
	UnwindState    = 0
	UnwindStrays   = 8
	UnwindMappings = 16
	// A mapping: u64 start, u64 end, u64 what to subtract from addresses for
	// positions, u32 number of the index, u32 unused. Those that are not used
	// start at the greatest positive address.
	UnwindStart   = 0
	UnwindEnd     = 8
	UnwindDelta   = 16
	UnwindIndex   = 24
	UnwindMapping = 32
	// UnwindMost is the number of mappings, a power of two.
	UnwindMost  = 256
	UnwindSpace = UnwindMappings + UnwindMost*UnwindMapping // bytes

	UnwindMaxSpaces = 1024
	UnwindMaxChunks = 4096 // 64 MB
)

// States of a space.
const (
	UnwindReady  = 1
	UnwindFrames = 2 // there are no tables, or frame pointers will do
)

// A Rule says where the caller's frame is: its kind in the low bits, then the
// distance of the CFA from its register and that of the saved frame pointer
// below the CFA, 0 if it was not saved. Distances are in words.
type Rule uint32

// Fields of a Rule.
const (
	RuleKindBits = 4
	RuleBits     = 14
	RuleCFAShift = RuleKindBits
	RuleFPShift  = RuleKindBits + RuleBits
	RuleMost     = 1<<RuleBits - 1
)

// Kinds of rule.
const (
	RuleNone   = iota // nothing is known: taken for a function with a frame pointer
	RuleEnd           // there is no caller
	RuleFail          // the rule is beyond this format
	RuleSP            // the CFA is the stack pointer plus a distance
	RuleFP            // the CFA is the frame pointer plus a distance
	RuleSaved         // the CFA lies in memory, a distance below the frame pointer, which points to its saved self
	RulePLT           // the CFA is the stack pointer plus 8, plus 8 more from a byte of a 16-byte stub on, which the distance says
	RuleSignal        // the frame that the kernel makes for a signal handler
)

// NewRule packs a rule; distances that do not fit give RuleFail.
func NewRule(kind, cfa, fp int) Rule {
	if cfa < 0 || cfa > RuleMost || fp < 0 || fp > RuleMost {
		return RuleFail
	}
	return Rule(kind | cfa<<RuleCFAShift | fp<<RuleFPShift)
}

// Kind is the kind of a rule.
func (r Rule) Kind() int { return int(r & (1<<RuleKindBits - 1)) }
