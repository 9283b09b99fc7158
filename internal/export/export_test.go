package export

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	stdcsv "encoding/csv"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/hawktrace/hawk/internal/source"
	"github.com/hawktrace/hawk/internal/types"
	"github.com/hawktrace/hawk/internal/value"
	"github.com/hawktrace/hawk/internal/view"
)

type names []string

// A namer has address i of a stack be function i.
type namer struct{ names names }

func (n *namer) FramesAt(st *value.Stack, _ int, _ value.Depth, frame *value.Frame, f func(*value.Frame)) {
	frame.Func, frame.Module, frame.Offset = n.names[frame.Addr&0xff], "/bin/"+n.names[0], 4
	frame.BuildID, frame.FileOffset = "abcdef", frame.Addr&0xfff
	if !st.User {
		frame.Module, frame.BuildID = "", ""
	}
	f(frame)
}
func (*namer) Truncated(st *value.Stack) bool { return st.Broken }
func (*namer) Lines() *value.Lines            { return nil }
func (*namer) Pool() *value.Pool              { return nil }

// stack is one whose functions are those of n with these numbers, the innermost first.
func (n names) stack(user bool, numbers ...uint64) *value.Stack {
	base := uint64(0x400000)
	if !user {
		base = 0xffffffff81000000
	}
	st := &value.Stack{User: user, PID: 41, Namer: &namer{n}}
	for _, i := range numbers {
		st.Addrs = append(st.Addrs, base+i)
	}
	return st
}

// hostile is what the traced world may be called.
var hostile = []string{
	"\x1b]0;x\x07", "\u202eabc\u2066", "<img src=x onerror=alert(1)>", `"}]</script><script>alert(1)</script>`,
	"a\nb", "\xff\xfe", "=1+1", "-2+3", "@SUM(A1)", "+1", "a;b 7", "'q'", "\u2028x\u0085", "\\", "]]>", "&amp;", "",
	"\t=1", "\r", "--><b>", "%m{{.}}", "x,y\"z", "🦅 ok", "a\x00=b", "\u00adsoft\u200bnothing\ufeff", "\r\n=1",
	"\x1b[2J\x1b[31mred", "\x9b31m", "'=1", "<!--", "`${x}`", "\U000e0041tag", strings.Repeat("long", 1<<14), " ",
}

func ustack(limit int) *types.Stack { return &types.Stack{User: true, Limit: limit} }

// run is a run of a script with a map of each kind, and events, in which all that has a
// name is called so.
func run(list names) *view.Run {
	file := source.NewFile(list[0]+".bt", "begin { }\n// "+strings.Join(list, " ")+"\n")
	text := &types.String{Cap: 64}
	key := &types.Tuple{Elems: []types.Type{ustack(10), &types.Stack{Limit: 10}, text, types.Uint64}}
	pair := &types.Tuple{Elems: []types.Type{text, types.Int64}}
	calls := &view.Map{Name: "@", Key: key, Type: types.Uint64, Kind: view.Counter, Weight: view.ValueWeight,
		Period: time.Second / 100, Keys: []view.Element{{Frames: view.UserFrames}, {Frames: view.KernelFrames},
			{Name: "comm"}, {Name: "pid"}}}
	lat := &view.Map{Name: "@lat", Key: text, Type: types.Uint64, Kind: view.Histogram, Unit: view.Microseconds,
		Weight: view.CountWeight, Keys: []view.Element{{Name: "comm"}}}
	size := &view.Map{Name: "@size", Key: text, Type: types.Int64, Kind: view.Summary, Unit: view.Bytes,
		Weight: view.TotalWeight, Keys: []view.Element{{Name: "file"}}}
	last := &view.Map{Name: "@last", Key: text, Type: pair, Kind: view.Record,
		Keys: []view.Element{{Name: "comm"}}, Columns: []view.Element{{Name: "what", Kind: view.Text}, {Name: "n"}}}
	site := &view.Site{Builtin: "printf", Format: "%s %d\n", At: source.Span{File: file, Start: 0, End: 5},
		Args: []view.Element{{Name: "what", Kind: view.Text}, {Name: "n", Kind: view.Gauge}}, Index: []int{0, 1}}
	maps := []*view.Map{calls, last, lat, size}
	for _, m := range maps {
		m.At = source.Span{File: file, Start: 0, End: 5}
	}
	r := &view.Run{Begin: view.Begin{Boot: time.Hour, Wall: time.Date(2026, 11, 21, 9, 13, 28, 3e8, time.UTC),
		Script: &view.Script{Name: file.Name, Text: file.Text, Maps: maps, Sites: []*view.Site{site}}}}
	r.End = &view.End{Boot: time.Hour + 2*time.Second, Cause: "exit"}
	rows := map[*view.Map][]view.Row{}
	for i, name := range list {
		n := uint64(i)
		other := uint64((i + 1) % len(list))
		rows[calls] = append(rows[calls], view.Row{
			Key:   value.Tuple{list.stack(true, n, other, 0), list.stack(false, n), value.Str(name), value.Uint(41)},
			Value: value.Uint(10 + n)})
		rows[lat] = append(rows[lat], view.Row{Key: value.Str(name), Value: value.Hist{Buckets: []value.Bucket{
			{NoMin: true, Max: -1, Count: 1}, {Min: 0, Max: 0}, {Min: 2, Max: 3, Count: n}}}})
		rows[size] = append(rows[size], view.Row{Key: value.Str(name), Value: value.Avg{Total: 7 * int64(n), Count: 7}})
		rows[last] = append(rows[last], view.Row{Key: value.Str(name),
			Value: value.Tuple{value.Str(name), value.Int(-int64(n))}})
		r.Events = append(r.Events, view.Event{Site: site, Boot: time.Hour + time.Duration(i)*time.Millisecond,
			Text: []byte(name + "\n"), Args: []value.Value{value.Str(name), value.Int(-5)}})
	}
	for _, m := range maps {
		r.Maps = append(r.Maps, view.Snapshot{Map: m, Seq: 1, Rows: view.RowsOf(rows[m]), Totals: true, Complete: true,
			End: r.End.Boot})
	}
	r.Past = r.Maps
	return r
}

