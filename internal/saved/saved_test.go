package saved

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hawktrace/hawk/internal/export"
	"github.com/hawktrace/hawk/internal/types"
	"github.com/hawktrace/hawk/internal/ui/live/livetest"
	"github.com/hawktrace/hawk/internal/value"
	"github.com/hawktrace/hawk/internal/view"
)

// played is a made-up run of some seconds, and its maps.
func played(t *testing.T) (*view.Run, []*view.Map) {
	t.Helper()
	rec := &view.Recorder{Events: true, Past: true}
	p := livetest.Player{To: rec}
	p.Begin()
	for range 12 {
		p.Second()
	}
	p.End()
	r := rec.Run()
	return r, r.Script.Maps
}

func written(t *testing.T, format string, r *view.Run, maps ...*view.Map) []byte {
	t.Helper()
	var b bytes.Buffer
	f := export.Find(format)
	if f.Stream == nil {
		if err := f.Write(&b, r, maps, export.Options{}); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	to := f.Stream(&b, maps, export.Options{Every: 1})
	items := []view.Item{r.Begin, r.Attached}
	for _, ev := range r.Events {
		items = append(items, ev)
	}
	for _, s := range slices.Concat(r.Past, r.Maps) {
		items = append(items, s, view.Refreshed{Boot: s.End})
	}
	for _, item := range append(items, *r.End) {
		if err := to.Take(item); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}

// parseBytes is parse of what is in memory.
func parseBytes(data []byte, name string) (*File, error) {
	return parse(bytes.NewReader(data), int64(len(data)), name)
}

// recorded is what a file says to a feed.
func recorded(t *testing.T, data []byte) *view.Run {
	t.Helper()
	file, err := parseBytes(data, "file")
	if err != nil {
		t.Fatal(err)
	}
	rec := &view.Recorder{Events: true, Past: true}
	if err := file.Run().Play(rec); err != nil {
		t.Fatal(err)
	}
	return rec.Run()
}

// TestRead reads files of a run, and has the run that they say make the same tables and
// the same stacks as the run itself.
func TestRead(t *testing.T) {
	r, maps := played(t)
	for _, form := range []string{"jsonl", "html"} {
		got := recorded(t, written(t, form, r, maps...))
		if got.Script.Name != r.Script.Name || !got.Wall.Equal(r.Wall) || got.Length() != r.Length() ||
			got.Loss != r.Loss || got.End.Cause != r.End.Cause {
			t.Errorf("%s: it is of %s at %v for %v, lost %v, ended by %s", form, got.Script.Name, got.Wall,
				got.Length(), got.Loss, got.End.Cause)
		}
		if len(got.Events) != len(r.Events) || len(got.Past) < len(r.Past)-len(maps) {
			t.Errorf("%s: %d events and %d looks of %d and %d", form, len(got.Events), len(got.Past), len(r.Events),
				len(r.Past))
		}
		for i, ev := range got.Events {
			if string(ev.Text) != string(r.Events[i].Text) || len(ev.Args) != len(r.Events[i].Args) {
				t.Errorf("%s: event %d is %q, not %q", form, i, ev.Text, r.Events[i].Text)
			}
		}
		for _, m := range maps {
			again := got.Script.Map(m.Name)
			if again == nil || again.Kind != m.Kind || again.Unit != m.Unit || again.Role != m.Role {
				t.Errorf("%s: %s is %+v", form, m.Name, again)
				continue
			}
			check := []string{"csv"}
			if m.Keyed() && m.Weight != view.NoWeight {
				check = append(check, "folded")
			}
			for _, f := range check {
				want, have := written(t, f, r, m), written(t, f, got, again)
				if !slices.Equal(lines(want), lines(have)) {
					t.Errorf("%s: %s as %s is\n%s, not\n%s", form, m.Name, f, have, want)
				}
			}
		}
	}
	// Files of stacks alone have a map for each profile, which weigh what they did.
	want := lines(written(t, "folded", r, livetest.Bytes))
	for _, form := range []string{"flame", "pprof", "folded"} {
		got := recorded(t, written(t, form, r, livetest.Bytes))
		if len(got.Script.Maps) != 1 {
			t.Fatalf("%s: %d maps", form, len(got.Script.Maps))
		}
		m := got.Script.Maps[0]
		if form != "folded" && (m.Unit != livetest.Bytes.Unit || m.Name != livetest.Bytes.Name) {
			t.Errorf("%s: the unit of %s is %q, not %q of %s", form, m.Name, m.Unit, livetest.Bytes.Unit,
				livetest.Bytes.Name)
		}
		if have := lines(written(t, "folded", got, got.Script.Maps[0])); form != "pprof" && !slices.Equal(have, want) {
			t.Errorf("%s:\n%q, not\n%q", form, have, want)
		} else if sum(have) != sum(want) {
			t.Errorf("%s weighs %d, not %d", form, sum(have), sum(want))
		}
	}
}

// lines are those of a file, sorted.
func lines(data []byte) []string {
	return slices.Sorted(strings.Lines(string(data)))
}

// sum is what folded stacks weigh.
func sum(stacks []string) (n int) {
	for _, s := range stacks {
		weight := 0
		for _, c := range strings.TrimSpace(s[strings.LastIndexByte(s, ' ')+1:]) {
			weight = 10*weight + int(c-'0')
		}
		n += weight
	}
	return n
}

// TestUnnamed finds functions without names at the same place in their file, whichever way a run was saved and
// wherever the file was in memory.
func TestUnnamed(t *testing.T) {
	key := &types.Stack{User: true, Limit: 5}
	m := &view.Map{Name: "@", Key: key, Type: types.Uint64, Kind: view.Counter, Weight: view.ValueWeight,
		Keys: []view.Element{{Frames: view.UserFrames}}}
	for _, base := range []uint64{0x400000, 0x7f0000000000} {
		st := &value.Stack{User: true, PID: 4, Addrs: []uint64{0x99, base + 0x234}, Namer: placed(base)}
		r := &view.Run{Begin: view.Begin{Script: &view.Script{Name: "x", Maps: []*view.Map{m}}},
			Maps: []view.Snapshot{{Map: m, Seq: 1, Complete: true, Totals: true,
				Rows: view.RowsOf([]view.Row{{Key: st, Value: value.Uint(3)}})}}, End: &view.End{Cause: "exit"}}
		for _, form := range []string{"jsonl", "html", "flame", "pprof", "folded"} {
			got := recorded(t, written(t, form, r, m))
			if text := string(written(t, "folded", got, got.Script.Maps[0])); text != "x+0x234;0x99 3\n" {
				t.Errorf("%s at %#x: %q", form, base, text)
			}
		}
	}
}

// placed names no function: addresses above it are in a file, and others nowhere.
type placed uint64

func (p placed) FramesAt(st *value.Stack, i int, _ value.Depth, frame *value.Frame, f func(*value.Frame)) {
	if frame.Addr >= uint64(p) {
		frame.Module, frame.BuildID, frame.FileOffset = "/usr/bin/x", "abcd", frame.Addr-uint64(p)
	}
	f(frame)
}
func (placed) Truncated(*value.Stack) bool { return false }
func (placed) Lines() *value.Lines         { return nil }
func (placed) Pool() *value.Pool           { return nil }

// TestDamaged reads files with bytes missing or changed: an error is right, a panic is not.
func TestDamaged(t *testing.T) {
	r, maps := played(t)
	for _, form := range []string{"jsonl", "html"} {
		whole := written(t, form, r, maps...)
		rng := rand.New(rand.NewPCG(1, 2))
		for range 100 {
			data := slices.Clone(whole)
			for range 1 + rng.IntN(3) {
				at := rng.IntN(len(data))
				switch rng.IntN(3) {
				case 0:
					data[at] = byte(rng.Uint32())
				case 1:
					data = data[:at+1]
				default:
					data = slices.Delete(data, at, min(at+rng.IntN(40), len(data)))
				}
				if len(data) == 0 {
					break
				}
			}
			if file, err := parseBytes(data, "x"); err == nil {
				file.Run().Play(&view.Recorder{Events: true, Past: true})
				file.Profiles()
			}
		}
	}
	for _, text := range []string{"", "{}", `{"type":"event"}`, `{"type":"script","maps":[{"name":"@"}]}` + "\n" +
		`{"type":"map","name":"@","rows":[[[],{}],[[1],2],[3]]}`, `{"type":"script"}` + "\n" +
		`{"type":"event","site":-1,"args":[1,{"a":2},[3]]}`} {
		if file, err := parseBytes([]byte(text), "x"); err == nil {
			file.Run().Play(&view.Recorder{})
			file.Profiles()
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("main;read 10\n"))
	f.Add([]byte("@[\n\tread+1\n, bash]: 5\n@h[a]:\n[1]   3 |@|\n"))
	f.Add([]byte("\x0a\x04\x08\x01\x10\x02\x32\x00"))
	f.Add([]byte(`<!doctype html><script type="application/json" id="data" data-form="json">{"profiles":[]}</script>`))
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := parseBytes(data, "x")
		if err != nil {
			return
		}
		file.Run().Play(&view.Recorder{Events: true, Past: true})
		file.Profiles()
	})
}

// A device that never ends is not read for ever.
func TestEnds(t *testing.T) {
	_, err := Load("/dev/zero")
	if err == nil || !strings.Contains(err.Error(), "/dev/zero: it is larger than 256 MiB") {
		t.Errorf("got %v", err)
	}
}

// Few bytes that stand for more than can be shown are refused.
func TestTooMuch(t *testing.T) {
	deep := strings.Repeat("f;", maxDepth) + "f 1\n"
	var functions, frames strings.Builder
	for i := range maxNames/2 + 1 {
		fmt.Fprintf(&functions, "a%d;b%d 1\n", i, i)
	}
	long := strings.Repeat("f;", maxDepth-2)
	for i := range maxAll/maxDepth + 2 {
		fmt.Fprintf(&frames, "%s%d 1\n", long, i)
	}
	histograms := func(looks, rows int) string {
		var b strings.Builder
		b.WriteString(`{"type":"script","maps":[{"name":"@","kind":"histogram","labels":["a"]}]}` + "\n")
		for t := range looks {
			fmt.Fprintf(&b, `{"type":"map","name":"@","t":%d,"rows":[[["x"],{}]`, t+1)
			for i := range rows {
				fmt.Fprintf(&b, `,[["%d"],{"buckets":[[%d,%[2]d,1]]}]`, i, t*rows+i)
			}
			b.WriteString("]}\n")
		}
		return b.String()
	}
	script := `{"type":"script"}` + "\n"
	nested := `{"type":"event","args":[` + strings.Repeat("[", 20) + strings.Repeat("]", 20) + "]}"
	for text, want := range map[string]string{
		deep:                "line 1: it has a stack of more than 4096 frames",
		functions.String():  "its stacks have more than 4194304 frames, or 524288 functions",
		histograms(1, 4000): "it would take more than 1 GiB of memory",
		script + nested:     "line 2: lists are nested too deeply",
		frames.String():     "line 1025: its stacks have more than 4194304 frames",
	} {
		if _, err := parseBytes([]byte(text), "x"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	// Buckets that other tables have are made for one table at a time.
	file, err := parseBytes([]byte(histograms(50, 50)), "x")
	if err != nil {
		t.Fatal(err)
	}
	last, err := file.End()
	if err != nil {
		t.Fatal(err)
	}
	got := last.Maps[0].Rows.At(1).Value
	if h, ok := got.(value.Hist); !ok || len(h.Buckets) != 2500 || h.Buckets[2450].Count != 1 {
		t.Errorf("the last table has %v", got)
	}
	f, err := parseBytes([]byte(strings.Repeat("a;b 1\n", maxNames+1)), "x")
	if err != nil || f.stacks[0].Total() != maxNames+1 {
		t.Errorf("one stack again and again: %v", err)
	}
}

// Profiles of time weigh time, whatever their makers call its unit.
func TestUnitsOfProfiles(t *testing.T) {
	for _, unit := range []view.Unit{view.NoUnit, view.Nanoseconds, view.Milliseconds, view.Seconds, view.Bytes} {
		played, _ := played(t)
		m, snap := *livetest.Bytes, *played.Snapshot(livetest.Bytes)
		m.Unit, snap.Map = unit, &m
		played.Maps = []view.Snapshot{snap}
		r := recorded(t, written(t, "pprof", played, &m))
		if got := r.Script.Maps[0].Unit; got != unit {
			t.Errorf("%q is read as %q", unit, got)
		}
	}
}

// TestLarge reads numbers that stand as text, since readers of JSON would round them.
func TestLarge(t *testing.T) {
	counter := &view.Map{Name: "@c", Kind: view.Counter, Weight: view.ValueWeight}
	gauge := &view.Map{Name: "@g", Kind: view.Gauge}
	number := view.Element{Name: "n", Type: types.Int64, Kind: view.Gauge, Unit: view.Bytes}
	word := view.Element{Name: "w", Type: &types.String{}, Kind: view.Text}
	pair := &types.Tuple{Elems: []types.Type{types.Int64, types.Int64}}
	all := []types.Type{pair, word.Type, &types.Record{Tuple: *pair, Names: []string{"a", "b"}}}
	nested := &view.Map{Name: "@t", Kind: view.Record, Key: &types.Tuple{Elems: []types.Type{types.Int64, word.Type}},
		Keys:    []view.Element{{Name: "key", Type: types.Int64}, word},
		Columns: []view.Element{number, number, word, number, number},
		Type:    &types.Tuple{Elems: all}}
	rec := &view.Recorder{Events: true, Past: true}
	rec.Take(view.Begin{Script: &view.Script{Name: "s", Maps: []*view.Map{counter, gauge, nested}}})
	const great = 1<<60 + 1
	rec.Take(view.Snapshot{Map: nested, Complete: true, End: 1, Rows: view.RowsOf([]view.Row{{
		Key: value.Tuple{value.Int(great), value.Str("key")},
		Value: value.Tuple{value.Tuple{value.Uint(1<<64 - 1), value.Int(2)}, value.Str(`{"[1, 2]`),
			value.Record{Names: []string{`",a`, "b"}, Values: []value.Value{value.Int(-great), value.Int(4)}}},
	}})})
	for m, v := range map[*view.Map]value.Value{counter: value.Uint(1<<64 - 1), gauge: value.Int(-1 << 60)} {
		rec.Take(view.Snapshot{Map: m, Rows: view.RowsOf([]view.Row{{Value: v}}), Complete: true, End: 1})
	}
	rec.Take(view.End{Boot: 2})
	r := rec.Run()
	for _, form := range []string{"jsonl", "html"} {
		got := recorded(t, written(t, form, r, counter, gauge, nested))
		again := got.Script.Map("@t")
		if have, want := written(t, "csv", got, again), written(t, "csv", r, nested); string(have) != string(want) {
			t.Errorf("%s: it is\n%s, not\n%s", form, have, want)
		}
		for i, want := range []types.Type{types.Int64, nil} {
			if got := again.Keys[i].Type; (got == types.Int64) != (want == types.Int64) {
				t.Errorf("%s: part %d of the key is %T", form, i, got)
			}
		}
		for name, want := range map[string]string{"@c": "18446744073709551615", "@g": "-1152921504606846976"} {
			s := got.Snapshot(got.Script.Map(name))
			if s == nil || s.Rows.Len() != 1 || view.Line(string(value.AppendText(nil, s.Rows.At(0).Value))) != want {
				t.Errorf("%s: %s is %+v, not %s", form, name, s, want)
			} else if _, text := s.Rows.At(0).Value.(value.Str); text {
				t.Errorf("%s: %s is text", form, name)
			}
		}
	}
}

// TestUnsigned reads histograms back whose largest buckets are those of numbers without a sign: in their order, with
// the bounds that they had, and in words that are not of numbers below zero.
func TestUnsigned(t *testing.T) {
	m := &view.Map{Name: "@h", Kind: view.Histogram, Key: types.Int64,
		Keys: []view.Element{{Name: "n", Type: types.Int64}}}
	cells := make([]uint64, 66)
	cells[0], cells[2], cells[64], cells[65] = 1, 2, 3, 4
	rec := &view.Recorder{}
	rec.Take(view.Begin{Script: &view.Script{Name: "s", Maps: []*view.Map{m}}})
	rec.Take(view.Snapshot{Map: m, Complete: true, End: 1, Rows: view.RowsOf([]view.Row{
		{Key: value.Int(1), Value: value.Hist{Buckets: value.Log2Buckets(0, cells)}},
		{Key: value.Int(2), Value: value.Hist{Buckets: value.Log2Buckets(0, cells[:65])}},
	})})
	rec.Take(view.End{Boot: 2})
	for _, form := range []string{"jsonl", "html"} {
		got := recorded(t, written(t, form, rec.Run(), m))
		again := got.Script.Map("@h")
		if have, want := written(t, "csv", got, again), written(t, "csv", rec.Run(), m); string(have) != string(want) {
			t.Errorf("%s: it is\n%s, not\n%s", form, have, want)
		}
		var labels []string
		for _, b := range got.Snapshot(again).Rows.At(0).Value.(value.Hist).Buckets {
			labels = append(labels, b.Label)
		}
		if want := []string{"(..., 0)", "[1]", "[4611686018427387904, 9223372036854775808)",
			"[9223372036854775808, 18446744073709551616)"}; !slices.Equal(labels, want) {
			t.Errorf("%s: labels are %q, not %q", form, labels, want)
		}
	}
}

// TestOthers tells the row of what is left out of a look from a key that is called so.
func TestOthers(t *testing.T) {
	m := &view.Map{Name: "@n", Kind: view.Counter, Type: types.Uint64, Key: types.Int64,
		Keys: []view.Element{{Name: "key", Type: types.Int64}}}
	text := &view.Map{Name: "@t", Kind: view.Counter, Type: types.Uint64, Key: &types.String{},
		Keys: []view.Element{{Name: "key", Type: &types.String{}}}}
	rec := &view.Recorder{Past: true}
	rec.Take(view.Begin{Script: &view.Script{Name: "s", Maps: []*view.Map{m, text}}})
	var numbers, words []view.Row
	for i := range 30 {
		numbers = append(numbers, view.Row{Key: value.Int(i), Value: value.Uint(1)})
		words = append(words, view.Row{Key: value.Str("(other)"[:min(i, 7)] + fmt.Sprint(i)[min(i/7, 1):]),
			Value: value.Uint(i)})
	}
	words[29].Key = value.Str("(other)")
	for at := range 3 {
		for of, rows := range map[*view.Map][]view.Row{m: numbers, text: words} {
			rec.Take(view.Snapshot{Map: of, Seq: uint64(at + 1), End: time.Duration(at + 1), Rows: view.RowsOf(rows),
				Totals: true, Complete: true})
		}
	}
	rec.Take(view.End{Boot: 4})
	file, err := parseBytes(written(t, "html", rec.Run(), m, text), "file")
	if err != nil {
		t.Fatal(err)
	}
	got := file.Run()
	for name, others := range map[string]int64{"@n": 10, "@t": 45} {
		of := got.Script.Map(name)
		looks := 0
		for _, item := range got.items {
			s, _ := item.(view.Snapshot)
			last := s.Rows.Len() - 1
			if s.Map != of || s.Left == 0 {
				continue
			}
			looks++
			row, before := s.Rows.At(last), s.Rows.At(last-1)
			if row.Others != 10 || of.Count(row.Value) != others || before.Others != 0 {
				t.Errorf("%s: the last rows are %v and %v", name, before, row)
			}
		}
		if looks != 2 {
			t.Errorf("%s: %d looks leave rows out", name, looks)
		}
		if _, number := types.IsInteger(of.Keys[0].Type); number != (name == "@n") {
			t.Errorf("%s: the key is %T", name, of.Keys[0].Type)
		}
	}
}

// TestNumbers refuses files in which something else stands where a number should, and says where.
func TestNumbers(t *testing.T) {
	script := func(kind string) string {
		return `{"type":"script","v":1,"name":"x","start":"2026-11-21T09:13:28Z","maps":[{"name":"@","kind":"` + kind +
			`","role":"result","labels":[],"unit":""}],"sites":[]}` + "\n"
	}
	row := func(v string) string { return `{"type":"map","t":2,"name":"@","rows":[[[],` + v + "]]}\n" }
	end := func(at string) string { return `{"type":"end","t":` + at + "}\n" }
	const most, over = "9223372036854775807", "99999999999999999999"
	for text, want := range map[string]string{
		"@a[foo]:\n[1, 2)   " + over + " |@@@|\n":                `line 2: "` + over + `" is no number`,
		"@a[\n   foo+1\n]: " + over + "\n":                       `line 3: "` + over + `" is no number`,
		"@a[x]: 1\n@a[y]:\n[1, 2)   3 |@|\n":                     "",
		"a;b " + most + "\na;b 1\n":                              "line 2: " + errSum.Error(),
		"@a[x]:\n[1]  " + most + " |@|\n[2]  1 |@|\n":            "line 3: " + errSum.Error(),
		script("counter") + row("12"):                            "",
		script("counter") + row(`"zz"`):                          `line 2: "\"zz\"" is no whole number`,
		script("gauge") + row("[1]"):                             `line 2: "[1]" is no whole number`,
		script("summary") + row(`{"count":1}`):                   "line 2: a number is missing",
		script("summary") + row(`{"count":"x"}`):                 `line 2: "\"x\"" is no whole number`,
		"@a[x]: 18446744073709551615\n":                          "",
		script("histogram") + row(`{"buckets":[[null,null,3]]}`): "",
		script("histogram") + row(`{"buckets":[[1,2,-3]]}`):      "line 2: " + errSum.Error(),
		script("histogram") +
			row(`{"buckets":[[1,2,"9223372036854775807"],[3,4,1]]}`): "line 2: " + errSum.Error(),
		script("histogram") + row(`{"buckets":[[1,2,"x"]]}`):         `line 2: "\"x\"" is no whole number`,
		script("histogram") + row(`{"buckets":[[1,[],3]]}`):          `line 2: "[]" is no whole number`,
		script("series") + row(`{"interval":1,"points":[[1,true]]}`): `line 2: "true" is no whole number`,
		script("counter") + end(`"9007199254740993"`):                "",
		script("counter") + end(`"x"`):                               `line 2: "\"x\"" is no whole number`,
		script("text") + row(`"zz"`):                                 "",
	} {
		file := filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Load(file)
		if want == "" && err != nil || want != "" && (err == nil || !strings.HasPrefix(err.Error(), file+": "+want)) {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
}

// TestNamesOfStacks: a program's name is one in folded stacks, whatever it looks like. What a script has printed is
// told by its elements, whatever stands before them.
func TestNamesOfStacks(t *testing.T) {
	for text, want := range map[string]string{
		"@a[x;main 5\nb;main 3\n":                           "[@a[x main] 5, [b main] 3, ",
		"# by a tool\nb;main 3\n":                           "[b main] 3, ",
		"Attached 1 probe\n\n@a[x, 2]: 5\n@a[x, 3]: 6\n":    "[x 2] 5, [x 3] 6, ",
		"Attached 1 probe\n@[\n    f+1\n    main+2\n]: 7\n": "[main f] 7, ",
		"x 9\n@a[y]: 1\n":                                   "[y] 1, ",
	} {
		file, err := parseBytes([]byte(text), "x")
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		got := ""
		for _, p := range file.stacks {
			p.Each(func(stack []string, n int64) { got += fmt.Sprintf("%s %d, ", stack, n) })
		}
		if got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}
