// Package diff compares two runs by their files: stacks and what they weigh, numbers, histograms.
package diff

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/hawktrace/hawk/internal/export"
	"github.com/hawktrace/hawk/internal/order"
	"github.com/hawktrace/hawk/internal/saved"
	"github.com/hawktrace/hawk/internal/view"
)

// A Diff is two profiles side by side.
type Diff struct {
	Old, New *saved.Profile
	Scaling
}

// Scaling is what numbers of the new run are multiplied by, and why, in words.
type Scaling struct {
	Scale float64
	Why   string
}

// unlike is by how much lengths of runs may differ without being said: a tenth.
const unlike = 0.1

// scaling makes runs comparable: those whose lengths differ by more than a tenth are scaled by length, with normalize
// both come to the same in all.
func scaling(old, new time.Duration, before, after float64, normalize bool) Scaling {
	a, b := old.Seconds(), new.Seconds()
	switch {
	// The option wins over lengths: equal totals are what it asks for.
	case normalize && after > 0:
		return Scaling{before / after, "both runs weigh the same in all"}
	// A file that does not say how long its run took is compared as it is.
	case a > 0 && b > 0 && (a/b > 1+unlike || b/a > 1+unlike):
		return Scaling{a / b, fmt.Sprintf("runs of %s and %s: the new one is scaled by length", span(old), span(new))}
	}
	return Scaling{Scale: 1}
}

// Compare puts two profiles side by side.
func Compare(old, new *saved.Profile, normalize bool) (*Diff, error) {
	// A file that does not say its unit is of the other's.
	old.Unit = cmp.Or(old.Unit, new.Unit, "count")
	new.Unit = cmp.Or(new.Unit, old.Unit)
	// Numbers of two units have no difference.
	if old.Unit != new.Unit {
		return nil, fmt.Errorf("the files weigh in different units: %s and %s", old.Unit, new.Unit)
	}
	return &Diff{old, new, scaling(old.Length, new.Length, old.Total(), new.Total(), normalize)}, nil
}

// span is a length of time as messages have it.
func span(d time.Duration) string { return export.Amount(float64(d), "nanoseconds") }

// A Row is a function with what it weighs itself.
type Row struct {
	Name     string
	Old, New float64 // shares of the old run's total; the new one scaled
}

// Change is by how much the share grew.
func (r *Row) Change() float64 { return r.New - r.Old }

// size is the change without its sign, such that equal ones are equal.
// Floats are summed in the order of Go's maps, so that the last bits differ from run to run.
func (r *Row) size() float64 { return math.Round(1e9 * math.Abs(r.Change())) }

// base is what shares are of: the old run, unless it weighs nothing.
func (d *Diff) base() float64 {
	if n := d.Old.Total(); n != 0 {
		return n
	}
	return d.New.Total() * d.Scale
}

// Rows are all functions, those that changed most first.
func (d *Diff) Rows() []Row {
	// Floats would come to other sums in another order, and stacks have none.
	type weights struct{ old, new view.Sum }
	all := map[string]*weights{}
	add := func(p *saved.Profile, to func(*weights) *view.Sum) {
		// Own weight belongs to the innermost frame, which is last.
		p.Own(func(name string, n int64) {
			w := all[name]
			if w == nil {
				w = &weights{}
				all[name] = w
			}
			to(w).Add(n)
		})
	}
	base := d.base()
	// Files may have weights below zero: of such a total, shares would have the wrong sign.
	if base > 0 {
		add(d.Old, func(w *weights) *view.Sum { return &w.old })
		add(d.New, func(w *weights) *view.Sum { return &w.new })
	}
	var out []Row
	for name, w := range all {
		out = append(out, Row{Name: name, Old: w.old.Float() / base, New: w.new.Float() * d.Scale / base})
	}
	order.By(out, func(a, b Row) int {
		return cmp.Or(cmp.Compare(b.size(), a.size()), cmp.Compare(a.Name, b.Name))
	})
	return out
}

// mostRows is how many functions the text shows.
const mostRows = 30

// leastShown is the change that is +0.1 % in the text, rounded; what is less is +0.0 %.
const leastShown = 0.0005

// WriteText writes the functions that changed most; least is the share that one must
// have in one of the runs.
func (d *Diff) WriteText(out io.Writer, least float64) error {
	w := bufio.NewWriter(out)
	d.writeText(w, least, 0)
	return w.Flush()
}

// short is a name that has so many columns, without its middle if it is longer: names of types that are made of others
// differ at both ends. Fewer columns than that are no bound.
func short(name string, columns int) string {
	const least = 16
	runes := []rune(name)
	if columns < least || len(runes) <= columns {
		return name
	}
	head := (columns - 1) / 2
	return string(runes[:head]) + "…" + string(runes[len(runes)-(columns-1-head):])
}

