// Package diff compares the profiles of two runs: files in the forms that package export
// writes and that other tools write.
package diff

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hawktrace/hawk/internal/export"
	"github.com/hawktrace/hawk/internal/view"
)

// A Profile is what stacks of a run weigh.
type Profile struct {
	Map    string        // of the script, "" if it is not known
	Type   string        // what the weight counts
	Unit   string        // of the weight, "count" if there is none
	Length time.Duration // of the run, 0 if it is not known
	// Stacks are weights by stack: frames, the outermost first, joined by newlines.
	Stacks map[string]int64
	kinds  map[string]view.FrameKind // of frames, where they are known
}

// Total is the sum of the weights.
func (p *Profile) Total() (sum int64) {
	for _, n := range p.Stacks {
		sum += n
	}
	return sum
}

// A Diff is two profiles side by side.
type Diff struct {
	Old, New *Profile
	// Scale is what weights of the new one are multiplied by, and Why says it in words.
	Scale float64
	Why   string
}

// unlike is by how much lengths of runs may differ without being said: a tenth.
const unlike = 0.1

// Compare puts two profiles side by side. Runs whose lengths differ by more than a tenth
// are scaled by length; with normalize both weigh the same in all.
func Compare(old, new *Profile, normalize bool) (*Diff, error) {
	if old.Unit != new.Unit {
		return nil, fmt.Errorf("the files weigh in different units: %s and %s", old.Unit, new.Unit)
	}
	d := &Diff{Old: old, New: new, Scale: 1}
	a, b := old.Length.Seconds(), new.Length.Seconds()
	switch {
	case normalize && new.Total() > 0:
		d.Scale = float64(old.Total()) / float64(new.Total())
		d.Why = "both runs weigh the same in all"
	case a > 0 && b > 0 && (a/b > 1+unlike || b/a > 1+unlike):
		d.Scale = a / b
		d.Why = fmt.Sprintf("runs of %s and %s: the new one is scaled by length", span(old.Length), span(new.Length))
	}
	return d, nil
}

func span(d time.Duration) string { return export.Amount(int64(d), "nanoseconds") }

// A Row is a function with what it weighs itself.
type Row struct {
	Name     string
	Old, New float64 // shares of the old run's total; the new one scaled
}

// Change is by how much the share grew.
func (r *Row) Change() float64 { return r.New - r.Old }

// size is the change without its sign, such that equal ones are equal.
func (r *Row) size() float64 { return math.Round(1e9 * math.Abs(r.Change())) }

// Rows are all functions, those that changed most first.
func (d *Diff) Rows() []Row {
	rows := map[string]*Row{}
	base := float64(d.Old.Total())
	if base == 0 {
		base = float64(d.New.Total()) * d.Scale
	}
	add := func(p *Profile, to func(*Row) *float64, scale float64) {
		for stack, n := range p.Stacks {
			name := stack[strings.LastIndexByte(stack, '\n')+1:]
			r := rows[name]
			if r == nil {
				r = &Row{Name: name}
				rows[name] = r
			}
			*to(r) += float64(n) * scale / base
		}
	}
	if base > 0 {
		add(d.Old, func(r *Row) *float64 { return &r.Old }, 1)
		add(d.New, func(r *Row) *float64 { return &r.New }, d.Scale)
	}
	var out []Row
	for _, r := range rows {
		out = append(out, *r)
	}
	slices.SortFunc(out, func(a, b Row) int {
		return cmp.Or(cmp.Compare(b.size(), a.size()), cmp.Compare(a.Name, b.Name))
	})
	return out
}

// mostRows is how many functions the text shows.
const mostRows = 30

// WriteText writes the functions that changed most; least is the share that one must
// have in one of the runs.
func (d *Diff) WriteText(out io.Writer, least float64) error {
	w := bufio.NewWriter(out)
	before, after := d.Old.Total(), d.New.Total()
	fmt.Fprintf(w, "%s → %s", export.Amount(before, d.Old.Unit), export.Amount(after, d.New.Unit))
	if before > 0 {
		fmt.Fprintf(w, " (%+.1f %%)", 100*(float64(after)*d.Scale/float64(before)-1))
	}
	if d.Why != "" {
		fmt.Fprintf(w, "; %s", d.Why)
	}
	fmt.Fprintf(w, "\n%10s %9s %9s  %s\n", "CHANGE", "OLD", "NEW", "FUNCTION")
	shown, left := 0, 0
	for _, r := range d.Rows() {
		if max(r.Old, r.New) < least || r.size() == 0 {
			continue
		}
		if shown == mostRows {
			left++
			continue
		}
		shown++
		word := ""
		switch {
		case r.Old == 0:
			word = "  new"
		case r.New == 0:
			word = "  gone"
		}
		fmt.Fprintf(w, "%+8.1f %% %7.1f %% %7.1f %%  %s%s\n", 100*r.Change(), 100*r.Old, 100*r.New,
			view.Line(r.Name), word)
	}
	if shown == 0 {
		fmt.Fprintln(w, "nothing changed")
	}
	if left > 0 {
		fmt.Fprintf(w, "%d more functions changed less\n", left)
	}
	return w.Flush()
}

// WriteFolded writes a line for each stack of either run: its frames, what it weighed and
// what it weighs.
func (d *Diff) WriteFolded(out io.Writer) error {
	w := bufio.NewWriter(out)
	for _, stack := range d.stacks() {
		name := strings.ReplaceAll(strings.ReplaceAll(stack, ";", ":"), "\n", ";")
		fmt.Fprintf(w, "%s %d %d\n", view.Line(name), d.Old.Stacks[stack], d.scaled(stack))
	}
	return w.Flush()
}

func (d *Diff) scaled(stack string) int64 {
	return int64(float64(d.New.Stacks[stack])*d.Scale + .5)
}

// stacks are those of both runs, sorted.
func (d *Diff) stacks() []string {
	var out []string
	for s := range d.Old.Stacks {
		out = append(out, s)
	}
	for s := range d.New.Stacks {
		if _, ok := d.Old.Stacks[s]; !ok {
			out = append(out, s)
		}
	}
	slices.Sort(out)
	return out
}

// WriteFlame writes a flame graph to look into, as wide as the new run, whose colours say
// what became more and what less.
func (d *Diff) WriteFlame(out io.Writer, heading, version string) error {
	p := &view.Profile{Types: []view.SampleType{{Name: cmp.Or(d.New.Type, "weight"), Unit: d.New.Unit},
		{Name: "old", Unit: d.New.Unit}}}
	for _, stack := range d.stacks() {
		s := view.Sample{Values: []int64{d.scaled(stack), d.Old.Stacks[stack]}}
		for name := range strings.SplitSeq(stack, "\n") {
			kind := d.New.kinds[name]
			if kind == view.LabelFrame {
				kind = d.Old.kinds[name]
			}
			s.Stack = append(s.Stack, view.FrameAt{Name: view.Line(name), Kind: kind})
		}
		p.Samples = append(p.Samples, s)
	}
	about := "as wide as the new run; orange is more, blue less, by what functions weigh themselves"
	if d.Why != "" {
		about += " · " + d.Why
	}
	tree := view.NewTrie(p, func(f *view.FrameAt) string { return f.Name })
	return export.WriteDiff(out, tree, heading, about, version)
}

// number reads a weight.
func number(text string) (int64, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%.40q is no number", text)
	}
	return n, nil
}
