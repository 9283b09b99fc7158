package compile

import (
	"github.com/hawktrace/hawk/internal/check"
	"github.com/hawktrace/hawk/internal/codegen"
	"github.com/hawktrace/hawk/internal/ir"
	"github.com/hawktrace/hawk/internal/source"
	"github.com/hawktrace/hawk/internal/syntax"
)

// A Watcher is shown what the stages make of a script, as they make it. What writes it as
// text is then no part of programs that only compile: nor must compile have a Watcher of
// its own, whose methods would bring the printer of IR.
// hawk -d and the tests of stages implement it.
type Watcher interface {
	File(*source.File) // before it is parsed
	Parsed(*syntax.Script)
	Checked(tree *syntax.Script, prog *check.Program)
	// The following are called for each program.
	Lowered(*ir.Prog)
	Passed(pass string, p *ir.Prog)
	Optimised(*ir.Prog)
	Generated(*ir.Prog, *codegen.Code) error
}
