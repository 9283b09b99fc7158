package bound

import "testing"

// A recorder is a test that keeps its failures to itself.
type recorder struct {
	testing.TB
	failed bool
}

func (r *recorder) Helper()               {}
func (r *recorder) Errorf(string, ...any) { r.failed = true }

var sink []byte

func TestMemory(t *testing.T) {
	for _, c := range []struct {
		input, takes int
		want         bool
	}{
		{0, 1 << 20, false}, {0, 65 << 20, true}, {1 << 12, 65 << 20, false}, {1 << 12, 70 << 20, true},
	} {
		r := &recorder{TB: t}
		Run(r, c.input, func() { sink = make([]byte, c.takes) })
		if r.failed != c.want {
			t.Errorf("%d bytes for an input of %d: failed is %v", c.takes, c.input, r.failed)
		}
	}
	sink = nil
}
