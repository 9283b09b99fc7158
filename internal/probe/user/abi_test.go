package user

import (
	"debug/elf"
	"encoding/binary"
	"strings"
	"testing"

	"github.com/hawktrace/hawk/internal/arch"
	"github.com/hawktrace/hawk/internal/exe"
)

// header is an ELF file with nothing in it.
func header(t *testing.T, class elf.Class, order elf.Data, machine elf.Machine) *exe.File {
	t.Helper()
	h := make([]byte, 64)
	copy(h, elf.ELFMAG)
	h[elf.EI_CLASS], h[elf.EI_DATA] = byte(class), byte(order)
	var put binary.ByteOrder = binary.LittleEndian
	if order == elf.ELFDATA2MSB {
		put = binary.BigEndian
	}
	put.PutUint16(h[16:], uint16(elf.ET_EXEC))
	put.PutUint16(h[18:], uint16(machine))
	f, err := exe.New("file", h)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestForeign(t *testing.T) {
	for _, c := range []struct {
		class   elf.Class
		order   elf.Data
		machine elf.Machine
		want    string
	}{
		{elf.ELFCLASS64, elf.ELFDATA2LSB, elf.EM_X86_64, ""},
		{elf.ELFCLASS32, elf.ELFDATA2LSB, elf.EM_X86_64, ""}, // x32
		{elf.ELFCLASS32, elf.ELFDATA2LSB, elf.EM_386, ""},
		{elf.ELFCLASS64, elf.ELFDATA2LSB, elf.EM_AARCH64, "another machine (EM_AARCH64)"},
		{elf.ELFCLASS64, elf.ELFDATA2MSB, elf.EM_S390, "a big-endian program (EM_S390)"},
		{elf.ELFCLASS32, elf.ELFDATA2MSB, elf.EM_X86_64, "a big-endian program"},
	} {
		err := foreign(header(t, c.class, c.order, c.machine), arch.AMD64)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v %v %v: %v, want %q", c.class, c.order, c.machine, err, c.want)
		}
	}
}

func TestABI(t *testing.T) {
	for _, c := range []struct {
		machine     elf.Machine
		class       elf.Class
		want        arch.ABI
		regs, stack int
	}{
		{elf.EM_X86_64, elf.ELFCLASS64, arch.ABIC, 6, 8},
		{elf.EM_386, elf.ELFCLASS32, arch.ABI386, 0, 4},
		{elf.EM_ARM, elf.ELFCLASS32, arch.ABIARM, 4, 0},
	} {
		a := arch.AMD64
		if c.machine == elf.EM_ARM {
			a = arch.ARM64
		}
		x := abiOf(header(t, c.class, elf.ELFDATA2LSB, c.machine), 0)
		if x != c.want || len(x.Regs(a)) != c.regs || x.Stack(a) != c.stack {
			t.Errorf("%v: convention %d with %d registers, stack at %d", c.machine, x, len(x.Regs(a)), x.Stack(a))
		}
	}
	if x := arch.ABIGo; x.Regs(arch.AMD64)[0] != arch.AMD64.Ret || x.Stack(arch.ARM64) != 8 ||
		x.Stack(arch.AMD64) != 8 {
		t.Error("Go's convention")
	}
}
