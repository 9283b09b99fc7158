package builtin

import (
	"bytes"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/hawktrace/hawk/internal/ir"
	"github.com/hawktrace/hawk/internal/probe"
	"github.com/hawktrace/hawk/internal/syntax"
	"github.com/hawktrace/hawk/internal/types"
	"github.com/hawktrace/hawk/internal/value"
)

// arguments() yields a text that says how the numbers behind it are shown: the parameters with commas in between, each
// a letter of letterOf, the number of its register and the name. The text is in the record since one program may serve
// thousands of functions.
const (
	argumentsMost = 6   // numbers
	argumentsText = 256 // bytes of the text at most
)

var argumentsType = &types.Deferred{Name: "arguments_t", By: 15, Bytes: 8 * argumentsMost, Algn: 8, Open: true}

var _ = Define(Func{
	Name: "arguments", Min: 2, Yields: "arguments_t", Renders: argumentsType, Probes: probe.HasRetval,
	Params: []Param{IntLit.Named("most"), Integer.Named("arg0"), Integer.Named("arg1"), Integer.Named("arg2"),
		Integer.Named("arg3"), Integer.Named("arg4"), Integer.Named("arg5")},
	Doc: "The arguments that a function was called with, as they were kept at its entry, by name: `fd=3 " +
		"count=4096`; at most `most` of them. Without types they are hexadecimal, in parentheses.",
	Example: `kprobe:vfs_read { @a[tid] = arg0; } kretprobe:vfs_read { print(arguments(1, @a[tid])); }`,
	Check: func(c *Call) types.Type {
		n, _ := c.Int(0)
		n = min(max(n, 1), int64(len(c.Args)-1), argumentsMost)
		longest := 0
		for _, p := range c.Points {
			longest = max(longest, len(describe(c, p, int(n))))
		}
		t := argumentsType.With(strconv.Itoa(int(n)))
		t.Bytes = types.RoundUp(longest+1, 8) + 8*argumentsMost
		return t
	},
	Lower: func(g Gen, c *Call, dst *ir.Value) *ir.Value {
		n, _ := strconv.Atoi(c.Result.(*types.Deferred).Arg)
		return storeDescribed(g, c, dst, c.Args[1:], n)
	},
	Render: func(_ Env, t *types.Deferred, raw []byte) value.Value {
		shown, _ := strconv.Atoi(t.Arg)
		room := len(raw) - 8*argumentsMost
		if room < 0 {
			return value.Null{}
		}
		text, _, _ := bytes.Cut(raw[:room], []byte{0})
		return value.Text(argumentsAsText(string(text), raw[room:], shown))
	},
})

// returned() yields the letter of the result's type and the number; behind the letter a k stands for the kernel,
// whose functions return errors.
var returnedType = &types.Deferred{Name: "returned_t", By: 16, Bytes: 16, Algn: 8}

var _ = Define(Func{
	Name: "returned", Min: 1, Result: returnedType, Yields: "returned_t", Renders: returnedType,
	Probes: probe.HasRetval, Params: []Param{Integer.Named("retval")},
	Doc: "What a function returned, as its type says: a number, an address, `-` if it returns nothing. Errors of " +
		"functions of the kernel have their names: `-2(ENOENT)`.",
	Example: `kretprobe:vfs_read { print(returned(retval)); }`,
	Lower: func(g Gen, c *Call, dst *ir.Value) *ir.Value {
		return storeDescribed(g, c, dst, c.Args, 0)
	},
	Render: func(_ Env, _ *types.Deferred, raw []byte) value.Value {
		if len(raw) < 16 {
			return value.Null{}
		}
		return resultAs(raw[0], raw[1] == 'k', Uint64(raw[8:]))
	},
})

