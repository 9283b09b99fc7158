package value

import (
	"bytes"
	"encoding/binary"

	"github.com/hawktrace/hawk/internal/types"
)

// A Slot says where an argument lies in a record.
type Slot struct {
	Type   types.Type
	Offset int  // bytes from the start of the record
	Size   int  // bytes, in the fixed part of the record
	Tail   bool // at Offset stand u32 offset and u32 length of a text behind the fixed part
}

// Bytes are those of the argument in a record. What is not there is left out.
func (s *Slot) Bytes(rec []byte) []byte {
	off, size := s.Offset, s.Size
	if s.Tail {
		if off < 0 || off+8 > len(rec) {
			return nil
		}
		at, n := binary.NativeEndian.Uint32(rec[off:]), binary.NativeEndian.Uint32(rec[off+4:])
		off, size = int(at), int(n)
	}
	if off < 0 || off > len(rec) {
		return nil
	}
	return rec[off : off+min(size, len(rec)-off)]
}

// A Plan is a format whose arguments lie at known places of records. What is asked of types and
// conversions is asked once, when it is made.
type Plan struct {
	steps []step
	end   string // behind the last conversion
	plain bool
}

// A step is a conversion and the text in front of it.
type step struct {
	text   string
	way    way
	signed bool // the argument, of the ways of integers
	slot   Slot
	str    *types.String // of the way of strings
	conv   *Conv
}

// A way is how a step comes to its text.
type way uint8

const (
	anyWay    way = iota // by Conv.append, whatever it is
	missing              // there is no argument
	plainText            // a string as it is
	decimal1             // an integer of so many bytes as its digits
	decimal2
	decimal4
	decimal8
)

// decimals are the ways of integers, by their size in bytes.
var decimals = map[int]way{1: decimal1, 2: decimal2, 4: decimal4, 8: decimal8}

// Plan makes a plan for arguments, as many as there are conversions.
func (f *Format) Plan(slots []Slot) *Plan {
	p := &Plan{steps: make([]step, len(f.Convs)), end: f.text[len(f.text)-1], plain: true}
	for i := range f.Convs {
		s := &p.steps[i]
		s.text, s.conv = f.text[i], &f.Convs[i]
		if i >= len(slots) {
			s.way, p.plain = missing, false
			continue
		}
		s.slot = slots[i]
		switch t := s.slot.Type.(type) {
		case *types.Int:
			if s.conv.decimal() && !s.slot.Tail && s.slot.Offset >= 0 {
				s.way, s.signed = decimals[t.Bytes], t.Signed
			}
		case *types.String:
			if c := s.conv; c.Verb == Default && c.Width == 0 && c.Prec < 0 {
				s.way, s.str = plainText, t
			}
		}
		p.plain = p.plain && s.way != anyWay
	}
	return p
}

// Plain reports whether all that is formatted are integers and strings as they are.
func (p *Plan) Plain() bool { return p.plain }

// Append formats the arguments of a record. It does not allocate beyond dst for integers, strings,
// pointers, enums and tuples of them. A value that cannot be shown stands as !{reason}.
func (p *Plan) Append(dst, rec []byte, env Env) []byte { return p.append(dst, rec, env, false) }

// AppendEscaped is Append with the text of the arguments escaped, see Escape;
// that of the format is not.
func (p *Plan) AppendEscaped(dst, rec []byte, env Env) []byte { return p.append(dst, rec, env, true) }

func (p *Plan) append(dst, rec []byte, env Env, escape bool) []byte {
	for i := range p.steps {
		s := &p.steps[i]
		if dst = appendShort(dst, s.text); s.way >= decimal1 {
			if v, ok := s.integer(rec); ok {
				dst = s.conv.appendDecimal(dst, v)
				continue
			}
		} else if s.way == plainText && !escape {
			dst = s.appendText(dst, rec, env)
			continue
		}
		if s.way == missing {
			dst = append(dst, "!{no argument}"...)
			continue
		}
		dst = s.conv.append(dst, Arg{s.slot.Type, s.slot.Bytes(rec)}, env, escape)
	}
	return appendShort(dst, p.end)
}

// integer loads the argument; ok is false if the record ends before it does.
func (s *step) integer(rec []byte) (v uint64, ok bool) {
	off := s.slot.Offset
	switch s.way {
	case decimal8:
		if off+8 > len(rec) {
			return 0, false
		}
		return binary.NativeEndian.Uint64(rec[off:]), true
	case decimal4:
		if off+4 > len(rec) {
			return 0, false
		}
		v := binary.NativeEndian.Uint32(rec[off:])
		if s.signed {
			return uint64(int32(v)), true
		}
		return uint64(v), true
	case decimal2:
		if off+2 > len(rec) {
			return 0, false
		}
		v := binary.NativeEndian.Uint16(rec[off:])
		if s.signed {
			return uint64(int16(v)), true
		}
		return uint64(v), true
	}
	if off >= len(rec) {
		return 0, false
	}
	if s.signed {
		return uint64(int8(rec[off])), true
	}
	return uint64(rec[off]), true
}

// appendText appends a string that is shown as it is.
func (s *step) appendText(dst, rec []byte, env Env) []byte {
	raw := s.slot.Bytes(rec)
	if env != nil && unreadable(s.str, raw) {
		return append(dst, env.Unreadable()...)
	}
	if s.str.Cap > 0 && len(raw) > s.str.Cap {
		raw = raw[:s.str.Cap]
	}
	if n := bytes.IndexByte(raw, 0); n >= 0 {
		raw = raw[:n]
	}
	dst = append(dst, raw...)
	if s.str.Trunc && s.str.Cap > 0 && len(raw) >= s.str.Cap-1 && env != nil {
		dst = append(dst, env.Trailer()...)
	}
	return dst
}