// written is a run in a format, of the maps that it shows or, of one map, this one.
func written(t *testing.T, f *Format, r *view.Run, m *view.Map) []byte {
	t.Helper()
	maps, err := f.Choose(r.Script, nil)
	if err != nil {
		t.Fatalf("%s: %v", f.Name, err)
	}
	if f.Takes.One() {
		maps = []*view.Map{m}
		if m == nil {
			maps = nil
		}
	}
	var b bytes.Buffer
	if f.Stream != nil {
		replay(t, f.Stream(&b, maps, Options{}), r)
		return b.Bytes()
	}
	if err := f.Write(&b, r, maps, Options{Version: "v1"}); err != nil {
		t.Fatalf("%s: %v", f.Name, err)
	}
	return b.Bytes()
}

// replay has a feed take what a run has said.
func replay(t *testing.T, f view.Feed, r *view.Run) {
	items := []view.Item{r.Begin, r.Attached}
	for _, ev := range r.Events {
		items = append(items, ev)
	}
	items = append(items, view.Idle{})
	for _, snap := range r.Maps {
		items = append(items, view.Mark{Map: snap.Map, Boot: r.Boot, Rows: snap.Rows}, view.Cleared{Map: snap.Map},
			snap)
	}
	for _, item := range append(items, view.Loss{Records: 1}, *r.End) {
		if err := f.Take(item); err != nil {
			t.Fatal(err)
		}
	}
}

// plain is what a file says, uncompressed.
func plain(t *testing.T, data []byte) []byte {
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return data
	}
	out, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// acts are characters that act on a terminal or on who reads.
var acts = regexp.MustCompile("[\x00-\x08\x0b-\x1f\x7f\u0080-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]")

func TestHostileNames(t *testing.T) {
	r := run(hostile)
	for _, f := range Formats() {
		for _, m := range append([]*view.Map{nil}, r.Script.Maps...) {
			if m == nil && f.Takes != OneTable && f.Takes.One() || m != nil && (!f.Takes.One() ||
				f.Takes == OneProfile && m.Weight == view.NoWeight) {
				continue
			}
			name := f.Name
			if m != nil {
				name += " " + m.Name
			}
			t.Run(name, func(t *testing.T) {
				data := written(t, f, r, m)
				if !f.Binary && f.Socket == "" { // who listens there takes bytes
					if !utf8.Valid(data) {
						t.Error("it is not UTF-8")
					}
					if bad := acts.Find(data); bad != nil {
						t.Errorf("it has %q", bad)
					}
				}
				harmless, ok := readers[f.Name]
				if !ok {
					t.Fatalf("nobody reads %s back: its own test file says how, by readsBack", f.Name)
				}
				harmless(t, data)
			})
		}
	}
}

// readsBack is how the test file of a format says who reads it back.
func readsBack(format string, reader func(t *testing.T, data []byte)) bool {
	readers[format] = reader
	return true
}