// writeText writes the functions whose own share changed most; width is that of the terminal, 0 if there is none.
func (d *Diff) writeText(w *bufio.Writer, least float64, width int) {
	before, after := d.Old.Total(), d.New.Total()
	fmt.Fprintf(w, "%s → %s", export.Amount(before, d.Old.Unit), export.Amount(after, d.New.Unit))
	if before > 0 {
		fmt.Fprintf(w, " (%+.1f %%)", 100*(after*d.Scale/before-1))
	}
	if d.Why != "" {
		fmt.Fprintf(w, "; %s", d.Why)
	}
	fmt.Fprintf(w, "\n%10s %9s %9s  %s\n", "CHANGE", "OLD", "NEW", "FUNCTION")
	shown, left := 0, 0
	for _, r := range d.Rows() {
		// A function that has not changed is not among those that changed less, either.
		if max(r.Old, r.New) < least || r.size() == 0 {
			continue
		}
		// A function whose line would say +0.0 % is counted below. One that came or went is told of, however
		// little it weighs.
		if shown == mostRows || r.Old > 0 && r.New > 0 && math.Abs(r.Change()) < leastShown {
			left++
			continue
		}
		shown++
		// These are exact: a function that a file lacks had nothing added.
		word := ""
		switch {
		case r.Old == 0:
			word = "  new"
		case r.New == 0:
			word = "  gone"
		}
		text := fmt.Sprintf("%+8.1f %% %7.1f %% %7.1f %%  ", 100*r.Change(), 100*r.Old, 100*r.New)
		fmt.Fprintf(w, "%s%s%s\n", text, short(view.Line(r.Name), width-len(text)-len(word)), word)
	}
	switch {
	case shown == 0 && left > 0:
		fmt.Fprintf(w, "%s changed by less than 0.05 %%\n", view.Counted(left, "function"))
	case shown == 0:
		fmt.Fprintln(w, "nothing changed")
	case left > 0:
		fmt.Fprintf(w, "%s changed less\n", view.Counted(left, "more function"))
	}
}

// writeCSV writes a line for each function: its shares and their difference.
func (d *Diff) writeCSV(w *bufio.Writer) {
	writeHead(w, "function", "old", "new", "change")
	for _, r := range d.Rows() {
		export.WriteRecord(w, []export.Cell{{Text: view.Line(r.Name)}, {Text: plain(r.Old), Number: true},
			{Text: plain(r.New), Number: true}, {Text: plain(r.Change()), Number: true}})
	}
}

// profile is both runs as one, for pprof: what stacks weigh now, and what they weighed less than nothing.
// Readers add up samples of a stack: its two come to how much it changed.
func (d *Diff) profile() *view.Profile {
	p := &view.Profile{Map: &view.Map{Name: d.New.Map}, Types: []view.SampleType{{Name: cmp.Or(d.New.Type, "weight"),
		Unit: d.New.Unit}}}
	p.Walk = func(f func(*view.Sample)) {
		one := &view.Sample{Labels: []view.Label{{Name: "diff"}}, Values: []int64{0}}
		d.each(func(stack []string, old, new int64) {
			one.Stack = d.frames(one.Stack[:0], stack)
			if one.Labels[0].Text, one.Values[0] = "new", new; new != 0 {
				f(one)
			}
			if one.Labels[0].Text, one.Values[0] = "old", -old; old != 0 {
				f(one)
			}
		})
	}
	return p
}

// frames adds those of a stack.
func (d *Diff) frames(out []view.FrameAt, stack []string) []view.FrameAt {
	for _, name := range stack {
		out = append(out, view.FrameAt{Name: name, Kind: d.kind(name)})
	}
	return out
}

// kind is what sort of frame a function is.
func (d *Diff) kind(name string) view.FrameKind {
	// A kind that the new file does not tell may be told by the old one.
	return cmp.Or(d.New.Kind(name), d.Old.Kind(name))
}

// WriteFolded writes a line for each stack of either run: its frames, what it weighed and
// what it weighs.
func (d *Diff) WriteFolded(out io.Writer) error {
	w := bufio.NewWriter(out)
	d.each(func(stack []string, old, new int64) {
		for i, name := range stack {
			if i > 0 {
				w.WriteByte(';')
			}
			w.WriteString(export.FoldedFrame(name, i == 0))
		}
		fmt.Fprintf(w, " %d %d\n", old, new)
	})
	return w.Flush()
}

// each calls f with the stacks of both runs, sorted: what they weighed, and what they weigh in the new run, in whole
// numbers as formats have them.
func (d *Diff) each(f func(stack []string, old, new int64)) {
	saved.Both(d.Old, d.New, func(stack []string, old, new int64) {
		f(stack, old, d.now(new))
	})
}

// now is a weight of the new run as it is compared, in whole numbers as formats have them.
func (d *Diff) now(n int64) int64 { return view.Whole(float64(n) * d.Scale) }

// tree is that of the stacks of both runs.
func (d *Diff) tree(title string) export.DiffStacks {
	t := export.DiffStacks{Title: title, Type: view.SampleType{Name: cmp.Or(d.New.Type, "weight"), Unit: d.New.Unit}}
	// Names are numbered as they come, by the numbers that they have in the files.
	var old, new []int32
	numbers := map[string]int32{}
	number := func(of *[]int32, n int32, name string) int32 {
		if more := int(n) + 1 - len(*of); more > 0 {
			*of = append(*of, make([]int32, more)...)
		}
		to := &(*of)[n]
		if *to == 0 {
			known := false
			if *to, known = numbers[name]; !known {
				t.Names = append(t.Names, name)
				t.Kinds = append(t.Kinds, d.kind(name))
				*to = int32(len(t.Names)) // from 1, since 0 is of one that is not known
				numbers[name] = *to
			}
		}
		return *to - 1
	}
	t.Each = func(f func(parent, name int, now, old int64)) {
		n := 0
		path := []int{0} // nodes above the next one
		saved.Nodes(d.Old, d.New, func(of *saved.Node) {
			name := int32(0)
			if of.B >= 0 {
				name = number(&new, of.B, of.Name)
			} else {
				name = number(&old, of.A, of.Name)
			}
			path = path[:of.Depth]
			f(path[of.Depth-1], int(name), d.now(of.Of), of.In)
			n++
			path = append(path, n)
		})
	}
	t.Each(func(int, int, int64, int64) {}) // names are known before nodes are written
	return t
}
