package dwarf

import (
	"debug/dwarf"
	"encoding/binary"
	"slices"
	"strings"
	"testing"

	"github.com/hawktrace/hawk/internal/exe"
	"github.com/hawktrace/hawk/internal/hawktest/bound"
)

// The debug information of these tests is small, and stands for much: units share layouts, functions
// the list of their ranges, files their name.

// burst is a file of units of DWARF 5 with the entries given, each with its layouts at an offset.
func burst(t *testing.T, abbrev []byte, units int, step int, entries []byte) (f *File, size int) {
	t.Helper()
	var info []byte
	le := binary.LittleEndian
	for i := range units {
		info = le.AppendUint32(info, uint32(8+len(entries)))
		info = append(le.AppendUint16(info, 5), 1, 8)
		info = append(le.AppendUint32(info, uint32(i*step)), entries...)
	}
	f = &File{Path: "burst", tables: map[uint64]*abbrevTable{}, funcs: map[int][]body{}}
	f.info, f.abbrev = exe.BytesOf(info), exe.BytesOf(abbrev)
	if err := f.readUnits(); err != nil || len(f.units) != units {
		t.Fatalf("%d units, want %d: %v", len(f.units), units, err)
	}
	return f, len(info) + len(abbrev)
}

// TestBurstLayouts looks an address up in units that share 60,000 layouts, none of which they use.
func TestBurstLayouts(t *testing.T) {
	const layout = 7 // bytes
	var abbrev []byte
	for range 60_000 {
		abbrev = append(abbrev, 0x81, 0x80, 4, 0x11, 0, 0, 0)
	}
	f, size := burst(t, abbrev, 20_000, layout, []byte{1, 0})
	bound.Run(t, size, func() { f.covering(1) })
}

// TestBurstFields decodes entries of one byte that have a million attributes.
func TestBurstFields(t *testing.T) {
	abbrev := append([]byte{1, 0x11, 1}, slices.Repeat([]byte{0x34, 0x19}, 1_000_000)...)
	f, size := burst(t, append(abbrev, 0, 0, 0), 1, 0, slices.Repeat([]byte{1}, 100_000))
	bound.Run(t, size, func() {
		f.walk(0, f.units[0].first, func(entry, int) (bool, bool) { return true, false })
	})
}

// TestBurstRanges lists functions that share a list of a million ranges.
func TestBurstRanges(t *testing.T) {
	abbrev := []byte{1, 0x11, 1, 0, 0, 2, 0x2e, 0, 0x55, 0x17, 0, 0, 0}
	f, size := burst(t, abbrev, 4, 0, append([]byte{1}, slices.Repeat([]byte{2, 0, 0, 0, 0}, 1000)...))
	ranges := slices.Repeat([]byte{rangeOffsets, 1, 2}, 1_000_000)
	f.rnglists = exe.BytesOf(ranges)
	bound.Run(t, size+len(ranges), func() {
		for i := range f.units {
			if _, err := f.functions(i); err != nil {
				t.Fatal(err)
			}
		}
	})
	kept := 0
	for _, list := range f.funcs {
		kept += len(list)
	}
	if kept > maxBodies+maxRangesOfEntry {
		t.Errorf("%d stretches of code are kept", kept)
	}
}

// TestBurstFiles reads a line table in which 60,000 files have one long name.
func TestBurstFiles(t *testing.T) {
	le := binary.LittleEndian
	body := []byte{1, 1, 1, 0xfb, 14, 1}                // instructions, lines, opcodes
	body = append(body, 1, contentPath, 0x1f, 1)        // one directory, in .debug_line_str
	body = append(le.AppendUint32(body, 0), 1, 1, 0x1f) // files there as well
	body = append(body, 0xe0, 0xd4, 3)                  // 60,000
	body = append(body, make([]byte, 4*60_000)...)
	header := append(le.AppendUint16(nil, 5), 8, 0)
	header = append(le.AppendUint32(header, uint32(len(body))), body...)
	line := append(le.AppendUint32(nil, uint32(len(header))), header...)
	f := &File{Path: "burst"}
	f.line = exe.BytesOf(line)
	f.lineStr = exe.BytesOf(append([]byte(strings.Repeat("x", 60_000)), 0))
	root := entry{&dwarf.Entry{Field: []dwarf.Field{{Attr: dwarf.AttrStmtList, Val: int64(0)}}}, f}
	var files []string
	bound.Run(t, len(line), func() { files = f.lineTable(root).files })
	kept := 0
	for _, name := range files {
		kept += len(name)
	}
	if len(files) != 60_000 || kept > maxLineNames {
		t.Errorf("%d files, names of %d bytes", len(files), kept)
	}
}
