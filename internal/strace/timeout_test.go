package strace

import (
	"bytes"
	"slices"
	"strings"
	"testing"
)

// A result of 0 is a timeout of calls that wait, and of none that never returned or failed.
func TestTimeout(t *testing.T) {
	const eagain = -11
	for _, c := range []struct {
		name       string
		result     int64
		unfinished bool
		timeout    bool
	}{
		{"poll", 0, false, true}, {"poll", 1, false, false}, {"poll", 0, true, false},
		{"select", 0, false, true}, {"select", 0, true, false}, {"select", eagain, false, false},
		{"recvmmsg", 0, false, true}, {"recvmmsg", 0, true, false}, {"recvmmsg", eagain, false, false},
	} {
		var out bytes.Buffer
		s := hostileSink(t, &out, "amd64", false, false)
		call := &Call{Nr: slices.Index(s.names, c.name), TID: 7, PID: 7, Enter: 1, Exit: 2, Result: c.result,
			Unfinished: c.unfinished, noted: &noted{}}
		s.call(&thread{tid: 7}, call)
		s.w.Flush()
		if got := out.String(); !strings.Contains(got, c.name) || strings.Contains(got, "(Timeout)") != c.timeout {
			t.Errorf("%+v: %s", c, got)
		}
	}
}
