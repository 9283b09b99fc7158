package saved

import (
	"bytes"
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/hawktrace/hawk/internal/view"
)

// These find the elements of maps in what a script has printed, hawk's or bpftrace's. An element begins with the map's
// name and ends with its value; stacks in between have a line for each function.
var (
	textBegin  = regexp.MustCompile(`^@\w*\[`)
	textEnd    = regexp.MustCompile(`\]:(?: (-?\d+))?$`)
	textBucket = regexp.MustCompile(`^[[(].*[\])]\s+(\d+) \|.*\|$`)
	textOffset = regexp.MustCompile(`\+(?:0x[0-9a-f]+|\d+)(?: \([^()]*\))?$`)
)

// maxElement is how many lines an element of a map has at most: some stacks of a thousand functions.
const maxElement = 8192

// isText reports whether a file has elements of maps as they are printed.
func isText(data []byte) bool {
	for line := range bytes.Lines(data) {
		if textBegin.Match(line) {
			return true
		}
	}
	return false
}

// An element is one of a map in a text, by the hash of its name and key, and what it weighs.
type element struct {
	hash   uint64
	weight int64
}

// parseText reads the last values of each element; lines that belong to none are passed over.
func parseText(data []byte) ([]*Profile, error) {
	var out []*Profile
	var lines []string // of the element that has begun
	var p *Profile     // of the last element
	var path string    // of the last element, for the buckets below it
	below := false     // what follows are its buckets
	// Elements may differ in offsets alone, and are one stack then. Each weighs what its last print says.
	var said []element
	var index view.Index
	hasher, id := view.NewHasher(), 0
	weigh := func(n int64) error { said[id].weight += n; return p.weigh(path, n) }
	g := newGatherer()
	number := 0
	wrong := func(err error) error { return fmt.Errorf("line %d: %w", number, err) }
	for line := range strings.Lines(string(data)) {
		number++
		line = strings.TrimRight(line, "\r\n")
		switch {
		case textBegin.MatchString(line):
			lines = lines[:0]
		// Lines up to the end of an element are frames of its stack.
		case len(lines) > 0 && len(lines) < maxElement:
		default:
			lines = nil
			// A histogram has its weight in buckets: they are added up.
			if m := textBucket.FindStringSubmatch(line); m != nil && below {
				n, err := weight(m[1])
				if err = cmp.Or(err, weigh(n)); err != nil {
					return nil, wrong(err)
				}
			}
			continue
		}
		lines = append(lines, line)
		end := textEnd.FindStringSubmatch(line)
		if end == nil {
			continue
		}
		text := strings.Join(lines, "\n")
		text = text[:strings.LastIndex(text, "]:")]
		name, key, _ := strings.Cut(text, "[")
		lines = nil
		// Maps of a text are few, so that it is quick to look through them.
		i := slices.IndexFunc(out, func(p *Profile) bool { return p.Map == name })
		if i < 0 {
			i = len(out)
			out = append(out, &Profile{Map: name, Unit: "count", Stacks: map[string]int64{},
				kinds: map[string]view.FrameKind{}})
		}
		p, path = out[i], textPath(key)
		hash, known := hasher.Of(text, 0), false
		if id, known = index.Number(hash, func(n int) bool { return said[n].hash == hash }); !known {
			said = append(said, element{hash: hash})
		}
		n := int64(0)
		// An element that ends without a number has a histogram below it.
		if below = end[1] == ""; !below {
			var err error
			if n, err = weight(end[1]); err != nil {
				return nil, wrong(err)
			}
		}
		// Only room is asked for: the weight is that of the element, which may have been printed before.
		if err := g.add(p, path, 0); err != nil {
			return nil, wrong(err)
		}
		p.Stacks[path] -= said[id].weight
		said[id].weight = 0
		if err := weigh(n); err != nil {
			return nil, wrong(err)
		}
	}
	return out, nil
}

// textPath is the key of an element as frames, the outermost first: what is no stack stands outside.
func textPath(key string) string {
	var labels, frames []string
	for line := range strings.Lines(key) {
		text := strings.TrimSpace(line)
		if line[0] == ' ' || line[0] == '\t' { // a function of a stack, with those that called it below
			if text = textOffset.ReplaceAllString(text, ""); text != "" {
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
	return strings.Join(append(labels, frames...), "\n")
}
