package strace

import (
	"strings"

	"github.com/hawktrace/hawk/internal/dwarf"
	"github.com/hawktrace/hawk/internal/types"
)

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
