package exe

import (
	"debug/elf"
	"encoding/binary"
	"fmt"
	"testing"
)

// An elfFile builds an ELF file section by section.
type elfFile struct {
	order    binary.AppendByteOrder
	class64  bool
	typ      elf.Type
	machine  elf.Machine
	sections []elfSection
	segments []segment
}

type elfSection struct {
	name  string
	typ   elf.SectionType
	flags elf.SectionFlag
	addr  uint64
	link  uint32
	data  []byte
}

func (f *elfFile) word(b []byte, v uint64) []byte {
	if f.class64 {
		return f.order.AppendUint64(b, v)
	}
	return f.order.AppendUint32(b, uint32(v))
}

// bytes lays the file out: header, program headers, contents, section
// headers. Segments keep the offsets they were given.
func (f *elfFile) bytes() []byte {
	ehsize, phsize, shsize := 52, 32, 40
	if f.class64 {
		ehsize, phsize, shsize = 64, 56, 64
	}
	strs := []byte{0}
	sections := append([]elfSection{{}}, f.sections...)
	sections = append(sections, elfSection{name: ".shstrtab", typ: elf.SHT_STRTAB})
	var nameOffs []int
	for _, s := range sections {
		nameOffs = append(nameOffs, len(strs))
		strs = append(append(strs, s.name...), 0)
	}
	sections[len(sections)-1].data = strs
	off := ehsize + phsize*len(f.segments)
	var body []byte
	var offs []int
	for _, s := range sections {
		for (off+len(body))%8 != 0 {
			body = append(body, 0)
		}
		offs = append(offs, off+len(body))
		body = append(body, s.data...)
	}
	class, data := elf.ELFCLASS32, elf.ELFDATA2LSB
	if f.class64 {
		class = elf.ELFCLASS64
	}
	if f.order.String() == binary.BigEndian.String() {
		data = elf.ELFDATA2MSB
	}
	out := append([]byte(elf.ELFMAG), byte(class), byte(data), 1, 0, 0, 0, 0, 0, 0, 0, 0, 0)
	out = f.order.AppendUint16(out, uint16(f.typ))
	out = f.order.AppendUint16(out, uint16(f.machine))
	out = f.order.AppendUint32(out, 1)
	out = f.word(out, 0x1000)
	out = f.word(out, uint64(ehsize))
	out = f.word(out, uint64(off+len(body)))
	out = f.order.AppendUint32(out, 0)
	for _, v := range []int{ehsize, phsize, len(f.segments), shsize, len(sections), len(sections) - 1} {
		out = f.order.AppendUint16(out, uint16(v))
	}
	for _, s := range f.segments {
		out = f.order.AppendUint32(out, uint32(elf.PT_LOAD))
		if f.class64 {
			out = f.order.AppendUint32(out, uint32(s.flags))
		}
		for _, v := range []uint64{s.offset, s.addr, s.addr, s.filesz, s.memsz} {
			out = f.word(out, v)
		}
		if !f.class64 {
			out = f.order.AppendUint32(out, uint32(s.flags))
		}
		out = f.word(out, 0x1000)
	}
	out = append(out, body...)
	for i, s := range sections {
		out = f.order.AppendUint32(out, uint32(nameOffs[i]))
		out = f.order.AppendUint32(out, uint32(s.typ))
		out = f.word(out, uint64(s.flags))
		out = f.word(out, s.addr)
		out = f.word(out, uint64(offs[i]))
		out = f.word(out, uint64(len(s.data)))
		out = f.order.AppendUint32(out, s.link)
		out = f.order.AppendUint32(out, 0)
		out = f.word(out, 8)
		out = f.word(out, 0)
	}
	return out
}

