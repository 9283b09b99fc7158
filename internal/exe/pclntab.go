package exe

import (
	"debug/elf"
	"encoding/binary"
	"strings"
)

// A goTable is the table of functions that the Go runtime itself walks stacks
// with (runtime.pclntab), which no stripping takes away. Its layouts are those
// of Go 1.16, 1.18 and 1.20, of which the last holds to this day.
type goTable struct {
	order   binary.ByteOrder
	entry   int // size of one of the two fields of an entry of funcs
	text    uint64
	names   []byte
	records []byte // of functions, and in front of them the index
	n       int
	values  []byte // what functions have by address; nil for layouts of which that is not read
	flags   int    // where the flags of a record are
	quantum uint64 // bytes that addresses count in
}

// The first word of the table.
const (
	goMagic116 = 0xfffffffa
	goMagic118 = 0xfffffff0
	goMagic120 = 0xfffffff1
)

// maxGoFuncs bounds the functions of one file.
const maxGoFuncs = 1 << 24

// goTable finds the table; nil if there is none that is understood.
func (f *File) goTable() *goTable {
	var at *section
	for i := range f.sections {
		if s := &f.sections[i]; strings.HasSuffix(s.name, ".gopclntab") { // .data.rel.ro.gopclntab where addresses vary
			at = s
		}
	}
	if at == nil {
		return nil
	}
	b := f.bytes(at)
	if len(b) < 8 || int(b[7]) != f.wordSize() {
		return nil
	}
	t, word := &goTable{order: f.order}, f.wordSize()
	field := func(n int) uint64 {
		if len(b) < 8+(n+1)*word {
			return ^uint64(0)
		}
		return f.word(b[8+n*word:])
	}
	// Words of the header: functions, files, then from 1.18 on the start of the
	// code, then the offsets of names, units, files, pc tables and functions.
	first := 2
	switch f.order.Uint32(b) {
	case goMagic118, goMagic120:
		first, t.entry = 3, 4
		t.text = f.goText(at)
	case goMagic116:
		t.entry = word
	default:
		return nil
	}
	n, names, records := field(0), field(first), field(first+4)
	if n > maxGoFuncs || names > uint64(len(b)) || records > uint64(len(b)) {
		return nil
	}
	t.n, t.names, t.records = int(n), b[names:], b[records:]
	if values := field(first + 3); t.entry == 4 && values <= uint64(len(b)) {
		t.values, t.quantum, t.flags = b[values:], uint64(b[6]), 37
		if f.order.Uint32(b) == goMagic120 {
			t.flags = 41
		}
	}
	if uint64(len(t.records)) < (2*n+1)*uint64(t.entry) {
		return nil
	}
	return t
}

// goText is the address that functions are counted from: runtime.text, which
// is the start of .text unless a C linker put something in front.
func (f *File) goText(table *section) uint64 {
	if text := f.pointer(table.addr + 8 + 2*uint64(f.wordSize())); text != 0 {
		return text
	}
	// From Go 1.26 on the word is zero, and the module's description has a section
	// of its own, whose word 22 it is.
	if m := f.sectionNamed(".go.module"); m != nil {
		if text := f.pointer(m.addr + 22*uint64(f.wordSize())); text != 0 {
			return text
		}
	}
	if s := f.sectionNamed(".text"); s != nil {
		return s.addr
	}
	return 0
}

// pointer is the address-sized word at an address, as the loader would
// relocate it if the file were loaded where it was linked for.
func (f *File) pointer(addr uint64) uint64 {
	if f.class64 {
		relative := uint32(elf.R_X86_64_RELATIVE)
		if f.Machine == elf.EM_AARCH64 {
			relative = uint32(elf.R_AARCH64_RELATIVE)
		}
		for rela := f.Section(".rela.dyn"); len(rela) >= 24; rela = rela[24:] {
			if f.order.Uint64(rela) == addr && uint32(f.order.Uint64(rela[8:])) == relative {
				return f.order.Uint64(rela[16:])
			}
		}
	}
	return f.Word(addr)
}

// Word is the address-sized word that the file has for an address, 0 if none.
func (f *File) Word(addr uint64) uint64 {
	off, ok := f.Offset(addr)
	if !ok {
		return 0
	}
	if b := f.slice(off, uint64(f.wordSize())); b != nil {
		return f.word(b)
	}
	return 0
}

// each calls yield for every function in order of address.
func (t *goTable) each(yield func(*RawSymbol) bool) bool {
	return t.eachRecord(func(r *RawSymbol, _ []byte) bool { return yield(r) })
}

// eachRecord calls yield for every function and its record.
func (t *goTable) eachRecord(yield func(r *RawSymbol, record []byte) bool) bool {
	value := func(at int) uint64 {
		if t.entry == 4 {
			return uint64(t.order.Uint32(t.records[at:]))
		}
		return t.order.Uint64(t.records[at:])
	}
	r := RawSymbol{Type: elf.STT_FUNC, Bind: elf.STB_LOCAL}
	left := alwaysNames + maxNamesFactor*len(t.names) // as in symbol tables
	for i := range t.n {
		at := 2 * i * t.entry
		start, record, end := value(at), value(at+t.entry), value(at+2*t.entry)
		// A record begins with the address again, then the 32-bit offset of the name.
		head, all := uint64(t.entry), uint64(len(t.records))
		if end < start || record > all || all-record < head+4 {
			continue
		}
		r.Name = BytesOf(t.names).Text(uint64(t.order.Uint32(t.records[record+head:])))
		if left -= len(r.Name); r.Name == nil {
			left -= maxName
		}
		if left < 0 {
			return true
		}
		r.Addr, r.Size = t.text+start, end-start
		if len(r.Name) > 0 && !yield(&r, t.records[record:]) {
			return false
		}
	}
	return true
}
