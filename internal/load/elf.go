package load

import (
	"bytes"
	"cmp"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"io"
	"unsafe"

	"github.com/cilium/ebpf/asm"
	"golang.org/x/sys/unix"

	"github.com/hawktrace/hawk/internal/bpf"
	"github.com/hawktrace/hawk/internal/codegen"
	"github.com/hawktrace/hawk/internal/object"
	"github.com/hawktrace/hawk/internal/order"
	"github.com/hawktrace/hawk/internal/types"
)

// Relocations of BPF objects (Documentation/bpf/llvm_reloc.rst).
const (
	reloc64 = 1  // the constant of a 64-bit load
	reloc32 = 10 // the distance of a call
)

// textSection has the functions that programs call, as loaders expect.
const textSection = ".text"

// WriteELF writes an object as a file for other loaders, with the conventions of
// clang and libbpf: a section for each kind of program and what it attaches to,
// maps described by BTF, functions and lines in .BTF.ext. It is written before
// the object is loaded.
func WriteELF(w io.Writer, o *object.Object) error {
	e := &elfWriter{btf: newBlob(), sections: map[string]*elfSection{}, names: map[string]int{}}
	e.symbol("", elf.STB_LOCAL, elf.STT_NOTYPE, nil, 0, 0)
	e.object(o)
	if e.err != nil {
		return e.err
	}
	_, err := w.Write(e.file())
	return err
}

// An elfSection is a section while it grows.
type elfSection struct {
	name   string
	kind   elf.SectionType
	flags  elf.SectionFlag
	data   []byte
	index  int
	relocs []elfReloc
	funcs  []uint32 // words of .BTF.ext
	lines  []uint32
}

// An elfReloc is an instruction in which a loader puts the number of what a symbol stands for.
type elfReloc struct {
	offset, kind int
	symbol       *elfSymbol
}

// An elfSymbol names a function, a map or a section.
type elfSymbol struct {
	name    string
	info    byte
	section *elfSection
	at      int
	size    int
	index   int
}

// An elfWriter collects sections and symbols; file puts them together.
type elfWriter struct {
	btf      *blob
	sections map[string]*elfSection
	order    []*elfSection
	symbols  []*elfSymbol
	names    map[string]int // the last number given to a name; 0: it is free
	err      error
}

// section is the section of a name, made if it is not there.
func (e *elfWriter) section(name string, kind elf.SectionType, flags elf.SectionFlag) *elfSection {
	s := e.sections[name]
	if s == nil {
		s = &elfSection{name: name, kind: kind, flags: flags, index: len(e.order) + 1}
		e.sections[name] = s
		e.order = append(e.order, s)
	}
	return s
}

// code is a section with instructions.
func (e *elfWriter) code(name string) *elfSection {
	return e.section(name, elf.SHT_PROGBITS, elf.SHF_ALLOC|elf.SHF_EXECINSTR)
}

// symbol adds a symbol. Those that are local come first in the file, as ELF has it.
func (e *elfWriter) symbol(name string, bind elf.SymBind, typ elf.SymType, s *elfSection, at int, size int) *elfSymbol {
	y := &elfSymbol{name: name, info: elf.ST_INFO(bind, typ), section: s, at: at, size: size}
	e.symbols = append(e.symbols, y)
	return y
}

// unique makes a C name that no other has.
func (e *elfWriter) unique(name string) string {
	name = identifier(name)
	out := name
	for e.names[out] > 0 {
		e.names[name]++
		suffix := fmt.Sprintf("_%d", e.names[name])
		out = name[:min(len(name), mostIdentifier-len(suffix))] + suffix
	}
	e.names[out] = 1
	return out
}

// object lays out everything.
func (e *elfWriter) object(o *object.Object) {
	const data = elf.SHF_ALLOC | elf.SHF_WRITE
	license := e.section("license", elf.SHT_PROGBITS, data)
	license.data = append([]byte(o.License), 0)
	shared := e.section(".data", elf.SHT_PROGBITS, data)
	shared.data = make([]byte, max(o.Data.Bytes, object.DataFree, len(o.Data.Init)))
	copy(shared.data, o.Data.Init)
	inData := e.symbol("", elf.STB_LOCAL, elf.STT_SECTION, shared, 0, 0)
	text := e.code(textSection)
	inText := e.symbol("", elf.STB_LOCAL, elf.STT_SECTION, text, 0, 0)
	maps := e.maps(o)
	for _, p := range o.Programs {
		if err := e.program(p, maps, inData, inText); err != nil {
			e.err = err
			return
		}
	}
	if len(text.data) == 0 {
		e.drop(text, inText)
	}
}

