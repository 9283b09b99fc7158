package machine

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
)

// maxRecorded bounds a file of a recording. The largest are the kernel's types and
// symbols, some ten million bytes each.
const maxRecorded = maxBTF

// Files of the machine are named as they are there: "/proc/modules".

// recordedName is the name of a file in a recording.
func recordedName(name string) string { return strings.TrimPrefix(path.Clean(name), "/") }

// open opens a file of the machine, or of the recording.
func (t *Machine) open(name string) (fs.File, error) {
	if t.Live() {
		return os.Open(name)
	}
	return t.files.Open(recordedName(name))
}

// read reads a whole file.
func (t *Machine) read(name string) ([]byte, error) {
	if t.Live() {
		return os.ReadFile(name)
	}
	f, err := t.files.Open(recordedName(name))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxRecorded+1))
	if err == nil && len(data) > maxRecorded {
		err = fmt.Errorf("%s: more than %d bytes", name, maxRecorded)
	}
	return data, err
}

// stat reports whether a file is there: nil, or the error.
func (t *Machine) stat(name string) error {
	if t.Live() {
		_, err := os.Stat(name)
		return err
	}
	_, err := fs.Stat(t.files, recordedName(name))
	return err
}

// entries lists a directory; nothing is in one that cannot be read.
func (t *Machine) entries(dir string) []string {
	var files []fs.DirEntry
	if t.Live() {
		files, _ = os.ReadDir(dir)
	} else {
		files, _ = fs.ReadDir(t.files, recordedName(dir))
	}
	var out []string
	for _, f := range files {
		out = append(out, f.Name())
	}
	return out
}
