package usdt

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
)

// An isa is what the file looks like on an architecture.
type isa struct {
	name      string // GOARCH
	machine   uint16 // of ELF
	page      int    // bytes: the largest page that kernels of the architecture have
	registers [maxWords]string
	function  []byte // of a mark
	probed    int    // offset of the nop in it
	inC       int    // words that the C calling convention has in the registers above
	filler    []byte // between functions: stops whoever comes there
	entry     func(words, back int) []byte
}

// operands is the text of the note for arguments of these kinds.
func (a *isa) operands(kinds []Kind) string {
	var b strings.Builder
	for i, k := range kinds {
		if i > 0 {
			b.WriteByte(' ')
		}
		if k.signed() {
			b.WriteByte('-')
		}
		fmt.Fprintf(&b, "%d@%s", k.size(), a.registers[i])
	}
	return b.String()
}

// The function of a mark keeps the chain of frame pointers whole: a stack taken at the nop shows
// the mark and all of its callers. On amd64 the five-byte nop behind the one-byte nop is where
// kernels can put a call in place of a trap. Functions begin with what processors that check
// indirect branches want there.
//
// The function takes its words from registers of its own choice, the first of them those of C. For
// more there is a second function, the entry, which takes all words as C passes them, for programs
// that can only call C functions.

var amd64 = isa{
	name:    "amd64",
	machine: 62,
	page:    1 << 12,
	registers: [...]string{"%rdi", "%rsi", "%rdx", "%rcx", "%r8", "%r9", "%r10", "%r11", "%r12", "%r13",
		"%rax", "%rbx"},
	function: []byte{
		0xf3, 0x0f, 0x1e, 0xfa, // endbr64
		0x55,             // push %rbp
		0x48, 0x89, 0xe5, // mov %rsp, %rbp
		0x90,                         // nop
		0x0f, 0x1f, 0x44, 0x00, 0x00, // nop, five bytes
		0x5d, // pop %rbp
		0xc3, // ret
	},
	probed: 8,
	inC:    6,
	filler: []byte{0xcc}, // int3
	entry:  amd64Entry,
}

// amd64Entry is the entry of a mark whose function begins back bytes before it. Words from the seventh on
// lie above the return address.
func amd64Entry(words, back int) []byte {
	loads := [...][]byte{
		{0x4c, 0x8b, 0x55, 0x10}, // mov 16(%rbp), %r10
		{0x4c, 0x8b, 0x5d, 0x18}, // … %r11
		{0x4c, 0x8b, 0x65, 0x20}, // … %r12
		{0x4c, 0x8b, 0x6d, 0x28}, // … %r13
		{0x48, 0x8b, 0x45, 0x30}, // … %rax
		{0x48, 0x8b, 0x5d, 0x38}, // … %rbx
	}
	code := []byte{
		0xf3, 0x0f, 0x1e, 0xfa, // endbr64
		0x55,             // push %rbp
		0x48, 0x89, 0xe5, // mov %rsp, %rbp
		0x53,       // push %rbx
		0x41, 0x54, // push %r12
		0x41, 0x55, // push %r13
		0x50, // push %rax, to keep the stack aligned
	}
	for _, l := range loads[:words-6] {
		code = append(code, l...)
	}
	code = append(code, 0xe8) // call
	code = binary.LittleEndian.AppendUint32(code, uint32(-(back + len(code) + 4)))
	return append(code,
		0x41, 0x5d, // pop %r13, the word of alignment
		0x41, 0x5d, // pop %r13
		0x41, 0x5c, // pop %r12
		0x5b, // pop %rbx
		0x5d, // pop %rbp
		0xc3, // ret
	)
}

var arm64 = isa{
	name:      "arm64",
	machine:   183,
	page:      1 << 16,
	registers: [...]string{"x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11"},
	function: []byte{
		0x5f, 0x24, 0x03, 0xd5, // bti c
		0xfd, 0x7b, 0xbf, 0xa9, // stp x29, x30, [sp, -16]!
		0xfd, 0x03, 0x00, 0x91, // mov x29, sp
		0x1f, 0x20, 0x03, 0xd5, // nop
		0xfd, 0x7b, 0xc1, 0xa8, // ldp x29, x30, [sp], 16
		0xc0, 0x03, 0x5f, 0xd6, // ret
	},
	probed: 12,
	inC:    8,
	filler: []byte{0x00, 0x00, 0x20, 0xd4}, // brk 0
	entry:  arm64Entry,
}

// arm64Entry is the entry of a mark whose function begins back bytes before it. Words from the ninth on
// lie where the stack pointer was.
func arm64Entry(words, back int) []byte {
	code := instructions(
		0xd503245f, // bti c
		0xa9bf7bfd, // stp x29, x30, [sp, -16]!
		0x910003fd, // mov x29, sp
	)
	for i := range words - 8 {
		const ldr = 0xf94003a0 // ldr x0, [x29]
		code = append(code, instructions(ldr|uint32(2+i)<<10|uint32(8+i))...)
	}
	distance := -(back + len(code)) / 4
	code = append(code, instructions(0x94000000|uint32(distance)&0x03ffffff)...) // bl
	return append(code, instructions(
		0xa8c17bfd, // ldp x29, x30, [sp], 16
		0xd65f03c0, // ret
	)...)
}

func instructions(words ...uint32) []byte {
	var b []byte
	for _, w := range words {
		b = binary.LittleEndian.AppendUint32(b, w)
	}
	return b
}

// align pads code with fillers to where the next function begins.
func (a *isa) align(code []byte) []byte {
	const boundary = 16
	missing := -len(code) & (boundary - 1)
	return append(code, bytes.Repeat(a.filler, missing/len(a.filler))...)
}
