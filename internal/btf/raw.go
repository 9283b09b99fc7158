package btf

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/hawktrace/hawk/internal/types"
)

// Kind is the kind of a type record.
type Kind uint8

// The kinds of btf.rst.
const (
	Void Kind = iota
	Int
	Ptr
	Array
	Struct
	Union
	Enum
	Fwd
	Typedef
	Volatile
	Const
	Restrict
	Func
	FuncProto
	Var
	Datasec
	Float
	DeclTag
	TypeTag
	Enum64
	numKinds
)

// Kinds is a set of kinds.
type Kinds uint32

// Set returns the set of the given kinds.
func Set(kinds ...Kind) Kinds {
	var s Kinds
	for _, k := range kinds {
		s |= 1 << k
	}
	return s
}

func (s Kinds) has(k Kind) bool { return s>>k&1 != 0 }

// tail describes what follows the 12 bytes that every record has: fixed
// bytes and bytes for each of vlen members.
var tail = [numKinds]struct{ fixed, each uint8 }{
	Int:       {fixed: 4},
	Array:     {fixed: 12},
	Struct:    {each: 12},
	Union:     {each: 12},
	Enum:      {each: 8},
	FuncProto: {each: 8},
	Var:       {fixed: 4},
	Datasec:   {each: 12},
	DeclTag:   {fixed: 4},
	Enum64:    {each: 12},
}

const (
	recordSize = 12
	// stride is the distance of the IDs whose offsets are kept: a compromise
	// between memory (16 kB for vmlinux) and steps to reach a type.
	stride = 32
	// scansBeforeTable is how many names are found by scanning before an
	// index of all names pays off, which takes as long as six scans that find
	// nothing. Those that find something are shorter.
	scansBeforeTable = 8
)

// ErrNotFound is returned when a blob has no type of the wanted name.
var ErrNotFound = errors.New("no such type in BTF")

// A Spec is one blob. It is not safe for concurrent use. The blob may be memory that is
// given back when nothing refers to the Spec any more: nobody keeps slices of it, and
// exported methods have the Spec stay as long as they read.
type Spec struct {
	// Name is "vmlinux" or the module's name.
	Name string

	base    *Spec
	types   []byte
	strs    []byte
	firstID uint32 // ID of the first record of types
	firstSt uint32 // string offset of strs[0]

	offsets []uint32 // of every stride-th record that a walk has come to, in types
	count   uint32   // ID after the last record; 0 until a walk has come to the end
	broken  error    // why the records cannot be walked

	scans    int
	found    map[question]uint32
	expected []question // see Expect
	table    []uint32   // open addressing by name, IDs; nil until worth it

	conv map[uint32]convEntry

	// Found, if set before the first type is asked for, sees every member that is
	// found by name in a struct of this blob; see types.Struct.Found.
	Found func(s *Spec, t *types.Struct, f types.Field) types.Field
}

// Parse reads the header of a blob, which must stay as it is while something
// refers to the Spec. base is nil for a blob that stands alone.
func Parse(name string, data []byte, base *Spec) (*Spec, error) {
	if len(data) < 24 {
		return nil, fmt.Errorf("BTF of %s: %d bytes are too few for a header", name, len(data))
	}
	le := binary.LittleEndian
	if magic := le.Uint16(data); magic != 0xeb9f {
		if magic == 0x9feb {
			return nil, fmt.Errorf("BTF of %s: big-endian, which is not supported", name)
		}
		return nil, fmt.Errorf("BTF of %s: bad magic %#x", name, magic)
	}
	if v := data[2]; v != 1 {
		return nil, fmt.Errorf("BTF of %s: unknown version %d", name, v)
	}
	hdr := uint64(le.Uint32(data[4:]))
	typeOff, typeLen := uint64(le.Uint32(data[8:])), uint64(le.Uint32(data[12:]))
	strOff, strLen := uint64(le.Uint32(data[16:])), uint64(le.Uint32(data[20:]))
	size := uint64(len(data))
	if hdr < 24 || hdr+typeOff+typeLen > size || hdr+strOff+strLen > size {
		return nil, fmt.Errorf("BTF of %s: sections lie outside of its %d bytes", name, size)
	}
	s := &Spec{
		Name:    name,
		base:    base,
		types:   data[hdr+typeOff:][:typeLen:typeLen],
		strs:    data[hdr+strOff:][:strLen:strLen],
		firstID: 1,
	}
	if base != nil {
		// How many types the base has is known only once it was walked over.
		if err := base.reach(math.MaxUint32); err != nil {
			return nil, err
		}
		s.firstID = base.count
		s.firstSt = base.firstSt + uint32(len(base.strs))
	}
	return s, nil
}

// A record is one raw type. The zero record is void.
type record struct {
	kind Kind
	flag bool   // kind_flag
	vlen int    // members
	name uint32 // string offset
	arg  uint32 // size or type, by kind
	tail []byte
}

