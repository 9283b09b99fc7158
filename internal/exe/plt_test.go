package exe

import (
	"debug/elf"
	"encoding/binary"
	"testing"
)

// TestStub decodes entries of linkage tables as linkers write them.
func TestStub(t *testing.T) {
	arm := func(words ...uint32) (code []byte) {
		for _, w := range words {
			code = binary.LittleEndian.AppendUint32(code, w)
		}
		return code
	}
	for _, c := range []struct {
		name        string
		machine     elf.Machine
		code        []byte
		start, size int
		slot        uint64
	}{
		{"lazy", elf.EM_X86_64, []byte{0xff, 0x25, 0xca, 0x2f, 0, 0, 0x68, 0, 0, 0, 0, 0xe9}, 0, 6, 0x4000},
		{"first", elf.EM_X86_64, []byte{0xff, 0x35, 0xca, 0x2f, 0, 0, 0xff, 0x25, 0xcc, 0x2f, 0, 0}, 0, 0, 0},
		{"now", elf.EM_X86_64, []byte{0xff, 0x25, 0xca, 0xff, 0xff, 0xff, 0x66, 0x90}, 0, 6, 0x1000},
		{"endbr, bnd", elf.EM_X86_64, []byte{0xf3, 0x0f, 0x1e, 0xfa, 0xf2, 0xff, 0x25, 0xc5, 0x2f, 0, 0},
			0, 11, 0x4000},
		{"endbr", elf.EM_X86_64, []byte{0xf3, 0x0f, 0x1e, 0xfa, 0xff, 0x25, 0xc6, 0x2f, 0, 0}, 0, 10, 0x4000},
		{"cut", elf.EM_X86_64, []byte{0xf3, 0x0f, 0x1e, 0xfa, 0xff, 0x25, 0xc6, 0x2f}, 0, 0, 0},
		// adrp x16, 0x1f000; ldr x17, [x16, #4056]; add x16, x16, #4056; br x17
		{"arm64", elf.EM_AARCH64, arm(0xd00000f0, 0xf947ee11, 0x913f6210, 0xd61f0220), 4, 12, 0x1f000 + 4056},
		{"arm64, below", elf.EM_AARCH64, arm(0xf0fffff0, 0xf9400611, 0x91002210, 0xd61f0220), 4, 12, 8},
		{"arm64, cut", elf.EM_AARCH64, arm(0xd00000f0, 0xf947ee11), 0, 0, 0},
		{"arm64, other", elf.EM_AARCH64, arm(0xd503201f, 0xd503201f, 0xd503201f, 0xd503201f), 0, 0, 0},
	} {
		start, size, slot := stub(c.machine, c.code, 0x1030)
		if start != c.start || size != c.size || slot != c.slot {
			t.Errorf("%s: at %d, %d bytes, slot 0x%x; want %d, %d, 0x%x", c.name, start, size, slot,
				c.start, c.size, c.slot)
		}
	}
}
