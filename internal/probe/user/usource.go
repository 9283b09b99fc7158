package user

import (
	"errors"
	"fmt"
	"math"

	"github.com/hawktrace/hawk/internal/dwarf"
	"github.com/hawktrace/hawk/internal/probe"
)

// parseSource reads the parts before and after the @ of "binary@file:line".
func parseSource(p *probe.Point, target, at []probe.Part) error {
	if len(target) != 1 || len(at) < 2 || len(at) > 3 || at[0].Text == "" {
		return fmt.Errorf("a source location is written as %s:TARGET@FILE:LINE[:COL]", p.Kind.Name)
	}
	if target[0].HasWild() {
		return errors.New("Cannot use wildcards with source code location")
	}
	src := &probe.SourceLine{File: at[0].Text}
	for i, to := range []*int{&src.Line, &src.Column}[:len(at)-1] {
		n, err := probe.ParseInt(at[i+1].Text)
		if err != nil || n == 0 || n > math.MaxInt32 {
			return fmt.Errorf("Invalid line or column: %q; a source location is written as %s:TARGET@FILE:LINE[:COL]",
				at[i+1].Text, p.Kind.Name)
		}
		*to = int(n)
	}
	p.Target = target[0].Text
	p.Pattern = &probe.Pattern{Target: target[0], Source: src}
	return nil
}

// resolveLine finds the address of the line in the program of a point.
func resolveLine(s *probe.SourceLine, p *probe.Point, o *probe.Options) (uint64, error) {
	d, err := debugInfo(p, o)
	if none := (*dwarf.ErrNone)(nil); errors.As(err, &none) {
		return 0, fmt.Errorf("No DWARF debug info found for '%s', cannot attach by source code location.", p.Target)
	}
	if err != nil {
		return 0, err
	}
	return d.Line(s.File, s.Line, s.Column)
}
