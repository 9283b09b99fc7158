package strace

import (
	"flag"
	"testing"

	"github.com/hawktrace/hawk/internal/pack"
)

var update = flag.Bool("update", false, "pack the files of tables anew")

// TestPacked fails when a table has changed, and what lies in the binary is not
// made of it: run go generate ./internal/strace.
func TestPacked(t *testing.T) {
	differ, err := pack.Dir("tables", "packed", *update)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range differ {
		t.Errorf("%s is not what the binary has: run go generate ./internal/strace", name)
	}
}
