package session

import (
	"fmt"
	"testing"
)

// TestLearn forgets the addresses that were learned first.
func TestLearn(t *testing.T) {
	h := hosts{known: map[string]string{"10.0.0.1": "file"}}
	h.Learn("10.0.0.1", "answer")
	for i := range maxHosts {
		h.Learn(fmt.Sprint("a", i), fmt.Sprint("name", i))
	}
	h.Learn("a5", "again")
	h.Learn("last", "one")
	for addr, want := range map[string]string{"10.0.0.1": "file", "a0": "", "a1": "name1", "a5": "again",
		"a9999": "name9999", "last": "one", "nothing": ""} {
		if got, ok := h.Hostname(addr); got != want || ok != (want != "") {
			t.Errorf("%s is %q, want %q", addr, got, want)
		}
	}
	if len(h.learned) != maxHosts || len(h.order) != maxHosts {
		t.Errorf("%d names in %d places, at most %d", len(h.learned), len(h.order), maxHosts)
	}
}
