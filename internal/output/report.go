package output

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/hawktrace/hawk/internal/value"
)

// The words are those of the reference's --mode test and bench, which CI systems read.
type (
	// Tests begins a report: so many tests will run.
	Tests struct{ Count int }
	// Test is a test that is about to run.
	Test struct{ Name string }
	// TestDone is what came of it.
	TestDone struct {
		Name   string
		Passed bool
		Took   time.Duration
		Output []byte // what it printed, messages included
	}
	// TestsDone ends the report of all tests.
	TestsDone struct{ All []TestDone }

	// Benches begins a report; Width is the length of the longest name.
	Benches struct{ Width int }
	// Bench is a measurement: nanoseconds a run, and how many runs there were.
	Bench struct {
		Name                string
		Width               int // as in Benches
		Average, Iterations uint64
	}
)

func (Tests) item()     {}
func (Test) item()      {}
func (TestDone) item()  {}
func (TestsDone) item() {}
func (Benches) item()   {}
func (Bench) item()     {}

const (
	green = "\x1b[32m"
	red   = "\x1b[31m"
	plain = "\x1b[0m"
)

// appendTag writes "[ RUN      ] ".
func (t *Text) appendTag(dst []byte, color, word string) []byte {
	if t.opts.Color {
		dst = append(dst, color...)
	}
	dst = append(dst, '[')
	dst = append(dst, word...)
	dst = append(dst, ']')
	if t.opts.Color {
		dst = append(dst, plain...)
	}
	return append(dst, ' ')
}

// appendReport writes the parts of a report; ok is false for other items.
func (t *Text) appendReport(dst []byte, item Item) (_ []byte, ok bool) {
	const (
		rule   = "=========="
		run    = " RUN      "
		passed = "       OK "
		failed = "  FAILED  "
	)
	switch it := item.(type) {
	case Tests:
		dst = t.appendTag(dst, green, rule)
		dst = fmt.Appendf(dst, "Running %s.\n", tests(it.Count))
	case Test:
		dst = append(t.appendTag(dst, green, run), it.Name+"\n"...)
	case TestDone:
		color, word := green, passed
		if !it.Passed {
			color, word = red, failed
			for line := range bytes.Lines(it.Output) {
				if line = bytes.TrimRight(line, "\n"); len(line) > 0 {
					dst = append(append(dst, line...), '\n')
				}
			}
		}
		dst = t.appendTag(dst, color, word)
		dst = fmt.Appendf(dst, "%s (%s)\n", it.Name, took(it.Took))
	case TestsDone:
		var bad []string
		for _, r := range it.All {
			if !r.Passed {
				bad = append(bad, r.Name)
			}
		}
		dst = t.appendTag(dst, green, rule)
		dst = fmt.Appendf(dst, "%s ran.\n", tests(len(it.All)))
		dst = t.appendTag(dst, green, "  PASSED  ")
		dst = fmt.Appendf(dst, "%s.\n", tests(len(it.All)-len(bad)))
		if len(bad) > 0 {
			dst = t.appendTag(dst, red, failed)
			dst = fmt.Appendf(dst, "%s, listed below:\n", tests(len(bad)))
		}
		for _, name := range bad {
			dst = append(t.appendTag(dst, red, failed), name+"\n"...)
		}
	case Benches:
		dst = fmt.Appendf(dst, "%-*s%-*s%s\n", benchName(it.Width), "Benchmark", benchTime, "Time(ns)", "Iterations")
		dst = append(dst, strings.Repeat("-", benchName(it.Width)+benchTime+len("Iterations"))+"\n"...)
	case Bench:
		dst = fmt.Appendf(dst, "%-*s%-*d%d\n", benchName(it.Width), it.Name, benchTime, it.Average, it.Iterations)
	default:
		return dst, false
	}
	return dst, true
}

// Columns of measurements.
const benchTime = 15

// benchName is the width of the column with names.
func benchName(longest int) int { return max(40, longest) + 1 }

// tests is a number of tests in words.
func tests(n int) string {
	if n == 1 {
		return "1 test"
	}
	return strconv.Itoa(n) + " tests"
}

// took is a duration in whole units of the largest unit that it has some of.
// A unit is used from ten of it on, so that two digits are shown at least.
func took(d time.Duration) string {
	for _, u := range []struct {
		unit time.Duration
		name string
	}{{time.Second, "s"}, {time.Millisecond, "ms"}, {time.Microsecond, "μs"}} {
		if d >= 10*u.unit {
			return fmt.Sprintf("%d %s", d/u.unit, u.name)
		}
	}
	return fmt.Sprintf("%d ns", d.Nanoseconds())
}

// appendReports writes a report on tests as one record, and one for each
// benchmark when it is done; other parts of reports have none. ok is false for other items.
func (j *JSON) appendReports(dst []byte, item Item) (_ []byte, ok bool) {
	switch it := item.(type) {
	case TestsDone:
		dst = append(dst, `{"type": "test_result", "data": {`...)
		for i, r := range it.All {
			dst = appendMember(dst, i, r.Name)
			dst = fmt.Appendf(dst, `{"duration": %d, "passed": %t, "output": `, r.Took.Nanoseconds(), r.Passed)
			dst = append(j.text(dst, r.Output), '}')
		}
	case Bench:
		dst = append(dst, `{"type": "benchmark_result", "data": {`...)
		dst = appendMember(dst, 0, it.Name)
		dst = fmt.Appendf(dst, `{"average": %d, "iters": %d}`, it.Average, it.Iterations)
	case Tests, Test, TestDone, Benches:
		return dst, true
	default:
		return dst, false
	}
	return append(dst, "}}\n"...), true
}

// appendMember begins member i of an object.
func appendMember(dst []byte, i int, name string) []byte {
	if i > 0 {
		dst = append(dst, ", "...)
	}
	return append(value.AppendJSONString(dst, []byte(name)), ": "...)
}
