package export

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/base64"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hawktrace/hawk/internal/order"
	"github.com/hawktrace/hawk/internal/value"
	"github.com/hawktrace/hawk/internal/view"
)

// HTML is the whole run as one HTML file that asks nobody for anything: maps as tables and over
// time, flame graphs to look into, events, the script.
var HTML = define(Format{
	Name: "html", Ext: "html", Takes: Everything, Stamps: true, Sums: true, Past: true, Write: writeHTML,
	Doc: "the whole run in one HTML file: tables, histograms and counters over time, flame graphs, events, the script",
})

// runStyle is the file with the style of what is not a flame graph.
const runStyle = "run.css"

// Bounds of what the page shows; what is beyond is counted.
const (
	htmlRows   = 500
	htmlEvents = 1000
	htmlStacks = 10_000 // rows of a map among the records
)

// writeHTML writes the page: maps in the order of the script, flame graphs of those with stacks,
// the last events, the script, and the records that hawk view reads back.
func writeHTML(w io.Writer, r *view.Run, maps []*view.Map, o Options) error {
	var body strings.Builder
	for _, m := range r.Script.InOrder(maps) {
		if snap := r.Snapshot(m); snap != nil && !m.Profile() { // which are flame graphs
			htmlMap(&body, r, snap, o)
		}
	}
	var stacks []*view.Map
	for _, m := range maps {
		if m.Profile() {
			stacks = append(stacks, m)
		}
	}
	// Flame graphs share one part of the page, below the tables of maps.
	all := profiles(r, stacks)
	p := &page{
		title: view.Line(r.Script.Called()), heading: view.Line(r.Script.Called()), about: aboutRun(r, all),
		style: text(flameStyle) + text(runStyle), script: text(flameScript),
	}
	if len(all) > 0 {
		body.WriteString("<section><h2>stacks</h2></section>\n" + text(flameBody))
	}
	htmlEventTable(&body, r)
	p.body = body.String() + "<section><h2>script</h2><pre>" + xmlText(view.Lines(r.Script.Text)) + "</pre></section>\n"
	var data bytes.Buffer
	tries := triesOf(all, o)
	if err := writeTries(&data, r, all, tries); err != nil {
		return err
	}
	p.plain = flameTables(all, tries)
	// Without stacks there is nothing that the script could draw.
	if p.data = data.Bytes(); len(all) == 0 {
		p.script = ""
	}
	records, err := htmlRecords(r, maps)
	if err != nil {
		return err
	}
	p.body += records
	return p.write(w, o)
}

// RecordsMark is what stands in an HTML file of a run before its records: those of jsonl,
// packed, which browsers pass over and other views of hawk read.
const RecordsMark = `<script type="application/octet-stream" id="records">`

// htmlRecords are the records of what the file shows.
func htmlRecords(r *view.Run, maps []*view.Map) (string, error) {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	to := Records(z, maps, htmlStacks)
	items := []view.Item{r.Begin, r.Attached}
	for _, ev := range r.Events[max(len(r.Events)-htmlEvents, 0):] {
		items = append(items, ev)
	}
	// The last reading is among those at the end, and would be there twice.
	var looks []view.Snapshot
	for _, s := range r.Past {
		if last := r.Snapshot(s.Map); last == nil || s.End < last.End {
			looks = append(looks, s)
		}
	}
	looks = append(looks, r.Maps...)
	// Those of one map may all stand before those of the next.
	order.Stably(looks, func(a, b view.Snapshot) int { return cmp.Compare(a.End, b.End) })
	asleep := r.Asleep
	for _, s := range looks {
		// Sleep stands in front of the look that followed it.
		for len(asleep) > 0 && asleep[0].Boot <= s.End {
			items, asleep = append(items, asleep[0]), asleep[1:]
		}
		items = append(items, s)
	}
	for _, gap := range asleep {
		items = append(items, gap)
	}
	// A run that goes on is saved as if it ended now.
	end := view.End{Cause: "saved", Boot: r.Boot, Loss: r.Loss}
	for _, s := range looks {
		end.Boot = max(end.Boot, s.End)
	}
	if r.End != nil {
		end = *r.End
	}
	for _, item := range append(items, end) {
		if err := to.Take(item); err != nil {
			return "", err
		}
	}
	err := z.Close()
	return RecordsMark + base64.StdEncoding.EncodeToString(packed.Bytes()) + "</script>\n", err
}

