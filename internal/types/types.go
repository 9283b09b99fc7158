// Package types is the one type model of hawk: scripts, kernel BTF,
// tracepoint formats and DWARF all speak it. Types are immutable values once
// built; records from the outside world resolve their fields on first use.
package types

import (
	"fmt"
	"math/bits"
	"strings"
)

// A Type is any type a value of the language can have.
type Type interface {
	String() string // the full name, with sizes
	Size() int      // bytes in memory, 0 if it has no storage
	Align() int     // bytes, 1 for byte blobs
}

// Int is an integer of 1, 2, 4 or 8 bytes.
type Int struct {
	Bytes  int
	Signed bool
	Clock  string // what a time stamp was read from, as nsecs has it; it makes no other type
}

// The integer types. Compare integers by value, not by pointer.
var (
	Int8   = &Int{Bytes: 1, Signed: true}
	Int16  = &Int{Bytes: 2, Signed: true}
	Int32  = &Int{Bytes: 4, Signed: true}
	Int64  = &Int{Bytes: 8, Signed: true}
	Uint8  = &Int{Bytes: 1}
	Uint16 = &Int{Bytes: 2}
	Uint32 = &Int{Bytes: 4}
	Uint64 = &Int{Bytes: 8}
)

// IntOf returns the integer type of a width in bytes and a sign.
func IntOf(bytes int, signed bool) *Int {
	i := map[int]int{1: 0, 2: 1, 4: 2}[bytes]
	if bytes == 8 {
		i = 3
	}
	if signed {
		return [...]*Int{Int8, Int16, Int32, Int64}[i]
	}
	return [...]*Int{Uint8, Uint16, Uint32, Uint64}[i]
}

func (t *Int) String() string {
	if t.Signed {
		return fmt.Sprintf("int%d", t.Bytes*8)
	}
	return fmt.Sprintf("uint%d", t.Bytes*8)
}
func (t *Int) Size() int  { return t.Bytes }
func (t *Int) Align() int { return t.Bytes }

// basic are the types without structure.
type basic struct {
	name        string
	size, align int
}

func (t *basic) String() string { return t.name }
func (t *basic) Size() int      { return t.size }
func (t *basic) Align() int     { return t.align }

// Types without structure.
var (
	Bool Type = &basic{"bool", 1, 1}
	Void Type = &basic{"void", 0, 1}
	None Type = &basic{"none", 0, 1} // no value at all
)

// String is a NUL-padded byte array; Cap includes the NUL. In hawk's own
// memory (variables, maps, keys, records) every byte after the first NUL is
// zero, so that equal strings are equal bytes.
type String struct {
	Cap int // bytes
	// Trunc marks a string read from memory that may have been longer than
	// Cap-1 bytes: when it fills all of Cap-1 bytes, the truncation trailer
	// is printed.
	Trunc bool
	// Marked says that a string may be Unreadable, so that bytes behind the NUL
	// of an empty one are looked at.
	Marked bool
}

// Unreadable stands in place of a string that could not be read. It is an empty
// string to the program, but not the same bytes as the empty string; no text in
// UTF-8 holds its second byte.
const Unreadable = "\x00\xff"

func (t *String) String() string {
	if t.Cap == 0 {
		return "string"
	}
	return fmt.Sprintf("string[%d]", t.Cap)
}
func (t *String) Size() int  { return t.Cap }
func (t *String) Align() int { return 1 }

// Buffer is {u32 length; u8 data[Cap]}, the result of buf().
type Buffer struct{ Cap int } // data bytes

func (t *Buffer) String() string { return fmt.Sprintf("buffer[%d]", t.Cap) }
func (t *Buffer) Size() int      { return t.Cap + 4 }
func (t *Buffer) Align() int     { return 4 }

// Space is the address space of a pointer or of an integer used as one.
type Space uint8

// The address spaces.
const (
	Unset Space = iota
	Kernel
	User
)

