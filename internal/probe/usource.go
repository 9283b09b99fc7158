package probe

import (
	"errors"
	"fmt"
	"math"

	"github.com/hawktrace/hawk/internal/dwarf"
)

// A sourceLine is a place in the source of a program.
type sourceLine struct {
	file         string // the end of its path
	line, column int    // column 0: anywhere in the line
}

// parseSource reads the parts before and after the @ of "binary@file:line".
func parseSource(p *Point, target, at []Part) error {
	if len(target) != 1 || len(at) < 2 || len(at) > 3 || at[0].Text == "" {
		return fmt.Errorf("a source location is written as %s:TARGET@FILE:LINE[:COL]", p.Kind.Name)
	}
	if target[0].HasWild() {
		return errors.New("Cannot use wildcards with source code location")
	}
	src := &sourceLine{file: at[0].Text}
	for i, to := range []*int{&src.line, &src.column}[:len(at)-1] {
		n, err := parseInt(at[i+1].Text)
		if err != nil || n == 0 || n > math.MaxInt32 {
			return fmt.Errorf("Invalid line or column: %q; a source location is written as %s:TARGET@FILE:LINE[:COL]", at[i+1].Text, p.Kind.Name)
		}
		*to = int(n)
	}
	p.Target = target[0].Text
	p.pattern = &pattern{target: target[0], source: src}
	return nil
}

// resolve finds the address of the line in the program of a point.
func (s *sourceLine) resolve(p *Point, o *Options) (uint64, error) {
	d, err := debugInfo(p, o)
	if none := (*dwarf.ErrNone)(nil); errors.As(err, &none) {
		return 0, fmt.Errorf("No DWARF debug info found for '%s', cannot attach by source code location.", p.Target)
	}
	if err != nil {
		return 0, err
	}
	return d.Line(s.file, s.line, s.column)
}
