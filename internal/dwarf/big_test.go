package dwarf

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// writeBig writes a program with as much debug information as is wanted: units
// of some hundred kilobytes, each with layouts, structs and functions of its
// own. Unit n covers the kilobyte at (n+1) KB; the last one has a struct "rare".
func writeBig(t testing.TB, bytesOfInfo int) (path string, units int) {
	t.Helper()
	le := binary.LittleEndian
	const perUnit = 4000 // structs and functions

	var str bytes.Buffer
	str.WriteByte(0)
	text := func(s string) uint32 {
		at := str.Len()
		str.WriteString(s + "\x00")
		return uint32(at)
	}
	field, rare, integer := text("field"), text("rare"), text("int")
	var names [perUnit]uint32
	for i := range names {
		names[i] = text(fmt.Sprintf("a_long_name_as_those_of_templates_are_%d", i))
	}

	// Numbers of the layouts; others stand between them, as in real tables.
	const cuLayout, structLayout, memberLayout, funcLayout, paramLayout, intLayout, layouts = 1, 20, 30, 40, 50, 60, 100
	var abbrev bytes.Buffer
	for code := byte(1); code < layouts; code++ {
		fields := map[byte][]byte{
			cuLayout:     {0x11, 1, 0x03, 0x0e, 0x11, 0x01, 0x12, 0x07},
			structLayout: {0x13, 1, 0x03, 0x0e, 0x0b, 0x0b},
			memberLayout: {0x0d, 0, 0x03, 0x0e, 0x49, 0x13, 0x38, 0x0b},
			funcLayout:   {0x2e, 1, 0x03, 0x0e, 0x11, 0x01, 0x12, 0x07, 0x49, 0x13},
			paramLayout:  {0x05, 0, 0x03, 0x0e, 0x49, 0x13},
			intLayout:    {0x24, 0, 0x03, 0x0e, 0x0b, 0x0b, 0x3e, 0x0b},
		}[code]
		if fields == nil {
			fields = []byte{0x34, 0, 0x03, 0x0e, 0x49, 0x13, 0x3a, 0x0b, 0x3b, 0x0b}
		}
		abbrev.WriteByte(code)
		abbrev.Write(fields)
		abbrev.Write([]byte{0, 0})
	}
	abbrev.WriteByte(0)
	table := abbrev.Bytes()

	var unit []byte
	u32 := func(v uint32) { unit = le.AppendUint32(unit, v) }
	u64 := func(v uint64) { unit = le.AppendUint64(unit, v) }
	makeUnit := func(n int, last bool) []byte {
		unit = unit[:0]
		low := uint64(n+1) << 10
		u32(0)
		unit = append(unit, 5, 0, 1, 8)
		u32(uint32(n * len(table)))
		unit = append(unit, cuLayout)
		u32(names[n%perUnit])
		u64(low)
		u64(1 << 10)
		intAt := uint32(len(unit))
		unit = append(unit, intLayout)
		u32(integer)
		unit = append(unit, 4, 5)
		for i := range perUnit {
			unit = append(unit, structLayout)
			name := names[i]
			if last && i == perUnit-1 {
				name = rare
			}
			u32(name)
			unit = append(unit, 16)
			for m := range byte(4) {
				unit = append(unit, memberLayout)
				u32(field)
				u32(intAt)
				unit = append(unit, 4*m)
			}
			unit = append(unit, 0)
			if i < 1<<8 {
				unit = append(unit, funcLayout)
				u32(names[i])
				u64(low + uint64(4*i))
				u64(4)
				u32(intAt)
				unit = append(unit, paramLayout)
				u32(field)
				u32(intAt)
				unit = append(unit, 0)
			}
		}
		unit = append(unit, 0)
		le.PutUint32(unit, uint32(len(unit)-4))
		return unit
	}

	path = filepath.Join(t.TempDir(), "big")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w := bufio.NewWriterSize(file, 1<<20)
	w.Write(make([]byte, 64)) // the header comes last
	units = bytesOfInfo/len(makeUnit(0, false)) + 1
	size := 0
	for n := range units {
		b := makeUnit(n, n == units-1)
		size += len(b)
		w.Write(b)
	}
	for range units {
		w.Write(table)
	}
	w.Write(str.Bytes())
	sectionNames := "\x00.debug_info\x00.debug_abbrev\x00.debug_str\x00.shstrtab\x00"
	w.WriteString(sectionNames)
	at := 64
	section := func(name string, kind uint32, size int) {
		h := le.AppendUint32(nil, uint32(bytes.Index([]byte(sectionNames), []byte(name+"\x00"))))
		h = le.AppendUint32(h, kind)
		for _, v := range []uint64{0, 0, uint64(at), uint64(size), 0, 1, 0} {
			h = le.AppendUint64(h, v)
		}
		w.Write(h)
		at += size
	}
	w.Write(make([]byte, 64))
	section(".debug_info", 1, size)
	section(".debug_abbrev", 1, units*len(table))
	section(".debug_str", 1, str.Len())
	section(".shstrtab", 3, len(sectionNames))
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	header := append([]byte("\x7fELF\x02\x01\x01"), make([]byte, 9)...)
	header = le.AppendUint16(header, 2)  // ET_EXEC
	header = le.AppendUint16(header, 62) // EM_X86_64
	header = le.AppendUint32(header, 1)
	header = le.AppendUint64(header, 0)
	header = le.AppendUint64(header, 0)
	header = le.AppendUint64(header, uint64(at))
	header = le.AppendUint32(header, 0)
	for _, v := range []uint16{64, 0, 0, 64, 5, 4} {
		header = le.AppendUint16(header, v)
	}
	if _, err := file.WriteAt(header, 0); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	return path, units
}

// firstUse is what the first probe on a program asks for: the arguments of a
// function, a type beside it, and one that is defined in another source file.
func firstUse(t testing.TB, path string, units int) {
	f, err := Open(path, "")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	addr := uint64(units/2)<<10 + 40
	fn, err := f.Function(addr)
	if err != nil || len(fn.Params) != 1 || fn.Params[0].Decl != "int field" {
		t.Fatalf("function at %#x: %+v, %v", addr, fn, err)
	}
	for _, name := range []string{"a_long_name_as_those_of_templates_are_7", "rare"} {
		if typ, err := f.TypeByName("struct", name, addr); err != nil || typ.Size() != 16 {
			t.Fatalf("struct %s: %v, %v", name, typ, err)
		}
	}
}

// TestBigFile shows that memory does not grow with the file.
func TestBigFile(t *testing.T) {
	path, units := writeBig(t, 48<<20)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	firstUse(t, path, units)
	runtime.ReadMemStats(&after)
	const most = 16 << 20
	if n := after.TotalAlloc - before.TotalAlloc; n > most {
		t.Errorf("%d bytes were allocated for a file of 48 MB, want at most %d", n, most)
	}
}

// BenchmarkBigFile is the first use of a file with 500 MB of debug information.
func BenchmarkBigFile(b *testing.B) {
	path, units := writeBig(b, 500<<20)
	b.ReportAllocs()
	for b.Loop() {
		firstUse(b, path, units)
	}
}
