package output

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/hawktrace/hawk/internal/value"
)

// Shown is a map under words in place of its name.
type Shown struct {
	Names   Names
	Entries Entries
	Dropped uint64 // updates of maps that found no room
}

func (Shown) item() {}

// Names are the words for a map: for the parts of its key and for its values.
type Names struct {
	Title  string // what stands in front of all; "" for nothing
	Parts  []PartName
	Total  string // how many values of a histogram there are; "" if that is not shown
	Value  string
	Beside bool // the value's name stands in brackets behind the last word: "operation (us)"
}

// A PartName names a part of a key, or two of them: "pid(comm)".
type PartName struct{ Name, With string }

// ParseNames reads the words for a map whose key has so many parts: one for each, or
// NAME(NAME) for two, then, if wanted, one for the number of values of a histogram, and
// one for the values, which may have brackets around. A title with a comma behind may stand in front.
// It is called when a script is compiled, for its errors, and again when a map is shown.
func ParseNames(text string, parts int) (Names, error) {
	var n Names
	if end := strings.LastIndex(text, ", "); end >= 0 { // which the title may have in it, too
		n.Title, text = text[:end], text[end+2:]
	}
	words := strings.Fields(text)
	for parts > 0 && len(words) > 0 {
		name, with, two := strings.Cut(words[0], "(")
		p := PartName{Name: name}
		if parts--; two {
			p.With = strings.TrimSuffix(with, ")")
			if parts--; p.With == "" || p.With+")" != with {
				return n, fmt.Errorf("cannot read '%s': write pid(comm)", words[0])
			}
		}
		n.Parts, words = append(n.Parts, p), words[1:]
	}
	switch {
	case parts != 0:
		return n, fmt.Errorf("the names are not those of the parts of the key")
	case len(words) == 2:
		n.Total, n.Value = words[0], words[1]
	case len(words) == 1:
		n.Value = words[0]
	default:
		return n, fmt.Errorf("behind the names of the key's parts stands one for the values")
	}
	if unit, beside := strings.CutPrefix(n.Value, "("); beside && strings.HasSuffix(unit, ")") {
		n.Value, n.Beside = unit[:len(unit)-1], true
	}
	return n, nil
}

// keyParts are the parts of a key; none of a scalar.
// A record is one part: its text has the names.
func keyParts(key value.Value) []value.Value {
	switch k := key.(type) {
	case nil:
		return nil
	case value.Tuple:
		return k
	}
	return []value.Value{key}
}

// appendLabel adds the line above a value, without its end. Stacks stand above it.
func (n *Names) appendLabel(dst []byte, e Entry) []byte {
	parts := keyParts(e.Key)
	var words []string
	if n.Title != "" {
		words = append(words, n.Title)
	}
	text := func() string {
		v := parts[0]
		parts = parts[1:]
		return value.Escape(string(value.AppendText(nil, v)))
	}
	for _, p := range n.Parts {
		if stack, ok := parts[0].(*value.Stack); ok {
			dst, parts = appendFrames(dst, stack), parts[1:]
			continue
		}
		word := p.Name + " = " + text()
		if p.With != "" {
			word += " (" + text() + ")"
		}
		words = append(words, word)
	}
	if w, ok := weight(e.Value); ok && n.Total != "" {
		words = append(words, n.Total+" = "+strconv.FormatUint(w, 10))
	}
	if n.Beside {
		return append(dst, strings.Join(words, ", ")+" ("+n.Value+")"...)
	}
	return append(dst, strings.Join(append(words, n.Value), ", ")...)
}

// appendFrames adds the lines of a stack.
func appendFrames(dst []byte, s *value.Stack) []byte {
	for _, frame := range frames(s) {
		dst = append(append(append(dst, "        "...), value.Escape(frame)...), '\n')
	}
	return dst
}

// writeShown writes a map under words, entry by entry.
func (t *Text) writeShown(it Shown) error {
	s := &t.out
	m := Map{Keyed: len(it.Names.Parts) > 0, Entries: it.Entries}
	entries := m.arrange()
	newest := m.newestEpoch()
	for i := range entries.Len() {
		e := entries.At(i)
		start := len(s.buf)
		s.buf = append(it.Names.appendLabel(s.buf, e), ':')
		switch v := e.Value.(type) {
		case value.Hist:
			s.buf = appendHistogram(append(s.buf, '\n'), v)
		case value.Series:
			s.buf = appendSeries(append(s.buf, '\n'), v, newest)
		default:
			s.buf = value.AppendText(append(s.buf, ' '), t.shown(v))
		}
		s.buf = append(s.buf, '\n')
		t.paged(s.buf[start:])
		if err := s.wrote(start); err != nil {
			return err
		}
	}
	start := len(s.buf)
	s.buf = appendDropped(s.buf, it.Dropped)
	return s.wrote(start)
}

// appendShown adds a map under words as JSON, a record for each key.
func (j *JSON) appendShown(dst []byte, it *Shown) []byte {
	m := Map{Keyed: len(it.Names.Parts) > 0, Entries: it.Entries}
	entries := m.arrange()
	newest := m.newestEpoch()
	for i := range entries.Len() {
		e := entries.At(i)
		typ := mapType(e.Value)
		dst = append(append(append(dst, `{"type": "`...), typ...), `", "data": {`...)
		member := func(name string) {
			dst = append(value.AppendJSONString(dst, []byte(name)), ": "...)
		}
		parts := keyParts(e.Key)
		part := func(name string) {
			member(name)
			dst = append(j.appendPart(dst, parts[0]), ", "...)
			parts = parts[1:]
		}
		for _, p := range it.Names.Parts {
			if part(p.Name); p.With != "" {
				part(p.With)
			}
		}
		member("unit")
		dst = append(value.AppendJSONString(dst, []byte(it.Names.Value)), ", "...)
		switch typ {
		case "hist", "tseries":
			member("buckets")
		default:
			member("value")
		}
		dst = append(j.appendElement(dst, e.Value, newest), '}')
		if it.Dropped > 0 {
			dst = appendJSONDropped(dst, it.Dropped)
		} else {
			dst = append(dst, '}')
		}
		dst = append(dst, '\n')
	}
	return dst
}

// appendPart adds a part of a key: a stack as an array of its frames.
func (j *JSON) appendPart(dst []byte, v value.Value) []byte {
	s, ok := v.(*value.Stack)
	if !ok {
		return j.value(dst, v)
	}
	dst = append(dst, '[')
	for i, frame := range frames(s) {
		if i > 0 {
			dst = append(dst, ", "...)
		}
		dst = j.text(dst, []byte(frame))
	}
	return append(dst, ']')
}
