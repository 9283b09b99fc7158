package syntax

import (
	"strings"

	"github.com/hawktrace/hawk/internal/source"
)

// A Node is any part of the tree. Nodes are immutable once parsed; facts about
// them live in side tables keyed by the node.
type Node interface {
	Span() source.Span
}

// Pos is embedded in every node and holds the text it was parsed from.
type Pos struct{ At source.Span }

// Span returns the place of the node in the script.
func (p Pos) Span() source.Span { return p.At }

// A Script is one parsed file.
type Script struct {
	Pos
	Shebang  string // first line without newline, "" if none
	Items    []Item // in source order
	Comments []*Comment
}

// A Comment is kept apart from the tree; the formatter merges the two by
// position.
type Comment struct {
	Pos
	Text string // with its delimiters
}

// An Item is a top-level construct.
type Item interface {
	Node
	item()
}

type (
	// CDef is a preprocessor line or a struct, union or enum definition.
	CDef struct {
		Pos
		Text string
	}
	// Config is the config block.
	Config struct {
		Pos
		Settings []*Setting
	}
	// Setting is one assignment of a config block.
	Setting struct {
		Pos
		Key   *Ident
		Value Expr // IntLit, StringLit, BoolLit or Ident
	}
	// Import is a root import, or, inside a body, an import statement.
	Import struct {
		Pos
		Path *StringLit
	}
	// Probe is attach points, an optional predicate and a body.
	Probe struct {
		Pos
		Attach    []*AttachPoint
		Predicate Expr // nil if none
		Body      *Block
	}
	// AttachPoint is the raw text of one attach point; see SplitAttach.
	AttachPoint struct {
		Pos
		Text string
	}
	// Macro is a macro definition.
	Macro struct {
		Pos
		Name   *Ident
		Params []Expr // Var, Map or Ident
		Body   *Block
	}
	// Subprog is an fn definition.
	Subprog struct {
		Pos
		Name   *Ident
		Params []*Param
		Result *TypeExpr
		Body   *Block
	}
	// Param is a parameter of a Subprog.
	Param struct {
		Pos
		Var  *Var
		Type *TypeExpr
	}
	// MapDecl is let @name = kind(entries).
	MapDecl struct {
		Pos
		Map     *Map
		Kind    *Ident
		Entries Expr // an IntLit, or what yields a number once options are known
	}
)

func (*CDef) item()    {}
func (*Config) item()  {}
func (*Import) item()  {}
func (*Probe) item()   {}
func (*Macro) item()   {}
func (*Subprog) item() {}
func (*MapDecl) item() {}

// A Stmt is a statement of a block.
type Stmt interface {
	Node
	stmt()
}

type (
	// ExprStmt evaluates and discards; if, blocks and ++/-- are expressions.
	ExprStmt struct {
		Pos
		X Expr
		// Ended says that a ';' follows an if or a block at the end of a block
		// whose value it would be without.
		Ended bool
	}
	// LetStmt declares a scratch variable.
	LetStmt struct {
		Pos
		Var  *Var
		Type *TypeExpr // nil if absent
		Init Expr      // nil if absent
	}
	// LetTupleStmt declares a variable for each of the first elements of a
	// tuple: let ($a, $b) = x.
	LetTupleStmt struct {
		Pos
		Vars []*Var // at least one
		Init Expr
	}
	// AssignStmt is lhs op rhs; Op is Assign or a compound operator.
	AssignStmt struct {
		Pos
		LHS Expr // Var, Map or MapIndex in a valid script
		Op  Token
		RHS Expr
	}
	// JumpStmt is break, continue or return.
	JumpStmt struct {
		Pos
		Kind  Jump
		Value Expr // return value, nil if absent
	}
	// DiscardStmt is _ = expr.
	DiscardStmt struct {
		Pos
		X Expr
	}
	// ForStmt iterates over a map (Over) or a range (From, To).
	ForStmt struct {
		Pos
		Var      *Var
		Over     *Map // nil for a range
		From, To Expr // nil for a map
		Body     *Block
	}
	// WhileStmt loops while Cond holds.
	WhileStmt struct {
		Pos
		Cond Expr
		Body *Block
	}
	// UnrollStmt repeats Body a literal number of times.
	UnrollStmt struct {
		Pos
		Count Expr
		Body  *Block
	}
)

// Jump says which jump a JumpStmt is.
type Jump uint8

// The jumps.
const (
	Break Jump = iota
	Continue
	Return
)

// String is the word that it is written with.
func (j Jump) String() string { return [...]string{"break", "continue", "return"}[j] }

func (*ExprStmt) stmt()     {}
func (*LetStmt) stmt()      {}
func (*LetTupleStmt) stmt() {}
func (*AssignStmt) stmt()   {}
func (*JumpStmt) stmt()     {}
func (*DiscardStmt) stmt()  {}
func (*ForStmt) stmt()      {}
func (*WhileStmt) stmt()    {}
func (*UnrollStmt) stmt()   {}
func (*Import) stmt()       {}

// An Expr is an expression.
type Expr interface {
	Node
	expr()
}