// readers read files of a format that were made of hostile names back as somebody else would.
var readers = map[string]func(t *testing.T, data []byte){
	"folded": func(t *testing.T, data []byte) {
		for line := range strings.Lines(string(data)) {
			line = strings.TrimSuffix(line, "\n")
			if _, err := strconv.Atoi(line[strings.LastIndexByte(line, ' ')+1:]); err != nil {
				t.Errorf("%q does not end in a number", line)
			}
			if n := strings.Count(line, ";"); n != 0 && n != 4 {
				t.Errorf("%q has %d semicolons", line, n)
			}
		}
	},
	"csv": func(t *testing.T, data []byte) {
		rows, err := stdcsv.NewReader(bytes.NewReader(data)).ReadAll() // which wants equally many fields
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range rows {
			for _, field := range row {
				_, err := strconv.ParseFloat(field, 64)
				if err != nil && strings.IndexAny(field, "=+-@\t\r") == 0 {
					t.Errorf("a spreadsheet computes %q", field)
				}
			}
		}
		if len(rows) < len(hostile) {
			t.Errorf("%d rows", len(rows))
		}
	},
	"svg": func(t *testing.T, data []byte) {
		allowed := []string{"svg", "title", "desc", "style", "rect", "text", "g"}
		for d := xml.NewDecoder(bytes.NewReader(data)); ; {
			token, err := d.Token()
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if e, ok := token.(xml.StartElement); ok {
				if !slices.Contains(allowed, e.Name.Local) {
					t.Errorf("it has an element %s", e.Name.Local)
				}
				for _, a := range e.Attr {
					if strings.HasPrefix(a.Name.Local, "on") || a.Name.Local == "href" {
						t.Errorf("it has an attribute %s", a.Name.Local)
					}
				}
			}
		}
	},
	"pprof": func(t *testing.T, data []byte) {
		if text := pprofText(t, data, "-raw"); acts.MatchString(text) {
			t.Errorf("it has %q", acts.FindString(text))
		}
	},
	"flame": func(t *testing.T, data []byte) {
		page := string(data)
		for what, n := range map[string]int{"<script": 2, "</script": 2, "<style": 1, "<img": 0, "<b>": 0,
			"<noscript": 1} {
			if got := strings.Count(page, what); got != n {
				t.Errorf("it has %d %s, not %d", got, what, n)
			}
		}
		_, rest, _ := strings.Cut(page, `data-form="json">`)
		text, _, _ := strings.Cut(rest, "</script>")
		var all struct {
			Profiles []struct {
				Names  []string
				Parent []int
				Name   []int
				Self   [][]int64
			}
		}
		if err := json.Unmarshal([]byte(text), &all); err != nil {
			t.Fatal(err)
		}
		for _, p := range all.Profiles {
			if len(p.Parent) != len(p.Name) || len(p.Self[0]) != len(p.Name) || len(p.Names) < len(hostile)-3 {
				t.Errorf("%d names, %d nodes", len(p.Names), len(p.Name))
			}
		}
	},
	"jsonl": func(t *testing.T, data []byte) {
		var last map[string]any
		events := 0
		for line := range strings.Lines(string(data)) {
			last = nil
			if err := json.Unmarshal([]byte(line), &last); err != nil {
				t.Fatalf("%v: %s", err, line)
			}
			if last["type"] == "event" {
				want := string([]rune(hostile[events])) // U+FFFD for each byte that is of no character
				if args := last["args"].([]any); args[0] != want || args[1] != -5.0 {
					t.Errorf("event %d is %q", events, args)
				}
				events++
			}
		}
		if events != len(hostile) || last["type"] != "end" || last["cause"] != "exit" {
			t.Errorf("%d events, and %v", events, last)
		}
	},
	"chrome": func(t *testing.T, data []byte) {
		var trace struct {
			TraceEvents []struct {
				Name, Ph string
				Ts, Dur  float64
				Args     map[string]any
			}
		}
		if err := json.Unmarshal(data, &trace); err != nil {
			t.Fatal(err)
		}
		phases := map[string]int{}
		for _, ev := range trace.TraceEvents {
			if phases[ev.Ph]++; ev.Ts < 3.6e9-1000 || ev.Dur < 0 {
				t.Errorf("%s at %f for %f", ev.Name, ev.Ts, ev.Dur)
			}
		}
		if phases["i"] != len(hostile) || phases["X"] != 0 || phases["C"] == 0 {
			t.Errorf("%v", phases)
		}
	},
	"perfetto": func(t *testing.T, data []byte) {
		packets := fields(t, data)[1]
		kinds := map[uint64]int{}
		for _, p := range packets {
			f := fields(t, p.bytes)
			if f[8] != nil && f[8][0].n < uint64(59*time.Minute) {
				t.Errorf("a packet at %d", f[8][0].n)
			}
			for _, ev := range f[11] {
				kinds[fields(t, ev.bytes)[9][0].n]++
			}
		}
		if kinds[perfettoInstant] != len(hostile) || kinds[perfettoCounter] == 0 ||
			kinds[perfettoSliceBegin] != kinds[perfettoSliceEnd] {
			t.Errorf("%v", kinds)
		}
		if text := strings.ToValidUTF8(string(data), ""); strings.Contains(text, "\x1b]0") {
			t.Error("it has an escape sequence")
		}
	},
	"logfmt": func(t *testing.T, data []byte) {
		field := regexp.MustCompile(`^[A-Za-z_]\w*=("(\\.|[^"\\])*"|[^ "=]*)( |$)`)
		for line := range strings.Lines(string(data)) {
			for rest := strings.TrimSuffix(line, "\n"); rest != ""; {
				m := field.FindString(rest)
				if m == "" {
					t.Fatalf("%q has %q", line, rest)
				}
				rest = rest[len(m):]
			}
		}
	},
	"journal": func(t *testing.T, data []byte) {
		entries := journalEntries(t, data)
		last := entries[len(entries)-1]
		if !strings.HasPrefix(last["MESSAGE"], "ended: ") || last["HAWK_SCRIPT"] == "" {
			t.Errorf("the last entry is %q", last)
		}
		events := 0
		for _, e := range entries {
			if e["SYSLOG_IDENTIFIER"] != "hawk" || e["PRIORITY"] == "" {
				t.Errorf("an entry is %q", e)
			}
			if e["HAWK_TIME"] != "" {
				events++
			}
			if m := e["MESSAGE"]; acts.MatchString(m) || !utf8.ValidString(m) || e["HAWK_MAP"] != "" &&
				strings.Contains(m, "\n") {
				t.Errorf("a message is %q", m)
			}
		}
		if events == 0 {
			t.Error("there are no events")
		}
	},
	"html": func(t *testing.T, data []byte) {
		page := string(data)
		for what, n := range map[string]int{"<script": 3, "</script": 3, "<style": 1, "<img": 0, "<b>": 0} {
			if got := strings.Count(page, what); got != n {
				t.Errorf("it has %d %s, not %d", got, what, n)
			}
		}
		if n := strings.Count(page, "<h2>"); n != 7 { // one is of the table for who runs no script
			t.Errorf("it has %d parts", n)
		}
		for _, bad := range []string{"http:", "https:", " style=", " onclick=", "url("} {
			if strings.Contains(page, bad) {
				t.Errorf("it has %s", bad)
			}
		}
	},
	"speedscope": func(t *testing.T, data []byte) { readSpeedscope(t, data) },
}

// A wireField is a field of a protobuf message.
type wireField struct {
	n     uint64
	bytes []byte
}

