package cli

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/hawktrace/hawk/internal/object"
	"github.com/hawktrace/hawk/internal/syntax"
	"github.com/hawktrace/hawk/internal/types"
)

// namedOptions gives the options that a script declares the values from behind
// "--". done says that hawk ends with the status, since help was asked for or
// a value is wrong.
func (c *command) namedOptions(named []string, obj *object.Object) (status int, done bool) {
	if slices.Contains(named, "--help") {
		if len(obj.Options) == 0 {
			fmt.Fprintln(c.err, "HINT: no custom program options defined.")
			return exitOK, true
		}
		fmt.Fprintln(c.err, "HINT: expected program options:")
		for _, o := range obj.Options {
			fmt.Fprintln(c.err, describe(o))
		}
		return exitOK, true
	}
	var unknown []string
	for _, n := range named {
		name, text, hasValue := strings.Cut(strings.TrimPrefix(n, "--"), "=")
		if !hasValue {
			text = "true"
		}
		i := slices.IndexFunc(obj.Options, func(o *object.Option) bool { return o.Name == name })
		if i < 0 {
			unknown = append(unknown, "--"+name)
			continue
		}
		value, err := optionValue(obj.Options[i], text, hasValue)
		if err != nil {
			return c.optionsFail(obj, fmt.Errorf("program command line option --%s %w", name, err)), true
		}
		obj.Data.Set(obj.Options[i], value)
	}
	if len(unknown) == 0 {
		return 0, false
	}
	return c.optionsFail(obj, fmt.Errorf("unexpected program command line options: %s", strings.Join(unknown, ", "))), true
}

// optionsFail reports a mistake in the script's options and lists those that it has.
func (c *command) optionsFail(obj *object.Object, err error) int {
	status := c.fail(exitUsage, err)
	if len(obj.Options) > 0 {
		var names []string
		for _, o := range obj.Options {
			names = append(names, "--"+o.Name)
		}
		fmt.Fprintf(c.err, "HINT: expected program options: %s\n", strings.Join(names, ", "))
	}
	return status
}

func describe(o *object.Option) string {
	if o.Doc == "" {
		return "--" + o.Name
	}
	return "--" + o.Name + ": " + o.Doc
}

// optionValue is the value of an option as it lies in memory.
func optionValue(o *object.Option, text string, given bool) ([]byte, error) {
	if s, ok := o.Type.(*types.String); ok {
		if !given {
			return nil, fmt.Errorf("expects a string")
		}
		if len(text) >= s.Cap {
			return nil, fmt.Errorf("is longer than max_strlen (%d)", s.Cap)
		}
		return []byte(text), nil
	}
	if o.Type == types.Bool {
		switch strings.ToLower(text) {
		case "true", "1":
			return []byte{1}, nil
		case "false", "0":
			return nil, nil
		}
		return nil, fmt.Errorf("invalid bool (value: %s)", text)
	}
	if !given {
		return nil, fmt.Errorf("expects an integer (value: %s)", text)
	}
	n, negative, err := syntax.ParseSigned(text)
	signed := o.Type == types.Type(types.Int64)
	if err != nil || negative && !signed || !negative && signed && n > math.MaxInt64 {
		return nil, fmt.Errorf("invalid integer (value: %s)", text)
	}
	if negative {
		n = -n
	}
	return binary.NativeEndian.AppendUint64(nil, n), nil
}
