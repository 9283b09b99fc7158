package show

import (
	"errors"

	"github.com/hawktrace/hawk/internal/builtin"
	"github.com/hawktrace/hawk/internal/ir"
	"github.com/hawktrace/hawk/internal/object"
	"github.com/hawktrace/hawk/internal/syntax"
	"github.com/hawktrace/hawk/internal/types"
	"github.com/hawktrace/hawk/internal/value"
)

// checkFormat is the Check of calls that take a format as their first argument, which user space writes.
// The format is parsed once, here.
func checkFormat(c *builtin.Call) types.Type {
	c.Found.Format = formatOf(c)
	return types.Void
}

// formatOf parses the literal format of a printf-like call and checks its arguments. It is nil after a
// mistake, which is reported, and while a type is nil, which is one that is not inferred yet.
func formatOf(c *builtin.Call) *value.Format {
	text, ok := c.Str(0)
	if !ok {
		return nil
	}
	// A conversion that the language does not know is text, and no error: see Odd.
	format, err := value.ParseFormat(text)
	var wrong *value.FormatError
	if errors.As(err, &wrong) {
		c.Errorf(conversionAt(c.Args[0], wrong), "bad-format", "%s: %v", c.Name, err).
			Hint("numbers are integers and take %%d, %%u or %%x; %%s prints any value")
		return nil
	}
	if have, want := len(c.Args)-1, format.Conversions(); have != want {
		many := "too many"
		if have < want {
			many = "not enough"
		}
		d := c.Errorf(c.Expr, "format-arguments",
			"%s arguments for format string (%d supplied, %d expected)", many, have, want)
		if format.Odd != "" && have > want {
			d.Hint("%s is no conversion and is printed as it is", format.Odd)
		}
		return nil
	}
	args := make([]types.Type, len(c.Args)-1)
	for i, t := range c.Types[1:] {
		if t == nil {
			return nil
		}
		// A count or sum reaches user space as the number that it comes to.
		args[i] = builtin.Travels(t)
		if agg, whole := builtin.Whole(t); whole {
			c.Errorf(c.Args[1+i], "format-type", "%s: a map of %s can only be shown as a whole", c.Name, agg.Kind).
				Hint("write print(@name)")
			return nil
		}
	}
	for _, e := range format.Check(args) {
		d := c.Errorf(conversionAt(c.Args[0], &e), "format-type", "%s: %s", c.Name, e.Msg)
		d.Note(c.Args[1+e.Index].Span(), "this is the argument")
	}
	for i := range format.Convs {
		warnCut(c, text, &format.Convs[i], c.Args[1+i], args[i])
	}
	return format
}

// warnCut warns of a conversion that shows 32 bits, or fewer, of what is known
// to need more. That a type has 64 bits says little: counts, results and
// descriptors have it, and are small.
// The reference is silent. A script with %d for nsecs shows a negative number every other two
// seconds.
func warnCut(c *builtin.Call, text string, conv *value.Conv, arg syntax.Expr, t types.Type) {
	switch conv.Verb {
	case value.Signed, value.Unsigned, value.Octal, value.Hex, value.UpperHex, value.Char:
	default:
		return
	}
	if _, address := t.(*types.Pointer); conv.Bits == 64 || !address && !wide(arg) {
		return
	}
	at := conversionAt(c.Args[0], &value.FormatError{Start: conv.Start, End: conv.End})
	// The last letter of a conversion is its verb.
	whole := "%ll" + text[conv.End-1:conv.End]
	bits := conv.Bits
	if conv.Verb == value.Char {
		bits, whole = 8, "%lld"
	}
	c.Warnf(at, "value-cut",
		"%s: %s shows the low %d bits of a value that needs more", c.Name, text[conv.Start:conv.End], bits).
		Hint("write %s", whole).Note(arg.Span(), "this is the argument")
}

// wide reports whether a number needs more than 32 bits: a clock, an address,
// and sums and differences with one. A quotient of it may be small.
// It looks at what is written, since types say nothing: see warnCut.
func wide(e syntax.Expr) bool {
	name := ""
	switch e := e.(type) {
	case *syntax.Paren:
		return wide(e.X)
	case *syntax.Binary:
		switch e.Op {
		case syntax.Add, syntax.Sub, syntax.Mul:
			return wide(e.X) || wide(e.Y)
		}
		return false
	case *syntax.Ident:
		name = e.Name
	case *syntax.Call:
		name = e.Func.Name
	}
	f, ok := builtin.Lookup(name)
	return ok && f.Wide
}

// conversionAt is what a mistake in a format is about: the conversion where it
// is written, or else the whole format.
// A format that is put together of several literals has no such place.
func conversionAt(format syntax.Expr, e *value.FormatError) syntax.Node {
	if lit, ok := format.(*syntax.StringLit); ok {
		if at, ok := lit.Part(e.Start, e.End); ok {
			return syntax.Pos{At: at}
		}
	}
	return format
}

// lowerFormat sends the arguments behind the format.
// The event keeps the text as well as the parsed format: objects compiled ahead of time hold
// the text alone.
func lowerFormat(g builtin.Gen, c *builtin.Call, _ *ir.Value) *ir.Value {
	text, _ := c.Str(0)
	g.Event(c, &object.Event{Text: text, Format: c.Found.Format}, c.Args[1:])
	return nil
}
