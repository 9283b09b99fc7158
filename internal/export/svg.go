package export

import (
	"bufio"
	"fmt"
	"hash/fnv"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/hawktrace/hawk/internal/view"
)

// A flame graph that does not move, for documents: SVG without script, whose titles say
// what does not fit. It shows in viewers that strip scripts, dark where they are dark.
var _ = define(Format{
	Name: "svg", Ext: "svg", Takes: OneProfile, Bounds: true, Write: writeSVG,
	Doc: "a flame graph as a picture without script, light or dark as its reader is, for documents",
})

// Measures of the picture, in its units.
const (
	svgWidth  = 1200
	svgMargin = 10
	svgRow    = 18
	svgHead   = 50
	svgFoot   = 26
	svgChar   = 7.3 // of the font, on average
	svgLeast  = 0.4 // what is narrower is not drawn
	svgMost   = 2000
)

// svgStyle has the colours of the picture, light and dark, that those who do not see red and
// green apart can tell: functions of programs in blues, the kernel in oranges, parts of
// keys in grey, code made at run time in purple.
const svgStyle = `text{font:12px ui-monospace,Menlo,Consolas,monospace;fill:#1b1b1b}` +
	`.t{font:600 15px ui-sans-serif,system-ui,sans-serif}.s{font:12px ui-sans-serif,system-ui,sans-serif;fill:#555}` +
	`.b{fill:#fff}rect{stroke:#fff;stroke-width:.6}` +
	`.u0{fill:#9cc3e6}.u1{fill:#86b4dd}.u2{fill:#b1d0ec}.u3{fill:#a3c8da}` +
	`.k0{fill:#f2b482}.k1{fill:#eca56b}.k2{fill:#f6c39a}.k3{fill:#f0b78f}` +
	`.j0{fill:#dfb0cd}.l0{fill:#d9d9de}.m0{fill:#c3c3cb}` +
	`@media(prefers-color-scheme:dark){text{fill:#f0f0f0}.s{fill:#aaa}.b{fill:#16181c}rect{stroke:#16181c}` +
	`.u0{fill:#28557e}.u1{fill:#2f6190}.u2{fill:#224a6e}.u3{fill:#2c5a72}` +
	`.k0{fill:#8a4f1c}.k1{fill:#985a24}.k2{fill:#7b4517}.k3{fill:#855030}` +
	`.j0{fill:#6d3a5b}.l0{fill:#3d3f46}.m0{fill:#55575f}}`

// svgClass is the colour of a frame: the same for the same name in every picture.
func svgClass(kind view.FrameKind, name string) string {
	h := fnv.New32a()
	io.WriteString(h, name)
	// Four shades tell neighbours apart.
	shade := h.Sum32() % 4
	switch kind {
	case view.UserFrame:
		return fmt.Sprintf("u%d", shade)
	case view.KernelFrame:
		return fmt.Sprintf("k%d", shade)
	case view.JITFrame:
		return "j0"
	case view.MarkFrame:
		return "m0"
	}
	return "l0"
}

// An svgBox is a node where it is drawn.
type svgBox struct {
	node int
	x, w float64
}

// writeSVG writes the picture. Boxes stand on each other from below, the root at the foot.
func writeSVG(out io.Writer, r *view.Run, maps []*view.Map, o Options) error {
	p := one(r, maps)
	t := view.NewTrie(p, func(f *view.FrameAt) string { return frameName(f, o) })
	total := t.Total(0)
	unit := t.Types[t.Primary].Unit
	boxes, narrow, share := svgLayout(t)
	// The picture is as high as what is drawn, not as the deepest stack.
	depth := 0
	for _, b := range boxes {
		depth = max(depth, t.Depth(b.node))
	}
	height := svgHead + (depth+1)*svgRow + svgFoot
	w := bufio.NewWriter(out)
	title := xmlText(view.Line(r.Script.Called()) + "  " + p.Map.Name)
	fmt.Fprintf(w, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %[1]d %[2]d" `+
		`role="img" aria-labelledby="t d">`+"\n<title id=\"t\">Flame graph of %s</title>\n", svgWidth, height, title)
	fmt.Fprintf(w, "<desc id=\"d\">%s in %s; a box for each function, as wide as what it and its callees weigh"+
		"</desc>\n<style>%s</style>\n", xmlText(amount(total, unit)), view.Counted(p.Len(), "stack"), svgStyle)
	fmt.Fprintf(w, `<rect class="b" width="%d" height="%d" style="stroke:none"/>`+"\n", svgWidth, height)
	fmt.Fprintf(w, `<text class="t" x="%d" y="24">%s</text><text class="s" x="%[1]d" y="41">%[3]s</text>`+"\n",
		svgMargin, title, xmlText(svgSubtitle(r, p, total, unit)))
	for _, b := range boxes {
		n := b.node
		name := t.Label(n)
		y := height - svgFoot - (t.Depth(n)+1)*svgRow
		// Viewers show the title of a group under the mouse.
		fmt.Fprintf(w, `<g><title>%s: %s, %s</title><rect class="%s" x="%.1f" y="%d" width="%.1f" height="%d"/>`,
			xmlText(name), xmlText(amount(t.Total(n), unit)), percent(t.Total(n), total),
			svgClass(t.Kind(n), name), b.x, y, b.w, svgRow-1)
		// Four units are left free at both ends of a text.
		room := int((b.w - 8) / svgChar)
		if t.Kind(n) != view.LabelFrame && utf8.RuneCountInString(name) > room {
			name = view.Unqualified(name)
		}
		if text := fitted(name, room); text != "" {
			fmt.Fprintf(w, `<text x="%.1f" y="%d">%s</text>`, b.x+4, y+13, xmlText(text))
		}
		w.WriteString("</g>\n")
	}
	if narrow > 0 {
		fmt.Fprintf(w, `<text class="s" x="%d" y="%d">%s below %s not drawn</text>`+"\n", svgMargin, height-8,
			view.Counted(narrow, "frame"), share)
	}
	w.WriteString("</svg>\n")
	return w.Flush()
}

