package expand

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// files are what imports are read from: the files of the machine, as far as
// they are to be trusted, or those that an embedding program gives.
// Embedding programs may keep their scripts in themselves, where nobody can change them.
type files interface {
	stat(path string) (fs.FileInfo, error)
	readDir(path string) ([]fs.DirEntry, error)
	// real is the one name of a file.
	real(path string) (string, error)
	// doubts says why a path is not to be trusted, "" if it is.
	doubts(path string) string
	// open opens a file; it is nil if why says what is wrong with it.
	open(path string) (f fs.File, why string, err error)
}

// stat follows symbolic links; doubts judges where they lead, before anything is read.
func (trust) stat(path string) (fs.FileInfo, error)      { return os.Stat(path) }
func (trust) readDir(path string) ([]fs.DirEntry, error) { return os.ReadDir(path) }

func (trust) real(path string) (string, error) {
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", err
	}
	return filepath.Abs(path)
}

// given are the files of a file system that somebody gives, and answers for.
type given struct{ fs.FS }

// name is a path as file systems take it. What is outside of the root does not exist.
func (given) name(path string) string {
	return strings.TrimPrefix(filepath.ToSlash(filepath.Clean(path)), "/")
}

// stat says of an invalid path that it does not exist. io/fs has an error of its own for that,
// which would end the search for a name.
func (g given) stat(path string) (fs.FileInfo, error) {
	if !fs.ValidPath(g.name(path)) {
		return nil, &fs.PathError{Op: "stat", Path: path, Err: fs.ErrNotExist}
	}
	return fs.Stat(g.FS, g.name(path))
}

func (g given) readDir(path string) ([]fs.DirEntry, error) { return fs.ReadDir(g.FS, g.name(path)) }
func (g given) real(path string) (string, error)           { return g.name(path), nil }
func (given) doubts(string) string                         { return "" }

func (g given) open(path string) (fs.File, string, error) {
	f, err := g.FS.Open(g.name(path))
	return f, "", err
}
