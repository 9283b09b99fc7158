package machine

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// with is a machine of which nothing is known but a file.
func with(t *testing.T, path, content string) *Machine {
	root := t.TempDir()
	path = filepath.Join(root, path)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
	return Recorded(root)
}

func TestLockedDown(t *testing.T) {
	const file = "/sys/kernel/security/lockdown"
	for content, want := range map[string]string{
		"[none] integrity confidentiality\n": "none", "none [integrity] confidentiality\n": "integrity",
		"none integrity [confidentiality]\n": "confidentiality", "": "", "[": "",
	} {
		m := with(t, file, content)
		if got := m.Lockdown(); got != want {
			t.Errorf("%q: %q, want %q", content, got, want)
		}
		if err := m.LockedDown(); (err != nil) != (want == "confidentiality") {
			t.Errorf("%q: %v", content, err)
		}
		err := m.Explain(unix.EPERM)
		if named := strings.Contains(err.Error(), "lockdown is in mode "+want); named != (want == "integrity" ||
			want == "confidentiality") {
			t.Errorf("%q: %v", content, err)
		}
	}
	if m := Recorded(t.TempDir()); m.Lockdown() != "" || m.LockedDown() != nil ||
		m.Explain(unix.ENOENT) != unix.ENOENT {
		t.Error("a kernel without lockdown is locked down")
	}
}

func TestPerfForbidden(t *testing.T) {
	const file = "/proc/sys/kernel/perf_event_paranoid"
	caps, err := capabilities()
	if err != nil {
		t.Fatal(err)
	}
	privileged := caps>>unix.CAP_SYS_ADMIN&1 != 0
	for content, want := range map[string]string{"2\n": "not by the sysctl", "-1\n": "not by the sysctl",
		"x": "see the sysctl", "3\n": "is 3, so that perf events take CAP_SYS_ADMIN"} {
		if privileged && content == "3\n" {
			want = "not by the sysctl"
		}
		if got := with(t, file, content).PerfForbidden(); !strings.Contains(got, want) {
			t.Errorf("%q: %s, want %s", content, got, want)
		}
	}
}
