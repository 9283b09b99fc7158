package web

import (
	"cmp"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hawktrace/hawk/internal/export"
	"github.com/hawktrace/hawk/internal/pack"
	"github.com/hawktrace/hawk/internal/view"
	"github.com/hawktrace/hawk/internal/view/history"
)

//go:generate go test -run TestPacked . -update

// packed are the files of page.
//
//go:embed packed
var packed embed.FS

// file is a file of the page.
func file(name string) string { return pack.Text(packed, "packed/"+name+pack.Suffix) }

// An asset is a file of the page, under a name that changes with what is in it.
type asset struct {
	kind string
	data []byte
}

// assets are made when the first page is asked for.
var assets = sync.OnceValues(func() (index []byte, byName map[string]asset) {
	byName = map[string]asset{}
	// Flame graphs of the page are those of saved files, script and all.
	script, style, body := export.FlameParts()
	names := map[string]string{} // by what stands for it in the page
	add := func(name, text string) {
		data := []byte(text)
		ext := path.Ext(name)
		// Nine bytes of the digest are enough: names only have to change with the content.
		sum := sha256.Sum256(data)
		hashed := strings.TrimSuffix(name, ext) + "-" + base64.RawURLEncoding.EncodeToString(sum[:9]) + ext
		// In the page the name in braces stands for the address.
		names["{"+name+"}"] = "a/" + hashed
		byName[hashed] = asset{map[string]string{".js": "text/javascript", ".css": "text/css"}[ext] +
			"; charset=utf-8", data}
	}
	for _, name := range []string{"live.js", "live.css", "uPlot.iife.min.js", "uPlot.min.css"} {
		add(name, file(name))
	}
	add("flame.js", script)
	add("flame.css", style)
	// The body goes in first, so that names in it are replaced, too.
	page := strings.ReplaceAll(file("live.html"), "{flame}", body)
	for word, name := range names {
		page = strings.ReplaceAll(page, word, name)
	}
	return []byte(page), byName
})

// Handler answers requests of pages.
func (v *View) Handler() http.Handler {
	m := http.NewServeMux()
	m.HandleFunc("/{$}", func(w http.ResponseWriter, r *http.Request) {
		index, _ := assets()
		write(w, r, "text/html; charset=utf-8", index)
	})
	m.HandleFunc("/a/{name}", func(w http.ResponseWriter, r *http.Request) {
		_, byName := assets()
		a, ok := byName[r.PathValue("name")]
		if !ok {
			http.NotFound(w, r)
			return
		}
		// Other content has another name, so that browsers need never ask again.
		w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
		write(w, r, a.kind, a.data)
	})
	// Who watches over servers asks this: it has no map read.
	m.HandleFunc("/healthz", func(w http.ResponseWriter, r *http.Request) {
		write(w, r, "text/plain; charset=utf-8", []byte("ok\n"))
	})
	m.HandleFunc("/v1/script", v.serveScript)
	m.HandleFunc("/v1/stream", v.stream)
	m.HandleFunc("/v1/look", func(w http.ResponseWriter, r *http.Request) {
		// The answer comes over the stream, to all who follow the run.
		v.cadence.Ask()
		w.WriteHeader(http.StatusNoContent)
	})
	m.HandleFunc("/v1/snapshot", v.serveSnapshot)
	m.HandleFunc("/v1/map/{name}", v.serveMap)
	return m
}

// write answers with a whole file; who asks by HEAD wants its headers alone.
func write(w http.ResponseWriter, r *http.Request, kind string, data []byte) {
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Content-Length", strconv.Itoa(len(data)))
	if r.Method != http.MethodHead {
		w.Write(data)
	}
}

// A mapFact is what a page is told of a map once.
type mapFact struct {
	Name    string   `json:"name"`
	Kind    string   `json:"kind"`
	Role    string   `json:"role"`
	Labels  []string `json:"labels"`
	Columns []any    `json:"columns,omitempty"` // of a record, nested as its values are
	Unit    string   `json:"unit"`
	Help    string   `json:"help,omitempty"`
	Profile bool     `json:"profile"`
	Keyed   bool     `json:"keyed"`
	Point   bool     `json:"point,omitempty"`
	Windows bool     `json:"windows,omitempty"`
	Top     int64    `json:"top,omitempty"`
	Div     int64    `json:"div,omitempty"`
}

// serveScript tells what the script is and what its maps and events mean.
func (v *View) serveScript(w http.ResponseWriter, r *http.Request) {
	v.mu.Lock()
	began := v.status.began
	v.mu.Unlock()
	facts := map[string]any{"version": v.o.Version, "name": v.script.Name, "title": v.script.Called(),
		"text": v.script.Text, "rows": sentRows, "events": keptEvents,
		"history": cmp.Or(v.o.History, history.DefaultSpan).Seconds()}
	// The page may be asked for before the run has begun.
	if began.Script != nil {
		// JavaScript has milliseconds.
		facts["start"], facts["pid"], facts["command"] = began.Wall.UnixNano()/1e6, began.PID, began.Command
	}
	// Lists are made even if empty: nil would be null in JSON.
	maps := []mapFact{}
	for _, m := range v.shown() {
		f := mapFact{Name: m.Name, Kind: m.Kind.String(), Role: m.Role.String(), Labels: []string{},
			Unit: m.Unit.String(), Help: m.Help, Profile: m.Profile(), Keyed: m.Keyed(), Point: m.Point,
			Windows: m.Window, Top: m.Top, Div: m.Div}
		for _, k := range m.Keys {
			f.Labels = append(f.Labels, k.Name)
		}
		if m.Kind == view.Record {
			f.Columns = columns(m.Nested())
		}
		maps = append(maps, f)
	}
	sites := []map[string]any{}
	for _, s := range v.script.Sites {
		args := []string{}
		for _, a := range s.Args {
			args = append(args, a.Name)
		}
		sites = append(sites, map[string]any{"builtin": s.Builtin, "args": args})
	}
	facts["maps"], facts["sites"] = maps, sites
	data, err := json.Marshal(facts)
	if err != nil {
		http.Error(w, "the script cannot be told", http.StatusInternalServerError)
		return
	}
	write(w, r, "application/json", data)
}