// fields are those of a message, by number.
func fields(t *testing.T, data []byte) map[int][]wireField {
	t.Helper()
	out := map[int][]wireField{}
	for len(data) > 0 {
		tag, n := binary.Uvarint(data)
		if n <= 0 {
			t.Fatal("a bad tag")
		}
		data = data[n:]
		f := wireField{}
		switch tag & 7 {
		case varint:
			f.n, n = binary.Uvarint(data)
			if n <= 0 {
				t.Fatal("a bad number")
			}
		case fixed64:
			f.n, n = binary.LittleEndian.Uint64(data), 8
		case length:
			size, k := binary.Uvarint(data)
			if k <= 0 || uint64(len(data)-k) < size {
				t.Fatal("a bad length")
			}
			f.bytes, n = data[k:k+int(size)], k+int(size)
		default:
			t.Fatalf("wire type %d", tag&7)
		}
		data = data[n:]
		out[int(tag>>3)] = append(out[int(tag>>3)], f)
	}
	return out
}

// TestTraces has lengths of time drawn where they were, each thread's within each other.
func TestTraces(t *testing.T) {
	r := run(names{"main"})
	site := r.Script.Sites[0]
	site.Args[1].Unit = view.Microseconds
	r.Events = nil
	for _, ev := range []struct{ end, length int64 }{{100, 50}, {80, 10}, {90, 60}, {300, 100}, {300, 0}, {301, -1}} {
		at := time.Hour + time.Duration(ev.end)*time.Microsecond
		e := view.Event{Site: site, Boot: at, Stamped: true, PID: 7, TID: 8,
			Args: []value.Value{value.Str("x"), value.Int(ev.length)}}
		r.Events = append(r.Events, e)
	}
	r.Gaps = []view.Gap{{From: r.Boot, To: r.Boot + 5, Records: 3}}
	r.Moments = []view.Moment{{At: r.Boot, What: "@lat printed"}}
	depth, most := map[uint64]int{}, 0
	type moment struct {
		time, track uint64
		step        int
	}
	var moments []moment
	instants := 0
	for _, p := range fields(t, written(t, Find("perfetto"), r, nil))[1] {
		f := fields(t, p.bytes)
		for _, ev := range f[11] {
			e := fields(t, ev.bytes)
			switch e[9][0].n {
			case perfettoSliceBegin:
				moments = append(moments, moment{f[8][0].n, e[11][0].n, 1})
			case perfettoSliceEnd:
				moments = append(moments, moment{f[8][0].n, e[11][0].n, -1})
			case perfettoInstant:
				instants++
			}
		}
	}
	slices.SortStableFunc(moments, func(a, b moment) int { return cmp.Compare(a.time, b.time) })
	for _, m := range moments {
		depth[m.track] += m.step
		if depth[m.track] < 0 {
			t.Errorf("track %d ends at %d what has not begun", m.track, m.time)
		}
		most = max(most, depth[m.track])
	}
	for track, d := range depth {
		if d != 0 {
			t.Errorf("track %d does not end", track)
		}
	}
	if most != 2 || len(depth) != 3 || instants != 2 || len(moments) != 12 {
		t.Errorf("depth %d, %d tracks, %d moments, %d instants", most, len(depth), len(moments), instants)
	}
	text := string(written(t, Find("chrome"), r, nil))
	for _, want := range []string{`"ph":"X","ts":3600000050,"dur":50,"pid":7,"tid":8,"args":{"what":"x","n":50}`,
		`"ph":"X","ts":3600000300,"dur":0,`, `"tid":1,"args":{"name":"script"}`, `{"name":"@lat printed","ph":"i",`,
		`{"name":"lost","ph":"X","ts":3600000000,"dur":0.005,"pid":0,"tid":2,"args":{"events":3}}`} {
		if !strings.Contains(text, want) {
			t.Errorf("there is no %s in\n%s", want, text)
		}
	}
}

// pprofText is what the tool of Go prints of a profile.
func pprofText(t *testing.T, data []byte, args ...string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "p.pb.gz")
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("go", append(append([]string{"tool", "pprof"}, args...), file)...)
	cmd.Env = append(os.Environ(), "PPROF_BINARY_PATH="+t.TempDir(), "PPROF_TMPDIR="+t.TempDir())
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("pprof: %v\n%s", err, &errs)
	}
	return string(out)
}

// A speedscopeFile is the format as its authors publish it.
type speedscopeFile struct {
	Schema string `json:"$schema"`
	Shared struct {
		Frames []struct {
			Name string  `json:"name"`
			File *string `json:"file"`
			Line *int    `json:"line"`
		} `json:"frames"`
	} `json:"shared"`
	Profiles []struct {
		Type       string  `json:"type"`
		Name       string  `json:"name"`
		Unit       string  `json:"unit"`
		StartValue int64   `json:"startValue"`
		EndValue   int64   `json:"endValue"`
		Samples    [][]int `json:"samples"`
		Weights    []int64 `json:"weights"`
	} `json:"profiles"`
	Name               string `json:"name"`
	ActiveProfileIndex int    `json:"activeProfileIndex"`
	Exporter           string `json:"exporter"`
}

func readSpeedscope(t *testing.T, data []byte) (f speedscopeFile) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&f); err != nil {
		t.Fatal(err)
	}
	for _, p := range f.Profiles {
		var sum int64
		for _, w := range p.Weights {
			sum += w
		}
		if len(p.Samples) != len(p.Weights) || sum != p.EndValue-p.StartValue || p.Type != "sampled" {
			t.Errorf("%s: %d samples, %d weights, %d of %d", p.Name, len(p.Samples), len(p.Weights), sum, p.EndValue)
		}
		for _, s := range p.Samples {
			for _, n := range s {
				if n < 0 || n >= len(f.Shared.Frames) {
					t.Fatalf("there is no frame %d", n)
				}
			}
		}
	}
	return f
}

