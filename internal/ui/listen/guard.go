package listen

import (
	"crypto/sha256"
	"crypto/subtle"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
)

// Private is where paths begin whose requests need the token.
const Private = "/v1/"

// policy lets a page load what comes from here alone, run no script that is text, and be
// framed by nobody.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; " +
	"frame-ancestors 'none'; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'"

// A guard stands before a handler.
type guard struct {
	token string // "": none is needed
	hosts []string
	local bool // the address has no name: a socket of a file
	next  http.Handler

	mu    sync.Mutex
	since time.Time // of counting wrong tokens
	wrong int
}

// wrongEach is how many wrong tokens a second are looked at.
const wrongEach = 10

// ServeHTTP answers or refuses a request. Other hosts and origins are refused before
// anything else: a name that leads here does not make a page's requests our own.
func (g *guard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Content-Security-Policy", policy)
	h.Set("Cache-Control", "no-store")
	if !g.knows(r) {
		refuse(w, http.StatusForbidden, "this name does not lead here; hawk --web-host NAME allows one")
		return
	}
	if !sameOrigin(r) {
		refuse(w, http.StatusForbidden, "requests of other pages are not answered")
		return
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		h.Set("Allow", "GET, HEAD")
		refuse(w, http.StatusMethodNotAllowed, "nothing can be changed from here")
		return
	}
	if strings.HasPrefix(r.URL.Path, Private) && g.token != "" {
		if status := g.admit(r); status != http.StatusOK {
			h.Set("WWW-Authenticate", "Bearer")
			refuse(w, status, "the token is wrong or missing: it is in the address that hawk printed")
			return
		}
	}
	// A stream sets its own deadlines, one for each write.
	http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeTime))
	g.next.ServeHTTP(w, r)
}

func refuse(w http.ResponseWriter, status int, why string) { http.Error(w, why, status) }

// knows reports whether a request is addressed to this listener: by its number, by a name
// of this machine itself, or by one that was allowed. The port may be another one, of a
// tunnel.
func (g *guard) knows(r *http.Request) bool {
	host := r.Host
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.Trim(host, "[]")
	if strings.EqualFold(host, "localhost") ||
		slices.ContainsFunc(g.hosts, func(name string) bool { return strings.EqualFold(host, name) }) {
		return true
	}
	asked, err := netip.ParseAddr(host)
	if err != nil || g.local {
		return false
	}
	local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if !ok {
		return false
	}
	own, err := netip.ParseAddrPort(local.String())
	return err == nil && (own.Addr().Unmap() == asked.Unmap() || asked.IsLoopback() && own.Addr().Unmap().IsLoopback())
}

// sameOrigin reports whether a browser says that the page of this address asks, or nobody's.
func sameOrigin(r *http.Request) bool {
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "same-origin", "none":
	default:
		return false
	}
	for _, origin := range r.Header.Values("Origin") {
		u, err := url.Parse(origin)
		if err != nil || u.Host == "" || !strings.EqualFold(u.Host, r.Host) {
			return false
		}
	}
	return true
}

// admit compares the token of a request. Wrong ones are looked at ten times a second.
func (g *guard) admit(r *http.Request) int {
	given, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	a, b := sha256.Sum256([]byte(given)), sha256.Sum256([]byte(g.token)) // of one length
	if ok && subtle.ConstantTimeCompare(a[:], b[:]) == 1 {
		return http.StatusOK
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if now := time.Now(); now.Sub(g.since) >= time.Second {
		g.since, g.wrong = now, 0
	}
	if g.wrong++; g.wrong > wrongEach {
		return http.StatusTooManyRequests
	}
	return http.StatusUnauthorized
}
