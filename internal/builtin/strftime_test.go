package builtin

import (
	"testing"
	"time"
)

func TestStrftime(t *testing.T) {
	at := time.Date(2026, 11, 1, 9, 5, 7, 361423078, time.UTC)
	for _, c := range []struct{ format, want string }{
		{"%H:%M:%S", "09:05:07"},
		{"%H:%M:%S.%l|%k|%f", "09:05:07.361|361423078|361423"},
		{"%Y-%m-%d %j %a %A %b %B", "2026-11-01 305 Sun Sunday Nov November"},
		{"%e|%D|%F|%T|%R|%r", " 1|11/01/26|2026-11-01|09:05:07|09:05|09:05:07 AM"},
		{"%U %W %V %u %w %g %G %C %y", "44 43 44 7 0 26 2026 20 26"},
		{"%s %z %Z", "1793523907 +0000 UTC"},
		{"%% %q %", "% %q %"},
		{"%Ey %Od", "26 01"},
		{"a%nb%tc", "a\nb\tc"},
	} {
		if got := Strftime(c.format, at); got != c.want {
			t.Errorf("Strftime(%q) = %q, want %q", c.format, got, c.want)
		}
	}
}
