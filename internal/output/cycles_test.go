package output

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/hawktrace/hawk/internal/value"
)

// edges makes a graph of texts such as "a b", and "a b 7" with a part that sets edges apart.
func edges(texts ...string) (out Entries) {
	for _, text := range texts {
		var key value.Tuple
		for _, part := range strings.Fields(text) {
			if part == "0" {
				key = append(key, value.Uint(0))
			} else {
				key = append(key, value.Str(part))
			}
		}
		out.Add(key, value.Uint(1))
	}
	return out
}

func TestCycles(t *testing.T) {
	for _, test := range []struct {
		edges []string
		want  string
	}{
		{nil, ""},
		{[]string{"a b", "b c", "a c"}, ""},
		{[]string{"a b", "b a"}, "a -> b -> a\n"},
		{[]string{"b c", "c a", "x a", "a b", "c y", "b a", "d d"},
			"d -> d\na -> b -> a\na -> b -> c -> a\n"},
		// Both ways around a triangle.
		{[]string{"a b", "b c", "c a", "b a", "c b", "a c"},
			"a -> b -> a\na -> c -> a\nb -> c -> b\na -> b -> c -> a\na -> c -> b -> a\n"},
		// One thread has made all, or one lock was held around all.
		{[]string{"a b 1", "b a 1"}, ""},
		{[]string{"a b 1", "b a 2"}, "a -> b -> a\n"},
		{[]string{"a b 1", "b a 1", "a b 2", "b a 2"}, "a -> b -> a\n"},
		{[]string{"a b 1 g 0", "b a 2 0 g"}, ""},
		{[]string{"a b 1 0 0", "b a 2 0 0"}, "a -> b -> a\n"},
		{[]string{"a b 1", "b c 1", "c a 2"}, ""},
		{[]string{"a b 1", "b c 1", "b c 3", "c a 2"}, "a -> b -> c -> a\n"},
	} {
		found, stopped := FindCycles(edges(test.edges...), 10)
		if got := string(appendCycles(nil, &Cycles{Found: found, Stopped: stopped})); got != test.want {
			t.Errorf("%q: cycles are\n%swant\n%s", test.edges, got, test.want)
		}
	}
}

// TestCyclesBounds has graphs of which not all can be shown.
func TestCyclesBounds(t *testing.T) {
	var ring, all []string
	for i := range 12 {
		ring = append(ring, fmt.Sprintf("n%02d n%02d", i, (i+1)%12))
		for k := range 12 {
			all = append(all, fmt.Sprintf("n%02d n%02d", i, k))
		}
	}
	if found, stopped := FindCycles(edges(ring...), 10); len(found) != 0 || stopped {
		t.Errorf("a ring of 12 nodes: %d cycles, stopped %v", len(found), stopped)
	}
	if found, _ := FindCycles(edges(append(ring, "n09 n00")...), 10); len(found) != 1 || len(found[0].Nodes) != 10 {
		t.Errorf("a ring of 10 nodes: %v", found)
	}
	if found, stopped := FindCycles(edges(all...), 14); len(found) != 14 || stopped || len(found[13].Nodes) != 2 {
		t.Errorf("a complete graph: %d cycles, stopped %v", len(found), stopped)
	}
	if found, stopped := FindCycles(edges(all...), 1<<30); len(found) == 0 || !stopped {
		t.Errorf("a complete graph, all: %d cycles, stopped %v", len(found), stopped)
	}
	var long Entries
	for i := range 2 * maxEdges {
		long.Add(value.Tuple{value.Uint(i), value.Uint(i + 1)}, value.Uint(1))
	}
	if found, stopped := FindCycles(long, 10); len(found) != 0 || !stopped {
		t.Errorf("a long path: %d cycles, stopped %v", len(found), stopped)
	}
}

func TestCyclesJSON(t *testing.T) {
	stack := &value.Stack{User: true, Addrs: []uint64{0x10}}
	var graph Entries
	graph.Add(value.Tuple{value.Str("a"), value.Str("b")}, value.Tuple{stack, value.Str("x"), value.Int(7)})
	graph.Add(value.Tuple{value.Str("b"), value.Str("a")}, value.Int(1))
	var out, stderr bytes.Buffer
	found, _ := FindCycles(graph, 10)
	j := NewJSON(&out, &stderr, Options{})
	j.Write(Cycles{Names: []string{"-", "name", "n"}, Found: found, Stopped: true})
	j.Flush()
	const want = `{"type": "cycles", "data": [["a", "b"]], ` +
		`"edges": [[{"name": "x", "n": 7, "user": ["0x10"]}, {}]], ` +
		`"stopped": true, "dropped": 0}` + "\n"
	if out.String() != want {
		t.Errorf("got  %swant %s", &out, want)
	}
}
