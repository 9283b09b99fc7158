package exe

import (
	"debug/elf"
	"encoding/binary"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
)

func TestGoVersion(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	f, err := Open(self)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	want := 0
	if _, err := fmt.Sscanf(runtime.Version(), "go1.%d", &want); err != nil {
		t.Skipf("built by %s", runtime.Version())
	}
	if got, ok := f.GoVersion(); !ok || got != want {
		t.Errorf("GoVersion of this test = %d, %t; want %d", got, ok, want)
	}

	// Until Go 1.17 the section led to the version, a string elsewhere.
	const base = 0x400000
	old := func(version string, length uint64) []byte {
		data := make([]byte, 32, 128)
		copy(data, buildInfoMagic)
		data[14] = 8
		binary.LittleEndian.PutUint64(data[buildInfoPointer:], base+32)
		data = binary.LittleEndian.AppendUint64(data, base+48)
		data = binary.LittleEndian.AppendUint64(data, length)
		return append(data, version...)
	}
	inline := func(length byte) []byte {
		data := make([]byte, 32, 64)
		copy(data, buildInfoMagic)
		data[buildInfoFlags] = flagInline
		return append(append(data, length), "go1.18.3"...)
	}
	for _, c := range []struct {
		data []byte
		want int
	}{
		{old("go1.16.5", 8), 16},
		{old("go1.16.5", 800), 0},
		{old("devel +1234", 11), 0},
		{old("go1.16.5", 1<<62), 0},
		{inline(8), 18},
		{inline(200), 0},
		{[]byte(strings.Repeat("x", 64)), 0},
		{[]byte(buildInfoMagic), 0},
		{nil, 0},
	} {
		f := &File{class64: true, order: binary.LittleEndian, c: &content{mem: c.data},
			sections: []section{{name: ".go.buildinfo", typ: elf.SHT_PROGBITS, size: uint64(len(c.data))}},
			segments: []segment{{addr: base, filesz: uint64(len(c.data))}}}
		if got, ok := f.GoVersion(); got != c.want || ok != (c.want != 0) {
			t.Errorf("%q: %d, %t; want %d", c.data, got, ok, c.want)
		}
	}
}
