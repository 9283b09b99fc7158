package exe

import (
	"bytes"
	"cmp"
	"debug/elf"
	"fmt"
	"iter"
	"math"
	"slices"
	"sort"
	"strings"
	"unsafe"

	"github.com/ianlancetaylor/demangle"

	"github.com/hawktrace/hawk/internal/order"
)

// A Symbol is a function (or, where asked for, a variable) of a file.
type Symbol struct {
	Name string // as in the table, without a version
	Addr uint64
	Size uint64 // bytes, 0 if the table does not say
	Type elf.SymType
	// Old is a version of the name that programs are not linked with any more, as memcpy@GLIBC_2.2.5 is.
	Old bool
}

// A RawSymbol is a Symbol whose name is still in the file.
type RawSymbol struct {
	Name []byte // valid until the file is closed
	Addr uint64
	Size uint64
	Type elf.SymType
	Bind elf.SymBind
	Old  bool
}

// Symbol copies the name.
func (r *RawSymbol) Symbol() Symbol {
	return Symbol{string(r.Name), r.Addr, r.Size, r.Type, r.Old}
}

// IsFunc reports whether the symbol is code.
func (r *RawSymbol) IsFunc() bool { return r.Type == elf.STT_FUNC || r.Type == elf.STT_GNU_IFUNC }

// IsAttachable reports whether a probe may be put on the symbol: code, and
// objects, as which assemblers often declare code.
func (r *RawSymbol) IsAttachable() bool { return r.IsFunc() || r.Type == elf.STT_OBJECT }

// Symbols iterates over all defined symbols of .symtab and .dynsym with
// names; those of the second that are in the first as well come twice. Where
// .symtab was stripped, what else names functions stands in: .gnu_debugdata,
// and in programs of Go the runtime's own table. The RawSymbol is reused.
// Malformed tables end early.
func (f *File) Symbols() iter.Seq[*RawSymbol] {
	return func(yield func(*RawSymbol) bool) {
		if !f.eachSymbol(yield) || f.HasSymbols() {
			return
		}
		f.once.Do(func() { f.mini, f.golang = f.miniDebug(), f.goTable() })
		if f.mini != nil && !f.mini.eachSymbol(yield) {
			return
		}
		if f.golang != nil {
			f.golang.each(yield)
		}
	}
}

// eachSymbol is Symbols of the symbol tables alone, one of each kind; false if
// yield ended it.
func (f *File) eachSymbol(yield func(*RawSymbol) bool) bool {
	for _, kind := range [...]elf.SectionType{elf.SHT_SYMTAB, elf.SHT_DYNSYM} {
		i := slices.IndexFunc(f.sections, func(s section) bool { return s.typ == kind })
		if i < 0 || int(f.sections[i].link) >= len(f.sections) {
			continue
		}
		if !f.scan(&f.sections[i], &f.sections[f.sections[i].link], yield) {
			return false
		}
	}
	return true
}

// Bounds of the names of a table: linkers have names share their ends, so that
// together they are longer than the section; names that begin all over a string
// without end are of no linker.
const (
	maxNamesFactor = 8
	alwaysNames    = 16 << 20  // bytes
	maxSymtab      = 256 << 20 // bytes of a table; the largest programs have fifty million
)

// scan goes through one table of symbols. It is bounded by the size of the names: few bytes can
// stand for many.
func (f *File) scan(table, strings *section, yield func(*RawSymbol) bool) (more bool) {
	entry := int(f.entry())
	strs := f.lazy(strings)
	if table.size > maxSymtab {
		cut := *table
		cut.size = maxSymtab
		table = &cut
	}
	s := symbolScan{f: f, strs: strs, left: alwaysNames + maxNamesFactor*strs.Len(), yield: yield}
	if table.typ == elf.SHT_DYNSYM {
		s.versions = f.versions(int(table.size) / entry)
	}
	return f.lazy(table).Scan(entry<<16, 0, func(_ int,
		table []byte) bool {
		return s.entries(table, entry)
	}) || !s.ended
}

// A symbolScan goes through one table.
type symbolScan struct {
	f     *File
	strs  Bytes
	left  int // bytes that names may have
	yield func(*RawSymbol) bool
	ended bool // by yield
	// versions has two bytes for each of the entries to come, if the file says of which version they are.
	versions []byte
}

// hiddenVersion is set in the version of a symbol that linkers do not take for the name alone.
const hiddenVersion = 1 << 15

// versions is which versions n dynamic symbols are of.
func (f *File) versions(n int) []byte {
	for i := range f.sections {
		if s := f.sections[i]; s.typ == elf.SHT_GNU_VERSYM {
			s.size = min(s.size, uint64(2*n))
			return f.lazy(&s).All()
		}
	}
	return nil
}

