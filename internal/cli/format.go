package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/hawktrace/hawk/internal/errno"
	"github.com/hawktrace/hawk/internal/syntax"
	"github.com/hawktrace/hawk/internal/view/derive"
)

// layout is --fmt: the script in canonical layout. It needs no privileges.
func (c *command) layout() int {
	f, _, _, err := c.script()
	if err != nil {
		return c.scriptError(err)
	}
	tree, ds := syntax.Parse(f)
	if c.check && !ds.HasErrors() {
		ds.Merge(derive.Check(tree))
	}
	c.print(ds)
	if ds.HasErrors() {
		return exitUsage
	}
	var text bytes.Buffer
	if err := syntax.Print(&text, tree); err != nil {
		return c.fail(exitUsage, err)
	}
	switch {
	case c.check:
		if text.String() != f.Text {
			fmt.Fprintf(c.err, "%s is not in canonical layout\n", f.Name)
			return exitUsage
		}
	case c.output != "":
		if err := replaceFile(c.output, text.Bytes()); err != nil {
			return c.fail(exitUsage, fmt.Errorf("Failed to open output file: %q: %s", c.output, errno.Reason(err)))
		}
	default:
		if _, err := io.Copy(c.out, &text); err != nil {
			return c.fail(exitUsage, fmt.Errorf("cannot write output: %w", err))
		}
	}
	return exitOK
}

// scriptError reports why there is no script.
func (c *command) scriptError(err error) int {
	var u *usageError
	if !errors.As(err, &u) {
		return c.fail(exitUsage, err)
	}
	io.WriteString(c.err, u.msg+"\n")
	if u.help {
		io.WriteString(c.err, c.seeHelp())
	}
	return exitUsage
}

// replaceFile writes a file so that it is either the old or the new one, and
// keeps the old one's permissions.
func replaceFile(name string, data []byte) error {
	return replaceWith(name, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

// replaceWith is replaceFile for what is written piece by piece.
func replaceWith(name string, write func(io.Writer) error) error {
	if real, err := filepath.EvalSymlinks(name); err == nil {
		name = real
	}
	mode := os.FileMode(0o644)
	st, err := os.Stat(name)
	if err == nil {
		if !st.Mode().IsRegular() { // a pipe or terminal cannot be replaced
			f, err := os.OpenFile(name, os.O_WRONLY|os.O_TRUNC, mode)
			if err != nil {
				return err
			}
			return errors.Join(write(f), f.Close())
		}
		mode = st.Mode().Perm()
	}
	tmp, err := os.CreateTemp(filepath.Dir(name), ".hawk-new-")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name())
	err = errors.Join(write(tmp), tmp.Chmod(mode), tmp.Close())
	if err != nil {
		return err
	}
	return os.Rename(tmp.Name(), name)
}
