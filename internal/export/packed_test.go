package export

import (
	"flag"
	"testing"

	"github.com/hawktrace/hawk/internal/pack/packtest"
)

var update = flag.Bool("update", false, "pack the files of page anew")

// TestPacked fails when a file of the page has changed, and what lies in the binary is not
// made of it: run go generate ./internal/export.
func TestPacked(t *testing.T) {
	packtest.Dir(t, "page", "packed", *update, "go generate ./internal/export")
}
