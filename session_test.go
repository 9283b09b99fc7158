package hawk_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hawktrace/hawk"
)

// privileged skips a test that needs root.
func privileged(t testing.TB) {
	t.Helper()
	if err := hawk.Host().Privileges(); err != nil {
		t.Skip(err)
	}
}

func start(t testing.TB, script string, co *hawk.CompileOptions, o *hawk.RunOptions) *hawk.Session {
	t.Helper()
	privileged(t)
	p, err := compile(t, script, co)
	if err != nil {
		t.Fatal(err)
	}
	s, err := p.Start(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func TestEvents(t *testing.T) {
	s := start(t, `begin { print((a=1, b="x")); printf("%d\n", 2); @[5] = 6; print(@); exit(7); }`, nil, nil)
	var got []string
	for ev, err := range s.Events() {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, string(ev.Text))
		switch ev.Kind {
		case hawk.Print:
			var r struct {
				A uint8
				B string
			}
			if err := ev.Decode(&r); err != nil || r.A != 1 || r.B != "x" || ev.Site.Column != 9 {
				t.Errorf("%+v, %v, at %v", r, err, ev.Site)
			}
		case hawk.MapPrint:
			if len(ev.Map.Entries) != 1 || ev.Map.Entries[0].Key.String() != "5" {
				t.Errorf("%+v", ev.Map)
			}
		}
	}
	const want = "{ .a = 1, .b = x }\n2\n@[5]: 6\n"
	if text := strings.ReplaceAll(strings.Join(got, ""), "Attached 1 probe\n", ""); text != want+"\n\n" {
		t.Errorf("%q, want %q", got, want)
	}
	r, err := s.Wait()
	if err != nil || r.Status != 7 || r.Reason != hawk.Exited {
		t.Errorf("%+v, %v", r, err)
	}
}

// TextOutput and JSONOutput write what the command prints.
func TestOutputs(t *testing.T) {
	privileged(t)
	command := filepath.Join(t.TempDir(), "hawk")
	if out, err := exec.Command("go", "build", "-o", command, "./cmd/hawk").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	const script = `begin { printf("%s %d\n", "a", 1); print((a=1, b=(2, "c"))); @h = hist(3); @h = hist(70);
@n[1, "x"] = 2; @n[2, "y"] = 1; print(@n); print(5 / @z); @z = 0; exit(); } end { printf("end\n"); }`
	p, err := compile(t, script, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, format := range []string{"text", "json"} {
		var want, wantErr, got, gotErr bytes.Buffer
		cmd := exec.Command(command, "-f", format, "-e", script)
		cmd.Stdout, cmd.Stderr = &want, &wantErr
		if err := cmd.Run(); err != nil {
			t.Fatalf("%v\n%s", err, &wantErr)
		}
		o := hawk.TextOutput(&got, &gotErr)
		if format == "json" {
			o = hawk.JSONOutput(&got)
		}
		if _, err := p.Run(context.Background(), &hawk.RunOptions{Output: o, MapsOnExit: true}); err != nil {
			t.Fatal(err)
		}
		// The script is called otherwise.
		named := strings.NewReplacer("stdin:", "script:", `"stdin"`, `"script"`)
		if text := named.Replace(want.String()); got.String() != text {
			t.Errorf("%s:\n%s\nwant\n%s", format, &got, text)
		}
		warnings, _, _ := strings.Cut(gotErr.String(), "Attached")
		if !strings.Contains(named.Replace(wantErr.String()), warnings) {
			t.Errorf("%s:\n%s\nwant\n%s", format, &gotErr, &wantErr)
		}
	}
}

const ticks = `interval:ms:1 { @n++; print((n=@n)); }`

func TestMap(t *testing.T) {
	s := start(t, `begin { @[1, "a"] = 5; @[2, "b"] = 3; @s = 9; @h[7] = hist(100); } interval:s:100 { }`, nil, nil)
	m, err := s.Map("@")
	if err != nil {
		t.Fatal(err)
	}
	type key struct {
		N int
		S string
	}
	got := map[key]int{}
	for k, v := range hawk.Entries[key, int](m) {
		got[k] = v
	}
	if len(got) != 2 || got[key{1, "a"}] != 5 || got[key{2, "b"}] != 3 {
		t.Errorf("%v", got)
	}
	snap, err := m.Snapshot()
	if err != nil || !snap.Complete || len(snap.Entries) != 2 || snap.Entries[0].Value.String() != "3" {
		t.Errorf("%+v, %v", snap, err)
	}
	v, ok, err := m.Get(1, "a")
	if n, _ := v.Int64(); !ok || err != nil || n != 5 {
		t.Errorf("%v %v %v", v, ok, err)
	}
	if _, ok, err := m.Get(9, "a"); ok || err != nil {
		t.Errorf("%v %v", ok, err)
	}
	if _, _, err := m.Get("a"); err == nil {
		t.Error("no error of a key that is none")
	}
	scalar, _ := s.Map("@s")
	if v, ok, err := scalar.Get(); !ok || err != nil || v.String() != "9" {
		t.Errorf("%v %v %v", v, ok, err)
	}
	h, _ := s.Map("@h")
	v, ok, err = h.Get(7)
	hist, _ := v.Interface().(hawk.Hist)
	var sum uint64
	for _, b := range hist.Buckets {
		sum += b.Count
	}
	if !ok || err != nil || sum != 1 {
		t.Errorf("%+v %v %v", hist, ok, err)
	}
	if err := m.Clear(); err != nil {
		t.Error(err)
	}
	for k := range m.All() {
		t.Errorf("%v is left", k)
	}
	_, err = s.Map("@nothing")
	if !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), "there are @") {
		t.Error(err)
	}
	s.Close()
	if _, err := h.Snapshot(); !errors.Is(err, os.ErrClosed) {
		t.Error(err)
	}
}

