package listen

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"
)

// FuzzGuard lets nobody through who is not addressed to this machine, comes from another page, wants to change
// something, or asks for data without the token. What refuses them is a status of its own.
func FuzzGuard(f *testing.F) {
	const token = "a token of 24 characters"
	for _, host := range []string{
		"127.0.0.1:7171", "localhost", "[::1]", "127.0.0.1.evil", "evil", "", "0", "[]", "127.1", "%00",
	} {
		f.Add("GET", "/v1/x", host, "", "", "Bearer "+token)
		f.Add("GET", "/v1/x", host, "http://"+host, "same-origin", "Bearer "+token)
		f.Add("HEAD", "/", host, "null", "none", "Bearer")
		f.Add("POST", "//v1/../v1/x", host, "http://evil", "cross-site", "Basic "+token)
		f.Add("GET", "/%761/x", host, "", "", "bearer "+token)
	}
	own := netip.MustParseAddrPort("127.0.0.1:7171")
	ctx := context.WithValue(context.Background(), http.LocalAddrContextKey, net.Addr(net.TCPAddrFromAddrPort(own)))
	f.Fuzz(func(t *testing.T, method, path, host, origin, site, authorization string) {
		u, err := url.ParseRequestURI(path)
		if err != nil {
			t.Skip("no server would take it for a request")
		}
		through := false
		mux := http.NewServeMux() // which cleans paths
		mux.HandleFunc("/v1/x", func(http.ResponseWriter, *http.Request) { through = true })
		g := guard{token: token, next: mux}
		r := httptest.NewRequestWithContext(ctx, http.MethodGet, "/", nil)
		r.Method, r.URL, r.Host = method, u, host
		r.Header = http.Header{"Origin": {origin}, "Sec-Fetch-Site": {site}, "Authorization": {authorization}}
		if origin == "" {
			delete(r.Header, "Origin")
		}
		w := httptest.NewRecorder()
		g.ServeHTTP(w, r)
		if !through {
			return
		}
		name := host
		if h, _, err := net.SplitHostPort(host); err == nil {
			name = h
		}
		name = strings.Trim(name, "[]")
		addr, err := netip.ParseAddr(name)
		switch {
		case !strings.EqualFold(name, "localhost") && (err != nil || !addr.IsLoopback()):
			t.Errorf("answered as %q", host)
		case method != http.MethodGet && method != http.MethodHead:
			t.Errorf("answered %q", method)
		case authorization != "Bearer "+token:
			t.Errorf("answered without the token: %q", authorization)
		case site != "" && site != "same-origin" && site != "none":
			t.Errorf("answered a request from %q", site)
		case origin != "" && !strings.Contains(strings.ToLower(origin), strings.ToLower(host)):
			t.Errorf("answered a page of %q as %q", origin, host)
		}
		for _, h := range []string{
			"Content-Security-Policy", "X-Content-Type-Options", "Cross-Origin-Resource-Policy",
		} {
			if w.Header().Get(h) == "" {
				t.Errorf("%s is missing", h)
			}
		}
	})
}
