// Package packtest is what the tests of packages with packed files share.
package packtest

import (
	"testing"

	"github.com/hawktrace/hawk/internal/pack"
)

// Dir fails a test when a file of the directory from has changed, and what lies in the
// binary, in the directory to, is not made of it; remedy is the command that packs anew,
// with which write is set.
func Dir(t *testing.T, from, to string, write bool, remedy string) {
	t.Helper()
	differ, err := pack.Dir(from, to, write)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range differ {
		t.Errorf("%s is not what the binary has: run %s", name, remedy)
	}
}
