package hawk_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/hawktrace/hawk"
)

// hierarchy is where control groups of version 2 are mounted.
func hierarchy(t *testing.T) string {
	t.Helper()
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		t.Skip(err)
	}
	for line := range strings.Lines(string(mounts)) {
		if f := strings.Fields(line); len(f) > 2 && f[2] == "cgroup2" {
			return f[1]
		}
	}
	t.Skip("no control groups of version 2 are mounted")
	return ""
}

// cgroup makes a control group and returns its directory.
func cgroup(t *testing.T, dir string) string {
	t.Helper()
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { os.Remove(dir) })
	return dir
}

// Events are those of the control groups that were named and of what is below them.
func TestCgroups(t *testing.T) {
	privileged(t)
	outer := cgroup(t, filepath.Join(hierarchy(t), fmt.Sprintf("hawk-test-%d", os.Getpid())))
	inner := cgroup(t, filepath.Join(outer, "inner"))
	beside := cgroup(t, outer+"-beside")
	const script = `tracepoint:syscalls:sys_enter_exit_group { @[pid] = count(); } interval:ms:10 { @alive = 1; }`
	s := start(t, script, &hawk.CompileOptions{Cgroups: []string{outer}}, nil)
	var within []uint64
	for _, dir := range []string{outer, inner, beside} {
		group, err := os.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("/bin/true")
		cmd.SysProcAttr = &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: int(group.Fd())}
		err = cmd.Run()
		group.Close()
		if err != nil {
			t.Skip(err)
		}
		if dir != beside {
			within = append(within, uint64(cmd.Process.Pid))
		}
	}
	m, _ := s.Map("@")
	var got []uint64
	for pid := range hawk.Entries[uint64, uint64](m) {
		got = append(got, pid)
	}
	slices.Sort(got)
	slices.Sort(within)
	if !slices.Equal(got, within) {
		t.Errorf("processes %d, want %d", got, within)
	}
	alive, _ := s.Map("@alive")
	waitFor(t, "the interval fires for nobody's group", func() bool { _, ok, _ := alive.Get(); return ok })
}

func TestCgroupErrors(t *testing.T) {
	ctx := context.Background()
	for _, o := range []*hawk.CompileOptions{
		{Cgroups: []string{"/proc"}},
		{Cgroups: []string{filepath.Join(t.TempDir(), "none")}},
		{Cgroups: []string{hierarchy(t)}, Portable: true},
	} {
		if _, err := hawk.Compile(ctx, &hawk.Script{Text: "begin { }"}, o); err == nil {
			t.Errorf("no error with %q", o.Cgroups)
		}
	}
	_, err := compile(t, "begin { }", &hawk.CompileOptions{Cgroups: []string{"/nowhere"}})
	if !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}
