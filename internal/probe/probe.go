// Package probe declares the probe kinds. One table entry says everything
// hawk knows about a kind: its names, how an attach point of it is written,
// what a pattern matches, which context and arguments it offers, and by which
// mechanisms of the kernel it is attached. No other package compares kind
// names.
package probe

import (
	"slices"
	"strings"

	"github.com/hawktrace/hawk/internal/bpf"
	"github.com/hawktrace/hawk/internal/config"
	"github.com/hawktrace/hawk/internal/exe"
	"github.com/hawktrace/hawk/internal/ir"
	"github.com/hawktrace/hawk/internal/machine"
	"github.com/hawktrace/hawk/internal/order"
	"github.com/hawktrace/hawk/internal/source"
	"github.com/hawktrace/hawk/internal/types"
)

// A Point is one attach point, written or matched. Which fields matter
// depends on the kind.
type Point struct {
	Kind *Kind
	At   source.Span // the attach point in the script

	Target   string // module, category, binary as resolved
	Provider string // usdt provider, "cpp" in uprobes
	Func     string // function, event, unit
	Offset   uint64
	Address  uint64
	Period   uint64 // count or rate; profile and interval: nanoseconds, or Hz when Func is "hz"
	Length   uint64 // bytes that a watchpoint is on
	Mode     string // of a watchpoint: sorted letters of r, w, x
	Pin      string // path under which the kernel keeps it when hawk has ended, "" if not

	// These are what a point's kind finds out about it when it is matched.
	Place *Place     // of a function or address of user space
	Notes []exe.Note // of a USDT mark: one for each of its locations
	BPF   *BPFFunc   // of a BPF program
	Event *PerfEvent // that it counts

	// Parts are the parts behind the kind as written; shared by all points
	// matched by them.
	Parts []Part

	Pattern *Pattern // the names as written; shared by all points matched by it
	Memory  string   // how Target is shown if it is in memory alone: memfd:NAME
	Later   Later    // whether its places are known
}

// A Pattern is the parts of an attach point that may hold wildcards.
type Pattern struct {
	Target, Provider, Fn Part

	Source *SourceLine // instead of fn
	Taking *Argument   // which functions only; nil: all
}

// An Argument is one that points to a struct.
type Argument struct {
	Number int
	Struct string
}

// A SourceLine is a place in the source of a program.
type SourceLine struct {
	File         string // the end of its path
	Line, Column int    // column 0: anywhere in the line
}

// Wild reports whether the script has a pattern in place of the point's names, or a condition behind it.
func (p *Point) Wild() bool {
	return p.Pattern != nil && (p.Pattern.Target.HasWild() || p.Pattern.Fn.HasWild() || p.Pattern.Taking != nil)
}

// Watched is the address that a point watches, 0 if it is of another kind.
func (p *Point) Watched() uint64 {
	if p.Mode == "" {
		return 0
	}
	return p.Address
}

// Name is the canonical name that the probe builtin yields and messages show.
func (p *Point) Name() string { return p.Kind.CanonicalName(p) }

// Has is a set of things a kind offers.
type Has uint32

// The things that a kind may offer to the body.
const (
	HasArgs      Has = 1 << iota // args
	HasArgN                      // arg0 …
	HasRetval                    // retval
	HasRegs                      // reg(), usermode: the context has pt_regs
	HasFunc                      // func
	HasUserAddrs                 // uaddr(), usym from the target
	HasPID                       // -p filters by a test in the program
	HasCtx                       // ctx
	HasOverride                  // override()
	HasGoroutine                 // goid
	HasObjects                   // helpers take what args points to: socket_cookie(), skboutput()
	HasPaths                     // path()
)

