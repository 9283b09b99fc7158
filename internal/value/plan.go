package value

import (
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
	slot   Slot
	number *types.Int    // of the way of integers
	str    *types.String // of the way of strings
	conv   *Conv
}

// A way is how a step comes to its text.
type way uint8

const (
	anyWay    way = iota // by Conv.append, whatever it is
	missing              // there is no argument
	plainText            // a string as it is
	decimal              // an integer as its digits
)

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
				s.way, s.number = decimal, t
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
		dst = appendShort(dst, s.text)
		switch {
		case s.way == decimal && s.slot.Offset <= len(rec):
			if v, ok := integer(rec[s.slot.Offset:], s.number.Bytes, s.number.Signed); ok {
				dst = s.conv.appendDecimal(dst, v)
				continue
			}
		case s.way == plainText && !escape:
			dst = appendString(dst, s.str, s.slot.Bytes(rec), env)
			continue
		case s.way == missing:
			dst = append(dst, "!{no argument}"...)
			continue
		}
		dst = s.conv.append(dst, Arg{s.slot.Type, s.slot.Bytes(rec)}, env, escape)
	}
	return appendShort(dst, p.end)
}