func (s Space) String() string { return [...]string{"none", "kernel", "user"}[s] }

// Pointer is 8 bytes. Elem is Void for an untyped pointer.
type Pointer struct {
	Elem  Type
	Space Space
	Tag   string // why nothing can be read through it as it is, such as percpu; "" for most
}

func (t *Pointer) String() string { return t.Elem.String() + " *" }
func (t *Pointer) Size() int      { return 8 }
func (t *Pointer) Align() int     { return 8 }

// Array is a fixed number of elements.
type Array struct {
	Elem Type
	Len  int // -1: unsized
	// Text says that the array is shown and compared as the text that it begins with, though it
	// keeps all its bytes: unsigned char of the kernel, which has names and addresses in them.
	Text bool
}

// IsText reports whether the array is text of a known length.
func (t *Array) IsText() bool { return t.Text && t.Len > 0 }

func (t *Array) String() string {
	if t.Len < 0 {
		return t.Elem.String() + "[]"
	}
	return fmt.Sprintf("%s[%d]", t.Elem, t.Len)
}
func (t *Array) Size() int {
	if t.Len < 0 {
		return 0
	}
	return t.Elem.Size() * t.Len
}
func (t *Array) Align() int { return t.Elem.Align() }

// Enum is an integer with named values.
type Enum struct {
	Name   string // tag, "" if anonymous
	Bytes  int
	Signed bool
	Values []EnumValue
}

// An EnumValue is one enumerator.
type EnumValue struct {
	Name  string
	Value int64 // bits of the value; unsigned enums reinterpret
}

func (t *Enum) String() string { return "enum " + t.Name }
func (t *Enum) Size() int      { return t.Bytes }
func (t *Enum) Align() int     { return t.Bytes }

// NameOf returns the enumerator of a value, "" if there is none.
func (t *Enum) NameOf(v int64) string {
	for _, e := range t.Values {
		if e.Value == v {
			return e.Name
		}
	}
	return ""
}

// Kind says which keyword introduced a Struct.
type Kind uint8

// The kinds of Struct. ContextKind is a struct laid out in a program context
// (tracepoint records, function arguments), never in memory.
const (
	StructKind Kind = iota
	UnionKind
	ContextKind
)

// Struct is a struct or union of the traced world. Fields resolve on first
// use, so that naming task_struct costs nothing until a field is asked for.
type Struct struct {
	Kind  Kind
	Name  string // tag, "" if anonymous
	Bytes int    // -1: known only after Load, which sets it; Size asks for it
	Algn  int    // 0: 8
	BTFID uint32 // type ID in vmlinux BTF, 0 if unknown or not from there
	C     bool   // defined by C text: a character array may be full, without a NUL
	// Text says that values are text that lies elsewhere, as strings of Go, Rust and
	// C++ are; nil for most structs. It may be called once fields are asked for.
	Text func() (Text, bool)
	// Load fills the fields on first use; nil once done or if Fields were given.
	Load   func() []Field
	fields []Field
	// Found, if not nil, sees every member that is found by name and may number
	// its relocation.
	Found func(f Field) Field
	// Absent says why a member that exists is not among the fields, "" if it does
	// not exist; may be nil.
	Absent func(name string) string

	spelled bool   // String is at work on it
	text    string // what String yields, once settled
}

// Text says through which members of a struct the text that it stands for is
// found: its address and its length in bytes.
type Text struct{ Addr, Len []string }

// Field is a member of a Struct.
type Field struct {
	Name   string // "" for an anonymous struct or union member
	Type   Type
	Offset int // bytes from the start of the struct; for bit-fields, of the storage that holds the first bit
	// BitOffset and BitSize describe a bit-field: BitSize bits starting
	// BitOffset bits above bit 0 of the little-endian word at Offset.
	BitOffset, BitSize int
	DataLoc            DataLoc
	Arg                int // ContextKind of function arguments: argument slot, from 0
	// Reloc is the number plus one of the relocation that stands for Offset in
	// programs that are loaded on other kernels; 0: Offset is final.
	Reloc int
}