// svgSubtitle is what the picture is of.
func svgSubtitle(r *view.Run, p *view.Profile, total int64, unit string) string {
	parts := []string{amount(total, unit)}
	switch t := p.Types[p.Primary].Name; {
	case t == "samples" && unit == "count": // of a map that has no name of its own
		parts[0] = view.Counted(int(total), "sample")
	case t != "" && unit == "count":
		parts[0] += " " + t
	}
	parts = append(parts, r.Wall.UTC().Format("2006-01-02 15:04:05Z"))
	if r.End != nil {
		parts = append(parts, amount(int64(r.End.Boot-r.Boot), "nanoseconds"))
	}
	if n := unfollowed(p); n > 0 {
		parts = append(parts, percent(n, total)+" of it in stacks that were not followed to their end")
	}
	if r.Loss.Records > 0 {
		parts = append(parts, view.Grouped(r.Loss.Records)+" events lost")
	}
	if p.Refused.Updates > 0 {
		parts = append(parts, p.Map.Name+" "+p.Refused.String())
	}
	if p.Omitted > 0 {
		parts = append(parts, view.Grouped(p.Omitted)+" rows below zero left out")
	}
	if p.AtLeast {
		parts = append(parts, "a lower bound, as programs delete elements")
	}
	return strings.Join(parts, "  ·  ")
}

// unfollowed is the weight of stacks that the kernel could not follow to their end.
func unfollowed(p *view.Profile) (n int64) {
	p.Each(func(s *view.Sample) {
		if s.Broken() {
			n = view.Plus(n, s.Values[p.Primary])
		}
	})
	return n
}

// svgLayout places the nodes that are wide enough, the widest if there are too many, and
// says how many are not, and what they are narrower than.
func svgLayout(t *view.Trie) (boxes []svgBox, narrow int, share string) {
	total := t.Total(0)
	// There are no shares of nothing: the root alone is drawn.
	if total <= 0 {
		return []svgBox{{0, svgMargin, svgWidth - 2*svgMargin}}, t.Len() - 1, "any share"
	}
	scale := (svgWidth - 2*svgMargin) / float64(total)
	// A picture of a hundred thousand boxes is one that viewers cannot open.
	for least := svgLeast; ; least *= 1.5 {
		boxes, narrow = boxes[:0], 0
		var place func(node int, x float64)
		place = func(node int, x float64) {
			w := float64(t.Total(node)) * scale
			if w < least {
				return
			}
			boxes = append(boxes, svgBox{node, x, w})
			for _, c := range t.Children(node) {
				place(int(c), x)
				// Children that are too narrow leave their room empty.
				x += float64(t.Total(int(c))) * scale
			}
		}
		place(0, svgMargin)
		if len(boxes) <= svgMost {
			return boxes, t.Len() - len(boxes), fmt.Sprintf("%.2g %%", 100*least/(svgWidth-2*svgMargin))
		}
	}
}

// fitted is as much of a text as n characters hold, "" if that says nothing.
func fitted(s string, n int) string {
	if n < 3 {
		return ""
	}
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	runes := []rune(s)
	return string(runes[:n-1]) + "…"
}

// xmlText is text within XML or HTML, in an attribute too.
func xmlText(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&#34;", "'", "&#39;").Replace(s)
}