// htmlMap writes a map: how it changed, and its rows, the heaviest first.
func htmlMap(b *strings.Builder, r *view.Run, snap *view.Snapshot, o Options) {
	m := snap.Map
	keys, title := keyColumns(m), m.Name
	if len(keys) > 0 {
		title += "[" + strings.Join(keys, ", ") + "]"
	}
	fmt.Fprintf(b, "<section>\n<h2>%s</h2>\n<p>%s", xmlText(title), m.Kind)
	if m.Unit != view.NoUnit {
		fmt.Fprintf(b, ", %s", m.Unit)
	}
	if m.Keyed() {
		fmt.Fprintf(b, ", %s", view.Counted(snap.Rows.Len(), "key"))
	}
	if m.Help != "" {
		fmt.Fprintf(b, ": %s", xmlText(m.Help))
	}
	if snap.Refused.Updates > 0 {
		fmt.Fprintf(b, " · %s", snap.Refused)
	}
	b.WriteString("</p>\n")
	htmlPast(b, r, m)
	most := int64(0)
	for i := range snap.Rows.Len() {
		row := snap.Rows.At(i)
		most = max(most, m.Weigh(row.Value))
	}
	lines, shown := htmlLines(m, snap.Rows, o)
	switch {
	case m.Kind != view.Histogram && !m.Keyed(): // one number has nothing to be compared with
		most = 0
	case m.Kind == view.Histogram: // whose bars are of buckets
		most = 0
		for _, line := range lines {
			most = max(most, line.weight)
		}
	}
	b.WriteString("<div class=\"scroll\"><table><tr>")
	for i, name := range beside(nil, append(keys, valueColumns(m)...)) {
		class := ""
		// Columns hold numbers throughout or nowhere, so that the first line tells.
		if len(lines) > 0 && i < len(lines[0].cells) && lines[0].cells[i].Number {
			class = numeric
		}
		fmt.Fprintf(b, "<th%s>%s</th>", class, xmlText(name))
	}
	b.WriteString("<th></th></tr>\n")
	for _, line := range lines {
		b.WriteString("<tr>")
		for i, c := range line.cells {
			class, text := "", c.Text
			if c.Number {
				class = numeric
				// Keys stay as they are, and so do members of records: process IDs have no commas.
				if n, err := strconv.ParseInt(text, 10, 64); err == nil && i >= len(keys) && m.Kind != view.Record {
					text = view.Grouped(n)
				}
			}
			if m.Kind == view.Series && i == len(keys) { // for people: few intervals begin at a fraction of a second
				text = strings.TrimSuffix(strings.TrimRight(strings.TrimSuffix(text, "Z"), "0"), ".")
				text = strings.Replace(text, "T", " ", 1)
			}
			fmt.Fprintf(b, "<td%s>%s</td>", class, xmlText(text))
		}
		fmt.Fprintf(b, "<td>%s</td></tr>\n", htmlBar(line.weight, most))
	}
	b.WriteString("</table></div>\n")
	// A row is a key, also where it takes a line for each bucket or point.
	if left := snap.Rows.Len() - shown; left > 0 && m.Weight != view.NoWeight {
		fmt.Fprintf(b, "<p>%s more, which weigh less</p>\n", view.Counted(left, "row"))
	} else if left > 0 {
		fmt.Fprintf(b, "<p>%s more</p>\n", view.Counted(left, "row"))
	}
	b.WriteString("</section>\n")
}

// numeric is the class of cells with numbers.
const numeric = ` class="n"`

// An htmlLine is a line of a table and what its bar shows.
type htmlLine struct {
	cells  []Cell
	weight int64
}

// htmlLines are the lines of the first rows, one for each bucket or point where values have those, and how many rows
// they show.
func htmlLines(m *view.Map, rows view.Rows, o Options) (lines []htmlLine, shown int) {
	var weight int64
	w := &tableWriter{emit: func(cells []Cell) {
		// A bar of a histogram is of one bucket, whose count stands last.
		if m.Kind == view.Histogram && len(cells) > 0 {
			weight, _ = strconv.ParseInt(cells[len(cells)-1].Text, 10, 64)
		}
		lines = append(lines, htmlLine{slices.Clone(cells), weight})
	}}
	// Rows that weigh the same are in the order of their keys.
	first := rows.Arrange(view.ByWeight, m.Weigh)
	for ; shown < rows.Len() && len(lines) < htmlRows; shown++ {
		row := rows.At(int(first[shown]))
		weight = m.Weigh(row.Value)
		w.rowOf(m, row, o)
	}
	return lines, shown
}

