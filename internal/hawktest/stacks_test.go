package hawktest

import (
	"regexp"
	"testing"
)

func TestShare(t *testing.T) {
	const text = "Attached 1 probe\n@[\n        a+1\n        main+2\n]: 98\n@[\n]: 1\n@x[\n        b+1\n]: 1\n@n: 4\n"
	re := regexp.MustCompile(`main\+\d+\n$`)
	for _, c := range []struct {
		percent, least int
		ok             bool
	}{{98, 100, true}, {99, 100, false}, {98, 101, false}, {0, 0, true}} {
		if err := shareOf(text, re, c.percent, c.least); (err == nil) != c.ok {
			t.Errorf("%d %% of %d: %v", c.percent, c.least, err)
		}
	}
	if err := shareOf("@[\n        a+1\n]: 190\n@[\n        b+1\n]: 2\n", regexp.MustCompile(`a\+1`),
		99, 1); err != nil {
		t.Error(err)
	}
	if err := shareOf("@n: 100\n", re, 99, 1); err == nil {
		t.Error("no stacks are enough")
	}
}
