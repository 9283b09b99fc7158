package exe

import (
	"debug/elf"
	"io"
)

// A Chunk is a piece of code as it is in the file.
type Chunk struct {
	Addr uint64 // of its first byte
	Code []byte // valid until the next chunk
}

// CodeSize is the size of all executable segments, bytes.
func (f *File) CodeSize() (n uint64) {
	for i := range f.segments {
		if s := &f.segments[i]; s.flags&elf.PF_X != 0 {
			n += s.filesz
		}
	}
	return n
}

// Chunks goes through all code of the file, at most once and without keeping it.
// Each chunk begins with the last overlap bytes of the one before it in the same
// segment, so that no instruction of that size is missed. ok is false if there is
// code that cannot be read.
func (f *File) Chunks(overlap int, yield func(Chunk)) (ok bool) {
	const size = 256 << 10
	var buf []byte
	for i := range f.segments {
		s := &f.segments[i]
		if s.flags&elf.PF_X == 0 {
			continue
		}
		if f.c.file == nil { // all in memory
			code := f.slice(s.offset, s.filesz)
			if code == nil && s.filesz > 0 {
				return false
			}
			yield(Chunk{Addr: s.addr, Code: code})
			continue
		}
		if buf == nil {
			buf = make([]byte, size)
		}
		for at := uint64(0); at < s.filesz; {
			b := buf[:min(size, s.filesz-at)]
			if n, err := f.c.file.ReadAt(b, f.c.base+int64(s.offset+at)); n < len(b) || err != nil && err != io.EOF {
				return false
			}
			last := at+uint64(len(b)) == s.filesz
			yield(Chunk{Addr: s.addr + at, Code: b})
			if last {
				break
			}
			at += uint64(len(b) - overlap)
		}
	}
	return true
}

// CodeAround returns the code from before bytes in front of an address to after
// bytes behind it, or as much of that as is in its segment and the file, and the
// address of its first byte.
func (f *File) CodeAround(addr, before, after uint64) (code []byte, from uint64) {
	for i := range f.segments {
		s := &f.segments[i]
		if s.flags&elf.PF_X == 0 || addr < s.addr || addr-s.addr >= s.filesz {
			continue
		}
		at := addr - s.addr
		first, last := at-min(at, before), at+min(after, s.filesz-at)
		return f.slice(s.offset+first, last-first), s.addr + first
	}
	return nil, addr
}
