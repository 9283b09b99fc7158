package btf

import (
	"encoding/binary"
	"fmt"
	"runtime"

	"github.com/hawktrace/hawk/internal/types"
)

// maxDepth bounds chains of modifiers, pointers and arrays, which a malformed
// blob can make endless.
const maxDepth = 64

// A convEntry is a type that was converted.
type convEntry struct{ typ types.Type }

// Type converts a type. Typedefs and qualifiers are resolved away, char
// arrays become strings, function prototypes void, floating-point types
// arrays of bytes. Structs get their fields on first use.
func (s *Spec) Type(id uint32) (types.Type, error) {
	defer runtime.KeepAlive(s)
	return s.convert(id, 0)
}

// convert converts a type, each once.
func (s *Spec) convert(id uint32, depth int) (types.Type, error) {
	if id == 0 {
		return types.Void, nil
	}
	s = s.owner(id) // so that equal types are identical, whoever asks
	if e, ok := s.conv[id]; ok {
		return e.typ, nil
	}
	t, err := s.convertNew(id, depth)
	if err != nil {
		return nil, err
	}
	if s.conv == nil {
		s.conv = make(map[uint32]convEntry)
	}
	s.conv[id] = convEntry{t}
	return t, nil
}

// convertNew converts a type that has not been yet. Depth is bounded, since malformed types lead
// back to themselves.
func (s *Spec) convertNew(id uint32, depth int) (types.Type, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("BTF of %s: type %d is nested too deeply", s.Name, id)
	}
	r, err := s.record(id)
	if err != nil {
		return nil, err
	}
	switch r.kind {
	case Int:
		return intType(&r), nil
	// Programs cannot compute with floating point: the bytes are there to be looked at.
	case Float:
		return &types.Array{Elem: types.Uint8, Len: int(r.arg)}, nil
	case Ptr:
		return s.pointer(&r, depth)
	case Array:
		return s.array(&r, depth)
	case Struct, Union:
		return s.structType(id, &r), nil
	case Fwd:
		kind := types.StructKind
		if r.flag {
			kind = types.UnionKind
		}
		return types.NewStruct(kind, string(s.str(r.name)), 0, 1, nil), nil
	case Enum, Enum64:
		return s.enum(&r), nil
	case Typedef, Volatile, Const, Restrict, TypeTag:
		return s.convert(r.arg, depth+1)
	}
	// Function prototypes and whatever has no values.
	return types.Void, nil
}

// intType converts an integer. 128-bit ones have no counterpart and become
// two words.
func intType(r *record) types.Type {
	enc := binary.LittleEndian.Uint32(r.tail)
	if enc>>24&4 != 0 && r.arg == 1 {
		return types.Bool
	}
	signed := enc>>24&1 != 0
	switch r.arg {
	case 1, 2, 4, 8:
		return types.IntOf(int(r.arg), signed)
	case 16:
		return &types.Array{Elem: types.Uint64, Len: 2}
	}
	return types.Void
}

// pointer converts a pointer. Its tags are the first in the chain of what it
// points to. What is tagged rcu is read like anything else.
func (s *Spec) pointer(r *record, depth int) (types.Type, error) {
	p := &types.Pointer{Elem: types.Void}
	target, err := s.record(r.arg)
	if err != nil {
		return nil, err
	}
	for d := 0; target.kind == TypeTag || target.kind == Const || target.kind == Volatile; d++ {
		if target.kind == TypeTag {
			switch tag := string(s.str(target.name)); tag {
			case "user":
				p.Space = types.User
			case "rcu":
			default:
				p.Tag = tag
			}
		}
		if d > maxDepth {
			return nil, fmt.Errorf("BTF of %s: chain of qualifiers without end", s.Name)
		}
		if target, err = s.record(target.arg); err != nil {
			return nil, err
		}
	}
	elem, err := s.convert(r.arg, depth+1)
	if err != nil {
		return nil, err
	}
	p.Elem = elem
	return p, nil
}

// array converts an array; one of no elements, as at the end of a struct, has no bound.
func (s *Spec) array(r *record, depth int) (types.Type, error) {
	le := binary.LittleEndian
	elemID, n := le.Uint32(r.tail), int(le.Uint32(r.tail[8:]))
	elem, err := s.convert(elemID, depth+1)
	if err != nil {
		return nil, err
	}
	_, number := elem.(*types.Int)
	text := number && elem.Size() == 1
	if n == 0 {
		return &types.Array{Elem: elem, Len: -1, Text: text}, nil
	}
	if es := elem.Size(); es > 0 && n > (1<<31-1)/es {
		return nil, fmt.Errorf("BTF of %s: array of %d elements of %d bytes", s.Name, n, es)
	}
	if s.isChar(elemID) {
		return &types.String{Cap: n}, nil
	}
	return &types.Array{Elem: elem, Len: n, Text: text}, nil
}

// isChar reports whether a type is C's plain char, the element of text.
func (s *Spec) isChar(id uint32) bool {
	r, err := s.bare(id)
	return err == nil && r.kind == Int && r.arg == 1 && string(s.str(r.name)) == "char"
}

