package probe

import (
	"slices"
	"strings"

	"github.com/hawktrace/hawk/internal/order"
)

// hasWild reports whether s holds characters that Glob gives a meaning.
func hasWild(s string) bool {
	if strings.ContainsAny(s, "*?") {
		return true
	}
	open := strings.IndexByte(s, '[')
	return open >= 0 && strings.IndexByte(s[open:], ']') > 0
}

// Glob reports whether name matches pattern: * is any run of bytes, ? any one
// byte, [abc], [a-z] and [!a-z] (or [^a-z]) one of a set. A [ without its ]
// stands for itself. Time is bounded by the product of the lengths.
func Glob(pattern, name string) bool { return glob(pattern, name, true) }

// glob matches strings and, without copying, the bytes of a scanned file.
// Without sets only * is special.
func glob[T string | []byte](pattern string, name T, sets bool) bool {
	p, n := 0, 0
	star, mark := -1, 0 // the last *, and where the run it stands for ends
	for n < len(name) {
		if p < len(pattern) {
			if pattern[p] == '*' {
				star, mark = p, n
				p++
				continue
			}
			next, ok := p+1, pattern[p] == name[n]
			if sets {
				next, ok = globByte(pattern, p, name[n])
			}
			if ok {
				p = next
				n++
				continue
			}
		}
		if star < 0 {
			return false
		}
		mark++
		p, n = star+1, mark
	}
	for p < len(pattern) && pattern[p] == '*' {
		p++
	}
	return p == len(pattern)
}

// globByte matches one byte against the element of the pattern at p and
// returns where the next element starts.
func globByte(pattern string, p int, c byte) (next int, ok bool) {
	switch pattern[p] {
	case '?':
		return p + 1, true
	case '[':
		i := p + 1
		negated := i < len(pattern) && (pattern[i] == '!' || pattern[i] == '^')
		if negated {
			i++
		}
		found := false
		for first := true; i < len(pattern); first = false {
			if pattern[i] == ']' && !first {
				return i + 1, found != negated
			}
			lo, hi := pattern[i], pattern[i]
			if i+2 < len(pattern) && pattern[i+1] == '-' && pattern[i+2] != ']' {
				hi = pattern[i+2]
				i += 2
			}
			found = found || lo <= c && c <= hi
			i++
		}
	}
	return p + 1, pattern[p] == c
}

// Matches reports whether the part names, or as a pattern covers, name.
func (p Part) Matches(name string) bool { return PartMatches(p, name) }

func PartMatches[T string | []byte](p Part, name T) bool {
	if p.HasWild() {
		return glob(p.Text, name, !p.Literal)
	}
	return p.Text == string(name)
}

// SortPoints puts points into the order of their canonical names and drops
// repeated ones.
func SortPoints(points []*Point) []*Point {
	type named struct {
		name string
		p    *Point
	}
	list := make([]named, len(points))
	for i, p := range points {
		list[i] = named{p.Name(), p}
	}
	byName := func(a, b named) int { return strings.Compare(a.name, b.name) }
	// The names of a single file are in order.
	if !slices.IsSortedFunc(list, byName) {
		order.Stably(list, byName)
	}
	out := points[:0]
	for i, n := range list {
		if i == 0 || n.name != list[i-1].name {
			out = append(out, n.p)
		}
	}
	return out
}
