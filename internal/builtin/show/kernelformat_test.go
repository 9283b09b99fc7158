package show

import "testing"

// TestPlainPointers: the kernel's own %p is a hash, and more with letters behind it.
func TestPlainPointers(t *testing.T) {
	for text, want := range map[string]string{
		"":                "",
		"%p":              "0x%lx",
		"%pS|%pI4|%ps\n":  "0x%lxS|0x%lxI4|0x%lxs\n",
		"%%p %d %-5s%%":   "%%p %d %-5s%%",
		"%-20p|%20p|%1p|": "0x%-18lx|0x%018lx|0x%lx|",
		"%":               "%",
		"%5":              "%5",
	} {
		if got := plainPointers(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}
