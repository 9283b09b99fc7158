package hawktest

import (
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestMinimal builds hawk without its live views and without what they bring, and has it say so.
func TestMinimal(t *testing.T) {
	list := exec.Command("go", "list", "-deps", "-tags", "min", "../../cmd/hawk")
	deps, err := list.Output()
	if err != nil {
		t.Skipf("no sources to build: %v", err)
	}
	small := []string{"plain", "live", "glyph"}
	for name := range strings.FieldsSeq(string(deps)) {
		if name == "net/http" || name == "crypto/tls" || strings.HasSuffix(name, "/internal/serve") ||
			strings.Contains(name, "/internal/ui/") && !slices.Contains(small, path.Base(name)) {
			t.Errorf("the small build has %s", name)
		}
	}
	hawk := filepath.Join(t.TempDir(), "hawk-min")
	build := exec.Command("go", "build", "-tags", "min", "-o", hawk, "../../cmd/hawk")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	says := func(want string, args ...string) {
		t.Helper()
		out, _ := exec.Command(hawk, args...).CombinedOutput()
		if !strings.Contains(string(out), want) {
			t.Errorf("%q prints %q, want %q", args, out, want)
		}
	}
	says("lacks serve; the full one has it", "serve", "--stdio")
	says("lacks view; the full one has it", "view", "run.html")
	says("lacks diff; the full one has it", "diff", "a", "b")
	if missing, err := Have("root"); err != nil || missing != nil {
		t.Skipf("views need root: %v", missing)
	}
	says("lacks --tui; the full one has it", "--tui", "-e", "begin { exit(); }")
	says("lacks --web; the full one has it", "--web", "-e", "begin { exit(); }")
	says("@n  gauge", "-f", "plain", "-e", "begin { @n = 1; exit(); }")
}
