package aot_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hawktrace/hawk/internal/aot"
	"github.com/hawktrace/hawk/internal/arch"
	"github.com/hawktrace/hawk/internal/compile"
	"github.com/hawktrace/hawk/internal/hawktest/bound"
	"github.com/hawktrace/hawk/internal/machine"
	"github.com/hawktrace/hawk/internal/object"
	"github.com/hawktrace/hawk/internal/probe"
	"github.com/hawktrace/hawk/internal/source"
)

// scripts use what a payload has to keep: every kind of type, events, failures, options, macros,
// and types of maps.
var scripts = []string{
	`begin { printf("hello %d %s\n", 1, "x"); }`,
	`config = { max_map_keys = 7; missing_probes = warn } macro twice($x) { $x * 2 } begin { $y = 4; @[1, "a", ` +
		`(int8)2] = twice($y); @r[1] = (a=1, b="t"); print(5 / @z); @z = 0; }`,
	`begin { @h = hist(5); @l[1] = lhist(3, 0, 10, 2); @s = stats(4); @t[nsecs] = kstack; @b = true; @buf = ` +
		`buf("abc", 3); print(@h); clear(@h); } end { }`,
	`struct pair { int a; char text[8]; int low : 3; int high : 5; struct { int x; } inner; int list[4]; }; enum ` +
		`color { red, green = 5 }; begin { $p = (struct pair *)0; @p[*$p] = 1; @e = (enum color)5; @n = ` +
		`getopt("n", 5, "how many"); @q = getopt("q", "text"); }`,
	`interval:ms:10, interval:s:1 { @[probe] = count(); time("%H\n"); strftime("%S", nsecs); exit(3); } ` +
		`self:signal:SIGUSR1 { }`,
}

