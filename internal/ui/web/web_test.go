package web

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hawktrace/hawk/internal/pack/packtest"
	"github.com/hawktrace/hawk/internal/source"
	"github.com/hawktrace/hawk/internal/types"
	"github.com/hawktrace/hawk/internal/value"
	"github.com/hawktrace/hawk/internal/view"
)

// hostile is what the traced world may be called.
const hostile = "\x1b]0;x\x07</script><img src=x onerror=alert(1)>\u202e\"}\n\ndata: {\"type\":\"end\"}\xff"

// A fixture is a run with a map of each sort, that goes on as the test says.
type fixture struct {
	*View
	t      testing.TB
	server *httptest.Server
	script *view.Script
	reads  *view.Map // by comm
	sizes  *view.Map // a histogram
	stacks *view.Map
	site   *view.Site
	seq    uint64
	boot   time.Duration
}

func newFixture(t testing.TB) *fixture {
	text := &types.String{Cap: 64}
	file := source.NewFile("reads.bt", "begin { }\n")
	at := source.Span{File: file, Start: 0, End: 5}
	f := &fixture{t: t, boot: time.Hour}
	f.reads = &view.Map{Name: "@reads", Key: text, Type: types.Uint64, Kind: view.Counter, Weight: view.ValueWeight,
		Keys: []view.Element{{Name: "comm"}}, Div: 1, At: at}
	f.sizes = &view.Map{Name: "@sizes", Type: types.Uint64, Kind: view.Histogram, Unit: view.Bytes,
		Weight: view.CountWeight, Div: 1, At: at}
	f.stacks = &view.Map{Name: "@", Key: &types.Stack{User: true, Limit: 10}, Type: types.Uint64, Kind: view.Counter,
		Weight: view.ValueWeight, Keys: []view.Element{{Frames: view.UserFrames}}, Div: 1, At: at}
	f.site = &view.Site{Builtin: "printf", Format: "%s\n", At: at,
		Args: []view.Element{{Name: "comm", Kind: view.Text}}, Index: []int{0}}
	f.script = &view.Script{Name: "reads.bt", Text: file.Text, Maps: []*view.Map{f.stacks, f.reads, f.sizes},
		Sites: []*view.Site{f.site}}
	f.View = New(f.script, Options{Version: "test", Cadence: view.NewCadence(time.Second, 1)})
	f.server = httptest.NewServer(f.View.Handler())
	t.Cleanup(f.server.Close)
	t.Cleanup(f.View.Close)
	f.take(view.Begin{Script: f.script, Boot: f.boot, Wall: time.Unix(1e9, 0)}, view.Attached{Probes: 3})
	return f
}

func (f *fixture) take(items ...view.Item) {
	f.t.Helper()
	for _, item := range items {
		if err := f.View.Take(item); err != nil {
			f.t.Fatal(err)
		}
	}
}

// look has the maps hold some, a second later.
func (f *fixture) look(reads map[string]uint64, small, large uint64) {
	f.t.Helper()
	f.seq++
	f.boot += time.Second
	snap := view.Snapshot{Seq: f.seq, Start: f.boot, End: f.boot, Totals: true, Complete: true}
	snap.Map = f.reads
	var rows []view.Row
	for comm, n := range reads {
		rows = append(rows, view.Row{Key: value.Str(comm), Value: value.Uint(n)})
	}
	snap.Rows = view.RowsOf(rows)
	f.take(snap)
	snap.Map, snap.Rows = f.sizes, view.RowsOf([]view.Row{{Value: value.Hist{Buckets: []value.Bucket{
		{Min: 2, Max: 3, Count: small}, {Min: 4, Max: 7, Count: large}}}}})
	f.take(snap)
	stack := &value.Stack{User: true, Addrs: []uint64{1, 2}, Namer: namer{}}
	snap.Map, snap.Rows = f.stacks, view.RowsOf([]view.Row{{Key: stack, Value: value.Uint(small + large)}})
	f.take(snap, view.Refreshed{Boot: f.boot})
}

// A namer calls every function something hostile.
type namer struct{}

func (namer) FramesAt(_ *value.Stack, i int, _ value.Depth, frame *value.Frame, f func(*value.Frame)) {
	frame.Func = fmt.Sprint(hostile, i)
	f(frame)
}

func (namer) Truncated(*value.Stack) bool { return false }
func (namer) Lines() *value.Lines         { return nil }
func (namer) Pool() *value.Pool           { return nil }

