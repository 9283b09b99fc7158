package term

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hawktrace/hawk/internal/order"
	"github.com/hawktrace/hawk/internal/ui/glyph"
	"github.com/hawktrace/hawk/internal/ui/live"
	"github.com/hawktrace/hawk/internal/ui/tty"
	"github.com/hawktrace/hawk/internal/view"
)

// A trieOf is a tree of stacks, kept while it is that of what is shown.
type trieOf struct {
	snap   *view.Snapshot
	want   live.Want
	merge  string
	invert bool
	named  uint64
	trie   *view.Trie
	broken int64 // weight in stacks that were not followed to their end
	stacks int
	left   int // rows that weigh less than nothing
}

// profile is the tree of a pane; nil if its map holds nothing. It is kept until the map was read
// again, names of frames have been found, or the pane shows something else: to merge stacks takes
// long.
func (m *Model) profile(p *pane) *trieOf {
	want, snap := m.want(p), m.State.Snapshot(p.m)
	merge := p.merge
	// The list of functions is of all stacks, whatever the flame graph is merged by.
	if !p.flame {
		merge = ""
	}
	named := m.State.Named() // before rows are made: what is named meanwhile is not in them
	old := &p.trie
	if old.trie != nil && snap != nil && old.snap == snap && old.want == want && old.merge == merge &&
		old.invert == p.invert && old.named == named {
		return old
	}
	rows := m.State.Rows(p.m, want)
	if rows.Len() == 0 {
		return nil
	}
	prof := view.NewProfile(&view.Snapshot{Map: p.m, Rows: rows})
	out := trieOf{
		snap: snap, want: want, merge: merge, invert: p.invert, named: named, stacks: prof.Len(),
		left: prof.Omitted,
	}
	prof.Each(func(s *view.Sample) {
		if s.Broken() {
			out.broken = view.Plus(out.broken, s.Values[prof.Primary])
		}
	})
	if merge != "" {
		prof = mergedBy(prof, merge, p.invert)
	}
	out.trie = view.NewTrie(prof, func(f *view.FrameAt) string { return f.Name })
	p.trie = out
	return &p.trie
}

// mergedBy are the parts of stacks from a function on, wherever it stands: what it calls,
// or with callers who called it, the nearest first.
func mergedBy(p *view.Profile, name string, callers bool) *view.Profile {
	out := view.Profile{Map: p.Map, Types: p.Types, Primary: p.Primary}
	p.Each(func(s *view.Sample) {
		path := s.AppendPath(nil)
		// The outermost call counts, so that a function that calls itself does so once.
		i := slices.IndexFunc(path, func(f view.FrameAt) bool { return f.Name == name })
		if i < 0 {
			return
		}
		if callers {
			path = slices.Clone(path[:i+1])
			slices.Reverse(path)
		} else {
			path = path[i:]
		}
		out.Samples = append(out.Samples, view.Sample{Stack: path, Values: slices.Clone(s.Values)})
	})
	return &out
}

// drawFunctions draws the functions that weigh most.
func (m *Model) drawFunctions(g *tty.Grid, b box, n int) string {
	p := m.panes[n]
	t := m.profile(p)
	if t == nil {
		g.Put(b.x, b.y, b.w, m.nothing(p), m.Theme.dim())
		return m.about(p)
	}
	funcs := p.functions(t)
	// There may be fewer functions than when the cursor was set.
	p.cursor = min(max(p.cursor, 0), max(len(funcs)-1, 0))
	from := p.scroll(len(funcs), b.h-1)
	shown := funcs[min(from, len(funcs)):]
	shown = shown[:min(len(shown), max(b.h-1, 0))]
	names := p.functionNames()
	texts, widths := p.functionTexts(t, shown)
	if b.w < 60 { // the shares say enough
		widths[0], widths[2] = 0, 0
		names[1], names[3] = names[0], names[2]
	}
	// Bars need most room, and say nothing that the numbers do not say.
	bar := 0
	if b.w >= 80 {
		bar = min(b.w/6, maxBar)
	}
	// The texts before and behind the bars.
	before, behind := b.x, b.x
	x := b.x
	for c := range names {
		w := b.x + b.w - x
		if c < len(widths) {
			w = widths[c]
		}
		if w <= 0 {
			continue
		}
		m.drawFunctionColumn(g, box{x, b.y, w, b.h}, n, c, names[c], texts)
		if x += w + 2; c == 3 && bar > 0 {
			before = x - 2
			all := max(float64(t.trie.Total(0)), 1)
			for i := range shown {
				drawBar(g, x, b.y+1+i, bar, float64(shown[i].Self)/all, m.Theme.bar())
			}
			x += bar + 2
			behind = x
		}
	}
	for i := range shown {
		m.hits = append(m.hits, hit{box: box{b.x, b.y + 1 + i, b.w, 1}, pane: n, column: -1, row: from + i})
		if n == m.focus && from+i == p.cursor {
			choose(g, b.x, before, b.y+1+i)
			choose(g, behind, b.x+b.w, b.y+1+i)
		}
	}
	return m.aboutProfile(p, t)
}