// htmlBar is a bar beside a row, as wide as its part of the heaviest.
func htmlBar(n, most int64) string {
	if most <= 0 || n <= 0 {
		return ""
	}
	return fmt.Sprintf(`<svg class="w" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">`+
		`<rect width="%.1f" height="10"/></svg>`, 100*float64(n)/float64(most))
}

// htmlPast draws how a map changed: a histogram as a map of heat, a column for each look at it, a number as a line, and
// others as a line of how fast they grew.
func htmlPast(b *strings.Builder, r *view.Run, m *view.Map) {
	var past []*view.Snapshot
	for i := range r.Past {
		if r.Past[i].Map == m {
			past = append(past, &r.Past[i])
		}
	}
	// Looks that are thinned out may have left the last one out.
	if last := r.Snapshot(m); last != nil && len(past) > 0 && past[len(past)-1].End < last.End {
		past = append(past, last)
	}
	// Two points are no picture.
	if len(past) < 3 {
		return
	}
	span := past[len(past)-1].End - r.Boot
	length := amount(int64(span), "nanoseconds")
	switch {
	case m.Kind == view.Histogram:
		fmt.Fprintf(b, htmlOverTime, "buckets over time")
		htmlHeat(b, r.Boot, past)
		asleep := htmlAsleep(b, r, span)
		fmt.Fprintf(b, "</svg>\n<p>buckets over %s, the smallest values below%s</p>\n", length, asleep)
	case m.Kind == view.Counter, m.Kind == view.Summary:
		last, before := int64(0), r.Boot
		rates := make([]float64, len(past))
		for i, s := range past {
			// Rest is of the rows that a look leaves out: the curve is of the whole map.
			sum := s.Rest
			for n := range s.Rows.Len() {
				sum = view.Plus(sum, m.Count(s.Rows.At(n).Value))
			}
			// A map that was cleared counts from 0 again, and has not lost anything.
			rates[i] = float64(max(sum-last, 0)) / max((s.End-before).Seconds(), leastSpan)
			last, before = sum, s.End
		}
		fmt.Fprintf(b, htmlOverTime, "per second over time")
		htmlCurve(b, r.Boot, past, rates)
		asleep := htmlAsleep(b, r, span)
		fmt.Fprintf(b, "</svg>\n<p>up to %s per second, over %s%s</p>\n", rate(slices.Max(rates), m), length, asleep)
	// Gauges of several keys do not add up to a curve.
	case m.Kind == view.Gauge && !m.Keyed():
		numbers := make([]float64, len(past))
		for i, s := range past {
			if s.Rows.Len() > 0 {
				numbers[i] = m.Number(s.Rows.At(0).Value)
			}
		}
		fmt.Fprintf(b, htmlOverTime, "value over time")
		htmlCurve(b, r.Boot, past, numbers)
		asleep := htmlAsleep(b, r, span)
		fmt.Fprintf(b, "</svg>\n<p>from %s to %s, over %s%s</p>\n", rate(slices.Min(numbers), m),
			rate(slices.Max(numbers), m), length, asleep)
	}
}

// htmlCurve draws a number for each look, from 0 on.
func htmlCurve(b *strings.Builder, boot time.Duration, past []*view.Snapshot, numbers []float64) {
	span := max(float64(past[len(past)-1].End-boot), 1)
	// 0 is part of the picture: a small change must not look like a large one.
	low, high := min(slices.Min(numbers), 0), slices.Max(numbers)
	b.WriteString(`<polyline points="`)
	for i, n := range numbers {
		if i > 0 {
			b.WriteByte(' ')
		}
		fmt.Fprintf(b, "%.2f,%.2f", 100*float64(past[i].End-boot)/span, 100-95*(n-low)/max(high-low, 1e-9))
	}
	b.WriteString(`"/>`)
}

// htmlAsleep hatches the time in which nobody looked, and says so in words.
func htmlAsleep(b *strings.Builder, r *view.Run, span time.Duration) string {
	const apart = 0.7 // lines of the hatching
	said := ""
	for _, gap := range r.Asleep {
		at := func(t time.Duration) float64 { return 100 * float64(t-r.Boot) / max(float64(span), 1) }
		// Sleep may begin before the first look and last beyond the last.
		from, to := max(at(gap.From), 0), min(at(gap.Boot), 100)
		if from >= to {
			continue
		}
		said = "; hatched: asleep or stopped"
		b.WriteString(`<path d="`)
		for x := from; x < to; x += apart {
			fmt.Fprintf(b, "M%.2f 100L%.2f 0", x, min(x+apart, to))
		}
		b.WriteString(`"/>`)
	}
	return said
}

