package hawktest

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseResults(t *testing.T) {
	const out = `=== RUN   TestKernel
=== RUN   TestKernel/one
    case.go:1: log of one
=== RUN   TestKernel/two
=== RUN   TestKernel/three
    case.go:2: needs kprobe
=== RUN   TestKernel/four
panic: test timed out
--- FAIL: TestKernel (0.10s)
    --- PASS: TestKernel/one (0.01s)
    --- FAIL: TestKernel/two (0.02s)
        testscript.go:3: went wrong
    --- SKIP: TestKernel/three (0.00s)
=== RUN   TestKernelOther
--- PASS: TestKernelOther (0.00s)
FAIL
`
	want := []result{
		{"one", "PASS", "    case.go:1: log of one\n", 0.01, ""},
		{"two", "FAIL", "        testscript.go:3: went wrong\n", 0.02, ""},
		{"three", "SKIP", "    case.go:2: needs kprobe\n", 0, ""},
		{"four", "FAIL", "panic: test timed out\n", 0, ""},
		{"TestKernelOther", "PASS", "FAIL\n", 0, ""},
	}
	if d := cmp.Diff(want, parseResults(out), cmp.AllowUnexported(result{})); d != "" {
		t.Error(d)
	}
}

// A second try counts for what failed, and for nothing else; what it says nothing of has failed.
func TestSecondTry(t *testing.T) {
	first := []result{
		{"one", "PASS", "", 1, ""}, {"two", "FAIL", "slow", 1, ""}, {"three", "FAIL", "wrong", 1, ""},
		{"four", "FAIL", "gone", 1, ""},
	}
	second := []result{{"one", "FAIL", "", 2, ""}, {"two", "PASS", "", 2, ""}, {"three", "FAIL", "wrong again", 2, ""}}
	want := []result{
		{"one", "PASS", "", 1, ""}, {"two", "PASS", "", 2, "slow"}, {"three", "FAIL", "wrong again", 2, "wrong"},
		{"four", "FAIL", "gone", 1, ""},
	}
	if d := cmp.Diff(want, secondTry(first, second), cmp.AllowUnexported(result{})); d != "" {
		t.Error(d)
	}
}

func TestVersion(t *testing.T) {
	for s, want := range map[string]int{"6.1": 6<<16 | 1, "5.10.0-32-cloud-amd64": 5<<16 | 10,
		"6.12.107+deb13": 6<<16 | 12, "7.2-rc1": 7<<16 | 2} {
		if got, err := parseVersion(s); err != nil || got != want {
			t.Errorf("parseVersion(%q) = %x, %v; want %x", s, got, err, want)
		}
	}
	for _, s := range []string{"", "6", "x.y", "6.x"} {
		if _, err := parseVersion(s); err == nil {
			t.Errorf("parseVersion(%q) has no error", s)
		}
	}
}
