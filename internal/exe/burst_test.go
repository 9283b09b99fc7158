package exe

import (
	"debug/elf"
	"encoding/binary"
	"slices"
	"strings"
	"testing"

	"github.com/hawktrace/hawk/internal/hawktest/bound"
)

// The files of these tests are small, and what they say of themselves is much: many sections show
// the same bytes, many words have one long name. Each is done with in no time, or not at all.

// overlapping is a file with so many sections, all of which have one content. Their names and types
// are those of like.
func overlapping(t *testing.T, f *elfFile, like elfSection, n int) *File {
	t.Helper()
	f.sections = append(f.sections, like)
	for range n {
		f.sections = append(f.sections, elfSection{name: like.name, typ: like.typ, link: like.link})
	}
	data := f.bytes()
	// The section headers are the last of the file; the one that is shared comes in front of the n.
	const size, offsetAt = 64, 24
	headers := data[len(data)-size*(len(f.sections)+2):]
	shared := headers[size*(len(f.sections)-n):]
	for i := range n {
		copy(headers[size*(len(f.sections)-n+1+i)+offsetAt:][:16], shared[offsetAt:][:16])
	}
	e, err := New("burst", data)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func burst64() *elfFile {
	return &elfFile{order: binary.LittleEndian, class64: true, typ: elf.ET_DYN, machine: elf.EM_X86_64}
}

// TestBurstNotes looks for the build ID of a file whose notes are read 60,000 times.
func TestBurstNotes(t *testing.T) {
	other := make([]byte, 12<<16) // notes without name and content
	e := overlapping(t, burst64(), elfSection{name: ".note", typ: elf.SHT_NOTE, data: other}, 60_000)
	if id := e.BuildID(); id != nil {
		t.Errorf("build ID % x", id)
	}
}

// TestBurstSlots reads relocations that name one long symbol, of sections that overlap.
func TestBurstSlots(t *testing.T) {
	f := burst64()
	name := append([]byte(strings.Repeat("x", maxName-1)), 0)
	f.sections = []elfSection{
		{name: ".dynsym", typ: elf.SHT_DYNSYM, link: 2, data: make([]byte, 48)},
		{name: ".dynstr", typ: elf.SHT_STRTAB, data: name},
	}
	var relocs []byte
	for i := range 10_000 {
		relocs = binary.LittleEndian.AppendUint64(relocs, uint64(8*i))
		relocs = binary.LittleEndian.AppendUint64(relocs, 1<<32|uint64(elf.R_X86_64_JMP_SLOT))
		relocs = binary.LittleEndian.AppendUint64(relocs, 0)
	}
	e := overlapping(t, f, elfSection{name: ".rela.plt", typ: elf.SHT_RELA, link: 1, data: relocs}, 1000)
	bound.Run(t, 64<<10, func() { e.slots() })
}

// TestBurstSections joins many sections of one name.
func TestBurstSections(t *testing.T) {
	e := overlapping(t, burst64(), elfSection{name: ".debug_info", typ: elf.SHT_PROGBITS, data: make([]byte, 2<<10)},
		60_000)
	b, err := e.DebugSection(".debug_info")
	if err != nil || b.Len() != 60_001*2<<10 {
		t.Errorf("%d bytes, %v", b.Len(), err)
	}
}

// TestBurstCallSites goes through a function of half a million calls.
func TestBurstCallSites(t *testing.T) {
	const calls, text, slot = 500_000, 0x1000, 0x10000000
	f := burst64()
	sym := func(name uint32, info byte, shndx uint16, addr, size uint64) []byte {
		b := binary.LittleEndian.AppendUint32(nil, name)
		b = binary.LittleEndian.AppendUint16(append(b, info, 0), shndx)
		return binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(b, addr), size)
	}
	var code []byte
	for i := range calls {
		code = binary.LittleEndian.AppendUint32(append(code, 0xff, 0x15), uint32(slot-(text+6*(i+1))))
	}
	reloc := binary.LittleEndian.AppendUint64(nil, slot)
	reloc = binary.LittleEndian.AppendUint64(reloc, 1<<32|uint64(elf.R_X86_64_GLOB_DAT))
	f.sections = []elfSection{
		{name: ".dynsym", typ: elf.SHT_DYNSYM, link: 2, data: slices.Concat(make([]byte, 24), sym(1, 0x12, 0, 0, 0),
			sym(3, 0x12, 4, text, uint64(len(code))))},
		{name: ".dynstr", typ: elf.SHT_STRTAB, data: []byte("\x00a\x00f\x00")},
		{name: ".rela.dyn", typ: elf.SHT_RELA, link: 1, data: append(reloc, make([]byte, 8)...)},
		{name: ".text", typ: elf.SHT_PROGBITS, addr: text, data: code},
	}
	e, err := New("burst", f.bytes())
	if err != nil {
		t.Fatal(err)
	}
	at := e.sectionNamed(".text")
	e.segments = []segment{{offset: at.offset, addr: text, filesz: at.size, memsz: at.size, flags: elf.PF_X}}
	sites, others := e.CallSites()
	if len(sites) != calls || others != 0 {
		t.Errorf("%d call sites and %d others, want %d", len(sites), others, calls)
	}
}
