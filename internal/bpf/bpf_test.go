package bpf

import (
	"bytes"
	"encoding/binary"
	"errors"
	"slices"
	"testing"

	"github.com/cilium/ebpf/asm"
	"golang.org/x/sys/unix"
)

func TestObjName(t *testing.T) {
	got := objName("@a b-c_0123456789abc")
	if want := "_a_b_c_01234567"; unix.ByteSliceToString(got[:]) != want {
		t.Errorf("objName = %q, want %q", got, want)
	}
}

func TestInsns(t *testing.T) {
	ours := slices.Concat([]uint64{
		MovImm(1, -7), MovReg(2, 10), AddImm(2, -8), Load32(3, 2, 12), Load64(4, 6, -16),
		Store32(10, 3, -4), Store64(10, 4, -24),
		StoreImm32(10, -32, 5), ClearStack(-8), SkipIfEqual(3, 9, 2), SkipUnlessEqual(4, -1, 1),
		CallHelper(asm.FnMapUpdateElem), CallKfunc(77), Exit(),
	}, LoadMap(1, 5), LoadMapValue(2, 6))
	kfunc := asm.FnUnspec.Call()
	kfunc.Src, kfunc.Constant = asm.PseudoKfuncCall, 77
	skip := func(op asm.JumpOp, r asm.Register, n int32, by int16) asm.Instruction {
		in := op.Imm(r, n, "")
		in.Offset = by
		return in
	}
	theirs := asm.Instructions{
		asm.Mov.Imm(asm.R1, -7), asm.Mov.Reg(asm.R2, asm.RFP), asm.Add.Imm(asm.R2, -8),
		asm.LoadMem(asm.R3, asm.R2, 12, asm.Word),
		asm.LoadMem(asm.R4, asm.R6, -16, asm.DWord), asm.StoreMem(asm.RFP, -4, asm.R3, asm.Word),
		asm.StoreMem(asm.RFP, -24, asm.R4, asm.DWord),
		asm.StoreImm(asm.RFP, -32, 5, asm.Word),
		{OpCode: asm.OpCode(asm.StClass).SetMode(asm.MemMode).SetSize(asm.DWord), Dst: asm.RFP,
			Offset: -8}, skip(asm.JEq, asm.R3, 9, 2), skip(asm.JNE, asm.R4, -1, 1),
		asm.FnMapUpdateElem.Call(), kfunc, asm.Return(), asm.LoadMapPtr(asm.R1, 5), asm.LoadMapValue(asm.R2, 6, 0),
	}
	var want bytes.Buffer
	if err := theirs.Marshal(&want, binary.LittleEndian); err != nil {
		t.Fatal(err)
	}
	if got := Assemble(ours...); !bytes.Equal(got, want.Bytes()) {
		t.Errorf("instructions:\n% x\nwant\n% x", got, want.Bytes())
	}
}

// needKernel skips a test that the machine does not allow.
func needKernel(t *testing.T, what string, err error) {
	t.Helper()
	if errors.Is(err, unix.EPERM) || errors.Is(err, unix.EACCES) || errors.Is(err, unix.ENOSYS) {
		t.Skipf("%s: %v (needs CAP_BPF)", what, err)
	}
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

func TestHashMapBatch(t *testing.T) {
	const n = 10000
	// Before 5.11 maps count as locked memory.
	unix.Setrlimit(unix.RLIMIT_MEMLOCK, &unix.Rlimit{Cur: unix.RLIM_INFINITY, Max: unix.RLIM_INFINITY})
	fd, err := MapCreate(MapSpec{Name: "t", Type: Hash, KeySize: 4, ValueSize: 8, MaxEntries: n})
	needKernel(t, "map", err)
	defer unix.Close(fd)
	key, value := make([]byte, 4), make([]byte, 8)
	for i := range n {
		binary.NativeEndian.PutUint32(key, uint32(i))
		binary.NativeEndian.PutUint64(value, uint64(i)*3)
		if err := MapUpdate(fd, key, value, 0); err != nil {
			t.Fatal(err)
		}
	}
	seen := make([]bool, n)
	keys, values := make([]byte, 4*1000), make([]byte, 8*1000)
	var b Batch
	for {
		got, err := b.Next(fd, 4, keys, values)
		if err != nil {
			t.Fatal(err)
		}
		if got == 0 {
			break
		}
		for i := range got {
			k := binary.NativeEndian.Uint32(keys[4*i:])
			if v := binary.NativeEndian.Uint64(values[8*i:]); v != uint64(k)*3 || seen[k] {
				t.Fatalf("key %d: value %d, seen before: %v", k, v, seen[k])
			}
			seen[k] = true
		}
	}
	if i := slices.Index(seen, false); i >= 0 {
		t.Errorf("key %d is missing", i)
	}
	binary.NativeEndian.PutUint32(keys, 7)
	binary.NativeEndian.PutUint32(keys[4:], 8)
	if n, err := MapDeleteBatch(fd, keys, 2); n != 2 || err != nil {
		t.Errorf("MapDeleteBatch = %d, %v; want 2", n, err)
	}
	if err := MapLookup(fd, keys[:4], value); !errors.Is(err, unix.ENOENT) {
		t.Errorf("lookup of a deleted key: %v, want ENOENT", err)
	}
}

func TestTestRun(t *testing.T) {
	code := Assemble(Insn(0x79, 0, 1, 8, 0), Exit()) // r0 = *(u64 *)(r1 + 8)
	fd, err := ProgLoad(&ProgSpec{Name: "t", Type: RawTracepoint, Insns: code, License: "GPL"})
	needKernel(t, "program", err)
	defer unix.Close(fd)
	ctx := make([]byte, 16)
	binary.NativeEndian.PutUint64(ctx[8:], 42)
	if ret, err := TestRun(fd, ctx); ret != 42 || err != nil {
		t.Errorf("TestRun = %d, %v; want 42", ret, err)
	}
	link, err := RawTracepointOpen("sys_enter", fd, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := FD(link).Close(); err != nil {
		t.Error(err)
	}
	bad := Assemble(Exit()) // without r0
	log := make([]byte, 4096)
	_, err = ProgLoad(&ProgSpec{Type: RawTracepoint, Insns: bad, License: "GPL", LogLevel: 1, Log: log})
	if err == nil || log[0] == 0 {
		t.Errorf("a program without result was loaded, or refused without a word: %v", err)
	}
}

// TestPrograms finds a program of this process among all, with its function's
// name in its BTF.
func TestPrograms(t *testing.T) {
	fd, err := ProgLoad(&ProgSpec{Name: "hawk_listed", Type: RawTracepoint,
		Insns: Assemble(MovImm(0, 0), Exit()), License: "GPL"})
	if err != nil {
		t.Skipf("loading a program: %v (needs root)", err)
	}
	defer unix.Close(fd)
	var found []ProgInfo
	if err := Progs(func(info ProgInfo) bool {
		if info.Name == "hawk_listed" {
			found = append(found, info)
		}
		return true
	}); err != nil {
		t.Fatal(err)
	}
	if len(found) == 0 || found[0].Type != RawTracepoint || found[0].BTF != 0 || found[0].Funcs != nil {
		t.Fatalf("found %+v", found)
	}
	again, err := ProgByID(found[0].ID)
	if err != nil {
		t.Fatal(err)
	}
	unix.Close(again)
	if _, err := ProgByID(1 << 31); err != unix.ENOENT {
		t.Errorf("program 1<<31: %v", err)
	}
}
