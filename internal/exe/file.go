package exe

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/hawktrace/hawk/internal/foreign"
)

// A File is one ELF file. Its methods may be used from several goroutines;
// what they return as []byte is valid until Close.
type File struct {
	Path    string
	Type    elf.Type
	Machine elf.Machine
	Entry   uint64
	Start   uint64 // where on disk it begins in what it is a member of; offsets count from here

	c        *content
	stat     unix.Stat_t // when it was opened
	order    binary.ByteOrder
	class64  bool
	segments []segment // PT_LOAD
	sections []section
	notes    []section // PT_NOTE

	// Symbols of stripped files, read when first wanted.
	once   sync.Once
	mini   *File
	golang *goTable

	goCode func() [2]uint64 // findGoCode, once

	memo      memo
	lookups   atomic.Int32 // by Symbol
	variables atomic.Int32 // the same of Variable
	cache     *Cache       // that keeps it; nil: none
	users     int          // guarded by cache
}

// A segment is what is mapped of the file: where it is there, and in memory.
type segment struct {
	offset, addr, filesz, memsz uint64
	flags                       elf.ProgFlag
}

// A section is a part of the file by its name.
type section struct {
	name               string
	typ                elf.SectionType
	flags              elf.SectionFlag
	addr, offset, size uint64
	link               uint32
	entsize            uint64
}

const (
	maxSections = 1 << 16
	maxSegments = 1 << 12

	maxSectionName = 256 // bytes; longer ones are none that is asked for
)

// ErrNotELF says that a file is none of those that this package reads.
var ErrNotELF = errors.New("no ELF file")

// Open opens a file that the user names, or the archive that a member is in, and
// reads its headers.
func Open(path string) (*File, error) {
	name, member, isMember := splitMember(path)
	if !isMember {
		return OpenFile(path)
	}
	f, err := foreign.Open(name)
	if err != nil {
		return nil, err
	}
	from, size, err := memberData(f, f.Stat.Size, member)
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return open(f, path, from, size)
}

// OpenFile opens a file and reads its headers. What looks like a member of an
// archive is none.
func OpenFile(path string) (*File, error) {
	f, err := foreign.Open(path)
	if err != nil {
		return nil, err
	}
	return open(f, path, 0, f.Stat.Size)
}

// OpenNamed opens another file that f names.
func (f *File) OpenNamed(path string) (*File, error) {
	named, err := foreign.OpenOf(path, f.stat.Uid)
	if err != nil {
		return nil, err
	}
	return open(named, path, 0, named.Stat.Size)
}

// open takes over a file of which an ELF file is a part.
func open(f *foreign.File, path string, from, size int64) (*File, error) {
	c, err := newContent(f.File, from, size)
	if err != nil {
		return nil, err
	}
	e, err := newFile(path, c)
	if err != nil {
		c.close()
		return nil, err
	}
	e.stat, e.Start = f.Stat, uint64(from)
	return e, nil
}

// New reads the headers of a file in memory; data must not change.
func New(path string, data []byte) (*File, error) { return newFile(path, &content{mem: data}) }

func newFile(path string, c *content) (*File, error) {
	f := &File{Path: path, c: c}
	f.goCode = sync.OnceValue(f.findGoCode)
	if err := f.headers(); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return f, nil
}

// Close forgets the file, unless a Cache keeps it.
func (f *File) Close() error {
	if f.cache != nil {
		f.cache.unused(f)
	} else {
		f.close()
	}
	return nil
}

func (f *File) close() {
	for _, d := range f.memo.debug {
		if d != nil {
			d.Close()
		}
	}
	f.c.close()
}

// Memory is how many bytes of memory the content takes that was needed so far.
func (f *File) Memory() int64 {
	n := f.c.size()
	if f.mini != nil {
		n += f.mini.Memory()
	}
	f.memo.mu.Lock()
	defer f.memo.mu.Unlock()
	for _, d := range f.memo.debug {
		if d != nil {
			n += d.Memory()
		}
	}
	return n
}

