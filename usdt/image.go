package usdt

import (
	"crypto/sha1"
	"encoding/binary"
	"encoding/hex"
	"fmt"
)

// An image is the ELF file with the marks of a provider. It depends on nothing
// but the provider and its marks, in their order. Addresses in it are offsets in the file.
type image struct {
	provider  string
	bytes     []byte
	code      part // executable, read only
	semaphore part // writable
	places    []place
}

// A part is a range of whole pages of the file.
type part struct{ offset, size int }

// A place is where a mark is in the file.
type place struct {
	code, entry int // offsets of the functions; entry is code where C passes all words in registers
	semaphore   int // offset of the counter of two bytes
}

// maxMarks keeps images below a few megabytes.
const maxMarks = 1 << 14

// Sizes in bytes and numbers of the ELF format. Package debug/elf would bring
// compression and DWARF into every program.
const (
	headerSize  = 64
	programSize = 56
	sectionSize = 64
	symbolSize  = 24

	typeDyn = 3 // ET_DYN

	segmentLoad  = 1          // PT_LOAD
	segmentNote  = 4          // PT_NOTE
	segmentStack = 0x6474e551 // PT_GNU_STACK

	segmentExec, segmentWrite, segmentRead = 1, 2, 4 // PF_X, PF_W, PF_R

	sectionProgram = 1  // SHT_PROGBITS
	sectionStrings = 3  // SHT_STRTAB
	sectionNote    = 7  // SHT_NOTE
	sectionSymbols = 11 // SHT_DYNSYM

	sectionWrite, sectionAlloc, sectionExec = 1, 2, 4 // SHF_WRITE, SHF_ALLOC, SHF_EXECINSTR

	globalFunction = 1<<4 | 2 // STB_GLOBAL, STT_FUNC
)

// ident begins the file: 64-bit, little endian, version 1, no particular
// system.
const ident = "\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00"

var le = binary.LittleEndian

// noteSize is that of the build ID's note.
const noteSize = 12 + 4 + sha1.Size

// Numbers of sections, which others refer to.
const (
	textIndex   = 3
	dynstrIndex = 7
)

// newImage lays out the file. Headers and notes have a page of their own; then come pages
// of code, pages of semaphores, and what is only read from the file.
func newImage(a *isa, provider string, marks []*mark) (*image, error) {
	if len(marks) > maxMarks {
		return nil, fmt.Errorf("provider %s has %d marks, %d are possible", provider, len(marks), maxMarks)
	}
	im := &image{provider: provider, code: part{offset: a.page}}
	code := make([]byte, 0, 32*len(marks))
	for i, m := range marks {
		code = im.addCode(a, code, i, len(m.kinds))
	}
	pages := func(n int) int { return (n + a.page - 1) &^ (a.page - 1) }
	im.code.size = pages(len(code))
	im.semaphore = part{im.code.offset + im.code.size, pages(2 * len(marks))}

	buildID := headerSize + segments*programSize
	base := buildID + noteSize

	notes := im.notes(a, marks, base)
	hash := sha1.New()
	hash.Write(code)
	hash.Write(notes)
	id := appendNote(nil, "GNU", 3, hash.Sum(nil))

	w := writer{b: make([]byte, im.semaphore.offset+im.semaphore.size)}
	copy(w.b[buildID:], id)
	copy(w.b[im.code.offset:], code)
	for i := len(code); i < im.code.size; i += len(a.filler) {
		copy(w.b[im.code.offset+i:], a.filler)
	}

	names, symbols := im.symbols(a, marks)

	w.section("", section{})
	w.section(".note.gnu.build-id", section{typ: sectionNote, flags: sectionAlloc, offset: buildID,
		size: noteSize, align: 4})
	w.section(".stapsdt.base", section{typ: sectionProgram, flags: sectionAlloc, offset: base, size: 1, align: 1})
	w.section(".text", section{typ: sectionProgram, flags: sectionAlloc | sectionExec, offset: im.code.offset,
		size: len(code), align: 16})
	w.section(".probes", section{typ: sectionProgram, flags: sectionAlloc | sectionWrite, offset: im.semaphore.offset,
		size: 2 * len(marks), align: 2})
	w.section(".note.stapsdt", section{typ: sectionNote, offset: w.append(notes, 4), size: len(notes), align: 4})
	w.section(".dynsym", section{typ: sectionSymbols, offset: w.append(symbols, 8), size: len(symbols), align: 8,
		link: dynstrIndex, info: 1, entry: symbolSize})
	w.section(".dynstr", section{typ: sectionStrings, offset: w.append(names, 1), size: len(names), align: 1})
	table, count := w.sections()

	im.header(a, w.b[:0:buildID], table, count, [segments]segment{
		{segmentLoad, segmentRead, 0, base + 1, a.page},
		{segmentLoad, segmentRead | segmentExec, im.code.offset, im.code.size, a.page},
		{segmentLoad, segmentRead | segmentWrite, im.semaphore.offset, im.semaphore.size, a.page},
		{segmentNote, segmentRead, buildID, noteSize, 4},
		{segmentStack, segmentRead | segmentWrite, 0, 0, 16},
	})
	im.bytes = w.b
	return im, nil
}

