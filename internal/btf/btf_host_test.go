package btf

import (
	"fmt"
	"math"
	"os"
	"testing"

	"github.com/hawktrace/hawk/internal/types"
)

// host returns the running kernel's BTF.
func host(t testing.TB) *Spec {
	data, err := os.ReadFile("/sys/kernel/btf/vmlinux")
	if err != nil {
		t.Skipf("no kernel BTF: %v", err)
	}
	s, err := Parse("vmlinux", data, nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestHostTypes(t *testing.T) {
	s := host(t)
	id, err := s.Find("task_struct", Set(Struct))
	if err != nil {
		t.Fatal(err)
	}
	typ, err := s.Type(id)
	if err != nil {
		t.Fatal(err)
	}
	task := typ.(*types.Struct)
	comm, ok := task.Field("comm")
	if !ok || comm.Type.String() != "string[16]" {
		t.Errorf("comm is %v (%v), want string[16]", comm.Type, ok)
	}
	parent, ok := task.Field("real_parent")
	if p, isPtr := parent.Type.(*types.Pointer); !ok || !isPtr || p.Elem != task {
		t.Errorf("real_parent is %v, want a pointer to the same struct", parent.Type)
	}
	if f, err := s.FuncProto("vfs_read"); err != nil || len(f.Params) != 4 {
		t.Errorf("vfs_read: %v, %v", f, err)
	} else if p := f.Params[1].Type.(*types.Pointer); p.Elem.Size() != 1 {
		t.Errorf("second parameter of vfs_read is %v", p)
	}
	taking := map[string]bool{}
	for n, name := range []string{"file", "iov_iter"} {
		if err := s.EachTaking(n, name, func(fn []byte) { taking[fmt.Sprint(string(fn), n)] = true }); err != nil {
			t.Error(err)
		}
	}
	if !taking["vfs_read0"] || taking["vfs_read1"] || !taking["vfs_iter_read1"] {
		t.Error("the functions that take a struct file first and an iov_iter second are others")
	}
	f, typedef, err := s.RawTracepoint("sched_switch")
	if err != nil || typedef == 0 || len(f.Params) < 3 || f.Params[1].Name != "prev" {
		t.Errorf("sched_switch: %+v, %v", f, err)
	}
	n := 0
	if err := s.EachRawTracepoint(func([]byte) bool { n++; return true }); err != nil || n < 50 {
		t.Errorf("%d tracepoints, %v", n, err)
	}
}

// Every type of the kernel converts and prints.
func TestHostEverything(t *testing.T) {
	s := host(t)
	if err := s.reach(math.MaxUint32); err != nil {
		t.Fatal(err)
	}
	for id := uint32(1); id < s.count; id++ {
		typ, err := s.Type(id)
		if err != nil {
			t.Fatalf("type %d: %v", id, err)
		}
		if st, ok := typ.(*types.Struct); ok {
			end := 0
			for _, f := range st.Fields() {
				end = max(end, f.Offset+f.Type.Size())
			}
			if end > st.Bytes && st.Bytes > 0 {
				t.Fatalf("%v: %d bytes, but fields reach to %d", st, st.Bytes, end)
			}
		}
		(&printer{Spec: s}).text(id)
	}
}

func BenchmarkOpenAndFind(b *testing.B) {
	data := host(b).types
	b.SetBytes(int64(len(data)))
	full, _ := os.ReadFile("/sys/kernel/btf/vmlinux")
	b.ResetTimer()
	for b.Loop() {
		s, _ := Parse("vmlinux", full, nil)
		if _, err := s.Find("task_struct", Set(Struct)); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkFindSecond(b *testing.B) {
	s := host(b)
	s.reach(math.MaxUint32)
	for b.Loop() {
		s.scans, s.found = 0, nil
		if _, err := s.Find("task_struct", Set(Struct)); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkBuildTable(b *testing.B) {
	s := host(b)
	for b.Loop() {
		if err := s.buildTable(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkTaskStruct(b *testing.B) {
	s := host(b)
	id, _ := s.Find("task_struct", Set(Struct))
	for b.Loop() {
		s.conv = nil
		typ, _ := s.Type(id)
		typ.(*types.Struct).Fields()
	}
}
