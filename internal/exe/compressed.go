package exe

import (
	"bytes"
	"compress/zlib"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"io"
	"slices"
	"strings"
)

// maxUnfolded bounds what one compressed section may unfold to. The largest
// programs there are have some hundred megabytes of debug information.
const maxUnfolded = 1 << 30 // bytes

// DebugSection is the content of a section of debug information by its plain
// name (.debug_info), unfolded if it is compressed; empty if there is none. Files
// that no linker has seen can have several of a name, which follow each other
// then.
func (f *File) DebugSection(name string) (Bytes, error) {
	var all Bytes
	own := false // all is memory of its own, which can grow
	for i := range f.sections {
		if f.sections[i].name != name {
			continue
		}
		b, err := f.debugSection(name, i)
		switch {
		case err != nil:
			return Bytes{}, err
		case all.Len() == 0:
			all = b
		case all.Len()+b.Len() > maxUnfolded:
			return Bytes{}, fmt.Errorf("%s: all of %s is more than %d bytes", f.Path, name, maxUnfolded)
		default:
			first := all.All()
			if !own {
				first, own = slices.Clip(first), true
			}
			all = BytesOf(append(first, b.All()...))
		}
	}
	if all.Len() > 0 {
		return all, nil
	}
	// The old form has a name of its own, and a size in front.
	packed := f.Section(".z" + strings.TrimPrefix(name, "."))
	if len(packed) < 12 || string(packed[:4]) != "ZLIB" {
		return Bytes{}, nil
	}
	r, err := zlib.NewReader(bytes.NewReader(packed[12:]))
	if err != nil {
		return Bytes{}, fmt.Errorf("%s: %s: %w", f.Path, name, err)
	}
	return f.unfold(name, r, len(packed), binary.BigEndian.Uint64(packed[4:]))
}

// HasDebugInfo reports whether the file itself has debug information.
func (f *File) HasDebugInfo() bool {
	return f.sectionNamed(".debug_info") != nil || f.sectionNamed(".zdebug_info") != nil
}

// IsFolded reports whether a section of debug information is compressed, so that
// its content takes memory of its own.
func (f *File) IsFolded(name string) bool {
	if s := f.sectionNamed(name); s != nil {
		return s.flags&elf.SHF_COMPRESSED != 0
	}
	return f.sectionNamed(".z"+strings.TrimPrefix(name, ".")) != nil
}

// debugSection is the content of section i.
func (f *File) debugSection(name string, i int) (Bytes, error) {
	s := &f.sections[i]
	if s.flags&elf.SHF_COMPRESSED == 0 {
		return f.lazy(s), nil
	}
	packed := f.bytes(s)
	head := 12
	if f.class64 {
		head = 24
	}
	if len(packed) < head {
		return Bytes{}, fmt.Errorf("%s: %s is malformed", f.Path, name)
	}
	size := uint64(f.order.Uint32(packed[4:]))
	if f.class64 {
		size = f.order.Uint64(packed[8:])
	}
	body := bytes.NewReader(packed[head:])
	switch method := elf.CompressionType(f.order.Uint32(packed)); method {
	case elf.COMPRESS_ZLIB:
		r, err := zlib.NewReader(body)
		if err != nil {
			return Bytes{}, fmt.Errorf("%s: %s: %w", f.Path, name, err)
		}
		return f.unfold(name, r, len(packed), size)
	case elf.COMPRESS_ZSTD:
		return f.unfoldZstd(name, packed[head:], size)
	default:
		return Bytes{}, fmt.Errorf("%s: %s is compressed in a way that hawk does not know, %v", f.Path, name, method)
	}
}

// Bounds of what a section may unfold to, for its size: compilers' output shrinks
// to a third or a tenth. What was made to burst unfolds a thousandfold.
const (
	alwaysUnfolded = 1 << 20 // bytes
	maxFactor      = 64
)

// unfold reads size bytes that packed bytes stand for. Memory is only taken for
// them as they come.
func (f *File) unfold(name string, r io.Reader, packed int, size uint64) (Bytes, error) {
	if most := min(maxUnfolded, alwaysUnfolded+maxFactor*uint64(packed)); size > most {
		return Bytes{}, fmt.Errorf("%s: %s unfolds to %d bytes, the limit for its size is %d", f.Path, name, size, most)
	}
	var b bytes.Buffer
	n, err := io.CopyN(&b, r, int64(size))
	if err != nil {
		return Bytes{}, fmt.Errorf("%s: %s: %w after %d of %d bytes", f.Path, name, err, n, size)
	}
	return BytesOf(b.Bytes()), nil
}

// unfoldZstd has the standard library unfold a section, which knows zstd but
// shows it only by its package for ELF files: one is made that has just the
// section, behind the section headers.
func (f *File) unfoldZstd(name string, packed []byte, size uint64) (Bytes, error) {
	const sections, sectionSize, at = 3, 64, 64 + 3*64
	le := binary.LittleEndian
	head := make([]byte, at+24)
	copy(head, elf.ELFMAG+"\x02\x01\x01")
	le.PutUint16(head[16:], uint16(elf.ET_DYN))
	le.PutUint16(head[18:], uint16(elf.EM_X86_64))
	le.PutUint32(head[20:], uint32(elf.EV_CURRENT))
	le.PutUint64(head[40:], 64) // the section headers
	le.PutUint16(head[52:], 64)
	le.PutUint16(head[58:], sectionSize)
	le.PutUint16(head[60:], sections)
	le.PutUint16(head[62:], 2) // that of names, which is empty
	section := head[64+sectionSize:]
	le.PutUint32(section[4:], uint32(elf.SHT_PROGBITS))
	le.PutUint64(section[8:], uint64(elf.SHF_COMPRESSED))
	le.PutUint64(section[24:], at)
	le.PutUint64(section[32:], uint64(24+len(packed)))
	names := section[sectionSize:]
	le.PutUint32(names[4:], uint32(elf.SHT_STRTAB))
	le.PutUint64(names[24:], 8) // a NUL of the identification
	le.PutUint64(names[32:], 1)
	chdr := head[at:]
	le.PutUint32(chdr, uint32(elf.COMPRESS_ZSTD))
	le.PutUint64(chdr[8:], size)
	e, err := elf.NewFile(bytes.NewReader(append(head, packed...)))
	if err != nil {
		return Bytes{}, fmt.Errorf("%s: %s: %w", f.Path, name, err)
	}
	return f.unfold(name, e.Sections[1].Open(), len(packed), size)
}
