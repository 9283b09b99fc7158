package reference

import (
	"bytes"
	"flag"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite docs/reference.md")

// TestReference fails when an entry of the tables has changed and the manual
// has not been printed since: run go generate ./internal/reference.
func TestReference(t *testing.T) {
	const path = "../../docs/reference.md"
	var got bytes.Buffer
	if err := Write(&got); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(path, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Errorf("docs/reference.md is stale (-file +tables); run go generate ./internal/reference:\n%s", diff)
	}
}
