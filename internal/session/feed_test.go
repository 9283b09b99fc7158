package session_test

import (
	"bytes"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hawktrace/hawk/internal/compile"
	"github.com/hawktrace/hawk/internal/hawktest/bound"
	"github.com/hawktrace/hawk/internal/machine"
	"github.com/hawktrace/hawk/internal/output"
	"github.com/hawktrace/hawk/internal/probe"
	"github.com/hawktrace/hawk/internal/session"
	"github.com/hawktrace/hawk/internal/source"
	"github.com/hawktrace/hawk/internal/value"
	"github.com/hawktrace/hawk/internal/view"
	"github.com/hawktrace/hawk/internal/view/derive"
)

// items is a feed that keeps what it was given.
type items struct {
	mu  sync.Mutex
	all []view.Item
}

func (f *items) Take(i view.Item) error {
	if snap, ok := i.(view.Snapshot); ok {
		for i := range snap.Rows.Len() {
			row := snap.Rows.At(i)
			value.Settle(row.Key) // as who shows stacks does
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.all = append(f.all, i)
	return nil
}

// fed runs a script with a feed and yields what it took, and the text.
func fed(t *testing.T, script string, needs view.Needs) ([]view.Item, string) {
	t.Helper()
	needsBPF(t)
	po := probe.Options{Machine: machine.Host(), MaxProbes: 1024}
	file := source.NewFile("stdin", script)
	res, ds := compile.Compile(file, compile.Options{Probe: po})
	if res == nil {
		var text strings.Builder
		ds.Print(&text, source.PrintOptions{})
		t.Fatalf("%s\n%s", script, &text)
	}
	meaning := derive.Derive(res.Tree, res.Checked)
	p, _ := session.Compile(file, compile.Options{Probe: po})
	var feed items
	var out bytes.Buffer
	s, err := session.Start(t.Context(), session.Spec{Program: p, Probe: po}, session.Options{
		Sink: output.NewText(&out, io.Discard, output.Options{}), Feed: &feed, Needs: needs, Meaning: meaning,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := s.Wait(); err != nil {
		t.Fatal(err)
	}
	return feed.all, out.String()
}

// sortedRows are rows in a line, less what differs from run to run.
func sortedRows(rows view.Rows) string {
	var out []string
	for i := range rows.Len() {
		r := rows.At(i)
		text := fmt.Sprintf("%s=%s", value.AppendKey(nil, orNull(r.Key)), value.AppendText(nil, r.Value))
		if r.AtLeast {
			text += "+"
		}
		out = append(out, text)
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

// told is an item in a line, less what differs from run to run.
func told(i view.Item) string {
	switch i := i.(type) {
	case view.Begin:
		return "begin " + i.Script.Name
	case view.Attached:
		return fmt.Sprintf("attached %d", i.Probes)
	case view.Event:
		text := fmt.Sprintf("event %s %q", i.Site.Builtin, i.Text)
		for j, a := range i.Args {
			text += fmt.Sprintf(" %s=%s", i.Site.Args[j].Name, value.AppendText(nil, a))
		}
		return text
	case view.Mark:
		return fmt.Sprintf("mark %s top %d div %d at end %v: %s", i.Map.Name, i.Top, i.Div, i.AtEnd,
			sortedRows(i.Rows))
	case view.Cleared:
		return fmt.Sprintf("cleared %s zero %v", i.Map.Name, i.Zero)
	case view.Snapshot:
		return fmt.Sprintf("snapshot %s totals %v complete %v: %s", i.Map.Name, i.Totals, i.Complete,
			sortedRows(i.Rows))
	case view.Loss:
		return fmt.Sprintf("loss %d", i.Records)
	case view.End:
		return fmt.Sprintf("end %d", i.Status)
	}
	return fmt.Sprintf("%T", i)
}

func orNull(v value.Value) value.Value {
	if v == nil {
		return value.Null{}
	}
	return v
}

// The whole of begin runs before its records are read.
const fedScript = `begin {
	$x = 5;
	printf("hello %s %d\n", "you", $x);
	print(($x, (name="n", $x + 1).0));
	for ($i : 0..3) { @n[$i] = sum($i + 1); @h[$i] = hist($i); @t = count(); @plain[$i] = $i; @m = max($i); }
	print(@n, 2, 1);
	clear(@n); clear(@t); zero(@h); clear(@plain); clear(@m);
	@n[1] = sum(10); @t = count(); @m = max(1);
	exit(3);
}`

// TestHeld has looks say what maps hold of totals, for each row only where that is not all of it.
func TestHeld(t *testing.T) {
	items, _ := fed(t, `begin {
	@all[1] = count(); @all[2] = count();
	@some[1] = count(); @some[2] = count();
	clear(@some);
}
interval:ms:50 { @some[0] = count(); @some[2] = count(); exit(); }`, view.Needs{Totals: true, Now: true})
	for _, item := range items {
		s, ok := item.(view.Snapshot)
		if !ok {
			continue
		}
		want := map[string][2]string{"@all": {"1=1 2=1", "1=1 2=1"}, "@some": {"0=1 1=1 2=2", "0=1 2=1"}}[s.Map.Name]
		if got := [2]string{sortedRows(s.Rows), sortedRows(s.Now)}; got != want {
			t.Errorf("%s has %q, want %q", s.Map.Name, got, want)
		}
	}
}

func TestFeed(t *testing.T) {
	script := strings.Replace(fedScript, `(name="n", $x + 1).0`, `$x + 1`, 1)
	feed, text := fed(t, script, view.Needs{Events: true})
	want := []string{
		`begin stdin`,
		`attached 1`,
		`event printf "hello you 5\n" x=5`,
		`event print "(5, 6)\n" x=5 arg1_=6`,
		`mark @n top 2 div 1 at end false: 0=1 1=12 2=3`,
		`cleared @n zero false`, `cleared @t zero false`, `cleared @h zero true`,
		`cleared @plain zero false`, `cleared @m zero false`,
	}
	for i, w := range want {
		if i >= len(feed) || told(feed[i]) != w {
			t.Errorf("item %d is %s, want %s", i, told(feed[min(i, len(feed)-1)]), w)
		}
	}
	if got := told(feed[len(feed)-1]); got != "end 3" {
		t.Errorf("the last item is %s", got)
	}
	withTotals, again := fed(t, script, view.Needs{Totals: true})
	if text != again {
		t.Errorf("text with totals:\n%s\nwithout:\n%s", again, text)
	}
	var lines []string
	for _, i := range withTotals {
		lines = append(lines, told(i))
	}
	for _, w := range []string{
		`snapshot @n totals true complete true: 0=1 1=12 2=3`,
		`snapshot @t totals true complete true: null=4`,
		`snapshot @m totals false complete true: `,
	} {
		if !slices.Contains(lines, w) {
			t.Errorf("there is no %s in\n%s", w, strings.Join(lines, "\n"))
		}
	}
}

// TestTotalsUnderLoad has what a script clears, while all CPUs count, add up to what was
// counted beside it: but for programs that are under way at the end, and for elements those
// that were under way on other CPUs as elements were taken out. It runs for as long as it
// takes for that to be one event in ten at most.
func TestTotalsUnderLoad(t *testing.T) {
	for _, every := range []time.Duration{0, time.Millisecond} {
		enough := false
		for ms := 400; !enough && ms <= 6400; ms *= 4 {
			enough = totalsUnderLoad(t, ms, every)
		}
		if !enough {
			t.Skip("this machine was too busy to fire a probe often enough")
		}
	}
}

func totalsUnderLoad(t *testing.T, ms int, every time.Duration) (enough bool) {
	script := fmt.Sprintf(`begin { @start = 1; }
	profile:us:200 {
		@n[cpu] = count(); @sum[cpu %% 2] = sum(3); @all = count(); @plain[1]++; @stack[ustack(2)] = count();
		@check[cpu]++;
	}
	interval:ms:10 { clear(@n); zero(@sum); clear(@all); }
	interval:ms:%d { exit(); }`, ms)
	feed, _ := fed(t, script, view.Needs{Totals: true, Every: every})
	total := map[string]uint64{}
	clears := uint64(0)
	for _, i := range feed {
		if c, ok := i.(view.Cleared); ok && c.Map.Name == "@n" {
			clears++
		}
		snap, ok := i.(view.Snapshot)
		if !ok {
			continue
		}
		was := total[snap.Map.Name]
		total[snap.Map.Name] = 0
		for i := range snap.Rows.Len() {
			r := snap.Rows.At(i)
			switch v := r.Value.(type) {
			case value.Uint:
				total[snap.Map.Name] += uint64(v)
			case value.Int:
				total[snap.Map.Name] += uint64(v)
			}
			if r.AtLeast {
				t.Errorf("%s: a total is a lower bound", snap.Map.Name)
			}
		}
		if total[snap.Map.Name] < was {
			t.Errorf("%s fell from %d to %d", snap.Map.Name, was, total[snap.Map.Name])
		}
	}
	check, cpus := total["@check"], uint64(runtime.NumCPU())
	underWay := clears * cpus
	if clears < 5 || check < 10*underWay {
		t.Logf("%d events and %d clears in %d ms are too few", check, clears, ms)
		return false
	}
	near := func(name string, got, under uint64) {
		t.Logf("%s: %d of %d after %d clears", name, got, check, clears)
		if diff := int64(check - got); diff > int64(under) || -diff > int64(cpus) {
			t.Errorf("%s has %d of %d after %d clears", name, got, check, clears)
		}
	}
	near("@n", total["@n"], underWay)
	near("@sum", total["@sum"]/3, underWay)
	near("@all", total["@all"], cpus)
	return true
}

// TestRowsRoom has what a look found in a map of many keys take little more than keys and values are long.
func TestRowsRoom(t *testing.T) {
	const keys = 50_000
	items, _ := fed(t, fmt.Sprintf(`config = { max_map_keys = %d }
begin { for ($i : 0..%[1]d) { @n[$i] = count(); @k[($i, $i)] = sum($i); } exit(); }`, keys),
		view.Needs{Totals: true, Now: true})
	for _, item := range items {
		s, ok := item.(view.Snapshot)
		if !ok {
			continue
		}
		if s.Rows.Len() != keys || s.Now.Len() != keys {
			t.Fatalf("%s has %d rows, and %d of now", s.Map.Name, s.Rows.Len(), s.Now.Len())
		}
		with := bound.Heap()
		s, item = view.Snapshot{Map: s.Map}, nil
		for i := range items {
			if is, ok := items[i].(view.Snapshot); ok && is.Map == s.Map {
				items[i] = nil
			}
		}
		if n := (with - bound.Heap()) / keys; n < 8 || n > 40 {
			t.Errorf("a row of %s takes %d bytes", s.Map.Name, n)
		}
	}
}
