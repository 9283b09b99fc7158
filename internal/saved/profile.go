package saved

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/hawktrace/hawk/internal/view"
)

// maxFile bounds what a file may unpack to, in bytes.
const maxFile = 256 << 20

// Bounds of what the stacks of a file come to: few bytes can stand for many frames.
const (
	maxDepth = 4096      // frames of a stack
	maxText  = 256 << 20 // bytes of the names in all stacks
	maxAll   = 4 << 20   // frames of all stacks
	maxNames = 512 << 10 // functions
)

// A Profile is what stacks of a run weigh.
type Profile struct {
	Map    string        // of the script, "" if it is not known
	Type   string        // what the weight counts
	Unit   string        // of the weight, "count" if there is none
	Length time.Duration // of the run, 0 if it is not known
	// Stacks are weights by stack: frames, the outermost first, joined by newlines.
	Stacks map[string]int64
	kinds  map[string]view.FrameKind // of frames, where they are known
}

// Total is the sum of the weights, which may be more than 64 bits hold.
func (p *Profile) Total() float64 {
	var sum view.Sum
	for _, n := range p.Stacks {
		sum.Add(n)
	}
	return sum.Float()
}

// Kind is what sort of frame a function is, as far as the file says it.
func (p *Profile) Kind(frame string) view.FrameKind { return p.kinds[frame] }

// errLong says so of the file, or of what it unpacks to.
var errLong = errors.New("it is larger than 256 MiB")

// These refuse stacks that would take far more memory than the file.
var (
	errLarge = errors.New("its stacks take more than 256 MiB")
	errDeep  = fmt.Errorf("it has a stack of more than %d frames", maxDepth)
	errMany  = fmt.Errorf("its stacks have more than %d frames, or %d functions", maxAll, maxNames)
)

// A gatherer puts stacks into profiles as long as there are not too many: each
// frame takes hundreds of bytes where it is shown.
type gatherer struct {
	frames int
	names  map[string]bool
}

// newGatherer makes one for all profiles of a file.
func newGatherer() *gatherer { return &gatherer{names: map[string]bool{}} }

// errSum refuses weights that would turn into others as they are added up.
var errSum = errors.New("its numbers come to more than 64 bits hold")

// weigh adds weight to a stack.
func (p *Profile) weigh(stack string, n int64) error {
	was := p.Stacks[stack]
	// A sum that is on the wrong side of what it was has overflown.
	if sum := was + n; (sum < was) != (n < 0) {
		return errSum
	}
	p.Stacks[stack] = was + n
	return nil
}

// add adds weight to a stack. One that is known takes no more room.
func (g *gatherer) add(p *Profile, stack string, n int64) error {
	if _, known := p.Stacks[stack]; !known {
		depth := strings.Count(stack, "\n") + 1
		if depth > maxDepth {
			return errDeep
		}
		if g.frames += depth; g.frames > maxAll {
			return errMany
		}
		// Names are counted once those of this stack are in: it can be one stack too many.
		for name := range strings.SplitSeq(stack, "\n") {
			g.names[name] = true
		}
		if len(g.names) > maxNames {
			return errMany
		}
	}
	return p.weigh(stack, n)
}

// isPage reports whether a file is HTML that hawk has written.
func isPage(data []byte) bool { return bytes.HasPrefix(data, []byte("<!doctype html>")) }

// stacksOf are all profiles that a file holds, which has no records of a run.
func stacksOf(data []byte) (all []*Profile, err error) {
	if isPage(data) {
		return parsePage(string(data))
	}
	var one *Profile
	switch {
	// Profiles of pprof are the only form that is packed with gzip.
	case bytes.HasPrefix(data, []byte("\x1f\x8b")):
		if data, err = unpack(bytes.NewReader(data)); err == nil {
			one, err = parsePprof(data)
		}
	// Text has no byte of 0, while numbers and empty strings of a profile soon have one.
	case bytes.IndexByte(data[:min(len(data), 512)], 0) >= 0:
		one, err = parsePprof(data) // not compressed
	case isText(data):
		return parseText(data)
	// Folded stacks are told by nothing, so that they are tried last.
	default:
		one, err = parseFolded(string(data))
	}
	return []*Profile{one}, err
}

