package export

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/hawktrace/hawk/internal/pack"
	"github.com/hawktrace/hawk/internal/view"
)

// A flame graph to look into: one HTML file that asks nobody for anything, with all
// profiles of the script.
var _ = define(Format{
	Name: "flame", Ext: "html", Takes: Profiles, Sums: true, Bounds: true, Write: writeFlame,
	Doc: "flame graphs of all profiles to look into: one HTML file for any browser, which asks nobody for anything",
})

//go:generate go test -run TestPacked . -update

// packed are the files of page.
//
//go:embed packed
var packed embed.FS

// text is a file of page.
func text(name string) string { return pack.Text(packed, "packed/"+name+pack.Suffix) }

// writeFlame writes all profiles into one page.
func writeFlame(w io.Writer, r *view.Run, maps []*view.Map, o Options) error {
	all := profiles(r, maps)
	tries := triesOf(all, o)
	page := &page{
		title: view.Line(r.Script.Called()) + ": flame graph", heading: view.Line(r.Script.Called()),
		about: aboutRun(r, all),
		body:  text(flameBody), style: text(flameStyle), script: text(flameScript),
		data:  func(w io.Writer) error { return writeTries(w, r, all, tries) },
		plain: flameTables(all, tries),
	}
	return page.write(w, o)
}

// Tries writes the stacks of maps as the script of the page of flame graphs reads them.
// The live page asks for it (package web) each time that it draws a flame graph.
func Tries(w io.Writer, r *view.Run, maps []*view.Map, o Options) error {
	all := profiles(r, maps)
	return writeTries(w, r, all, triesOf(all, o))
}

// triesOf merges the stacks of each profile into a tree.
func triesOf(all []*view.Profile, o Options) []*view.Trie {
	tries := make([]*view.Trie, len(all))
	for i, p := range all {
		tries[i] = view.NewTrie(p, func(f *view.FrameAt) string { return frameName(f, o) })
	}
	return tries
}

// writeTries writes trees as the page's script reads them.
func writeTries(w io.Writer, r *view.Run, all []*view.Profile, tries []*view.Trie) error {
	j := jsonWriter{bufio.NewWriter(w)}
	j.raw(`{"profiles":[`)
	for i, t := range tries {
		if i > 0 {
			j.raw(",")
		}
		of := treeOf(t)
		j.tree(&of, title(all[i].Map), r.Length(), -1)
	}
	j.raw("]}")
	return j.Flush()
}

// FlameParts are the script, the style and the body of the page of flame graphs, for a
// page that has more to show.
func FlameParts() (script, style, body string) {
	return text(flameScript), text(flameStyle), text(flameBody)
}

// The files of the page of flame graphs.
const (
	flameScript = "flame.js"
	flameStyle  = "flame.css"
	flameBody   = "flame.html"
)

// title is a map with the names of the parts of its key.
func title(m *view.Map) string {
	var parts []string
	for _, k := range m.Keys {
		if k.Frames != view.NoFrames {
			parts = append(parts, k.Frames.String()+" stack")
		} else {
			parts = append(parts, k.Name)
		}
	}
	return m.Name + "[" + strings.Join(parts, ", ") + "]"
}

// aboutRun is what a picture of a run is of, in words.
func aboutRun(r *view.Run, all []*view.Profile) string {
	parts := []string{r.Wall.UTC().Format("2006-01-02 15:04:05Z")}
	if n := r.Length(); n > 0 {
		parts = append(parts, amount(int64(n), "nanoseconds"))
	}
	if r.Command != "" {
		parts = append(parts, "command "+view.Line(r.Command))
	} else if r.PID != 0 {
		parts = append(parts, fmt.Sprint("process ", r.PID))
	}
	// A reader has to know how much of the picture is missing, and why.
	for _, p := range all {
		if n := unfollowed(p); n > 0 {
			parts = append(parts, p.Map.Name+": "+percent(n, p.Total())+
				" in stacks that were not followed to their end")
		}
		if p.Omitted > 0 {
			parts = append(parts, p.Map.Name+": "+view.Grouped(p.Omitted)+" rows below zero left out")
		}
		if p.Refused.Updates > 0 {
			parts = append(parts, p.Map.Name+" "+p.Refused.String())
		}
		if p.AtLeast {
			parts = append(parts, p.Map.Name+": a lower bound, as programs delete elements")
		}
	}
	if r.Loss.Records > 0 {
		parts = append(parts, view.Grouped(r.Loss.Records)+" events lost")
	}
	return strings.Join(parts, " · ")
}

