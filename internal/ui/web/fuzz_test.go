package web

import (
	"context"
	"encoding/json"
	"encoding/xml"
	"mime"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

// FuzzRequest asks for anything: the answer is a status that is known and, if all is well, what its kind says.
func FuzzRequest(f *testing.F) {
	run := newFixture(f)
	run.look(map[string]uint64{"bash": 3, hostile: 1}, 1, 0)
	run.say(hostile)
	run.look(map[string]uint64{"bash": 5, hostile: 1}, 1, 6)
	for _, target := range []string{
		"/", "/healthz", "/a/live.js", "/v1/script", "/v1/snapshot", "/v1/snapshot?format=html", "/v1/look",
		"/v1/stream",
		"/v1/map/@", "/v1/map/@reads?format=json", "/v1/map/@?format=tries&from=0&to=9", "/v1/map/%40sizes?format=csv",
		"/v1/map/@?format=svg&from=-1", "/v1/map/@?format=folded&to=99999999999999999999",
		"/v1/map/@?format=speedscope",
		"/v1/map/@reads?from=9223372036854775807&to=9223372036854775807", "/v1/map/..%2f", "//v1/map/@",
		"/v1/map/@?format=pprof", "/v1/map/@?format=flame&to=3600000000000", "/v1/map/@?%zz;", "/v1/stream?after=1",
	} {
		f.Add(target, false)
		f.Add(target, true)
	}
	handler := run.Handler()
	gone, cancel := context.WithCancel(context.Background())
	cancel() // who asks does not wait
	f.Fuzz(func(t *testing.T, target string, head bool) {
		u, err := url.ParseRequestURI(target)
		if err != nil {
			t.Skip("no server would take it for a request")
		}
		r := httptest.NewRequestWithContext(gone, http.MethodGet, "/", nil)
		if r.URL = u; head {
			r.Method = http.MethodHead
		}
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		kind, fields, err := mime.ParseMediaType(w.Header().Get("Content-Type"))
		body := w.Body.Bytes()
		switch status := w.Code; {
		case head && w.Body.Len() > 0 && status == http.StatusOK:
			t.Fatalf("%q: a body of %d bytes for HEAD", target, w.Body.Len())
		case status == http.StatusNoContent, status >= 300 && status < 400:
			return
		case err != nil:
			t.Fatalf("%q: %d %v: %v", target, status, w.Header(), err)
		case status >= 400 && status < 500:
			if kind != "text/plain" || fields["charset"] != "utf-8" {
				t.Fatalf("%q: %d of type %s %v", target, status, kind, fields)
			}
			return
		case status != http.StatusOK:
			t.Fatalf("%q: status %d", target, status)
		case head:
			return
		}
		file := w.Header().Get("Content-Disposition")
		switch {
		case file != "" && !strings.HasPrefix(kind+" "+file, `application/octet-stream attachment; filename="hawk.`):
			t.Fatalf("%q: %s of type %s", target, file, kind)
		case kind == "application/json", strings.HasSuffix(file, `.speedscope.json"`):
			if !json.Valid(body) {
				t.Fatalf("%q: %q", target, body)
			}
		case kind == "application/jsonl":
			for line := range strings.Lines(string(body)) {
				if !json.Valid([]byte(line)) {
					t.Fatalf("%q: %q", target, line)
				}
			}
		case kind == "text/event-stream":
			for line := range strings.Lines(string(body)) {
				data, ok := strings.CutPrefix(line, "data: ")
				if ok && !json.Valid([]byte(data)) ||
					!ok && !strings.HasPrefix(line, "id: ") && line != "\n" && line != ":\n" {
					t.Fatalf("%q: %q", target, line)
				}
			}
		case strings.HasSuffix(file, `.svg"`):
			if err := xml.Unmarshal(body, new(struct{})); err != nil {
				t.Fatalf("%q: %v", target, err)
			}
		}
		markup := file == "" || strings.HasSuffix(file, `.html"`) || strings.HasSuffix(file, `.svg"`)
		if markup && strings.Contains(string(body), "<img src=x") {
			t.Fatalf("%q: a name of the traced system is markup", target)
		}
	})
}