// Stat is what the file was when it was opened.
func (f *File) Stat() unix.Stat_t { return f.stat }

// slice returns size bytes at an offset, nil if they are not all there.
func (f *File) slice(offset, size uint64) []byte { return f.c.slice(offset, size) }

// word reads an address-sized integer at the start of b, which holds one.
func (f *File) word(b []byte) uint64 {
	if f.class64 {
		return f.order.Uint64(b)
	}
	return uint64(f.order.Uint32(b))
}

func (f *File) wordSize() int {
	if f.class64 {
		return 8
	}
	return 4
}

// headers reads the ELF header and the tables that it leads to, for both word sizes and byte
// orders.
func (f *File) headers() error {
	d := f.slice(0, min(64, uint64(len(f.c.mem))))
	if len(d) < 52 || string(d[:4]) != elf.ELFMAG {
		return ErrNotELF
	}
	switch elf.Class(d[elf.EI_CLASS]) {
	case elf.ELFCLASS32:
	case elf.ELFCLASS64:
		f.class64 = true
	default:
		return fmt.Errorf("unknown ELF class %d", d[elf.EI_CLASS])
	}
	switch elf.Data(d[elf.EI_DATA]) {
	case elf.ELFDATA2LSB:
		f.order = binary.LittleEndian
	case elf.ELFDATA2MSB:
		f.order = binary.BigEndian
	default:
		return fmt.Errorf("unknown ELF byte order %d", d[elf.EI_DATA])
	}
	o := f.order
	f.Type, f.Machine = elf.Type(o.Uint16(d[16:])), elf.Machine(o.Uint16(d[18:]))
	var phoff, shoff uint64
	var rest []byte // e_ehsize and what follows it
	if f.class64 {
		if len(d) < 64 {
			return fmt.Errorf("ELF header is cut off")
		}
		f.Entry, phoff, shoff, rest = o.Uint64(d[24:]), o.Uint64(d[32:]), o.Uint64(d[40:]), d[52:]
	} else {
		f.Entry, phoff, shoff, rest = uint64(o.Uint32(d[24:])), uint64(o.Uint32(d[28:])),
			uint64(o.Uint32(d[32:])), d[40:]
	}
	phsize, phnum := uint64(o.Uint16(rest[2:])), int(o.Uint16(rest[4:]))
	shsize, shnum := uint64(o.Uint16(rest[6:])), int(o.Uint16(rest[8:]))
	shstr := uint32(o.Uint16(rest[10:]))
	if err := f.readSegments(phoff, phsize, phnum); err != nil {
		return err
	}
	if shoff == 0 {
		return nil // a stripped file may have no section headers at all
	}
	return f.readSections(shoff, shsize, shnum, shstr)
}

// readSegments reads the program headers.
func (f *File) readSegments(off, size uint64, n int) error {
	least := uint64(32)
	if f.class64 {
		least = 56
	}
	if n == 0 {
		return nil
	}
	if size < least || n > maxSegments {
		return fmt.Errorf("%d program headers of %d bytes", n, size)
	}
	table := f.slice(off, uint64(n)*size)
	if table == nil {
		return fmt.Errorf("program headers lie outside of the file")
	}
	o := f.order
	for ; len(table) > 0; table = table[size:] {
		b := table
		var s segment
		if f.class64 {
			s = segment{offset: o.Uint64(b[8:]), addr: o.Uint64(b[16:]), filesz: o.Uint64(b[32:]),
				memsz: o.Uint64(b[40:]), flags: elf.ProgFlag(o.Uint32(b[4:]))}
		} else {
			s = segment{offset: uint64(o.Uint32(b[4:])), addr: uint64(o.Uint32(b[8:])),
				filesz: uint64(o.Uint32(b[16:])), memsz: uint64(o.Uint32(b[20:])),
				flags: elf.ProgFlag(o.Uint32(b[24:]))}
		}
		switch elf.ProgType(o.Uint32(b)) {
		case elf.PT_LOAD:
			f.segments = append(f.segments, s)
		case elf.PT_NOTE:
			f.notes = append(f.notes, section{typ: elf.SHT_NOTE, addr: s.addr, offset: s.offset, size: s.filesz})
		}
	}
	return nil
}