// entries goes through a part of the table; false ends the scan.
func (s *symbolScan) entries(table []byte, entry int) bool {
	f, o := s.f, s.f.order
	var r RawSymbol
	for ; len(table) >= entry; table = table[entry:] {
		b := table[:entry]
		r.Old = false
		if len(s.versions) >= 2 {
			r.Old = o.Uint16(s.versions)&hiddenVersion != 0
			s.versions = s.versions[2:]
		}
		var info byte
		var shndx uint16
		if f.class64 {
			info, shndx = b[4], o.Uint16(b[6:])
			r.Addr, r.Size = o.Uint64(b[8:]), o.Uint64(b[16:])
		} else {
			r.Addr, r.Size = uint64(o.Uint32(b[4:])), uint64(o.Uint32(b[8:]))
			info, shndx = b[12], o.Uint16(b[14:])
		}
		if shndx == uint16(elf.SHN_UNDEF) {
			continue
		}
		r.Type, r.Bind = elf.SymType(info&0xf), elf.SymBind(info>>4)
		if r.Type == elf.STT_SECTION || r.Type == elf.STT_FILE || r.Type == elf.STT_TLS {
			continue
		}
		name := s.strs.Text(uint64(o.Uint32(b)))
		if s.left -= len(name); name == nil {
			s.left -= maxName
		}
		if s.left < 0 {
			return false
		}
		var old bool
		if r.Name, old = stripVersion(name); len(r.Name) == 0 {
			continue
		}
		r.Old = r.Old || old
		if f.Machine == elf.EM_ARM && r.IsFunc() {
			r.Addr &^= 1 // Thumb code
		}
		if f.Machine == elf.EM_PPC64 && r.IsFunc() {
			r.Addr = f.descriptor(r.Addr)
		}
		if !s.yield(&r) {
			s.ended = true
			return false
		}
	}
	return true
}

// entries is how many entries the largest symbol table says that it has.
func (f *File) entries() (n int) {
	for i := range f.sections {
		if s := &f.sections[i]; s.typ == elf.SHT_SYMTAB || s.typ == elf.SHT_DYNSYM {
			n = max(n, int(min(s.size, maxSymtab)/f.entry()))
		}
	}
	return n
}

// entry is the size of an entry of symbol tables, in bytes.
func (f *File) entry() uint64 {
	if f.class64 {
		return 24
	}
	return 16
}

// stripVersion cuts "@VER", which is an old version, and "@@VER" off a name of .symtab.
func stripVersion(name []byte) (plain []byte, old bool) {
	if i := bytes.IndexByte(name, '@'); i > 0 {
		return name[:i:i], i+1 < len(name) && name[i+1] != '@'
	}
	return name, false
}

// descriptor follows a function descriptor of the old 64-bit PowerPC ABI.
func (f *File) descriptor(addr uint64) uint64 {
	opd := f.sectionNamed(".opd")
	if opd == nil || addr < opd.addr || addr-opd.addr >= opd.size {
		return addr
	}
	if b := f.slice(opd.offset+(addr-opd.addr), 8); b != nil {
		return f.order.Uint64(b)
	}
	return addr
}

// HasSymbols reports whether the file has a full symbol table.
func (f *File) HasSymbols() bool {
	for i := range f.sections {
		if f.sections[i].typ == elf.SHT_SYMTAB && f.sections[i].size > 0 {
			return true
		}
	}
	return false
}

// scannedFor is how many names the symbols are scanned for; a table of all takes as long as some of
// them.
const scannedFor = 4

// Symbol finds an attachable symbol by name; ok is false if there is none.
// The first of several that is code, has a size and is no old version wins. Names of Imports are
// found too.
func (f *File) Symbol(name string) (best Symbol, ok bool) {
	if strings.HasSuffix(name, ImportSuffix) {
		for _, s := range f.Imports(func(n []byte) bool { return string(n) == name }) {
			return s, true
		}
	}
	if f.lookups.Add(1) > scannedFor {
		if byName := functionsByName.Of(f); byName != nil {
			s, ok := byName[name]
			return s, ok
		}
	}
	for r := range f.Symbols() {
		if r.IsAttachable() && string(r.Name) == name && r.better(best, ok) {
			best, ok = r.Symbol(), true
			if r.isFinal() {
				break
			}
		}
	}
	return best, ok
}

// isFinal reports whether a symbol is what its name means, whatever else has it.
func (r *RawSymbol) isFinal() bool { return r.IsFunc() && r.Size > 0 && !r.Old }

// better reports whether a symbol is rather meant by its name than one that was found
// before it.
func (r *RawSymbol) better(than Symbol, found bool) bool {
	return !found || standing(r.Type, r.Size, r.Old) > standing(than.Type, than.Size, than.Old)
}

