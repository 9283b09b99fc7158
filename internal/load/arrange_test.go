package load

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/cilium/ebpf/asm"
	"golang.org/x/sys/unix"

	"github.com/hawktrace/hawk/internal/bpf"
	"github.com/hawktrace/hawk/internal/errno"
)

// oscillates is code of which the compiler of Linux for x86-64 takes a pass for
// the last that is not. Of each line the first word is a label or -, the second
// an instruction: bytes of padding, if (a bit of r6 that nothing is known of), ja.
//
// All jumps are long at first. In the first pass those of y and p2 become short. In the
// second, p1a to p1c do, 12 bytes in front of t: so back, which has become short too, takes t
// for too far, while out, no longer over the long form of back, becomes short. In the third
// back is short again and out long again: as many bytes as before.
const oscillates = `
	-    if x1a
	-    if x1b
	-    if x1c
	-    94
	p2   ja y
	x1a  13
	x1b  13
	x1c  2
	y    ja m
	t    if z
	-    91
	-    ja e
	m    if t
	-    17
	z    130
	e    exit`

// assemble makes code of the lines of a listing.
func assemble(t *testing.T, listing string) []asm.Instruction {
	t.Helper()
	insns := []asm.Instruction{dataAt(asm.R1, 256), asm.LoadMem(asm.R6, asm.R1, 0, asm.DWord)}
	at, to := map[string]int{}, map[int]string{}
	bit := int32(1)
	for line := range strings.Lines(listing) {
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		at[words[0]] = len(insns)
		switch words[1] {
		case "if":
			to[len(insns)] = words[2]
			insns = append(insns, asm.JSet.Imm(asm.R6, bit, ""))
			bit <<= 1
		case "ja":
			to[len(insns)] = words[2]
			insns = append(insns, asm.Instruction{OpCode: asm.OpCode(asm.JumpClass).SetJumpOp(asm.Ja)})
		case "exit":
			insns = append(insns, asm.Mov.Imm(asm.R0, 0), asm.Return())
		default:
			n := 0
			if _, err := fmt.Sscan(words[1], &n); err != nil {
				t.Fatal(err)
			}
			for ; n%5 != 0; n -= 2 {
				insns = append(insns, asm.Mov.Imm(asm.R0, 0)) // 2 bytes
			}
			for ; n > 0; n -= 5 {
				insns = append(insns, asm.Mov.Imm(asm.R0, 1)) // 5 bytes
			}
		}
	}
	for i, label := range to {
		insns[i].Offset = int16(at[label] - i - 1)
	}
	return insns
}

func TestNotCompiled(t *testing.T) {
	needBPF(t)
	o := begin(assemble(t, oscillates)...)
	s := &Session{Object: o, CPUs: 2, dataFD: -1, btfFD: -1, opts: Options{Probe: here}}
	defer s.Close()
	if err := s.createMaps(); err != nil {
		t.Fatal(err)
	}
	spec, err := s.spec(o.Programs[0])
	if err != nil {
		t.Fatal(err)
	}
	fd, err := bpf.ProgLoad(spec)
	t.Logf("as it is: %v", err)
	if err == nil {
		t.Logf("compiled: %v", bpf.Compiled(fd))
		unix.Close(fd)
	} else if !errors.Is(err, errno.NotSupported) {
		t.Error(err)
	}
	loaded, err := Load(o, Options{Probe: here})
	if err != nil {
		t.Fatal(err)
	}
	defer loaded.Close()
	if got := bpf.Compiled(loaded.Programs[0]); got != compiles() {
		t.Errorf("compiled: %v, the kernel compiles: %v", got, compiles())
	}
	if _, err := bpf.TestRun(loaded.Programs[0], nil); err != nil {
		t.Error(err)
	}
}

// TestMoveLines follows each instruction to its line before and after.
func TestMoveLines(t *testing.T) {
	c := begin(assemble(t, oscillates)...).Programs[0].Code
	a, err := c.Arrange(1)
	if err != nil {
		t.Fatal(err)
	}
	var before []byte
	for slot := 0; slot < c.Slots(); slot += 7 {
		before = words(before, uint32(slot), 1, 2, uint32(slot))
	}
	after := moveLines(before, a)
	record := func(lines []byte, slot int) (where uint32) {
		for len(lines) > 0 && int(binary.NativeEndian.Uint32(lines)) <= slot {
			where, lines = binary.NativeEndian.Uint32(lines[12:]), lines[bpf.LineInfoBytes:]
		}
		return where
	}
	for slot, was := range a.Slots {
		if got, want := record(after, slot), record(before, was); got != want {
			t.Errorf("slot %d, before %d: line %d, want %d", slot, was, got, want)
		}
	}
	if len(a.Slots) != a.Code.Slots() || binary.NativeEndian.Uint32(after) != 0 {
		t.Errorf("%d slots of %d, lines begin at %d", len(a.Slots), a.Code.Slots(), binary.NativeEndian.Uint32(after))
	}
	if lines := moveLines(nil, a); lines != nil {
		t.Errorf("no lines became %d bytes", len(lines))
	}
}