// drop takes back a section that has stayed empty.
func (e *elfWriter) drop(s *elfSection, y *elfSymbol) {
	e.order = order.Without(e.order, func(x *elfSection) bool { return x == s })
	for i, x := range e.order {
		x.index = i + 1
	}
	e.symbols = order.Without(e.symbols, func(x *elfSymbol) bool { return x == y })
}

// maps describes the maps that programs refer to, in the way of libbpf: a
// variable of a struct whose members are pointers to arrays of as many elements
// as a number says.
func (e *elfWriter) maps(o *object.Object) map[int]*elfSymbol {
	used := map[int]bool{}
	for _, p := range o.Programs {
		p.Code.Maps(func(n int) { used[n] = true })
	}
	if len(used) == 0 {
		return nil
	}
	const pointer = 8 // bytes
	s := e.section(".maps", elf.SHT_PROGBITS, elf.SHF_ALLOC|elf.SHF_WRITE)
	b := e.btf
	number := b.add("int", kindInt<<24, 4, intSigned|32)
	out := map[int]*elfSymbol{}
	var vars []uint32
	for i, m := range o.Maps {
		if !used[i] {
			continue
		}
		most := m.MaxEntries
		if m.Type == bpf.RingBuf && most == 0 {
			most = defaultRing
			if i != object.RingMap { // none is sent there: DataRings is 0
				most = unix.Getpagesize()
			}
		}
		var members []uint32
		for _, f := range []struct {
			name string
			n    int
		}{{"type", int(m.Type)}, {"key_size", m.KeySize}, {"value_size", m.ValueSize},
			{"max_entries", most}, {"map_flags", int(m.Flags)}} {
			if f.n != 0 {
				array := b.add("", kindArray<<24, 0, number, number, uint32(f.n))
				members = append(members, b.str(f.name), b.add("", kindPtr<<24, array),
					uint32(len(members)/3*pointer*8))
			}
		}
		n := len(members) / 3
		name := e.unique(cmp.Or(m.Name, "map")) // the map @ has no name
		def := b.add("", kindStruct<<24|uint32(n), uint32(n*pointer), members...)
		at := len(s.data)
		out[i] = e.symbol(name, elf.STB_GLOBAL, elf.STT_OBJECT, s, at, n*pointer)
		vars = append(vars, b.add(name, kindVar<<24, def, global), uint32(at), uint32(n*pointer))
		s.data = append(s.data, make([]byte, n*pointer)...)
	}
	b.add(s.name, kindDatasec<<24|uint32(len(vars)/3), uint32(len(s.data)), vars...)
	return out
}

// program adds the functions of a program: the main one to the section that says
// how it attaches, the others to .text.
func (e *elfWriter) program(p *object.Program, maps map[int]*elfSymbol, inData, inText *elfSymbol) error {
	text := inText.section
	slots := make([]int, len(p.Code.Insns)+1)
	for i := range p.Code.Insns {
		slots[i+1] = slots[i] + int(p.Code.Insns[i].Width())
	}
	// Where the functions go.
	funcs := p.Code.Funcs
	starts := make([]int, len(funcs)) // in their sections, bytes
	end := func(i int) int {
		if i+1 < len(funcs) {
			return funcs[i+1].Slot
		}
		return slots[len(slots)-1]
	}
	at := len(text.data)
	for i := range funcs {
		if i > 0 {
			starts[i] = at
			at += (end(i) - funcs[i].Slot) * asm.InstructionSize
		}
	}
	insn := 0
	for i, f := range funcs {
		s, name, bind := text, p.Name+"_"+f.Name, elf.STB_LOCAL
		if linkage(p, i) == global {
			bind = elf.STB_GLOBAL
		}
		if i == 0 {
			s, name = e.code(sectionName(p)), p.Name
			starts[0] = len(s.data)
		}
		name = e.unique(name)
		var body asm.Instructions
		for ; insn < len(p.Code.Insns) && slots[insn] < end(i); insn++ {
			in := p.Code.Insns[insn]
			place := starts[i] + (slots[insn]-f.Slot)*asm.InstructionSize
			if err := e.refer(&in, s, place, slots[insn], maps, inData, func(slot int) (*elfSymbol, int, error) {
				for k := range funcs {
					if k > 0 && funcs[k].Slot == slot {
						return inText, starts[k], nil
					}
				}
				return nil, 0, fmt.Errorf("program %s: there is no function at %d", p.Name, slot)
			}); err != nil {
				return err
			}
			body = append(body, in)
		}
		code, err := (&codegen.Code{Insns: body}).Marshal()
		if err != nil {
			return fmt.Errorf("program %s: %w", p.Name, err)
		}
		e.symbol(name, bind, elf.STT_FUNC, s, starts[i], len(code))
		s.data = append(s.data, code...)
		s.funcs = append(s.funcs, uint32(starts[i]), e.btf.fn(name, parameters(p, i), linkage(p, i)))
		for _, l := range lines(p) {
			if l.Slot >= f.Slot && l.Slot < end(i) {
				file, line, where := e.btf.line(l)
				s.lines = append(s.lines, uint32(starts[i]+(l.Slot-f.Slot)*asm.InstructionSize), file, line, where)
			}
		}
	}
	return nil
}

