package view

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/hawktrace/hawk/internal/value"
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

// maxLabel bounds the value of a label, in bytes.
const maxLabel = 128

// LabelValue is the text of a value as a label: as printed, but valid UTF-8 of
// at most 128 bytes. What had to be changed ends in a hash of the whole, so
// that two values never become one.
func LabelValue(v value.Value) string {
	text := string(value.AppendText(nil, v))
	if len(text) <= maxLabel && utf8.ValidString(text) {
		return text
	}
	h := fnv.New32a()
	h.Write([]byte(text))
	tail := fmt.Sprintf("…%08x", h.Sum32())
	text = strings.ToValidUTF8(text, "\uFFFD")
	if keep := maxLabel - len(tail); len(text) > keep {
		for keep > 0 && !utf8.RuneStart(text[keep]) {
			keep--
		}
		text = text[:keep]
	}
	return text + tail
}
