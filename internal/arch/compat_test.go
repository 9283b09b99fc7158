package arch

import (
	"flag"
	"testing"

	"github.com/hawktrace/hawk/internal/pack/packtest"
)

var update = flag.Bool("update", false, "pack the files of tables anew")

// TestPacked fails when a table has changed, and what lies in the binary is not made of it.
func TestPacked(t *testing.T) {
	packtest.Dir(t, "tables", "packed", *update, "go generate ./internal/arch")
}

func TestCompatNames(t *testing.T) {
	names := CompatNames("amd64")
	for n, want := range map[int]string{
		0: "restart_syscall@32", 5: "open@32", 223: "", 407: "clock_nanosleep_time64@32",
	} {
		if names[n] != want {
			t.Errorf("%d is %s, want %s", n, names[n], want)
		}
	}
}