// journalEntries reads entries by the rules of the journal, which drops fields whose names
// break them.
func journalEntries(t *testing.T, data []byte) (out []map[string]string) {
	t.Helper()
	name := regexp.MustCompile(`^[A-Z][A-Z0-9_]{0,63}$`)
	for len(data) > 0 {
		end := bytes.IndexAny(data, "=\n")
		if end < 0 || !name.Match(data[:end]) {
			t.Fatalf("no field begins with %q", data[:min(len(data), 80)])
		}
		field, plain := string(data[:end]), data[end] == '='
		data = data[end+1:]
		size := bytes.IndexByte(data, '\n')
		if !plain {
			size, data = int(binary.LittleEndian.Uint64(data)), data[8:]
		}
		if size < 0 || size >= len(data) || data[size] != '\n' {
			t.Fatalf("%s has no end", field)
		}
		if field == "MESSAGE" {
			out = append(out, map[string]string{})
		}
		out[len(out)-1][field] = string(data[:size])
		data = data[size+1:]
	}
	return out
}

// TestWeights has all formats weigh what the maps hold.
func TestWeights(t *testing.T) {
	list := names{"main", "read", "copy", "walk", "entry"}
	r := run(list)
	calls, size := r.Script.Map("@"), r.Script.Map("@size")
	want := map[*view.Map]int64{calls: 10 + 11 + 12 + 13 + 14, size: 7 * (1 + 2 + 3 + 4)}
	for m, total := range want {
		sum := int64(0)
		for line := range strings.Lines(string(written(t, Find("folded"), r, m))) {
			n, err := strconv.ParseInt(strings.TrimSpace(line[strings.LastIndexByte(line, ' ')+1:]), 10, 64)
			if err != nil {
				t.Error(err)
			}
			sum += n
		}
		if sum != total {
			t.Errorf("folded: %s is %d, not %d", m.Name, sum, total)
		}
		for _, p := range readSpeedscope(t, written(t, Find("speedscope"), r, nil)).Profiles {
			if p.Name == m.Name && p.EndValue != total {
				t.Errorf("speedscope: %s is %d, not %d", m.Name, p.EndValue, total)
			}
		}
		unit := map[*view.Map]string{calls: "count", size: "bytes"}[m]
		root := fmt.Sprintf("<title>all: %s, 100.0 %%</title>", amount(total, unit))
		if text := string(written(t, Find("svg"), r, m)); !strings.Contains(text, root) {
			t.Errorf("there is no %s in\n%s", root, text)
		}
	}
	raw := pprofText(t, written(t, Find("pprof"), r, calls), "-raw", "-sample_index=samples")
	samples := regexp.MustCompile(`(?m)^ +(\d+) +(\d+): [\d ]+$`).FindAllStringSubmatch(raw, -1)
	var count, nanos int64
	for _, s := range samples {
		n, _ := strconv.ParseInt(s[1], 10, 64)
		cpu, _ := strconv.ParseInt(s[2], 10, 64)
		count, nanos = count+n, nanos+cpu
	}
	if count != want[calls] || nanos != 1e7*want[calls] {
		t.Errorf("pprof: %d samples, %d ns of processor, of %d\n%s", count, nanos, want[calls], raw)
	}
	for _, line := range []string{"comm:[main]", "PeriodType: cpu nanoseconds", "Period: 10000000", "Duration: 2"} {
		if !strings.Contains(raw, line) {
			t.Errorf("pprof has no %s:\n%s", line, raw)
		}
	}
	top := pprofText(t, written(t, Find("pprof"), r, calls), "-top", "-sample_index=samples")
	if !regexp.MustCompile(`(?m)^ +14 .* entry$`).MatchString(top) || !strings.HasPrefix(top, "File: main\n") {
		t.Errorf("pprof -top:\n%s", top)
	}
}

// TestFolded shows stacks as they are written: keys, the program, the kernel.
func TestFolded(t *testing.T) {
	list := names{"main", "read"}
	r := run(list)
	m := r.Script.Map("@")
	var b bytes.Buffer
	if err := writeFolded(&b, r, []*view.Map{m}, Options{Annotate: true}); err != nil {
		t.Fatal(err)
	}
	want := "main (41);main;read;main;main_[k] 10\nread (41);main;main;read;read_[k] 11\n"
	if b.String() != want {
		t.Errorf("got\n%swant\n%s", &b, want)
	}
}

// TestPageAlone has pages that ask nobody for anything, whose own script may run.
func TestPageAlone(t *testing.T) {
	page := string(written(t, Find("flame"), run(names{"main", "read"}), nil))
	for _, bad := range []string{"http:", "https:", "src=\"", "url(", "@import", "fetch(", "XMLHttp", "WebSocket",
		"import(", "innerHTML", "eval(", " style=", " onclick="} {
		if strings.Contains(page, bad) {
			t.Errorf("it has %s", bad)
		}
	}
	for what, part := range map[string]string{"script": text(flameScript), "style": text(flameStyle)} {
		sum := sha256.Sum256([]byte(part))
		rule := what + "-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
		if !strings.Contains(page, rule) || !strings.Contains(page, "<"+what+">"+part+"</"+what+">") {
			t.Errorf("the policy does not name its %s", what)
		}
	}
	if n := len(text(flameScript)); n > 60<<10 {
		t.Errorf("the script has %d bytes, more than 60 KB", n)
	}
}

