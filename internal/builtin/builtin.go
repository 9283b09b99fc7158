// Package builtin declares the functions, variables and aggregations of the
// language. One table entry holds all that hawk knows about a name: its
// documentation, signature, check, lowering to IR, and what user space does
// with the result. The stages ask the entry and never compare a name.
package builtin

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/hawktrace/hawk/internal/config"
	"github.com/hawktrace/hawk/internal/ir"
	"github.com/hawktrace/hawk/internal/machine"
	"github.com/hawktrace/hawk/internal/object"
	"github.com/hawktrace/hawk/internal/order"
	"github.com/hawktrace/hawk/internal/output"
	"github.com/hawktrace/hawk/internal/probe"
	"github.com/hawktrace/hawk/internal/source"
	"github.com/hawktrace/hawk/internal/syntax"
	"github.com/hawktrace/hawk/internal/types"
	"github.com/hawktrace/hawk/internal/value"
	"github.com/hawktrace/hawk/internal/view"
)

// A Func is everything hawk knows about one function or variable.
type Func struct {
	// Name as scripts write it; also the identity of the row.
	Name string
	// Old spellings, accepted with a warning that names Name; Also are those of
	// the reference's library, accepted as they are.
	Old     []string
	Also    []string
	Doc     string // reference manual entry, markdown
	Example string // a one-line script
	Named   string // of a number: where the name is that people compare it with
	Bare    bool   // may be written without parentheses: pid, comm
	Params  []Param
	Min     int // least number of arguments; the most is len(Params), or no limit if Variadic
	// Variadic: any number of further arguments of the last parameter's kind.
	Variadic bool
	Unsafe   bool               // needs --unsafe
	Fixed    bool               // yields the same value throughout one run of a probe
	Wide     bool               // its values need more than 32 bits: clocks, addresses
	Fields   bool               // has no value of its own, only fields: args
	Needs    []*machine.Feature // what the kernel must offer
	Unstable string             // the feature, one that a setting may refuse; "" for others
	Probes   probe.Has          // what the probe kind must offer, 0: anything

	// Uses is what a call asks of its context beyond what Probes implies.
	Uses probe.Uses
	// Kfunc is a function of the kernel that a call with arguments calls.
	Kfunc string
	// Deletes: the call removes an element of the map it names.
	Deletes bool
	// Ignorable: the call is made for what it does, its result may be ignored.
	Ignorable bool
	// Ends: the call ends this run of the program, what follows never happens.
	Ends bool

	// These tell views about a call. Moment: it yields a point in time, in nanoseconds.
	// Emits: it is the place of an event. Clears and Zeroes: it removes, or resets,
	// all elements of the map it names.
	Moment, Emits, Clears, Zeroes bool
	// Takes: it reads maps, and clears them too if the statements behind it clear all of
	// them, so that no update between is lost.
	Takes bool
	// Label is what its values are called where they are keys or arguments, where
	// that is not its own name; LabelOf is the argument whose name they take, from
	// FirstArg, 0 for none.
	Label   string
	LabelOf int

	// Words are identifiers that are arguments and not names: boot, perf, init.
	Words []string

	// Result is the type when it does not depend on the call; else Check says,
	// and Yields puts it in words for the manual, "" if there is no value.
	Result types.Type
	Yields string
	// Check types a call whose arguments are typed and counted. It may run many
	// times while types are inferred; it returns nil while an argument type it
	// needs is unknown. Errors are reported through the Call.
	Check func(c *Call) types.Type
	// Const gives a call's value where it is fixed at compile time.
	Const func(c *Call) (Const, bool)
	// Early: Const and Stands do not depend on the probe, so that they may decide
	// whether there is one.
	Early bool
	// Options are those of the script that a call declares; nil while its arguments are
	// not known to be literals.
	Options func(c *Call) []*object.Option
	// Space is the address space of the result.
	Space func(c *Call) types.Space

	// Stands gives an expression of literals in whose place a call stands, as
	// its fields are wanted one by one.
	Stands func(c *Call) *syntax.Record

	// Lower emits the call. A scalar result is returned. A result in memory is
	// written to dst if that is not nil, else placed where the generator says;
	// the address is returned.
	Lower func(g Gen, c *Call, dst *ir.Value) *ir.Value

	// Text writes a string result of unknown length to p, without padding, and
	// yields its length with the NUL or a negative error; nil if the result has
	// to be made as a whole.
	Text func(g Gen, c *Call, p *ir.Value) *ir.Value

	// Source lowers where a string result of the traced world comes from, once, and yields what reads
	// it: at most n bytes with the NUL to p, as Text does; nil if it comes from elsewhere.
	Source func(g Gen, c *Call) (read func(p *ir.Value, n int) *ir.Value)

	// UserSymbols: Render asks for symbols of processes, which may have ended
	// by then.
	UserSymbols bool
	// Render gives raw bytes of a Deferred their text. Renders is that type as a script names it;
	// its By is a number that no other row has. Named in scripts it is by its own name, or by
	// Spelled.
	Renders *types.Deferred
	Spelled string
	Render  func(e Env, t *types.Deferred, raw []byte) value.Value
	// Prepare makes what events of a call need, before any program runs.
	Prepare func(e Env, ev *object.Event) error
	// Opening is what is shown of an event as soon as everything is attached, if the
	// script has nothing else of that kind to show then.
	Opening func(ev *object.Event) output.Item
	// Waits: handling its event may wait for others, for a command or a file.
	Waits bool
	// Handle acts on the event of an asynchronous call.
	Handle func(e Env, ev *object.Event, rec []byte) error
}

