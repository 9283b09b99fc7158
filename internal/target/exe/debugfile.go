package exe

import (
	"encoding/hex"
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

// AltLink is the file that holds what several debug files share, as dwz makes
// it: its name and build ID; "" if there is none.
func (f *File) AltLink() (name string, id []byte) {
	b := f.Section(".gnu_debugaltlink")
	n := cstring(b, 0)
	if len(n) == 0 {
		return "", nil
	}
	return string(n), b[len(n)+1:]
}
