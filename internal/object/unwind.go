package object

// Unwinding of user stacks without frame pointers: kernel maps that programs
// search.
//
// The map of UnwindSpacesRole has an UnwindSpace for each process, by u32 process ID. User
// space makes them. Where the kernel lets programs walk the mappings of a process
// they do so themselves when they meet one, starting from a copy of that of
// process 0, which is empty, and the map of UnwindFilesRole tells them what files there are
// tables of.
//
// That of UnwindChunksRole has sorted rows of u32 position and u32 payload, by u32 chunk
// number: in the index of a file the payload is another chunk's number, in
// that one a Rule. Positions are addresses of the file less its lowest one. Numbers
// are not used again: what was found by one stays true.
//
// The array of UnwindRulesRole keeps rules that were found.
const (
	// UnwindRows is the number of rows of a chunk, a power of two. Rows that
	// are not used have the greatest position.
	UnwindRows    = 2048
	UnwindRowSize = 8
	UnwindChunk   = UnwindRows * UnwindRowSize // bytes

	// A space, then the mappings with code by address. Offsets of its fields:
	UnwindState    = 0  // u32
	UnwindCount    = 4  // u32: mappings; UnwindMost if there are more, or not all with code are there
	UnwindStrays   = 8  // u64: stacks with an address outside of all mappings; of process 0, how many spaces were made
	UnwindIdentity = 16 // u64: made of what tells address spaces apart; 0: none has it
	// u32: not 0 if programs that can make a space should do so again: mappings of files that
	// nothing is known of, or that may be out of date
	UnwindUnknown  = 24
	UnwindBare     = 28 // u32: mappings of code without frame pointers
	UnwindCode     = 32 // u64: pages of code that the process had mapped then, as the kernel counts them
	UnwindMappings = 40
	// A mapping: u64 start, u64 end, u64 what to subtract from addresses for
	// positions, u32 number of the index, u32 unused. The index is 0 if there is
	// no table: of the file, of code made at run time, or not yet. Those that are not used start at the greatest
	// positive address.
	UnwindStart   = 0
	UnwindEnd     = 8
	UnwindDelta   = 16
	UnwindIndex   = 24
	UnwindMapping = 32
	// UnwindMost is the number of mappings, a power of two.
	UnwindMost  = 256
	UnwindSpace = UnwindMappings + UnwindMost*UnwindMapping // bytes

	// A rule that was found: u64 place, which is the number of the file's index, then the
	// position in the low half; u64 Rule. With the place goes, by exclusive or, the rule times
	// UnwindMix. It is at the topmost bits of the place times UnwindMix.
	UnwindKeptPlace = 0
	UnwindKeptRule  = 8
	UnwindKept      = 16   // bytes
	UnwindMaxKept   = 4096 // a power of two

	UnwindMaxSpaces = 1024
	UnwindMaxChunks = 4096 // 64 MB
	UnwindMaxFiles  = 8192

	// A file is known by u64 inode, u64 size and when it was changed, u64 seconds
	// and u64 nanoseconds; the vDSO by UnwindVDSO as its inode and nothing else. Of
	// the device, programs and user space see different numbers on some file
	// systems.
	UnwindInode   = 0
	UnwindSize    = 8
	UnwindSeconds = 16
	UnwindNanos   = 24
	UnwindFileKey = 32 // bytes
	UnwindVDSO    = -1
	UnwindWide    = 1 << 32 // the vDSO of 64-bit programs lies above it, that of others below
	// A file has: u64 what to subtract from offsets in it for positions,
	// u32 number of its index or 0, u32 1 if it has code without frame pointers.
	UnwindShift     = 0
	UnwindFileIndex = 8
	UnwindFileBare  = 12
	UnwindFile      = 16 // bytes
)

// UnwindIdentityOf are members of struct mm_struct. The identity of a space is
// made of them: 0, multiplied by UnwindMix and added to for each, with bit 0 set.
var UnwindIdentityOf = [...]string{"start_code", "end_code", "start_stack", "start_data", "arg_start"}

const UnwindMix = -0x61c8864680b583eb // 2^64 divided by the golden ratio

// States of a space.
const (
	UnwindReady   = 1
	UnwindFrames  = 2 // frame pointers will do, or have to
	UnwindWaiting = 4 // there are not all tables yet
)

// StackDoubted is set in the number of a user stack that was walked by frame
// pointers as there were no tables to walk it by, whether the code keeps them or not.
const StackDoubted = 1 << 62

// A Rule says where the caller's frame is: its kind in the low bits, then the
// distance of the CFA from its register and that of the saved frame pointer
// below the CFA, 0 if it was not saved. Distances are in words.
//
// On x86-64 the return address is right below the CFA. On arm64 it is right
// above the saved frame pointer, or in the link register if that was not saved.
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
	RuleNone  = iota // nothing is known; RuleGuess is taken instead
	RuleEnd          // there is no caller
	RuleFail         // the rule is beyond this format
	RuleSP           // the CFA is the stack pointer plus a distance
	RuleFP           // the CFA is the frame pointer plus a distance
	RuleSaved        // the CFA lies in memory, a distance below the frame pointer, which points to its saved self
	// the CFA is the stack pointer plus 8, plus 8 more from a byte of a 16-byte stub on, which the
	// distance says
	RulePLT
	RuleSignal // the frame that the kernel makes for a signal handler
	// arm64: like RuleSP, but the second distance is that of the return address, and the frame
	// pointer was not saved
	RuleSPLink
	RuleFPLink // arm64: the same for RuleFP
	RuleGuess  // to go by the frame pointer, as programs do without a rule
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