// A Tree is what a flame graph is drawn of: stacks that begin alike share nodes.
type Tree struct {
	Types   []view.SampleType
	Primary int // the one that is shown first
	Names   []string
	Kinds   []view.FrameKind
	// Each calls f with the nodes but for the root, which is number 0: each behind its parent, with its name by number
	// and with what it weighs without those below. It is called for each list that a page has.
	Each func(f func(parent, name int, self []int64))
}

// treeOf is a tree that is kept.
func treeOf(t *view.Trie) Tree {
	return Tree{t.Types, t.Primary, t.Names, t.Kinds, func(f func(int, int, []int64)) {
		self := make([]int64, len(t.Types))
		for n := 1; n < t.Len(); n++ {
			for k := range self {
				self[k] = t.Self(n, k)
			}
			f(t.Parent(n), t.Name(n), self)
		}
	}}
}

// tree writes a tree: names once, nodes as lists beside each other. From value old on, if
// it is none of -1, values are those of a run before.
func (w jsonWriter) tree(t *Tree, title string, length time.Duration, old int) {
	// Types from old on are of the run before, and go into a list of their own.
	now := len(t.Types)
	if old >= 0 {
		now = old
	}
	list := func(key string, n int, write func(i int)) {
		// A list never comes first in its object, so that a comma belongs in front.
		w.raw(",")
		w.key(key)
		w.raw("[")
		for i := range n {
			if i > 0 {
				w.raw(",")
			}
			write(i)
		}
		w.raw("]")
	}
	// The root stands first, with a number of its own.
	nodes := func(root int64, of func(parent, name int, self []int64) int64) {
		w.raw("[")
		w.int(root)
		t.Each(func(parent, name int, self []int64) {
			w.raw(",")
			w.int(of(parent, name, self))
		})
		w.raw("]")
	}
	w.raw("\n{" + `"title":`)
	w.text(title)
	w.raw(`,"nanoseconds":`)
	w.int(int64(length))
	w.raw(`,"primary":`)
	w.int(int64(t.Primary))
	list("types", now, func(i int) {
		w.raw(`{"name":`)
		w.text(t.Types[i].Name)
		w.raw(`,"unit":`)
		w.text(t.Types[i].Unit)
		w.raw("}")
	})
	list("names", len(t.Names), func(i int) { w.text(t.Names[i]) })
	list("kinds", len(t.Kinds), func(i int) { w.int(int64(t.Kinds[i])) })
	w.raw(`,"parent":`)
	nodes(-1, func(parent, _ int, _ []int64) int64 { return int64(parent) })
	w.raw(`,"name":`)
	nodes(-1, func(_, name int, _ []int64) int64 { return int64(name) })
	// The page draws widths by these: digits beyond 2⁵³ that it loses are not seen.
	values := func(from int) func(k int) {
		return func(k int) { nodes(0, func(_, _ int, self []int64) int64 { return self[from+k] }) }
	}
	list("self", now, values(0))
	if old >= 0 {
		list("old", len(t.Types)-old, values(old))
	}
	w.raw("}")
}

// topFunctions are shown to browsers without script.
const topFunctions = 100

