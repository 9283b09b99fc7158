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
	var data bytes.Buffer
	if err := writeTries(&data, r, all, tries); err != nil {
		return err
	}
	page := &page{
		title: view.Line(r.Script.Called()) + ": flame graph", heading: view.Line(r.Script.Called()),
		about: aboutRun(r, all),
		body:  text(flameBody), style: text(flameStyle), script: text(flameScript), data: data.Bytes(),
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
		j.trie(t, title(all[i].Map), r.Length())
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

// trie writes a tree: names once, nodes as lists beside each other.
func (w jsonWriter) trie(t *view.Trie, title string, length time.Duration) {
	w.about(title, length, t.Primary, t.Types, t.Names, t.Kinds)
	w.list("parent", t.Len(), func(i int) { w.int(int64(t.Parent(i))) })
	w.list("name", t.Len(), func(i int) { w.int(int64(t.Name(i))) })
	w.list("self", len(t.Types), func(k int) {
		// The page draws widths by these: digits beyond 2⁵³ that it loses are not seen.
		w.items(t.Len(), func(i int) { w.int(t.Self(i, k)) })
	})
	w.raw("}")
}

// about writes what is known of a tree beside its nodes.
func (w jsonWriter) about(title string, length time.Duration, primary int, types []view.SampleType, names []string,
	kinds []view.FrameKind) {
	w.raw("\n{" + `"title":`)
	w.text(title)
	w.raw(`,"nanoseconds":`)
	w.int(int64(length))
	w.raw(`,"primary":`)
	w.int(int64(primary))
	w.list("types", len(types), func(i int) {
		w.raw(`{"name":`)
		w.text(types[i].Name)
		w.raw(`,"unit":`)
		w.text(types[i].Unit)
		w.raw("}")
	})
	w.list("names", len(names), func(i int) { w.text(names[i]) })
	w.list("kinds", len(kinds), func(i int) { w.int(int64(kinds[i])) })
}

// list writes one with its name.
func (w jsonWriter) list(key string, n int, write func(i int)) {
	// A list never comes first in its object, so that a comma belongs in front.
	w.raw(",")
	w.key(key)
	w.items(n, write)
}

func (w jsonWriter) items(n int, write func(i int)) {
	w.raw("[")
	for i := range n {
		if i > 0 {
			w.raw(",")
		}
		write(i)
	}
	w.raw("]")
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
	data                  []byte // JSON without < > &
	plain                 string // HTML for browsers that run no script
	// stream writes the data with its element, where all of them at once would be too many.
	stream func(*bufio.Writer) error
}

// largeData is from how many bytes on data is compressed.
const largeData = 1 << 20

// dataElement begins the element of the data, of a form.
const dataElement = `<script type="application/json" id="data" data-form="%s">`

// write writes the page. Its policy names the digest of the script and of the style: anything that
// data smuggled in would not run, even if escaping failed.
func (p *page) write(out io.Writer, o Options) error {
	digest := func(s string) string {
		sum := sha256.Sum256([]byte(s))
		return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	form, data := "json", string(p.data)
	// Browsers inflate it (DecompressionStream); base64 costs a third of what gzip saves.
	if len(p.data) > largeData {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		if _, err := z.Write(p.data); err != nil {
			return err
		}
		if err := z.Close(); err != nil {
			return err
		}
		form, data = "gzip", base64.StdEncoding.EncodeToString(b.Bytes())
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
	if p.stream == nil {
		fmt.Fprintf(w, dataElement, form)
		// JSON of a jsonWriter has no <, and base64 neither: no data can end the element.
		w.WriteString(data)
	} else if err := p.stream(w); err != nil {
		return err
	}
	fmt.Fprintf(w, "</script>\n<script>%s</script>\n</body>\n</html>\n", p.script)
	return w.Flush()
}