func (f *fixture) say(text string) {
	f.take(view.Event{Site: f.site, Boot: f.boot, Text: []byte(text), Args: []value.Value{value.Str(text)}})
}

func (f *fixture) get(path string) (int, string) {
	f.t.Helper()
	r, err := http.Get(f.server.URL + path)
	if err != nil {
		f.t.Fatal(err)
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		f.t.Fatal(err)
	}
	return r.StatusCode, string(body)
}

// A record is a line of a stream.
type record map[string]any

// A follower reads a stream.
type follower struct {
	t testing.TB
	*bufio.Scanner
	id string // that came last
}

func (f *fixture) follow(ctx context.Context) *follower { return f.followAfter(ctx, "") }

func (f *fixture) followAfter(ctx context.Context, after string) *follower {
	f.t.Helper()
	req, err := http.NewRequestWithContext(ctx, "GET", f.server.URL+"/v1/stream"+after, nil)
	if err != nil {
		f.t.Fatal(err)
	}
	r, err := http.DefaultClient.Do(req)
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() { r.Body.Close() })
	if r.StatusCode != 200 {
		f.t.Fatalf("stream: %s", r.Status)
	}
	s := bufio.NewScanner(r.Body)
	s.Buffer(nil, 16<<20)
	return &follower{f.t, s, ""}
}

// until reads records up to one that fits.
func (s *follower) until(fits func(record) bool) (all []record) {
	s.t.Helper()
	for s.Scan() {
		line, ok := strings.CutPrefix(s.Text(), "data: ")
		if id, ok := strings.CutPrefix(s.Text(), "id: "); ok {
			s.id = id
			continue
		}
		if !ok {
			if s.Text() != "" && s.Text() != ":" {
				s.t.Errorf("not an event: %q", s.Text())
			}
			continue
		}
		var r record
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			s.t.Fatalf("%q: %v", line, err)
		}
		if all = append(all, r); fits(r) {
			return all
		}
	}
	s.t.Fatalf("the stream ended: %v, after %v", s.Err(), all)
	return nil
}

func isA(kind string) func(record) bool { return func(r record) bool { return r["type"] == kind } }

func of(all []record, kind, name string) (out []record) {
	for _, r := range all {
		if r["type"] == kind && (name == "" || r["name"] == name) {
			out = append(out, r)
		}
	}
	return out
}

// TestStream has a page told everything once, then what is new, and the end.
func TestStream(t *testing.T) {
	f := newFixture(t)
	f.look(map[string]uint64{"bash": 3, hostile: 1}, 1, 0)
	f.look(map[string]uint64{"bash": 5, hostile: 1}, 1, 6)
	f.say(hostile)
	s := f.follow(t.Context())
	all := s.until(isA("status"))
	if all[0]["type"] != "script" {
		t.Errorf("first: %v", all[0])
	}
	maps := of(all, "map", "@reads")
	if len(maps) != 1 || fmt.Sprint(maps[0]["rows"]) == "" || maps[0]["entries"] != 2.0 {
		t.Errorf("@reads: %v", maps)
	}
	past := of(all, "past", "@reads")
	if len(past) != 1 || past[0]["whole"] != true || fmt.Sprint(past[0]["times"]) != "[[0 1] [1 2]]" {
		t.Fatalf("past: %v", past)
	}
	if got := fmt.Sprint(past[0]["lines"]); got != "[[4 2] [3 2] [1 0]]" {
		t.Errorf("lines: %v", got)
	}
	heat := of(all, "past", "@sizes")
	if len(heat) != 1 || fmt.Sprint(heat[0]["buckets"]) != "[[[2 3 1]] [[4 7 6]]]" {
		t.Errorf("buckets: %v", heat)
	}
	if p := of(all, "profile", "@"); len(p) != 1 || p[0]["weight"] != 7.0 || len(of(all, "map", "@")) != 0 {
		t.Errorf("stacks: %v", p)
	}
	if ev := of(all, "event", ""); len(ev) != 1 || !strings.Contains(ev[0]["text"].(string), "onerror") {
		t.Errorf("events: %v", ev)
	}
	// The next records are what is new.
	f.look(map[string]uint64{"bash": 9, hostile: 1}, 2, 6)
	f.say("second")
	f.take(view.Idle{})
	all = s.until(isA("event"))
	all = append(all, s.until(isA("status"))...)
	if past = of(all, "past", "@reads"); len(past) != 1 || past[0]["whole"] != false ||
		fmt.Sprint(past[0]["lines"]) != "[[4] [4] [0]]" {
		t.Errorf("past: %v", past)
	}
	if ev := of(all, "event", ""); len(ev) != 1 || ev[0]["text"] != "second" {
		t.Errorf("events: %v", ev)
	}
	// Keys that are drawn changed: all is sent anew.
	f.look(map[string]uint64{"bash": 9, hostile: 100}, 2, 6)
	past = of(s.until(func(r record) bool { return r["type"] == "past" && r["name"] == "@reads" }), "past", "@reads")
	if past[0]["whole"] != true || fmt.Sprint(past[0]["lines"]) != "[[4 2 4 99] [1 0 0 99] [3 2 4 0]]" {
		t.Errorf("past: %v", past)
	}
	f.take(view.End{Cause: "exit", Boot: f.boot, Loss: view.Loss{Records: 12}})
	all = s.until(isA("end"))
	if loss := of(all, "status", ""); len(loss) == 0 || loss[len(loss)-1]["lost"] != 12.0 {
		t.Errorf("loss: %v", all)
	}
	f.View.Close()
	for s.Scan() { // it ends
	}
}