// bare is a type without its qualifiers and further names.
func (s *Spec) bare(id uint32) (record, error) {
	for range maxDepth {
		r, err := s.record(id)
		if err != nil {
			return r, err
		}
		switch r.kind {
		case Typedef, Volatile, Const, Restrict, TypeTag:
			id = r.arg
		default:
			return r, nil
		}
	}
	return record{}, fmt.Errorf("BTF of %s: type %d is nested too deeply", s.Name, id)
}

// enum converts an enumeration of 32 or 64 bits.
func (s *Spec) enum(r *record) types.Type {
	e := &types.Enum{Name: string(s.str(r.name)), Bytes: int(r.arg), Signed: r.flag}
	switch e.Bytes {
	case 1, 2, 4, 8:
	default:
		e.Bytes = 4
	}
	each := int(tail[r.kind].each)
	e.Values = make([]types.EnumValue, 0, r.vlen)
	for b := r.tail; len(b) >= each; b = b[each:] {
		name := string(s.str(binary.LittleEndian.Uint32(b)))
		e.Values = append(e.Values, types.EnumValue{Name: name, Value: enumValue(r, b)})
	}
	return e
}

// structType converts a struct or union; its fields follow on demand.
func (s *Spec) structType(id uint32, r *record) types.Type {
	kind := types.StructKind
	if r.kind == Union {
		kind = types.UnionKind
	}
	// No type of the kernel is that large; the size goes into arithmetic with offsets.
	if r.arg > 1<<30 {
		r.arg = 0
	}
	t := types.NewStruct(kind, string(s.str(r.name)), int(r.arg), types.GuessAlign(int(r.arg)), nil)
	if s.base == nil && s.Name == "vmlinux" {
		t.BTFID = id
	}
	if s.Found != nil {
		t.Found = func(f types.Field) types.Field { return s.Found(s, t, f) }
	}
	t.Load = func() []types.Field {
		defer runtime.KeepAlive(s)
		fields, err := s.fields(id)
		if err != nil {
			return nil // a struct of a broken blob has no fields
		}
		return fields
	}
	return t
}

// A member is one raw member of a struct or union.
type member struct {
	name, typ uint32
	bit       int // from the start of the struct
	bits      int // of a bit-field, else 0
}

// members decodes the members of a struct, in both encodings of bit-fields.
func (s *Spec) members(r *record) []member {
	le := binary.LittleEndian
	out := make([]member, 0, r.vlen)
	for b := r.tail; len(b) >= 12; b = b[12:] {
		m := member{name: le.Uint32(b), typ: le.Uint32(b[4:]), bit: int(le.Uint32(b[8:]))}
		if r.flag {
			m.bits, m.bit = m.bit>>24, m.bit&0xffffff
		} else if mr, err := s.record(m.typ); err == nil && mr.kind == Int {
			// The old encoding puts size and offset of a bit-field in its type.
			enc := int(le.Uint32(mr.tail))
			if n := enc & 0xff; n != 0 && n != int(mr.arg)*8 {
				m.bits, m.bit = n, m.bit+enc>>16&0xff
			}
		}
		out = append(out, m)
	}
	return out
}

// fields converts the members of a struct, when somebody asks for them.
func (s *Spec) fields(id uint32) ([]types.Field, error) {
	r, err := s.record(id)
	if err != nil {
		return nil, err
	}
	out := make([]types.Field, 0, r.vlen)
	budget := maxAnonymous
	for _, m := range s.members(&r) {
		typ, err := s.convert(m.typ, 0)
		if err != nil {
			return nil, err
		}
		f := types.Field{Name: string(s.str(m.name)), Type: typ, Offset: m.bit / 8}
		if f.Name == "" {
			if !s.finite(m.typ, &budget, 0) {
				return nil, fmt.Errorf("BTF of %s: struct %d has anonymous members without end", s.Name, id)
			}
		}
		if m.bits != 0 {
			types.PlaceBits(&f, m.bit, m.bits, int(r.arg))
		}
		out = append(out, f)
	}
	return out, nil
}

// maxAnonymous bounds the members reached through anonymous structs, all of
// which a look-up by name visits.
const maxAnonymous = 1 << 14

// finite reports whether the anonymous members below a type end, which a
// malformed blob need not grant.
func (s *Spec) finite(id uint32, budget *int, depth int) bool {
	r, err := s.record(id)
	for err == nil && (r.kind == Typedef || r.kind == Const || r.kind == Volatile) && *budget > 0 {
		*budget--
		r, err = s.record(r.arg)
	}
	if err != nil || r.kind != Struct && r.kind != Union {
		return *budget > 0
	}
	for b := r.tail; len(b) >= 12; b = b[12:] {
		if *budget--; *budget <= 0 || depth > maxDepth {
			return false
		}
		if name := s.str(binary.LittleEndian.Uint32(b)); len(name) == 0 {
			if !s.finite(binary.LittleEndian.Uint32(b[4:]), budget, depth+1) {
				return false
			}
		}
	}
	return true
}
