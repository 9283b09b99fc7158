package diff

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/hawktrace/hawk/internal/export"
	"github.com/hawktrace/hawk/internal/hawktest/bound"
	"github.com/hawktrace/hawk/internal/saved"
	"github.com/hawktrace/hawk/internal/ui/live"
	"github.com/hawktrace/hawk/internal/view"
	"github.com/hawktrace/hawk/internal/view/history"
)

// read reads a file with a text.
func read(t *testing.T, text string) *side {
	t.Helper()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := load(file)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func folded(t *testing.T, text string) *saved.Profile { return read(t, text).stacks[0] }

// weights are those of the stacks of a profile.
func weights(p *saved.Profile) map[string]int64 {
	out := map[string]int64{}
	p.Each(func(stack []string, n int64) { out[strings.Join(stack, ";")] = n })
	return out
}

func TestText(t *testing.T) {
	old := folded(t, "main;read 50\nmain;write 30\nmain;stat 20\n")
	now := folded(t, "main;read 50\nmain;write 60\nmain;\x1b]0;x 10\n")
	for _, tt := range []struct {
		normalize bool
		want      string
	}{
		{false, `100 → 120 (+20.0 %)
    CHANGE       OLD       NEW  FUNCTION
   +30.0 %    30.0 %    60.0 %  write
   -20.0 %    20.0 %     0.0 %  stat  gone
   +10.0 %     0.0 %    10.0 %  x  new
`}, {true, `100 → 120 (+0.0 %); both runs weigh the same in all
    CHANGE       OLD       NEW  FUNCTION
   -20.0 %    20.0 %     0.0 %  stat  gone
   +20.0 %    30.0 %    50.0 %  write
    -8.3 %    50.0 %    41.7 %  read
    +8.3 %     0.0 %     8.3 %  x  new
`},
	} {
		d, err := Compare(old, now, tt.normalize)
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		if err := d.WriteText(&b, 0); err != nil {
			t.Fatal(err)
		}
		if b.String() != tt.want {
			t.Errorf("got\n%swant\n%s", &b, tt.want)
		}
	}
}

// TestUnseen has functions whose change would be +0.0 % counted, not listed, unless they came or went.
func TestUnseen(t *testing.T) {
	for _, tt := range []struct{ old, now, want string }{
		{"main;read 5000\nmain;write 5000\n", "main;read 5001\nmain;write 4999\n",
			"2 functions changed by less than 0.05 %\n"},
		{"main;read 5000\nmain;write 4000\nmain;stat 1000\n",
			"main;read 5001\nmain;write 4498\nmain;stat 500\nmain;poll 1\n",
			"    -5.0 %    10.0 %     5.0 %  stat\n    +5.0 %    40.0 %    45.0 %  write\n" +
				"    +0.0 %     0.0 %     0.0 %  poll  new\n1 more function changed less\n"},
	} {
		d, err := Compare(folded(t, tt.old), folded(t, tt.now), false)
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		if err := d.WriteText(&b, 0); err != nil {
			t.Fatal(err)
		}
		if _, rows, _ := strings.Cut(b.String(), "FUNCTION\n"); rows != tt.want {
			t.Errorf("got\n%swant\n%s", rows, tt.want)
		}
	}
}

// TestItself has a run differ from itself in nothing, in every form.
func TestItself(t *testing.T) {
	p := folded(t, "main;read 50\nmain;write 30\n")
	d, _ := Compare(p, p, false)
	var text, lines, page strings.Builder
	if err := d.WriteText(&text, 0); err != nil || !strings.HasSuffix(text.String(), "nothing changed\n") {
		t.Errorf("%v\n%s", err, &text)
	}
	if err := d.WriteFolded(&lines); err != nil || lines.String() != "main;read 50 50\nmain;write 30 30\n" {
		t.Errorf("%v\n%s", err, &lines)
	}
	if err := (&Command{}).page(&page, []pair{{stacks: d}}, "<b>", "v1"); err != nil ||
		!strings.Contains(page.String(), "&lt;b&gt;") {
		t.Errorf("%v\n%s", err, &page)
	}
	again := folded(t, page.String())
	if got := weights(again); got["main;read"] != 50 || again.Total() != 80 {
		t.Errorf("%v", got)
	}
}

func TestCommand(t *testing.T) {
	dir := t.TempDir()
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	for file, text := range map[string]string{a: "main;read 10\n", b: "main;read 10\nmain;write 5\n"} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for args, want := range map[string]string{
		a + " " + b:                       "",
		"--fail-above=60 " + a + " " + b:  "",
		"--fail-above 40% " + a + " " + b: "write changed by more",
		a:                                 "two files are compared, not 1",
		"--min x " + a + " " + b:          "invalid value for --min: x",
		"-f svg " + a + " " + b:           "unknown format svg; there are text, csv",
		"--map @x " + a + " " + b:         "",
		"--frob " + a + " " + b:           "unknown option --frob",
		"-f tui -o x " + a + " " + b:      "-f tui is for the terminal",
		a + " " + dir + "/none":           "no such file",
	} {
		var c Command
		_, err := c.Args(strings.Fields(args))
		if err == nil {
			err = c.Run(&strings.Builder{}, "v1")
		}
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %s", args, err, want)
		}
	}
}

