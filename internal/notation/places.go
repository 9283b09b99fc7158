package notation

import (
	"strings"

	"github.com/hawktrace/hawk/internal/source"
)

// Places are what the parts of a script were translated from: what is wrong with them is shown in what
// the user has written.
type Places []place

// A place is a part of a script.
type place struct {
	part    string
	operand *source.File
	from    []int // the byte of the operand for each of the part, and for its end
}

// add notes a part, if places are asked for.
func (s *scope) add(part string, from []int) {
	if s.where != nil && part != "" {
		*s.where = append(*s.where, place{part, s.operand, from})
	}
}

// addPoint notes an attach point, which is shown as a whole.
func (s *scope) addPoint(point string) {
	s.add(point, append(make([]int, len(point)), len(s.probe.point)))
}

// Moved is where the operands say what stands at a place of the script; the place itself if they do not.
// The longest part is meant: shorter ones may stand anywhere. Behind a part belongs to it, as what is
// missing there is found there.
func (p Places) Moved(at source.Span) source.Span {
	var best place
	begin := 0
	for _, one := range p {
		for next := 0; len(one.part) > len(best.part); next++ {
			i := strings.Index(at.File.Text[next:], one.part)
			if i < 0 {
				break
			}
			next += i
			if next <= at.Start && at.Start <= next+len(one.part) {
				best, begin = one, next
			}
		}
	}
	if best.part == "" {
		return at
	}
	last := len(best.part)
	start, end := best.from[at.Start-begin], best.from[min(at.End-begin, last)]
	if end <= start {
		end = best.from[last]
	}
	return source.Span{File: best.operand, Start: start, End: end}
}

// find is where a part stands in a text behind a byte, where it is.
func find(text string, from int, part string) int { return from + strings.Index(text[from:], part) }
