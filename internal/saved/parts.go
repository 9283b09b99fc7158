package saved

import (
	"bytes"
	"encoding/json"
	"iter"
	"unicode/utf8"
)

// quoted is a text as JSON.
func quoted(s string) []byte {
	raw, _ := json.Marshal(s) // texts can always be written
	return raw
}

// first are the elements of a list, n at most.
// More are not looked at: of a row, say, whose key has millions of parts.
func first(n int, list []byte) []json.RawMessage {
	var out []json.RawMessage
	for one := range elements(list) {
		if len(out) == n {
			break
		}
		out = append(out, one)
	}
	return out
}

// elements are those of a list that is right JSON, none of something else.
func elements(list []byte) iter.Seq[json.RawMessage] { return parts(list, '[') }

// members are those of an object that is right JSON, with their names, none of something else.
func members(object []byte) iter.Seq2[string, json.RawMessage] {
	return func(yield func(string, json.RawMessage) bool) {
		for part := range parts(object, '{') {
			end := 1 // of the name
			// A quoted quote does not end the name.
			for part[end] != '"' {
				if part[end] == '\\' {
					end++
				}
				end++
			}
			_, of, _ := bytes.Cut(part[end:], []byte(":"))
			if !yield(text(part[:end+1]), bytes.TrimSpace(of)) {
				return
			}
		}
	}
}

// parts are what commas part in right JSON that begins so.
// Nothing is decoded or kept, so that need is asked before memory is taken.
func parts(list []byte, open byte) iter.Seq[json.RawMessage] {
	return func(yield func(json.RawMessage) bool) {
		if len(list) == 0 || list[0] != open {
			return
		}
		depth, from, quoted := 0, 1, false
		for i := 0; i < len(list); i++ {
			switch c := list[i]; {
			case quoted:
				if c == '\\' {
					i++
				}
				quoted = c != '"'
			case c == '"':
				quoted = true
			case c == '[' || c == '{':
				depth++
			case c == ']' || c == '}':
				depth--
			}
			if end := depth == 0; end || depth == 1 && !quoted && list[i] == ',' {
				one := bytes.TrimSpace(list[from:i])
				if from = i + 1; len(one) > 0 && !yield(one) || end {
					return
				}
			}
		}
	}
}

// text is a string, "" for something else.
func text(raw json.RawMessage) (s string) {
	// Most strings stand for themselves, and there are as many as frames of stacks.
	if raw[0] == '"' && bytes.IndexByte(raw, '\\') < 0 && utf8.Valid(raw) {
		return string(raw[1 : len(raw)-1])
	}
	if raw[0] == '"' {
		// The whole line has been decoded before, so that nothing can be wrong with a part of it.
		json.Unmarshal(raw, &s)
	}
	return s
}
