package exe

import (
	"bytes"
	"encoding/binary"
	"strconv"
	"strings"
)

// The section .go.buildinfo holds, by package debug/buildinfo: a mark, the size of pointers,
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

// hasGoBuildInfo reports whether the file was built by the Go toolchain,
// whose runtime does not survive return probes.
func (f *File) hasGoBuildInfo() bool {
	return f.sectionNamed(".go.buildinfo") != nil || f.sectionNamed(".gopclntab") != nil
}

// IsGoCode reports whether the code at an address was compiled by Go: it lies
// in the part of the file that Go's linker filled. Without symbols of that
// part all of a Go program's code counts.
func (f *File) IsGoCode(addr uint64) bool {
	if !f.hasGoBuildInfo() {
		return false
	}
	text := f.goCode()
	return text[0] == text[1] || addr >= text[0] && addr < text[1]
}

// findGoCode is where Go's code begins and ends, equal if that is not known.
func (f *File) findGoCode() (text [2]uint64) {
	found := 0
	for r := range f.Symbols() {
		for i, name := range [...]string{"runtime.text", "runtime.etext"} {
			if string(r.Name) == name {
				text[i] = r.Addr
				found |= 1 << i
			}
		}
		if found == 3 {
			return text
		}
	}
	return [2]uint64{}
}
