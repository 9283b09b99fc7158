package cdef

import (
	"testing"

	"github.com/hawktrace/hawk/internal/pack/packtest"
)

// TestPacked fails when the table has changed, and what builds with the tag min have is not made of
// it: run go generate ./internal/cdef.
func TestPacked(t *testing.T) {
	packtest.Dir(t, "tables", "packed", *update, "go generate ./internal/cdef")
}
