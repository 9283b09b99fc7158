package exe

import (
	"bytes"
	"compress/zlib"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"io"
	"strings"
)

// maxUnfolded bounds what one compressed section may unfold to. The largest
// programs there are have some hundred megabytes of debug information.
const maxUnfolded = 1 << 30 // bytes

// DebugSection is the content of a section of debug information by its plain
// name (.debug_info), unfolded if it is compressed; nil if there is none. Files
// that no linker has seen can have several of a name, which follow each other
// then.
func (f *File) DebugSection(name string) ([]byte, error) {
	var all []byte
	for i := range f.sections {
		if f.sections[i].name != name {
			continue
		}
		b, err := f.debugSection(name, i)
		switch {
		case err != nil:
			return nil, err
		case all == nil:
			all = b[:len(b):len(b)]
		case len(all)+len(b) > maxUnfolded:
			return nil, fmt.Errorf("%s: all of %s is more than %d bytes", f.Path, name, maxUnfolded)
		default:
			all = append(all, b...)
		}
	}
	if all != nil {
		return all, nil
	}
	// The old form has a name of its own, and a size in front.
	packed := f.Section(".z" + strings.TrimPrefix(name, "."))
	if len(packed) < 12 || string(packed[:4]) != "ZLIB" {
		return nil, nil
	}
	r, err := zlib.NewReader(bytes.NewReader(packed[12:]))
	if err != nil {
		return nil, fmt.Errorf("%s: %s: %w", f.Path, name, err)
	}
	return f.unfold(name, r, binary.BigEndian.Uint64(packed[4:]))
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
func (f *File) debugSection(name string, i int) ([]byte, error) {
	if f.sections[i].flags&elf.SHF_COMPRESSED == 0 {
		return f.bytes(&f.sections[i]), nil
	}
	e, err := elf.NewFile(bytes.NewReader(f.data))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Path, err)
	}
	if i >= len(e.Sections) {
		return nil, fmt.Errorf("%s: %s is malformed", f.Path, name)
	}
	return f.unfold(name, e.Sections[i].Open(), e.Sections[i].Size)
}

// unfold reads size bytes, which memory is only taken for as they come.
func (f *File) unfold(name string, r io.Reader, size uint64) ([]byte, error) {
	if size > maxUnfolded {
		return nil, fmt.Errorf("%s: %s unfolds to %d bytes, the limit is %d", f.Path, name, size, maxUnfolded)
	}
	var b bytes.Buffer
	n, err := io.CopyN(&b, r, int64(size))
	if err != nil {
		return nil, fmt.Errorf("%s: %s: %w after %d of %d bytes", f.Path, name, err, n, size)
	}
	return b.Bytes(), nil
}