// columns are what a page is told of the members of a record.
func columns(parts []view.Part) (out []any) {
	for _, p := range parts {
		if p.Element == nil {
			out = append(out, columns(p.Parts))
			continue
		}
		out = append(out, map[string]string{"name": p.Name, "kind": p.Kind.String(), "unit": p.Unit.String()})
	}
	return out
}

// serveSnapshot sends the whole run: as JSON lines, or as the file that --save html makes.
func (v *View) serveSnapshot(w http.ResponseWriter, r *http.Request) {
	v.refresh(r.Context())
	run := v.whole()
	// Files have what the script reports, without its state.
	var results []*view.Map
	for _, m := range v.script.Maps {
		if m.Role == view.Result {
			results = append(results, m)
		}
	}
	switch name := r.URL.Query().Get("format"); name {
	case "":
		w.Header().Set("Content-Type", "application/jsonl; charset=utf-8")
		if r.Method == http.MethodHead || run.Script == nil {
			return
		}
		// 0 has all rows sent, as in a file.
		f := export.Records(w, v.script.Maps, 0)
		f.Take(run.Begin)
		for i := range run.Maps {
			f.Take(run.Maps[i])
		}
		for i := range run.Events {
			f.Take(run.Events[i])
		}
		f.Take(run.Loss)
		if run.End != nil {
			f.Take(*run.End)
		}
		f.Take(view.Idle{})
	case "html":
		v.download(w, r, export.HTML, run, results)
	default:
		http.Error(w, "formats are html, or none for JSON lines", http.StatusBadRequest)
	}
}

// mapFormats names the formats of a part of the data, one map: json and tries, which are for the page, and files.
func mapFormats() []string {
	names := []string{"json", "tries"}
	for _, f := range export.Formats() {
		// Formats of whole runs are no parts of the data, and streams do not end.
		if f.Write != nil && f.Takes != export.Everything {
			names = append(names, f.Name)
		}
	}
	return names
}

// serveMap sends a map, whole or in a span of nanoseconds since the start.
func (v *View) serveMap(w http.ResponseWriter, r *http.Request) {
	m := v.script.Map(r.PathValue("name"))
	if m == nil {
		http.NotFound(w, r)
		return
	}
	q := r.URL.Query()
	format := q.Get("format")
	if format == "" {
		format = "json"
	}
	file, names := export.Find(format), mapFormats()
	from, err := nanoseconds(q.Get("from"))
	to, err2 := nanoseconds(q.Get("to"))
	switch {
	case err != nil || err2 != nil || to != 0 && to < from:
		http.Error(w, "from and to are nanoseconds since the start", http.StatusBadRequest)
		return
	case !slices.Contains(names, format):
		http.Error(w, "formats are "+strings.Join(names, ", "), http.StatusBadRequest)
		return
	case format == "tries" && m.Weight == view.NoWeight, file != nil && !file.OfMap(m):
		http.Error(w, m.Name+" cannot be a profile", http.StatusBadRequest)
		return
	}
	v.refresh(r.Context())
	// The run is copied, since all but the one map is taken out of it.
	run := *v.whole()
	snap := v.part(m, from, to)
	if snap == nil || run.Script == nil {
		http.Error(w, m.Name+" was not read yet", http.StatusNotFound)
		return
	}
	run.Maps, run.Past, run.Events = []view.Snapshot{*snap}, nil, nil
	maps := []*view.Map{m}
	switch format {
	case "json":
		w.Header().Set("Content-Type", "application/jsonl; charset=utf-8")
		// A part has no number. It covers whole looks, more than what was asked for: in nanoseconds since the start.
		if boot := run.Boot; snap.Seq == 0 {
			w.Header().Set("Hawk-Span", fmt.Sprint(int64(snap.Start-boot), " ", int64(snap.End-boot)))
		}
		if r.Method != http.MethodHead {
			f := export.Records(w, maps, sentRows)
			f.Take(run.Begin)
			f.Take(*snap)
			f.Take(view.Idle{})
		}
	case "tries":
		w.Header().Set("Content-Type", "application/json")
		if r.Method != http.MethodHead {
			export.Tries(w, &run, maps, v.o.Export)
		}
	default:
		v.download(w, r, file, &run, maps)
	}
}

// nanoseconds is a time since the start, which nothing overflows that adds it to a clock.
func nanoseconds(text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseUint(text, 10, 64)
	return time.Duration(min(n, 1<<62)), err
}

// download sends a file in one of the formats of --save.
func (v *View) download(w http.ResponseWriter, r *http.Request, f *export.Format, run *view.Run, maps []*view.Map) {
	w.Header().Set("Content-Type", "application/octet-stream")
	// The name has nothing of the script in it, which may have anything in its own.
	w.Header().Set("Content-Disposition", fmt.Sprintf("attachment; filename=\"hawk.%s\"", f.Ext))
	if r.Method == http.MethodHead || run.Script == nil {
		return
	}
	http.NewResponseController(w).SetWriteDeadline(time.Now().Add(time.Minute)) // millions of rows take a while
	f.Write(w, run, maps, v.o.Export)
}