// TestGap tells a page how many events it has missed.
func TestGap(t *testing.T) {
	f := newFixture(t)
	const n = 5 * keptEvents
	for i := range n {
		f.say(fmt.Sprint(i))
	}
	f.take(view.Idle{})
	all := f.follow(t.Context()).until(isA("status"))
	gap, events := of(all, "gap", ""), of(all, "event", "")
	if len(gap) != 1 || len(events) != keptEvents || int(gap[0]["events"].(float64))+len(events) != n {
		t.Fatalf("%v, and %d events", gap, len(events))
	}
	if events[len(events)-1]["text"] != fmt.Sprint(n-1) {
		t.Errorf("last: %v", events[len(events)-1])
	}
	if len(f.View.events) > 2*keptEvents {
		t.Errorf("%d events are kept", len(f.View.events))
	}
}

// TestResume has a page that was cut off told what it has not seen, and all of another run.
func TestResume(t *testing.T) {
	f := newFixture(t)
	for i := range 5 {
		f.say(fmt.Sprint(i))
	}
	s := f.follow(t.Context())
	if all := s.until(isA("status")); len(of(all, "event", "")) != 5 || s.id != "5" {
		t.Fatalf("%v, and the id is %q", all, s.id)
	}
	f.say("5")
	f.say("6")
	for _, tt := range []struct {
		after string
		want  []string
	}{
		{"?after=" + s.id, []string{"5", "6"}},
		{"?after=7", nil},
		{"?after=0", []string{"0", "1", "2", "3", "4", "5", "6"}},
		{"?after=8", []string{"0", "1", "2", "3", "4", "5", "6"}},
	} {
		ctx, leave := context.WithCancel(t.Context())
		s := f.followAfter(ctx, tt.after)
		all := s.until(isA("status"))
		var got []string
		for _, r := range of(all, "event", "") {
			got = append(got, r["text"].(string))
		}
		if !slices.Equal(got, tt.want) || s.id != "7" || len(of(all, "script", "")) != 1 {
			t.Errorf("%s: events %q, id %q", tt.after, got, s.id)
		}
		leave()
	}
	for _, bad := range []string{"x", "-1", "1.5", "99999999999999999999"} {
		if status, body := f.get("/v1/stream?after=" + bad); status != http.StatusBadRequest {
			t.Errorf("after=%s: %d %s", bad, status, body)
		}
	}
	for i := range 3 * keptEvents {
		f.say(fmt.Sprint(i))
	}
	all := f.followAfter(t.Context(), "?after=7").until(isA("status"))
	missed := int(of(all, "gap", "")[0]["events"].(float64))
	if n := len(of(all, "event", "")); n != keptEvents || n+missed != 3*keptEvents {
		t.Errorf("%d events, and %d missed", n, missed)
	}
}

// TestLongEvents bounds the bytes that are kept.
func TestLongEvents(t *testing.T) {
	f := newFixture(t)
	long := strings.Repeat("x", keptText/16)
	for range 100 {
		f.say(long)
	}
	if n := len(f.View.events); n > 33 || n < 8 || f.View.text != n*len(long) {
		t.Errorf("%d events of %d bytes are kept", n, f.View.text)
	}
}

