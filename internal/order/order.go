// Package order sorts where little is sorted, or seldom. The functions of package slices are compiled anew for each
// type, eight kilobytes each; here all types share the code of package sort, and swap by package reflect, which takes
// two to three times as long.
package order

import (
	"iter"
	"reflect"
	"slices"
	"sort"
)

// A Pair is what is sorted where there is much of it, by package slices: all who sort pairs share the code. It says of
// something else where that is, and what it is sorted by.
type Pair struct{ Key, Value uint64 }

// By sorts s by a comparison as of cmp.Compare.
func By[E any](s []E, compare func(a, b E) int) { sort.Sort(of(s, compare)) }

// Stably is By in which equals keep their order.
func Stably[E any](s []E, compare func(a, b E) int) { sort.Stable(of(s, compare)) }

// Sorted collects what seq yields, sorted as by By.
func Sorted[E any](seq iter.Seq[E], compare func(a, b E) int) []E {
	s := slices.Collect(seq)
	By(s, compare)
	return s
}

// Without is slices.DeleteFunc, compiled anew for each type of element alone: all pointers share its code.
func Without[E any](s []E, gone func(E) bool) []E {
	kept := s[:0]
	for _, e := range s {
		if !gone(e) {
			kept = append(kept, e)
		}
	}
	clear(s[len(kept):])
	return kept
}

func of[E any](s []E, compare func(a, b E) int) *list {
	return &list{
		n:    len(s),
		less: func(i, j int) bool { return compare(s[i], s[j]) < 0 },
		swap: reflect.Swapper(s), // one code for all types
	}
}

// A list is what package sort sorts, with nothing of its type left.
type list struct {
	n    int
	less func(i, j int) bool
	swap func(i, j int)
}

func (l *list) Len() int           { return l.n }
func (l *list) Less(i, j int) bool { return l.less(i, j) }
func (l *list) Swap(i, j int)      { l.swap(i, j) }