// A Kind is a row of the table.
type Kind struct {
	Name    string   // canonical long name
	Type    string   // what probetype prints, if not Name
	Aliases []string // other long names (any case) and short ones (exact case)
	// Removed are names of kinds that the language had near this one, with what
	// to use instead.
	Removed map[string]string
	// Returns names the kind that fires when the function returns, "" if none does.
	Returns string
	Doc     string   // reference manual entry, markdown
	Example string   // a one-line script
	Forms   []string // as users write it: "kprobe:[module:]function[+offset]"
	Has     Has
	// default address space of pointers; Unset: a read of an address that has none is worth a
	// warning
	Space   types.Space
	Return  int64   // what the program returns by default
	Ours    Trigger // fired by hawk itself, not by the kernel
	Rated   bool    // fires at a rate that the attach point says
	Nobodys bool    // fires for hawk, whatever task is on the processor
	Alone   bool    // is the only thing that a script attaches
	// RegisterArgs: argN are the machine's argument registers and no more.
	RegisterArgs bool
	// Multi is the feature by which one link serves all that a pattern matches;
	// nil: each match is attached by itself.
	Multi *machine.Feature

	// Parse checks the parts after the kind and fills a Point. Errors are
	// about the text alone.
	Parse func(p *Point, parts []Part, o *Options) error
	// Match resolves a parsed point against the machine: every concrete point
	// it stands for, sorted by name. An empty result is "no match". It may
	// consult nothing but o.Target and the files the point names.
	Match func(p *Point, o *Options) ([]*Point, error)
	// Later is the point that stands for what a parsed one may match in files that are mapped
	// while the run lasts, nil if there is none; found are those it has matched. May be nil.
	Later func(p *Point, o *Options, found []*Point) *Point
	// Here reports whether a matched point can be attached on this machine, which probe_exists asks; nil: all can
	// that can be planned.
	Here func(p *Point) bool
	// Names lists what p.Func (for kinds of two parts: p.Target and p.Func, as
	// "target:func") may be, for suggestions; may be nil.
	Names func(p *Point, o *Options) []string
	// Why is advice on a point that the script names and that matches nothing,
	// "" if there is none; may be nil.
	Why func(p *Point, o *Options) string
	// List emits, sorted, what -l prints for a pattern; nil: nothing.
	List func(k *Kind, parts []Part, o *Options, emit func(Listed)) error
	// Wild says which provider patterns ("*:name") include the kind.
	Wild Wild
	// Describe gives the arguments of a matched point, and what else -lv prints of it; nil: none.
	Describe func(p *Point, o *Options) ([]Detail, error)
	// FileEach: Describe reads a file for each point, and may do so for several
	// at a time.
	FileEach bool
	// Args is the type of args at a point; nil if the kind has none.
	Args func(p *Point, o *Options) (*types.Struct, error)
	// Proto is what the function of a point takes and returns, as Args has it at a call and Retval; nil: points are
	// on no function.
	Proto func(p *Point, o *Options) (*types.Struct, types.Type, error)
	// Ctx is the struct that ctx points to; nil: it points to nothing known.
	Ctx func(p *Point, o *Options) (types.Type, error)
	// Retval is the type of retval, given HasRetval.
	Retval func(p *Point, o *Options) (types.Type, error)
	// Types finds a type that the point's own program defines, by keyword
	// ("struct", "") and name; nil: the kernel's types are meant.
	Types func(p *Point, o *Options, keyword, name string) (types.Type, bool)
	// Enumerator finds an enum that the point's own program defines, by one of
	// its enumerators; nil: the kernel's are meant.
	Enumerator func(p *Point, o *Options, name string) (*types.Enum, int64, error)
	// Plan chooses mechanisms: it partitions the points of one probe into
	// groups that share a program.
	Plan func(points []*Point, uses Uses, o *Options) ([]*Group, error)
	// CanonicalName spells a point.
	CanonicalName func(p *Point) string
	ListName      func(p *Point) string // in listings, if not CanonicalName
}

// Trigger says when hawk itself runs a program.
type Trigger uint8

// The triggers. NotOurs programs are attached.
const (
	NotOurs Trigger = iota
	AtBegin
	AtEnd
	OnSignal
	AtTest
	AtBench
)

// Counts reports whether a run is worth its while for a program that hawk itself runs, with
// nothing attached: not for those of tests, which a run is about or not.
func (t Trigger) Counts() bool { return t == AtBegin || t == AtEnd || t == OnSignal }

// Verdict reports whether what a program returns is an answer to hawk.
func (t Trigger) Verdict() bool { return t == AtTest || t == AtBench }

// Wild says whether a kind is a candidate of a pattern in place of its name.
type Wild uint8

// The classes of candidates.
const (
	NeverWild  Wild = iota
	KernelWild      // patterns over the kernel
	UserWild        // patterns over files and processes
)

// TypeName is what the probetype builtin yields.
func (k *Kind) TypeName() string {
	if k.Type != "" {
		return k.Type
	}
	return k.Name
}

// A Part is one colon-separated part of an attach point after the kind.
type Part struct {
	Text string
	// Literal parts were quoted: of the wildcard characters only * keeps its
	// meaning, as in the reference, so that "operator[]" is a plain name.
	Literal bool
}

// HasWild reports whether the part is a pattern.
func (p Part) HasWild() bool {
	if p.Literal {
		return strings.Contains(p.Text, "*")
	}
	return hasWild(p.Text)
}

// Listed is one line of a listing with the lines of -lv below it.
type Listed struct {
	Name    string
	Details []Detail
	Point   *Point // nil of what is listed by its name only
}

// A Detail is a line below a point of a listing: an argument, or something else about the point.
type Detail struct {
	Text       string // as -lv prints it
	Name, Type string // of an argument; both "": it is none
}

