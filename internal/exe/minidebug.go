package exe

import (
	"bytes"
	"io"

	"github.com/therootcompany/xz"
)

// Bounds of what a .gnu_debugdata section may unfold to: that of a program
// with a million functions takes some 40 MB.
const (
	maxMiniDebug     = 128 << 20 // bytes
	maxMiniDebugDict = 64 << 20  // of the decoder
)

// miniDebug is the ELF file that distributions of the Fedora family leave in
// stripped programs, compressed: it holds the symbols that .dynsym lacks. nil
// if there is none or it is malformed.
func (f *File) miniDebug() *File {
	packed := f.Section(".gnu_debugdata")
	if len(packed) == 0 {
		return nil
	}
	r, err := xz.NewReader(bytes.NewReader(packed), maxMiniDebugDict)
	if err != nil {
		return nil
	}
	most := min(maxMiniDebug, alwaysUnfolded+maxFactor*len(packed))
	data, err := io.ReadAll(io.LimitReader(r, int64(most)+1))
	if err != nil || len(data) > most {
		return nil
	}
	m, err := New(f.Path, data)
	if err != nil || m.Machine != f.Machine || m.class64 != f.class64 {
		return nil
	}
	return m
}
