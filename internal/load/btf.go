package load

import (
	"encoding/binary"
	"strings"

	"github.com/hawktrace/hawk/internal/bpf"
	"github.com/hawktrace/hawk/internal/codegen"
	"github.com/hawktrace/hawk/internal/object"
	"github.com/hawktrace/hawk/internal/source"
)

// Kinds and linkages of BTF types, from include/uapi/linux/btf.h.
const (
	kindInt       = 1
	kindPtr       = 2
	kindArray     = 3
	kindStruct    = 4
	kindFunc      = 12
	kindFuncProto = 13
	kindVar       = 14
	kindDatasec   = 15

	intSigned  = 1 << 24
	static     = 0
	global     = 1
	magic      = 0xeb9f
	headerSize = 24
)

// longID is the type of results, and of parameters other than the context: a
// signed 64-bit integer.
const longID = 1

// A blob is the BTF that the programs of a script share: a FUNC for each of
// their functions, and the script's lines. The kernel needs it for callbacks,
// and the verifier's log quotes it.
type blob struct {
	types   []byte
	strings []byte
	offsets map[string]uint32 // of strings
	protos  map[proto]uint32  // FUNC_PROTO
	ctxs    map[string]uint32 // pointers to contexts, by the name of the struct
	next    uint32            // type ID
}

// A proto is what functions are called with: so many longs, and behind them
// the context if it has a name.
type proto struct {
	longs int
	ctx   string
}

// newBlob makes one with the type that is always wanted.
func newBlob() *blob {
	// The string at offset 0 is the empty one, by which a type has no name.
	b := &blob{strings: []byte{0}, offsets: map[string]uint32{"": 0}, protos: map[proto]uint32{},
		ctxs: map[string]uint32{}, next: longID}
	b.add("long", kindInt<<24, 8, intSigned|64)
	return b
}

// add appends a type; size is the size or the type referred to.
func (b *blob) add(name string, info, size uint32, rest ...uint32) uint32 {
	for _, w := range append([]uint32{b.str(name), info, size}, rest...) {
		b.types = binary.NativeEndian.AppendUint32(b.types, w)
	}
	b.next++
	return b.next - 1
}

// str is the offset of a string, which is stored once.
func (b *blob) str(s string) uint32 {
	if off, ok := b.offsets[s]; ok {
		return off
	}
	off := uint32(len(b.strings))
	b.strings = append(append(b.strings, s...), 0)
	b.offsets[s] = off
	return off
}

// fn adds a function.
func (b *blob) fn(name string, p proto, linkage uint32) uint32 {
	typ, ok := b.protos[p]
	if !ok {
		var params []uint32
		for range p.longs {
			params = append(params, b.str("a"), longID)
		}
		if p.ctx != "" {
			params = append(params, b.str("ctx"), b.ctx(p.ctx))
		}
		typ = b.add("", kindFuncProto<<24|uint32(len(params)/2), longID, params...)
		b.protos[p] = typ
	}
	return b.add(identifier(name), kindFunc<<24|linkage, typ)
}

// ctx is the type of pointers to a context. The kernel knows it by its name.
func (b *blob) ctx(name string) uint32 {
	typ, ok := b.ctxs[name]
	if !ok {
		// The kernel compares the name alone (btf_is_prog_ctx_type): the struct may be empty.
		typ = b.add("", kindPtr<<24, b.add(name, kindStruct<<24, 0))
		b.ctxs[name] = typ
	}
	return typ
}

// mostIdentifier is the length of a name that every kernel accepts in BTF.
const mostIdentifier = 127

// identifier makes a C name, which is all that BTF allows.
func identifier(s string) string {
	clean := func(r rune) rune {
		if r == '_' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' {
			return r
		}
		return '_'
	}
	s = strings.Map(clean, s)
	if s == "" || s[0] <= '9' {
		s = "_" + s
	}
	return s[:min(len(s), mostIdentifier)]
}