// TestPast draws what came between two looks: counters as lines, histograms as heat.
func TestPast(t *testing.T) {
	r := run(names{"main"})
	lat := r.Script.Map("@lat")
	r.Past = nil
	for i := range uint64(4) {
		row := view.Row{Key: value.Str("main"),
			Value: value.Hist{Buckets: []value.Bucket{{Max: 0, Count: 4 * (i + 1)}, {Min: 1, Max: 1, Count: 1}}}}
		r.Past = append(r.Past, view.Snapshot{Map: lat, End: r.Boot + time.Duration(i+1)*time.Second,
			Rows: view.RowsOf([]view.Row{row})})
	}
	page := string(written(t, Find("html"), r, nil))
	if n := strings.Count(page, `height="50.00" fill-opacity="1.00"`); n != 4 {
		t.Errorf("%d cells of the fullest bucket", n)
	}
	if n := strings.Count(page, `fill-opacity="0.34"`); n != 1 {
		t.Errorf("%d cells of the other", n)
	}
	if strings.Contains(page, "hatched") {
		t.Error("the page says that something is missing")
	}
	tracks := counterTracks(r, []*view.Map{lat})
	// Bounds are where buckets of whole microseconds end.
	for _, track := range tracks {
		if strings.HasSuffix(track.name, "count/s") && (len(track.points) != 4 || track.points[1].value != 4) ||
			strings.HasSuffix(track.name, "p50") && track.points[3].value != 1 ||
			strings.HasSuffix(track.name, "p99") && track.points[0].value != 2 {
			t.Errorf("%v", track)
		}
	}
	if len(tracks) != 3 {
		t.Errorf("%d tracks", len(tracks))
	}
	// Rows that were left out count all the same; the page says when nobody looked.
	r.Past[1].Left, r.Past[1].Others = 3, value.Hist{Buckets: []value.Bucket{{}, {Min: 1, Max: 1, Count: 50}}}
	r.Asleep = []view.Asleep{{From: r.Boot + 1500*time.Millisecond, Boot: r.Boot + 2*time.Second}}
	page = string(written(t, Find("html"), r, nil))
	for _, want := range []string{
		`<path d="M37.50 100L38.20 0`, "below; hatched: asleep or stopped", `height="50.00" fill-opacity="1.00"`,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("there is no %s", want)
		}
	}
}

// TestCurves draws counters with what is left out of looks, and numbers that go up and down.
func TestCurves(t *testing.T) {
	counter := &view.Map{Name: "@c", Kind: view.Counter, Type: types.Uint64, Key: &types.String{},
		Keys: []view.Element{{Name: "key"}}}
	gauge := &view.Map{Name: "@g", Kind: view.Gauge, Type: types.Int64, Unit: view.Bytes}
	r := run(names{"main"})
	r.Script.Maps, r.Past, r.Maps = []*view.Map{counter, gauge}, nil, nil
	for i := range 4 {
		end := r.Boot + time.Duration(i+1)*time.Second
		r.Past = append(r.Past,
			view.Snapshot{Map: counter, End: end, Rest: int64(100 * (i + 1)),
				Rows: view.RowsOf([]view.Row{{Key: value.Str("a"), Value: value.Uint(5)}})},
			view.Snapshot{Map: gauge, End: end, Rows: view.RowsOf([]view.Row{{Value: value.Int(3 - 2*i)}})})
	}
	r.Maps = r.Past[len(r.Past)-2:]
	page := string(written(t, Find("html"), r, nil))
	for _, want := range []string{
		"up to 105 per second", `points="25.00,5.00 50.00,9.52 75.00,9.52 100.00,9.52"`,
		"from -3 bytes to 3 bytes", `points="25.00,5.00 50.00,36.67 75.00,68.33 100.00,100.00"`,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("there is no %s", want)
		}
	}
}

// headless are formats of nothing but lines, which a run without data leaves empty.
var headless = map[string]bool{"folded": true}

// isHeadless is how the test file of a format says so.
func isHeadless(format string) bool {
	headless[format] = true
	return true
}

// TestNoData has every format make a file that can be read of a run without data.
func TestNoData(t *testing.T) {
	r := run(names{"main"})
	r.Maps, r.Events = nil, nil
	for _, f := range Formats() {
		if f.Write == nil {
			continue
		}
		if data := plain(t, written(t, f, r, r.Script.Map("@"))); !headless[f.Name] && len(data) == 0 {
			t.Errorf("%s is empty: it has a head, or its own test file says isHeadless", f.Name)
		}
	}
}

// TestFormats has each row say what help, completion, manual and views take from it.
func TestFormats(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range Formats() {
		switch {
		case f.Name == "" || f.Doc == "" || f.Ext == "":
			t.Errorf("%+v: name, documentation or the end of file names is missing", f)
		case seen[f.Name]:
			t.Errorf("%s is there twice", f.Name)
		case (f.Write == nil) == (f.Stream == nil):
			t.Errorf("%s is written either at the end or as things happen", f.Name)
		}
		seen[f.Name] = true
	}
}

// TestRate has rates as people read them, few or many.
func TestRate(t *testing.T) {
	for _, tt := range []struct {
		n    float64
		unit view.Unit
		kind view.Kind
		want string
	}{
		{89_130.4, view.NoUnit, view.Counter, "89,130"},
		{1_234_567.8, view.Bytes, view.Counter, "1,234,568 bytes"},
		{0.25, view.NoUnit, view.Counter, "0.25"},
		{12.2, view.Microseconds, view.Summary, "12"}, // summaries count values
	} {
		if got := rate(tt.n, &view.Map{Kind: tt.kind, Unit: tt.unit}); got != tt.want {
			t.Errorf("%v %v: %s, want %s", tt.n, tt.unit, got, tt.want)
		}
	}
}

// TestFindFile has the end of a file's name tell the format.
func TestFindFile(t *testing.T) {
	for file, want := range map[string]string{
		"run.html": "html", "a/b.pb.gz": "pprof", "x.speedscope.json": "speedscope", "x.json": "chrome", "x.svg": "svg",
		"x.jsonl": "jsonl", "x.txt": "", "html": "",
	} {
		got := ""
		if f := FindFile(file); f != nil {
			got = f.Name
		}
		if got != want {
			t.Errorf("%s: %q, want %q", file, got, want)
		}
	}
}

