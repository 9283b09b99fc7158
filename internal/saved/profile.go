package saved

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hawktrace/hawk/internal/view"
)

// maxFile bounds what a file may unpack to, in bytes.
const maxFile = 256 << 20

// A Profile is what stacks of a run weigh.
type Profile struct {
	Map    string        // of the script, "" if it is not known
	Type   string        // what the weight counts
	Unit   string        // of the weight, "count" if there is none, "" if it is not known
	Length time.Duration // of the run, 0 if it is not known
	stacks stacks
	kinds  map[string]view.FrameKind // of frames, where they are known
}

// Kind is what sort of frame a function is, as far as the file says it.
func (p *Profile) Kind(frame string) view.FrameKind { return p.kinds[frame] }

// errLong says so of the file, or of what it unpacks to.
var errLong = errors.New("it is larger than 256 MiB")

// isPage reports whether a file is HTML that hawk has written.
func isPage(data []byte) bool { return bytes.HasPrefix(data, []byte("<!doctype html>")) }

// isPacked reports whether a file is packed with gzip, as profiles of pprof are and no other form.
func isPacked(data []byte) bool { return bytes.HasPrefix(data, []byte("\x1f\x8b")) }

// stacksOf are all profiles of a page or a profile of pprof.
func stacksOf(data []byte) (all []*Profile, err error) {
	if isPage(data) {
		return parsePage(string(data))
	}
	if isPacked(data) {
		if data, err = unpack(bytes.NewReader(data)); err != nil {
			return nil, err
		}
	}
	one, err := parsePprof(data)
	return []*Profile{one}, err
}

// unpack reads what was packed with gzip, up to 256 MiB.
func unpack(r io.Reader) ([]byte, error) {
	z, err := gzip.NewReader(r)
	if err != nil {
		return nil, err
	}
	return whole(&bounded{z, maxFile}, 0)
}

// bounded reads what is no longer than so many bytes.
type bounded struct {
	io.Reader
	left int64
}

// Read is of io.Reader. What is too long is known when it has been read.
func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return n, errLong
	}
	return n, err
}

// whole reads all, which is likely to be so long: memory for it is taken once.
func whole(r io.Reader, size int64) ([]byte, error) {
	var b bytes.Buffer
	// A read that finds the end needs some room, too.
	b.Grow(int(min(max(size, 0), maxFile)) + bytes.MinRead)
	_, err := b.ReadFrom(r)
	return b.Bytes(), err
}

// parseFolded reads lines of frames joined by semicolons, with a weight behind, up to the first that is none, or is
// an element of a map as scripts print them.
func parseFolded(text *textLines) (*Profile, error) {
	// Folded stacks do not say what sort of frame a function is, so that there are no kinds; nor do they say a unit.
	p := &Profile{}
	g := newGatherer()
	defer g.done()
	var stack []string
	for text.next() {
		s, line := strings.TrimRight(text.Text(), " \t\r"), text.number
		// A # begins a comment, which some makers of folded stacks put in front.
		if s == "" || s[0] == '#' {
			continue
		}
		// Frames may have spaces in their names: the weight stands behind the last one.
		i := strings.LastIndexByte(s, ' ')
		if i < 0 {
			return nil, fmt.Errorf("line %d: no weight follows the stack", line)
		}
		n, err := weight(s[i+1:])
		if err != nil {
			return nil, fmt.Errorf("line %d: %w; a file is folded stacks, a profile of pprof, or what "+
				"hawk has saved",
				line, err)
		}
		stack = slices.AppendSeq(stack[:0], strings.SplitSeq(s[:i], ";"))
		if err := g.add(p, stack, n); err != nil {
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
	}
	return p, text.Err()
}

// parsePage reads the data of saved flame graphs.
func parsePage(page string) (out []*Profile, err error) {
	// The mark is what package export writes into its pages.
	_, rest, ok := strings.Cut(page, `<script type="application/json" id="data" data-form="`)
	form, rest, also := strings.Cut(rest, `">`)
	// Data has no < of its own, as export writes it: the first tag behind it is its end.
	text, _, last := strings.Cut(rest, "</script>")
	if !ok || !also || !last {
		return nil, errors.New("it is no flame graph of hawk")
	}
	data := []byte(text)
	if form == "gzip" {
		data, err = unpack(base64.NewDecoder(base64.StdEncoding, strings.NewReader(strings.TrimSpace(text))))
		if err != nil {
			return nil, err
		}
	}
	// Fields are those that the page reads, in capitals: decoding takes both.
	var all struct {
		Profiles []struct {
			Title        string
			Nanoseconds  int64
			Primary      int
			Types        []view.SampleType
			Names        []string
			Kinds        []view.FrameKind
			Parent, Name []int
			Self         [][]int64
		}
	}
	if err := json.Unmarshal(data, &all); err != nil {
		return nil, err
	}
	g := newGatherer()
	defer g.done()
	for _, of := range all.Profiles {
		// Titles are names of maps with the parts of their keys behind.
		title, _, _ := strings.Cut(of.Title, "[")
		p := &Profile{Map: title, Unit: "count", kinds: map[string]view.FrameKind{}}
		p.Length = lengthOf(of.Nanoseconds)
		// Lists that stand beside each other are checked here to be as long as what indexes them.
		if of.Primary < 0 || of.Primary >= len(of.Types) || of.Primary >= len(of.Self) ||
			len(of.Name) != len(of.Parent) || len(of.Self[of.Primary]) != len(of.Name) ||
			len(of.Kinds) != len(of.Names) {
			return nil, errors.New("the data of the flame graph is damaged")
		}
		p.Type, p.Unit = of.Types[of.Primary].Name, of.Types[of.Primary].Unit
		var stack []string
		for i, n := range of.Name {
			// A parent stands in front of its children, so that there are no circles.
			up := of.Parent[i]
			// The root is node 0, and has neither parent nor name.
			if up >= i || n >= len(of.Names) || i > 0 && (up < 0 || n < 0) {
				return nil, errors.New("the data of the flame graph is damaged")
			}
			if i > 0 {
				p.kinds[of.Names[n]] = of.Kinds[n]
			}
			// Nodes that weigh nothing themselves are only on the way to others.
			if w := of.Self[of.Primary][i]; w != 0 {
				stack = stack[:0]
				for at := i; at > 0 && len(stack) <= maxDepth; at = of.Parent[at] {
					stack = append(stack, of.Names[of.Name[at]])
				}
				slices.Reverse(stack)
				if err := g.add(p, stack, w); err != nil {
					return nil, err
				}
			}
		}
		out = append(out, p)
	}
	return out, nil
}

// weight reads a weight. What has no sign and is too large for one weighs as much as pictures have it.
func weight(text string) (int64, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if _, large := strconv.ParseUint(text, 10, 64); err != nil && large == nil {
		return n, nil // the largest
	}
	if err != nil {
		// The text may be long, and messages show the beginning of it.
		return 0, fmt.Errorf("%.40q is no number", text)
	}
	return n, nil
}
