// Package pack holds files of the binary deflated, one by one: only those that are used
// are unpacked.
package pack

import (
	"bytes"
	"compress/flate"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Pack deflates a file.
func Pack(data []byte) ([]byte, error) { return PackLike(data, "") }

// PackLike deflates a file that has much in common with a text, which is given to FileLike again.
func PackLike(data []byte, like string) ([]byte, error) {
	var b bytes.Buffer
	w, err := flate.NewWriterDict(&b, flate.BestCompression, []byte(like))
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(data); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// File reads a packed file.
func File(files fs.FS, name string) ([]byte, error) { return FileLike(files, name, "") }

// FileLike reads a file of PackLike.
func FileLike(files fs.FS, name, like string) ([]byte, error) {
	data, err := fs.ReadFile(files, name)
	if err != nil {
		return nil, err
	}
	return inflate(data, like)
}

func inflate(data []byte, like string) ([]byte, error) {
	return io.ReadAll(flate.NewReaderDict(bytes.NewReader(data), []byte(like)))
}

// Inflate unpacks a file that the binary has as a string, which is there and whole.
func Inflate(data string) string {
	text, err := inflate([]byte(data), "")
	if err != nil {
		panic(err)
	}
	return string(text)
}

// Text reads a packed file of the binary's own, which is there and whole.
func Text(files fs.FS, name string) string {
	data, err := File(files, name)
	if err != nil {
		panic(err)
	}
	return string(data)
}

// Suffix ends the name of a packed file.
const Suffix = ".z"

// Dir compares the files of a directory, but for documents, with the packed ones of another,
// and returns the names of those that differ. With write it packs them anew instead. It is
// for tests, which see that the binary has what the tree has.
func Dir(from, to string, write bool) (differ []string, err error) {
	entries, err := os.ReadDir(from)
	if err != nil {
		return nil, err
	}
	wanted := map[string]bool{}
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".md") {
			continue
		}
		data, err := os.ReadFile(filepath.Join(from, e.Name()))
		if err != nil {
			return nil, err
		}
		name := e.Name() + Suffix
		wanted[name] = true
		if have, err := File(os.DirFS(to), name); err == nil && bytes.Equal(have, data) {
			continue
		}
		if !write {
			differ = append(differ, e.Name())
			continue
		}
		small, err := Pack(data)
		if err != nil {
			return nil, err
		}
		if err := os.WriteFile(filepath.Join(to, name), small, 0o644); err != nil {
			return nil, err
		}
	}
	packed, err := os.ReadDir(to)
	for _, e := range packed {
		if !wanted[e.Name()] {
			differ = append(differ, e.Name())
		}
	}
	return differ, err
}