// Arguments that values may be called by.
const (
	FirstArg = 1
	LastArg  = -1
)

// Changes reports whether a call changes a variable or map of the script.
func (f *Func) Changes() bool {
	return f.Deletes || slices.ContainsFunc(f.Params, func(p Param) bool { return p.Kind == VarRef })
}

// A Param describes one parameter for checks, messages and the manual.
type Param struct {
	Name string
	Kind ParamKind
}

// Named is a parameter of a kind.
func (k ParamKind) Named(name string) Param { return Param{name, k} }

// ParamKind is what an argument must be.
type ParamKind uint8

// The kinds of parameter.
const (
	AnyValue      ParamKind = iota // anything but none, void and aggregations that cannot be read
	Integer                        // an integer, bool or enum
	Address                        // an integer or a pointer
	StringLit                      // a string literal after folding
	IntLit                         // an integer literal after folding
	WholeMap                       // a map named without key
	MapOrValue                     // print: a map without key, a keyed map access, or a value
	Key                            // a key of the map that is the first argument
	Word                           // one of Func.Words
	WordOrIntLit                   // either
	IntBehindWord                  // an integer; Check says that a word is out of place
	StringLike                     // a string, an int8 array or pointer
	VarRef                         // a bare scratch variable
	Bytes                          // what AnyValue takes, or the address of what has no size of its own
)

// Reads says that the parameter is computed with in the probe, where an aggregation is the integer that it reads as.
func (k ParamKind) Reads() bool { return k == Integer || k == Address || k == Bytes }

// String is what the manual says of a parameter.
func (k ParamKind) String() string {
	return [...]string{
		AnyValue: "a value", Integer: "an integer", Address: "an integer or pointer",
		StringLit: "a string literal", IntLit: "an integer literal",
		WholeMap: "a map", MapOrValue: "a map or a value", Key: "a key of the map",
		Word: "a word", WordOrIntLit: "a word or an integer", IntBehindWord: "an integer literal",
		StringLike: "a string", VarRef: "a variable", Bytes: "a value",
	}[k]
}

// Const is a folded value.
type Const struct {
	Kind ConstKind
	Int  uint64 // bits of an integer, 0 or 1 of a bool
	Neg  bool   // the integer is negative: Int holds its two's complement
	Str  string
}

// ConstKind is what a Const is.
type ConstKind uint8

// The kinds of constant.
const (
	NoConst ConstKind = iota
	IntConst
	BoolConst
	StrConst
)

// A Call is one use of a builtin, or of an aggregation, as check sees it. It
// is kept beside the tree for lowering.
type Call struct {
	Func *Func // nil for an aggregation
	Agg  *Agg
	Expr syntax.Expr // *syntax.Call, *syntax.Ident, or an internal node
	Name string      // as written
	Args []syntax.Expr
	// Types and Consts are of the arguments; nil and NoConst while unknown.
	Types  []types.Type
	Consts []Const
	Spaces []types.Space
	Words  []string // per argument: the word, if it is one

	// Literal: nothing but a literal is of use here, so that a value which is otherwise
	// read by the program is to be one.
	Literal bool

	Kind    *probe.Kind    // of the probe the call is in
	Points  []*probe.Point // of this copy of the probe
	InLoop  bool           // in the body of a loop
	Config  *config.Config
	Machine *machine.Machine
	Opts    *probe.Options
	// Maps are, per argument, the map that it names as a whole; MapName and so on are of
	// the one in position 0.
	Maps     []MapArg
	MapName  string
	MapKeyed bool
	MapKey   types.Type // nil while unknown or scalar
	MapValue types.Type // nil while unknown
	// Taken: what the call reads of its maps it removes, in one pass. Lowering says so
	// of a function that Takes.
	Taken bool

	Result types.Type
	Found  Found

	// Diags takes messages; nil while types are still being inferred.
	Diags *source.Diagnostics
}