// standing tells of symbols of one name which is rather meant by it: that with the largest.
func standing(t elf.SymType, size uint64, old bool) (n int) {
	if !old {
		n = 3
	}
	switch {
	case t != elf.STT_FUNC && t != elf.STT_GNU_IFUNC:
		return n
	case size == 0:
		return n + 1
	}
	return n + 2
}

// maxByName bounds tables of symbols, in names.
const maxByName = 1 << 18

// These are what Symbol and Variable find by each name; nil if there are too many.
var (
	functionsByName = FactOf((*File).symbolsByName)
	variablesByName = FactOf(func(f *File) map[string]Symbol {
		out := map[string]Symbol{}
		for r := range f.Symbols() {
			if _, found := out[string(r.Name)]; !found {
				out[string(r.Name)] = r.Symbol()
			}
			if len(out) > maxByName {
				return nil
			}
		}
		return out
	})
)

// symbolsByName is what Symbol finds by each name; nil if there are too many.
func (f *File) symbolsByName() map[string]Symbol {
	out := map[string]Symbol{}
	for r := range f.Symbols() {
		if !r.IsAttachable() {
			continue
		}
		if before, found := out[string(r.Name)]; r.better(before, found) {
			s := r.Symbol()
			out[s.Name] = s
		}
		if len(out) > maxByName {
			return nil
		}
	}
	return out
}

// Variable finds a symbol of any type by name, for the operands of USDT
// arguments.
func (f *File) Variable(name string) (Symbol, bool) {
	if f.variables.Add(1) > scannedFor {
		if byName := variablesByName.Of(f); byName != nil {
			s, ok := byName[name]
			return s, ok
		}
	}
	for r := range f.Symbols() {
		if string(r.Name) == name {
			return r.Symbol(), true
		}
	}
	return Symbol{}, false
}

// Functions lists the functions that match, sorted by name, each name once.
// match sees the raw name; nil matches all.
func (f *File) Functions(match func(name []byte) bool) []Symbol {
	var out []Symbol
	for r := range f.Symbols() {
		if r.IsFunc() && (match == nil || match(r.Name)) {
			out = append(out, r.Symbol())
		}
	}
	return sortByName(out)
}

// sortByName sorts and keeps one symbol of each name: the first with a size that is no old version, or else
// the first.
func sortByName(syms []Symbol) []Symbol {
	// Places are sorted in place of symbols, which are large to move about. The code that sorts
	// pointers is in every program.
	byName := make([]*Symbol, len(syms))
	for i := range byName {
		byName[i] = &syms[i]
	}
	slices.SortFunc(byName, func(a, b *Symbol) int {
		if c := strings.Compare(a.Name, b.Name); c != 0 {
			return c
		}
		if c := standing(b.Type, b.Size, b.Old) - standing(a.Type, a.Size, a.Old); c != 0 {
			return c
		}
		// The first is that which lies in front.
		return cmp.Compare(uintptr(unsafe.Pointer(a)), uintptr(unsafe.Pointer(b)))
	})
	out := make([]Symbol, 0, len(syms))
	for _, s := range byName {
		if len(out) == 0 || s.Name != out[len(out)-1].Name {
			out = append(out, *s)
		}
	}
	return out
}

// FunctionAt finds the function that contains an address, by a scan of the
// table; for many look-ups build a Table.
func (f *File) FunctionAt(addr uint64) (Symbol, bool) {
	var best Symbol
	found := false
	for r := range f.Symbols() {
		if r.IsFunc() && addr >= r.Addr && (addr-r.Addr < r.Size || addr == r.Addr) {
			if !found || r.Size > 0 && best.Size == 0 {
				best, found = r.Symbol(), true
			}
		}
	}
	return best, found
}

// A Table is the code symbols of a file, to be found by address. Names stay in the
// files it was made of, which must stay open.
type Table struct {
	syms []entry // by address, one at each
}

// An entry is a symbol in half the room of a RawSymbol: many files have tables at once.
type entry struct {
	addr uint64
	name *byte
	size uint32 // at most
	rest uint32 // the length of the name, and the type in the upper bits
}

const nameBits = 24

func entryOf(r *RawSymbol) entry {
	length := min(len(r.Name), 1<<nameBits-1)
	return entry{r.Addr, unsafe.SliceData(r.Name), uint32(min(r.Size, math.MaxUint32)),
		uint32(length) | uint32(r.Type)<<nameBits}
}

func (e *entry) text() []byte { return unsafe.Slice(e.name, e.rest&(1<<nameBits-1)) }

func (e *entry) kind() elf.SymType { return elf.SymType(e.rest >> nameBits) }

