package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/hawktrace/hawk/internal/errno"
	"github.com/hawktrace/hawk/internal/outfile"
	"github.com/hawktrace/hawk/internal/syntax"
	"github.com/hawktrace/hawk/internal/view/derive"
)

// layout is --fmt: the script in canonical layout. It needs no privileges. With -o the file is
// replaced in one step, so that a script can be formatted in place; --check writes nothing and says
// by the status what would change. The script need not be correct beyond its grammar: names and
// types are not looked at without --check.
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
		if err := outfile.Replace(c.output, func(w io.Writer) error {
			_, err := text.WriteTo(w)
			return err
		}); err != nil {
			return c.fail(exitUsage, fmt.Errorf("Failed to open output file: %q: %s", c.output, errno.Reason(err)))
		}
	default:
		if _, err := io.Copy(c.out, &text); err != nil {
			return c.fail(exitUsage, fmt.Errorf("cannot write output: %w", err))
		}
	}
	return exitOK
}

// scriptError reports why there is no script. Mistakes in the use of hawk have their own words,
// others the form of all errors.
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