// at decodes the record at an offset of s.types; next is the offset after it.
func (s *Spec) at(off uint32) (r record, next uint32, err error) {
	if uint64(off)+recordSize > uint64(len(s.types)) {
		return r, 0, fmt.Errorf("BTF of %s: record at %#x is cut off", s.Name, off)
	}
	b := s.types[off:]
	info := binary.LittleEndian.Uint32(b[4:])
	r = record{
		name: binary.LittleEndian.Uint32(b),
		kind: Kind(info >> 24 & 0x1f),
		flag: info>>31 != 0,
		vlen: int(info & 0xffff),
		arg:  binary.LittleEndian.Uint32(b[8:]),
	}
	if r.kind == Void || r.kind >= numKinds {
		return r, 0, fmt.Errorf("BTF of %s: unknown kind %d at %#x", s.Name, r.kind, off)
	}
	n := int(tail[r.kind].fixed) + int(tail[r.kind].each)*r.vlen
	if len(b)-recordSize < n {
		return r, 0, fmt.Errorf("BTF of %s: record at %#x is cut off", s.Name, off)
	}
	r.tail = b[recordSize : recordSize+n]
	return r, off + recordSize + uint32(n), nil
}

// walk calls visit for every record of s (not of its base) until it returns
// false.
func (s *Spec) walk(visit func(id uint32, r *record) bool) error {
	return s.walkFrom(s.firstID, 0, visit)
}

// walkFrom is walk from a record on. It notes where records are on its way.
func (s *Spec) walkFrom(id, off uint32, visit func(id uint32, r *record) bool) error {
	if s.broken != nil {
		return s.broken
	}
	var r record // one for all, since visit makes it escape
	for int(off) < len(s.types) {
		s.note(id, off)
		var next uint32
		var err error
		if r, next, err = s.at(off); err != nil {
			s.broken = err
			return err
		}
		if !visit(id, &r) {
			return nil
		}
		id, off = id+1, next
	}
	s.count = id
	return nil
}

// note remembers where a record is, if it is the next that the index wants.
func (s *Spec) note(id, off uint32) {
	if n := id - s.firstID; n%stride == 0 && int(n/stride) == len(s.offsets) {
		s.offsets = append(s.offsets, off)
	}
}

// reach makes sure that the index covers a type, or all of them if there are
// fewer. What a script needs tends to stand near the beginning: the rest is
// not even paged in.
func (s *Spec) reach(id uint32) error {
	known := len(s.offsets) // strides, the last of which may be incomplete
	if s.count != 0 || known > 0 && id-s.firstID < uint32(known-1)*stride {
		return nil
	}
	from, off := s.firstID, uint32(0)
	if known > 0 {
		from, off = s.firstID+uint32(known-1)*stride, s.offsets[known-1]
	}
	return s.walkFrom(from, off, func(at uint32, _ *record) bool {
		return (at-s.firstID)/stride <= (id-s.firstID)/stride
	})
}

// record returns a type by ID, in the base as well.
func (s *Spec) record(id uint32) (record, error) {
	if id == 0 {
		return record{}, nil
	}
	s = s.owner(id)
	if err := s.reach(id); err != nil {
		return record{}, err
	}
	if id < s.firstID || s.count != 0 && id >= s.count {
		return record{}, fmt.Errorf("BTF of %s: no type %d", s.Name, id)
	}
	n := id - s.firstID
	// reach has seen to it that this place is there.
	off := s.offsets[n/stride]
	for range n % stride {
		_, next, err := s.at(off)
		if err != nil {
			return record{}, err
		}
		off = next
	}
	r, _, err := s.at(off)
	return r, err
}

// str returns a string by offset without its NUL; nil if out of bounds.
func (s *Spec) str(off uint32) []byte {
	for s.base != nil && off < s.firstSt {
		s = s.base
	}
	off -= s.firstSt
	if uint64(off) >= uint64(len(s.strs)) {
		return nil
	}
	b := s.strs[off:]
	end := bytes.IndexByte(b, 0)
	if end < 0 {
		return nil
	}
	return b[:end:end]
}

// stringOffsets finds where a name is stored, in s and its base. Equal
// strings are stored once in blobs made by pahole; others may repeat them.
func (s *Spec) stringOffsets(name string) []uint32 {
	var out []uint32
	if s.base != nil {
		out = s.base.stringOffsets(name)
	}
	if name == "" || bytes.IndexByte([]byte(name), 0) >= 0 {
		return nil
	}
	want := append([]byte(name), 0)
	for from := 0; ; {
		i := bytes.Index(s.strs[from:], want)
		if i < 0 {
			return out
		}
		at := from + i
		if at == 0 && s.base != nil || at > 0 && s.strs[at-1] == 0 {
			out = append(out, s.firstSt+uint32(at))
		}
		from = at + len(want)
	}
}
