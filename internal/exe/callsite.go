package exe

import (
	"bytes"
	"cmp"
	"debug/elf"
	"encoding/binary"
	"slices"

	"github.com/hawktrace/hawk/internal/insn"
	"github.com/hawktrace/hawk/internal/order"
)

// A CallSite is an instruction that calls a function of another file, or jumps there, by the word that the
// address of the function is put in when the file is loaded, and not by an entry of the linkage table.
type CallSite struct {
	Name string
	Addr uint64
	Next uint64 // where the call returns to, if that is in the same function; 0 if it is a jump
	In   uint64 // where the function begins that it stands in
}

// CallSites lists the call sites in functions that have symbols, by their addresses: which bytes are
// instructions is known from where a function begins. Others are what may be further ones.
func (f *File) CallSites() (out []CallSite, others int) {
	if f.Machine != elf.EM_X86_64 {
		return nil, 0
	}
	code, addr := f.SectionAt(".text")
	names := slots.Of(f)
	var found []CallSite
	for at := 0; ; at++ {
		i := bytes.IndexByte(code[at:], 0xff)
		if i < 0 || at+i+6 > len(code) {
			break
		}
		at += i
		jumps := code[at+1] == 0x25
		if code[at+1] != 0x15 && !jumps { // call *slot(%rip), jmp *slot(%rip)
			continue
		}
		next := addr + uint64(at) + 6
		name := names[next+uint64(int32(binary.LittleEndian.Uint32(code[at+2:])))]
		if name == "" {
			continue
		}
		s := CallSite{Name: name, Addr: next - 6, Next: next}
		if jumps {
			s.Next = 0
		}
		found = append(found, s)
	}
	if len(found) == 0 {
		return nil, 0
	}
	functions := f.Functions(nil)
	order.By(functions, func(a, b Symbol) int { return cmp.Compare(a.Addr, b.Addr) })
	var at boundary
	for _, s := range found {
		i, _ := slices.BinarySearchFunc(functions, s.Addr+1, func(fn Symbol, addr uint64) int {
			return cmp.Compare(fn.Addr, addr)
		})
		if i == 0 || s.Addr-functions[i-1].Addr >= functions[i-1].Size {
			others++
			continue
		}
		fn := &functions[i-1]
		if at.begin != fn.Addr || at.code == nil {
			at = boundary{begin: fn.Addr, code: f.Code(fn.Addr, fn.Size)}
		}
		if !at.reaches(s.Addr - fn.Addr) {
			continue // bytes within another instruction
		}
		if s.In = fn.Addr; s.Next >= fn.Addr+fn.Size {
			s.Next = 0
		}
		out = append(out, s)
	}
	return out, others
}

// A boundary goes through the instructions of a function, once for all that is asked of it.
type boundary struct {
	begin uint64 // of the function
	code  []byte
	at    uint64 // where an instruction starts
}

// reaches reports whether an instruction starts at an offset, which is behind those asked before.
func (b *boundary) reaches(offset uint64) bool {
	for b.at < offset {
		if b.at >= uint64(len(b.code)) {
			return false
		}
		n := insn.AMD64.Len(b.code[b.at:])
		if n == 0 {
			b.code = b.code[:b.at] // what is behind is not understood
			return false
		}
		b.at += uint64(n)
	}
	return b.at == offset
}