// Two runs of the script of some seconds, as JSON lines: the second twice as long.
const (
	before = `{"type":"script","name":"r.bt","start":"2026-01-01T00:00:00Z","maps":[` + described + `],"sites":[]}
{"type":"map","t":1000000000,"name":"@reads","of":"total","entries":3,"rows":[[["bash"],100],[["\u001b[31m"],7],[["old"],5]]}
{"type":"map","t":1000000000,"name":"@us","of":"total","entries":1,"rows":[[[],{"sum":0,"buckets":[[16,31,4],[32,63,8]]}]]}
{"type":"map","t":1000000000,"name":"@lat","of":"total","entries":1,"rows":[[["bash"],{"count":4,"total":4000,"average":1000}]]}
{"type":"end","t":1000000000,"cause":"exit","status":0}
`
	after = `{"type":"script","name":"r.bt","start":"2026-01-01T00:00:00Z","maps":[` + described + `],"sites":[]}
{"type":"map","t":2000000000,"name":"@reads","of":"total","entries":3,"rows":[[["bash"],500],[["\u001b[31m"],14],[["new"],3]]}
{"type":"map","t":2000000000,"name":"@us","of":"total","entries":1,"rows":[[[],{"sum":0,"buckets":[[32,63,16],[64,127,16]]}]]}
{"type":"map","t":2000000000,"name":"@lat","of":"total","entries":1,"rows":[[["bash"],{"count":4,"total":8000,"average":2000}]]}
{"type":"end","t":2000000000,"cause":"exit","status":0}
`
	described = `{"name":"@reads","kind":"counter","role":"result","labels":["comm"],"unit":""},` +
		`{"name":"@us","kind":"histogram","role":"result","labels":[],"unit":"us"},` +
		`{"name":"@lat","kind":"summary","role":"result","labels":["comm"],"unit":"ns"}`
)

