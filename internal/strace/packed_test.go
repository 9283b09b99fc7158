package strace

import (
	"flag"
	"testing"

	"github.com/hawktrace/hawk/internal/pack/packtest"
)

var update = flag.Bool("update", false, "pack the files of tables anew")

// TestPacked fails when a table has changed, and what lies in the binary is not
// made of it: run go generate ./internal/strace.
func TestPacked(t *testing.T) {
	packtest.Dir(t, "tables", "packed", *update, "go generate ./internal/strace")
}
