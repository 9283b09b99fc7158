package load

import (
	"errors"

	"golang.org/x/sys/unix"

	"github.com/hawktrace/hawk/internal/object"
	"github.com/hawktrace/hawk/internal/source"
)

// tooMany is the complaint of a verifier that has looked at as many
// instructions as it may.
var tooMany = complaint{"BPF program is too large. Processed", "the verifier gave up after a million steps",
	"shorten loops, and strings or structs that are compared or copied", true}

// tooBranchy is that of one that has as many paths before it as it can note.
var tooBranchy = complaint{"The sequence of", "its branches are too many for the verifier to follow",
	"shorten loops and long chains of conditions", true}

// tooLong is that of one that has no room for the instructions that it adds.
var tooLong = complaint{"cannot be patched due to 16-bit range", "its functions are too long for the verifier",
	"split the probe into several with the same attach point", true}

// mostMaps is how many maps a program may use; tooManyMaps is the complaint about more, for which a
// kernel before Linux 6.8 has no words.
const mostMaps = 64

var tooManyMaps = complaint{"total number of maps per program", "it uses more maps than the 64 of a program",
	"keep values in one map, each under a key of its own, or split the probe into several with the same attach " +
		"point", false}

// gaveUp is what an error of loading says of a kernel that has not come to
// the end of a program in which nothing need be wrong; nil if it may be
// something else. Hearing it from the verifier's log would take as long again,
// and before Linux 6.4 a log that is too long has no end.
func gaveUp(p *object.Program, err error) *complaint {
	switch {
	// E2BIG stands for too many steps and for too many maps, which can be counted here.
	case errors.Is(err, unix.E2BIG):
		maps := map[int]bool{}
		p.Code.Maps(func(n int) { maps[n] = true })
		if len(maps) >= mostMaps {
			return &tooManyMaps
		}
		return &tooMany
	case errors.Is(err, unix.EFAULT):
		return &tooBranchy
	case errors.Is(err, unix.ERANGE):
		return &tooLong
	}
	return nil
}

// blame points at the line of the script that most instructions of a program
// come from, and says how many.
func blame(d *source.Diagnostic, p *object.Program) {
	type place struct {
		file *source.File
		line int
	}
	// Statements on one line of the script are one place: a user sees lines.
	sum := map[place]int{}
	total := p.Code.Slots()
	most := 0
	for i, l := range p.Code.Lines {
		end := total
		if i+1 < len(p.Code.Lines) {
			end = p.Code.Lines[i+1].Slot
		}
		if !l.At.Valid() {
			continue
		}
		line, _ := l.At.File.Position(l.At.Start)
		at := place{l.At.File, line}
		sum[at] += end - l.Slot
		if sum[at] > most {
			most, d.Span = sum[at], l.At
		}
	}
	if most > 0 {
		d.Hint("%d of its %d instructions are for this line", most, total)
	}
}
