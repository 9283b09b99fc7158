package aot

import (
	"bytes"
	"crypto/sha256"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/hawktrace/hawk/internal/arch"
	"github.com/hawktrace/hawk/internal/outfile"
)

// An executable ends with a trailer of 32 bytes behind its payload: hash of the
// version that wrote it, digest of the payload, length of the payload, magic.
// All numbers are little-endian.
const (
	magic       = "hawk\x00aot"
	trailerSize = 32
	maxPayload  = 64 << 20
)

// trailer is what ends an executable; it stands at the end, where it is found without reading
// the file.
func trailer(version string, payload []byte) []byte {
	t := append([]byte(nil), hash([]byte(version))...)
	t = append(t, hash(payload)...)
	t = binary.LittleEndian.AppendUint64(t, uint64(len(payload)))
	return append(t, magic...)
}

// hash is the first eight bytes of a digest.
func hash(b []byte) []byte {
	sum := sha256.Sum256(b)
	return sum[:8]
}

// ErrVersion says that the runtime is not of the version that compiled the
// script.
var ErrVersion = errors.New("Build hash mismatch! The script was compiled by another version of hawk: compile it " +
	"again with the one that is to run it")

// A file is what a payload is read from.
type file interface {
	io.ReaderAt
	Stat() (os.FileInfo, error)
}

// Carried is the payload that an executable carries, nil if it carries none.
// hawk asks it of its own executable each time it starts: a file without a payload costs one
// read.
func Carried(f file, version string) ([]byte, error) {
	at, t, err := findTrailer(f)
	if err != nil || t == nil {
		return nil, err
	}
	payload := make([]byte, binary.LittleEndian.Uint64(t[16:]))
	if _, err := f.ReadAt(payload, at); err != nil {
		return nil, fmt.Errorf("the compiled script cannot be read: %w", err)
	}
	switch {
	case !bytes.Equal(t[:8], hash([]byte(version))):
		return nil, ErrVersion
	case !bytes.Equal(t[8:16], hash(payload)):
		return nil, errors.New("the compiled script is damaged")
	}
	return payload, nil
}

// findTrailer yields the trailer of a file, nil if it has none, and where its
// payload begins.
func findTrailer(f file) (payload int64, t []byte, err error) {
	st, err := f.Stat()
	if err != nil {
		return 0, nil, err
	}
	size := st.Size() - trailerSize
	if size < 0 {
		return 0, nil, nil
	}
	t = make([]byte, trailerSize)
	if _, err := f.ReadAt(t, size); err != nil {
		return 0, nil, err
	}
	if string(t[24:]) != magic {
		return size + trailerSize, nil, nil
	}
	n := binary.LittleEndian.Uint64(t[16:])
	if n > maxPayload || int64(n) > size {
		return 0, nil, errors.New("the compiled script is damaged: it is longer than the file")
	}
	return size - int64(n), t, nil
}

// A Runtime is an executable of hawk to which scripts are appended.
type Runtime struct {
	Arch *arch.Arch
	file *os.File
	size int64 // without what it carries
}

// OpenRuntime opens an executable of hawk.
// The runtime may be for another processor than this one. What it carries already is left
// behind.
func OpenRuntime(path string) (*Runtime, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	r := &Runtime{file: f}
	e, err := elf.NewFile(f)
	if err != nil {
		err = errors.New("it is no executable")
	} else {
		switch e.Machine {
		case elf.EM_X86_64:
			r.Arch = arch.AMD64
		case elf.EM_AARCH64:
			r.Arch = arch.ARM64
		default:
			err = fmt.Errorf("hawk does not know the architecture %s", e.Machine)
		}
	}
	if err == nil {
		r.size, _, err = findTrailer(f)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return r, nil
}

// Close closes the file.
func (r *Runtime) Close() error { return r.file.Close() }

// Write writes an executable with a payload.
// The file gets its name when it is complete, so that nobody runs half of it.
func (r *Runtime) Write(path, version string, payload []byte) (err error) {
	if len(payload) > maxPayload {
		return fmt.Errorf("the compiled script is too large: %d bytes", len(payload))
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	// A program that runs cannot be written to, but it can be replaced. A device must not be.
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return errors.New("it is not a regular file")
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), ".hawk-aot-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			os.Remove(tmp.Name())
		}
	}()
	defer tmp.Close()
	if _, err := io.Copy(tmp, io.NewSectionReader(r.file, 0, r.size)); err != nil {
		return err
	}
	for _, part := range [][]byte{payload, trailer(version, payload)} {
		if _, err := tmp.Write(part); err != nil {
			return err
		}
	}
	if err := tmp.Chmod(outfile.Mode(0o777)); err != nil {
		return err
	}
	if err := tmp.Close(); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), path)
}
