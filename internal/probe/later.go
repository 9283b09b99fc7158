package probe

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Kinds whose attach points are understood and checked, but that this version
// cannot attach: they have no Plan.

var _ = define(Kind{
	Name:    "watchpoint",
	Aliases: []string{"w"},
	Doc:     "Fires when an address is read, written or executed. Not supported by this version.",
	Forms:   []string{"watchpoint:address:length:mode"},
	Parse:   parseWatchpoint,
	Match:   matchSelf,
})

var _ = define(Kind{
	Name:    "iter",
	Aliases: []string{"it"},
	Doc:     "Walks the objects of a kernel iterator. Not supported by this version.",
	Forms:   []string{"iter:object[:pin]"},
	Parse:   parseIter,
	Match:   matchSelf,
})

var _ = define(Kind{
	Name:  "test",
	Doc:   "A test of a script's own functions. Not supported by this version.",
	Forms: []string{"test:name"},
	Parse: parseNamed,
	Match: matchSelf,
})

var _ = define(Kind{
	Name:  "bench",
	Doc:   "A measurement of a script's own functions. Not supported by this version.",
	Forms: []string{"bench:name"},
	Parse: parseNamed,
	Match: matchSelf,
})

func parseWatchpoint(p *Point, parts []Part, _ *Options) error {
	if len(parts) != 3 {
		return wrongCount(p, "3", parts)
	}
	addr, err := parseInt(parts[0].Text)
	if err != nil {
		return fmt.Errorf("Invalid function/address argument: %w", err)
	}
	if addr == 0 {
		return errors.New("watchpoint must be attached to a non-zero address")
	}
	length, err := parseInt(parts[1].Text)
	if err != nil {
		return fmt.Errorf("Invalid length argument: %w", err)
	}
	if length != 1 && length != 2 && length != 4 && length != 8 {
		return errors.New("watchpoint length must be one of (1,2,4,8)")
	}
	mode := []byte(parts[2].Text)
	slices.Sort(mode)
	for i, c := range mode {
		if strings.IndexByte("rwx", c) < 0 {
			return errors.New("watchpoint mode must be combination of (r,w,x)")
		}
		if i > 0 && c == mode[i-1] {
			return errors.New("watchpoint modes may not be duplicated")
		}
	}
	if len(mode) == 0 {
		return errors.New("invalid watchpoint mode")
	}
	p.Address, p.Target, p.Func = addr, parts[1].Text, string(mode)
	return p.Kind.Supported()
}

func parseIter(p *Point, parts []Part, _ *Options) error {
	if len(parts) != 1 && len(parts) != 2 {
		return wrongCount(p, "1 or 2", parts)
	}
	if parts[0].HasWild() {
		return errors.New("iter probe type does not support wildcards")
	}
	p.Func = parts[0].Text
	return p.Kind.Supported()
}

func parseNamed(p *Point, parts []Part, _ *Options) error {
	if len(parts) != 1 {
		return wrongCount(p, "1", parts)
	}
	p.Func = parts[0].Text
	return p.Kind.Supported()
}
