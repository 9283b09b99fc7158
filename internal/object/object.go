// Package object is the compiled program as a plain value: programs as
// instructions, maps, the layout of shared data and of events, source lines.
// It is all that loading and running need; nothing in it refers to the tree.
package object

import (
	"github.com/hawktrace/hawk/internal/bpf"
	"github.com/hawktrace/hawk/internal/codegen"
	"github.com/hawktrace/hawk/internal/probe"
	"github.com/hawktrace/hawk/internal/source"
	"github.com/hawktrace/hawk/internal/types"
	"github.com/hawktrace/hawk/internal/value"
)

// An Object is a compiled script.
type Object struct {
	Programs []*Program
	Maps     []*Map // numbered as MapPtr operations refer to them
	Data     Data
	Events   []*Event // by event number, from 0
	Sites    []*Site  // by site number
	Scripts  []*ScriptMap
	Options  []*Option // in order of first use
	Strings  []string  // names that programs refer to by number (probe names)
	License  string
}

// A Program is one program and where it attaches.
type Program struct {
	Name  string       // at most 15 bytes reach the kernel
	Group *probe.Group // whose mechanism is looked up by those that load and attach
	Code  *codegen.Code
	At    source.Span // the probe
	// Sleeps: it waits for pages of user memory.
	Sleeps bool
}

// A Map is a kernel map.
type Map struct {
	Name       string
	Role       Role
	Type       bpf.MapType
	KeySize    int
	ValueSize  int
	MaxEntries int // of a perf event array as many as there are CPUs, when loading
	Flags      uint32
	// Text is the one element of a map that nobody can write to, "" for others.
	Text string
	// Inner is the number of the map whose like a map of maps holds; it comes before.
	Inner int
}

// Every object has these maps first. The size of the ring buffers is decided
// when loading, and how many of those in the object are different ones.
const (
	RingMap    = 0 // the first ring buffer, see Rings
	ScratchMap = 1 // slots of scratch memory; ValueSize and MaxEntries are 0 if no program needs it
)

// Rings are the numbers of the ring buffers that records go through, RingMap first. Where the object
// has several each record begins with the time when it was made, see TimeBytes.
func (o *Object) Rings() (out []int) {
	for i, m := range o.Maps {
		if m.Type == bpf.RingBuf {
			out = append(out, i)
		}
	}
	return out
}

// TimeBytes is the size of what stands in front of a record of an object with several ring buffers: u64
// nanoseconds of the monotonic clock, or 0 if only one of them is in use.
const TimeBytes = 8

// Data is the one-entry mmapable array that programs and user space share.
// The fixed part comes first.
type Data struct {
	Bytes int    // total size
	Init  []byte // initial content, shorter than Bytes if the rest is zero
	// CPUSlots is the number of per-CPU slots: possible CPUs rounded up to a
	// power of two.
	CPUSlots int
}

// Fixed offsets in the data map, each on a cache line of its own.
const (
	DataBell   = 0   // u64: 1 while the reader sleeps; a program that clears it wakes the reader
	DataExited = 64  // u64: 1 once exit() ran: programs return at once
	DataStatus = 72  // u64: the status exit() was given
	DataLost   = 128 // u64: records that found no room in the ring buffer
	DataMissed = 136 // u64: events skipped because no scratch slot was free
	DataUnread = 144 // u64: strings of user memory that could not be read
	DataStart  = 192 // u64: boot-clock nanoseconds when tracing began
	DataCPID   = 200 // u64: process of -c
	DataTAI    = 208 // i64: what to add to the boot clock for nanoseconds since 1970 (TAI)
	DataZero   = 216 // u64: always zero, which the verifier does not know
	DataResult = 224 // u64: what the test or bench that runs has returned
	// A processor sends to the ring buffer (number >> DataShift) & DataRings.
	DataRings = 232 // u64: how many there are, less one; 0: records need no time
	DataShift = 240 // u64
	DataFree  = 256 // first offset free for the script
)