// functionNames are the names of the columns of functions. Shares have none: those of the numbers
// in front of them stand for both.
func (p *pane) functionNames() []string {
	names := []string{"SELF", "", "TOTAL", "", "FUNCTION"}
	sort := [...]int{0, 2, 4}[p.functionSort()]
	names[sort] = map[bool]string{false: "▼", true: "▲"}[p.reverse] + names[sort]
	return names
}

// functionTexts are the cells of functions, and how wide their numbers are.
func (p *pane) functionTexts(t *trieOf, funcs []view.Function) (texts [][]string, widths []int) {
	unit := live.WeightUnit(p.m)
	all := float64(t.trie.Total(0))
	widths = []int{5, 7, 6, 7}
	texts = make([][]string, len(funcs))
	for i, f := range funcs {
		texts[i] = []string{live.Amount(float64(f.Self), unit), live.Share(float64(f.Self), all),
			live.Amount(float64(f.Total), unit), live.Share(float64(f.Total), all), glyph.Safe(f.Name)}
		for c := range widths {
			widths[c] = max(widths[c], glyph.Width(texts[i][c]))
		}
	}
	return texts, widths
}

// drawFunctionColumn draws column c of functions, numbers to the right.
func (m *Model) drawFunctionColumn(g *tty.Grid, b box, n, c int, name string, texts [][]string) {
	const function = 4 // the column of what is no number
	fill := 0
	if c < function {
		fill = max(b.w-glyph.Width(name), 0)
	}
	g.Put(b.x+fill, b.y, b.w, name, m.Theme.head())
	// A click on a share sorts by the number in front of it.
	m.hits = append(m.hits, hit{box: box{b.x, b.y, b.w, 1}, pane: n, column: []int{0, 0, 1, 1, 2}[c], row: -1})
	style := m.Theme.text()
	if c == function && !m.panes[n].filter.empty() {
		style = style.With(tty.Underline)
	}
	for i := range texts {
		text, x := texts[i][c], b.x
		if c < function {
			x += b.w - glyph.Width(text)
		}
		g.Put(x, b.y+1+i, b.w, text, style)
	}
}

// functionSort is the column that functions are sorted by: self, total, name.
func (p *pane) functionSort() int { return min(max(p.sort, 0), 2) }

// functions are those of a tree that a pane shows, in order.
func (p *pane) functions(t *trieOf) []view.Function {
	funcs := t.trie.Functions()
	// Parts of keys stand in stacks as labels. They are no functions.
	funcs = slices.DeleteFunc(funcs, func(f view.Function) bool {
		return f.Kind == view.LabelFrame || !p.filter.matches(f.Name)
	})
	// A tree has functions by what they weigh themselves, which is column 0.
	switch p.functionSort() {
	case 1:
		order.Stably(funcs, func(a, b view.Function) int { return compare(b.Total, a.Total) })
	case 2:
		order.Stably(funcs, func(a, b view.Function) int { return strings.Compare(a.Name, b.Name) })
	}
	if p.reverse {
		slices.Reverse(funcs)
	}
	return funcs
}

