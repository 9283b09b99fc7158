package hawk_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"slices"
	"testing"
	"testing/fstest"

	"github.com/hawktrace/hawk"
	"github.com/hawktrace/hawk/internal/machine"
)

// TestRecording: a machine is written down, and stands in for itself.
func TestRecording(t *testing.T) {
	privileged(t) // others do not see all there is to be compiled by
	dir := t.TempDir()
	if err := machine.Host().Record(dir); err != nil {
		t.Fatal(err)
	}
	there, err := hawk.Recorded(os.DirFS(dir))
	if err != nil {
		t.Fatal(err)
	}
	t.Run("compiles", func(t *testing.T) { recordedCompiles(t, there) })
	t.Run("runs", func(t *testing.T) { recordedRuns(t, there) })
}

// Scripts compiled for a recorded machine get the same instructions as on that machine,
// and the same bytes if they are portable.
func recordedCompiles(t *testing.T, there *hawk.Machine) {
	host := hawk.Host()
	if there.Kernel() != host.Kernel() || there.Kernel() == "" {
		t.Errorf("kernel %q, want %q", there.Kernel(), host.Kernel())
	}
	features := func(m *hawk.Machine) (out []string) {
		for f := range m.Features() {
			if f.Err == nil {
				out = append(out, f.Name)
			}
		}
		return out
	}
	if a, b := features(there), features(host); !slices.Equal(a, b) || len(a) == 0 {
		t.Errorf("features %q, want %q", a, b)
	}
	probes := func(m *hawk.Machine) (out []string) {
		for p, err := range m.Probes(context.Background(), "tracepoint:sched:*", &hawk.ListOptions{Args: true}) {
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, p.Name)
			for _, a := range p.Args {
				out = append(out, a.Type.String()+" "+a.Name)
			}
		}
		return out
	}
	if a, b := probes(there), probes(host); !slices.Equal(a, b) || len(a) == 0 {
		t.Errorf("%d lines of probes, want %d", len(a), len(b))
	}
	for _, text := range []string{
		`begin { print((cpus=ncpus, at=nsecs)); }`,
		`tracepoint:sched:sched_switch { @[args.prev_comm, curtask.pid] = hist(curtask.mm.total_vm); }`,
		`rawtracepoint:sched_switch { @[kstack, ustack] = count(); @t[comm, cgroup] = sum(pid); }`,
		`profile:hz:99 { @[kstack(3), comm] = count(); } interval:s:1 { print(@); clear(@); exit(); }`,
		`software:page-faults:100 { if (strcontains(comm, "x")) { printf("%s %d\n", comm, elapsed); } }`,
		`tracepoint:syscalls:sys_enter_openat { @[str(args.filename)] = lhist(args.dfd, 0, 9, 1); }`,
		`self:signal:SIGUSR1 { for ($i : 0..100) { @a[$i] = avg($i); } }`,
	} {
		for _, portable := range []bool{false, true} {
			script := &hawk.Script{Text: text}
			here, err := hawk.Compile(context.Background(), script, &hawk.CompileOptions{Portable: portable})
			if err != nil {
				t.Logf("%s: %v", text, err)
				continue
			}
			o := &hawk.CompileOptions{Portable: portable, Machine: there}
			elsewhere, err := hawk.Compile(context.Background(), script, o)
			if err != nil {
				t.Errorf("%s: %v", text, err)
				continue
			}
			if a, b := elsewhere.Instructions(), here.Instructions(); !slices.Equal(a, b) {
				t.Errorf("%s (portable: %t): other instructions", text, portable)
			}
			if !bytes.Equal(elsewhere.Payload(), here.Payload()) {
				t.Errorf("%s: other bytes", text)
			}
			s, err := elsewhere.Start(context.Background(), nil)
			if !portable && !errors.Is(err, hawk.ErrBind) {
				t.Errorf("%s: started here: %v", text, err)
			}
			if err == nil {
				s.Close()
			}
		}
	}
}

// A portable program for a recorded machine runs where it is sent.
func recordedRuns(t *testing.T, there *hawk.Machine) {
	script := &hawk.Script{Text: `begin { print((n=(int32)5)); exit(); }`}
	p, err := hawk.Compile(context.Background(), script, &hawk.CompileOptions{Portable: true, Machine: there})
	if err != nil {
		t.Fatal(err)
	}
	var sent, out bytes.Buffer
	if _, err := p.WriteTo(&sent); err != nil {
		t.Fatal(err)
	}
	if p, err = hawk.Load(&sent); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Run(context.Background(), &hawk.RunOptions{Output: hawk.TextOutput(&out, &out)}); err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(out.Bytes(), []byte("{ .n = 5 }")) {
		t.Errorf("%q", &out)
	}
}

func TestRecordedErrors(t *testing.T) {
	for name, files := range map[string]fstest.MapFS{
		"no files":    {},
		"no features": {"uname": {Data: []byte("x86_64 6.1.0\n")}},
		"bad names":   {"uname": {Data: []byte("x86_64\n")}, "features": {}},
	} {
		if _, err := hawk.Recorded(files); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	dir := t.TempDir()
	if err := os.WriteFile(dir+"/file", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := machine.Host().Record(dir); err == nil {
		t.Error("a directory with something in it was written to")
	}
}

// FuzzRecorded: what is recorded may be anybody's, and compiles or is refused.
func FuzzRecorded(f *testing.F) {
	const format = "name: x\nID: 3\nformat:\n\tfield:int pid;\toffset:8;\tsize:4;\tsigned:1;\n\nprint fmt: \"\"\n"
	f.Add([]byte("x86_64 6.1.0"), []byte("ring_buffer"), []byte("0-3"), []byte("sched:x\n"), []byte(format),
		[]byte("\x9f\xeb\x01"), []byte("1"))
	f.Fuzz(func(t *testing.T, names, features, cpus, events, format, types, number []byte) {
		const tracing = "sys/kernel/tracing/"
		m, err := hawk.Recorded(fstest.MapFS{
			"uname": {Data: names}, "features": {Data: features}, "sys/devices/system/cpu/possible": {Data: cpus},
			tracing + "available_events": {Data: events}, tracing + "events/sched/x/format": {Data: format},
			tracing + "events/sched/x/id": {Data: number}, "sys/kernel/btf/vmlinux": {Data: types},
			"sys/bus/event_source/devices/cpu/type":         {Data: number},
			"sys/bus/event_source/devices/cpu/format/event": {Data: format},
			tracing + "available_filter_functions":          {Data: events}, "proc/kallsyms": {Data: format},
			"proc/sys/kernel/perf_event_max_stack": {Data: number},
		})
		if err != nil {
			return
		}
		for _, text := range []string{
			`tracepoint:sched:x { print((p=args.pid, c=curtask.comm)); }`, `kprobe:* { @[kstack] = count(); }`,
			`tracepoint:*:* { @[ncpus] = hist(pid); }`, `hardware:cpu/event=1/ { @ = count(); }`,
		} {
			hawk.Compile(context.Background(), &hawk.Script{Text: text}, &hawk.CompileOptions{Machine: m})
		}
	})
}