// Found is what the Check of a function works out for its Lower.
type Found struct {
	Text    string        // of the event: columns, names
	Extra   []int64       // of the event, or the numbers that enum_in looks for
	Format  *value.Format // of the event: Text, parsed
	Args    []syntax.Expr // those that a row sends
	symbols map[*probe.Point][]spot
}

// A MapArg is an argument that names a map as a whole.
type MapArg struct {
	Name  string // "" of other arguments
	Keyed bool
	Key   types.Type // nil while unknown or scalar
	Value types.Type // nil while unknown
}

// Errorf reports an error at a node, once types are settled.
func (c *Call) Errorf(at syntax.Node, code source.Code, format string, args ...any) *source.Diagnostic {
	if c.Diags == nil {
		return &source.Diagnostic{}
	}
	return c.Diags.Errorf(code, at.Span(), format, args...)
}

// Warnf reports a warning at a node, once types are settled.
func (c *Call) Warnf(at syntax.Node, code source.Code, format string, args ...any) *source.Diagnostic {
	if c.Diags == nil {
		return &source.Diagnostic{}
	}
	return c.Diags.Warnf(code, at.Span(), format, args...)
}

// Int returns argument i as a literal integer. One above those of int64 is the largest of them: it
// is too much for any length, limit or number of buckets, and not negative.
func (c *Call) Int(i int) (int64, bool) {
	if i >= len(c.Consts) || c.Consts[i].Kind != IntConst {
		return 0, false
	}
	n := int64(c.Consts[i].Int)
	if n < 0 && !c.Consts[i].Neg {
		n = math.MaxInt64
	}
	return n, true
}

// Str returns argument i as a literal string.
// It may hold a NUL, up to which a program would read.
func (c *Call) Str(i int) (string, bool) {
	if i >= len(c.Consts) || c.Consts[i].Kind != StrConst {
		return "", false
	}
	return c.Consts[i].Str, true
}

// An Agg is everything hawk knows about one aggregation.
type Agg struct {
	Name    string
	Instead string // advice where the number of arguments is wrong
	Doc     string // reference manual entry, markdown
	Example string // a one-line script
	Params  []Param
	Min     int
	// Unstable names the feature, one that a setting may refuse; "" for others.
	Unstable string
	// Castable aggregations read as an integer in expressions.
	Castable bool
	// Whole: only the map as a whole can be shown, not the value of one key.
	Whole bool
	// Unsigned reads are uint64 whatever the argument was: count.
	Unsigned bool
	// Check validates the literal parameters and returns them for types.Agg;
	// ok is false after an error.
	Check func(c *Call) (params []int64, ok bool)
	// Additive: a cell is words that updates only ever add to, atomically, so
	// that CPUs may share one.
	Additive bool
	// CellBytes is the size of one CPU's cell.
	CellBytes func(t *types.Agg) int
	// Split says into how many parts of how many bytes a cell falls that is too
	// large for one element of a map, 0 parts if it is not; nil: none is. Part emits which of them an update is
	// about, and yields what emits the update of that part.
	Split func(t *types.Agg) (parts, bytes int)
	Part  func(g Gen, t *types.Agg) (part *ir.Value, update func(p, x *ir.Value))
	// Update emits the update of the cell at p with argument x (nil for
	// count). first is 1 if the cell was just created with zeroes, nil if not
	// known.
	Update func(g Gen, t *types.Agg, p, x *ir.Value)
	// Accumulate emits acc op= cell for Castable aggregations: acc points to a
	// cell on the stack that starts zeroed. Read yields its integer.
	Accumulate func(g Gen, t *types.Agg, acc, cell *ir.Value)
	Read       func(g Gen, t *types.Agg, acc *ir.Value) *ir.Value
	// Fold adds what the cell src holds to the cell dst: that of another CPU, of
	// another generation of the map, of another machine. Order and grouping do not
	// matter; a cell of zeroes adds nothing. A part of a cell folds as a cell does.
	Fold func(t *types.Agg, dst, src []byte)
	// Shows is how values are shown; of what adds signed numbers up, a Counter is
	// a Gauge.
	Shows view.Kind
	// Show is the value of a cell, or of the parts of one in any order. A histogram has Empty
	// instead: that of a cell of zeroes, whose buckets are the words of a cell, before the sum.
	Show  func(t *types.Agg, cell []byte) value.Value
	Empty func(t *types.Agg) value.Hist
}

// Shower is Show for many cells of a type: the names of buckets are made once.
func (a *Agg) Shower(t *types.Agg) func(cell []byte) value.Value {
	if a.Empty == nil {
		return func(c []byte) value.Value { return a.Show(t, c) }
	}
	empty := a.Empty(t)
	return func(c []byte) value.Value {
		h := empty
		h.Buckets = slices.Clone(empty.Buckets)
		for i := range h.Buckets {
			h.Buckets[i].Count = uint64(cell(c, i))
		}
		if t.Sum {
			h.Sum = integer(t, cell(c, len(h.Buckets)))
		}
		return h
	}
}