// compare orders two weights.
func compare(a, b int64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// aboutProfile describes a profile: how much there is of it, and what of it is not to be trusted.
func (m *Model) aboutProfile(p *pane, t *trieOf) string {
	all := t.trie.Total(0)
	text := fmt.Sprintf("profile  %s  %s", live.Amount(float64(all), live.WeightUnit(p.m)),
		view.Counted(t.stacks, "stack"))
	if left := m.State.Left(p.m, m.want(p)); left > 0 {
		text += "  " + view.Grouped(left) + " more were not kept"
	}
	if p.of != live.OfRun {
		text += "  " + p.of.String()
	}
	if t.broken > 0 {
		text += "  not followed to the end " + live.Share(float64(t.broken), float64(all))
	}
	if t.left > 0 {
		text += fmt.Sprintf("  %d rows below zero left out", t.left)
	}
	if !p.filter.empty() {
		text += "  /" + glyph.Safe(p.filter.text)
	}
	return text
}

// find is the node that names lead to from the root, and how many of them do.
// Names are kept rather than nodes: each tree numbers its nodes anew.
func find(t *view.Trie, names []string) (node, found int) {
	for _, name := range names {
		next := -1
		for _, c := range t.Children(node) {
			if t.Label(int(c)) == name {
				next = int(c)
				break
			}
		}
		if next < 0 {
			break
		}
		node, found = next, found+1
	}
	return node, found
}

// drawFlame draws the tree: a box as wide as its function weighs with all that it calls.
func (m *Model) drawFlame(g *tty.Grid, b box, p *pane) string {
	t := m.profile(p)
	if t == nil || b.h <= 0 || b.w <= 0 {
		g.Put(b.x, b.y, b.w, m.nothing(p), m.Theme.dim())
		return m.about(p)
	}
	trie := t.trie
	root, n := find(trie, p.root)
	// As much of the path stays as the new tree has.
	p.root = p.root[:n]
	sel, n := find(trie, p.sel)
	// The selection never leaves what is zoomed to.
	if p.sel = p.sel[:n]; len(p.sel) < len(p.root) || !slices.Equal(p.sel[:len(p.root)], p.root) {
		p.sel, sel = slices.Clone(p.root), root
	}
	// With a merged function, i means its callers; else that the root is at the bottom.
	d := flameDrawing{m: m, g: g, p: p, t: trie, sel: sel, box: b, up: p.invert && p.merge == ""}
	d.all = float64(trie.Total(0))
	// The selected function stays in sight.
	depth := trie.Depth(sel) - trie.Depth(root)
	if lines := b.h - 1; depth >= lines {
		d.skip = depth - lines + 1
	}
	// The last line is for the path to the selected function.
	d.box.h--
	d.node(root, b.x, b.w, 0)
	foot := strings.Join(append([]string{"all"}, p.sel...), " > ")
	if d.narrow > 0 {
		foot = view.Grouped(d.narrow) + " narrower ones not drawn  " + foot
	}
	g.Put(b.x, b.y+b.h-1, b.w, tail(glyph.Safe(foot), b.w), m.Theme.dim())
	text := m.aboutProfile(p, t)
	if p.merge != "" {
		word := "called by "
		if p.invert {
			word = "callers of "
		}
		text = word + glyph.Safe(p.merge) + "  " + text
	}
	if !p.filter.empty() {
		text += "  matches " + live.Share(float64(d.matched(0)), d.all)
	}
	return text + fmt.Sprintf("  self %s  total %s", live.Share(float64(trie.Self(sel, trie.Primary)), d.all),
		live.Share(float64(trie.Total(sel)), d.all))
}

// tail is the end of a text where not all of it fits.
func tail(s string, width int) string {
	for glyph.Width(s) > width && s != "" {
		if i := strings.Index(s, " > "); i >= 0 && i+3 < len(s) {
			s = "… " + s[i+3:]
			if glyph.Width(s) <= width || !strings.Contains(s, " > ") {
				break
			}
			s = strings.TrimPrefix(s, "… ")
			continue
		}
		break
	}
	return s
}

// A flameDrawing is a flame graph being drawn.
type flameDrawing struct {
	m      *Model
	g      *tty.Grid
	p      *pane
	t      *view.Trie
	sel    int
	box    box
	up     bool // the root is at the bottom
	skip   int  // levels above that are out of sight
	all    float64
	narrow int
}

// node draws a node and what is below it, in some columns.
func (d *flameDrawing) node(n, x, width, level int) {
	// Levels below the box are not walked: trees can be deep.
	if level-d.skip >= d.box.h {
		return
	}
	if level >= d.skip {
		d.draw(n, x, width, level-d.skip)
	}
	total := float64(d.t.Total(n))
	if total <= 0 {
		return
	}
	at, left := float64(x), 0
	for _, c := range d.t.Children(n) {
		c := int(c)
		w := float64(width) * float64(d.t.Total(c)) / total
		// Edges are rounded, not widths: so boxes meet, and their sum is the width of the caller.
		from, to := int(at+0.5), int(at+w+0.5)
		at += w
		// Boxes that are narrower than a column are counted, with all that is below them.
		if to <= from {
			left += 1 + d.below(c)
			continue
		}
		d.node(c, from, to-from, level+1)
	}
	if d.narrow += left; left > 0 && level+1 >= d.skip && level+1-d.skip < d.box.h && int(at) < x+width {
		d.g.Set(min(int(at), x+width-1), d.row(level+1-d.skip), "…", d.m.Theme.dim())
	}
}

// below is how many nodes are below one.
func (d *flameDrawing) below(n int) (sum int) {
	for _, c := range d.t.Children(n) {
		sum += 1 + d.below(int(c))
	}
	return sum
}

// row is the line of a level.
func (d *flameDrawing) row(level int) int {
	if d.up {
		return d.box.y + d.box.h - 1 - level
	}
	return d.box.y + level
}

// draw draws the box of a node: its name, its share where there is room.
func (d *flameDrawing) draw(n, x, width, level int) {
	name := glyph.Safe(d.t.Label(n))
	y := d.row(level)
	style := d.m.Theme.frame(d.t.Kind(n), name)
	if !d.p.filter.empty() && n > 0 && d.p.filter.matches(d.t.Label(n)) {
		style = style.With(tty.Underline | tty.Bold)
	}
	if n == d.sel {
		style = style.With(tty.Reverse)
	}
	d.g.Fill(x, y, width, " ", style)
	// A line at the left edge parts neighbours of one colour.
	d.g.Set(x, y, "▏", style)
	share := live.Share(float64(d.t.Total(n)), d.all)
	if width > 2 {
		if d.t.Kind(n) != view.LabelFrame && glyph.Width(name) > width-1 {
			name = view.Unqualified(name)
		}
		d.g.Put(x+1, y, width-1, name, style)
	}
	// A share is shown whole or not at all.
	if width > glyph.Width(name)+glyph.Width(share)+4 {
		d.g.Put(x+width-1-glyph.Width(share), y, width, share, style)
	}
}

// matched is the weight of all stacks in which a function matches.
func (d *flameDrawing) matched(n int) (sum int64) {
	// The root is no function. What is below a match is part of its weight already.
	if n > 0 && d.p.filter.matches(d.t.Label(n)) {
		return d.t.Total(n)
	}
	for _, c := range d.t.Children(n) {
		sum = view.Plus(sum, d.matched(int(c)))
	}
	return sum
}

// move selects another function of a flame graph: the one above or below, or a sibling.
func (p *pane) move(dx, dy int) {
	t := p.trie.trie
	if t == nil {
		return
	}
	at, n := find(t, p.sel)
	p.sel = slices.Clone(p.sel[:n])
	switch {
	case dy < 0 && len(p.sel) > len(p.root):
		p.sel = p.sel[:len(p.sel)-1]
	case dy > 0 && len(t.Children(at)) > 0:
		p.sel = append(p.sel, t.Label(int(t.Children(at)[0])))
	case dx != 0 && len(p.sel) > len(p.root):
		siblings := t.Children(t.Parent(at))
		if i := slices.Index(siblings, int32(at)) + dx; i >= 0 && i < len(siblings) {
			p.sel[len(p.sel)-1] = t.Label(int(siblings[i]))
		}
	}
}

// next selects the next function that the search finds, or the one before.
func (p *pane) next(back bool) bool {
	t := p.trie.trie
	if t == nil || p.filter.empty() {
		return false
	}
	var order []int
	var walk func(n int)
	walk = func(n int) {
		order = append(order, n)
		for _, c := range t.Children(n) {
			walk(int(c))
		}
	}
	root, _ := find(t, p.root)
	walk(root)
	at, _ := find(t, p.sel)
	i := slices.Index(order, at)
	// Each node is asked once, so that a search without a match ends.
	for range order {
		if back {
			// All but one further, around the end, is one back.
			i += len(order) - 1
		} else {
			i++
		}
		i %= len(order)
		if n := order[i]; n > 0 && p.filter.matches(t.Label(n)) {
			p.sel = pathTo(t, n)
			return true
		}
	}
	return false
}

// pathTo are the names that lead to a node.
func pathTo(t *view.Trie, n int) (names []string) {
	for ; n > 0; n = t.Parent(n) {
		names = append(names, t.Label(n))
	}
	slices.Reverse(names)
	return names
}
