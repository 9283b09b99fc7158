// Package dump writes what the stages of the compiler make of a script as text, for -d.
package dump

import (
	"bytes"
	"fmt"
	"io"

	"github.com/hawktrace/hawk/internal/check"
	"github.com/hawktrace/hawk/internal/codegen"
	"github.com/hawktrace/hawk/internal/compile"
	"github.com/hawktrace/hawk/internal/ir"
	"github.com/hawktrace/hawk/internal/source"
	"github.com/hawktrace/hawk/internal/syntax"
	"github.com/hawktrace/hawk/internal/view/derive"
)

// Stages lists what can be looked at, in the order of the road, with what each shows.
var Stages = []struct{ Name, Doc string }{
	{"tokens", "the script's tokens"},
	{"tree", "the tree as parsed"},
	{"ast", "the script as hawk prints it"},
	{"types", "the script with inferred types"},
	{"view", "what maps and events mean to views: role, kind, names, units"},
	{"ir", "the program before optimisation"},
	{"opt", "the program after optimisation"},
	{"passes", "the program after every pass"},
	{"asm", "the instructions with script lines"},
}

// Writers are where the dumps of stages go, by the name of the stage.
type Writers map[string]io.Writer

// Watcher is what writes them; nil if there are none.
func (w Writers) Watcher() compile.Watcher {
	if len(w) == 0 {
		return nil
	}
	return &dumper{to: w}
}

// A dumper writes what it is shown.
type dumper struct {
	to   Writers
	last []byte // the program after the pass before
}

func (d *dumper) File(f *source.File) {
	if w := d.to["tokens"]; w != nil {
		syntax.DumpTokens(w, f)
	}
}

func (d *dumper) Parsed(tree *syntax.Script) {
	if w := d.to["tree"]; w != nil {
		syntax.Dump(w, tree)
	}
	if w := d.to["ast"]; w != nil {
		syntax.Print(w, tree)
	}
}

func (d *dumper) Checked(tree *syntax.Script, prog *check.Program) {
	if w := d.to["types"]; w != nil {
		check.Dump(w, prog)
	}
	if w := d.to["view"]; w != nil {
		derive.Derive(tree, prog).Write(w)
	}
}

func (d *dumper) Lowered(p *ir.Prog) {
	d.last = nil
	if w := d.to["ir"]; w != nil {
		fmt.Fprintf(w, "%s\n", p)
	}
}

// Passed leaves out passes that changed nothing.
func (d *dumper) Passed(pass string, p *ir.Prog) {
	w := d.to["passes"]
	if w == nil {
		return
	}
	text := []byte(p.String())
	if !bytes.Equal(text, d.last) {
		fmt.Fprintf(w, "after %s:\n%s\n", pass, text)
	}
	d.last = text
}

func (d *dumper) Optimised(p *ir.Prog) {
	if w := d.to["opt"]; w != nil {
		fmt.Fprintf(w, "%s\n", p)
	}
}

func (d *dumper) Generated(p *ir.Prog, code *codegen.Code) error {
	w := d.to["asm"]
	if w == nil {
		return nil
	}
	fmt.Fprintf(w, "%s:\n", p.Name)
	if err := code.Dump(w); err != nil {
		return err
	}
	fmt.Fprintln(w)
	return nil
}
