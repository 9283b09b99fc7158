package builtin

import (
	"io"
	"time"

	"github.com/cilium/ebpf/asm"

	"github.com/hawktrace/hawk/internal/config"
	"github.com/hawktrace/hawk/internal/ir"
	"github.com/hawktrace/hawk/internal/machine"
	"github.com/hawktrace/hawk/internal/object"
	"github.com/hawktrace/hawk/internal/output"
	"github.com/hawktrace/hawk/internal/probe"
	"github.com/hawktrace/hawk/internal/source"
	"github.com/hawktrace/hawk/internal/syntax"
	"github.com/hawktrace/hawk/internal/types"
	"github.com/hawktrace/hawk/internal/value"
)

// Gen is the lowering stage as a builtin's Lower hook sees it: it lowers the arguments and knows
// the program around the call. Package lower implements it. It is an interface since lower imports
// this package for the rows.
type Gen interface {
	B() *ir.Builder
	Context() *probe.Context
	Config() *config.Config

	Type(e syntax.Expr) types.Type
	Space(e syntax.Expr) types.Space
	// Scalar lowers an expression that lives in a register.
	Scalar(e syntax.Expr) *ir.Value
	// Mem lowers an expression that lives in memory and yields its address.
	Mem(e syntax.Expr) *ir.Value
	// Into lowers e, converted to type t, to memory at p+off.
	Into(e syntax.Expr, t types.Type, p *ir.Value, off int)
	// Address is where the value of e lies in the kernel, without reading it:
	// a pointer that the verifier follows if e is reached by such pointers.
	Address(e syntax.Expr) *ir.Value

	// Temp is memory of the function, undefined at first.
	Temp(name string, size, align int) *ir.Value
	// ReadMem reads n bytes at an address of the traced world into dst+off;
	// where failure matters it is counted at the node's place.
	ReadMem(at syntax.Node, space types.Space, dst *ir.Value, off int, n, addr *ir.Value)
	// ReadStr reads a string of at most n bytes with its NUL and yields the
	// length with the NUL, 0 or less if it failed.
	ReadStr(at syntax.Node, space types.Space, dst *ir.Value, off int, n, addr *ir.Value) *ir.Value
	// Unreadable counts a string of user memory at an address that could not be read, puts types.Unreadable to
	// p, where it would be, and yields the length of that. A null pointer yields an empty string.
	Unreadable(p, addr *ir.Value) *ir.Value
	// Errorf reports what the kernel would refuse.
	Errorf(at syntax.Node, format string, args ...any)
	// Failed counts a failure at a place of the script.
	Failed(at syntax.Node, kind object.SiteKind, helper string, code *ir.Value)

	// Event sends a record: header, then args by type. The event's layout is
	// filled in.
	Event(c *Call, ev *object.Event, args []syntax.Expr)
	// Send sends a record of at most limit bytes that fill writes behind the
	// header; fill yields where the record ends.
	Send(c *Call, ev *object.Event, limit int, fill func(rec *ir.Value) (end *ir.Value))
	// Packet sends a record of words, behind the header, and the first n bytes
	// of a packet to the buffers for packets, and yields 0 or a negative error. What finds no room is counted as
	// lost.
	Packet(c *Call, ev *object.Event, skb, n *ir.Value, words ...*ir.Value) *ir.Value
	// Exit ends this run of the program.
	Exit()
	// Table places read-only bytes in the data map and yields their offset.
	Table(data []byte) int
	// StackMap is the number of the stack map for stacks of a limit.
	StackMap(limit int) int
	// SpillMap is the number of the map for those stacks that find their place
	// in the stack map taken.
	SpillMap(limit int) int
	// OwnFrames yields how many frames the kernel stack begins with that are
	// there only because this program runs.
	OwnFrames() *ir.Value
	// Unwinds reports whether user stacks can be walked by tables. Unwind does:
	// it writes the addresses of at most limit frames of the current thread to
	// frames, and zeroes behind them, and yields a number made of them, or 0 if frame
	// pointers have to do; ask is lowered where user space should be asked to
	// provide the tables of the process. doubt is then what the number of the stack
	// is to have set: object.StackDoubted unless frame pointers are known to do.
	Unwinds() bool
	// ReturnAddress is where the function returns to that the program runs at the return instruction
	// of; nil if it runs elsewhere.
	ReturnAddress() *ir.Value
	Unwind(at syntax.Node, pid, frames *ir.Value, limit int, ask func()) (number, count, doubt *ir.Value)
	// MapOf is the number of the script map of a name.
	MapOf(name string) int
	// DeleteKey removes an element, keys nil for a scalar map, and yields
	// whether there was one. HasKey asks. FindKey also copies the value into a
	// variable. Len counts the elements.
	DeleteKey(at syntax.Node, m string, keys []syntax.Expr) *ir.Value
	HasKey(at syntax.Node, m string, keys []syntax.Expr) *ir.Value
	FindKey(at syntax.Node, m string, keys []syntax.Expr, to *syntax.Var) *ir.Value
	Len(at syntax.Node, m string) *ir.Value
	// Choose yields then() if cond is not zero, els() otherwise.
	Choose(cond *ir.Value, then, els func() *ir.Value) *ir.Value
	// When runs then if cond is not zero. So does Rarely, for what is seldom the case.
	When(cond *ir.Value, then func())
	Rarely(cond *ir.Value, then func())
	// Search is a loop that ends at the first i from 0 to n-1 for which test is
	// not zero, and yields it, or -1; n is at most most. Of values from outside, test may use
	// vals, as it is given them.
	Search(at syntax.Node, n *ir.Value, most int, vals []*ir.Value,
		test func(i *ir.Value, vals []*ir.Value) *ir.Value) *ir.Value
	// Walk is a Search whose rounds are long.
	Walk(at syntax.Node, n *ir.Value, most int, vals []*ir.Value,
		test func(i *ir.Value, vals []*ir.Value) *ir.Value) *ir.Value
	// Option declares a named parameter of the script and yields where in the
	// data map its value is.
	Option(o *object.Option) int
	// Task is the current task: a typed pointer where the kernel offers one.
	Task() *ir.Value
	// Has reports whether the kernel offers a feature.
	Has(f *machine.Feature) bool
	// Printing reports whether the value being lowered goes into a record that
	// is only read up to a string's NUL, so that padding may be left undefined.
	Printing() bool
}