// rate is how much of what a map counts came per second: 89,130, 4,096 bytes, or 0.25 where it is little.
func rate(n float64, m *view.Map) string {
	text := view.Grouped(int64(math.Round(n)))
	if math.Abs(n) < 10 {
		text = strconv.FormatFloat(n, 'g', 2, 64)
	}
	// Summaries count values, which have no unit.
	if m.Kind != view.Summary && m.Unit != view.NoUnit {
		text += " " + m.Unit.String()
	}
	return text
}

// leastSpan is the time that what came between two looks is taken to have taken at least,
// in seconds: the last look is made when the run ends, which may be at once after another.
const leastSpan = 0.02

// htmlOverTime begins a picture over time, with what it shows for who cannot see it.
const htmlOverTime = `<svg class="t" viewBox="0 0 100 100" preserveAspectRatio="none" role="img" aria-label="%s">`

// htmlHeat draws what came into each bucket between two looks, per time: a look that came
// later does not look like more.
func htmlHeat(b *strings.Builder, boot time.Duration, past []*view.Snapshot) {
	columns := make([][]float64, len(past))
	most, first, end := 0.0, 1<<30, 0
	var before []float64
	last := boot
	for i, s := range past {
		dt := max((s.End - last).Seconds(), leastSpan)
		last = s.End
		var sum []float64
		put := func(v value.Value) {
			h, _ := v.(value.Hist)
			for k, bucket := range h.Buckets {
				// Histograms of keys may be of different lengths.
				if k >= len(sum) {
					sum = append(sum, 0)
				}
				sum[k] += float64(bucket.Count)
			}
		}
		for n := range s.Rows.Len() {
			put(s.Rows.At(n).Value)
		}
		put(s.Others)
		columns[i] = slices.Clone(sum)
		for k := range sum {
			if k < len(before) {
				columns[i][k] = max(sum[k]-before[k], 0)
			}
			columns[i][k] /= dt
			// Only buckets that ever got something have a line in the picture.
			if columns[i][k] > 0 {
				most, first, end = max(most, columns[i][k]), min(first, k), max(end, k+1)
			}
		}
		before = sum
	}
	if most == 0 {
		return
	}
	height := 100 / float64(end-first)
	length := max((past[len(past)-1].End - boot).Seconds(), 1e-9)
	since := boot
	for i, column := range columns {
		x := 100 * (since - boot).Seconds() / length
		width := 100*(past[i].End-boot).Seconds()/length - x
		since = past[i].End
		for k, n := range column {
			// Little is not drawn as nothing: opacity begins at 0.12.
			if n > 0 {
				fmt.Fprintf(b, `<rect x="%.2f" y="%.2f" width="%.2f" height="%.2f" fill-opacity="%.2f"/>`,
					x, 100-float64(k-first+1)*height, width, height, 0.12+0.88*n/most)
			}
		}
	}
}

// htmlEventTable writes the last events.
func htmlEventTable(b *strings.Builder, r *view.Run) {
	if len(r.Events) == 0 {
		return
	}
	from := max(len(r.Events)-htmlEvents, 0)
	fmt.Fprintf(b, "<section><h2>events</h2>\n<p>%s", view.Grouped(int64(len(r.Events))+int64(r.Dropped)))
	if left := int64(from) + int64(r.Dropped); left > 0 {
		fmt.Fprintf(b, ", the last %s of them", view.Grouped(len(r.Events)-from))
	}
	b.WriteString("</p>\n<div class=\"scroll\"><table><tr><th>time</th><th>cpu</th><th>pid</th><th>text</th></tr>\n")
	for i := from; i < len(r.Events); i++ {
		ev := &r.Events[i]
		cpu, pid := "", ""
		if ev.Stamped {
			cpu, pid = fmt.Sprint(ev.CPU), fmt.Sprint(ev.PID)
		}
		// The head of the page has the date, which is cut off here.
		fmt.Fprintf(b, "<tr><td>%s</td><td class=\"n\">%s</td><td class=\"n\">%s</td><td>%s</td></tr>\n",
			strings.TrimSuffix(wall(r, ev.Boot)[11:], "Z"), cpu, pid,
			xmlText(view.Line(ev.Said())))
	}
	b.WriteString("</table></div></section>\n")
}
