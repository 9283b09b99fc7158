package output

import (
	"math"
	"math/bits"
	"strconv"
	"time"

	"github.com/hawktrace/hawk/internal/value"
)

// graphWidth is the width of a series' graph with both borders.
const graphWidth = 53

// newestEpoch is the last interval with data, 0 if there is none.
func newestEpoch(s value.Series) int64 {
	if len(s.Points) == 0 {
		return 0
	}
	return s.Points[len(s.Points)-1].Epoch
}

// newestEpoch is the last interval with data of all series of a map.
func (m *Map) newestEpoch() int64 {
	var newest int64
	for i := range m.Entries.Len() {
		s, ok := m.Entries.At(i).Value.(value.Series)
		if !ok { // nor is any other
			break
		}
		newest = max(newest, newestEpoch(s))
	}
	return newest
}

// shown is the part of a series within the last Count intervals up to newest.
// The ring in the kernel may still have older points than the script asked for.
func shown(s value.Series, newest int64) []value.Point {
	points := s.Points
	for len(points) > 0 && points[0].Epoch <= newest-int64(s.Count) {
		points = points[1:]
	}
	return points
}

// appendSeries draws a time series. newest is the last
// interval of all series of the map, so that they end at the same time.
// Rows of intervals without data show a dash: time goes on evenly from line to line.
func appendSeries(dst []byte, s value.Series, newest int64) []byte {
	points := shown(s, newest)
	if len(points) == 0 {
		return append(dst, "<no data>\n"...)
	}
	a := axis{signed: s.Signed, low: points[0].Value, high: points[0].Value}
	for _, p := range points {
		a.include(p.Value)
	}
	a.widen()

	first := points[0].Epoch
	digits, unit := fraction(s.Interval, newest-first)
	timeWidth := 8
	if digits > 0 {
		timeWidth = 9 + digits
	}
	dst = a.appendScale(dst, timeWidth+1)
	dst = append(dst, "hh:mm:ss"...)
	dst = append(dst, unit...)
	columns := 8
	if digits > 0 {
		columns += 3
	}
	dst = appendBytes(dst, ' ', timeWidth+1-columns)
	dst = appendRule(dst, '|')
	for epoch := first; epoch <= newest; epoch++ {
		dst = appendClock(dst, epoch, s.Interval, digits)
		dst = append(dst, ' ')
		start := len(dst)
		dst = append(dst, '|')
		dst = appendBytes(dst, ' ', graphWidth-2)
		dst = append(dst, '|')
		if zero, ok := a.zero(); ok {
			dst[start+zero] = '.'
		}
		if len(points) > 0 && points[0].Epoch == epoch {
			v := points[0].Value
			points = points[1:]
			dst[start+a.column(v, graphWidth-1)] = '*'
			dst = append(dst, ' ')
			dst = a.appendNumber(dst, v)
		} else {
			dst = append(dst, " -"...)
		}
		dst = append(dst, '\n')
	}
	dst = appendBytes(dst, ' ', timeWidth+1)
	dst = appendRule(dst, 'v')
	return a.appendScale(dst, timeWidth+1)
}

// fraction is how many digits of a second tell intervals apart. A single
// interval has no distance to another and gets all digits.
// The heading gives a unit only when digits are shown.
func fraction(interval, distance int64) (digits int, unit string) {
	switch {
	case distance == 0:
	case interval >= int64(time.Second):
		return 0, ""
	case interval >= int64(time.Millisecond):
		return 3, ".ms"
	case interval >= int64(time.Microsecond):
		return 6, ".μs"
	}
	return 9, ".ns"
}

// startOf is when an interval begins.
func startOf(epoch, interval int64) time.Time {
	// Multiplied in two parts: a damaged epoch must not wrap around silently.
	hi, lo := bits.Mul64(uint64(epoch), uint64(interval))
	if epoch < 0 || interval < 0 || hi != 0 || lo > math.MaxInt64 {
		return time.Unix(0, 0)
	}
	return time.Unix(0, int64(lo))
}

// appendClock appends the time of day of an interval with some digits of the second.
func appendClock(dst []byte, epoch, interval int64, digits int) []byte {
	t := startOf(epoch, interval)
	dst = t.AppendFormat(dst, "15:04:05")
	if digits == 0 {
		return dst
	}
	dst = append(dst, '.')
	var nanos [9]byte
	n := t.Nanosecond()
	for i := len(nanos) - 1; i >= 0; i-- {
		nanos[i] = byte('0' + n%10)
		n /= 10
	}
	return append(dst, nanos[:digits]...)
}

// appendRule appends a line across the graph.
func appendRule(dst []byte, border byte) []byte {
	dst = append(dst, border)
	dst = appendBytes(dst, '_', graphWidth-2)
	return append(dst, border, '\n')
}

// An axis spans the values of a series.
// Sums and differences are taken as unsigned numbers, so that the widest possible range does
// not overflow.
type axis struct {
	signed    bool
	low, high int64 // bits of unsigned numbers if not signed
}

// less orders two values by the type of the series.
func (a *axis) less(x, y int64) bool {
	if a.signed {
		return x < y
	}
	return uint64(x) < uint64(y)
}

// include widens the axis to a value.
func (a *axis) include(v int64) {
	if a.less(v, a.low) {
		a.low = v
	}
	if a.less(a.high, v) {
		a.high = v
	}
}

// widen gives equal values one unit of room on each side, within the type.
func (a *axis) widen() {
	if a.low != a.high {
		return
	}
	least, most := int64(0), int64(-1)
	if a.signed {
		least, most = math.MinInt64, math.MaxInt64
	}
	if a.low != least {
		a.low--
	}
	if a.high != most {
		a.high++
	}
}

// column is floor(width * (v - low) / (high - low)).
func (a *axis) column(v int64, width uint64) int {
	// Differences of two numbers of 64 bits fit an unsigned one.
	hi, lo := bits.Mul64(width, uint64(v)-uint64(a.low))
	q, _ := bits.Div64(hi, lo, uint64(a.high)-uint64(a.low))
	return int(q)
}

// zero is the column that marks zero, if it lies inside the axis.
func (a *axis) zero() (int, bool) {
	if !a.signed || a.low >= 0 || a.high <= 0 {
		return 0, false
	}
	return min(a.column(0, graphWidth), graphWidth-1), true
}

// appendNumber appends a value by the type of the series.
func (a *axis) appendNumber(dst []byte, v int64) []byte {
	if a.signed {
		return strconv.AppendInt(dst, v, 10)
	}
	return strconv.AppendUint(dst, uint64(v), 10)
}

// appendScale writes the line with the least and the greatest value.
func (a *axis) appendScale(dst []byte, indent int) []byte {
	dst = appendBytes(dst, ' ', indent)
	start := len(dst)
	dst = a.appendNumber(dst, a.low)
	dst = appendBytes(dst, ' ', 21-(len(dst)-start))
	start = len(dst)
	dst = a.appendNumber(dst, a.high)
	dst = alignRight(dst, start, 32)
	return append(dst, '\n')
}
