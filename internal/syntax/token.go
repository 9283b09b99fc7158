package syntax

// A Token is a kind of lexical element.
type Token uint8

// The tokens.
const (
	Invalid Token = iota
	EOF
	Name     // identifier
	Integer  // integer literal
	String   // string literal
	VarName  // $name
	MapName  // @name or @
	ParamNum // $1, $#

	Add   // +
	Sub   // -
	Mul   // *
	Div   // /
	Mod   // %
	And   // &
	Or    // |
	Xor   // ^
	Tilde // ~
	Not   // !
	Shl   // <<
	Shr   // >>
	Lt    // <
	Gt    // >
	Le    // <=
	Ge    // >=
	Eq    // ==
	Ne    // !=
	LAnd  // &&
	LOr   // ||
	Inc   // ++
	Dec   // --

	Assign    // =
	AddAssign // +=
	SubAssign // -=
	MulAssign // *=
	DivAssign // /=
	ModAssign // %=
	AndAssign // &=
	OrAssign  // |=
	XorAssign // ^=
	ShlAssign // <<=
	ShrAssign // >>=

	Question  // ?
	Colon     // :
	Comma     // ,
	Semicolon // ;
	Dot       // .
	DotDot    // ..
	Arrow     // ->
	LParen    // (
	RParen    // )
	LBracket  // [
	RBracket  // ]
	LBrace    // {
	RBrace    // }
)

var tokenText = [...]string{
	Invalid: "invalid", EOF: "end of file", Name: "identifier", Integer: "integer", String: "string",
	VarName: "variable", MapName: "map", ParamNum: "positional parameter",
	Add: "+", Sub: "-", Mul: "*", Div: "/", Mod: "%", And: "&", Or: "|", Xor: "^", Tilde: "~", Not: "!",
	Shl: "<<", Shr: ">>", Lt: "<", Gt: ">", Le: "<=", Ge: ">=", Eq: "==", Ne: "!=", LAnd: "&&", LOr: "||",
	Inc: "++", Dec: "--",
	Assign: "=", AddAssign: "+=", SubAssign: "-=", MulAssign: "*=", DivAssign: "/=", ModAssign: "%=",
	AndAssign: "&=", OrAssign: "|=", XorAssign: "^=", ShlAssign: "<<=", ShrAssign: ">>=",
	Question: "?", Colon: ":", Comma: ",", Semicolon: ";", Dot: ".", DotDot: "..", Arrow: "->",
	LParen: "(", RParen: ")", LBracket: "[", RBracket: "]", LBrace: "{", RBrace: "}",
}

// String is how messages call a token: an operator by itself, others by their sort.
func (t Token) String() string { return tokenText[t] }

// Binary returns the operator that a compound assignment applies: Add for
// AddAssign. It returns Invalid for anything else.
func (t Token) Binary() Token {
	switch t {
	case AddAssign:
		return Add
	case SubAssign:
		return Sub
	case MulAssign:
		return Mul
	case DivAssign:
		return Div
	case ModAssign:
		return Mod
	case AndAssign:
		return And
	case OrAssign:
		return Or
	case XorAssign:
		return Xor
	case ShlAssign:
		return Shl
	case ShrAssign:
		return Shr
	}
	return Invalid
}