// encode compiles a script for a machine of which nothing is known.
func encode(t testing.TB, text string) []byte {
	t.Helper()
	machine, ledger := machine.Host().ForOthers(arch.AMD64, "5.11")
	res, ds := compile.Compile(source.NewFile("in.bt", text),
		compile.Options{Probe: probe.Options{Machine: machine}, Verify: true})
	if res == nil {
		var b bytes.Buffer
		ds.Print(&b, source.PrintOptions{})
		t.Fatalf("%s\n%s", text, &b)
	}
	v, err := aot.NewVariant(res.Object, ledger)
	if err != nil {
		t.Fatal(err)
	}
	p := &aot.Payload{Arch: arch.AMD64.Name, Config: res.Config, Filter: ".",
		NoFeature: map[string]bool{"unwind": true}, Variants: []*aot.Variant{v}}
	b, err := p.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestFewProcessors: memory for each processor is that of the machine, however many a payload is made for.
func TestFewProcessors(t *testing.T) {
	for _, cpus := range []int{2, 64, machine.PortableCPUs} {
		m, ledger := machine.Recorded(t.TempDir()).ForOthers(arch.Native(), "")
		ledger.CPUs = cpus
		res, _ := compile.Compile(source.NewFile("in.bt", `begin { $x = @s[buf("b", 800)]; @s[$x] = buf("c", 700); }`),
			compile.Options{Probe: probe.Options{Machine: m}})
		if res == nil {
			t.Fatal("the script does not compile")
		}
		v, err := aot.NewVariant(res.Object, ledger)
		if err != nil {
			t.Fatal(err)
		}
		b, err := (&aot.Payload{Arch: arch.Native().Name, Config: res.Config, Variants: []*aot.Variant{v}}).Encode()
		if err != nil {
			t.Fatal(err)
		}
		p, err := aot.Decode(b)
		if err != nil {
			t.Fatal(err)
		}
		o, ds := p.Bind(&probe.Options{Machine: machine.Recorded(t.TempDir())}, false) // which has one processor
		if o == nil {
			t.Fatalf("for %d: %d errors", cpus, ds.Errors())
		}
		slots := res.Object.Maps[object.ScratchMap].MaxEntries / cpus
		if n := o.Maps[object.ScratchMap].MaxEntries; slots == 0 || n != slots || o.Data.CPUSlots != cpus {
			t.Errorf("for %d: scratch memory of %d elements in place of %d, cells of %d", cpus, n, slots,
				o.Data.CPUSlots)
		}
	}
}

// TestPayload has a payload that was read be written as it was, with all that it takes to run.
func TestPayload(t *testing.T) {
	for _, text := range scripts {
		b := encode(t, text)
		p, err := aot.Decode(b)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		again, err := p.Encode()
		if err != nil || !bytes.Equal(b, again) {
			t.Errorf("%s: not the same when written again, %v", text, err)
		}
		for i := 0; i < len(b); i += 1 + len(b)/100 {
			if p, err := aot.Decode(b[:i]); err == nil {
				t.Errorf("%s: %d of %d bytes are a payload of %d variants", text, i, len(b), len(p.Variants))
			}
		}
	}
	p, err := aot.Decode(encode(t, scripts[3]))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, o := range p.Options() {
		names = append(names, o.Name+" "+o.Type.String()+" "+o.Doc)
	}
	if d := cmp.Diff([]string{"n uint64 how many", "q string[1024] "}, names); d != "" {
		t.Error(d)
	}
}

// TestPayloadSize: cells that are zero take no room, wherever options and tables lie.
func TestPayloadSize(t *testing.T) {
	b := encode(t, `begin { @h = hist(3); $n = getopt("n", 5); $s = getopt("s", "word"); print(($n, $s)); }`)
	if len(b) > 8<<10 {
		t.Errorf("the payload has %d bytes", len(b))
	}
}

func TestFile(t *testing.T) {
	dir := t.TempDir()
	runtime, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	r, err := aot.OpenRuntime(runtime)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if r.Arch != arch.Native() {
		t.Errorf("the executable is for %s", r.Arch.Name)
	}
	tool, payload := filepath.Join(dir, "tool"), []byte("a payload")
	carried := func(name, version string) ([]byte, error) {
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		return aot.Carried(f, version)
	}
	for range 2 { // it is replaced, too
		if err := r.Write(tool, "v1", payload); err != nil {
			t.Fatal(err)
		}
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(tool, link); err != nil {
		t.Fatal(err)
	}
	if err := r.Write(link, "v1", payload); err != nil { // what it leads to is meant
		t.Fatal(err)
	}
	if to, err := os.Readlink(link); err != nil || to != tool {
		t.Errorf("the link leads to %q, %v", to, err)
	}
	if got, err := carried(tool, "v1"); err != nil || !bytes.Equal(got, payload) {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := carried(runtime, "v1"); err != nil || got != nil {
		t.Errorf("the executable itself carries %q, %v", got, err)
	}
	if _, err := carried(tool, "v2"); !errors.Is(err, aot.ErrVersion) {
		t.Errorf("with another version: %v", err)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 1 {
		t.Errorf("%d files are left", len(entries))
	}

	// One that carries a script serves as a runtime for another.
	second, err := aot.OpenRuntime(tool)
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	if err := second.Write(filepath.Join(dir, "second"), "v1", []byte("other")); err != nil {
		t.Fatal(err)
	}
	a, _ := os.Stat(tool)
	b, _ := os.Stat(filepath.Join(dir, "second"))
	if got, err := carried(filepath.Join(dir, "second"), "v1"); err != nil || string(got) != "other" ||
		a.Size()-b.Size() != int64(len(payload)-len("other")) {
		t.Errorf("%q, %v, %d and %d bytes", got, err, a.Size(), b.Size())
	}

	whole, err := os.ReadFile(tool)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name  string
		spoil func(b []byte) []byte
	}{
		{"payload", func(b []byte) []byte { b[len(b)-33] ^= 1; return b }},
		{"digest", func(b []byte) []byte { b[len(b)-20] ^= 1; return b }},
		{"length", func(b []byte) []byte { b[len(b)-10] = 0xff; return b }},
		{"short", func(b []byte) []byte { return b[len(b)-32:] }},
	} {
		name := filepath.Join(dir, tt.name)
		if err := os.WriteFile(name, tt.spoil(bytes.Clone(whole)), 0o755); err != nil {
			t.Fatal(err)
		}
		if _, err := carried(name, "v1"); err == nil || !strings.Contains(err.Error(), "damaged") {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "text"), []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := aot.OpenRuntime(filepath.Join(dir, "text")); err == nil {
		t.Error("a script is taken for an executable of hawk")
	}
}

// FuzzPayload reads payloads that nobody has written, and makes them ready to run on a machine of
// which nothing is known.
func FuzzPayload(f *testing.F) {
	for _, text := range scripts {
		f.Add(encode(f, text))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		bound.Run(t, len(b), func() {
			p, err := aot.Decode(b)
			if err != nil {
				return
			}
			if _, err := p.Encode(); err != nil {
				t.Errorf("what was read cannot be written: %v", err)
			}
			o, ds := p.Bind(&probe.Options{Machine: machine.Recorded(t.TempDir())}, false)
			if o == nil && !ds.HasErrors() {
				t.Error("no object, and no reason")
			}
		})
	})
}

// FuzzBind makes payloads ready for a machine that they were made for, with all that its tables
// say, whole and in pieces.
func FuzzBind(f *testing.F) {
	for _, text := range scripts {
		f.Add(encode(f, text), false)
		f.Add(encode(f, text), true)
	}
	machine := machine.Recorded("../compile/testdata/machine")
	f.Fuzz(func(t *testing.T, b []byte, pieces bool) {
		bound.Run(t, len(b), func() {
			p, err := aot.Decode(b)
			if err != nil {
				return
			}
			o, ds := p.Bind(&probe.Options{Machine: machine}, pieces)
			if o == nil && !ds.HasErrors() {
				t.Error("no object, and no reason")
			}
		})
	})
}