// readSections reads the section headers and their names.
func (f *File) readSections(off, size uint64, n int, strIndex uint32) error {
	least := uint64(40)
	if f.class64 {
		least = 64
	}
	if size < least {
		return fmt.Errorf("section headers of %d bytes", size)
	}
	if n == 0 || strIndex == uint32(elf.SHN_XINDEX) {
		// Counts that do not fit 16 bits are in the first header.
		b := f.slice(off, size)
		if b == nil {
			return fmt.Errorf("section headers lie outside of the file")
		}
		first := f.section(b)
		if n == 0 {
			n = int(min(first.size, maxSections+1))
		}
		if strIndex == uint32(elf.SHN_XINDEX) {
			strIndex = first.link
		}
	}
	if n > maxSections {
		return fmt.Errorf("%d sections", n)
	}
	table := f.slice(off, uint64(n)*size)
	if table == nil {
		return fmt.Errorf("section headers lie outside of the file")
	}
	f.sections = make([]section, 0, n)
	names := make([]uint32, 0, n)
	for ; len(table) > 0; table = table[size:] {
		f.sections = append(f.sections, f.section(table))
		names = append(names, f.order.Uint32(table))
	}
	if int(strIndex) < n {
		strs := f.lazy(&f.sections[strIndex])
		for i := range f.sections {
			if name := strs.Text(uint64(names[i])); len(name) <= maxSectionName {
				f.sections[i].name = string(name)
			}
		}
	}
	return nil
}

func (f *File) section(b []byte) section {
	o := f.order
	if f.class64 {
		return section{typ: elf.SectionType(o.Uint32(b[4:])), flags: elf.SectionFlag(o.Uint64(b[8:])),
			addr: o.Uint64(b[16:]), offset: o.Uint64(b[24:]), size: o.Uint64(b[32:]),
			link: o.Uint32(b[40:]), entsize: o.Uint64(b[56:])}
	}
	return section{typ: elf.SectionType(o.Uint32(b[4:])), flags: elf.SectionFlag(o.Uint32(b[8:])),
		addr: uint64(o.Uint32(b[12:])), offset: uint64(o.Uint32(b[16:])),
		size: uint64(o.Uint32(b[20:])), link: o.Uint32(b[24:]), entsize: uint64(o.Uint32(b[36:]))}
}

// maxSection bounds sections that are read as a whole: all but symbols and debug
// information, which large programs have more of.
const maxSection = 256 << 20 // bytes

// bytes is the content of a section, nil if it has none, is cut off or is larger
// than any that is read.
func (f *File) bytes(s *section) []byte {
	if s.typ == elf.SHT_NOBITS || s.size > maxSection {
		return nil
	}
	return f.slice(s.offset, s.size)
}

// lazy is bytes of which nothing is read before it is needed.
func (f *File) lazy(s *section) Bytes {
	if s.typ == elf.SHT_NOBITS {
		return Bytes{}
	}
	return f.c.lazy(s.offset, s.size)
}

func (f *File) sectionNamed(name string) *section {
	for i := range f.sections {
		if f.sections[i].name == name {
			return &f.sections[i]
		}
	}
	return nil
}

// Section is the raw content of a section by name, nil if there is none.
func (f *File) Section(name string) []byte {
	if s := f.sectionNamed(name); s != nil {
		return f.bytes(s)
	}
	return nil
}