type (
	// IntLit is an integer literal; Value has suffixes applied.
	IntLit struct {
		Pos
		Text  string
		Value uint64
	}
	// StringLit is a string literal with escapes resolved.
	StringLit struct {
		Pos
		Text  string // as written, with quotes
		Value string
	}
	// BoolLit is true or false.
	BoolLit struct {
		Pos
		Value bool
	}
	// Ident is a bare name: a builtin, macro, enumerator, C constant.
	Ident struct {
		Pos
		Name string
	}
	// Var is a scratch variable. What follows a ' in its name only keeps apart
	// the variables of several uses of a macro; see Shown.
	Var struct {
		Pos
		Name string // without $
	}
	// Map is a map named without a key.
	Map struct {
		Pos
		Name string // without @, may be empty
	}
	// MapIndex is a keyed map access.
	MapIndex struct {
		Pos
		Map  *Map
		Keys []Expr // at least one
	}
	// PosParam is $1, $2, …; Index 0 is $#.
	PosParam struct {
		Pos
		Index int
	}
	// Paren is a parenthesised expression.
	Paren struct {
		Pos
		X Expr
	}
	// Tuple is (a, b); one element needs a trailing comma.
	Tuple struct {
		Pos
		Elems []Expr
	}
	// Record is (a=1, b=2).
	Record struct {
		Pos
		Fields []*RecordField
	}
	// RecordField is one name=value of a Record.
	RecordField struct {
		Pos
		Name  *Ident
		Value Expr
	}
	// Field is x.name or x->name.
	Field struct {
		Pos
		X     Expr
		Name  *Ident
		Arrow bool
	}
	// TupleIndex is x.0.
	TupleIndex struct {
		Pos
		X     Expr
		Index *IntLit
	}
	// Index is x[i] on anything but a map.
	Index struct {
		Pos
		X, I Expr
	}
	// Unary is a prefix operator: Sub, Not, Tilde, Mul (dereference), And (address).
	Unary struct {
		Pos
		Op Token
		X  Expr
	}
	// IncDec is ++ or --, before or after its operand.
	IncDec struct {
		Pos
		Op     Token // Inc or Dec
		X      Expr
		Prefix bool
	}
	// Binary is a binary operator.
	Binary struct {
		Pos
		Op    Token
		OpPos source.Span
		X, Y  Expr
	}
	// Cond is c ? a : b; Then is nil in c ?: b.
	Cond struct {
		Pos
		Cond, Then, Else Expr
	}
	// If is the if expression; Else is nil, a *Block or an *If.
	If struct {
		Pos
		Cond Expr
		Then *Block
		Else Expr
	}
	// Block is { stmts result }.
	Block struct {
		Pos
		Stmts  []Stmt
		Result Expr // trailing expression without semicolon, nil if none
	}
	// Cast is (type)x.
	Cast struct {
		Pos
		Type *TypeExpr
		X    Expr
	}
	// Call is name(args). Args may hold TypeArg.
	Call struct {
		Pos
		Func *Ident
		Args []Expr
	}
	// TypeArg is typeof(...) as an argument of a macro call.
	TypeArg struct {
		Pos
		Type *TypeExpr
	}
	// SizeOf is sizeof(type or expression); exactly one of Type and X is set.
	// A bare identifier parses as Type.
	SizeOf struct {
		Pos
		Type *TypeExpr
		X    Expr
	}
	// TypeInfo is typeinfo(type or expression), set as SizeOf.
	TypeInfo struct {
		Pos
		Type *TypeExpr
		X    Expr
	}
	// OffsetOf is offsetof(type or expression, a.b.c).
	OffsetOf struct {
		Pos
		Type *TypeExpr
		X    Expr
		Path []*Ident
	}
	// Comptime is comptime x.
	Comptime struct {
		Pos
		X Expr
	}
	// Inlined is a call of a subprogram with the body in its place. The parser
	// makes none. The body sees its parameters and no other variables; return
	// inside it ends the call.
	Inlined struct {
		Pos
		Name   *Ident // of the subprogram
		Args   []Expr // as many as Params
		Params []*Param
		Result *TypeExpr
		Body   *Block
	}
	// Bad stands where an expression could not be parsed.
	Bad struct{ Pos }
)

func (*IntLit) expr()     {}
func (*StringLit) expr()  {}
func (*BoolLit) expr()    {}
func (*Ident) expr()      {}
func (*Var) expr()        {}
func (*Map) expr()        {}
func (*MapIndex) expr()   {}
func (*PosParam) expr()   {}
func (*Paren) expr()      {}
func (*Tuple) expr()      {}
func (*Record) expr()     {}
func (*Field) expr()      {}
func (*TupleIndex) expr() {}
func (*Index) expr()      {}
func (*Unary) expr()      {}
func (*IncDec) expr()     {}
func (*Binary) expr()     {}
func (*Cond) expr()       {}
func (*If) expr()         {}
func (*Block) expr()      {}
func (*Cast) expr()       {}
func (*Call) expr()       {}
func (*TypeArg) expr()    {}
func (*SizeOf) expr()     {}
func (*TypeInfo) expr()   {}
func (*OffsetOf) expr()   {}
func (*Comptime) expr()   {}
func (*Inlined) expr()    {}
func (*Bad) expr()        {}

// Shown is the name as the script has it, without $.
func (v *Var) Shown() string {
	name, _, _ := strings.Cut(v.Name, "'")
	return name
}

// A TypeExpr is a type as written: a base and suffixes read left to right.
type TypeExpr struct {
	Pos
	Tag  string // "struct", "union", "enum" or ""
	Name string // base name; multi-word C names are joined by one space
	// One of the two is set in typeof(…), and none else.
	Of       Expr // typeof(expression): Name is ""
	OfType   *TypeExpr
	Suffixes []TypeSuffix
}

// A TypeSuffix is * (Pointer) or [n]; Len is -1 for [].
type TypeSuffix struct {
	Pointer bool
	Len     int64
}
