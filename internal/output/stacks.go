package output

import (
	"cmp"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/hawktrace/hawk/internal/order"
	"github.com/hawktrace/hawk/internal/value"
)

// Stacks is a map whose keys have stacks, such as (kstack, ustack, comm, pid).
type Stacks struct {
	Names   []string // of the parts of the key; those of stacks do not matter
	Entries Entries
	Most    bool // of entries that read alike the largest value counts, not the sum

	Delimited bool // between the stacks of the kernel and the program stands a line
	Annotate  bool // folded: functions of the kernel are marked
	PIDInName bool // folded: the number follows the name of the program
	Dropped   uint64
}

func (Stacks) item() {}

// A stackEntry is an entry as it is shown. What follows a second stack of the kernel or
// of a program is a second group: of another thread.
type stackEntry struct {
	groups []stackGroup
	value  number
}

// A stackGroup is what is known of one thread: its stacks, and the parts of the key behind them.
type stackGroup struct {
	stacks []stackText
	parts  []stackPart
}

// A stackText is a stack as lines.
// Lines are made early: entries that read alike are found by them.
type stackText struct {
	user   bool
	frames []string // the innermost first
}

// A stackPart is a part of the key that is no stack.
type stackPart struct {
	name, text string
	value      value.Value
}

// entries are what is shown, ascending by value; those that read alike are one.
func (s *Stacks) entries() []stackEntry {
	at := map[string]int{}
	var out []stackEntry
	for i := range s.Entries.Len() {
		e := s.Entries.At(i)
		entry := s.entry(keyParts(e.Key))
		entry.value, _ = integer(e.Value)
		key := entry.key()
		k, known := at[key]
		switch {
		case !known:
			at[key] = len(out)
			out = append(out, entry)
		case !s.Most:
			out[k].value = out[k].value.plus(entry.value)
		case out[k].value.less(entry.value):
			out[k].value = entry.value
		}
	}
	order.Stably(out, func(a, b stackEntry) int {
		switch {
		case a.value.less(b.value):
			return -1
		case b.value.less(a.value):
			return 1
		}
		return cmp.Compare(a.key(), b.key())
	})
	return out
}

// less reports whether a number is smaller than another.
// The larger magnitude is less where both numbers are negative.
func (n number) less(o number) bool {
	if n.neg != o.neg {
		return n.neg
	}
	return n.mag != o.mag && n.neg == (n.mag > o.mag)
}

// plus is the sum of two numbers; it wraps around like that of 64 bits.
func (n number) plus(o number) number {
	sum := n.bits() + o.bits()
	if n.neg || o.neg {
		if int64(sum) < 0 {
			return number{true, -sum}
		}
	}
	return number{false, sum}
}

// append appends a number in decimal.
func (n number) append(dst []byte) []byte {
	if n.neg {
		dst = append(dst, '-')
	}
	return strconv.AppendUint(dst, n.mag, 10)
}

// entry sorts the parts of a key.
func (s *Stacks) entry(parts []value.Value) stackEntry {
	e := stackEntry{groups: make([]stackGroup, 1)}
	for i, part := range parts {
		g := &e.groups[len(e.groups)-1]
		stack, ok := part.(*value.Stack)
		if !ok {
			name := "part " + strconv.Itoa(i+1)
			if i < len(s.Names) && s.Names[i] != "" {
				name = s.Names[i]
			}
			g.parts = append(g.parts, stackPart{name, value.Escape(string(value.AppendText(nil, part))), part})
			continue
		}
		if len(g.parts) > 0 || slices.ContainsFunc(g.stacks, func(t stackText) bool { return t.user == stack.User }) {
			e.groups = append(e.groups, stackGroup{})
			g = &e.groups[len(e.groups)-1]
		}
		t := stackText{user: stack.User}
		for _, frame := range frames(stack) {
			t.frames = append(t.frames, value.Escape(frame))
		}
		g.stacks = append(g.stacks, t)
	}
	for i := range e.groups {
		e.groups[i].fill()
	}
	return e
}

