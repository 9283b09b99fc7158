package check_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	cbtf "github.com/cilium/ebpf/btf"
	"github.com/google/go-cmp/cmp"

	"github.com/hawktrace/hawk/internal/check"
	"github.com/hawktrace/hawk/internal/expand"
	"github.com/hawktrace/hawk/internal/machine"
	"github.com/hawktrace/hawk/internal/probe"
	"github.com/hawktrace/hawk/internal/source"
	"github.com/hawktrace/hawk/internal/syntax"
)

// tagged records a machine whose kernel tags pointers.
func tagged(t *testing.T) *machine.Machine {
	number := &cbtf.Int{Name: "int", Size: 4, Encoding: cbtf.Signed}
	task := &cbtf.Struct{Name: "task", Size: 32}
	for i, tag := range []string{"percpu", "rcu", "user"} {
		task.Members = append(task.Members, cbtf.Member{
			Name: tag, Type: &cbtf.Pointer{Target: &cbtf.TypeTag{Value: tag, Type: task}}, Offset: cbtf.Bits(64 * i),
		})
	}
	task.Members = append(task.Members, cbtf.Member{Name: "n", Type: number, Offset: 64 * 3})
	b, err := cbtf.NewBuilder([]cbtf.Type{task}, nil)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := b.Marshal(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, text := range map[string][]byte{"uname": []byte("x86_64 6.12.0\n"), "sys/kernel/btf/vmlinux": raw} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return machine.Recorded(dir)
}

// TestPointerTags checks that nothing is read through pointers of CPUs' own
// data and the like, unless a cast says so.
func TestPointerTags(t *testing.T) {
	text := `begin {
	$t = (struct task *)kptr(8); $p = $t->percpu; $ok = ($p == $t, $t->rcu->n, $t->user.n, ((struct task *)(uint64)$p).n);
	print($p/* ERROR pointer-tag */->n);
	print($t->percpu/* ERROR pointer-tag */[1].n);
	$a = *$p/* ERROR pointer-tag */;
	print($a.n);
}`
	tree, ds := syntax.Parse(source.NewFile("in.bt", text))
	script, more := expand.Expand(tree, expand.Options{Probe: probe.Options{Machine: tagged(t)}})
	ds.Merge(more)
	_, more = check.Check(script)
	ds.Merge(more)
	want, have := wanted(text), got(ds)
	slices.Sort(want)
	slices.Sort(have)
	if diff := cmp.Diff(want, have); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