// refer notes what an instruction refers to.
func (e *elfWriter) refer(in *asm.Instruction, s *elfSection, place, slot int, maps map[int]*elfSymbol,
	inData *elfSymbol, fn func(slot int) (*elfSymbol, int, error)) error {
	relocate := func(kind int, y *elfSymbol) { s.relocs = append(s.relocs, elfReloc{place, kind, y}) }
	switch {
	case in.OpCode == asm.LoadImmOp(asm.DWord) && in.Src == asm.PseudoMapFD:
		y := maps[int(in.Constant)]
		if y == nil {
			return fmt.Errorf("there is no map %d", in.Constant)
		}
		relocate(reloc64, y)
		in.Src, in.Constant = 0, 0
	case in.OpCode == asm.LoadImmOp(asm.DWord) && in.Src == asm.PseudoMapValue:
		relocate(reloc64, inData)
		in.Src, in.Constant = 0, int64(uint64(in.Constant)>>32)
	case in.OpCode == asm.LoadImmOp(asm.DWord) && in.Src == asm.PseudoFunc:
		y, at, err := fn(slot + 1 + int(int32(in.Constant)))
		if err != nil {
			return err
		}
		relocate(reloc64, y)
		in.Src, in.Constant = 0, int64(at)
	case in.OpCode.Class().IsJump() && in.OpCode.JumpOp() == asm.Call && in.Src == asm.PseudoCall:
		y, at, err := fn(slot + 1 + int(int32(in.Constant)))
		if err != nil {
			return err
		}
		relocate(reloc32, y)
		in.Constant = int64(at/asm.InstructionSize - 1)
	}
	return nil
}

// sectionName says in the words of libbpf what a program is and where it goes.
func sectionName(p *object.Program) string {
	m, pt := p.Group.Mech(), p.Group.Points[0]
	switch m.Program {
	case bpf.RawTracepoint:
		return "raw_tp/" + cmp.Or(pt.Func, pt.Kind.Name)
	case bpf.Tracepoint:
		return "tracepoint/" + cmp.Or(m.Whole, pt.Target+"/"+pt.Func)
	case bpf.PerfEvent:
		return "perf_event"
	case bpf.XDP:
		return "xdp"
	case bpf.Kprobe:
		name := "k"
		if pt.Kind.Space == types.User {
			name = "u"
		}
		if m.Retval != nil {
			name += "ret"
		}
		name += "probe"
		switch m.Attach {
		case bpf.AttachKprobeMulti, bpf.AttachUprobeMulti:
			name += ".multi"
		case bpf.AttachKprobeSession:
			name += ".session"
		}
		if p.Sleeps {
			name += ".s"
		}
		return name + "/" + pt.Func
	}
	switch m.Attach {
	case bpf.AttachRawTracepoint:
		return "tp_btf/" + cmp.Or(m.Whole, pt.Func)
	case bpf.AttachFentry:
		return "fentry/" + pt.Func
	case bpf.AttachFexit:
		return "fexit/" + pt.Func
	case bpf.AttachIter:
		return "iter/" + pt.Func
	}
	return "program/" + p.Name
}

// ext is the content of .BTF.ext.
func (e *elfWriter) ext() []byte {
	const header, funcSize, lineSize = 32, 8, 16
	part := func(size uint32, words func(s *elfSection) []uint32) []byte {
		out := words32(size)
		for _, s := range e.order {
			if w := words(s); len(w) > 0 {
				out = append(out, words32(e.btf.str(s.name), uint32(4*len(w))/size)...)
				out = append(out, words32(w...)...)
			}
		}
		return out
	}
	funcs := part(funcSize, func(s *elfSection) []uint32 { return s.funcs })
	lines := part(lineSize, func(s *elfSection) []uint32 { return s.lines })
	out := binary.NativeEndian.AppendUint16(nil, magic)
	out = append(out, 1, 0)
	// The last two are CO-RE relocations, of which there are none.
	out = append(out, words32(header, 0, uint32(len(funcs)), uint32(len(funcs)), uint32(len(lines)),
		uint32(len(funcs)+len(lines)), 0)...)
	return append(append(out, funcs...), lines...)
}

func words32(ws ...uint32) []byte { return words(nil, ws...) }