// storeDescribed stores the text of describe for the point that fired, and behind it numbers, of arguments always the
// most.
func storeDescribed(g Gen, c *Call, dst *ir.Value, args []syntax.Expr, shown int) *ir.Value {
	p, room := Place(g, c.Result, dst), 8
	if shown > 0 {
		room = c.Result.Size() - 8*argumentsMost
		g.B().Zero(p, room, 8*argumentsMost)
	}
	for i, a := range args {
		g.B().Store(p, room+8*i, 8, g.Scalar(a))
	}
	storePointText(g, &types.String{Cap: room}, p, func(p *probe.Point) string { return describe(c, p, shown) })
	return p
}

// describe is the text for the result of a point's function, or for so many of its arguments. What is not known is
// "" and r. Registers have numbers from 0, of functions of programs above 256.
func describe(c *Call, p *probe.Point, shown int) string {
	var args *types.Struct
	var result types.Type
	if c.Kind.Proto != nil {
		args, result, _ = c.Kind.Proto(p, c.Opts)
	}
	text := ""
	switch {
	case shown == 0:
		text = "r"
		if result == types.Void {
			text = "v"
		} else if result != nil && types.IsScalar(result) {
			text = string(letterOf(result))
		}
		if c.Kind.Space == types.Kernel {
			text += "k"
		}
	case args != nil:
		text = "," // also of a function without any
		for i, f := range args.Fields() {
			reg := f.Arg &^ 0x100
			if reg >= len(c.Args)-1 || !types.IsScalar(f.Type) {
				reg = argumentsMost
			}
			one := string(letterOf(f.Type)) + strconv.Itoa(reg) + f.Name + ","
			if i == shown || len(text)+len(one) >= argumentsText {
				break
			}
			text += one
		}
	}
	return text
}

// letterOf says how a value is shown: b, c, e and i are integers of 1, 2, 4 and 8 bytes, those without a sign in
// capitals, x is anything else.
func letterOf(t types.Type) byte {
	size, signed := t.Size(), false
	switch i, ok := types.IsInteger(t); {
	case ok:
		signed = i.Signed
	case t == types.Bool:
	default:
		e, ok := t.(*types.Enum)
		if !ok {
			return 'x'
		}
		signed = e.Signed
	}
	if letter := byte('A' + size); !signed {
		return letter
	}
	return byte('a' + size)
}

// argumentsAsText puts the numbers in raw into words.
func argumentsAsText(described string, raw []byte, shown int) string {
	var words []string
	word := func(name string, letter byte, number int) {
		words = append(words, string(value.AppendText([]byte(name), narrowed(letter, Uint64(raw[8*number:])))))
	}
	if described == "" {
		for i := range shown {
			word("", 'x', i)
		}
		return "(" + strings.Join(words, ", ") + ")"
	}
	for _, param := range strings.Split(described, ",") {
		if len(param) < 3 {
			continue
		}
		name := param[2:] + "="
		if number := int(param[1] - '0'); number < argumentsMost {
			word(name, param[0], number)
		} else {
			words = append(words, name+"?")
		}
	}
	return strings.Join(words, " ")
}

// narrowed is a number as a letter of letterOf says.
func narrowed(letter byte, n uint64) value.Value {
	away := 64 - 8*int(letter&^0x20-'A')
	switch {
	case away < 0 || away >= 64:
		return value.Pointer(n)
	case letter < 'a':
		return value.Uint(n << away >> away)
	}
	return value.Int(int64(n<<away) >> away)
}

// resultAs is a result as its letter says. The upper half of a register is nobody's where a function returns an int,
// which r, a result of unknown type, may be.
func resultAs(letter byte, kernel bool, n uint64) value.Value {
	switch letter {
	case 'v':
		return value.Text("-")
	case 'r':
		letter = 'i'
		if n>>32 == 0 && int32(n) < 0 && int32(n) > -4096 {
			letter = 'e'
		}
	}
	v, signed := narrowed(letter, n), int64(n)
	if number, ok := v.(value.Int); ok {
		signed = int64(number)
	}
	if name := unix.ErrnoName(unix.Errno(-signed)); kernel && letter >= 'a' && name != "" {
		return value.Text(strconv.FormatInt(signed, 10) + "(" + name + ")")
	}
	return v
}