// TestLooks has jsonl say what maps held in the end alone, whoever else looks at them, or as often as it is told to.
func TestLooks(t *testing.T) {
	r := run(names{"main"})
	lat := r.Script.Map("@lat")
	for every, want := range map[time.Duration]int{0: 1, time.Second: 10, 3 * time.Second: 4} {
		var b bytes.Buffer
		to := Find("jsonl").Stream(&b, []*view.Map{lat}, Options{Every: every})
		items := []view.Item{r.Begin, r.Attached}
		for i := range time.Duration(10) {
			at := r.Boot + (i+1)*time.Second
			items = append(items, view.Snapshot{Map: lat, End: at}, view.Refreshed{Boot: at})
		}
		for _, item := range append(items, *r.End) {
			if err := to.Take(item); err != nil {
				t.Fatal(err)
			}
		}
		if n := strings.Count(b.String(), `{"type":"map",`); n != want {
			t.Errorf("every %v there are %d looks, not %d", every, n, want)
		}
	}
}

// TestCut has the page say what it leaves out: keys of histograms, whose buckets are lines, too; what comes behind the
// last look; functions, for who runs no script.
func TestCut(t *testing.T) {
	r := run(names{"main"})
	lat := r.Script.Map("@lat")
	var rows []view.Row
	for i := range 700 {
		rows = append(rows, view.Row{Key: value.Str(fmt.Sprint(i)),
			Value: value.Hist{Buckets: []value.Bucket{{Max: 0, Count: uint64(i + 1)}}}})
	}
	for i := range r.Maps {
		if r.Maps[i].Map == lat {
			r.Maps[i].Rows = view.RowsOf(rows)
		}
	}
	page := string(written(t, Find("html"), r, nil))
	if !strings.Contains(page, "<p>200 rows more, which weigh less</p>") {
		t.Error("200 keys are left out, and nothing says so")
	}
	if !strings.Contains(page, "<td>main</td>") {
		t.Error("who runs no script sees no function")
	}
	many := make(names, 120)
	for i := range many {
		many[i] = fmt.Sprintf("f%03d", i)
	}
	if page := string(written(t, Find("flame"), run(many), nil)); !strings.Contains(page, "functions more</p>") {
		t.Error("functions are left out, and nothing says so")
	}
}

// TestGapsBehind has records tell all of the time in which nobody looked, in the order of time.
func TestGapsBehind(t *testing.T) {
	r := run(names{"main"})
	lat, size := r.Script.Map("@lat"), r.Script.Map("@size")
	for i := range r.Maps {
		r.Maps[i].End = r.Boot + 4*time.Second
	}
	for _, m := range []*view.Map{lat, size} { // as live views have them
		for i := range time.Duration(3) {
			r.Past = append(r.Past, view.Snapshot{Map: m, End: r.Boot + (i+1)*time.Second})
		}
	}
	r.Events = nil
	r.Asleep = []view.Asleep{{From: r.Boot + 1, Boot: r.Boot + 1500*time.Millisecond},
		{From: r.Boot + 4*time.Second, Boot: r.Boot + 9*time.Second}}
	text, err := htmlRecords(r, r.Script.Maps)
	if err != nil {
		t.Fatal(err)
	}
	text = strings.TrimSuffix(strings.TrimPrefix(text, RecordsMark), "</script>\n")
	z, err := gzip.NewReader(base64.NewDecoder(base64.StdEncoding, strings.NewReader(text)))
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	records := regexp.MustCompile(`"type":"(map|asleep)","t":(\d+)`)
	for _, found := range records.FindAllStringSubmatch(string(data), -1) {
		got = append(got, found[1]+" "+found[2][:2])
	}
	want := "[map 10 map 10 asleep 15 map 20 map 20 map 30 map 30 map 40 map 40 map 40 map 40 asleep 90]"
	if fmt.Sprint(got) != want {
		t.Errorf("got %v, want %s", got, want)
	}
}

