package main

import (
	"fmt"
	"math"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// A row is one measured quantity of all tools. The fields are exported for JSON, in which a
// bench in a VM passes its rows on.
type row struct {
	Name   string
	Unit   string    // of the values: ms, MB, ns, %
	Values []float64 // one for each tool
}

// header writes what the tables were measured with.
func header(w *strings.Builder, b *bench) {
	var uname unix.Utsname
	unix.Uname(&uname)
	fmt.Fprintf(w, "# Performance\n\nMeasured by `make bench BENCH=-write` on %s: Linux %s, %s, %d CPUs%s. "+
		"The tools: ", time.Now().UTC().Format("2 January 2006"),
		unix.ByteSliceToString(uname.Release[:]), runtime.GOARCH, runtime.NumCPU(), processor())
	for i, t := range b.tools {
		if i > 0 {
			w.WriteString(", ")
		}
		fmt.Fprintf(w, "%s %s", t.name, t.version)
	}
	fmt.Fprintf(w, ". Each value is the median of %d rounds in which the tools took turns, unless its table says "+
		"otherwise.\n", b.rounds)
	if len(b.tools) == 1 {
		w.WriteString("There was no bpftrace to compare with.\n")
	}
}

// processor returns the processor's name, to be appended to a list.
func processor() string {
	info, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(info)) {
		if key, name, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == "model name" {
			return " (" + strings.TrimSpace(name) + ")"
		}
	}
	return ""
}

// table writes one section. Names of tools that are there twice, by -against, have their version
// behind them. Ratios are to the first tool, which is hawk.
func table(w *strings.Builder, name, note string, tools []*tool, rows []row) {
	fmt.Fprintf(w, "\n## %s\n\n%s\n\n|", strings.ToUpper(name[:1])+name[1:], note)
	named := map[string]int{}
	for i, t := range tools {
		name := t.name
		if named[name]++; named[name] > 1 {
			name += " " + t.version
		}
		fmt.Fprintf(w, " | %s", name)
		if i > 0 {
			w.WriteString(" | ratio")
		}
	}
	w.WriteString(" |\n|---|" + strings.Repeat("---:|", 2*len(tools)-1) + "\n")
	for _, r := range rows {
		fmt.Fprintf(w, "| %s", r.Name)
		for i, v := range r.Values {
			fmt.Fprintf(w, " | %s %s", digits(v), r.Unit)
			if i > 0 {
				fmt.Fprintf(w, " | %s", ratio(r.Values[0], v))
			}
		}
		w.WriteString(" |\n")
	}
}

// digits formats a value with about three digits.
func digits(v float64) string {
	switch a := math.Abs(v); {
	case a >= 100:
		return fmt.Sprintf("%.0f", v)
	case a >= 10:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.2f", v)
}

// ratio formats hawk's value as a part of bpftrace's. A value at or below the noise has none.
func ratio(hawk, other float64) string {
	if other <= 0 || hawk < 0 {
		// A difference of two times may be below zero where it is next to nothing.
		return "–"
	}
	r := hawk / other
	if r < 0.1 {
		return fmt.Sprintf("%.3f", r)
	}
	return fmt.Sprintf("%.2f", r)
}

// median returns the middle value. It sorts its argument.
func median(v []float64) float64 {
	slices.Sort(v)
	n := len(v)
	if n%2 == 1 {
		return v[n/2]
	}
	return (v[n/2-1] + v[n/2]) / 2
}

// interleave runs a measurement in turn for each tool, rounds times, and returns its results'
// medians: for each quantity that it returns, a value for each tool.
func (b *bench) interleave(rounds int, measure func(*tool) ([]float64, error)) ([][]float64, error) {
	var all [][][]float64 // quantity, tool, round
	// Tools alternate within a round, so that a machine that becomes slower slows all of them
	// down. The median of the rounds is deaf to the one that something else disturbed.
	for range rounds {
		for i, t := range b.tools {
			values, err := measure(t)
			if err != nil {
				return nil, err
			}
			if all == nil {
				all = make([][][]float64, len(values))
				for q := range all {
					all[q] = make([][]float64, len(b.tools))
				}
			}
			for q, v := range values {
				all[q][i] = append(all[q][i], v)
			}
		}
	}
	medians := make([][]float64, len(all))
	for q := range all {
		for _, v := range all[q] {
			medians[q] = append(medians[q], median(v))
		}
	}
	return medians, nil
}
