package export

import (
	"bufio"
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
	weights := map[string]int64{}
	for i := range p.Samples {
		s := &p.Samples[i]
		line := foldedStack(s.Path(), o)
		weights[line] = view.Plus(weights[line], s.Values[p.Primary])
	}
	lines := make([]string, 0, len(weights))
	for line := range weights {
		lines = append(lines, line)
	}
	slices.Sort(lines)
	b := bufio.NewWriter(w)
	for _, line := range lines {
		b.WriteString(line)
		b.WriteByte(' ')
		b.WriteString(strconv.FormatInt(weights[line], 10))
		b.WriteByte('\n')
	}
	return b.Flush()
}

// foldedStack is a stack as one line.
func foldedStack(path []view.FrameAt, o Options) string {
	var b strings.Builder
	for i := range path {
		if i > 0 {
			b.WriteByte(';')
		}
		name := frameName(&path[i], o)
		// A semicolon ends a frame. Demangled names of closures may have one.
		b.WriteString(strings.ReplaceAll(name, ";", ":"))
		if !o.Annotate {
			continue
		}
		// Makers of flame graphs choose colours by these suffixes.
		switch {
		case path[i].Frame != nil && path[i].Inlined:
			b.WriteString("_[i]")
		case path[i].Kind == view.KernelFrame:
			b.WriteString("_[k]")
		case path[i].Kind == view.JITFrame:
			b.WriteString("_[j]")
		}
	}
	return b.String()
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
