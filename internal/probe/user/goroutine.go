package user

import (
	"fmt"

	"github.com/hawktrace/hawk/internal/arch"
	"github.com/hawktrace/hawk/internal/probe"
	"github.com/hawktrace/hawk/internal/types"
)

// goidOffsets is where runtime.g has its goid, for programs without debug
// information: from which minor version of Go on, and at which offset. It moves
// with the fields in front of it: gobuf lost ret, g got syscallbp.
var goidOffsets = [...]struct{ from, offset int }{{17, 152}, {23, 160}, {25, 152}}

// newestGo is the last minor version that goidOffsets is known to be right for.
const newestGo = 26

// GoroutineID is where in a goroutine's descriptor its number lies, bytes, given
// a point on a function of Go.
func GoroutineID(p *probe.Point, o *probe.Options) (offset int, err error) {
	// Marks have no place, and C called by Go runs on another stack, whose goroutine is not in
	// the register.
	pl := p.Place
	if pl == nil || !pl.ABI.IsGo() {
		return 0, fmt.Errorf("%s is not in code that Go compiled", p.Name())
	}
	if pl.ABI != arch.ABIGo {
		return 0, fmt.Errorf("%s does not follow the convention of registers that Go has since 1.17, by which the "+
			"goroutine is found", p.Name())
	}
	if t, ok := userType(p, o, "struct", "runtime.g"); ok {
		if g, ok := t.(*types.Struct); ok {
			if f, ok := g.Field("goid"); ok {
				return f.Offset, nil
			}
		}
	}
	// The last row that fits counts. A version that is newer than hawk gives none: a wrong offset
	// would be a number that looks right.
	for _, row := range goidOffsets {
		if pl.GoMinor >= row.from && pl.GoMinor <= newestGo {
			offset = row.offset
		}
	}
	if offset == 0 {
		return 0, fmt.Errorf("%s has no debug information, and hawk does not know where this version of Go "+
			"keeps the number", p.Target)
	}
	return offset, nil
}