// Declared is the argument of a declaration in the manner of C. Its type is what is left without the name.
func Declared(text, name string) Detail {
	d := Detail{Text: text, Name: name}
	before, behind, isFunc := strings.Cut(text, "(*"+name+")")
	if isFunc {
		d.Type = before + "(*)" + behind
	} else if i := strings.LastIndex(text, name); i >= 0 {
		d.Type = strings.TrimSpace(text[:i]) + text[i+len(name):]
	}
	return d
}

// Uses says what the body of a probe asks of its context, as found by check.
type Uses struct {
	Args   bool // args or a field of it
	ArgN   int  // highest argN plus one
	Retval bool
	Probe  bool // the probe builtin
	Func   bool
	Regs   bool // reg(), usermode
	Ctx    bool
	Kfunc  bool // the body calls a function of the kernel
	Stack  bool // kstack or ustack: needs a context of pt_regs or the tracing helpers
	Kernel bool // of these, kstack
}

// Options is what matching, listing and planning depend on.
type Options struct {
	Machine    *machine.Machine
	PID        int                    // -p or the -c child; 0: none
	PIDFilter  bool                   // in-program tests apply: PID came from -p, or a tool is to show the family of -c
	Tool       bool                   // a tool is run
	Own        bool                   // the script asks itself what is its target's
	Follow     bool                   // --follow: the process, and what it starts
	Also       []int                  // with Follow: further processes to begin with
	Childless  bool                   // with Follow: without the processes that they start
	Tasks      Tasks                  // events of these alone
	Unsafe     bool                   // --unsafe
	NoFeature  map[string]bool        // --no-feature
	MaxProbes  int                    // max_probes
	Traceable  string                 // --traceable-functions
	Filter     func(name string) bool // --probe-filter: which points to keep; nil: all
	Verbose    bool
	Tells      bool // of probes that are there and cannot be attached, if missing_probes is to hush them too
	WarnPoint  func(at source.Span, msg string)
	ForListing bool
	// Named has the values that the script's own options were given. Nil: they are not
	// known before the script is loaded.
	Named config.Named
	// Asked is told of each attach point that the script asks for by probe_exists(), and
	// whether it is there; nil: nobody wants to know.
	Asked func(point string, there bool)
	// Lists are the script's own options that have several values, with commas in between:
	// an attach point that names one stands for as many.
	Lists map[string]bool
	// Most is --max-probes: how many points that wait for events a script may have, of patterns
	// too that one link of the kernel serves; 0: as max_probes says.
	Most int
	// Narrow says, of an element of such an option, which names that its pattern matches are
	// meant; without one: all.
	Narrow map[string]func(name string) bool
	// Command says whether -c starts a command; nil: that is not known yet.
	Command *bool
	// Option is the text of the script's own option of a name, for attach points; nil:
	// the script has none.
	Option func(name string) (string, error)
	// Groups are all of the script's, when they are attached.
	Groups []*Group
	// Step is called after each of many attachments; an error ends attaching.
	// Nil: nobody wants to know.
	Step func() error
	// Missed is told how many points of a group that is attached a pattern covers
	// and the kernel refused; nil: nobody wants to know.
	Missed func(points int)
	// Kernel makes and closes the attachments that must not be cut short; nil:
	// the calling thread does.
	Kernel bpf.Kernel

	// Marked is what is known of the marks in files that processes have mapped, by process, 0: all.
	// A compilation looks once, however many attach points it has. Nil: each looks for itself.
	Marked map[int][]Marked

	warned map[string]bool // what WarnOnce has said
}

// Marked is the marks of a file, in front of what could not be read.
type Marked struct {
	Path  string
	Notes []exe.Note
}

// Attached reports one attachment.
func (o *Options) Attached() error {
	if o.Step == nil {
		return nil
	}
	return o.Step()
}

// A Group is the points that one program serves by one mechanism. It is data, and refers to
// rows of the tables by what they are called.
type Group struct {
	Points    []*Point
	Mechanism MechanismID
	Marks     *MarkSites // of USDT
	Uses      Uses       // what the program asks of its context
	// Cookies: links carry the number of their point as cookie.
	Cookies bool
	// Numbered: the program tells the points apart by their numbers.
	Numbered bool

	cookies []uint64 // numbers of the points where those are not counted from 0
}

// Mech is the row of the group's mechanism.
func (g *Group) Mech() *Mechanism { return mechanisms[g.Mechanism] }

// UsesKprobes reports whether a group is of kernel functions at either end.
func (g *Group) UsesKprobes() bool { return g.Mech().Functions }

// Counted is the points that are counted as attached: the two ends of a
// function are one where one link serves both.
func (g *Group) Counted() []*Point {
	if g.Mech().BothEnds {
		return g.Points[:len(g.Points)/2]
	}
	return order.Without(slices.Clone(g.Points), func(p *Point) bool { return p.Later == AlsoLater })
}

