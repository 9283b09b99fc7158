package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hawktrace/hawk/internal/config"
	"github.com/hawktrace/hawk/internal/object"
)

// namedOptions reads the values from behind "--" of the options that a script declares.
// done says that hawk ends with the status, since help was asked for or a value is wrong. The
// texts are those of bpftrace, since its tests compare them; behind a tool they are hawk's.
func (c *command) namedOptions(named []string, obj *object.Object) (values map[string][]byte, status int, done bool) {
	if slices.Contains(named, "--help") {
		if len(obj.Options) == 0 {
			fmt.Fprintln(c.err, "HINT: no custom program options defined.")
			return nil, exitOK, true
		}
		fmt.Fprintln(c.err, "HINT: expected program options:")
		for _, o := range obj.Options {
			fmt.Fprintln(c.err, describe(o))
		}
		return nil, exitOK, true
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
		value, err := obj.Options[i].Parse(text, hasValue)
		if err != nil {
			if c.tool != nil {
				return nil, c.toolFail(fmt.Errorf("option --%s: %w", name, err)), true
			}
			return nil, c.optionsFail(obj, fmt.Errorf("program command line option --%s %w", name, err)), true
		}
		if values == nil {
			values = map[string][]byte{}
		}
		values[name] = value
	}
	if len(unknown) == 0 {
		return values, 0, false
	}
	return nil, c.optionsFail(obj, fmt.Errorf("unexpected program command line options: %s",
		strings.Join(unknown, ", "))), true
}

// namedValues are the texts of the options behind "--", for what has to be known while
// the script is compiled. Whether the script has them, and takes the values, is seen
// when it is. Attach points may have options in them, which are put in before the script is
// compiled.
func namedValues(named []string) config.Named {
	values := config.Named{}
	for _, n := range named {
		name, text, hasValue := strings.Cut(strings.TrimPrefix(n, "--"), "=")
		if !hasValue {
			text = "true"
		}
		values[name] = config.NamedValue{Text: text, Bare: !hasValue}
	}
	return values
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

// describe is a line of help for an option of a script.
func describe(o *object.Option) string {
	if o.Doc == "" {
		return "--" + o.Name
	}
	return "--" + o.Name + ": " + o.Doc
}
