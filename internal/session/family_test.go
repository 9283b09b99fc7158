package session

import (
	"encoding/binary"
	"os"
	"os/exec"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/hawktrace/hawk/internal/bpf"
	"github.com/hawktrace/hawk/internal/machine"
	"github.com/hawktrace/hawk/internal/probe"
)

// newFamily follows the calling thread with a map of a few entries.
func newFamily(t *testing.T, entries int) *family {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("not root")
	}
	const hash = 1
	fd, err := bpf.MapCreate(bpf.MapSpec{Name: "family", Type: hash, KeySize: 4, ValueSize: 4, MaxEntries: entries})
	if err != nil {
		t.Fatal(err)
	}
	f := &family{fds: []int{fd}}
	t.Cleanup(func() { f.close(); unix.Close(fd) })
	off, err := machine.Host().Offset("task_struct", "pid")
	if err != nil {
		t.Skip(err)
	}
	if err := f.set(0, 0); err != nil {
		t.Fatal(err)
	}
	runtime.LockOSThread()
	t.Cleanup(runtime.UnlockOSThread)
	if err := f.set(uint32(unix.Gettid()), probe.FollowTraced); err != nil {
		t.Fatal(err)
	}
	for event, code := range keepers(fd, off, anyTask) {
		if _, err := f.run(event, code); err != nil {
			t.Fatalf("%s: %v", event, err)
		}
	}
	return f
}

func (f *family) value(tid uint32) (uint32, bool) {
	v := make([]byte, 4)
	err := bpf.MapLookup(f.fds[0], word(tid), v)
	return binary.NativeEndian.Uint32(v), err == nil
}

func TestFamily(t *testing.T) {
	f := newFamily(t, 64)
	cmd := exec.Command("cat")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	child := uint32(cmd.Process.Pid)
	if v, ok := f.value(child); !ok || v != probe.FollowTraced {
		t.Errorf("the child: %d, %v", v, ok)
	}
	if f.over() {
		t.Error("over while the thread and its child run")
	}
	if !f.mayHave(int(child)) || f.mayHave(1) {
		t.Error("the child is no member, or the first process is one")
	}
	if !(*family)(nil).mayHave(1) {
		t.Error("without a family not everybody counts")
	}
	in.Close()
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	// The kernel lets go of a task only a while after its parent did, so what has
	// ended is told by the process, not by the map.
	if err := bpf.MapDelete(f.fds[0], word(uint32(unix.Gettid()))); err != nil {
		t.Fatal(err)
	}
	if !f.over() {
		t.Error("not over when all have ended")
	}
	if v, ok := f.value(0); !ok || v != 0 {
		t.Errorf("key 0: %d, %v", v, ok)
	}
}

func TestFamilyFull(t *testing.T) {
	f := newFamily(t, 2)
	if err := exec.Command("true").Run(); err != nil {
		t.Fatal(err)
	}
	if v, _ := f.value(0); v != probe.FollowFull {
		t.Errorf("key 0 is %d when there was no room, want %d", v, probe.FollowFull)
	}
}
