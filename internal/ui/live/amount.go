package live

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/hawktrace/hawk/internal/view"
)

// A scale is how numbers of a unit are shortened.
type scale struct {
	step  float64
	units []string
}

var (
	plain   = scale{1000, []string{"", " k", " M", " G", " T", " P", " E"}}
	times   = scale{1000, []string{" ns", " µs", " ms", " s"}}
	amounts = scale{1024, []string{" B", " KiB", " MiB", " GiB", " TiB", " PiB", " EiB"}}
)

// scaleOf is the scale of a unit, and how many of its first steps the unit is above.
func scaleOf(u view.Unit) (scale, int) {
	switch u {
	case view.Nanoseconds:
		return times, 0
	case view.Microseconds:
		return times, 1
	case view.Milliseconds:
		return times, 2
	case view.Seconds:
		return times, 3
	case view.Bytes:
		return amounts, 0
	case view.KiB:
		return amounts, 1
	case view.MiB:
		return amounts, 2
	}
	return plain, 0
}

// Amount is a number with its unit in at most some nine columns: 8,412, 1.23 M, 4.5 MiB,
// 128 µs.
func Amount(x float64, u view.Unit) string {
	s, at := scaleOf(u)
	suffix := ""
	switch u {
	case view.Percent:
		suffix = " %"
	case view.Pages, view.Jiffies:
		suffix = " " + u.String()
	}
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return "–"
	}
	if at == 0 && s.units[0] == "" && math.Abs(x) < 10_000 {
		return short(x) + suffix
	}
	for x != 0 && at > 0 && math.Abs(x) < 1 { // an average of less than one
		x *= s.step
		at--
	}
	// From 999.5 on three digits would read 1,000, which is one of the next unit.
	for math.Abs(x) >= s.step*0.9995 && at < len(s.units)-1 {
		x /= s.step
		at++
	}
	return short(x) + s.units[at] + suffix
}

// short is a number in three digits, or with commas if that needs more.
func short(x float64) string {
	if x == math.Trunc(x) && math.Abs(x) < 1e15 {
		return view.Grouped(int64(x))
	}
	digits := 2
	switch a := math.Abs(x); {
	case a >= 99.95:
		digits = 0
	case a >= 9.995:
		digits = 1
	}
	text := strconv.FormatFloat(x, 'f', digits, 64)
	if digits == 0 && math.Abs(x) >= 999.5 {
		// Above 2⁶³ the number is unsigned. 2⁶⁴-2048 is the largest float below 2⁶⁴.
		if x >= 1<<63 {
			return view.Grouped(uint64(min(x, 1<<64-2048)))
		}
		return view.Grouped(int64(math.Round(x)))
	}
	return strings.TrimSuffix(strings.TrimSuffix(text, ".00"), ".0")
}

// WeightUnit is the unit of what rows of a map weigh in pictures.
func WeightUnit(m *view.Map) view.Unit {
	if m.Weight == view.CountWeight {
		return view.NoUnit
	}
	return m.Unit
}

// Share is a part of a whole in percent.
func Share(n, of float64) string {
	if of == 0 {
		return "0 %"
	}
	return strconv.FormatFloat(100*n/of, 'f', 1, 64) + " %"
}

// Clock is a length of time as hours, minutes and seconds.
func Clock(d time.Duration) string {
	d = max(d, 0)
	s := int64(d / time.Second)
	var b strings.Builder
	for i, n := range []int64{s / 3600, s / 60 % 60, s % 60} {
		if i > 0 {
			b.WriteByte(':')
		}
		if n < 10 {
			b.WriteByte('0')
		}
		b.WriteString(strconv.FormatInt(n, 10))
	}
	return b.String()
}