// symbols is a table of functions; its strings are in the next section.
func (f *elfFile) symbols(syms ...RawSymbol) (table, strs []byte) {
	strs = []byte{0}
	table = make([]byte, 16)
	if f.class64 {
		table = make([]byte, 24)
	}
	for _, s := range syms {
		name := uint32(len(strs))
		strs = append(append(strs, s.Name...), 0)
		info := byte(s.Type) | byte(elf.STB_GLOBAL)<<4
		table = f.order.AppendUint32(table, name)
		if f.class64 {
			table = append(table, info, 0)
			table = f.order.AppendUint16(table, 1)
			table = f.order.AppendUint64(f.order.AppendUint64(table, s.Addr), s.Size)
		} else {
			table = f.order.AppendUint32(f.order.AppendUint32(table, uint32(s.Addr)), uint32(s.Size))
			table = append(table, info, 0)
			table = f.order.AppendUint16(table, 1)
		}
	}
	return table, strs
}

func (f *elfFile) note(typ uint32, name string, desc []byte) []byte {
	var b []byte
	for _, v := range []int{len(name), len(desc), int(typ)} {
		b = f.order.AppendUint32(b, uint32(v))
	}
	pad := func() {
		for len(b)%4 != 0 {
			b = append(b, 0)
		}
	}
	b = append(b, name...)
	pad()
	b = append(b, desc...)
	pad()
	return b
}

func (f *elfFile) stap(addr, base, sem uint64, strs string) []byte {
	desc := f.word(f.word(f.word(nil, addr), base), sem)
	return f.note(stapType, stapName, append(desc, strs...))
}

// sampleFile has functions a (16 bytes at 0x1010), b (no size at 0x1020), and
// notes whose base was moved by 0x10.
func sampleFile(order binary.AppendByteOrder, class64 bool) *elfFile {
	f := &elfFile{order: order, class64: class64, typ: elf.ET_DYN, machine: elf.EM_X86_64}
	f.segments = []segment{
		{offset: 0, addr: 0, filesz: 0x400, memsz: 0x400, flags: elf.PF_R},
		{offset: 0x400, addr: 0x1000, filesz: 0x400, memsz: 0x400, flags: elf.PF_R | elf.PF_X},
		{offset: 0x800, addr: 0x2000, filesz: 0x100, memsz: 0x300, flags: elf.PF_R | elf.PF_W},
	}
	table, strs := f.symbols(
		RawSymbol{Name: []byte("a@@V1"), Addr: 0x1010, Size: 16, Type: elf.STT_FUNC},
		RawSymbol{Name: []byte("__a"), Addr: 0x1010, Size: 16, Type: elf.STT_FUNC},
		RawSymbol{Name: []byte("b"), Addr: 0x1020, Type: elf.STT_FUNC},
		RawSymbol{Name: []byte("obj"), Addr: 0x2000, Size: 8, Type: elf.STT_OBJECT},
		RawSymbol{Name: []byte("label"), Addr: 0x1018, Type: elf.STT_NOTYPE},
	)
	notes := f.stap(0x1000, 0x3000, 0x2000, "prov\x00one\x00-4@%ebx 8@%r12\x00")
	notes = append(notes, f.note(1, "other\x00", []byte("x"))...)
	notes = append(notes, f.stap(0x1008, 0x3000, 0, "prov\x00two\x00\x00")...)
	notes = append(notes, f.stap(0x9000, 0x3000, 0, "prov\x00far\x00\x00")...)
	notes = append(notes, f.stap(0x1000, 0x3000, 0x2200, "prov\x00bss\x00\x00")...)
	f.sections = []elfSection{
		{name: ".symtab", typ: elf.SHT_SYMTAB, link: 2, data: table},
		{name: ".strtab", typ: elf.SHT_STRTAB, data: strs},
		{name: ".note.stapsdt", typ: elf.SHT_NOTE, data: notes},
		{name: ".stapsdt.base", typ: elf.SHT_PROGBITS, addr: 0x3010, data: []byte{0}},
		{name: ".note.gnu.build-id", typ: elf.SHT_NOTE, data: f.note(buildIDType, gnuName, []byte{0xab, 0xcd, 0x01})},
	}
	return f
}

// forms calls test for both classes and byte orders.
func forms(t *testing.T, test func(t *testing.T, f *elfFile)) {
	for _, order := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} {
		for _, class64 := range []bool{true, false} {
			t.Run(fmt.Sprintf("%v-%v", order, class64), func(t *testing.T) { test(t, sampleFile(order, class64)) })
		}
	}
}
