package exe

import (
	"bytes"
	"encoding/binary"
	"strconv"
	"strings"
)

// Of .go.buildinfo, by package debug/buildinfo: a mark, the size of pointers,
// flags, and since Go 1.18 the version in place.
const (
	buildInfoMagic   = "\xff Go buildinf:"
	buildInfoFlags   = 15
	buildInfoPointer = 16
	buildInfoInline  = 32
	flagInline       = 2
	maxGoVersion     = 256 // bytes
)

// GoVersion is the minor version N of Go 1.N that built the program, false if
// the file does not say.
func (f *File) GoVersion() (minor int, ok bool) {
	data := f.Section(".go.buildinfo")
	if len(data) < buildInfoInline || !bytes.HasPrefix(data, []byte(buildInfoMagic)) {
		return 0, false
	}
	var text []byte
	if data[buildInfoFlags]&flagInline != 0 {
		n, size := binary.Uvarint(data[buildInfoInline:])
		rest := data[buildInfoInline:]
		if size <= 0 || n > maxGoVersion || n > uint64(len(rest)-size) {
			return 0, false
		}
		text = rest[size:][:n]
	} else {
		w := uint64(f.wordSize())
		header := f.memory(f.word(data[buildInfoPointer:]), 2*w) // of a string
		if header == nil || f.word(header[w:]) > maxGoVersion {
			return 0, false
		}
		text = f.memory(f.word(header), f.word(header[w:]))
	}
	version, ok := strings.CutPrefix(string(text), "go1.")
	if !ok {
		return 0, false
	}
	digits := version[:len(version)-len(strings.TrimLeft(version, "0123456789"))]
	minor, err := strconv.Atoi(digits)
	return minor, err == nil
}

// memory is n bytes that the file has for an address, nil if it has not.
func (f *File) memory(addr, n uint64) []byte {
	for i := range f.segments {
		if s := &f.segments[i]; addr >= s.addr && addr-s.addr < s.filesz && n <= s.filesz-(addr-s.addr) {
			return f.slice(s.offset+addr-s.addr, n)
		}
	}
	return nil
}
