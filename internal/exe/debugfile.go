package exe

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// debugRoot is where distributions install separate debug files.
const debugRoot = "/usr/lib/debug"

// A DebugDir is a directory in which separate debug files are looked for before
// the usual places.
type DebugDir struct {
	Path string // relative to the directory of the program, if it is not absolute
	CRC  bool   // the file must have the CRC-32 that the program says, whatever its build ID
}

// maxDebugDirs bounds the directories of one list.
const maxDebugDirs = 256

// DebugDirs parses a list of directories with colons in between. A plus sign in
// front of one asks for the CRC-32.
func DebugDirs(list string) (dirs []DebugDir, err error) {
	for path := range strings.SplitSeq(list, ":") {
		path, crc := strings.CutPrefix(path, "+")
		if len(dirs) == maxDebugDirs {
			return nil, fmt.Errorf("there are more than %d directories", maxDebugDirs)
		}
		dirs = append(dirs, DebugDir{path, crc})
	}
	return dirs, nil
}

// DebugFile opens the separate debug file of f, found by build ID or by
// .gnu_debuglink; nil if there is none. root is put in front of absolute
// paths, "" or /proc/PID/root, but not of those of dirs, which come first. The
// caller closes it.
func (f *File) DebugFile(root string, dirs ...DebugDir) *File {
	for _, c := range f.debugCandidates(root, dirs) {
		open := f.OpenNamed
		if c.trusted {
			open = OpenFile
		}
		d, err := open(c.path)
		if err != nil {
			continue
		}
		if !f.isFile(d) && c.fits(f, d) {
			return d
		}
		d.Close()
	}
	return nil
}

// A candidate is a file that may be the debug file, and how to tell.
type candidate struct {
	path    string
	crc     uint32
	byID    bool
	byCRC   bool
	trusted bool // the user has said where it is
}

// isFile reports whether two Files are one.
func (f *File) isFile(g *File) bool {
	return f.stat.Ino != 0 && f.stat.Ino == g.stat.Ino && f.stat.Dev == g.stat.Dev
}

// maxChecked bounds files whose CRC-32 is computed.
const maxChecked = 4 << 30 // bytes

// fits reports whether a debug file belongs to a program: by build ID, else by the checksum of the
// link.
func (c *candidate) fits(f, debug *File) bool {
	if debug.Machine != f.Machine || debug.class64 != f.class64 {
		return false
	}
	if id := f.BuildID(); !c.byCRC && (c.byID || id != nil && debug.BuildID() != nil) {
		return string(id) == string(debug.BuildID())
	}
	if len(debug.c.mem) > maxChecked {
		return false
	}
	sum := crc32.NewIEEE()
	_, err := io.Copy(sum, io.NewSectionReader(debug.c, 0, int64(len(debug.c.mem))))
	return err == nil && sum.Sum32() == c.crc
}

// debugCandidates lists where the separate debug file may be, in the order in which the places are
// tried.
func (f *File) debugCandidates(root string, dirs []DebugDir) []candidate {
	name, crc, linked := f.debugLink()
	dir := filepath.Dir(f.Path)
	if real, err := filepath.EvalSymlinks(f.Path); err == nil && root == "" {
		dir = filepath.Dir(real)
	}
	inside := dir
	if root != "" && len(dir) > len(root) && dir[:len(root)] == root {
		inside = dir[len(root):]
	}
	var out []candidate
	trusted := true
	add := func(path string, byCRC bool) {
		if linked {
			out = append(out, candidate{path: path, crc: crc, byCRC: byCRC, trusted: trusted})
		}
	}
	id := hex.EncodeToString(f.BuildID())
	addByID := func(dir string) {
		if len(id) > 2 {
			out = append(out, candidate{path: dir + "/.build-id/" + id[:2] + "/" + id[2:] + ".debug",
				byID: true, trusted: trusted})
		}
	}
	// addFlat are files that lie in a directory under the build ID, or under the
	// program's own name. Either has to prove itself.
	addFlat := func(dir string, byCRC bool) {
		if len(id) > 2 && !byCRC {
			out = append(out, candidate{path: dir + "/" + id + ".debug", byID: true, trusted: trusted})
		}
		for _, name := range []string{filepath.Base(f.Path) + ".debug", filepath.Base(f.Path)} {
			if linked || len(id) > 2 {
				out = append(out, candidate{path: dir + "/" + name, crc: crc, byCRC: byCRC,
					byID: !linked, trusted: trusted})
			}
		}
	}
	for _, d := range dirs {
		if !filepath.IsAbs(d.Path) {
			d.Path = filepath.Join(dir, d.Path)
		}
		if !d.CRC {
			addByID(d.Path)
		}
		add(d.Path+inside+"/"+name, d.CRC)
		add(d.Path+"/"+name, d.CRC)
		addFlat(d.Path, d.CRC)
	}
	trusted = false
	addByID(root + debugRoot)
	add(dir+"/"+name, false)
	add(dir+"/.debug/"+name, false)
	add(root+debugRoot+inside+"/"+name, false)
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
	if len(n) == 0 || at+4 > len(b) || bytes.IndexByte(n, '/') >= 0 || string(n) == "." || string(n) == ".." {
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
