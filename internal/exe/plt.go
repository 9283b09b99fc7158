package exe

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"sort"
	"strings"
)

// ImportSuffix is behind the name of a function in the name of the entry that leads to it.
const ImportSuffix = "@plt"

// Imports lists the entries of the procedure linkage table that match, by which code of the file
// calls functions of others, sorted by name: "malloc@plt". match sees the name; nil matches all.
// The address is that of the first instruction of the entry that computes nothing from its own
// address; the return address is still where it is at a function's start.
func (f *File) Imports(match func(name []byte) bool) []Symbol {
	if f.Machine != elf.EM_X86_64 && f.Machine != elf.EM_AARCH64 {
		return nil
	}
	names := slots.Of(f)
	var out []Symbol
	for _, section := range [...]string{".plt.sec", ".plt", ".plt.got"} {
		data, addr := f.SectionAt(section)
		for at := 0; at+8 <= len(data); {
			start, size, slot := stub(f.Machine, data[at:], addr+uint64(at))
			if name := names[slot] + ImportSuffix; size > 0 && name != ImportSuffix {
				if match == nil || match([]byte(name)) {
					out = append(out, Symbol{Name: name, Addr: addr + uint64(at+start), Size: uint64(size),
						Type: elf.STT_FUNC})
				}
			}
			at += max(4, (start+size+3)&^3)
		}
	}
	return sortByName(out)
}

// stub decodes an entry: where a probe goes, how much code is from there on, and the address of
// the word that the entry jumps to; size is 0 if it is none.
func stub(machine elf.Machine, code []byte, addr uint64) (start, size int, slot uint64) {
	if machine == elf.EM_AARCH64 { // adrp x16, page; ldr x17, [x16, offset]; add; br x17
		adrp, ldr := binary.LittleEndian.Uint32(code), binary.LittleEndian.Uint32(code[4:])
		if adrp&0x9f00001f != 0x90000010 || ldr&0xffc003ff != 0xf9400211 || len(code) < 16 {
			return 0, 0, 0
		}
		page := int64(int32(adrp<<8)>>13)<<2 | int64(adrp>>29&3)
		return 4, 12, addr&^0xfff + uint64(page)<<12 + uint64(ldr>>10&0xfff)*8
	}
	at := 0
	if binary.LittleEndian.Uint32(code) == 0xfa1e0ff3 { // endbr64
		at = 4
	}
	if at < len(code) && code[at] == 0xf2 { // bnd
		at++
	}
	if at+6 > len(code) || code[at] != 0xff || code[at+1] != 0x25 { // jmp *slot(%rip)
		return 0, 0, 0
	}
	next := at + 6
	return 0, next, addr + uint64(next) + uint64(int32(binary.LittleEndian.Uint32(code[at+2:])))
}

var slots = FactOf((*File).slots)

// slots are the names of functions by the addresses of the words that their addresses are put in
// when the file is loaded.
func (f *File) slots() map[uint64]string {
	out := map[uint64]string{}
	const entry, symbol = 24, 24
	left := len(f.c.mem) // relocations do not overlap but in a file that was made to burst
	for i := range f.sections {
		s := &f.sections[i]
		if s.typ != elf.SHT_RELA || int(s.link) >= len(f.sections) {
			continue
		}
		syms := &f.sections[s.link]
		if syms.typ != elf.SHT_DYNSYM || int(syms.link) >= len(f.sections) {
			continue
		}
		table, strs := f.bytes(syms), f.lazy(&f.sections[syms.link])
		r := f.bytes(s)
		if left -= len(r); left < 0 {
			return out
		}
		names := alwaysNames + maxNamesFactor*strs.Len() // as in symbol tables
		for ; len(r) >= entry; r = r[entry:] {
			n, kind := f.order.Uint64(r[8:])>>32, uint32(f.order.Uint64(r[8:]))
			if n == 0 || n >= uint64(len(table)/symbol) || !jumps(f.Machine, kind) {
				continue
			}
			name := strs.Text(uint64(f.order.Uint32(table[n*symbol:])))
			if names -= len(name); name == nil {
				names -= maxName // nobody says where it ends
			}
			if names < 0 {
				return out
			}
			out[f.order.Uint64(r)] = string(name)
		}
	}
	return out
}

// jumps reports whether a relocation is for a word with the address of a symbol and nothing else.
func jumps(machine elf.Machine, kind uint32) bool {
	if machine == elf.EM_AARCH64 {
		return kind == uint32(elf.R_AARCH64_JUMP_SLOT) || kind == uint32(elf.R_AARCH64_GLOB_DAT)
	}
	return kind == uint32(elf.R_X86_64_JMP_SLOT) || kind == uint32(elf.R_X86_64_GLOB_DAT)
}

// Unwinds reports whether functions of the file, or those that they call, may be left otherwise than
// by returning or longjmp(), or look for their callers by return addresses: exceptions, and stacks that the
// program changes.
func (f *File) Unwinds() bool {
	return f.needs("_Unwind_ personality libstdc++ libc++ makecontext swapcontext")
}

// Throws reports whether exceptions may pass through functions of the file, by what it needs of other files: of
// C++, Rust and what else is built on the same unwinder.
func (f *File) Throws() bool {
	return f.needs("__gxx_personality __gnat_personality __objc_personality rust_eh_personality _d_eh_personality " +
		"_Unwind_Resume _Unwind_RaiseException libstdc++ libc++")
}

// HandlesSignals reports whether the file asks for handlers of signals, or for threads that may be cancelled
// anywhere, by what it needs of other files.
func (f *File) HandlesSignals() bool {
	return f.needs("\x00sigaction\x00 \x00signal\x00 pthread_setcanceltype __gnat_personality")
}

// needs reports whether one of some words is among the names that the file has for other files.
func (f *File) needs(words string) bool {
	names := f.Section(".dynstr")
	for _, word := range strings.Fields(words) {
		if bytes.Contains(names, []byte(word)) {
			return true
		}
	}
	return false
}

// FrameSpan is the stretch of code around an address that one description of frames is for, a function or the part
// of one that the compiler put elsewhere: from its start to that of the next. ok is false without the table
// of such starts that linkers make (.eh_frame_hdr).
func (f *File) FrameSpan(addr uint64) (start, end uint64, ok bool) {
	// The table has rows of two words relative to itself, behind a version, the forms of what follows, and
	// how many there are.
	const head, row = 12, 8
	data, at := f.SectionAt(".eh_frame_hdr")
	if len(data) < head || [4]byte(data) != [4]byte{1, 0x1b, 0x03, 0x3b} {
		return 0, 0, false
	}
	n := min(int(f.order.Uint32(data[8:])), (len(data)-head)/row)
	begin := func(i int) uint64 { return at + uint64(int64(int32(f.order.Uint32(data[head+i*row:])))) }
	i := sort.Search(n, func(i int) bool { return begin(i) > addr })
	if i == 0 || i == n {
		return 0, 0, false
	}
	start, end = begin(i-1), begin(i)
	return start, end, start <= addr
}

// CodeSpan is the lowest address of a segment with code, which the kernel tells of a program that
// runs (mm->start_code), and the end of the highest.
func (f *File) CodeSpan() (low, high uint64) { return f.span(elf.PF_X) }
