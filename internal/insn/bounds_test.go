package insn

import (
	"slices"
	"testing"
)

// push rbp; mov rbp,rsp; repz ret; mov eax,0xc3; ret 8; int3
var amdCode = []byte{0x55, 0x48, 0x89, 0xe5, 0xf3, 0xc3, 0xb8, 0xc3, 0, 0, 0, 0xc2, 8, 0, 0xcc}

func TestReturnOffsets(t *testing.T) {
	for _, c := range []struct {
		set  Set
		code []byte
		want []uint64 // nil: an error
	}{
		{AMD64, amdCode, []uint64{4, 11}},
		{AMD64, []byte{0x90, 0xcb}, []uint64{}}, // a far return is none that a compiler makes
		{AMD64, []byte{0xc3, 0x06}, nil},        // no instruction in 64-bit mode
		{AMD64, []byte{0xc3, 0x48}, nil},        // cut off
		// nop; ret; ret x27; retaa; br x30
		{ARM64, []byte{0x1f, 0x20, 3, 0xd5, 0xc0, 3, 0x5f, 0xd6, 0x60, 3, 0x5f, 0xd6, 0xff, 0xb, 0x5f, 0xd6, 0xc0, 3,
			0x1f, 0xd6}, []uint64{4, 8, 12}},
		{ARM64, []byte{0xc0, 3, 0x5f}, nil},
	} {
		got, err := ReturnOffsets(c.set, c.code)
		if (err != nil) != (c.want == nil) || !slices.Equal(got, c.want) {
			t.Errorf("%d %x: %v, %v; want %v", c.set, c.code, got, err, c.want)
		}
	}
}

func TestIsBoundary(t *testing.T) {
	code := amdCode[:6]
	for off, want := range []bool{true, true, false, false, true, false, false} {
		if got := IsBoundary(AMD64, code, uint64(off)); got != want {
			t.Errorf("amd64 offset %d: %t", off, got)
		}
	}
	if IsBoundary(ARM64, nil, 2) || !IsBoundary(ARM64, nil, 8) {
		t.Error("arm64: not by alignment")
	}
}

func TestNearBoundaries(t *testing.T) {
	for _, c := range []struct {
		set  Set
		code []byte
		off  uint64
		want string
	}{
		{AMD64, amdCode, 2, "+1, +4 and +6"},
		{AMD64, amdCode, 12, "+11 and +14"},
		{AMD64, amdCode[:11], 8, ""}, // in the last one
		{AMD64, []byte{0x48}, 1, ""},
		{ARM64, make([]byte, 16), 6, "+4, +8 and +12"},
	} {
		if got := NearBoundaries(c.set, c.code, c.off); got != c.want {
			t.Errorf("%d %x+%d: %q, want %q", c.set, c.code, c.off, got, c.want)
		}
	}
}

// TestExitsOf: jumps within the function and by tables are no ways out, others are, wherever they lead.
func TestExitsOf(t *testing.T) {
	for _, c := range []struct {
		set     Set
		code    string
		returns []uint64
		away    []int64
		more    string
	}{
		{AMD64, "c3 e912fcffff ebf8", []uint64{0}, []int64{-1000}, ""},         // ret; jmp -1000; jmp 0
		{AMD64, "90 0f85e1030000 0f858c860100", nil, []int64{1000, 99993}, ""}, // nop; jne; jne
		{AMD64, "ffe0", nil, nil, "unknown"},                                   // jmp *%rax
		{AMD64, "3effe0", nil, nil, ""},                                        // notrack jmp *%rax
		{AMD64, "4801d0 ffe0", nil, nil, ""},                                   // add %rdx, %rax; jmp *%rax
		{AMD64, "4801c2 ffe0", nil, nil, "unknown"},                            // add %rax, %rdx; jmp *%rax
		{AMD64, "4901d1 41ffe1", nil, nil, ""},                                 // add %rdx, %r9; jmp *%r9
		{AMD64, "4801d1 41ffe1", nil, nil, "unknown"},                          // add %rdx, %rcx; jmp *%r9
		{AMD64, "4c03c8 41ffe1", nil, nil, ""},                                 // add %rax, %r9; jmp *%r9
		{AMD64, "ff24c500100000", nil, nil, "table"},                           // jmp *0x1000(,%rax,8)
		{AMD64, "3eff24c500100000", nil, nil, ""},                              // notrack jmp *0x1000(,%rax,8)
		{AMD64, "ff6010", nil, nil, "unknown"},                                 // jmp *16(%rax)
		{AMD64, "ffd0", nil, nil, "calls"},                                     // call *%rax
		{AMD64, "e800000000 c3", []uint64{5}, nil, "calls"},                    // call; ret
		{ARM64, "ffffff97", nil, nil, "calls"},                                 // bl
		{AMD64, "ff2500010000", nil, nil, "unknown"},                           // jmp *0x100(%rip)
		{ARM64, "c0035fd6 ffffff17", []uint64{0}, nil, ""},                     // ret; b 0
		{ARM64, "c07f0054 a1ffffb4", nil, []int64{4088, -8}, ""},               // b.eq; cbz x1, -12
		{ARM64, "c2ff1f37", nil, []int64{-8}, ""},                              // tbnz w2, #3, -8
		{ARM64, "60001fd6", nil, nil, "unknown"},                               // br x3
		{ARM64, "4388248b 60001fd6", nil, nil, ""},                             // add x3, x2, w4, sxtb #2; br x3
		{ARM64, "4488248b 60001fd6", nil, nil, "unknown"},                      // add x4, …; br x3
		{ARM64, "60003fd6", nil, nil, "calls"},                                 // blr x3
	} {
		got, err := ExitsOf(c.set, bytesOf(t, c.code))
		if err != nil || !slices.Equal(got.Returns, c.returns) || !slices.Equal(got.Away, c.away) ||
			got.Unknown != (c.more == "unknown") || got.Calls != (c.more == "calls") ||
			slices.Equal(got.Tables, []int64{0x1000}) != (c.more == "table") {
			t.Errorf("%d %s: %+v, %v", c.set, c.code, got, err)
		}
	}
	if _, err := ExitsOf(AMD64, []byte{0xc3, 0x48}); err == nil {
		t.Error("an instruction that is cut off is read")
	}
}
