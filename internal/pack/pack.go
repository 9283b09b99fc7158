// Package pack holds files of the binary deflated, one by one: only those that are used
// are unpacked.
package pack

import (
	"bytes"
	"compress/flate"
	"io"
	"io/fs"
)

// Pack deflates a file. Tests that are told to update write what it returns into the tree.
func Pack(data []byte) ([]byte, error) {
	var b bytes.Buffer
	w, err := flate.NewWriter(&b, flate.BestCompression)
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
func File(files fs.FS, name string) ([]byte, error) {
	data, err := fs.ReadFile(files, name)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(flate.NewReader(bytes.NewReader(data)))
}