// TestStreams serves so many pages at once, and again when one has gone.
func TestStreams(t *testing.T) {
	f := newFixture(t)
	ctx, cancel := context.WithCancel(t.Context())
	for range maxStreams {
		f.follow(ctx).until(isA("status"))
	}
	if status, body := f.get("/v1/stream"); status != http.StatusServiceUnavailable {
		t.Errorf("%d %s", status, body)
	}
	cancel()
	for {
		f.take(view.Idle{})
		f.View.mu.Lock()
		left := f.View.streams
		f.View.mu.Unlock()
		if left == 0 {
			break
		}
		time.Sleep(time.Millisecond)
	}
	f.follow(t.Context()).until(isA("status"))
}

// TestSpan: a part of the run is said to be as long as the looks that it is of, by which rates are.
func TestSpan(t *testing.T) {
	f := newFixture(t)
	f.look(map[string]uint64{"bash": 3}, 1, 0)
	f.look(map[string]uint64{"bash": 5}, 1, 6)
	for query, want := range map[string]string{"": "", "?from=1200000000&to=1700000000": "1000000000 2000000000",
		"?from=0&to=1999999999": "0 1000000000"} {
		r, err := http.Get(f.server.URL + "/v1/map/@reads" + query)
		if err != nil {
			t.Fatal(err)
		}
		r.Body.Close()
		if got := r.Header.Get("Hawk-Span"); got != want {
			t.Errorf("%q: %q, want %q", query, got, want)
		}
	}
}

// TestMap has a map in all formats, whole and in a span of time.
func TestMap(t *testing.T) {
	f := newFixture(t)
	if status, _ := f.get("/v1/map/@reads"); status != 404 {
		t.Errorf("before it was read: %d", status)
	}
	f.look(map[string]uint64{"bash": 3, hostile: 1}, 1, 0)
	f.look(map[string]uint64{"bash": 5, hostile: 1}, 1, 6)
	second := fmt.Sprintf("from=%d&to=%d", 1100*time.Millisecond, 2*time.Second)
	for _, tt := range []struct {
		path   string
		status int
		has    string
	}{
		{"/v1/map/@reads", 200, `[["bash"],5]`},
		{"/v1/map/@reads?" + second, 200, `"rows":[[["bash"],2]]`},
		{"/v1/map/@sizes?" + second, 200, `{"buckets":[[4,7,6]]}`},
		{"/v1/map/@reads?format=csv", 200, "comm,value\n"},
		{"/v1/map/@?format=tries", 200, `{"profiles":[`},
		{"/v1/map/@?format=tries&" + second, 200, `"self":[[0,0,6]]`},
		{"/v1/map/@?format=folded", 200, " 7\n"},
		{"/v1/map/@?format=pprof", 200, "\x1f\x8b"},
		{"/v1/map/@?format=speedscope", 200, "speedscope"},
		{"/v1/map/@nothing", 404, ""},
		{"/v1/map/", 404, ""},
		{"/v1/map/@reads?format=html", 400, "formats are"},
		{"/v1/map/@reads?from=x", 400, "nanoseconds"},
		{"/v1/map/@reads?from=5&to=2", 400, "nanoseconds"},
		{"/v1/map/@reads?from=-1&to=2", 400, "nanoseconds"},
		{"/v1/map/@reads?to=99999999999999999999", 400, "nanoseconds"},
		{"/v1/map/@reads?from=9223372036854775807&to=9223372036854775807", 200, `"entries":0`},
		{"/v1/nothing", 404, ""},
		{"/nothing", 404, ""},
		{"/a/nothing.js", 404, ""},
		{"/healthz", 200, "ok\n"},
	} {
		status, body := f.get(tt.path)
		if status != tt.status || !strings.Contains(body, tt.has) {
			t.Errorf("%s: %d %q, want %d with %q", tt.path, status, body[:min(len(body), 400)], tt.status, tt.has)
		}
		harmless(t, tt.path, body)
	}
}

// harmless reports text of the traced world that would act on a terminal or in a page.
func harmless(t *testing.T, what, body string) {
	t.Helper()
	if strings.ContainsAny(body, "\x1b\x07\u202e") && !strings.HasPrefix(body, "\x1f\x8b") ||
		strings.Contains(body, "<img src") && !strings.HasPrefix(what, "/v1/map") {
		t.Errorf("%s: %q", what, body)
	}
}

