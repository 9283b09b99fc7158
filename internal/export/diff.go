package export

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"fmt"
	"io"
	"strings"

	"github.com/hawktrace/hawk/internal/view"
)

// A Diff is two runs side by side, for a page.
type Diff struct {
	Heading, About string
	Stacks         []DiffStacks
	Tables         []DiffTable
}

// DiffStacks are the stacks of a map as a tree: those that begin alike share nodes.
type DiffStacks struct {
	Title string
	Type  view.SampleType
	Names []string
	Kinds []view.FrameKind // of names
	// Each calls f with the nodes but for the root, which is number 0: each behind its parent, with the number of its
	// name, and with what it weighs without those below. It is called for each list that a page has.
	Each func(f func(parent, name int, now, old int64))
}

// json writes the tree as the script of the page reads it.
func (s *DiffStacks) json(w jsonWriter) {
	// A difference has no length.
	w.about(s.Title, 0, 0, []view.SampleType{s.Type}, s.Names, s.Kinds)
	for _, list := range []struct {
		key string // with its brackets
		of  func(parent, name int, now, old int64) int64
		end string
	}{
		{`"parent":[-1`, func(parent, _ int, _, _ int64) int64 { return int64(parent) }, "]"},
		{`"name":[-1`, func(_, name int, _, _ int64) int64 { return int64(name) }, "]"},
		{`"self":[[0`, func(_, _ int, now, _ int64) int64 { return now }, "]]"},
		{`"old":[[0`, func(_, _ int, _, old int64) int64 { return old }, "]]"},
	} {
		w.raw("," + list.key)
		s.Each(func(parent, name int, now, old int64) {
			w.raw(",")
			w.int(list.of(parent, name, now, old))
		})
		w.raw(list.end)
	}
	w.raw("}")
}

// A DiffTable is a map of numbers.
type DiffTable struct {
	Title, About string
	Head         []string
	Keys         int // cells in front that are no numbers
	Rows         [][]string
	Outlines     []Outline
	Left         int // rows that are not shown
}

// An Outline is a histogram in both runs: how many values each bucket has.
type Outline struct {
	Title, About string
	Names        []string // of the buckets
	Old, New     []float64
}

// Write writes an HTML file that asks nobody for anything: flame graphs to look into, tables, and histograms as
// outlines.
func (d *Diff) Write(w io.Writer, version string) error {
	heading := view.Line(d.Heading)
	p := &page{title: heading, heading: heading, about: view.Line(d.About), style: text(flameStyle) + text(runStyle),
		stream: d.data}
	// Without stacks the page needs no script, and gets none to run.
	if len(d.Stacks) > 0 {
		p.body, p.script = text(flameBody), text(flameScript)
	}
	var body strings.Builder
	for i := range d.Tables {
		d.Tables[i].html(&body)
	}
	p.body = body.String() + p.body
	return p.write(w, Options{Version: version})
}

// data writes the stacks of all maps with their element: large ones are packed on the way.
func (d *Diff) data(w *bufio.Writer) error {
	to := dataWriter{to: w}
	j := jsonWriter{bufio.NewWriter(&to)}
	j.raw(`{"profiles":[`)
	for i := range d.Stacks {
		if i > 0 {
			j.raw(",")
		}
		d.Stacks[i].json(j)
	}
	j.raw("]}")
	if err := j.Flush(); err != nil {
		return err
	}
	return to.end()
}

// A dataWriter writes the data of a page and the tag in front. It knows what form they have when much has come, or all:
// browsers inflate what is large (DecompressionStream), of which base64 costs a third of what gzip saves.
type dataWriter struct {
	to   *bufio.Writer
	some bytes.Buffer // what has come; with pack, what came out of that
	pack *gzip.Writer
}

// Write is of io.Writer. JSON of a jsonWriter has no <, and base64 neither: no data can end the element.
func (d *dataWriter) Write(b []byte) (int, error) {
	of := b
	if d.pack == nil {
		d.some.Write(b)
		if of = d.some.Bytes(); len(of) <= largeData {
			return len(b), nil
		}
		d.some = bytes.Buffer{}
		d.pack = gzip.NewWriter(&d.some)
		fmt.Fprintf(d.to, dataElement, "gzip")
	}
	d.pack.Write(of) // which goes to memory
	return len(b), d.text(d.some.Len() / 3 * 3)
}

// text writes so many bytes as text. But for the last they are a multiple of three.
func (d *dataWriter) text(n int) error {
	_, err := d.to.WriteString(base64.StdEncoding.EncodeToString(d.some.Next(n)))
	return err
}

// end is for when all has been written.
func (d *dataWriter) end() error {
	if d.pack != nil {
		d.pack.Close()
		return d.text(d.some.Len())
	}
	fmt.Fprintf(d.to, dataElement, "json")
	_, err := d.to.Write(d.some.Bytes())
	return err
}

// html writes the table of two runs, and outlines of its histograms above.
func (t *DiffTable) html(b *strings.Builder) {
	fmt.Fprintf(b, "<section><h2>%s</h2>\n<p>%s</p>\n", xmlText(view.Line(t.Title)), xmlText(view.Line(t.About)))
	for i := range t.Outlines {
		t.Outlines[i].html(b)
	}
	b.WriteString("<div class=\"scroll\"><table>")
	for i, row := range append([][]string{t.Head}, t.Rows...) {
		tag := "td"
		if i == 0 {
			tag = "th"
		}
		b.WriteString("<tr>")
		for k, cell := range row {
			class := ""
			if k >= t.Keys {
				class = numeric
			}
			fmt.Fprintf(b, "<%s%s>%s</%[1]s>", tag, class, xmlText(view.Line(cell)))
		}
		b.WriteString("</tr>\n")
	}
	b.WriteString("</table></div>\n")
	if t.Left > 0 {
		fmt.Fprintf(b, "<p>%s more, which changed less</p>\n", view.Counted(t.Left, "row"))
	}
	b.WriteString("</section>\n")
}

// html draws both outlines above each other: steps from bucket to bucket, the old run's dashed.
func (o *Outline) html(b *strings.Builder) {
	if len(o.Names) == 0 {
		return
	}
	// It is 1 at least, so that empty histograms are lines at the foot.
	most := 1.0
	for i := range o.Names {
		most = max(most, o.Old[i], o.New[i])
	}
	title, about := view.Line(o.Title), view.Line(o.About)
	fmt.Fprintf(b, htmlOverTime, xmlText(title+": "+about))
	for _, side := range []struct {
		class  string
		counts []float64
	}{{"old", o.Old}, {"new", o.New}} {
		fmt.Fprintf(b, `<polyline class="%s" points="0,100`, side.class)
		for i, n := range side.counts {
			// A twentieth is left free above the highest step.
			y := 100 - 95*n/most
			fmt.Fprintf(b, " %.2f,%.2f %.2f,%.2[2]f", 100*float64(i)/float64(len(o.Names)), y,
				100*float64(i+1)/float64(len(o.Names)))
		}
		b.WriteString(` 100,100"/>`)
	}
	// A map without keys gives its histogram no title.
	fmt.Fprintf(b, "</svg>\n<p>%s; buckets from %s to %s, dashed the old run</p>\n",
		xmlText(strings.TrimPrefix(title+": "+about, ": ")), xmlText(o.Names[0]), xmlText(o.Names[len(o.Names)-1]))
}
