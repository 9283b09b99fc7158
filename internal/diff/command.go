package diff

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"
)

// A Command is hawk diff with its options.
type Command struct {
	Old, New  string // files
	Map       string // "": the only one
	Format    string // text, flame or folded
	Normalize bool
	Min       float64 // share that a function must have in one of the runs, in percent
	FailAbove float64 // a change that is an error, in percent; 0: none
}

// Usage says how hawk diff is called.
const Usage = `hawk diff compares the profiles of two runs.

USAGE:
    hawk diff [options] OLD NEW

Files are folded stacks, profiles of pprof (any tool's), or flame graphs that hawk has saved.

OPTIONS:
    -f FORMAT              text (default), flame (HTML) or folded (stack old new)
    -o FILE                write to a file
    --map @NAME            of a file with several maps, this one
    --normalize            both runs weigh the same in all
    --min PERCENT          leave out functions that weigh less in both
    --fail-above PERCENT   exit with status 1 if a function's share changed by more
`

// ErrAbove says that a function's share changed by more than it may.
var ErrAbove = errors.New("changed by more than --fail-above allows")

// Args reads a command line; out is the file of -o.
func (c *Command) Args(args []string) (out string, err error) {
	var files []string
	for i := 0; i < len(args); i++ {
		name, value, has := strings.Cut(args[i], "=")
		next := func() string {
			if !has && i+1 < len(args) {
				i++
				value, has = args[i], true
			}
			if !has {
				err = fmt.Errorf("option %s needs a value", name)
			}
			return value
		}
		percent := func() float64 {
			text := next()
			n, bad := strconv.ParseFloat(strings.TrimSuffix(text, "%"), 64)
			if err == nil && (bad != nil || !(n >= 0)) {
				err = fmt.Errorf("invalid value for %s: %s; it is a percentage", name, text)
			}
			return n
		}
		switch name {
		case "-f":
			c.Format = next()
		case "-o", "--output":
			out = next()
		case "--map":
			if c.Map = next(); !strings.HasPrefix(c.Map, "@") {
				c.Map = "@" + c.Map
			}
		case "--normalize":
			c.Normalize = true
		case "--min":
			c.Min = percent()
		case "--fail-above":
			c.FailAbove = percent()
		default:
			if strings.HasPrefix(name, "-") && name != "-" {
				return out, fmt.Errorf("unknown option %s", name)
			}
			files = append(files, args[i])
		}
		if err != nil {
			return out, err
		}
	}
	if len(files) != 2 {
		return out, fmt.Errorf("two files are compared, not %d", len(files))
	}
	c.Old, c.New = files[0], files[1]
	switch c.Format {
	case "", "text", "flame", "folded":
		return out, nil
	}
	return out, fmt.Errorf("unknown format %s; there are text, flame, folded", c.Format)
}

// Run compares the files. The error is ErrAbove if all went well but for what the option says.
func (c *Command) Run(w io.Writer, version string) error {
	old, err := Read(c.Old, c.Map)
	if err != nil {
		return err
	}
	now, err := Read(c.New, c.Map)
	if err != nil {
		return err
	}
	d, err := Compare(old, now, c.Normalize)
	if err != nil {
		return err
	}
	switch c.Format {
	case "flame":
		err = d.WriteFlame(w, filepath.Base(c.Old)+" → "+filepath.Base(c.New), version)
	case "folded":
		err = d.WriteFolded(w)
	default:
		err = d.WriteText(w, c.Min/100)
	}
	if err != nil {
		return err
	}
	for _, r := range d.Rows() {
		if c.FailAbove > 0 && 100*max(r.Change(), -r.Change()) > c.FailAbove {
			return fmt.Errorf("%s %w", r.Name, ErrAbove)
		}
	}
	return nil
}
