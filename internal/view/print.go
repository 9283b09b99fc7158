package view

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/hawktrace/hawk/internal/source"
	"github.com/hawktrace/hawk/internal/types"
)

// Write prints what the data of a script means, a line for each map and for
// each site, as hawk -d view does.
func (s *Script) Write(w io.Writer) error {
	var rows [][]string
	for _, m := range s.Maps {
		rows = append(rows, []string{m.Name, m.Role.String(), m.kindText(), m.names(), m.extras(), place(m.At)})
	}
	var b strings.Builder
	if s.Title != "" {
		fmt.Fprintf(&b, "title %s\n", s.Title)
	}
	if s.Interval != "" {
		fmt.Fprintf(&b, "interval %s\n", s.Interval)
	}
	table(&b, rows)
	rows = nil
	for i, site := range s.Sites {
		rows = append(rows, []string{fmt.Sprintf("event %d", i), site.Builtin, place(site.At), site.fields()})
	}
	table(&b, rows)
	for _, n := range s.Notes {
		fmt.Fprintf(&b, "note: %s\n", n)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// table writes rows whose columns begin below each other; a column that no row
// has is left out.
func table(b *strings.Builder, rows [][]string) {
	if len(rows) == 0 {
		return
	}
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], len(cell))
		}
	}
	for _, row := range rows {
		var line strings.Builder
		for i, cell := range row {
			if widths[i] > 0 {
				fmt.Fprintf(&line, "%-*s  ", widths[i], cell)
			}
		}
		b.WriteString(strings.TrimRight(line.String(), " "))
		b.WriteByte('\n')
	}
}

// place is a line of a file.
func place(at source.Span) string {
	if !at.Valid() {
		return "?"
	}
	line, _ := at.File.Position(at.Start)
	return fmt.Sprintf("%s:%d", at.File.Name, line)
}

// kindText is the kind with the parameters of its aggregation.
func (m *Map) kindText() string {
	kind := m.Kind.String()
	agg, _ := m.Type.(*types.Agg)
	switch {
	case agg == nil:
	case m.Kind == Histogram && len(agg.Params) == 1:
		kind += fmt.Sprintf(" k=%d", agg.Params[0])
	case m.Kind == Histogram && len(agg.Params) == 3:
		kind += fmt.Sprintf(" min=%d max=%d step=%d", agg.Params[0], agg.Params[1], agg.Params[2])
	case m.Kind == Series && len(agg.Params) >= 2:
		kind += fmt.Sprintf(" every=%s keeps=%d", time.Duration(agg.Params[0]), agg.Params[1])
	}
	if m.Profile() {
		kind = "profile " + kind
	}
	return kind
}

// names are what the key and the value are called.
func (m *Map) names() string {
	var parts, frames, labels []string
	for _, k := range m.Keys {
		if k.Frames != NoFrames {
			frames = append(frames, k.Frames.String())
		} else {
			labels = append(labels, k.Name)
		}
	}
	add := func(key string, list []string) {
		if len(list) > 0 {
			parts = append(parts, key+"="+strings.Join(list, ","))
		}
	}
	add("frames", frames)
	add("labels", labels)
	var columns []string
	for _, c := range m.Columns {
		text := c.Name + ":" + c.Kind.String()
		if c.Unit != NoUnit {
			text += ":" + c.Unit.String()
		}
		columns = append(columns, text)
	}
	add("columns", columns)
	if m.Unit != NoUnit {
		parts = append(parts, "unit="+m.Unit.String())
	}
	return strings.Join(parts, " ")
}

// extras are the words that only some maps have.
func (m *Map) extras() string {
	var parts []string
	if m.Profile() {
		parts = append(parts, "weight="+m.Weight.String())
	}
	if m.Window {
		parts = append(parts, "window")
	}
	if m.Top > 0 {
		parts = append(parts, fmt.Sprintf("top=%d", m.Top))
	}
	if m.Div > 1 {
		parts = append(parts, fmt.Sprintf("div=%d", m.Div))
	}
	if m.Label != "" {
		parts = append(parts, "name="+m.Label)
	}
	if m.MaxSeries > 0 {
		parts = append(parts, fmt.Sprintf("max-series=%d", m.MaxSeries))
	}
	if m.Help != "" {
		parts = append(parts, fmt.Sprintf("help=%q", m.Help))
	}
	return strings.Join(parts, "  ")
}

// fields are the names of the arguments of an event.
func (s *Site) fields() string {
	var names []string
	for _, a := range s.Args {
		if a.Frames != NoFrames {
			names = append(names, a.Name+":frames")
		} else {
			names = append(names, a.Name)
		}
	}
	var parts []string
	switch {
	case len(names) > 0:
		parts = append(parts, "args="+strings.Join(names, ","))
	case s.Header:
		parts = append(parts, "header")
	default:
		parts = append(parts, "text")
	}
	return strings.Join(append(parts, "probes="+strings.Join(s.Probes, ",")), "  ")
}
