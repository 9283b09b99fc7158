package view

import (
	"slices"
	"strconv"
	"strings"
)

// reserved are names that exporters use for themselves.
var reserved = []string{"le", "quantile", "job", "instance", "script"}

// Names makes labels of names, of which "" is none: characters that no label
// has become _, a missing name is missing(i), and one that is taken gets a
// number.
func Names(names []string, missing func(i int) string) []string {
	out := make([]string, len(names))
	for i, name := range names {
		name = label(name)
		if name == "" {
			name = missing(i)
		}
		free := name
		for n := 2; slices.Contains(out[:i], free); n++ {
			free = name + "_" + strconv.Itoa(n)
		}
		out[i] = free
	}
	return out
}

// label makes a name that exporters accept.
func label(name string) string {
	name = strings.Map(func(r rune) rune {
		if r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '_'
	}, name)
	if name != "" && name[0] >= '0' && name[0] <= '9' {
		name = "_" + name
	}
	if slices.Contains(reserved, name) || strings.HasPrefix(name, "__") {
		name += "_"
	}
	return name
}

// KeyNames are the labels of a key's positions.
func KeyNames(names []string) []string {
	return Names(names, func(i int) string {
		if len(names) == 1 {
			return "key"
		}
		return "key" + strconv.Itoa(i)
	})
}

// ArgNames are the names of an event's arguments, index their positions.
func ArgNames(names []string, index []int) []string {
	return Names(names, func(i int) string { return "arg" + strconv.Itoa(index[i]) + "_" })
}
