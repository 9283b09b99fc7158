package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/hawktrace/hawk/internal/errno"
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
	case c.tool != nil:
		f = source.NewFile(c.tool.Name+".bt", c.tool.Script)
		// A user of a tool can do nothing about warnings in its script.
		f.Unwarned = true
		return f, nil, c.toolValues(), nil
	case c.program != nil:
		f = source.NewFile(source.Inline, *c.program)
	// Options behind "--" are for a script, and never the script.
	case len(operands) == 0 || len(operands) == c.afterDashes && strings.HasPrefix(operands[0], "--"):
		return nil, nil, nil, &usageError{"ERROR: USAGE: a program is needed: -e PROGRAM, a FILE, or - for " +
			"standard input", true}
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

// readScript reads the file of a script, "-" for standard input. A name that is none of a file may
// be a program without -e, or a tool misspelt: the error says so.
func (c *command) readScript(name string) (*source.File, error) {
	if name == "-" {
		text, err := readAll(c.stdin, name)
		return source.NewFile(source.Inline, text), err
	}
	file, err := os.Open(name)
	if err != nil && strings.ContainsAny(name, "{} ") {
		return nil, &usageError{fmt.Sprintf("ERROR: failed to open file '%s': %s\nHINT: a program on the command "+
			"line follows -e: hawk -e '…'", name, errno.Reason(err)), false}
	}
	if errors.Is(err, fs.ErrNotExist) && !strings.ContainsAny(name, "/.") {
		return nil, noTool(name)
	}
	if err != nil {
		return nil, fmt.Errorf("failed to open file '%s': %s", name, errno.Reason(err))
	}
	defer file.Close()
	text, err := readAll(file, name)
	return source.NewFile(name, text), err
}

// readAll reads a script up to its limit, also from what has no size, a pipe or a device.
func readAll(r io.Reader, name string) (string, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxScript+1))
	if err != nil {
		return "", fmt.Errorf("failed to read file '%s': %s", name, errno.Reason(err))
	}
	if len(text) > maxScript {
		return "", fmt.Errorf("file '%s' is too large for a script: more than %d bytes", name, maxScript)
	}
	return string(text), nil
}
