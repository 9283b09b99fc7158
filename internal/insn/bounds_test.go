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
