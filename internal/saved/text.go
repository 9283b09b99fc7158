package saved

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/hawktrace/hawk/internal/view"
)

// A textForms finds the elements of maps in what a script has printed, hawk's or bpftrace's. An element begins with the
// map's name and ends with its value; stacks in between have a line for each function.
type textForms struct{ begin, end, weighs, bucket, offset *regexp.Regexp }

// forms are compiled when a text is read: every start of hawk would pay for them otherwise.
var forms = sync.OnceValue(func() *textForms {
	return &textForms{
		begin:  regexp.MustCompile(`^@\w*\[`),
		end:    regexp.MustCompile(`\]:(?: (-?\d+))?$`),
		weighs: regexp.MustCompile(` -?\d+$`),
		bucket: regexp.MustCompile(`^[[(].*[\])]\s+(\d+) \|.*\|$`),
		offset: regexp.MustCompile(`\+(?:0x[0-9a-f]+|\d+)(?: \([^()]*\))?$`),
	}
})

// maxElement is how many lines an element of a map has at most: some stacks of a thousand functions.
const maxElement = 8192

// textLines are those of a text, which is read as they are asked for: texts of stacks are large, and what they come to
// is much less. Err says what went wrong with reading.
type textLines struct {
	*bufio.Scanner
	number  int  // of the line, from 1
	element bool // a map's begins with the line, which comes again
}

// newLines are the lines of what is read.
func newLines(r io.Reader) *textLines {
	l := &textLines{Scanner: bufio.NewScanner(r)}
	l.Buffer(nil, maxFile+1)
	return l
}

// next goes to the next line, unless there is none or it begins an element: parseText takes those.
func (l *textLines) next() bool {
	if l.element || !l.Scan() {
		return false
	}
	l.number++
	line := l.Bytes()
	// A program may be called such that its stacks begin as an element does: those have their weight behind a frame.
	l.element = forms().begin.Match(line) && (forms().end.Match(line) || !forms().weighs.Match(line))
	return !l.element
}

// parseLines reads what a script has printed, or else folded stacks: those are told by nothing.
func parseLines(text *textLines) ([]*Profile, error) {
	one, err := parseFolded(text)
	// Scripts print other lines before their maps.
	for err != nil && text.next() {
	}
	if text.element {
		return parseText(text)
	}
	return []*Profile{one}, cmp.Or(text.Err(), err)
}

// An element is one of a map in a text, by the hash of its name and key, and what it weighs.
type element struct {
	hash   uint64
	weight int64
}

// parseText reads the last values of each element; lines that belong to none are passed over.
func parseText(text *textLines) ([]*Profile, error) {
	var out []*Profile
	var lines []string // of the element that has begun
	var p *Profile     // of the last element
	node := int32(0)   // of the last element, for the buckets below it
	below := false     // what follows are its buckets
	// Elements may differ in offsets alone, and are one stack then. Each weighs what its last print says.
	var said []element
	var index view.Index
	hasher, id := view.NewHasher(), 0
	g := newGatherer()
	defer g.done()
	weigh := func(n int64) error { said[id].weight += n; return g.weigh(p, node, n) }
	wrong := func(err error) error { return fmt.Errorf("line %d: %w", text.number, err) }
	// The first line is the one that an element begins with.
	for more := true; more; more = text.Scan() {
		line := text.Text()
		if text.element {
			text.element = false
		} else {
			text.number++
		}
		switch {
		case forms().begin.MatchString(line):
			lines = lines[:0]
		// Lines up to the end of an element are frames of its stack.
		case len(lines) > 0 && len(lines) < maxElement:
		default:
			lines = nil
			// A histogram has its weight in buckets: they are added up.
			if m := forms().bucket.FindStringSubmatch(line); m != nil && below {
				n, err := weight(m[1])
				if err = cmp.Or(err, weigh(n)); err != nil {
					return nil, wrong(err)
				}
			}
			continue
		}
		lines = append(lines, line)
		end := forms().end.FindStringSubmatch(line)
		if end == nil {
			continue
		}
		of := strings.Join(lines, "\n")
		of = of[:strings.LastIndex(of, "]:")]
		name, key, _ := strings.Cut(of, "[")
		lines = nil
		// Maps of a text are few, so that it is quick to look through them.
		i := slices.IndexFunc(out, func(p *Profile) bool { return p.Map == name })
		if i < 0 {
			i = len(out)
			out = append(out, &Profile{Map: name, kinds: map[string]view.FrameKind{}})
		}
		p = out[i]
		hash, known := hasher.Of(of, 0), false
		if id, known = index.Number(hash, func(n int) bool { return said[n].hash == hash }); !known {
			said = append(said, element{hash: hash})
		}
		n, err := int64(0), error(nil)
		// An element that ends without a number has a histogram below it.
		if below = end[1] == ""; !below {
			if n, err = weight(end[1]); err != nil {
				return nil, wrong(err)
			}
		}
		// Only room is asked for: the weight is that of the element, which may have been printed before.
		if node, err = g.node(p, textPath(key)); err != nil {
			return nil, wrong(err)
		}
		*g.weight(p, node) -= said[id].weight
		said[id].weight = 0
		if err := weigh(n); err != nil {
			return nil, wrong(err)
		}
	}
	return out, text.Err()
}

// textPath is the key of an element as frames, the outermost first: what is no stack stands outside.
func textPath(key string) []string {
	var labels, frames []string
	for line := range strings.Lines(key) {
		text := strings.TrimSpace(line)
		if line[0] == ' ' || line[0] == '\t' { // a function of a stack, with those that called it below
			if text = forms().offset.ReplaceAllString(text, ""); text != "" {
				frames = append(frames, view.Line(text))
			}
			continue
		}
		// Labels of one key may share a line, as text has them.
		for label := range strings.SplitSeq(text, ", ") {
			if label = strings.Trim(label, ", "); label != "" {
				labels = append(labels, view.Line(label))
			}
		}
	}
	// A key of lines that has no frame had an empty stack.
	if len(frames) == 0 && strings.Contains(key, "\n") {
		frames = []string{"[no stack]"} // as pictures call it
	}
	slices.Reverse(frames)
	return append(labels, frames...)
}
