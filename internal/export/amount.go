package export

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/hawktrace/hawk/internal/view"
)

// amount is Amount of a number that is exact.
func amount(n int64, unit string) string {
	if unit == "count" || unit == "" {
		return view.Grouped(n)
	}
	return Amount(float64(n), unit)
}

// scales are the units that make a thousand of the one before, or 1024, by their names in profiles.
var scales = []struct {
	step  float64
	names []string
	units []string
}{
	{1000, []string{"nanoseconds", "microseconds", "milliseconds", "seconds"}, []string{" ns", " µs", " ms", " s"}},
	{1024, []string{"bytes", "kib", "mib"}, []string{" B", " KiB", " MiB", " GiB", " TiB"}},
}

// Amount is a whole number with its unit as people read it: 12.3k, 1.23 ms, 4.5 MiB.
func Amount(x float64, unit string) string {
	for _, s := range scales {
		if i := slices.Index(s.names, unit); i >= 0 {
			return scaled(x, s.step, s.units[i:])
		}
	}
	if unit == "count" || unit == "" {
		return view.Rounded(x)
	}
	return view.Rounded(x) + " " + unit
}

// scaled is a number in the largest unit of which there is one at least, with three digits.
func scaled(x, step float64, units []string) string {
	i := 0
	for ; math.Abs(x) >= step && i < len(units)-1; i++ {
		x /= step
	}
	text := strconv.FormatFloat(x, 'g', 3, 64)
	// Steps of 1024 leave up to 1023, of which three digits would make 1.02e+03.
	if math.Abs(x) >= 1000 || strings.ContainsRune(text, 'e') {
		text = strconv.FormatFloat(x, 'f', 0, 64)
	}
	return text + units[i]
}

// percent is a part of a whole: 12.3 %.
func percent(n, of int64) string {
	if of == 0 {
		return "0 %"
	}
	x := 100 * float64(n) / float64(of)
	digits := 1
	// A share that one digit would make 0.0 gets three.
	if x != 0 && x < 0.1 {
		digits = 3
	}
	return strconv.FormatFloat(x, 'f', digits, 64) + " %"
}
