package probe

import (
	"encoding/hex"
	"testing"
)

func TestX86Length(t *testing.T) {
	for _, tt := range []struct {
		code string
		want int
	}{
		{"90", 1}, {"c3", 1}, {"55", 1}, {"4889e5", 3}, {"f30f1efa", 4}, // nop ret push mov endbr64
		{"e800000000", 5}, {"66e800000000", 6}, {"0f8400000000", 6}, {"7400", 2}, // call jz
		{"488b0500000000", 7}, {"488b442408", 5}, {"8b84c800000000", 7}, {"8b04c500000000", 7}, // addressing
		{"48b80102030405060708", 10}, {"b801020304", 5}, {"66b80102", 4}, // mov imm
		{"f6450001", 4}, {"f7d8", 2}, {"48f7c700000000", 7}, {"66f7c70000", 5}, // test, neg
		{"c5f877", 3}, {"c5f96f06", 4}, {"c4e37d19c101", 6}, {"62f17c48100601", 6}, // vector
		{"0f3840c1", 4}, {"660f3a0fc108", 6}, {"0fa3c1", 3}, {"0fbae007", 4}, {"c8100000", 4},
		{"a10102030405060708", 9}, {"67a101020304", 6},
		{"06", 0}, {"48", 0}, {"e80000", 0}, {"", 0}, {"6666666666666666666666666666666690", 0},
	} {
		code, err := hex.DecodeString(tt.code)
		if err != nil {
			t.Fatal(err)
		}
		if got := x86Length(code); got != tt.want {
			t.Errorf("%s: %d, want %d", tt.code, got, tt.want)
		}
	}
}

func FuzzX86Length(f *testing.F) {
	f.Add([]byte{0x48, 0x8b, 0x05, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, code []byte) {
		if n := x86Length(code); n < 0 || n > 15 || n > len(code) {
			t.Errorf("%x: %d", code, n)
		}
	})
}
