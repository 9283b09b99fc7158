package exe

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"os/exec"
	"strings"
	"testing"

	"github.com/hawktrace/hawk/internal/hawktest/bound"
)

// withSection is a sound file with one more section.
func withSection(name string, data []byte) []byte {
	f := sampleFile(binary.LittleEndian, true)
	f.sections = append(f.sections, elfSection{name: name, typ: elf.SHT_PROGBITS, data: data})
	return f.bytes()
}

// FuzzGoTable reads made-up tables of Go's functions.
func FuzzGoTable(f *testing.F) {
	for _, magic := range []uint32{goMagic116, goMagic118, goMagic120} {
		f.Add(goFunctions(magic))
	}
	f.Fuzz(func(t *testing.T, table []byte) {
		bound.Run(t, len(table), func() { readAll(t, goFile(table)) })
	})
}

// FuzzMiniDebug reads made-up symbols that are packed in a file.
func FuzzMiniDebug(f *testing.F) {
	f.Add([]byte("\xfd7zXZ\x00"))
	packer := exec.Command("xz", "-9")
	packer.Stdin = bytes.NewReader(sampleFile(binary.LittleEndian, true).bytes())
	if packed, err := packer.Output(); err == nil {
		f.Add(packed)
	}
	f.Fuzz(func(t *testing.T, packed []byte) {
		bound.Run(t, len(packed), func() { readAll(t, withSection(".gnu_debugdata", packed)) })
	})
}

// FuzzDebugLink reads made-up names of debug files: none leads out of the
// directories that are searched.
func FuzzDebugLink(f *testing.F) {
	f.Add([]byte("x.debug\x00\x01\x02\x03\x04"), "/usr/bin/x", "")
	f.Add([]byte("../y\x00\x00\x00\x00\x01\x02\x03\x04"), "x", "/proc/1/root")
	f.Fuzz(func(t *testing.T, link []byte, path, root string) {
		bound.Run(t, len(link)+len(path)+len(root), func() {
			e, err := New(path, withSection(".gnu_debuglink", link))
			if err != nil {
				t.Fatal(err)
			}
			name, _, ok := e.debugLink()
			if !ok {
				return
			}
			if strings.Contains(name, "/") || name == "." || name == ".." {
				t.Errorf("%q is no file name", name)
			}
			for _, c := range e.debugCandidates(root, nil) {
				if !c.byID && !strings.HasSuffix(c.path, "/"+name) {
					t.Errorf("%q for %q", c.path, name)
				}
			}
		})
	})
}