// DataLoc says how a tracepoint field refers to its data.
type DataLoc uint8

// NoDataLoc is a field in place; the others hold length<<16|offset in 32
// bits, the offset counted from the start of the record or from the end of
// the field.
const (
	NoDataLoc DataLoc = iota
	DataLocAbs
	DataLocRel
)

// NewStruct returns a struct with known fields.
func NewStruct(kind Kind, name string, bytes, align int, fields []Field) *Struct {
	return &Struct{Kind: kind, Name: name, Bytes: bytes, Algn: align, fields: fields}
}

// Fields returns the members in declaration order.
func (t *Struct) Fields() []Field {
	if t.Load != nil {
		load := t.Load
		t.Load = nil // a field may refer back to the struct while it loads
		t.fields = load()
	}
	return t.fields
}

// Field finds a member by name, looking through anonymous members; offsets
// are relative to t.
func (t *Struct) Field(name string) (Field, bool) {
	f, ok := t.field(name)
	if ok && t.Found != nil {
		f = t.Found(f)
	}
	return f, ok
}

// field finds a field, also in anonymous members.
func (t *Struct) field(name string) (Field, bool) {
	for _, f := range t.Fields() {
		if f.Name == name {
			return f, true
		}
		if inner, ok := f.Type.(*Struct); ok && f.Name == "" {
			if g, ok := inner.field(name); ok {
				g.Offset += f.Offset
				return g, true
			}
		}
	}
	return Field{}, false
}

// FieldNames lists all names Field finds, for near-miss suggestions.
func (t *Struct) FieldNames() []string {
	var out []string
	for _, f := range t.Fields() {
		if f.Name != "" {
			out = append(out, f.Name)
		} else if inner, ok := f.Type.(*Struct); ok {
			out = append(out, inner.FieldNames()...)
		}
	}
	return out
}

// String is the name of the type, or the members of one without a name as far as they are few.
func (t *Struct) String() string {
	word := "struct"
	if t.Kind == UnionKind {
		word = "union"
	}
	if t.Name != "" {
		return word + " " + t.Name
	}
	// Anonymous structs in each other double with every level, and malformed ones
	// lead back to themselves.
	const enough = 200
	if t.text != "" {
		return t.text
	}
	if t.spelled {
		return word + " {…}"
	}
	t.spelled = true
	defer func() { t.spelled = false }()
	text := word + " {"
	for i, f := range t.Fields() {
		if i > 0 {
			text += ","
		}
		if len(text) > enough {
			text += "…"
			break
		}
		text += f.Type.String()
	}
	return text + "}"
}
func (t *Struct) Size() int {
	if t.Bytes < 0 {
		t.Fields()
	}
	return t.Bytes
}
func (t *Struct) Align() int {
	if t.Algn == 0 {
		return 8
	}
	return t.Algn
}

// Tuple is a C-like sequence of values; Record has names too.
type Tuple struct {
	Elems   []Type
	Offsets []int // of each element, bytes
	bytes   int
	align   int
}

// NewTuple lays out a tuple: each element at its own alignment, the total
// padded to the largest.
func NewTuple(elems ...Type) *Tuple {
	t := &Tuple{Elems: elems, align: 1}
	for _, e := range elems {
		a := e.Align()
		t.align = max(t.align, a)
		t.bytes = RoundUp(t.bytes, a)
		t.Offsets = append(t.Offsets, t.bytes)
		t.bytes += e.Size()
	}
	t.bytes = RoundUp(t.bytes, t.align)
	return t
}

func (t *Tuple) String() string {
	parts := make([]string, len(t.Elems))
	for i, e := range t.Elems {
		parts[i] = e.String()
	}
	return "(" + strings.Join(parts, ",") + ")"
}
func (t *Tuple) Size() int  { return t.bytes }
func (t *Tuple) Align() int { return t.align }

