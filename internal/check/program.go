package check

import (
	"cmp"
	"iter"
	"maps"

	"github.com/hawktrace/hawk/internal/builtin"
	"github.com/hawktrace/hawk/internal/config"
	"github.com/hawktrace/hawk/internal/object"
	"github.com/hawktrace/hawk/internal/order"
	"github.com/hawktrace/hawk/internal/probe"
	"github.com/hawktrace/hawk/internal/source"
	"github.com/hawktrace/hawk/internal/syntax"
	"github.com/hawktrace/hawk/internal/types"
)

// A Program is a script whose every expression has a type.
type Program struct {
	Config *config.Config
	Probes []*Probe // in the order of the script
	Maps   []*Map   // sorted by name
	// Declared has the options of the script, each once.
	Declared []*object.Option
}

// A Probe is one type-checked copy of a probe of the script. Copies share
// tree nodes, never an Info.
type Probe struct {
	Kind      *probe.Kind
	Points    []*probe.Point // at least one, all of Kind
	Predicate syntax.Expr    // nil if none
	Body      *syntax.Block
	At        source.Span // the attach point, or all of them
	Uses      probe.Uses
	Info      *Info
	Args      *types.Struct // type of args; nil if the body does not use it
}

// Evaluated is what is evaluated where e stands: mostly e itself.
func (i *Info) Evaluated(e syntax.Expr) syntax.Expr {
	for {
		x, ok := i.Stands[e]
		if !ok {
			return e
		}
		e = x
	}
}

// Info holds what is known of the nodes of one copy. Expressions inside
// sizeof, offsetof and typeof have no entries: they are never evaluated. Nor
// has what lies below a folded expression.
type Info struct {
	// Types has the final type of every expression: the value type of a map
	// read, *types.Agg for a read of an aggregation (whose use says which
	// integer is wanted), types.None or types.Void for no value. A literal
	// that took the sign of the other operand of an operator has the unsigned
	// type of its width, so that types.Common and types.Arith of the two
	// operands' types say in which type the operator works.
	Types map[syntax.Expr]types.Type
	// Consts has the value of every folded expression: literals, positional
	// parameters, sizeof, enumerators, operations on literals.
	Consts map[syntax.Expr]builtin.Const
	// Spaces has the address space of pointers and of integers used as
	// addresses; Unset is left out.
	Spaces map[syntax.Expr]types.Space
	// Vars leads from each occurrence to the declaration.
	Vars map[*syntax.Var]*Var
	// Calls has every use of a builtin: under its *syntax.Call, bare
	// *syntax.Ident, and for aggregations the call that is assigned.
	Calls map[syntax.Expr]*builtin.Call
	// Fields has the member that a Field of a struct means, with the offset
	// counted from the start of the (dereferenced) struct through anonymous
	// members. Fields of records are not here.
	//
	// A member with DataLoc has one of two types in Types: a string, which is
	// to be read from where the record says, or a pointer, which is that place.
	Fields map[*syntax.Field]types.Field
	// Derefs counts, for the base of a Field, the pointers it is followed
	// through beyond the one that leads to the struct. Zero is left out.
	Derefs map[syntax.Expr]int
	// Stands has what is evaluated in place of an expression: the arm that a
	// comptime condition leaves, the record of a typeinfo.
	Stands map[syntax.Expr]syntax.Expr
	// Lets has the declarations that one of several variables is short for.
	Lets map[*syntax.LetTupleStmt][]*syntax.LetStmt
	// Unrolls has the number of repetitions.
	Unrolls map[*syntax.UnrollStmt]int
}

// CallsInOrder yields Calls in the order in which they are written.
func (i *Info) CallsInOrder() iter.Seq2[syntax.Expr, *builtin.Call] {
	return func(yield func(syntax.Expr, *builtin.Call) bool) {
		inOrder := func(a, b syntax.Expr) int { return cmp.Compare(a.Span().Start, b.Span().Start) }
		for _, e := range order.Sorted(maps.Keys(i.Calls), inOrder) {
			if !yield(e, i.Calls[e]) {
				return
			}
		}
	}
}

// A Var is one declaration of a scratch variable.
type Var struct {
	Name     string // without $
	Type     types.Type
	Decl     source.Span
	Assigns  int  // assignments, the initialiser of let included
	Loop     bool // declared by a for statement
	Captured bool // used inside a for body but declared outside it
}

// A Map is one script map.
type Map struct {
	Name        string      // with @
	Key         types.Type  // nil: scalar; a key of several parts is a *types.Tuple
	KeyParts    int         // elements of the key: 0 for a scalar, 1 unless Key is a tuple
	Value       types.Type  // *types.Agg for aggregations
	Kind        string      // declared kind: "hash", "lruhash", …; "" if not declared
	MaxEntries  int         // declared, else the max_map_keys setting; 1 for a scalar
	First       source.Span // first use
	Decl        source.Span // let declaration, zero if none
	DeletedFrom bool        // some probe deletes keys
	Walked      bool        // some probe goes over its elements
}

// newInfo makes empty tables.
func newInfo() *Info {
	return &Info{
		Types:   map[syntax.Expr]types.Type{},
		Consts:  map[syntax.Expr]builtin.Const{},
		Spaces:  map[syntax.Expr]types.Space{},
		Vars:    map[*syntax.Var]*Var{},
		Calls:   map[syntax.Expr]*builtin.Call{},
		Fields:  map[*syntax.Field]types.Field{},
		Derefs:  map[syntax.Expr]int{},
		Stands:  map[syntax.Expr]syntax.Expr{},
		Lets:    map[*syntax.LetTupleStmt][]*syntax.LetStmt{},
		Unrolls: map[*syntax.UnrollStmt]int{},
	}
}
