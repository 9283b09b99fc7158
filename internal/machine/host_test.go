package machine

import (
	"errors"
	"os"
	"testing"

	"github.com/hawktrace/hawk/internal/bpf"
	"github.com/hawktrace/hawk/internal/types"
)

// needRoot skips tests that ask the running kernel things it tells only root.
func needRoot(t testing.TB) *Machine {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	return Host()
}

// needBTF skips tests on kernels without types.
func needBTF(t *testing.T) {
	t.Helper()
	if _, err := os.Stat("/sys/kernel/btf/vmlinux"); err != nil {
		t.Skip(err)
	}
}

func TestHostFeatures(t *testing.T) {
	h := needRoot(t)
	if err := h.Privileges(); err != nil {
		t.Skip(err)
	}
	for _, f := range Features() {
		err := h.Has(f)
		t.Logf("%-20s %v", f.Name, err)
		var u *Unsupported
		if err != nil && !errors.As(err, &u) {
			t.Errorf("%s: error of type %T", f.Name, err)
		}
		if err != h.Has(f) {
			t.Errorf("%s: two answers", f.Name)
		}
	}
	if err := h.Has(GetStackID); err != nil {
		t.Errorf("a helper of Linux 4.6: %v", err)
	}
	bogus := helper("bogus", "a helper that does not exist", "99.0", 100000, bpf.RawTracepoint)
	if err := h.Has(bogus); err == nil {
		t.Errorf("helper 100000 exists")
	}
}

// TestCountCPUs: where sysfs is missing its stand-ins give the same number, or a greater one.
func TestCountCPUs(t *testing.T) {
	h := needRoot(t)
	listed, err := h.cpuList("/sys/devices/system/cpu/possible")
	if err != nil {
		t.Skip(err)
	}
	want := listed[len(listed)-1] + 1
	if got := maskCPUs(); got < want {
		t.Errorf("CPU masks hold %d, but %d CPUs are possible", got, want)
	}
	if got := countCPUs(); got != want {
		t.Errorf("%d CPU numbers by perf events, %d by sysfs", got, want)
	}
	if got := h.PossibleCPUs(); got != want {
		t.Errorf("%d CPU numbers, %d by sysfs", got, want)
	}
	values, err := bpf.PerCPUValues()
	if err != nil || values != len(listed) {
		t.Errorf("elements of per-CPU maps have %d values, %v; %d CPUs are possible", values, err, len(listed))
	}
}

func TestHostTracefs(t *testing.T) {
	h := needRoot(t)
	dir, err := h.Tracefs()
	if err != nil {
		t.Skip(err)
	}
	events, err := h.Events()
	if err != nil || len(events) < 100 {
		t.Fatalf("%s: %d events, %v", dir, len(events), err)
	}
	f, err := h.TracepointFormat("sched", "sched_switch")
	if err != nil {
		t.Fatal(err)
	}
	if c, ok := f.Struct().Field("prev_comm"); !ok || c.Type.String() != "string[16]" {
		t.Errorf("prev_comm is %v", c.Type)
	}
	if id, err := h.TracepointID("sched", "sched_switch"); err != nil || id != f.ID {
		t.Errorf("id %d and %d, %v", id, f.ID, err)
	}
	if ok, err := h.HasEvent("sched", "nosuch"); ok || err != nil {
		t.Errorf("nosuch: %v, %v", ok, err)
	}
	if _, err := h.TracepointFormat("..", "x"); !errors.Is(err, ErrNoEvent) {
		t.Errorf("outside of events: %v", err)
	}
	for _, e := range events {
		cat, name, _ := cut(e)
		if _, err := h.TracepointFormat(cat, name); err != nil && !errors.Is(err, ErrNoEvent) {
			t.Errorf("%s: %v", e, err)
		}
	}
	_, err = h.FilterFunctions()
	t.Logf("tracefs at %s; functions: %v", dir, err)
}

func cut(e string) (string, string, bool) {
	for i := range e {
		if e[i] == ':' {
			return e[:i], e[i+1:], true
		}
	}
	return e, "", false
}

func TestHostTypes(t *testing.T) {
	h := Host()
	needBTF(t)
	typ, err := h.TypeByName("struct", "task_struct")
	if err != nil || typ.(*types.Struct).BTFID == 0 {
		t.Fatalf("%v, %v", typ, err)
	}
	if typ, err := h.TypeByName("", "pid_t"); err != nil || typ != types.Type(types.Int32) {
		t.Errorf("pid_t: %v, %v", typ, err)
	}
	e, v, err := h.EnumeratorByName("BPF_MAP_TYPE_RINGBUF")
	if err != nil || v != 27 || e.NameOf(27) != "BPF_MAP_TYPE_RINGBUF" {
		t.Errorf("enumerator: %v, %d, %v", e, v, err)
	}
	if _, err := h.TypeByName("struct", "no_such_struct_at_all"); err == nil {
		t.Error("found no_such_struct_at_all")
	}
	ns, err := h.PIDNamespace()
	t.Logf("%s %s, PID namespace %+v %v", h.Arch().Name, h.Release(), ns, err)
}
