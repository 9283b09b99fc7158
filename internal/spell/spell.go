// Package spell finds the name that a misspelt one was probably meant to be.
package spell

import (
	"iter"
	"slices"
)

// maxLength bounds the names that are compared, in bytes. Longer ones are not
// typed by hand, and the distance costs their product.
const maxLength = 128

// Nearest returns the candidate closest to name, or "" if none is close enough
// to be worth suggesting. Distance is counted in insertions, deletions,
// substitutions and swaps of neighbours, about a third of the length being
// allowed and always at least one. Letters that differ in case only count as
// equal, except that among equally near names the one with the right case wins,
// then the longest, then the first: prinft is printf with two letters swapped rather than print with one
// too many, and prinf is printf with a letter left out rather than print with a wrong one. A candidate
// equal to name is not a suggestion.
func Nearest(name string, candidates []string) string {
	return NearestSeq(name, slices.Values(candidates))
}

// NearestSeq is Nearest over a sequence.
func NearestSeq(name string, candidates iter.Seq[string]) string {
	if name == "" || len(name) > maxLength {
		return ""
	}
	limit := max(1, len(name)/3) // largest distance still wanted
	best, bestCase := "", 0
	var rows matrix
	for c := range candidates {
		if c == "" || c == name || abs(len(c)-len(name)) > limit || len(c) > maxLength {
			continue
		}
		d := rows.distance(name, c, limit)
		if d > limit || d >= len(c) { // nothing of the candidate is left
			continue
		}
		wrongCase := caseDifference(name, c)
		if best == "" || d < limit || wrongCase < bestCase || wrongCase == bestCase && len(c) > len(best) {
			best, bestCase, limit = c, wrongCase, d
		}
	}
	return best
}

// matrix holds the last three rows of the dynamic programme, reused between
// candidates.
type matrix [3][maxLength + 1]int

// distance is the optimal string alignment distance of a and b, or limit+1 if
// it is larger. Only cells within limit of the diagonal are computed.
func (m *matrix) distance(a, b string, limit int) int {
	far := limit + 1
	before, last, row := &m[0], &m[1], &m[2]
	lastLeast := 0
	for j := 0; j <= len(b); j++ {
		last[j] = min(j, far)
	}
	for i := 1; i <= len(a); i++ {
		lo, hi := max(1, i-limit), min(len(b), i+limit)
		row[lo-1] = far
		if lo == 1 {
			row[0] = min(i, far)
		}
		least := row[lo-1]
		for j := lo; j <= hi; j++ {
			x, y := lower(a[i-1]), lower(b[j-1])
			d := last[j-1]
			if x != y {
				d++
			}
			d = min(d, row[j-1]+1)
			if j < i+limit { // the cell above lies in the last row's band
				d = min(d, last[j]+1)
			}
			if i > 1 && j > 1 && x == lower(b[j-2]) && y == lower(a[i-2]) {
				d = min(d, before[j-2]+1)
			}
			row[j] = d
			least = min(least, d)
		}
		// A swap reaches back two rows, so one row over the limit is not yet
		// the end of hope; two in succession are.
		if least > limit && lastLeast > limit {
			return far
		}
		before, last, row, lastLeast = last, row, before, least
	}
	return min(last[len(b)], far)
}

// caseDifference counts the bytes at the same place that differ in case only.
func caseDifference(a, b string) int {
	n := 0
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] && lower(a[i]) == lower(b[i]) {
			n++
		}
	}
	return n
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}

func abs(n int) int { return max(n, -n) }
