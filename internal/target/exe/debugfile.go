package exe

import (
	"debug/elf"
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
)

// debugRoot is where distributions install separate debug files.
const debugRoot = "/usr/lib/debug"

// DebugFile opens the separate debug file of f, found by build ID or by
// .gnu_debuglink; nil if there is none. root is put in front of absolute
// paths: "" or /proc/PID/root. The caller closes it.
func (f *File) DebugFile(root string) *File {
	for _, c := range f.debugCandidates(root) {
		d, err := Open(c.path)
		if err != nil {
			continue
		}
		if c.fits(f, d) {
			return d
		}
		d.Close()
	}
	return nil
}

// A candidate is a file that may be the debug file, and how to tell.
type candidate struct {
	path string
	crc  uint32
	byID bool
}

func (c *candidate) fits(f, debug *File) bool {
	if debug.Machine != f.Machine || debug.class64 != f.class64 {
		return false
	}
	if id := f.BuildID(); c.byID || id != nil && debug.BuildID() != nil {
		return string(id) == string(debug.BuildID())
	}
	return crc32.ChecksumIEEE(debug.data) == c.crc
}

func (f *File) debugCandidates(root string) []candidate {
	var out []candidate
	if id := f.BuildID(); len(id) > 1 {
		h := hex.EncodeToString(id)
		out = append(out, candidate{path: root + debugRoot + "/.build-id/" + h[:2] + "/" + h[2:] + ".debug", byID: true})
	}
	name, crc, ok := f.debugLink()
	if !ok {
		return out
	}
	dir := filepath.Dir(f.Path)
	if real, err := filepath.EvalSymlinks(f.Path); err == nil && root == "" {
		dir = filepath.Dir(real)
	}
	inside := dir
	if root != "" && len(dir) > len(root) && dir[:len(root)] == root {
		inside = dir[len(root):]
	}
	for _, p := range [...]string{dir + "/" + name, dir + "/.debug/" + name, root + debugRoot + inside + "/" + name} {
		if !sameInode(p, f.Path) {
			out = append(out, candidate{path: p, crc: crc})
		}
	}
	return out
}

func sameInode(a, b string) bool {
	sa, err1 := os.Stat(a)
	sb, err2 := os.Stat(b)
	return err1 == nil && err2 == nil && os.SameFile(sa, sb)
}

// debugLink is the content of .gnu_debuglink: a file name, padding to four
// bytes, the file's CRC-32.
func (f *File) debugLink() (name string, crc uint32, ok bool) {
	b := f.Section(".gnu_debuglink")
	n := cstring(b, 0)
	at := (len(n) + 4) &^ 3
	if len(n) == 0 || at+4 > len(b) || filepath.Base(string(n)) != string(n) || string(n) == ".." {
		return "", 0, false
	}
	return string(n), f.order.Uint32(b[at:]), true
}

// HasGoBuildInfo reports whether the file was built by the Go toolchain,
// whose runtime does not survive return probes.
func (f *File) HasGoBuildInfo() bool {
	return f.sectionNamed(".go.buildinfo") != nil || f.sectionNamed(".gopclntab") != nil
}

// IsGoCode reports whether the code at an address was compiled by Go: it lies
// in the part of the file that Go's linker filled. Without symbols of that
// part all of a Go program's code counts.
func (f *File) IsGoCode(addr uint64) bool {
	if !f.HasGoBuildInfo() {
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

// Check explains why no probes can be put into the file at path, nil if they
// can. Programs must be executable by their owner, shared objects need not.
func Check(path string) error {
	st, err := os.Stat(OnDisk(path))
	if err != nil || !st.Mode().IsRegular() {
		return fmt.Errorf("%s does not exist or is not executable", path)
	}
	f, err := Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if !f.Attachable() || f.Type == elf.ET_EXEC && st.Mode().Perm()&0o100 == 0 {
		return fmt.Errorf("%s is neither a program nor a shared object", path)
	}
	return nil
}