// notes are those by which tracers know the marks. Their semaphores get their places.
func (im *image) notes(a *isa, marks []*mark, base int) (notes []byte) {
	for i, m := range marks {
		p := &im.places[i]
		p.semaphore = im.semaphore.offset + 2*i
		var desc []byte
		for _, v := range [...]int{p.code + a.probed, base, p.semaphore} {
			desc = le.AppendUint64(desc, uint64(v))
		}
		desc = fmt.Appendf(desc, "%s\x00%s\x00%s\x00", im.provider, m.name, a.operands(m.kinds))
		notes = appendNote(notes, "stapsdt", 3, desc)
	}
	return notes
}

// symbols are the functions by name, so that stacks show these.
func (im *image) symbols(a *isa, marks []*mark) (names, symbols []byte) {
	names, symbols = []byte{0}, make([]byte, symbolSize)
	for i, m := range marks {
		p := &im.places[i]
		symbols = appendSymbol(symbols, len(names), p.code, len(a.function), textIndex)
		names = fmt.Appendf(names, "%s:%s\x00", im.provider, m.name)
		if p.entry != p.code {
			symbols = appendSymbol(symbols, len(names), p.entry, len(a.entry(len(m.kinds), 0)), textIndex)
			names = fmt.Appendf(names, "%s:%s.entry\x00", im.provider, m.name)
		}
	}
	return names, symbols
}

// A segment is what a program header says.
type segment struct {
	typ, flags          uint32
	offset, size, align int
}

// segments is how many there are.
const segments = 5

// header writes the headers to the front of the file. The table of sections has a place and a length.
func (im *image) header(a *isa, at []byte, table, count int, list [segments]segment) {
	at = append(at, ident...)
	at = le.AppendUint16(at, typeDyn)
	at = le.AppendUint16(at, a.machine)
	at = le.AppendUint32(at, 1)
	at = le.AppendUint64(at, 0) // no entry
	at = le.AppendUint64(at, headerSize)
	at = le.AppendUint64(at, uint64(table))
	at = le.AppendUint32(at, 0)
	for _, v := range [...]int{headerSize, programSize, segments, sectionSize, count, count - 1} {
		at = le.AppendUint16(at, uint16(v))
	}
	for _, h := range list {
		at = le.AppendUint32(at, h.typ)
		at = le.AppendUint32(at, h.flags)
		for _, v := range [...]int{h.offset, h.offset, h.offset, h.size, h.size, h.align} {
			at = le.AppendUint64(at, uint64(v))
		}
	}
}

// addCode appends the functions of a mark.
func (im *image) addCode(a *isa, code []byte, i, words int) []byte {
	code = a.align(code)
	p := place{code: im.code.offset + len(code)}
	p.entry = p.code
	start := len(code)
	code = append(code, a.function...)
	if words > a.inC {
		code = a.align(code)
		p.entry = im.code.offset + len(code)
		code = append(code, a.entry(words, len(code)-start)...)
	}
	im.places = append(im.places, p)
	return code
}

// name is the name of the file. It tells the content, up to a collision.
func (im *image) name() string {
	sum := sha1.Sum(im.bytes)
	return im.provider + "-" + hex.EncodeToString(sum[:])[:12] + ".so"
}

func appendNote(b []byte, name string, typ uint32, desc []byte) []byte {
	b = le.AppendUint32(b, uint32(len(name)+1))
	b = le.AppendUint32(b, uint32(len(desc)))
	b = le.AppendUint32(b, typ)
	b = append(append(b, name...), 0)
	b = pad(b, 4)
	return pad(append(b, desc...), 4)
}

// appendSymbol appends a global function.
func appendSymbol(b []byte, name, addr, size, section int) []byte {
	b = le.AppendUint32(b, uint32(name))
	b = append(b, globalFunction, 0)
	b = le.AppendUint16(b, uint16(section))
	b = le.AppendUint64(b, uint64(addr))
	return le.AppendUint64(b, uint64(size))
}

func pad(b []byte, n int) []byte {
	for len(b)%n != 0 {
		b = append(b, 0)
	}
	return b
}

// A section is a row of the table of sections.
type section struct {
	typ                       uint32
	flags                     uint64
	offset, size, align       int
	link, info, entry, nameAt int
}

// A writer appends to the file what is not mapped.
type writer struct {
	b     []byte
	rows  []section
	names []byte
}

func (w *writer) append(data []byte, align int) (offset int) {
	w.b = pad(w.b, align)
	offset = len(w.b)
	w.b = append(w.b, data...)
	return offset
}

func (w *writer) section(name string, s section) {
	s.nameAt = len(w.names)
	w.names = append(append(w.names, name...), 0)
	w.rows = append(w.rows, s)
}

// sections writes the table, whose last row is that of the names.
func (w *writer) sections() (offset, count int) {
	w.section(".shstrtab", section{typ: sectionStrings, align: 1})
	last := &w.rows[len(w.rows)-1]
	last.offset, last.size = w.append(w.names, 1), len(w.names)
	offset = w.append(nil, 8)
	for _, s := range w.rows {
		addr := 0
		if s.flags&sectionAlloc != 0 {
			addr = s.offset
		}
		w.b = le.AppendUint32(w.b, uint32(s.nameAt))
		w.b = le.AppendUint32(w.b, s.typ)
		w.b = le.AppendUint64(w.b, s.flags)
		for _, v := range [...]int{addr, s.offset, s.size} {
			w.b = le.AppendUint64(w.b, uint64(v))
		}
		w.b = le.AppendUint32(w.b, uint32(s.link))
		w.b = le.AppendUint32(w.b, uint32(s.info))
		w.b = le.AppendUint64(w.b, uint64(s.align))
		w.b = le.AppendUint64(w.b, uint64(s.entry))
	}
	return offset, len(w.rows)
}
