package export

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/hawktrace/hawk/internal/view"
)

// Folded stacks: a line for each, frames joined by semicolons, the outermost first, and
// what it weighs.
var _ = define(Format{
	Name: "folded", Ext: "folded", Takes: OneProfile, Write: writeFolded,
	Doc: "a line for each stack, main;read;copy 12: what makers of flame graphs read",
})

// writeFolded writes a line for each stack, those that read alike as one.
func writeFolded(w io.Writer, r *view.Run, maps []*view.Map, o Options) error {
	p := one(r, maps)
	// Stacks may differ in addresses that names do not show; readers want each line once.
	// Each line is followed by what it weighs, behind a byte that is less than any of a line: sorted in that form
	// they are in order, and equal ones stand together.
	lines := make([]string, 0, p.Len())
	var path []view.FrameAt
	var line []byte
	p.Each(func(s *view.Sample) {
		path = s.AppendPath(path[:0])
		line = append(appendFolded(line[:0], path, o), 0)
		lines = append(lines, string(binary.BigEndian.AppendUint64(line, uint64(s.Values[p.Primary]))))
	})
	slices.Sort(lines)
	b := bufio.NewWriter(w)
	for i := 0; i < len(lines); {
		text, sum := lines[i][:len(lines[i])-weightBytes], int64(0)
		for ; i < len(lines) && len(lines[i]) == len(text)+weightBytes && strings.HasPrefix(lines[i], text); i++ {
			sum = view.Plus(sum, int64(binary.BigEndian.Uint64([]byte(lines[i][len(text)+1:]))))
		}
		b.WriteString(text)
		b.WriteByte(' ')
		b.WriteString(strconv.FormatInt(sum, 10))
		b.WriteByte('\n')
	}
	return b.Flush()
}

// weightBytes is how long what stands behind a line is while lines are sorted.
const weightBytes = 9

// foldedStack is a stack as one line.
func foldedStack(path []view.FrameAt, o Options) string { return string(appendFolded(nil, path, o)) }

// appendFolded adds a stack as one line.
func appendFolded(b []byte, path []view.FrameAt, o Options) []byte {
	for i := range path {
		if i > 0 {
			b = append(b, ';')
		}
		b = append(b, FoldedFrame(frameName(&path[i], o), i == 0)...)
		if !o.Annotate {
			continue
		}
		// Makers of flame graphs choose colours by these suffixes.
		switch {
		case path[i].Frame != nil && path[i].Inlined:
			b = append(b, "_[i]"...)
		case path[i].Kind == view.KernelFrame:
			b = append(b, "_[k]"...)
		case path[i].Kind == view.JITFrame:
			b = append(b, "_[j]"...)
		}
	}
	return b
}

// FoldedFrame is the name of a frame in a line of a folded file, which the outermost one begins.
func FoldedFrame(name string, outermost bool) string {
	// Readers take a line with a # in front for a comment, and one that an element of a map begins for what a script
	// has printed: a name alone must not make it one.
	if outermost && name != "" && (name[0] == '#' || name[0] == '@') {
		name = fmt.Sprintf(`\x%x`, name[0]) + name[1:]
	}
	// A semicolon ends a frame. Demangled names of closures may have one.
	return strings.ReplaceAll(name, ";", ":")
}

// frameName is what makes two frames of pictures one.
func frameName(f *view.FrameAt, o Options) string {
	// With addresses, frames of one function are apart by where they are in it.
	if o.Addresses && f.Frame != nil && f.Func != "" {
		return f.Name + " 0x" + strconv.FormatUint(f.Addr, 16)
	}
	// An empty name would make a frame that nobody sees.
	if f.Name == "" {
		return "(empty)"
	}
	return f.Name
}
