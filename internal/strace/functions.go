package strace

import (
	"slices"
	"strings"
	"sync"

	"github.com/hawktrace/hawk/internal/dwarf"
	"github.com/hawktrace/hawk/internal/types"
)

// functions.txt has what is known of functions of the C library: how each argument is shown, behind
// "=" how the result is, and the names of those that are alike.
//
//	d, u, ld, lu  int, unsigned, long, unsigned long; x, p: in hexadecimal, of 4 and 8 bytes; o in octal
//	c, g          a character; a signal
//	s, S          a string when the call begins; when it returns
//	n2            a string of so many bytes as the argument 2 says at most
//	l             a string of several, of which a null pointer is the last
//	b2, b1*       so many bytes as the argument 2 says; as 1 and the one behind it do, multiplied
//	r             so many bytes as the result says
//	F             a format, and all that it takes
//	D             a floating point number, which is in none of the registers that are read
//	f:open        flags of a set; open: those of open(), and m a mode if these take one
//	e:locale      the name of a number, out of a set
//	E, w, B       likewise, out of a list; the bits that are set of 4 and of 8 bytes: in files of -F alone
//	v             as a result, nothing
var functionsText = sync.OnceValue(func() string { return table("functions.txt") })

// A function is what is known of one. name and key differ for C++, whose symbols are mangled.
type function struct {
	name   string // as it is shown
	key    string // its symbol
	before string // the file that calls it, and an arrow
	after  string // the library that it is in, where it is traced there
	place  string // in the attach point of one of a library
	args   []arg
	result string
	alone  bool // its return is not traced
	system bool // is one of the kernel
}

// findFunction looks a function up; of one that is not in the table four arguments are shown, which may
// be more than there are.
func findFunction(name string) function {
	if f, ok := knownFunction(name); ok {
		return f
	}
	x := arg{kind: "p"}
	return function{name: name, args: []arg{x, x, x, x}, result: "p"}
}

// knownFunction looks a function up in the table. Each name is looked for once for each place
// that calls it, before anything runs, so that a search line by line is fast enough.
func knownFunction(name string) (f function, ok bool) {
	for line := range strings.Lines(functionsText()) {
		words := strings.Fields(line)
		at := slices.IndexFunc(words, func(w string) bool { return w[0] == '=' })
		if !slices.Contains(words[at+1:], name) {
			continue
		}
		// Words in front of "=" are arguments, the word behind it the result, the rest names.
		f = function{name: name, result: words[at][1:]}
		for _, w := range words[:at] {
			var a arg
			a.kind, a.param, _ = strings.Cut(w, ":")
			if w[0] == 'b' || w[0] == 'n' {
				a.kind, a.param = w[:1], w[1:]
			}
			f.args = append(f.args, a)
		}
		return f, true
	}
	return f, false
}

// typed is a function as debug information describes it; ok is false if that does not say in which
// registers its arguments are. Go and Rust pass arguments in ways of their own, and a result in
// memory shifts the registers by one.
func typed(d *dwarf.File, addr uint64) (f function, ok bool) {
	fn, err := d.Function(addr)
	if err != nil || fn.Go || fn.Rust || fn.Result.Shape.Composite {
		return f, false
	}
	for i := range fn.Params {
		p := &fn.Params[i]
		if p.Shape.Composite { // is in several, or on the stack, and so may be what follows
			break
		}
		f.args = append(f.args, arg{kind: kindOf(p)})
	}
	f.result = kindOf(&fn.Result)
	return f, true
}

// kindOf is how an argument or a result is shown, in the words of functions.txt. The declaration
// tells char from int8_t, which have the same type in the debug information.
func kindOf(p *dwarf.Param) string {
	switch t := p.Type.(type) {
	case *types.Int:
		switch {
		case t.Bytes == 1 && strings.HasPrefix(p.Decl, "char"):
			return "c"
		case t.Bytes == 8 && t.Signed:
			return "ld"
		case t.Bytes == 8:
			return "lu"
		case t.Signed:
			return "d"
		}
		return "u"
	case *types.Enum:
		if t.Bytes <= 4 {
			return "d"
		}
		return "ld"
	case *types.Pointer:
		// A text that a function is not going to change is there when it begins.
		if strings.HasPrefix(p.Decl, "const char") && strings.Count(p.Decl, "*") == 1 {
			return "s"
		}
		return "p"
	}
	switch {
	case p.Type == types.Void:
		return "v"
	case p.Type == types.Bool:
		return "u"
	case p.Shape.Float():
		return "D"
	}
	return "p"
}

// Kinds of copies of what arguments of functions point to. A plan has 8 bits for each register: the
// kind, and behind it an argument that says how much is copied; then whether the result is a string, and
// whether there may be arguments on the stack.
const (
	functionString = 1 // when the call begins, as is 2
	functionData   = 2 // as many bytes as the argument says
	functionMade   = 3 // a string, when the call returns
	functionResult = 5 // as many bytes as the result says, when it returns
	functionFormat = 6 // a string of up to 512 bytes
	functionItems  = 7 // as many bytes as the argument says times the one behind it

	planned      = 6 // registers
	resultString = 1 << 48
	stackToo     = 2 << 48
)

// plan is what is copied for a call. The script reads it off a map by the place of the call; 8
// bits for each of 6 registers leave 16.
func (f *function) plan() (plan uint64) {
	register := 0
	for _, a := range f.args {
		if register == planned { // what follows is on the stack
			break
		}
		piece := uint64(0)
		switch a.kind {
		case "s", "n", "l":
			piece = functionString
		case "S":
			piece = functionMade
		case "r":
			piece = functionResult
		case "b":
			piece = functionData | uint64(a.param[0]-'0')<<4
			if strings.HasSuffix(a.param, "*") {
				piece += functionItems - functionData
			}
		case "F":
			piece = functionFormat
			// The kernel does not read the format, which alone says which arguments are strings:
			// all registers behind it are tried as such. That of a number is no address, and its
			// copy fails.
			for i := register + 1; i < planned; i++ {
				plan |= functionString << (8 * i)
			}
			plan |= stackToo
		case "D":
			continue
		}
		plan |= piece << (8 * register)
		register++
	}
	if f.result == "s" {
		plan |= resultString
	}
	return plan
}