// SectionAt is Section with the address of the content in memory.
func (f *File) SectionAt(name string) (data []byte, addr uint64) {
	if s := f.sectionNamed(name); s != nil {
		return f.bytes(s), s.addr
	}
	return nil, 0
}

// Bias is what addresses exceed offsets by in the executable segment that a
// mapping of size bytes from an offset on shows.
func (f *File) Bias(offset, size uint64) (bias uint64, ok bool) {
	for i := range f.segments {
		s := &f.segments[i]
		if s.flags&elf.PF_X != 0 && offset < s.offset+s.filesz && offset+size > s.offset {
			return s.addr - s.offset, true
		}
	}
	return 0, false
}

// CodeBias is Bias of all executable segments; ok is false if they differ, or
// there are none.
func (f *File) CodeBias() (bias uint64, ok bool) {
	for i := range f.segments {
		s := &f.segments[i]
		if s.flags&elf.PF_X == 0 {
			continue
		}
		if ok && s.addr-s.offset != bias {
			return 0, false
		}
		bias, ok = s.addr-s.offset, true
	}
	return bias, ok
}

// Span is the lowest address that the file is loaded at, and the end of the
// highest.
func (f *File) Span() (low, high uint64) { return f.span(0) }

// span is Span of segments with some flags.
func (f *File) span(flags elf.ProgFlag) (low, high uint64) {
	low = ^uint64(0)
	for i := range f.segments {
		if s := &f.segments[i]; s.flags&flags == flags {
			low, high = min(low, s.addr), max(high, s.addr+s.memsz)
		}
	}
	return low, high
}

// cstring is the NUL-terminated string at an offset without its NUL; empty
// if it is cut off.
func cstring(b []byte, off uint64) []byte {
	if off >= uint64(len(b)) {
		return nil
	}
	b = b[off:]
	end := bytes.IndexByte(b, 0)
	if end < 0 {
		return nil
	}
	return b[:end:end]
}

// Offset converts an address to a file offset through the segment that
// contains it.
func (f *File) Offset(addr uint64) (uint64, bool) { return f.offsetIn(addr, 0) }

// CodeOffset is Offset for addresses in executable segments only.
func (f *File) CodeOffset(addr uint64) (uint64, bool) { return f.offsetIn(addr, elf.PF_X) }

// offsetIn is Offset for segments with some flags.
func (f *File) offsetIn(addr uint64, flags elf.ProgFlag) (uint64, bool) {
	for i := range f.segments {
		if s := &f.segments[i]; s.flags&flags == flags && addr >= s.addr && addr-s.addr < s.filesz {
			return addr - s.addr + s.offset, true
		}
	}
	return 0, false
}

// Address converts a file offset to an address, executable segments first:
// where segments share a page of the file, offsets in code are meant.
func (f *File) Address(offset uint64) (uint64, bool) {
	for _, exec := range [...]bool{true, false} {
		for i := range f.segments {
			s := &f.segments[i]
			if (s.flags&elf.PF_X != 0) == exec && offset >= s.offset && offset-s.offset < s.filesz {
				return offset - s.offset + s.addr, true
			}
		}
	}
	return 0, false
}

// Attachable reports whether the file is one that probes can be put in: a
// program or a shared object (which position-independent programs are).
func (f *File) Attachable() bool { return f.Type == elf.ET_EXEC || f.Type == elf.ET_DYN }

// Code returns n bytes of code at an address, nil if they are not in the
// file.
func (f *File) Code(addr, n uint64) []byte {
	off, ok := f.CodeOffset(addr)
	if !ok || n > maxSection {
		return nil
	}
	return f.slice(off, n)
}

// BigEndian reports the byte order of the file.
func (f *File) BigEndian() bool { return f.order == binary.BigEndian }

// Fixed reports whether the file runs at the addresses it was linked for.
func (f *File) Fixed() bool { return f.Type == elf.ET_EXEC }

// Is64 reports whether addresses of the file have 64 bits.
func (f *File) Is64() bool { return f.class64 }
