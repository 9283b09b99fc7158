package compile_test

import (
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	_ "github.com/hawktrace/hawk/internal/builtin/table" // all that the tables can have
	_ "github.com/hawktrace/hawk/internal/probe/kinds"   // likewise

	"github.com/hawktrace/hawk/internal/compile"
	"github.com/hawktrace/hawk/internal/probe"
	"github.com/hawktrace/hawk/internal/probe/probetest"
	"github.com/hawktrace/hawk/internal/source"
	"github.com/hawktrace/hawk/internal/types"
)

// TestPlain: a compiled script is a plain value, and holds nothing that could be
// called or waited for, but in rows of tables and in types, which are read only.
func TestPlain(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	const body = ` { @[comm] = count(); printf("%d %s", pid, probe); }`
	points := []string{
		"begin", "self:signal:SIGUSR1", "interval:s:1", "profile:hz:99", "software:faults:100",
		"hardware:cycles:1e6",
		"tracepoint:sched:sched_switch", "tracepoint:syscalls:sys_enter_read",
		"tracepoint:syscalls:sys_*_read",
		"kprobe:vfs_read", "kretprobe:vfs_read", "kprobe:vfs_*", "fentry:vmlinux:vfs_read",
		"rawtracepoint:sched_switch",
		"uprobe:" + self + ":runtime.mallocgc", "uretprobe:" + self + ":runtime.mallocgc",
		"uprobe:" + self + ":runtime.malloc*",
	}
	seen := 0
	for _, point := range points {
		f := source.NewFile("t.bt", point+body)
		res, ds := compile.Compile(f, compile.Options{Probe: probe.Options{Machine: probetest.Recorded(t, "")}})
		if ds.HasErrors() {
			var b strings.Builder
			ds.Print(&b, source.PrintOptions{})
			t.Errorf("%s: %s", point, b.String())
			continue
		}
		w := plain{seen: map[any]bool{}, report: func(path string, v reflect.Value) {
			t.Errorf("%s: the object has a %s at %s", point, v.Type(), path)
		}}
		w.walk("object", reflect.ValueOf(res.Object))
		seen += len(w.seen)
	}
	if seen < 10*len(points) {
		t.Errorf("only %d parts were looked at", seen)
	}
}

// plain goes through all that a value holds.
type plain struct {
	seen   map[any]bool // pointers, which are followed once
	report func(path string, v reflect.Value)
}

func (w *plain) walk(path string, v reflect.Value) {
	switch v.Kind() {
	case reflect.Func, reflect.Chan, reflect.UnsafePointer:
		if !v.IsNil() {
			w.report(path, v)
		}
	case reflect.Interface:
		if !v.IsNil() && !v.Type().Implements(reflect.TypeFor[types.Type]()) {
			w.walk(path, v.Elem())
		}
	case reflect.Pointer:
		key := [2]any{v.Type(), v.Pointer()}
		row := v.Type() == reflect.TypeFor[*probe.Kind]() || v.Type().Implements(reflect.TypeFor[types.Type]())
		if !v.IsNil() && !row && !w.seen[key] {
			w.seen[key] = true
			w.walk("*"+path, v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			w.walk(path+"."+v.Type().Field(i).Name, v.Field(i))
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			w.walk(fmt.Sprintf("%s[%d]", path, i), v.Index(i))
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			w.walk(path+"[key]", key)
			w.walk(fmt.Sprintf("%s[%v]", path, key), v.MapIndex(key))
		}
	}
}