// unpack reads what was packed with gzip, up to 256 MiB.
func unpack(r io.Reader) ([]byte, error) {
	z, err := gzip.NewReader(r)
	if err != nil {
		return nil, err
	}
	return bounded(z)
}

// contents reads a file, which may be a pipe, up to 256 MiB.
func contents(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return read(f, name)
}

// read reads what is open, up to 256 MiB.
func read(f *os.File, name string) ([]byte, error) {
	size := int64(0)
	if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
		size = info.Size()
	}
	data, err := boundedBy(f, size)
	// Errors of the system name the file themselves.
	if err == errLong {
		err = fmt.Errorf("%s: %w", name, err)
	}
	return data, err
}

// bounded reads all, up to 256 MiB: a byte more is asked for, to know whether there is more.
func bounded(r io.Reader) ([]byte, error) { return boundedBy(r, 0) }

// boundedBy is bounded for what is likely to be so long: memory for it is taken once.
func boundedBy(r io.Reader, size int64) ([]byte, error) {
	var b bytes.Buffer
	// A read that finds the end needs some room, too.
	b.Grow(int(min(max(size, 0), maxFile)) + bytes.MinRead)
	_, err := b.ReadFrom(io.LimitReader(r, maxFile+1))
	data := b.Bytes()
	if err == nil && len(data) > maxFile {
		err = errLong
	}
	return data, err
}

// parseFolded reads lines of frames joined by semicolons, with a weight behind.
func parseFolded(text string) (*Profile, error) {
	// Folded stacks do not say what sort of frame a function is, so that there are no kinds.
	p := &Profile{Unit: "count", Stacks: map[string]int64{}}
	g := newGatherer()
	line := 0
	for s := range strings.Lines(text) {
		line++
		s = strings.TrimRight(s, " \t\r\n")
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
		if err := g.add(p, strings.ReplaceAll(s[:i], ";", "\n"), n); err != nil {
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
	}
	return p, nil
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
	for _, of := range all.Profiles {
		// Titles are names of maps with the parts of their keys behind.
		title, _, _ := strings.Cut(of.Title, "[")
		p := &Profile{Map: title, Unit: "count", Stacks: map[string]int64{}, kinds: map[string]view.FrameKind{}}
		p.Length = lengthOf(of.Nanoseconds)
		// Lists that stand beside each other are checked here to be as long as what indexes them.
		if of.Primary < 0 || of.Primary >= len(of.Types) || of.Primary >= len(of.Self) ||
			len(of.Name) != len(of.Parent) || len(of.Self[of.Primary]) != len(of.Name) ||
			len(of.Kinds) != len(of.Names) {
			return nil, errors.New("the data of the flame graph is damaged")
		}
		p.Type, p.Unit = of.Types[of.Primary].Name, of.Types[of.Primary].Unit
		paths, total := make([]string, len(of.Name)), 0
		for i, n := range of.Name {
			// A parent stands in front of its children, so that there are no circles.
			up := of.Parent[i]
			// The root is node 0, and has neither parent nor name.
			if up >= i || n >= len(of.Names) || i > 0 && (up < 0 || n < 0) {
				return nil, errors.New("the data of the flame graph is damaged")
			}
			if i > 0 {
				p.kinds[of.Names[n]] = of.Kinds[n]
				// Children of the root begin a stack.
				if paths[i] = of.Names[n]; up > 0 {
					paths[i] = paths[up] + "\n" + of.Names[n]
				}
				// All paths together grow as nodes by depth, which a small file can make huge.
				if total += len(paths[i]); total > maxText {
					return nil, errLarge
				}
			}
			// Nodes that weigh nothing themselves are only on the way to others.
			if w := of.Self[of.Primary][i]; w != 0 {
				if err := g.add(p, paths[i], w); err != nil {
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