// compare is what the command says of two files.
func compare(t *testing.T, old, now string, options ...string) string {
	t.Helper()
	var files []string
	for _, text := range []string{old, now} {
		file := filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	var c Command
	if _, err := c.Args(append(options, files...)); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := c.Run(&b, "v1"); err != nil {
		return "ERROR: " + err.Error()
	}
	return b.String()
}

// TestUnclear: stacks of one map are compared with those of one map, not with those of each.
func TestUnclear(t *testing.T) {
	const text, stacks = "@a[\n        read+5\n]: 7\n@b[\n        poll+5\n]: 9\n", "read 7\n"
	const want = "does not say of which map its stacks are: choose with --map: @a, @b"
	for _, files := range [][2]string{{text, stacks}, {stacks, text}} {
		if got := compare(t, files[0], files[1]); !strings.Contains(got, want) {
			t.Errorf("got\n%s", got)
		}
		if got := compare(t, files[0], files[1], "--map", "@a"); !strings.Contains(got, "nothing changed") {
			t.Errorf("got\n%s", got)
		}
	}
}

// TestTables compares numbers, averages and histograms of two runs.
func TestTables(t *testing.T) {
	const want = `@lat: total 4 µs → 8 µs (+100.0 %)
   RATIO    OLD AVERAGE    NEW AVERAGE  COMM
    2.00           1 µs           2 µs  bash

@reads: 112 → 517 (+130.8 %); runs of 1 s and 2 s: the new one is scaled by length
   RATIO            OLD            NEW  COMM
    2.50            100            250  bash
    gone              5              –  old
     new              –              2  new
    1.00              7              7  \x1b[31m

@us: 12 → 32 (+33.3 %); runs of 1 s and 2 s: the new one is scaled by length
   RATIO            OLD            NEW
    1.33             12             16
         p50 ≤ 64 µs → ≤ 64 µs, p90 ≤ 64 µs → ≤ 128 µs, p99 ≤ 64 µs → ≤ 128 µs
             16 µs          4          0  --------------------
             32 µs          8          8  ========================================
             64 µs          0          8  ++++++++++++++++++++++++++++++++++++++++
`
	if got := compare(t, before, after); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	if got := compare(t, before, after, "--map", "reads", "-f", "csv"); got != "comm,old,new,ratio\n"+
		"bash,100,250,2.5\nold,5,,\nnew,,1.5,\n\\x1b[31m,7,7,1\n" {
		t.Errorf("got\n%s", got)
	}
	for options, want := range map[string]string{
		"-f csv":                               "there are several maps: choose with --map: @lat, @reads, @us",
		"-f folded":                            "-f folded is for maps with stacks",
		"--map @x":                             "it has no map @x; there are: @lat, @reads, @us",
		"--map @lat --fail-above 50":           "@lat[bash] changed by more",
		"--map @reads --fail-above 200":        "@reads[old] changed by more",
		"--map @reads --fail-above 2 --min 50": "@reads[bash] changed by more",
	} {
		if got := compare(t, before, after, strings.Fields(options)...); !strings.Contains(got, want) {
			t.Errorf("%s: %s, want %s", options, got, want)
		}
	}
	// A picture of a map without stacks has its keys as functions.
	picture := "bash 100\nold 5\n\\x1b[31m 7\n"
	if got := compare(t, before, picture, "--map", "reads", "--normalize"); !strings.Contains(got, "nothing changed") {
		t.Errorf("a table and its picture: %s", got)
	}
	if got := compare(t, before, "a;b 1\n"); !strings.Contains(got, "the files have no map in common: stacks, @lat") {
		t.Error(got)
	}
}

// TestSummary says what the values of a summary without keys come to, which is not how many they are.
func TestSummary(t *testing.T) {
	run := func(value string) string {
		return `{"type":"script","name":"r.bt","start":"2026-01-01T00:00:00Z","maps":[` +
			`{"name":"@a","kind":"summary","role":"result","labels":[],"unit":"us"}],"sites":[]}` + "\n" +
			`{"type":"map","t":1000000000,"name":"@a","of":"total","rows":[[[],` + value + `]]}` + "\n"
	}
	const want = `total 30 µs → 40 µs (+33.3 %)
   RATIO    OLD AVERAGE    NEW AVERAGE
    2.00          10 µs          20 µs
`
	if got := compare(t, run(`{"count":3,"total":30}`), run(`{"count":2,"total":40}`)); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// TestPage has everything of two runs on one page: outlines of histograms, numbers, stacks.
func TestPage(t *testing.T) {
	page := compare(t, before, after, "-f", "flame")
	for _, want := range []string{
		"<h2>@lat</h2>\n<p>total 4 µs → 8 µs (+100.0 %)</p>",
		`<tr><td>bash</td><td class="n">100</td><td class="n">250</td><td class="n">2.50</td></tr>`,
		`<tr><td>\x1b[31m</td>`,
		`<td class="n">gone</td>`,
		`<polyline class="old" points="0,100 0.00,52.50 33.33,52.50 33.33,5.00 66.67,5.00 66.67,100.00 100.00,100.00 ` +
			`100,100"/>`,
		`<polyline class="new" points="0,100 0.00,100.00 33.33,100.00 33.33,5.00 66.67,5.00 66.67,5.00 100.00,5.00 ` +
			`100,100"/>`,
		"p99 ≤ 64 µs → ≤ 128 µs; buckets from 16 µs to 64 µs, dashed the old run</p>",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("%q is missing in\n%s", want, page)
		}
	}
	if strings.Contains(page, "flame") {
		t.Error("there are no stacks, but a flame graph")
	}
}

// TestScreen has what changed as tables of the terminal view, the largest change first whichever way it goes.
func TestScreen(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	screen := func(old, now string) string {
		c := Command{Old: write("old", old), New: write("new", now), Format: Terminal, FailAbove: 1}
		s, err := c.Screen()
		if err != nil {
			t.Fatal(err)
		}
		state := live.New(history.Options{})
		if err := s.Play(state); err != nil {
			t.Fatal(err)
		}
		text := s.Script.Name + "\n"
		for _, m := range s.Script.Maps {
			text += m.Name + "\n"
			table := state.Table(m, live.Want{}, live.Pick{Column: -1, Most: 10_000})
			for i := range table.Rows {
				for k := range table.Columns {
					text += " | " + table.Text(&table.Rows[i], k)
				}
				text += "\n"
			}
		}
		if err := s.Above(&c); !errors.Is(err, ErrAbove) {
			t.Errorf("the screen reports %v", err)
		}
		return text
	}
	const stacks = `old → new
stacks
 | write | 30 | 30 | 60 | +30.0 %
 | stat | 20 | 20 | 0 | -20.0 % gone
 | poll | 5 | 0 | 5 | +5.0 % new
`
	if got := screen("main;read 50\nmain;write 30\nmain;stat 20\n",
		"main;read 50\nmain;write 60\nmain;poll 5\n"); got != stacks {
		t.Errorf("got\n%swant\n%s", got, stacks)
	}
	const tables = `old → new; runs of 1 s and 2 s: the new one is scaled by length
@lat
 | bash | 1 µs | 1 µs | 2 µs | +100.0 %
@reads
 | bash | 150 | 100 | 250 | +150.0 %
 | old | 5 | 5 | 0 | gone
 | new | 2 | 0 | 2 | new
 | \x1b[31m | 0 | 7 | 7 | +0.0 %
@us
 | 4 | 12 | 16 | +33.3 %  p50 ≤ 64 µs → ≤ 64 µs, p90 ≤ 64 µs → ≤ 128 µs, p99 ≤ 64 µs → ≤ 128 µs
@us buckets
 | 64 µs | 8 | 0 | 8 | +8
 | 16 µs | 4 | 4 | 0 | -4
 | 32 µs | 0 | 8 | 8 | +0
`
	if got := screen(before, after); got != tables {
		t.Errorf("got\n%swant\n%s", got, tables)
	}
}

// TestPrinted compares what scripts have printed.
func TestPrinted(t *testing.T) {
	const old = "Attached 1 probe\n\n@[\n    read+16\n    main+0x20 (/bin/x)\n, bash]: 5\n" +
		"@n[cat, 1]: 2\n@h[\n    f+1\n]:\n" +
		"[1]                    3 |@@@ |\n[2, 4)                 4 |@@@@|\n\n@x: 7\n"
	s := read(t, old)
	got := map[string]int64{}
	for _, p := range s.stacks {
		for stack, n := range weights(p) {
			got[p.Map+" "+stack] = n
		}
	}
	want := map[string]int64{"@ bash;main;read": 5, "@n cat;1": 2, "@h f": 7}
	if !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	text := compare(t, old, strings.Replace(old, "]: 5", "]: 10", 1), "--map", "@")
	if !strings.HasPrefix(text, "5 → 10 (+100.0 %)") || !strings.Contains(text, "200.0 %  read") {
		t.Error(text)
	}
}

// TestPrintedOffsets adds up elements whose stacks differ in offsets alone, each by its last print.
func TestPrintedOffsets(t *testing.T) {
	const text = "@[\n    read+16\n    main+4\n]: 5\n" +
		"@[\n    read+32\n    main+4\n]: 3\n@[\n    read+32\n    main+4\n]: 4\n" +
		"@h[\n    f+1\n]:\n[1]                    3 |@@@ |\n@h[\n    f+2\n]:\n[1]                    4 |@@@@|\n" +
		"@h[\n    f+1\n]:\n[1]                    5 |@@@@|\n"
	got := map[string]int64{}
	for _, p := range read(t, text).stacks {
		for stack, n := range weights(p) {
			got[p.Map+" "+stack] = n
		}
	}
	if want := (map[string]int64{"@ main;read": 9, "@h f": 9}); !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestKeysBelowZero writes keys that are numbers as they are, and text that looks like one as text.
func TestKeysBelowZero(t *testing.T) {
	const run = `{"type":"script","v":1,"name":"x","maps":[{"name":"@n","kind":"gauge","role":"result",` +
		`"labels":["code","name"],"unit":""}],"sites":[]}` + "\n" + `{"type":"map","t":1,"name":"@n","of":"now",` +
		`"rows":[[[-5,"-1"],1]]}` + "\n" + `{"type":"end","t":1000000000,"cause":"exit","status":0}` + "\n"
	if got := compare(t, run, run, "-f", "csv"); got != "code,name,old,new,ratio\n-5,'-1,1,1,1\n" {
		t.Error(got)
	}
}

// TestPprof has the difference as a profile of pprof, in which the old run weighs less than nothing.
func TestPprof(t *testing.T) {
	page := compare(t, "main;read 50\nmain;write 30\n", "main;read 60\nmain;write 10\n", "-f", "pprof")
	back := folded(t, page)
	if got := weights(back); got["main;read"] != 10 || got["main;write"] != -20 {
		t.Errorf("%v", got)
	}
}

// TestUnit: what does not say what it weighs in is compared with what does.
func TestUnit(t *testing.T) {
	for _, text := range []string{"main;read 2048\n", "@[\n    read+1\n    main+1\n]: 2048\n"} {
		now := folded(t, text)
		old := folded(t, "main;read 1024\n")
		old.Unit = "bytes"
		for _, pair := range [][2]*saved.Profile{{old, now}, {now, old}} {
			p, q := *pair[0], *pair[1]
			d, err := Compare(&p, &q, false)
			if err != nil || d.Old.Unit != "bytes" || d.New.Unit != "bytes" {
				t.Errorf("%v, %+v", err, d)
			}
		}
	}
	a, b := folded(t, "main 1\n"), folded(t, "main 1\n")
	if a.Unit, b.Unit = "bytes", "nanoseconds"; true {
		if _, err := Compare(a, b, false); err == nil {
			t.Error("bytes are compared with time")
		}
	}
}

// TestProfileRoom: the stacks of a difference are made as they are written, since they are large.
func TestProfileRoom(t *testing.T) {
	var b strings.Builder
	const stacks = 5000
	for i := range stacks {
		fmt.Fprintf(&b, "main;%s;f%d 5\n", strings.TrimSuffix(strings.Repeat("call;", 20), ";"), i)
	}
	p := folded(t, b.String())
	d, _ := Compare(p, p, false)
	var lines strings.Builder
	if err := d.WriteFolded(&lines); err != nil || strings.Count(lines.String(), "\n") != stacks {
		t.Errorf("%v\n%.100s", err, &lines)
	}
	lines.Reset()
	before := bound.Heap()
	of := d.profile()
	if n := (bound.Heap() - before) / stacks; n > 16 {
		t.Errorf("a stack takes %d bytes", n)
	}
	n := 0
	if of.Each(func(*view.Sample) { n++ }); n != 2*stacks {
		t.Errorf("%d samples", n)
	}
}

// TestPageRoom: the page of a difference is written as it is made of the files. A tree of both, and its lists as text,
// would take several times as much as they do.
func TestPageRoom(t *testing.T) {
	var b strings.Builder
	const stacks, depth = 20_000, 20
	for i := range stacks {
		fmt.Fprintf(&b, "main;f%d;%s 5\n", i, strings.TrimSuffix(strings.Repeat("call;", depth-2), ";"))
	}
	p, other := folded(t, b.String()), folded(t, strings.ReplaceAll(b.String(), "main;f", "main;g"))
	d, _ := Compare(p, other, false)
	d.each(func([]string, int64, int64) {}) // which brings them into order
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	page := export.Diff{Stacks: []export.DiffStacks{d.tree("x")}}
	if err := page.Write(io.Discard, ""); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if n := (after.TotalAlloc - before.TotalAlloc) / (2 * stacks * depth); n > 32 {
		t.Errorf("a node takes %d bytes", n)
	}
}

// TestAboveLeast: what --min leaves out of the text fails no --fail-above either.
func TestAboveLeast(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	c := Command{Old: file("old", "main;read 97\n"), New: file("new", "main;read 97\nmain;poll 3\n"), Format: Terminal,
		FailAbove: 2, Min: 5}
	for want, least := range map[bool]float64{false: 5, true: 0} {
		c.Min = least
		s, err := c.Screen()
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Above(&c); errors.Is(err, ErrAbove) != want {
			t.Errorf("with --min %v: %v", least, err)
		}
	}
}

// TestUnlikeBuckets compares histograms whose buckets are not the same: those that overlap count together.
func TestUnlikeBuckets(t *testing.T) {
	run := func(buckets string) string {
		return `{"type":"script","name":"r.bt","start":"2026-01-01T00:00:00Z","maps":[` +
			`{"name":"@us","kind":"histogram","role":"result","labels":[],"unit":"us"}],"sites":[]}` + "\n" +
			`{"type":"map","t":1000000000,"name":"@us","of":"total","rows":[[[],{"buckets":[` + buckets +
			`]}]]}` + "\n" +
			`{"type":"end","t":1000000000,"cause":"exit","status":0}` + "\n"
	}
	const want = `16 → 16 (+0.0 %); buckets of the two differ: those that overlap count as one
   RATIO            OLD            NEW
    1.00             16             16
         p50 ≤ 64 µs → ≤ 48 µs, p90 ≤ 128 µs → ≤ 80 µs, p99 ≤ 128 µs → ≤ 80 µs
             16 µs          4          0  ----------------
             32 µs          8         10  ================================++++++++
             64 µs          4          6  ================++++++++
`
	got := compare(t, run("[16,31,4],[32,63,8],[64,127,4]"), run("[32,39,4],[40,47,6],[64,79,6]"))
	if got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	got = compare(t, run("[0,9,1],[10,19,1],[100,null,1]"), run("[0,14,2],[15,29,2],[200,null,1]"))
	for _, want := range []string{
		"              0 µs          2          4", "            100 µs          1          1",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("got\n%s", got)
		}
	}
}

// TestLongNames fits names into a terminal by leaving out their middle, and widens columns to their numbers.
func TestLongNames(t *testing.T) {
	long := "main.Map[go.shape.struct { F []main.Of[go.shape.int] },go.shape.string].Each"
	var b strings.Builder
	w := bufio.NewWriter(&b)
	d, err := Compare(folded(t, "main 5\n"+long+" 5\n"), folded(t, "main 5\n"), false)
	if err != nil {
		t.Fatal(err)
	}
	d.writeText(w, 0, 80)
	w.Flush()
	want := "   -50.0 %    50.0 %     0.0 %  main.Map[go.shape.st…go.shape.string].Each  gone\n"
	if !strings.Contains(b.String(), want) {
		t.Errorf("got\n%swant\n%s", b.String(), want)
	}
	big := strings.ReplaceAll(before, `[["bash"],100]`, `[["bash"],"4611686018427387904"]`)
	if got := compare(t, big, big, "--map", "reads"); !strings.Contains(got, `
   RATIO                       OLD                       NEW  COMM
    1.00                         7                         7  \x1b[31m
    1.00 4,611,686,018,427,387,904 4,611,686,018,427,387,904  bash
`) {
		t.Errorf("got\n%s", got)
	}
}

// TestPictures says of how many histograms there are pictures, where they are more.
func TestPictures(t *testing.T) {
	var rows []string
	for _, key := range []string{"a", "b", "c", "d"} {
		rows = append(rows, `[["`+key+`"],{"buckets":[[16,31,4]]}]`)
	}
	run := `{"type":"script","name":"r.bt","start":"2026-01-01T00:00:00Z","maps":[` +
		`{"name":"@us","kind":"histogram","role":"result","labels":["comm"],"unit":"us"}],"sites":[]}` + "\n" +
		`{"type":"map","t":1000000000,"name":"@us","of":"total","rows":[` + strings.Join(rows, ",") + "]}\n"
	for options, want := range map[string]string{"text": "\nbuckets are shown of the first 3\n",
		"flame": "; outlines of the first 3</p>"} {
		if got := compare(t, run, run, "-f", options); !strings.Contains(got, want) {
			t.Errorf("%s:\n%s", options, got)
		}
	}
}

// TestHuge adds up numbers to more than 64 bits hold, and tells large buckets from ones below zero.
func TestHuge(t *testing.T) {
	run := func(maps, rows string) string {
		return `{"type":"script","name":"r.bt","start":"2026-01-01T00:00:00Z","maps":[` + maps + `],"sites":[]}` +
			"\n" + rows + `{"type":"end","t":1000000000,"cause":"exit","status":0}` + "\n"
	}
	const maps = `{"name":"@a","kind":"summary","role":"result","labels":["comm"],"unit":""},` +
		`{"name":"@h","kind":"histogram","role":"result","labels":[],"unit":""},` +
		`{"name":"@n","kind":"counter","role":"result","labels":["comm"],"unit":""}`
	table := func(name, rows string) string {
		return `{"type":"map","t":1000000000,"name":"` + name + `","of":"total","rows":[` + rows + `]}` + "\n"
	}
	const most = `"18446744073709551615"`
	const summary = `{"count":1,"total":` + most + `}`
	got := compare(t, run(maps, table("@a", `[["x"],`+summary+`],[["y"],`+summary+`]`)+
		table("@h", `[[],{"buckets":[[2,3,1],["4611686018427387904","9223372036854775807",1],`+
			`["9223372036854775808",`+most+`,2]]}]`)+
		table("@n", `[["x"],`+most+`],[["y"],"9223372036854775807"]`)),
		run(maps, table("@a", `[["x"],{"count":1,"total":1}]`)+
			table("@h", `[[],{"buckets":[[2,3,1]]}]`)+
			table("@n", `[["x"],`+most+`],[["y"],`+most+`]`)))
	const want = `@a: total 36,893,488,147,419,103,232 → 1 (-100.0 %)
   RATIO                OLD AVERAGE                NEW AVERAGE  COMM
    0.00 18,446,744,073,709,551,616                          1  x
    gone 18,446,744,073,709,551,616                          –  y

@h: 4 → 1 (-75.0 %)
   RATIO            OLD            NEW
    0.25              4              1
         p50 ≤ 9.22 E → ≤ 3, p90 ≤ 18.4 E → ≤ 3, p99 ≤ 18.4 E → ≤ 3
                 2          1          1  ====================
4611686018427387904          1          0  --------------------
9223372036854775808          2          0  ----------------------------------------

@n: 27,670,116,110,564,327,424 → 36,893,488,147,419,103,232 (+33.3 %)
   RATIO                        OLD                        NEW  COMM
    2.00  9,223,372,036,854,775,808 18,446,744,073,709,551,616  y
    1.00 18,446,744,073,709,551,616 18,446,744,073,709,551,616  x
`
	if got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	const great = "9223372036854775807\n"
	got = compare(t, "main;a "+great+"main;b "+great, "main;a "+great+"main;c "+great+"main;d "+great)
	if want := "18,446,744,073,709,551,616 → 27,670,116,110,564,327,424 (+50.0 %)\n"; !strings.HasPrefix(got, want) {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	// Formats have no larger number than this.
	got = compare(t, "main;a "+great+"main;b "+great, "main;a "+great, "-f", "folded", "--normalize")
	if want := "main;a 9223372036854775807 9223372036854775807\nmain;b 9223372036854775807 0\n"; got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// TestRowsSame compares twice, and finds the same to the last digit: stacks have no order, and sums of floats depend on
// one.
func TestRowsSame(t *testing.T) {
	var old, now strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&old, "a%d;f%d %d\n", i, i%3, 1+i*i)
		fmt.Fprintf(&now, "b%d;f%d %d\n", i, i%3, 7+i*13)
	}
	dir := t.TempDir()
	for name, text := range map[string]string{"old": old.String(), "new": now.String()} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var first string
	for range 8 {
		var c Command
		if _, err := c.Args([]string{"-f", "csv", filepath.Join(dir, "old"), filepath.Join(dir, "new")}); err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		if err := c.Run(&out, "v1"); err != nil {
			t.Fatal(err)
		}
		if first == "" {
			first = out.String()
		}
		if out.String() != first {
			t.Fatalf("%s\nand then\n%s", first, out.String())
		}
	}
}