// TestUnwatched has a request see maps as they are now, though they are read seldom while nobody follows the run.
func TestUnwatched(t *testing.T) {
	f := newFixture(t)
	f.look(map[string]uint64{"bash": 3}, 1, 1)
	f.View.mu.Lock()
	f.View.status.fresh = time.Now().Add(-time.Minute)
	f.View.mu.Unlock()
	read := make(chan struct{})
	go func() {
		defer close(read)
		<-f.View.Cadence().Asked()
		f.look(map[string]uint64{"bash": 4}, 1, 1)
	}()
	if status, body := f.get("/v1/map/@reads"); status != 200 || !strings.Contains(body, `[["bash"],4]`) {
		t.Errorf("%d %s", status, body)
	}
	<-read
}

// TestSnapshot has the whole run as lines and as a page.
func TestSnapshot(t *testing.T) {
	f := newFixture(t)
	f.look(map[string]uint64{"bash": 3, hostile: 1}, 1, 0)
	f.say(hostile)
	status, body := f.get("/v1/snapshot")
	lines := strings.Split(strings.TrimSpace(body), "\n")
	if status != 200 || len(lines) != 6 {
		t.Errorf("%d: %q", status, lines)
	}
	for _, line := range lines {
		if !json.Valid([]byte(line)) {
			t.Errorf("%q", line)
		}
	}
	harmless(t, "lines", body)
	status, body = f.get("/v1/snapshot?format=html")
	if status != 200 || !strings.HasPrefix(body, "<!doctype html>") || !strings.Contains(body, "@reads") {
		t.Errorf("%d: %.200s", status, body)
	}
	harmless(t, "page", body)
	if status, _ := f.get("/v1/snapshot?format=csv"); status != 400 {
		t.Errorf("csv: %d", status)
	}
}

// TestPage has the page refer to files that are there, by names that change with them, and
// no style or script in it: the policy would not run them.
func TestPage(t *testing.T) {
	f := newFixture(t)
	status, body := f.get("/")
	if status != 200 || strings.Contains(body, "{") {
		t.Fatalf("%d: %s", status, body)
	}
	refs := regexp.MustCompile(`(?:src|href)="([^"]+)"`).FindAllStringSubmatch(body, -1)
	all := len(body)
	for _, ref := range refs {
		if strings.HasPrefix(ref[1], "data:") {
			continue
		}
		status, file := f.get("/" + ref[1])
		if all += len(file); status != 200 || file == "" {
			t.Errorf("%s: %d", ref[1], status)
		}
		if strings.Contains(file, "innerHTML") || strings.Contains(file, "eval(") {
			t.Errorf("%s makes code or markup of text", ref[1])
		}
	}
	if len(refs) != 7 || all > 400<<10 {
		t.Errorf("%d files, %d bytes", len(refs)-1, all)
	}
	for _, not := range []string{"<style", "style=", " onclick=", "javascript:"} {
		if strings.Contains(body, not) {
			t.Errorf("the page has %s", not)
		}
	}
	if n := strings.Count(body, "<script"); n != strings.Count(body, "<script src=") {
		t.Errorf("%d scripts", n)
	}
}

// TestFilesOfOthers has them as they were published.
func TestFilesOfOthers(t *testing.T) {
	list, err := os.ReadFile("page/licences.md")
	if err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir("page")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !strings.Contains(e.Name(), ".min.") {
			continue
		}
		data, err := os.ReadFile(filepath.Join("page", e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		row := fmt.Sprintf("| %s | uPlot 1.6.32 | MIT | %x |", e.Name(), sha256.Sum256(data))
		if !strings.Contains(string(list), row) {
			t.Errorf("licences.md has no row %s", row)
		}
	}
}

var update = flag.Bool("update", false, "pack the files of page anew")

// TestPacked fails when a file of the page has changed, and what lies in the binary is not
// made of it: run go generate ./internal/ui/web.
func TestPacked(t *testing.T) {
	packtest.Dir(t, "page", "packed", *update, "go generate ./internal/ui/web")
}

// TestScript tells a page what it shows.
func TestScript(t *testing.T) {
	f := newFixture(t)
	status, body := f.get("/v1/script")
	var got struct {
		Name, Text, Version string
		Start               int64
		History             float64 // seconds; the page forgets what is older
		Maps                []struct {
			Name    string
			Profile bool
			Labels  []string
		}
	}
	if err := json.Unmarshal([]byte(body), &got); err != nil || status != 200 {
		t.Fatalf("%d %v", status, err)
	}
	if got.Name != "reads.bt" || got.Start != 1e12 || got.History != 300 ||
		len(got.Maps) != 3 || !got.Maps[0].Profile ||
		fmt.Sprint(got.Maps[1].Labels) != "[comm]" {
		t.Errorf("%+v", got)
	}
}
