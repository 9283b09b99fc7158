package diff

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/hawktrace/hawk/internal/view"
)

// maxFile bounds what a file may unpack to, in bytes.
const maxFile = 256 << 20

// Bounds of what the stacks of a file come to: few bytes can stand for many frames.
const (
	maxDepth = 4096      // frames of a stack
	maxText  = 256 << 20 // bytes of the names in all stacks
)

var errLarge = errors.New("its stacks take more than 256 MiB")

// Read reads the profile of a map, or the only one if name is "", from a file: folded
// stacks, a profile of pprof, or a flame graph that hawk has saved.
func Read(file, name string) (*Profile, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	p, err := Parse(data, name)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return p, nil
}

// Parse is Read of what a file holds.
func Parse(data []byte, name string) (*Profile, error) {
	if bytes.HasPrefix(data, []byte("\x1f\x8b")) {
		var err error
		if data, err = unpacked(bytes.NewReader(data)); err != nil {
			return nil, err
		}
		return parsePprof(data)
	}
	if bytes.HasPrefix(data, []byte("<!doctype html>")) {
		return parsePage(string(data), name)
	}
	if bytes.IndexByte(data[:min(len(data), 512)], 0) >= 0 {
		return parsePprof(data) // not compressed
	}
	return parseFolded(string(data))
}

func unpacked(r io.Reader) ([]byte, error) {
	z, err := gzip.NewReader(r)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(z, maxFile+1))
	if err == nil && len(data) > maxFile {
		err = errors.New("it is larger than 256 MiB")
	}
	return data, err
}

// parseFolded reads lines of frames joined by semicolons, with a weight behind.
func parseFolded(text string) (*Profile, error) {
	p := &Profile{Unit: "count", Stacks: map[string]int64{}}
	line := 0
	for s := range strings.Lines(text) {
		line++
		s = strings.TrimRight(s, " \t\r\n")
		if s == "" || s[0] == '#' {
			continue
		}
		i := strings.LastIndexByte(s, ' ')
		if i < 0 {
			return nil, fmt.Errorf("line %d: no weight follows the stack", line)
		}
		n, err := number(s[i+1:])
		if err != nil {
			return nil, fmt.Errorf("line %d: %w; a file is folded stacks, a profile of pprof, or a saved flame graph",
				line, err)
		}
		p.Stacks[strings.ReplaceAll(s[:i], ";", "\n")] += n
	}
	return p, nil
}

// parsePage reads the data of a saved flame graph.
func parsePage(page, name string) (*Profile, error) {
	_, rest, ok := strings.Cut(page, `<script type="application/json" id="data" data-form="`)
	form, rest, also := strings.Cut(rest, `">`)
	text, _, last := strings.Cut(rest, "</script>")
	if !ok || !also || !last {
		return nil, errors.New("it is no flame graph of hawk")
	}
	data := []byte(text)
	if form == "gzip" {
		var err error
		data, err = unpacked(base64.NewDecoder(base64.StdEncoding, strings.NewReader(strings.TrimSpace(text))))
		if err != nil {
			return nil, err
		}
	}
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
	var titles []string
	for _, of := range all.Profiles {
		title, _, _ := strings.Cut(of.Title, "[")
		titles = append(titles, title)
		if name != "" && title != name || name == "" && len(all.Profiles) > 1 {
			continue
		}
		p := &Profile{Map: title, Unit: "count", Stacks: map[string]int64{}, kinds: map[string]view.FrameKind{}}
		p.Length = lengthOf(of.Nanoseconds)
		if of.Primary < 0 || of.Primary >= len(of.Types) || of.Primary >= len(of.Self) ||
			len(of.Name) != len(of.Parent) || len(of.Self[of.Primary]) != len(of.Name) ||
			len(of.Kinds) != len(of.Names) {
			return nil, errors.New("the data of the flame graph is damaged")
		}
		p.Type, p.Unit = of.Types[of.Primary].Name, of.Types[of.Primary].Unit
		paths, total := make([]string, len(of.Name)), 0
		for i, n := range of.Name {
			up := of.Parent[i]
			if up >= i || n >= len(of.Names) || i > 0 && (up < 0 || n < 0) {
				return nil, errors.New("the data of the flame graph is damaged")
			}
			if i > 0 {
				p.kinds[of.Names[n]] = of.Kinds[n]
				if paths[i] = of.Names[n]; up > 0 {
					paths[i] = paths[up] + "\n" + of.Names[n]
				}
				if total += len(paths[i]); total > maxText {
					return nil, errLarge
				}
			}
			if w := of.Self[of.Primary][i]; w != 0 {
				p.Stacks[paths[i]] += w
			}
		}
		return p, nil
	}
	if name != "" {
		return nil, fmt.Errorf("it has no map %s; there are: %s", name, strings.Join(titles, ", "))
	}
	return nil, fmt.Errorf("it has several maps: choose with --map: %s", strings.Join(titles, ", "))
}