// TestLeaving: nothing hangs when a consumer leaves the loop, stops or closes, whatever is in the queue.
func TestLeaving(t *testing.T) {
	s := start(t, ticks, nil, &hawk.RunOptions{Buffer: 4})
	for range s.Events() {
		break
	}
	for ev, err := range s.Events() {
		if err != nil || ev.Kind == hawk.Print {
			break
		}
	}
	time.Sleep(50 * time.Millisecond)
	s.Stop()
	r, err := s.Wait()
	if err != nil || r.Reason != hawk.Stopped {
		t.Errorf("%+v, %v", r, err)
	}
	if err := errors.Join(s.Close(), s.Close()); err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	p, err := compile(t, ticks, nil)
	if err != nil {
		t.Fatal(err)
	}
	s, err = p.Start(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	cancel()
	for range s.Events() {
	}
	if r, _ := s.Wait(); r.Reason != hawk.Cancelled {
		t.Errorf("%+v", r)
	}
}

// Events, Lost and Dropped are together what programs sent.
func TestCounts(t *testing.T) {
	const sent = 200_000
	for _, overflow := range []hawk.Overflow{hawk.Block, hawk.DropNewest} {
		const script = `self:signal:SIGUSR1 { for ($i : 0..200000) { print($i); } @sent = 200000; }`
		s := start(t, script, nil, &hawk.RunOptions{Buffer: 16, Overflow: overflow})
		s.Signal()
		m, _ := s.Map("@sent")
		for {
			if v, ok, err := m.Get(); err != nil {
				t.Fatal(err)
			} else if ok && v.String() == "200000" {
				break
			}
			time.Sleep(time.Millisecond)
		}
		st := accounted(t, s, overflow, sent)
		if overflow == hawk.DropNewest && st.Dropped == 0 {
			t.Errorf("nothing was dropped: %+v", st)
		}
	}
}

// TestBusyStart: a script that sends more before it is attached than is held for a reader does not
// keep Start from returning, since nobody can read before.
func TestBusyStart(t *testing.T) {
	const sent = 200_000
	for _, overflow := range []hawk.Overflow{hawk.Block, hawk.DropNewest} {
		for _, buffer := range []int{16, 1 << 20} {
			s := start(t, `begin { for ($i : 0..200000) { print($i); } } interval:s:100 { }`, nil,
				&hawk.RunOptions{Buffer: buffer, Overflow: overflow})
			accounted(t, s, overflow, sent)
		}
	}
}

// accounted stops a session, reads what it has printed, and demands that all events that programs
// sent were read, lost or dropped.
func accounted(t *testing.T, s *hawk.Session, overflow hawk.Overflow, sent uint64) hawk.Stats {
	t.Helper()
	s.Stop()
	var read uint64
	for ev, err := range s.Events() {
		if err == nil && ev.Kind == hawk.Print {
			read++
		}
	}
	r, err := s.Wait()
	if err != nil {
		t.Fatal(err)
	}
	st := r.Stats
	if st.Events+st.Lost+st.Dropped != sent || st.Events != read || st.Missed != 0 {
		t.Errorf("overflow %d: read %d, %+v", overflow, read, st)
	}
	t.Logf("overflow %d: %d events, %d lost, %d dropped", overflow, st.Events, st.Lost, st.Dropped)
	return st
}

func TestDecoded(t *testing.T) {
	const script = `begin { print((n=1, s="x")); print(5); printf("text\n"); print((n=300, s="y")); exit(); }`
	type record struct {
		N uint8  `hawk:"n,required"`
		S string `hawk:"s"`
	}
	s := start(t, script, nil, nil)
	var got []record
	var wrong *hawk.DecodeError
	var others int
	for r, err := range hawk.Decoded[record](s, func(hawk.Event) error { others++; return nil }) {
		if err != nil && !errors.As(err, &wrong) {
			t.Fatal(err)
		}
		got = append(got, r)
	}
	if len(got) != 2 || got[0] != (record{1, "x"}) || wrong == nil || wrong.Field != "n" || others < 2 {
		t.Errorf("%v, %v, %d others", got, wrong, others)
	}
	s = start(t, script, nil, nil)
	type other struct {
		X int `hawk:"x,required"`
	}
	for _, err := range hawk.Decoded[other](s, nil) {
		if !errors.As(err, &wrong) {
			t.Error(err)
		}
	}
}

func TestStartErrors(t *testing.T) {
	privileged(t)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	p, err := compile(t, ticks, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Start(ctx, nil); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	p, err = compile(t, `begin { system("true"); }`, &hawk.CompileOptions{Unsafe: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Start(context.Background(), nil); !errors.Is(err, hawk.ErrPolicy) {
		t.Error(err)
	}
	if p, err = hawk.Check(context.Background(), &hawk.Script{Text: ticks}, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Start(context.Background(), nil); err == nil || len(p.Probes()) != 1 || len(p.Maps()) != 1 {
		t.Errorf("%v, %v", err, p.Probes())
	}
}

// descriptors are the open files of this process.
func descriptors(t *testing.T) int {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

// Many sessions live in one process, side by side, and leave nothing.
func TestManySessions(t *testing.T) {
	privileged(t)
	p, err := compile(t, `interval:ms:1 { @n++; @by[pid] = count(); print((n=@n, at=nsecs)); }`, nil)
	if err != nil {
		t.Fatal(err)
	}
	one := func() {
		s, err := p.Start(context.Background(), nil)
		if err != nil {
			t.Error(err)
			return
		}
		defer s.Close()
		m, _ := s.Map("@n")
		n := uint64(0)
		for r, err := range hawk.Decoded[struct{ N uint64 }](s, nil) {
			if n++; err != nil || r.N < n {
				t.Errorf("%d: %+v, %v", n, r, err)
			}
			if _, err := m.Snapshot(); err != nil {
				t.Error(err)
			}
			if s.Stats(); n == 20 {
				break
			}
		}
	}
	one()
	before, goroutines := objects(t), runtime.NumGoroutine()
	var lasting time.Duration // HAWK_LASTING=60s go test -race -run ManySessions
	if text := os.Getenv("HAWK_LASTING"); text != "" {
		if lasting, err = time.ParseDuration(text); err != nil {
			t.Fatal(err)
		}
	}
	began, rounds := time.Now(), 0
	for rounds == 0 || time.Since(began) < lasting {
		var working sync.WaitGroup
		for range 64 {
			working.Go(one)
		}
		working.Wait()
		rounds++
	}
	t.Logf("%d times 64 sessions in %v", rounds, time.Since(began).Round(time.Millisecond))
	settled(t, "64 sessions", before)
	waitFor(t, "the goroutines of the sessions end", func() bool { return runtime.NumGoroutine() <= goroutines })
}

// Machines take with them what they mapped of the kernel's types: a process may map so many
// pieces only.
func TestManyMachines(t *testing.T) {
	const machines, most = 100, 10
	if _, err := os.Stat("/sys/kernel/btf/vmlinux"); err != nil {
		t.Skip(err)
	}
	mapped := func() int {
		runtime.GC()
		maps, err := os.ReadFile("/proc/self/maps")
		if err != nil {
			t.Fatal(err)
		}
		return bytes.Count(maps, []byte("/sys/kernel/btf/"))
	}
	before := mapped()
	for range machines {
		p, err := compile(t, `begin { print(curtask.comm); exit(); }`, nil)
		if err != nil {
			t.Fatal(err)
		}
		if hawk.Host().Privileges() == nil {
			if _, err := p.Run(context.Background(), nil); err != nil {
				t.Fatal(err)
			}
		}
	}
	waitFor(t, "machines take their mappings with them", func() bool { return mapped() <= before+most })
}

// waitFor waits until something holds.
func waitFor(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for range 6000 {
		if holds() {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Fatal("never: " + what)
}

// Stacks are frames with all that is known of them, in events that outlive the session
// as in maps.
func TestStacks(t *testing.T) {
	s := start(t, `begin { @u[ustack] = count(); @k = kstack(raw); print((u=ustack, k=kstack(2))); exit(); }`, nil, nil)
	type record struct {
		U, K hawk.Stack
	}
	var events []hawk.Event
	for ev, err := range s.Events() {
		if err != nil {
			t.Fatal(err)
		}
		if ev.Kind == hawk.Print {
			events = append(events, ev)
		}
	}
	m, err := s.Map("@u")
	if err != nil {
		t.Fatal(err)
	}
	snap, err := m.Snapshot()
	if err != nil || len(snap.Entries) != 1 {
		t.Fatalf("%+v, %v", snap, err)
	}
	held, ok := snap.Entries[0].Key.Interface().(hawk.Stack)
	if !ok {
		t.Fatalf("the key is a %T", snap.Entries[0].Key.Interface())
	}
	s.Close()
	var r record
	if len(events) != 1 {
		t.Fatalf("%d events", len(events))
	}
	if err := events[0].Decode(&r); err != nil {
		t.Fatal(err)
	}
	for _, u := range []hawk.Stack{r.U, held} {
		f := hawk.Frame{}
		for _, f = range u.Frames {
			if f.Func != "" {
				break
			}
		}
		if f.Func == "" || f.Module == "" || f.Kernel || !strings.Contains(u.String(), f.Func) {
			t.Errorf("frame %+v of %+v", f, u)
		}
	}
	if len(r.K.Frames) != 2 || !r.K.Frames[0].Kernel || r.K.Frames[0].Func == "" || r.K.Frames[0].Addr == 0 {
		t.Errorf("%+v", r.K)
	}
	var text string
	if err := events[0].Value.Field("k").Decode(&text); err != nil || text != r.K.String() {
		t.Errorf("%q, %v", text, err)
	}
	// Stacks that were read and not looked at have their addresses when all is closed.
	if late, ok := snap.Entries[0].Key.Interface().(hawk.Stack); !ok || len(late.Frames) == 0 {
		t.Errorf("%+v", late)
	}
}

// Who compiles again and again needs no machine of his own to keep: descriptors of files, of
// debug information and of a mount of tracefs go with the last program for a machine.
func TestMachinesClose(t *testing.T) {
	privileged(t)
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	script := fmt.Sprintf("tracepoint:sched:sched_switch, uprobe:%s:runtime.gcStart { @ = count(); }", path)
	before := objects(t)["file"]
	programs := make([]*hawk.Program, 20)
	for i := range programs {
		if programs[i], err = compile(t, script, nil); err != nil {
			t.Fatal(err)
		}
	}
	// Some of those before may be of other tests, and have gone meanwhile.
	if now := objects(t)["file"]; now < before+len(programs)/2 {
		t.Fatalf("%d descriptors with 20 programs, %d before: the test shows nothing", now, before)
	}
	runtime.KeepAlive(programs)
	waitFor(t, "machines close their files", func() bool {
		runtime.GC()
		return objects(t)["file"] <= before
	})
}
