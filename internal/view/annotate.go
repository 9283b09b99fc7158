package view

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hawktrace/hawk/internal/source"
	"github.com/hawktrace/hawk/internal/spell"
)

// An Annotation is a comment of a script that is meant for views:
//
//	// hawk: @usecs unit=us name=bio_latency help="From issue to completion"
//	// hawk: title="Block I/O latency" interval=5s
type Annotation struct {
	At    source.Span
	Map   string // with @, "" if it is about the script
	Words []Word
	Bad   []Problem // what is wrong with it, which a run ignores
}

// A Word is one word of an annotation: show, or unit=us.
type Word struct {
	Key, Value string
	At         source.Span
}

// A Problem is a mistake in an annotation.
type Problem struct {
	At        source.Span
	Msg, Hint string
}

// A word that annotations know: what its value may be, which is "" without =.
type wordKind struct {
	key    string
	script bool   // of the script, not of a map
	flag   bool   // has no value
	want   string // what the value is to be, for messages
	good   func(v string) bool
}

var words = []wordKind{
	{key: "show", flag: true},
	{key: "hide", flag: true},
	{key: "unit", want: "a unit: ns us ms s bytes kib mib pages jiffies percent", good: func(v string) bool {
		return UnitNamed(v) != NoUnit
	}},
	{key: "name", want: "letters, digits and _", good: func(v string) bool { return v != "" && label(v) == v }},
	{key: "help", want: "a text", good: func(v string) bool { return v != "" }},
	{key: "labels", want: "names with commas between", good: goodLabels},
	{key: "max-series", want: "a number above 0", good: func(v string) bool {
		n, err := strconv.Atoi(v)
		return err == nil && n > 0
	}},
	{key: "title", script: true, want: "a text", good: func(v string) bool { return v != "" }},
	{key: "interval", script: true, want: "a time like 5s", good: func(v string) bool {
		d, err := time.ParseDuration(v)
		return err == nil && d > 0
	}},
}

func goodLabels(v string) bool {
	list := strings.Split(v, ",")
	for i, l := range list {
		if l == "" || label(l) != l || slices.Contains(list[:i], l) {
			return false
		}
	}
	return true
}

// ParseAnnotation reads a comment; ok is false if it is no annotation. Two
// comments of another metrics agent count too: "// name:" is a title, "//
// include:" lists what is shown.
func ParseAnnotation(text string, at source.Span) (list []Annotation, ok bool) {
	body, isLine := strings.CutPrefix(text, "//")
	if !isLine {
		return nil, false
	}
	body = strings.TrimRight(body, "\r\n")
	trimmed := strings.TrimLeft(body, " \t")
	offset := at.Start + 2 + len(body) - len(trimmed)
	if rest, ok := strings.CutPrefix(trimmed, "name:"); ok {
		if title := strings.TrimSpace(rest); title != "" {
			return []Annotation{{At: at, Words: []Word{{"title", title, at}}}}, true
		}
		return nil, false
	}
	if rest, ok := strings.CutPrefix(trimmed, "include:"); ok {
		for _, name := range strings.FieldsFunc(rest, func(r rune) bool { return r == ',' || r == ' ' || r == '\t' }) {
			list = append(list, Annotation{At: at, Map: "@" + strings.TrimPrefix(name, "@"),
				Words: []Word{{"show", "", at}}})
		}
		return list, len(list) > 0
	}
	rest, ok := strings.CutPrefix(trimmed, "hawk:")
	if !ok {
		return nil, false
	}
	offset += len("hawk:")
	a := Annotation{At: at}
	for first := true; ; first = false {
		word, start, length := nextWord(rest)
		if length == 0 {
			return []Annotation{a}, true
		}
		span := at
		span.Start, span.End = offset+start, offset+length
		rest, offset = rest[length:], offset+length
		if first && strings.HasPrefix(word, "@") {
			a.Map = word
			continue
		}
		a.add(word, span)
	}
}

// nextWord finds the next word of a line, in which quotes hold a text together,
// and how many bytes it takes with the blanks before it; 0 if there is none.
func nextWord(s string) (word string, start, length int) {
	i := 0
	for i < len(s) && (s[i] == ' ' || s[i] == '\t') {
		i++
	}
	if i == len(s) {
		return "", 0, 0
	}
	start = i
	var b strings.Builder
	for quoted := false; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"':
			quoted = !quoted
		case c == '\\' && quoted && i+1 < len(s):
			i++
			b.WriteByte(s[i])
		case !quoted && (c == ' ' || c == '\t'):
			return b.String(), start, i
		default:
			b.WriteByte(c)
		}
	}
	return b.String(), start, i
}

// add takes one word of an annotation. What is wrong is noted in Bad, for --fmt --check.
func (a *Annotation) add(text string, at source.Span) {
	key, v, has := strings.Cut(text, "=")
	bad := func(hint, format string, args ...any) {
		a.Bad = append(a.Bad, Problem{at, fmt.Sprintf(format, args...), hint})
	}
	i := slices.IndexFunc(words, func(w wordKind) bool { return w.key == key })
	if i < 0 {
		var keys []string
		for _, w := range words {
			if w.script == (a.Map == "") {
				keys = append(keys, w.key)
			}
		}
		hint := "words are: " + strings.Join(keys, ", ")
		if near := spell.Nearest(key, keys); near != "" {
			hint = "did you mean " + near + "?"
		}
		bad(hint, "Unknown word in an annotation: %s", key)
		return
	}
	w := &words[i]
	switch {
	case w.script && a.Map != "":
		bad("write it in a line of its own: // hawk: "+text, "%s is a word for the script, not for a map", key)
	case !w.script && a.Map == "":
		bad("name the map first: // hawk: @name "+text, "%s is a word for a map", key)
	case w.flag && has:
		bad("", "%s has no value", key)
	case !w.flag && !w.good(v):
		bad("", "%s= wants %s", key, w.want)
	default:
		a.Words = append(a.Words, Word{key, v, at})
	}
}