// fill says of a thread without any frames that they were missed. One stack of two may
// be empty: threads of the kernel have no program, and programs run outside the kernel.
// Without the words a reader of flame graphs would take such time for the program's own.
func (g *stackGroup) fill() {
	if len(g.stacks) == 0 || slices.ContainsFunc(g.stacks, func(t stackText) bool { return len(t.frames) > 0 }) {
		return
	}
	missed := slices.IndexFunc(g.stacks, func(t stackText) bool { return t.user })
	what := "[missed user stack]"
	if missed < 0 {
		missed, what = 0, "[missed kernel stack]"
	}
	g.stacks[missed].frames = []string{what}
}

// key is what makes two entries one.
func (e *stackEntry) key() string {
	var b strings.Builder
	for i := range e.groups {
		for _, t := range e.groups[i].stacks {
			b.WriteString(strings.Join(t.frames, "\n") + "\n\n")
		}
		for _, p := range e.groups[i].parts {
			b.WriteString(p.text + "\n")
		}
	}
	return b.String()
}

// appendStacks adds all entries as text.
func appendStacks(dst []byte, s *Stacks) []byte {
	entries := s.entries()
	for i := range entries {
		dst = entries[i].append(dst, s.Delimited)
		dst = append(entries[i].value.append(append(dst, "            "...)), "\n\n"...)
	}
	return appendDropped(dst, s.Dropped)
}

// append adds the lines of all threads.
func (e *stackEntry) append(dst []byte, delimited bool) []byte {
	for k := range e.groups {
		g := &e.groups[k]
		if k > 0 {
			dst = append(dst, "        --\n"...)
		}
		for n, t := range g.stacks {
			if n > 0 && delimited {
				dst = append(dst, "        --\n"...)
			}
			for _, frame := range t.frames {
				dst = append(append(append(dst, "        "...), frame...), '\n')
			}
		}
		if len(g.parts) > 0 {
			dst = append(append(append(dst, "        -                "...), g.words()...), '\n')
		}
	}
	return dst
}

// words are the parts of a key that are no stacks: "spin (5190), cpu = 3".
func (g *stackGroup) words() string {
	var words []string
	for i, p := range g.parts {
		switch {
		case i == 0 && p.isText():
			words = append(words, p.text)
		case i == 1 && !p.isText() && g.parts[0].isText():
			words[0] += " (" + p.text + ")"
		default:
			words = append(words, p.name+" = "+p.text)
		}
	}
	return strings.Join(words, ", ")
}

// isText reports whether a part is no number.
func (p *stackPart) isText() bool {
	_, number := integer(p.value)
	return !number
}

// appendStacks adds all entries as one record.
func (j *JSON) appendStacks(dst []byte, s *Stacks) []byte {
	dst = append(dst, `{"type": "stacks", "data": [`...)
	entries := s.entries()
	for i := range entries {
		if i > 0 {
			dst = append(dst, ", "...)
		}
		dst = j.appendGroups(append(dst, '{'), entries[i].groups)
		dst = append(entries[i].value.append(append(dst, `, "value": `...)), '}')
	}
	return appendJSONDropped(append(dst, ']'), s.Dropped)
}

// appendGroups adds the members of what is known of threads.
func (j *JSON) appendGroups(dst []byte, groups []stackGroup) []byte {
	first := true
	member := func(name string) {
		if !first {
			dst = append(dst, ", "...)
		}
		first = false
		dst = append(value.AppendJSONString(dst, []byte(name)), ": "...)
	}
	for k := range groups {
		suffix := ""
		if k > 0 {
			suffix = "_" + strconv.Itoa(k+1)
		}
		for _, p := range groups[k].parts {
			member(p.name)
			dst = j.value(dst, p.value)
		}
		for _, t := range groups[k].stacks {
			name := "kernel"
			if t.user {
				name = "user"
			}
			member(name + suffix)
			dst = append(dst, '[')
			for n, frame := range t.frames {
				if n > 0 {
					dst = append(dst, ", "...)
				}
				dst = j.text(dst, []byte(frame))
			}
			dst = append(dst, ']')
		}
	}
	return dst
}

var _ = define(Form{
	Name: "folded", Doc: "a line for each of the stacks that the script prints by stacks(), main;read;copy 12",
	Of:  OfStacks,
	New: func(w, stderr io.Writer, o Options) Sink { return NewFolded(w, stderr, o) },
})

