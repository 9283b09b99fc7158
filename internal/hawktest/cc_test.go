package hawktest

import (
	"strings"
	"testing"
)

// TestCompilationKey checks what must be the same on the host and in a VM, and what must not.
func TestCompilationKey(t *testing.T) {
	key := func(args string, files map[string]string) string {
		t.Helper()
		c, err := newCompilation("cc", strings.Fields(args), sortedKeys(files),
			func(name string) ([]byte, error) { return []byte(files[name]), nil })
		if err != nil {
			t.Fatal(err)
		}
		return c.key()
	}
	base := key("-o a a.c", map[string]string{"a.c": "1", "a.h": "2", "want": "3"})
	for name, tt := range map[string]struct {
		args  string
		files map[string]string
		same  bool
	}{
		"other golden text":       {"-o a a.c", map[string]string{"a.c": "1", "a.h": "2", "want": "4"}, true},
		"output exists already":   {"-o a a.c", map[string]string{"a.c": "1", "a.h": "2", "a": "program"}, true},
		"other source":            {"-o a a.c", map[string]string{"a.c": "9", "a.h": "2"}, false},
		"other header":            {"-o a a.c", map[string]string{"a.c": "1", "a.h": "9"}, false},
		"other option":            {"-O1 -o a a.c", map[string]string{"a.c": "1", "a.h": "2"}, false},
		"content moved to header": {"-o a a.c", map[string]string{"a.c": "", "a.h": "12"}, false},
	} {
		if got := key(tt.args, tt.files); (got == base) != tt.same {
			t.Errorf("%s: same key is %v, want %v", name, got == base, tt.same)
		}
	}
	for _, args := range []string{"a.c", "-o a -I$WORK a.c"} {
		if _, err := newCompilation("cc", strings.Fields(args), nil, nil); err == nil {
			t.Errorf("cc %s is accepted", args)
		}
	}
}

// TestNeeds checks that every word which the cases use means something.
func TestNeeds(t *testing.T) {
	for _, c := range loadCases(t) {
		if _, err := c.Missing(); err != nil {
			t.Error(err)
		}
	}
	if _, err := Have("nosuch"); err == nil {
		t.Error("an unknown need is accepted")
	}
	if missing, err := Have("kernel>=99.1"); err != nil || missing == nil {
		t.Errorf("kernel>=99.1: %v, %v", missing, err)
	}
	if missing, err := Have("kernel>=3.1"); err != nil || missing != nil {
		t.Errorf("kernel>=3.1: %v, %v", missing, err)
	}
}
