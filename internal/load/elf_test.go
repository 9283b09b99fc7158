package load_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/btf"
	"github.com/cilium/ebpf/rlimit"

	"github.com/hawktrace/hawk/internal/compile"
	"github.com/hawktrace/hawk/internal/load"
	"github.com/hawktrace/hawk/internal/machine"
	"github.com/hawktrace/hawk/internal/probe"
	"github.com/hawktrace/hawk/internal/source"
)

// writeELF writes an object and reads it as another loader does.
func writeELF(t *testing.T, res *compile.Result) *ebpf.CollectionSpec {
	t.Helper()
	var file bytes.Buffer
	if err := load.WriteELF(&file, res.Object); err != nil {
		t.Fatal(err)
	}
	spec, err := ebpf.LoadCollectionSpecFromReader(bytes.NewReader(file.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	return spec
}

// Names that are alike as far as BTF keeps them are told apart all the same.
func TestWriteELFNames(t *testing.T) {
	long := "@" + strings.Repeat("a", 200)
	script := fmt.Sprintf("begin { %[1]s1[1] = 1; %[1]s2[1] = 2; %[1]s3[1] = 3; @a[1] = 1; @a_2[1] = 1; }", long)
	res, ds := compile.Compile(source.NewFile("in.bt", script),
		compile.Options{Probe: probe.Options{Machine: machine.Recorded(t.TempDir())}})
	if res == nil {
		t.Fatal(ds.List())
	}
	spec := writeELF(t, res)
	hashes := 0
	for _, m := range spec.Maps {
		if m.Type == ebpf.Hash {
			hashes++
		}
	}
	if hashes != 5 {
		t.Errorf("%d of 5 maps have a name of their own: %v", hashes, spec.Maps)
	}
}

// TestWriteELF writes an object for other loaders: the library finds programs, maps
// and data in it, and the kernel takes them.
func TestWriteELF(t *testing.T) {
	const script = `begin { @a[1] = 2; @s["x"] = 5; $n = 0; while ($n < 500) { $n++; @a[$n] = $n; } for ($kv : @s) { printf("%s\n", $kv.0); } @ = $n; }
interval:ms:10 { @c = count(); exit(); }`
	host := new(machine.Machine)
	if err := errors.Join(host.Privileges(), host.Has(machine.ForEachMapElem)); err != nil {
		t.Skip(err)
	}
	res, ds := compile.Compile(source.NewFile("in.bt", script), compile.Options{Probe: probe.Options{Machine: host}})
	if res == nil {
		var b bytes.Buffer
		ds.Print(&b, source.PrintOptions{})
		t.Fatal(&b)
	}
	spec := writeELF(t, res)
	for name, want := range map[string]ebpf.ProgramType{"begin_1": ebpf.RawTracepoint,
		"interval_ms_10_2": ebpf.PerfEvent} {
		p := spec.Programs[name]
		if p == nil || p.Type != want || p.License != "GPL" {
			t.Errorf("%s is %+v", name, p)
			continue
		}
		if fn := btf.FuncMetadata(&p.Instructions[0]); fn == nil || fn.Name != name {
			t.Errorf("%s has no type: %v", name, fn)
		}
		if line := p.Instructions[0].Source(); line == nil {
			t.Errorf("%s has no lines", name)
		}
	}
	for name, want := range map[string]ebpf.MapType{"ring": ebpf.RingBuf, "a": ebpf.Hash,
		"s": ebpf.Hash, ".data": ebpf.Array} {
		if m := spec.Maps[name]; m == nil || m.Type != want || m.MaxEntries == 0 {
			t.Errorf("the map %s is %v", name, m)
		}
	}
	rlimit.RemoveMemlock()
	c, err := ebpf.NewCollection(spec)
	if err != nil {
		t.Fatalf("%+v", err)
	}
	c.Close()
}
