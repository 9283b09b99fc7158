package strace

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/hawktrace/hawk/internal/output"
	"github.com/hawktrace/hawk/internal/value"
)

// object writes a call as an object: arguments as numbers and, decoded, as text.
//
// The text is that of the line, cut at its commas: so lines and objects cannot disagree.
func (s *Sink) object(c *Call) {
	s.writing = c.TID
	s.b, s.paths = s.b[:0], s.paths[:0]
	s.decode(c)
	// Only decoding tells which paths the call was given.
	wanted := s.wanted()
	text := bytes.Clone(s.b)
	if i := bytes.IndexByte(text, '('); i >= 0 {
		text = text[i+1:]
	}
	s.b = s.b[:0]
	s.outcome(c)
	result := bytes.Clone(s.b)
	if !wanted {
		return
	}
	s.opens("syscall", c)
	if th := s.threads[c.TID]; th != nil && th.comm != "" {
		s.textMember("comm", []byte(th.comm))
	}
	s.textMember("name", []byte(s.of.name))
	// The numbers of 32-bit programs are moved by compat to keep both tables in one.
	s.member("nr", int64(number(c.Nr)))
	if c.Nr >= compat {
		s.str(`, "abi": "i386"`)
	}
	values := c.Args[:]
	if s.of.name == "clone" { // which shows them in an order of its own
		values = nil
	}
	s.given(c, text, result, s.argumentNames(c), values, true)
}

// given ends the object of a call: its arguments, in text at their commas, and what it came to.
func (s *Sink) given(c *Call, text, result []byte, names []string, values []uint64, system bool) {
	s.str(`, "args": [`)
	for i, arg := range arguments(text) {
		if i > 0 {
			s.str(", ")
		}
		s.str("{")
		if i < len(values) {
			if i < len(names) {
				s.str(`"name": `)
				s.b = value.AppendJSONString(s.b, []byte(names[i]))
				s.str(", ")
			}
			s.str(`"value": `)
			s.uint(values[i])
			s.str(", ")
		}
		s.str(`"text": `)
		s.b = value.AppendJSONString(s.b, arg)
		s.str("}")
	}
	s.str("]")
	if !c.Unfinished {
		s.member("ret", c.Result)
		if system && c.failed() {
			s.str(`, "error": "` + errorName(int(-c.Result)) + `"`)
		}
		s.member("duration_ns", c.Exit-c.Enter)
	}
	s.textMember("result", result)
	if c.noted != nil && c.stack != nil {
		s.str(`, "stack": `)
		s.b = value.AppendJSON(s.b, c.stack)
	}
	s.str("}}")
	s.line()
}

// opens begins the object of a call.
func (s *Sink) opens(kind string, c *Call) {
	s.b = append(s.b[:0], `{"type": "`+kind+`", "data": {"time": `...)
	s.int(c.Enter + s.offset)
	s.member("pid", int64(c.PID))
	s.member("tid", int64(c.TID))
}

// member appends a number to an object.
func (s *Sink) member(name string, v int64) {
	s.str(`, "` + name + `": `)
	s.int(v)
}

// textMember appends text to an object.
func (s *Sink) textMember(name string, v []byte) {
	s.str(`, "` + name + `": `)
	s.b = value.AppendJSONString(s.b, v)
}

// argumentNames are the names of a call's arguments, looked up once. Programs of 32 bits give some
// in two. They are the kernel's, off the format of its tracepoints. strace has no names; they
// are what programs that read the objects ask for.
func (s *Sink) argumentNames(c *Call) []string {
	if s.o.Names == nil || c.Nr >= compat {
		return nil
	}
	names, known := s.named[c.Nr]
	if !known {
		if names = s.o.Names(s.of.name); s.named == nil {
			s.named = map[int][]string{}
		}
		s.named[c.Nr] = names
	}
	return names
}

// arguments are the parts of a call's text between its parentheses. What stands in quotes, and
// in angle brackets behind a descriptor, belongs to a program and is escaped. Counting brackets
// is enough for text that the decoder has made itself.
func arguments(text []byte) (out [][]byte) {
	depth, from, quoted, files := 0, 0, false, 0
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case (quoted || files > 0) && c == '\\':
			i++
		case !quoted && c == '<' && i+1 < len(text) && text[i+1] == '<': // 1<<CAP_CHOWN
			i++
		case !quoted && c == '<':
			files++
		case files > 0:
			if c == '>' && text[i-1] != '-' { // the end of one, not of an arrow between addresses
				files--
			}
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[' || c == '(':
			depth++
		case c == '}' || c == ']' || c == ')':
			depth--
		case c == ',' && depth == 0 && i+1 < len(text) && text[i+1] == ' ':
			out = append(out, text[from:i])
			from = i + 2
		}
	}
	if from < len(text) {
		out = append(out, text[from:])
	}
	return out
}

// happened begins the object of something else than a call. The caller appends fields and the two
// braces.
func (s *Sink) happened(kind string, tid int, at int64) {
	s.writing = tid
	s.b = append(s.b[:0], `{"type": "`+kind+`", "data": {"time": `+strconv.FormatInt(at+s.offset, 10)+
		`, "tid": `+strconv.Itoa(tid)...)
}

// cells are the members of objects that rows of --format csv have, in order. Behind a slash are those that
// stand in their place in objects without them.
var cells = [...]string{"type", "time", "pid", "tid", "comm", "object", "name/function/signal", "args", "ret/code",
	"error", "duration_ns", "result/text", "stack"}

// appendHeader adds the names of columns.
func appendHeader(dst []byte) []byte {
	for i, c := range cells {
		name, _, _ := strings.Cut(c, "/")
		dst = output.AppendField(dst, i, []byte(name))
	}
	return append(dst, "\r\n"...)
}

// appendRow adds an object as a row, without its newline.
func appendRow(dst, object []byte) []byte {
	var o struct {
		Type string
		Data map[string]json.RawMessage
	}
	json.Unmarshal(object, &o) // it is of the Sink's own making
	for i, c := range cells {
		text := o.Type
		if i > 0 {
			text = ""
			for name := range strings.SplitSeq(c, "/") {
				if text == "" {
					text = cellOf(o.Data[name])
				}
			}
		}
		dst = output.AppendField(dst, i, []byte(text))
	}
	return append(dst, '\r')
}

// cellOf is what a member is in a row: arguments as the call has them between its parentheses, a stack with
// a semicolon between frames.
func cellOf(raw json.RawMessage) string {
	var text string
	var args []struct{ Text string }
	switch {
	case json.Unmarshal(raw, &text) == nil:
		return strings.ReplaceAll(strings.TrimSpace(text), "\n        ", ";")
	case json.Unmarshal(raw, &args) == nil:
		for i, a := range args {
			if i > 0 {
				text += ", "
			}
			text += a.Text
		}
		return text
	}
	return string(raw)
}