// An Event is the layout of one kind of ring buffer record. Every record
// starts with the event number in its first 4 bytes; 4 more belong to the
// event's builtin.
type Event struct {
	Builtin string      // whose Handle hook acts on it: that of the call, if its Lower does not say
	At      source.Span // the call
	Args    []Arg
	Bytes   int           // of the fixed part, header included
	Text    string        // literal argument: format of printf, name of a clock format
	Map     int           // number in Object.Scripts, -1 if none
	Extra   []int64       // literal integer arguments
	Format  *value.Format // Text, if that is a format; nil: it is none
	Stamp   int           // offset in a record of when and by whom it was sent; 0: that was not asked for
}

// A stamp at the end of the fixed part of a record: offsets in it.
const (
	StampTime  = 0  // u64: the boot clock, nanoseconds
	StampTask  = 8  // u64: process in the upper half, thread in the lower
	StampCPU   = 16 // u64
	StampBytes = 24
)

// An Arg is one value in a record.
type Arg struct {
	Type   types.Type
	Offset int // from the start of the record
	// Tail marks a string that is appended behind the fixed part: at Offset
	// stand u32 offset from the start of the record and u32 length.
	Tail bool
}

// A Site is a place in the script that may fail at run time. Programs count
// failures at data offset Offset: u64 count, i64 last code.
type Site struct {
	At     source.Span
	Kind   SiteKind
	Helper string // without bpf_, for HelperFailed
	Map    int    // number in Object.Scripts of the map that an update failed of, -1 if none
	Offset int
}

// UpdateHelper is the Helper of sites where updates of maps fail, which have a Map.
const UpdateHelper = "map_update_elem"

// SiteKind is what went wrong.
type SiteKind uint8

// The kinds of site.
const (
	HelperFailed SiteKind = iota
	DivideByZero
	StackFailed
	IndexOutOfBounds
	LoopTooLong    // a loop ran out of the rounds that the kernel grants
	NoChild        // cpid was asked for and there is no command; Helper is its name
	NoTask         // comm() was asked for a process that does not exist
	NoKfunc        // the kernel lacks the function Helper
	IndexBeyondEnd // like IndexOutOfBounds, but what lies there was read
)

// A ScriptMap is a map of the script and where its value lives.
type ScriptMap struct {
	Name  string     // with @
	Key   types.Type // nil: scalar
	Value types.Type
	// Map is the number of the kernel map, or -1 when the value lives in the
	// data map at Offset.
	Map    int
	Offset int
	// PerCPU: the value is one cell per CPU, Stride bytes apart in the data
	// map, or a per-CPU kernel map's.
	PerCPU bool
	Stride int
	// Cell is the size of one cell or value in bytes. A scalar in the data map
	// has a u64 "present" word in front of it: the cell follows at +8.
	Cell int
	// Soft: an element of the kernel map is {u64 value, u64 present}, and
	// delete clears both instead of removing the element, which is three times
	// cheaper for the store-and-delete pattern of latency scripts. Elements with
	// present 0 do not exist for the user.
	Soft bool
	// Agg is set when the value is an aggregation's cell.
	Agg *types.Agg
	// Parts is the number of the per-CPU kernel map that the parts of cells are
	// in, which are too large for one element: {u64 number, u64 part} → part. A
	// cell of the map itself is the number, and goes with all its parts when another takes its
	// place. 0: cells are whole.
	Parts int
	// Short is the number of the kernel map for elements whose key ends in a short text, in which
	// the key is cut to the size of that map's; the rest would be zeroes. The others are in Map.
	// 0: all are there.
	Short int
	// Turns is what a map with two generations has for Take, the zero value of others.
	Turns Turns
}

// Tables are the numbers of the kernel maps that the elements of a map with keys are in.
func (m *ScriptMap) Tables() []int {
	if m.Short != 0 {
		return []int{m.Map, m.Short}
	}
	return []int{m.Map}
}

// Turns say where the two generations of a script map are: programs use one of them.
type Turns struct {
	// Outer is the number of the map of maps, with one element: the kernel map in use,
	// which is Map or its twin. 0: the map is in the data map, or has one generation.
	Outer int
	// Word is the offset of a u64 that is 0 or 1, and Bytes lie between a cell of
	// generation 0 in the data map and that of generation 1. 0: the map is not in the
	// data map, or has one generation.
	Word, Bytes int
}

// Two reports whether there are two generations.
func (t Turns) Two() bool { return t.Outer != 0 || t.Bytes != 0 }