// bytes is the whole as the kernel reads it: header, types, strings.
func (b *blob) bytes() []byte {
	out := binary.NativeEndian.AppendUint16(make([]byte, 0, headerSize+len(b.types)+len(b.strings)), magic)
	out = append(out, 1, 0) // version, flags
	for _, w := range []int{headerSize, 0, len(b.types), len(b.types), len(b.strings)} {
		out = binary.NativeEndian.AppendUint32(out, uint32(w))
	}
	return append(append(out, b.types...), b.strings...)
}

// describe fills in what the kernel is told about a program's functions and
// lines.
func (b *blob) describe(spec *bpf.ProgSpec, p *object.Program) {
	for i, f := range p.Code.Funcs {
		name := f.Name
		if i == 0 {
			name = p.Name
		}
		spec.FuncInfo = words(spec.FuncInfo, uint32(f.Slot), b.fn(name, parameters(p, i), linkage(p, i)))
	}
	for _, l := range lines(p) {
		file, text, where := b.line(l)
		spec.LineInfo = words(spec.LineInfo, uint32(l.Slot), file, text, where)
	}
}

// linkage is that of function i of a program.
func linkage(p *object.Program, i int) uint32 {
	if i == 0 || p.Code.Funcs[i].Piece {
		return global
	}
	return static
}

// parameters are those of function i of a program.
func parameters(p *object.Program, i int) proto {
	f := p.Code.Funcs[i]
	if f.Piece && f.NParams == 2 {
		return proto{1, p.Group.Mech().ContextType()}
	}
	return proto{longs: max(f.NParams, 1)}
}

// line is what is kept of a line: the name of its file, its text, and its
// number with the column.
func (b *blob) line(l codegen.Line) (file, text, where uint32) {
	name, source, line, col := "hawk", "", 0, 0
	if l.At.Valid() {
		line, col = l.At.File.Position(l.At.Start)
		name, source = l.At.File.Name, strings.TrimSpace(l.At.File.Line(line))
	}
	return b.str(cstring(name)), b.str(cstring(source)), uint32(min(line, maxLine))<<10 | uint32(min(col, maxColumn))
}

// The greatest line and column that 32 bits of line info have room for.
const (
	maxLine   = 1<<22 - 1
	maxColumn = 1<<10 - 1
)

// cstring cuts a text to what is worth keeping in the kernel.
func cstring(s string) string {
	if i := strings.IndexByte(s, 0); i >= 0 {
		s = s[:i]
	}
	return s[:min(len(s), 200)]
}

// words appends numbers of 32 bits in the machine's order.
func words(dst []byte, ws ...uint32) []byte {
	for _, w := range ws {
		dst = binary.NativeEndian.AppendUint32(dst, w)
	}
	return dst
}

// lines are the program's lines with one at the start of each function, as
// the kernel insists, and none twice at one place.
func lines(p *object.Program) []codegen.Line {
	var out []codegen.Line
	add := func(l codegen.Line) {
		if n := len(out); n == 0 || out[n-1].Slot < l.Slot {
			out = append(out, l)
		}
	}
	next := 0
	for _, l := range p.Code.Lines {
		for ; next < len(p.Code.Funcs) && p.Code.Funcs[next].Slot < l.Slot; next++ {
			add(codegen.Line{Slot: p.Code.Funcs[next].Slot, At: p.At})
		}
		add(l)
	}
	for ; next < len(p.Code.Funcs); next++ {
		add(codegen.Line{Slot: p.Code.Funcs[next].Slot, At: p.At})
	}
	return out
}

// spanAt is the place of the script that an instruction comes from.
func spanAt(p *object.Program, slot int) source.Span {
	at := p.At
	for _, l := range p.Code.Lines {
		if l.Slot > slot {
			break
		}
		if l.At.Valid() {
			at = l.At
		}
	}
	return at
}
