package reference

import (
	"bytes"
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hawktrace/hawk/internal/source"
	"github.com/hawktrace/hawk/internal/syntax"
)

var update = flag.Bool("update", false, "rewrite docs/reference.md and the table of formats in docs/views.md")

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

// TestFileFormats is the same for the table in docs/views.md.
func TestFileFormats(t *testing.T) {
	const path = "../../docs/views.md"
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(text), "\n| Format |")
	_, after, closed := strings.Cut(rest, "\n\n")
	if !found || !closed {
		t.Fatal("the table is not there")
	}
	want := before + "\n" + FileFormats() + "\n" + after
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(string(text), want); diff != "" {
		t.Errorf("docs/views.md is stale (-file +table); run go generate ./internal/reference:\n%s", diff)
	}
}

// TestLanguage parses the scripts of docs/language.md.
func TestLanguage(t *testing.T) {
	text, err := os.ReadFile("../../docs/language.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := strings.Split(string(text), "```hawk\n")[1:]
	if len(blocks) == 0 {
		t.Fatal("there are no scripts")
	}
	for _, block := range blocks {
		script, _, closed := strings.Cut(block, "```\n")
		if !closed {
			t.Fatalf("the block is not closed:\n%s", block)
		}
		if _, ds := syntax.Parse(source.NewFile("language.md", script)); ds.Len() != 0 {
			var messages bytes.Buffer
			ds.Print(&messages, source.PrintOptions{})
			t.Errorf("%s%s", script, &messages)
		}
	}
}