// flameTables are the heaviest functions as HTML, for browsers without script.
func flameTables(all []*view.Profile, tries []*view.Trie) string {
	var b strings.Builder
	for i, t := range tries {
		fmt.Fprintf(&b, "<h2>%s</h2>\n<table><tr><th>self</th><th>total</th><th>function</th></tr>\n",
			xmlText(title(all[i].Map)))
		unit := t.Types[t.Primary].Unit
		functions := t.Functions()
		for i, f := range functions {
			if i == topFunctions {
				break
			}
			fmt.Fprintf(&b, "<tr><td>%s</td><td>%s</td><td>%s</td></tr>\n", xmlText(amount(f.Self, unit)),
				xmlText(amount(f.Total, unit)), xmlText(f.Name))
		}
		b.WriteString("</table>\n")
		if left := len(functions) - topFunctions; left > 0 {
			fmt.Fprintf(&b, "<p>%s more</p>\n", view.Counted(left, "function"))
		}
	}
	return b.String()
}

// A page is an HTML file that has all in itself. Its policy lets the browser fetch
// nothing and run nothing but its own script.
type page struct {
	title, heading, about string
	body, style, script   string
	data                  func(io.Writer) error // writes JSON without < > &
	plain                 string                // HTML for browsers that run no script
}

// largeData is from how many bytes on data is compressed.
const largeData = 1 << 20

// write writes the page. Its policy names the digest of the script and of the style: anything that
// data smuggled in would not run, even if escaping failed.
func (p *page) write(out io.Writer, o Options) error {
	digest := func(s string) string {
		sum := sha256.Sum256([]byte(s))
		return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	w := bufio.NewWriter(out)
	fmt.Fprintf(w, "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"+
		"<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src %s; style-src %s; "+
		"img-src data:; base-uri 'none'; form-action 'none'\">\n"+
		"<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"+
		"<meta name=\"generator\" content=\"hawk %s\">\n<link rel=\"icon\" href=\"data:,\">\n"+
		"<title>%s</title>\n<style>%s</style>\n</head>\n<body>\n", digest(p.script), digest(p.style),
		xmlText(o.Version), xmlText(p.title), p.style)
	fmt.Fprintf(w, "<header><h1>%s</h1><p>%s</p></header>\n%s", xmlText(p.heading), xmlText(p.about), p.body)
	fmt.Fprintf(w, "<noscript>%s</noscript>\n", p.plain)
	data := dataWriter{to: w}
	if err := p.data(&data); err != nil {
		return err
	}
	if err := data.Close(); err != nil {
		return err
	}
	fmt.Fprintf(w, "</script>\n<script>%s</script>\n</body>\n</html>\n", p.script)
	return w.Flush()
}

// A dataWriter writes the data of a page and the tag in front. It knows what form they have when much has come, or all:
// browsers inflate what is large (DecompressionStream), of which base64 costs a third of what gzip saves.
type dataWriter struct {
	to    *bufio.Writer
	small bytes.Buffer
	pack  *gzip.Writer // nil: all is in small
	text  io.WriteCloser
}

// Write is of io.Writer. JSON of a jsonWriter has no <, and base64 neither: no data can end the element.
func (d *dataWriter) Write(b []byte) (int, error) {
	if d.pack != nil {
		return d.pack.Write(b)
	}
	d.small.Write(b)
	if d.small.Len() <= largeData {
		return len(b), nil
	}
	d.begin("gzip")
	d.text = base64.NewEncoder(base64.StdEncoding, d.to)
	d.pack = gzip.NewWriter(d.text)
	_, err := d.pack.Write(d.small.Bytes())
	d.small = bytes.Buffer{}
	return len(b), err
}

func (d *dataWriter) begin(form string) {
	fmt.Fprintf(d.to, "<script type=\"application/json\" id=\"data\" data-form=\"%s\">", form)
}

// Close is of io.Closer: all has been written.
func (d *dataWriter) Close() error {
	if d.pack == nil {
		d.begin("json")
		_, err := d.small.WriteTo(d.to)
		return err
	}
	if err := d.pack.Close(); err != nil {
		return err
	}
	return d.text.Close()
}
