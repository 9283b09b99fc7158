package exe

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDebugDirs(t *testing.T) {
	got, err := DebugDirs("/a:+b:")
	if diff := cmp.Diff([]DebugDir{{"/a", false}, {"b", true}, {"", false}}, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got)\n%s", err, diff)
	}
	if _, err := DebugDirs(strings.Repeat("x:", maxDebugDirs)); err == nil {
		t.Error("no end of directories")
	}
}
