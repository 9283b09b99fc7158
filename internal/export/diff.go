package export

import (
	"bufio"
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

// DiffStacks are the stacks of a map; the second value of the tree is what was there before.
type DiffStacks struct {
	Title string
	Tree  Tree
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
	data := func(w io.Writer) error {
		j := jsonWriter{bufio.NewWriter(w)}
		j.raw(`{"profiles":[`)
		for i, s := range d.Stacks {
			if i > 0 {
				j.raw(",")
			}
			// A difference has no length. From value 1 on, nodes weigh what they did in the old run.
			j.tree(&s.Tree, s.Title, 0, 1)
		}
		j.raw("]}")
		return j.Flush()
	}
	heading := view.Line(d.Heading)
	p := &page{title: heading, heading: heading, about: view.Line(d.About), style: text(flameStyle) + text(runStyle),
		data: data}
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