// Folded writes stacks as lines, the outermost function first: "comm;main;f 12". That is
// what makers of flame graphs read. Nothing else goes to the output.
type Folded struct{ Text }

// NewFolded returns a sink that writes folded stacks to w.
func NewFolded(w, stderr io.Writer, opts Options) *Folded { return &Folded{*NewText(w, stderr, opts)} }

// Write writes an item.
func (f *Folded) Write(item Item) error {
	switch it := item.(type) {
	case Stacks:
		if it.Dropped > 0 {
			if err := f.message(appendDropped(nil, it.Dropped)); err != nil {
				return err
			}
		}
		start := len(f.out.buf)
		f.out.buf = appendFolded(f.out.buf, &it)
		return f.out.wrote(start)
	case *Printf, Print, Raw, Map, Header, Row, Table, Shown, Cycles, Screen, End:
		return f.out.err
	}
	return f.Text.Write(item)
}

// appendFolded adds a line for each entry. Those that differ in what lines leave out are
// one.
// A flame graph adds up equal lines anyway, but not by the largest value.
func appendFolded(dst []byte, s *Stacks) []byte {
	totals := map[string]number{}
	var lines []string
	for _, e := range s.entries() {
		line := e.folded(s)
		n, known := totals[line]
		if !known {
			lines = append(lines, line)
		}
		switch {
		case !s.Most:
			totals[line] = n.plus(e.value)
		case !known || n.less(e.value):
			totals[line] = e.value
		}
	}
	order.Stably(lines, func(a, b string) int {
		x, y := totals[a], totals[b]
		switch {
		case x.less(y):
			return -1
		case y.less(x):
			return 1
		}
		return 0
	})
	for _, line := range lines {
		dst = append(append(dst, line...), ' ')
		dst = append(totals[line].append(dst), '\n')
	}
	return dst
}

// folded is an entry as a line, without its value.
func (e *stackEntry) folded(s *Stacks) string {
	var out []string
	for i := range e.groups {
		g := &e.groups[i]
		named, front := g.name(s.PIDInName)
		if i == 0 && front {
			out = append(out, named[0])
		}
		if i > 0 {
			out = append(out, "--")
		}
		var user, kernel []string
		for _, t := range g.stacks {
			for _, frame := range t.frames {
				if name := foldedFrame(frame); t.user {
					user = append(user, name)
				} else if s.Annotate {
					kernel = append(kernel, name+"_[k]")
				} else {
					kernel = append(kernel, name)
				}
			}
		}
		between := s.Delimited && len(user) > 0 && len(kernel) > 0
		if i > 0 { // the thread that acted upon the first: from where they met outwards
			out = append(append(out, kernel...), user...)
			out = append(out, named...)
			continue
		}
		slices.Reverse(user)
		slices.Reverse(kernel)
		if out = append(out, user...); between {
			out = append(out, "-")
		}
		out = append(out, kernel...)
		if front {
			named = named[1:]
		}
		out = append(out, named...)
	}
	return strings.Join(out, ";")
}

// name are the texts among the parts, as they stand in a line; front says that the first
// of them stands at its front.
func (g *stackGroup) name(pid bool) (texts []string, front bool) {
	for i, p := range g.parts {
		switch {
		case p.isText():
			texts = append(texts, foldedText(p.text))
		case pid && i == 1 && len(texts) == 1:
			texts[0] += "-" + p.text
		}
	}
	return texts, len(texts) > 0
}

// foldedFrame is the function of a line of a stack.
func foldedFrame(line string) string {
	line, _ = strings.CutPrefix(line, "[inlined] ")
	name := line
	if i := strings.LastIndexByte(line, '+'); i > 0 {
		name = line[:i]
	} else if strings.HasPrefix(line, "0x") {
		name = "[unknown]"
	}
	return foldedText(name)
}

// foldedText is a text without what separates the parts of a line.
// The last blank of a line stands in front of its value.
func foldedText(s string) string { return strings.NewReplacer(";", ":", " ", "_").Replace(s) }