var (
	// Filled while packages start, and only read from then on.
	funcs = map[string]*Func{}
	aggs  = map[string]*Agg{}
)

// Define adds an entry to the table, while packages start. Names are given once.
func Define(f Func) *Func {
	for _, n := range slices.Concat([]string{f.Name}, f.Old, f.Also) {
		if funcs[n] != nil || aggs[n] != nil {
			panic(fmt.Sprintf("builtin: %s is defined twice", n))
		}
		funcs[n] = &f
	}
	if f.Render != nil || f.Renders != nil {
		f.define()
	}
	return &f
}

// define adds the type whose values f renders.
func (f *Func) define() {
	switch {
	case f.Render == nil || f.Renders == nil:
		panic(fmt.Sprintf("builtin: what %s renders is not clear", f.Name))
	case f.Renders.By == 0 || f.Renders.By > MaxRenderer || renderers[f.Renders.By] != nil:
		panic(fmt.Sprintf("builtin: the renderer %d of %s is taken, %d is free", f.Renders.By, f.Name,
			1+slices.Index(renderers[1:], nil)))
	}
	name := cmp.Or(f.Spelled, f.Renders.Name)
	if typeNames[name] != nil {
		panic(fmt.Sprintf("builtin: the type %s is defined twice", name))
	}
	renderers[f.Renders.By] = f
	typeNames[name] = f.Renders
	syntax.AddTypeName(name)
}

// RendererOf is the builtin that gives values of a type their text, nil if there is none.
func RendererOf(t *types.Deferred) *Func { return renderers[t.By&MaxRenderer] }

// MaxRenderer bounds the numbers of renderers.
const MaxRenderer = 63

// renderers are the builtins by the numbers of what they render, typeNames the types by the names
// that scripts have for them. Filled as the tables are.
var (
	renderers [MaxRenderer + 1]*Func
	typeNames = map[string]*types.Deferred{}
)

// NamedType finds the type of a builtin's result by the name that scripts have for it.
func NamedType(name string) (types.Type, bool) {
	t, ok := typeNames[name]
	if !ok {
		return nil, false
	}
	return t, true
}

// defineAgg adds an aggregation to the table. Its name may not be that of a function either: both
// are called alike.
func defineAgg(a Agg) *Agg {
	if funcs[a.Name] != nil || aggs[a.Name] != nil {
		panic(fmt.Sprintf("builtin: %s is defined twice", a.Name))
	}
	if a.Empty != nil {
		a.Show = func(t *types.Agg, c []byte) value.Value { return a.Shower(t)(c) }
	}
	aggs[a.Name] = &a
	return &a
}

// Lookup finds a function or variable by name or old name.
func Lookup(name string) (*Func, bool) {
	// arg0, arg1 and so on are names without end, of which one row stands for all.
	if ArgNumber(name) >= 0 {
		return argFunc, true
	}
	if stackArgNumber(name) >= 0 {
		return stackArgFunc, true
	}
	f, ok := funcs[name]
	return f, ok
}

// LookupAgg finds an aggregation.
func LookupAgg(name string) (*Agg, bool) {
	a, ok := aggs[name]
	return a, ok
}

// Names lists all functions, variables and aggregations, unsorted, for
// suggestions and completion.
func Names() []string {
	var out []string
	for n := range funcs {
		out = append(out, n)
	}
	for n := range aggs {
		out = append(out, n)
	}
	return out
}

// All lists the functions and variables in order of names, the stand-ins for
// arg0, arg1, … and sarg0, sarg1, … among them.
func All() []*Func {
	out := []*Func{argFunc, stackArgFunc}
	for name, f := range funcs {
		if name == f.Name { // not an old name
			out = append(out, f)
		}
	}
	order.By(out, func(a, b *Func) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// Aggs lists the aggregations in order of names.
func Aggs() []*Agg {
	return order.Sorted(maps.Values(aggs), func(a, b *Agg) int { return strings.Compare(a.Name, b.Name) })
}

// Signature shows how a function is called: "print(value[, top[, div]])",
// "printf(format[, argument, …])".
func Signature(name string, params []Param, least int, variadic bool) string {
	var b strings.Builder
	b.WriteString(name + "(")
	closing := ")"
	for i, p := range params {
		if i >= least {
			b.WriteString("[")
			closing = "]" + closing
		}
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(p.Name)
	}
	if variadic {
		b.WriteString(", …")
	}
	return b.String() + closing
}
