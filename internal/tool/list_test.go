package tool

import (
	"os"
	"testing"
)

// TestList fails when the list of tools is not the one of docs: run go generate
// ./internal/tool.
func TestList(t *testing.T) {
	const path = "../../docs/tools.md"
	if *update {
		if err := os.WriteFile(path, []byte(Document(read(t))), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	have, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(have) != Document(read(t)) {
		t.Error("docs/tools.md is stale: run go generate ./internal/tool")
	}
}

// read are the tools as they are written, be they packed or not.
func read(t *testing.T) (out []*Tool) {
	entries, err := os.ReadDir(scripts)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.IsDir() {
			continue
		}
		text, err := os.ReadFile(scripts + "/" + e.Name())
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, Parse(string(text)))
	}
	return out
}