// Env is the running session as Render and Handle hooks see it. Package session implements it;
// tests have another. Hooks run on the goroutine that reads events, one after the other.
type Env interface {
	value.Env
	Config() *config.Config
	Emit(output.Item)
	// Decode makes the value of an argument of a record.
	Decode(a object.Arg, rec []byte) value.Value
	// Bytes are those of a buffer in a record, which stay the record's.
	Bytes(a object.Arg, rec []byte) []byte
	// Format formats the arguments of a record by the event's text.
	Format(dst []byte, ev *object.Event, rec []byte) []byte
	// FormatSome formats arguments, from the first one on, by a format of its own: how many
	// there are, and the text.
	FormatSome(format string, ev *object.Event, first int, rec []byte) (n int, text []byte)
	// FormatMessage is Format for what goes to standard error, Message the text of
	// a value that does.
	FormatMessage(ev *object.Event, rec []byte) string
	Message(v value.Value) string
	// Escapes says which data is escaped where text is made of it.
	Escapes() output.Escapes
	// Printf emits what Format yields as output.Printf, without allocating.
	Printf(ev *object.Event, rec []byte)

	PrintMap(n int, at source.Span, top, div int64)
	// ReadMap reads a map, nothing of a scalar that was never written; take removes what
	// it reads.
	ReadMap(n int, take bool) (output.Entries, error)
	// Unstored is how many updates of maps found no room since it was asked last.
	Unstored() uint64
	ClearMap(n int)
	ZeroMap(n int)
	// Exit ends the run with a status.
	Exit(code int)

	// KernelSymbol and UserName name an address; ok is false if unknown. The
	// latter's text has more than the name if the settings say so.
	KernelSymbol(addr uint64) (name string, offset uint64, ok bool)
	UserName(pid int, addr uint64) (text string, ok bool)
	// Unwind provides tables for unwinding the stacks of a process.
	Unwind(pid int)
	// BootTime is the wall-clock time of the boot clock's zero.
	BootTime() time.Time
	// Started is when tracing began, in nanoseconds of the boot clock.
	Started() uint64
	Now() time.Time
	Username(uid uint64) string
	// Hostname is the name that the machine itself has for an address, or that Learn was given last;
	// ok is false if there is none.
	Hostname(addr string) (name string, ok bool)
	Learn(addr, name string)
	// System runs a shell command, streaming its output.
	System(command string) (status int, err error)
	// ReadFile reads at most limit bytes of a file.
	ReadFile(path string, limit int) ([]byte, error)
	// CgroupPaths names a control group in the hierarchies whose name matches
	// a pattern: "unified:/,cpu:/a".
	CgroupPaths(id uint64, pattern string) string
	// Capture is the file that packets of a script go to under a name.
	Capture(path string) (*output.Pcap, error)
	// Unwatch ends the watchpoints at an address; false if there never were any.
	Unwatch(addr uint64) bool
	Errorf(format string, args ...any)
	Warnf(at source.Span, format string, args ...any)
	Stderr() io.Writer
}

// Helper emits a helper call that yields a number.
func Helper(g Gen, fn asm.BuiltinFunc, args ...*ir.Value) *ir.Value {
	// Which arguments are pointers to what, and how much is read there, the verifier checks.
	return g.B().Call(int(fn), args...)
}

// Number is a constant.
func Number(g Gen, n int64) *ir.Value { return g.B().Const(n) }

// FactOf is n, or in a portable program what the fact is on the machine that
// runs it.
func FactOf(g Gen, f machine.Fact, n int64) *ir.Value {
	// The instruction that loads it is patched before the program is loaded elsewhere.
	if number, ok := g.Context().O.Machine.Defer(f); ok {
		return g.B().Reloc(number)
	}
	return Number(g, n)
}

// low32 is the thread of a pid_tgid, and the user of a uid_gid.
func low32(g Gen, v *ir.Value) *ir.Value { return g.B().Ext(v, 4, false) }

// high32 is the process of a pid_tgid, and the group of a uid_gid.
func high32(g Gen, v *ir.Value) *ir.Value {
	return g.B().LShr(v, 32)
}

// Place returns dst, or new memory for a result of type t.
func Place(g Gen, t types.Type, dst *ir.Value) *ir.Value {
	if dst != nil {
		return dst
	}
	return g.Temp(t.String(), types.RoundUp(t.Size(), 8), 8)
}