// file puts the sections into a file: header, contents, table of sections.
func (e *elfWriter) file() []byte {
	ext := e.ext()
	e.section(".BTF", elf.SHT_PROGBITS, 0).data = e.btf.bytes()
	e.section(".BTF.ext", elf.SHT_PROGBITS, 0).data = ext

	headers := e.headers()
	h := elf.Header64{
		Type: uint16(elf.ET_REL), Machine: uint16(elf.EM_BPF), Version: 1, Ehsize: 64, Shentsize: 64,
		Shnum: uint16(len(headers)), Shstrndx: uint16(e.symtab() + 1),
	}
	copy(h.Ident[:], elf.ELFMAG)
	h.Ident[elf.EI_CLASS], h.Ident[elf.EI_DATA], h.Ident[elf.EI_VERSION] = byte(elf.ELFCLASS64),
		byte(elf.ELFDATA2LSB), 1
	if binary.NativeEndian.Uint16([]byte{0, 1}) == 1 {
		h.Ident[elf.EI_DATA] = byte(elf.ELFDATA2MSB)
	}
	at := uint64(h.Ehsize)
	for i := range headers[1:] {
		s := &headers[1+i]
		at = (at + 7) &^ 7
		s.Off, s.Size = at, uint64(len(s.data))
		at += s.Size
	}
	h.Shoff = (at + 7) &^ 7

	var out bytes.Buffer
	out.Write(bytesOf(&h))
	pad := func(to uint64) { out.Write(make([]byte, to-uint64(out.Len()))) }
	for _, s := range headers[1:] {
		pad(s.Off)
		out.Write(s.data)
	}
	pad(h.Shoff)
	for _, s := range headers {
		out.Write(bytesOf(&s.Section64))
	}
	return out.Bytes()
}

// An elfHeader is a row of the table of sections, with what lies in the section.
type elfHeader struct {
	elf.Section64
	data []byte
}

// symtab is the number of the section with the symbols, behind which their names come.
func (e *elfWriter) symtab() int { return len(e.order) + 1 }

// headers are the rows of the table of sections, from the empty one that each file begins with: the
// writer's own sections, symbols, names, relocations.
func (e *elfWriter) headers() []elfHeader {
	strings := []byte{0}
	name := func(s string) uint32 {
		if s == "" {
			return 0
		}
		at := len(strings)
		strings = append(append(strings, s...), 0)
		return uint32(at)
	}
	symbols, locals := e.symbolTable(name)
	headers := []elfHeader{{}}
	for _, s := range e.order {
		headers = append(headers, elfHeader{elf.Section64{Name: name(s.name), Type: uint32(s.kind),
			Flags: uint64(s.flags), Addralign: 8}, s.data})
	}
	symtab := uint32(e.symtab())
	headers = append(headers,
		elfHeader{elf.Section64{Name: name(".symtab"), Type: uint32(elf.SHT_SYMTAB),
			Link: symtab + 1, Info: uint32(locals), Addralign: 8, Entsize: elf.Sym64Size}, symbols},
		elfHeader{elf.Section64{Name: name(".strtab"), Type: uint32(elf.SHT_STRTAB), Addralign: 1}, nil})
	for _, s := range e.order {
		if len(s.relocs) == 0 {
			continue
		}
		var rel bytes.Buffer
		for _, r := range s.relocs {
			info := elf.R_INFO(uint32(r.symbol.index), uint32(r.kind))
			rel.Write(bytesOf(&elf.Rel64{Off: uint64(r.offset), Info: info}))
		}
		headers = append(headers, elfHeader{elf.Section64{
			Name: name(".rel" + s.name), Type: uint32(elf.SHT_REL), Flags: uint64(elf.SHF_INFO_LINK),
			Link: symtab, Info: uint32(s.index), Addralign: 8, Entsize: 16,
		}, rel.Bytes()})
	}
	headers[symtab+1].data = strings // all names are known now
	return headers
}

// symbolTable is the content of .symtab, and how many local symbols it begins with, as ELF wants
// it. Symbols get their numbers here, which relocations refer to.
func (e *elfWriter) symbolTable(name func(string) uint32) (table []byte, locals int) {
	for _, bind := range []elf.SymBind{elf.STB_LOCAL, elf.STB_GLOBAL} {
		for _, y := range e.symbols {
			if elf.ST_BIND(y.info) != bind {
				continue
			}
			y.index = len(table) / elf.Sym64Size
			sym := elf.Sym64{Name: name(y.name), Info: y.info, Value: uint64(y.at), Size: uint64(y.size)}
			if y.section != nil {
				sym.Shndx = uint16(y.section.index)
			}
			table = append(table, bytesOf(&sym)...)
		}
		if bind == elf.STB_LOCAL {
			locals = len(table) / elf.Sym64Size
		}
	}
	return table, locals
}

// bytesOf is a struct of an ELF file as this machine keeps it, which is how the file has it: none has padding.
func bytesOf[T elf.Sym64 | elf.Rel64 | elf.Header64 | elf.Section64](v *T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(v)), unsafe.Sizeof(*v))
}
