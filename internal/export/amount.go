package export

import (
	"math"
	"strconv"
	"strings"

	"github.com/hawktrace/hawk/internal/view"
)

// Amount is a number with its unit as people read it.
func Amount(n int64, unit string) string { return amount(n, unit) }

// amount is a number with its unit as people read it: 12.3k, 1.23 ms, 4.5 MiB.
func amount(n int64, unit string) string {
	x := float64(n)
	switch unit {
	case "nanoseconds":
		return scaled(x, 1000, []string{" ns", " µs", " ms", " s"})
	case "microseconds":
		return scaled(x, 1000, []string{" µs", " ms", " s"})
	case "milliseconds":
		return scaled(x, 1000, []string{" ms", " s"})
	case "seconds":
		return scaled(x, 1000, []string{" s"})
	case "bytes":
		return scaled(x, 1024, []string{" B", " KiB", " MiB", " GiB", " TiB"})
	case "kib":
		return scaled(x, 1024, []string{" KiB", " MiB", " GiB", " TiB"})
	case "mib":
		return scaled(x, 1024, []string{" MiB", " GiB", " TiB"})
	case "count", "":
		return view.Grouped(n)
	}
	return view.Grouped(n) + " " + unit
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