// maxTable bounds the symbols of a Table: the largest programs have two million.
const maxTable = 1 << 22

// usualTable bounds the symbols that room is made for before they are seen.
const usualTable = 1 << 16

// NewTable collects the code symbols of files that describe one program: the
// file itself, its debug file. NOTYPE symbols (hand-written assembly) count.
func NewTable(files ...*File) *Table {
	var all []entry
	for _, f := range files {
		all = slices.Grow(all, min(f.entries()/2, usualTable)) // half of them name data, or nothing
		for r := range f.Symbols() {
			if r.IsFunc() || r.Type == elf.STT_NOTYPE && f.isCode(r.Addr) {
				all = append(all, entryOf(r))
			}
			if len(all) >= maxTable {
				break
			}
		}
	}
	places := make([]order.Pair, len(all))
	for i := range all {
		places[i] = order.Pair{Key: all[i].addr, Value: uint64(i)}
	}
	slices.SortFunc(places, func(a, b order.Pair) int {
		if c := cmp.Compare(a.Key, b.Key); c != 0 {
			return c
		}
		return compareEntries(&all[a.Value], &all[b.Value])
	})
	places = slices.CompactFunc(places, func(a, b order.Pair) bool { return a.Key == b.Key })
	t := &Table{make([]entry, len(places))}
	for i, p := range places {
		t.syms[i] = all[p.Value]
	}
	return t
}

func (f *File) isCode(addr uint64) bool {
	for i := range f.segments {
		if s := &f.segments[i]; s.flags&elf.PF_X != 0 && addr >= s.addr && addr-s.addr < s.memsz {
			return true
		}
	}
	return false
}

// compareEntries sorts symbols at one address: real functions go before
// untyped labels, those with a size before those without, then the plainer
// name: "read", not "__libc_read".
func compareEntries(a, b *entry) int {
	if c := a.rank() - b.rank(); c != 0 {
		return c
	}
	m, n := a.text(), b.text()
	if c := underscores(m) - underscores(n); c != 0 {
		return c
	}
	if c := len(m) - len(n); c != 0 {
		return c
	}
	return bytes.Compare(m, n)
}

func (e *entry) rank() int {
	n := 0
	if e.kind() == elf.STT_NOTYPE {
		n += 2
	}
	if e.size == 0 {
		n++
	}
	return n
}

func underscores(name []byte) int { return len(name) - len(bytes.TrimLeft(name, "_")) }

// Lookup finds the symbol an address belongs to: the nearest one at or below
// it whose size, if known, covers it.
func (t *Table) Lookup(addr uint64) (Symbol, bool) {
	i := sort.Search(len(t.syms), func(i int) bool { return t.syms[i].addr > addr }) - 1
	// Labels inside of a function hide it; look back a little.
	for n := 0; i >= 0 && n < 16; i, n = i-1, n+1 {
		if e := &t.syms[i]; e.size == 0 && n == 0 || addr-e.addr < uint64(e.size) {
			return Symbol{Name: string(e.text()), Addr: e.addr, Size: uint64(e.size), Type: e.kind()}, true
		}
	}
	return Symbol{}, false
}

// Memory is how many bytes the symbols take, without their names.
func (t *Table) Memory() int64 { return int64(cap(t.syms)) * int64(unsafe.Sizeof(entry{})) }

// Len is the number of symbols.
func (t *Table) Len() int { return len(t.syms) }

// maxMangled bounds what is given to the demangler, whose time can grow
// faster than the length of the name.
const maxMangled = 16 << 10

// short has names be cut after 64 KB: of what is in a name it can say in a few
// bytes that it is there again, and what of that, so that 300 bytes can stand for
// more than there is memory.
var short = demangle.MaxLength(16)

// IsMangled reports whether a name may be a mangled one of C++ or Rust.
func IsMangled(name string) bool {
	return strings.HasPrefix(name, "_Z") || strings.HasPrefix(name, "____Z") || strings.HasPrefix(name, "_R")
}

// Demangle returns the source form of a C++ or Rust name with its
// parameters, and the name itself if it is none.
func Demangle(name string) string {
	if !IsMangled(name) || len(name) > maxMangled {
		return name
	}
	return demangle.Filter(name, short)
}

// DemangleName is Demangle without the parameter list, which bare names in
// attach points are compared with.
func DemangleName(name string) string {
	if !IsMangled(name) || len(name) > maxMangled {
		return name
	}
	return demangle.Filter(name, demangle.NoParams, short)
}

// ErrNoSymbol says that a file has no such symbol.
type ErrNoSymbol struct{ Path, Name string }

func (e *ErrNoSymbol) Error() string { return fmt.Sprintf("%s has no symbol %s", e.Path, e.Name) }