// TestNoProfile says of a map why it is no picture of stacks, and which maps are.
func TestNoProfile(t *testing.T) {
	key := []view.Element{{Name: "comm"}}
	stack := []view.Element{{Name: "ustack", Frames: view.UserFrames}}
	text := &view.Map{Name: "@text", Kind: view.Text, Keys: key}
	last := &view.Map{Name: "@last", Kind: view.Text, Keys: stack}
	one := &view.Map{Name: "@one", Kind: view.Counter}
	reads := &view.Map{Name: "@reads", Kind: view.Counter, Weight: view.ValueWeight, Keys: key}
	calls := &view.Map{Name: "@calls", Kind: view.Counter, Weight: view.ValueWeight, Keys: stack}
	const count = "values do not count (count, sum, avg, stats, hist)"
	for _, tt := range []struct {
		m    *view.Map
		maps []*view.Map
		want string
	}{
		{text, []*view.Map{text, reads, calls},
			"its key has no stack, and its " + count + "; maps with a stack: @calls"},
		{text, []*view.Map{text, reads},
			"its key has no stack, and its " + count + "; maps that count by key: @reads"},
		{last, []*view.Map{last}, "its " + count + "; no map of this script can be one"},
		{one, []*view.Map{one, calls}, "it has no key, and so no stack; maps with a stack: @calls"},
	} {
		_, err := Find("flame").Choose(&view.Script{Maps: tt.maps}, []string{tt.m.Name})
		if want := tt.m.Name + " cannot be a profile: " + tt.want; err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// TestForPeople has the page show maps as the script writes them, process IDs and times as people read them, and no bar
// beside a number that is alone.
func TestForPeople(t *testing.T) {
	r := run(names{"main"})
	file := r.Script.Map("@").At.File
	at := func(n int) source.Span { return source.Span{File: file, Start: n, End: n} }
	pid := &view.Map{Name: "@pid", Kind: view.Record, Type: &types.Tuple{Elems: []types.Type{types.Int64}},
		Columns: []view.Element{{Name: "pid", Kind: view.Gauge}}, At: at(3)}
	series := &view.Map{Name: "@series", Kind: view.Series, Type: types.Int64, At: at(2)}
	total := &view.Map{Name: "@total", Kind: view.Counter, Type: types.Uint64, At: at(1)}
	r.Script.Maps = []*view.Map{pid, series, total}
	r.Past, r.Events = nil, nil
	one := func(v value.Value) view.Rows { return view.RowsOf([]view.Row{{Value: v}}) }
	r.Maps = []view.Snapshot{
		{Map: pid, Rows: one(value.Tuple{value.Int(12345)})},
		{Map: series, Rows: one(value.Series{Interval: 1e9, Points: []value.Point{{Epoch: 60, Value: 1}}})},
		{Map: total, Rows: one(value.Uint(12345))},
	}
	page := string(written(t, Find("html"), r, nil))
	for _, want := range []string{">12345<", ">12,345<", ">1970-01-01 00:01:00<"} {
		if !strings.Contains(page, want) {
			t.Errorf("there is no %s", want)
		}
	}
	if strings.Contains(page, `<svg class="w"`) {
		t.Error("there is a bar")
	}
	var got []string
	for _, found := range regexp.MustCompile(`<h2>(@\w+)`).FindAllStringSubmatch(page, -1) {
		got = append(got, found[1])
	}
	if want := "[@total @series @pid]"; fmt.Sprint(got) != want {
		t.Errorf("maps are %v, want %s", got, want)
	}
	chosen := []*view.Map{series, pid}
	if got := r.Script.InOrder(chosen); !slices.Equal(got, chosen) {
		t.Errorf("maps are not as they were chosen: %v", got[0].Name)
	}
}

// TestNarrowBoxes has boxes that are too narrow for a name leave out the path of its package, and nothing of a key.
func TestNarrowBoxes(t *testing.T) {
	var list names
	for i := range 8 {
		list = append(list, fmt.Sprintf("github.com/some/where/else/pkg.F%d", i))
	}
	r := run(list)
	picture := string(written(t, Find("svg"), r, r.Script.Map("@")))
	for _, want := range []string{">pkg.F3</text>", "<title>github.com/some/where/else/pkg.F3: ", ">github.com/"} {
		if !strings.Contains(picture, want) {
			t.Errorf("there is no %s", want)
		}
	}
}

// TestLeftOut has records count the keys that a look at a map has left out, those that a row stands for once.
func TestLeftOut(t *testing.T) {
	r := run(names{"main"})
	size := r.Script.Map("@size")
	one := view.Row{Key: value.Str("a"), Value: value.Avg{Count: 1}}
	others := view.Row{Key: value.Null{}, Value: value.Avg{Count: 1}, Others: 3}
	for _, tt := range []struct {
		snap view.Snapshot
		want string
	}{
		{view.Snapshot{Rows: view.RowsOf([]view.Row{one})}, `"entries":1,"rows"`},
		{view.Snapshot{Rows: view.RowsOf([]view.Row{one}), Left: 7}, `"entries":8,"rows"`},
		{view.Snapshot{Rows: view.RowsOf([]view.Row{one}), Left: 7, Others: value.Avg{Count: 9}},
			`"entries":8,"others":7,"rows"`},
		{view.Snapshot{Rows: view.RowsOf([]view.Row{one, others}), Left: 10}, `"entries":11,"others":3,"rows"`},
	} {
		tt.snap.Map, tt.snap.End = size, r.Boot+time.Second
		var b bytes.Buffer
		f := Records(&b, []*view.Map{size}, 0)
		f.Take(r.Begin)
		f.Take(tt.snap)
		f.Take(*r.End)
		if !strings.Contains(b.String(), tt.want) {
			t.Errorf("there is no %s in\n%s", tt.want, b.String())
		}
	}
}

// TestSevere has the page of a run say in words how severe reports of the script are.
func TestSevere(t *testing.T) {
	r := run(names{"a"})
	for _, builtin := range []string{"errorf", "warnf"} {
		site := &view.Site{Builtin: builtin}
		r.Script.Sites = append(r.Script.Sites, site)
		r.Events = append(r.Events, view.Event{Site: site, Boot: time.Hour, Text: []byte("bad " + builtin)})
	}
	page := string(written(t, HTML, r, nil))
	for _, want := range []string{"<td>ERROR: bad errorf</td>", "<td>WARNING: bad warnf</td>"} {
		if !strings.Contains(page, want) {
			t.Errorf("no %s in the page", want)
		}
	}
}

// TestFoldedFrame: names of frames make no line of a folded file a comment, or what a script has printed.
func TestFoldedFrame(t *testing.T) {
	for _, tt := range []struct {
		name      string
		outermost bool
		want      string
	}{
		{"main", true, "main"}, {"a;b", false, "a:b"}, {"#x", true, `\x23x`}, {"#x", false, "#x"},
		{"@a[1]", true, `\x40a[1]`}, {"@a[1]", false, "@a[1]"}, {"", true, ""},
	} {
		if got := FoldedFrame(tt.name, tt.outermost); got != tt.want {
			t.Errorf("%q: %q, want %q", tt.name, got, tt.want)
		}
	}
}
