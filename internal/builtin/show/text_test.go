package show

import "testing"

func TestJoined(t *testing.T) {
	for raw, want := range map[string]string{
		"": "", "a\x00": "a", "a\x00b\x00": "a|b", "a\x00\x00c\x00": "a||c", "\x00": "",
	} {
		if got := string(joined([]byte(raw), "|", false)); got != want {
			t.Errorf("joined(%q) = %q, want %q", raw, got, want)
		}
	}
}