// A Mechanism is a way of the kernel to run a program at points: the program's
// type, how the program finds things in its context, and how to attach it.
type Mechanism struct {
	ID      MechanismID
	Name    string // for -v and messages: "raw tracepoint", "kprobe.multi"
	Program bpf.ProgramType
	Attach  bpf.AttachType
	// BTFID is the type the program attaches to (tp_btf, fentry); module is the
	// BTF's module, "vmlinux" for the kernel.
	BTFID func(g *Group, o *Options) (id uint32, module string, err error)
	// Target opens the BPF program that the program follows, and names the
	// function of it by its type there.
	Target func(g *Group) (fd int, typ uint32, err error)
	// Sleepable is the feature by which programs may wait for pages of the process they
	// run in; nil: they may not.
	Sleepable *machine.Feature
	// AtReturn: programs run at a return instruction, and the function has left its frame. Stacks
	// begin with its caller.
	AtReturn bool
	// Whole is the event that the program is on where the points are parts of it, as a
	// section of libbpf has it.
	Whole string
	// Backwards: of several programs on one event the kernel runs the one that
	// was attached last first.
	Backwards bool
	// Slow: the kernel undoes an attachment by waiting for all CPUs, or by walking
	// through the memory of processes.
	Slow bool
	// Counts: links know of events that did not get as far as the program.
	Counts bool

	// Functions: it serves one end of kernel functions. Which of several such programs
	// runs first depends on how each is attached.
	Functions bool
	// BothEnds: one link serves calls and returns. The second half of the points are
	// the returns.
	BothEnds bool
	// Packed: a link's cookie holds more than the number of its point, so that points
	// cannot be numbered anew.
	Packed bool

	// NullSkip: a pointer in the context may be null, which ends the run.
	NullSkip bool

	// Guard emits the test for events that are not meant for the group's
	// points (another system call, another process) and returns nothing; it
	// ends in a current block that runs only for matching events. May be nil.
	Guard func(c *Context)
	// Index yields the number of the point in Group.Points that fired. Nil
	// when a group has one point only.
	Index func(c *Context) *ir.Value
	// Arg yields argument n as 64 bits (argN); Field yields args' field n
	// where the fields of args are argument slots (types.Field.Arg). A pointer
	// the verifier knows the type of comes back with Kind Ptr.
	Arg   func(c *Context, n int) *ir.Value
	Field func(c *Context, f types.Field) *ir.Value
	// Record yields the base of a record that args' fields are at offsets of.
	// If Field is given as well it is asked first, and yields nil for fields
	// that are in the record.
	Record func(c *Context) *ir.Value
	// Memory yields the address of a field of args that Field has not: in user
	// memory, or in memory that the program may load from.
	Memory func(c *Context, f types.Field) (base *ir.Value, user bool)
	// Retval yields the return value.
	Retval func(c *Context) *ir.Value
	// Regs yields a pointer to pt_regs that loads may go through directly.
	Regs func(c *Context) *ir.Value
	// Func yields the address of the traced function.
	Func func(c *Context) *ir.Value
	// Reader yields the file whose reader gets what the program prints, for
	// programs that run when hawk has ended.
	Reader func(c *Context) *ir.Value
	// Walk runs the program of a link for everything there is, calling between
	// now and then, until that returns false.
	Walk func(l Link, between func() bool) error
	// Link attaches a loaded program to all points of the group.
	Link func(progFD int, g *Group, o *Options) ([]Link, error)
	// More attaches it to what a file has for the group, and says how many points that
	// is. Nil: all points are known from the start.
	More func(progFD int, g *Group, o *Options, m *More) ([]Link, int, error)
}

// A Context is what a mechanism's emitters work with.
type Context struct {
	B     *ir.Builder
	Ctx   *ir.Value // the program's context
	Group *Group
	O     *Options
	// Skip is the block that returns without effect; Guard branches there.
	Skip *ir.Block
	// Table places read-only bytes in the data map and yields their offset.
	Table func(data []byte) int
	// Followed yields the map of threads that --follow traces.
	Followed func() *ir.Value
	// Marks yields the map of Marks.
	Marks func() *ir.Value
	// Own: the script tests itself whether an event is of the target.
	Own bool
	// Data is a scratch area of the emitters for values computed once
	// (a register pointer, a cookie), by name.
	Data map[string]*ir.Value
	// Task says that the program looks at the current task, as one the verifier follows.
	Task bool
}

// Index yields the number of the point in Group.Points that fired.
func (c *Context) Index() *ir.Value {
	c.Group.Numbered = true
	return c.Group.Mech().Index(c)
}

// A Link is an attachment. Close detaches; it may take long.
type Link interface{ Close() error }
