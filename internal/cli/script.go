package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/hawktrace/hawk/internal/output"
	"github.com/hawktrace/hawk/internal/source"
)

// maxScript bounds what is read as a script, in bytes: nobody writes one of
// this size, but a device or a log file may be named by mistake.
const maxScript = 16 << 20

// script reads the program and splits the operands: the file name, unless -e
// gave the program, then positional parameters, then options of the script.
func (c *command) script() (f *source.File, params, named []string, err error) {
	operands := c.operands
	switch {
	case c.program != nil:
		f = source.NewFile("stdin", *c.program)
	case len(operands) == 0 || len(operands) == c.afterDashes:
		return nil, nil, nil, &usageError{"ERROR: USAGE: a program is needed: -e PROGRAM, a FILE, or - for standard input", true}
	default:
		if f, err = c.readScript(operands[0]); err != nil {
			return nil, nil, nil, err
		}
		operands = operands[1:]
	}
	for i, o := range operands {
		if i >= len(operands)-c.afterDashes && strings.HasPrefix(o, "--") {
			named = append(named, o)
		} else {
			params = append(params, o)
		}
	}
	return f, params, named, nil
}

func (c *command) readScript(name string) (*source.File, error) {
	if name == "-" {
		text, err := readAll(c.stdin, name)
		return source.NewFile("stdin", text), err
	}
	file, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("failed to open file '%s': %s", name, strerror(err))
	}
	defer file.Close()
	text, err := readAll(file, name)
	return source.NewFile(name, text), err
}

func readAll(r io.Reader, name string) (string, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxScript+1))
	if err != nil {
		return "", fmt.Errorf("failed to read file '%s': %s", name, strerror(err))
	}
	if len(text) > maxScript {
		return "", fmt.Errorf("file '%s' is too large for a script: more than %d bytes", name, maxScript)
	}
	return string(text), nil
}

// strerror is an error of the system in the words of C's strerror.
func strerror(err error) string {
	var errno unix.Errno
	switch {
	case errors.As(err, &errno):
		return output.Strerror(int(errno))
	case errors.Is(err, fs.ErrNotExist):
		return "No such file or directory"
	}
	return err.Error()
}

// errnoCase is the text of an error with the words of the system in it as C
// has them, which is how they are searched for: "No space left on device".
func errnoCase(err error) string {
	text := err.Error()
	var errno unix.Errno
	if !errors.As(err, &errno) {
		return text
	}
	return strings.ReplaceAll(text, ": "+errno.Error(), ": "+strerror(errno))
}