// Record is a tuple whose elements have names.
type Record struct {
	Tuple
	Names []string
}

// NewRecord lays out a record.
func NewRecord(names []string, elems []Type) *Record {
	return &Record{Tuple: *NewTuple(elems...), Names: names}
}

func (t *Record) String() string {
	parts := make([]string, len(t.Elems))
	for i, e := range t.Elems {
		parts[i] = "." + t.Names[i] + " = " + e.String()
	}
	return "record { " + strings.Join(parts, ", ") + " }"
}

// StackMode is how a stack prints.
type StackMode uint8

// The stack modes.
const (
	StackDefault StackMode = iota // "bpftrace"
	StackPerf
	StackRaw
	StackBuildID
)

var stackModes = [...]string{"bpftrace", "perf", "raw", "build_id"}

func (m StackMode) String() string { return stackModes[m] }

// Stack is a captured stack. In memory it is 16 bytes: u64 id in the stack
// map of its limit (or a negative errno), u32 tgid (user stacks only), u32 0.
type Stack struct {
	User  bool
	Mode  StackMode
	Limit int
}

func (t *Stack) String() string {
	return fmt.Sprintf("%sstack_%s_%d", map[bool]string{false: "k", true: "u"}[t.User], t.Mode, t.Limit)
}
func (t *Stack) Size() int  { return 16 }
func (t *Stack) Align() int { return 8 }

// Stored is how many bytes a stack would take as a whole, which is what scripts
// are told: a number of frames, the frames, and the process of a user stack. Values hold the number
// of a stack instead.
func (t *Stack) Stored() int {
	head, frame := 8, 8
	if t.User {
		head = 16
	}
	if t.Mode == StackBuildID {
		frame = 32
	}
	return head + frame*t.Limit
}

// A Renderer is what gives a Deferred its text: the number of a builtin that says so in its row, from
// 1 on. Compiled scripts hold it, so that a row keeps its number.
type Renderer uint8

// Deferred is a value that travels raw and is given its text in user space, with
// Arg as the builtin that does so sees fit (a format, a mode).
type Deferred struct {
	Name  string // printable type name: ksym_t, timestamp, inet[24]
	By    Renderer
	Arg   string
	Bytes int
	Algn  int
	Open  bool // written in a script: Arg is not known
	Int   bool // a number in fact, which integers can be cast to
}

// With is the type with an Arg, which is then known.
func (t *Deferred) With(arg string) *Deferred {
	with := *t
	with.Arg, with.Open = arg, false
	return &with
}

func (t *Deferred) String() string { return t.Name }
func (t *Deferred) Size() int      { return t.Bytes }
func (t *Deferred) Align() int     { return t.Algn }

// Agg is the type of a map value that an aggregation updates. Kind is the
// aggregation's name in the builtin registry.
type Agg struct {
	Kind   string
	Signed bool
	Params []int64 // hist: bits; lhist: min, max, step
	Sum    bool    // hist, lhist: the last word of a cell is the sum of the values
}

func (t *Agg) String() string {
	if t.Signed || t.Kind == "count" || t.Kind == "hist" || t.Kind == "lhist" || t.Kind == "tseries" {
		return t.Kind + "_t"
	}
	return "u" + t.Kind + "_t"
}
func (t *Agg) Size() int  { return 8 }
func (t *Agg) Align() int { return 8 }

// Func is a kernel or user function's prototype.
type Func struct {
	Name   string
	Params []Param
	More   bool // takes a variable number of arguments behind those
	Result Type // Void if none
	BTFID  uint32
	Module string // "vmlinux" or the module
}

// Param is one parameter of a Func.
type Param struct {
	Name string
	Type Type
}

// RoundUp rounds n up to a multiple of to.
func RoundUp(n, to int) int { return (n + to - 1) / to * to }

// PowerOfTwo rounds n, at least 1, up to a power of two.
func PowerOfTwo(n int) int { return 1 << bits.Len(uint(n-1)) }
