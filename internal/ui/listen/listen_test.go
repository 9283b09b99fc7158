package listen

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// serve listens and answers "data" to whoever gets through.
func serve(t *testing.T, o Options) *Listener {
	t.Helper()
	l, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	s := l.Serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "data") }))
	t.Cleanup(s.Close)
	return l
}

// TestGuard has every stranger refused, and nobody else.
func TestGuard(t *testing.T) {
	l := serve(t, Options{Address: "127.0.0.1:0", Hosts: []string{"box.example"}})
	addr := l.Addr().String()
	_, port, _ := net.SplitHostPort(addr)
	bearer := "Authorization: Bearer " + l.guard.token
	for _, tt := range []struct {
		request string // method, path
		headers []string
		want    int
	}{
		{"GET /", []string{"Host: " + addr}, 200},
		{"HEAD /", []string{"Host: " + addr}, 200},
		{"GET /v1/x", []string{"Host: " + addr, bearer}, 200},
		{"GET /v1/x", []string{"Host: 127.0.0.1", bearer}, 200},
		{"GET /v1/x", []string{"Host: localhost:8080", bearer}, 200}, // through a tunnel
		{"GET /v1/x", []string{"Host: LocalHost", bearer}, 200},
		{"GET /v1/x", []string{"Host: [::1]:" + port, bearer}, 200},
		{"GET /v1/x", []string{"Host: box.example", bearer}, 200},
		{"GET /v1/x", []string{"Host: BOX.example:80", bearer}, 200},
		{"GET /v1/x", []string{"Host: " + addr, bearer, "Origin: http://" + addr}, 200},
		{"GET /v1/x", []string{"Host: " + addr, bearer, "Sec-Fetch-Site: same-origin"}, 200},
		{"GET /v1/x", []string{"Host: " + addr, bearer, "Sec-Fetch-Site: none"}, 200},
		// Names that lead here without our knowing.
		{"GET /", []string{"Host: evil.example"}, 403},
		{"GET /", []string{"Host: 127.0.0.1.evil.example"}, 403},
		{"GET /", []string{"Host: localhost.evil.example"}, 403},
		{"GET /", []string{"Host: xbox.example"}, 403},
		{"GET /", []string{"Host: 10.0.0.1"}, 403},
		{"GET /", []string{"Host: 0"}, 403},
		{"GET /", []string{"Host: "}, 403},
		{"GET /v1/x", []string{"Host: evil.example", bearer}, 403},
		{"GET http://evil.example/v1/x", []string{"Host: " + addr, bearer}, 403},
		// Other pages of the browser.
		{"GET /v1/x", []string{"Host: " + addr, bearer, "Origin: http://evil.example"}, 403},
		{"GET /v1/x", []string{"Host: " + addr, bearer, "Origin: null"}, 403},
		{"GET /v1/x", []string{"Host: " + addr, bearer, "Origin: http://127.0.0.1:1"}, 403},
		{"GET /v1/x", []string{"Host: " + addr, bearer, "Origin: http://" + addr, "Origin: http://evil.example"}, 403},
		{"GET /", []string{"Host: " + addr, "Sec-Fetch-Site: cross-site"}, 403},
		{"GET /", []string{"Host: " + addr, "Sec-Fetch-Site: same-site"}, 403},
		// Changes.
		{"POST /v1/x", []string{"Host: " + addr, bearer}, 405},
		{"PUT /", []string{"Host: " + addr}, 405},
		{"OPTIONS /v1/x", []string{"Host: " + addr}, 405},
		{"DELETE /", []string{"Host: evil.example"}, 403},
		// Tokens.
		{"GET /v1/x", []string{"Host: " + addr}, 401},
		{"HEAD /v1/", []string{"Host: " + addr}, 401},
		{"GET /v1/x", []string{"Host: " + addr, "Authorization: Bearer "}, 401},
		{"GET /v1/x", []string{"Host: " + addr, "Authorization: Bearer x" + l.guard.token}, 401},
		{"GET /v1/x", []string{"Host: " + addr, "Authorization: bearer" + l.guard.token}, 401},
		{"GET /v1/x?t=" + l.guard.token, []string{"Host: " + addr}, 401},
	} {
		l.guard.wrong = 0
		got, header := ask(t, addr, tt.request, tt.headers...)
		if got != tt.want {
			t.Errorf("%s %q: %d, want %d", tt.request, tt.headers, got, tt.want)
		}
		for _, name := range []string{"Content-Security-Policy", "X-Content-Type-Options", "Referrer-Policy"} {
			if header.Get(name) == "" {
				t.Errorf("%s: no %s", tt.request, name)
			}
		}
		for name := range header {
			if strings.HasPrefix(name, "Access-Control-") || name == "Set-Cookie" {
				t.Errorf("%s: %s", tt.request, name)
			}
		}
	}
}

// ask sends a request as it is written, and returns the status of the answer.
func ask(t *testing.T, addr, request string, headers ...string) (int, http.Header) {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(time.Minute))
	fmt.Fprintf(conn, "%s HTTP/1.1\r\n%s\r\nConnection: close\r\n\r\n", request, strings.Join(headers, "\r\n"))
	method, _, _ := strings.Cut(request, " ")
	r, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: method})
	if err != nil {
		t.Fatalf("%s: %v", request, err)
	}
	defer r.Body.Close()
	return r.StatusCode, r.Header
}

// TestGuessing looks at few wrong tokens, and at all right ones.
func TestGuessing(t *testing.T) {
	l := serve(t, Options{Address: "127.0.0.1:0"})
	l.guard.since = time.Now().Add(time.Hour) // this second does not end
	addr := l.Addr().String()
	for i := range wrongEach + 5 {
		want := http.StatusUnauthorized
		if i >= wrongEach {
			want = http.StatusTooManyRequests
		}
		if got, _ := ask(t, addr, "GET /v1/x", "Host: "+addr, "Authorization: Bearer wrong"); got != want {
			t.Errorf("try %d: %d, want %d", i, got, want)
		}
	}
	if got, _ := ask(t, addr, "GET /v1/x", "Host: "+addr, "Authorization: Bearer "+l.guard.token); got != 200 {
		t.Errorf("the right one: %d", got)
	}
}

// TestConnections has so many at once; who leaves makes room.
func TestConnections(t *testing.T) {
	l := serve(t, Options{Address: "127.0.0.1:0"})
	addr := l.Addr().String()
	var held []net.Conn
	for range maxConnections {
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		// An answer says that it was taken.
		fmt.Fprintf(conn, "GET / HTTP/1.1\r\nHost: %s\r\n\r\n", addr)
		if _, err := http.ReadResponse(bufio.NewReader(conn), nil); err != nil {
			t.Fatal(err)
		}
		held = append(held, conn)
	}
	late, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer late.Close()
	late.SetDeadline(time.Now().Add(time.Minute))
	fmt.Fprintf(late, "GET / HTTP/1.1\r\nHost: %s\r\n\r\n", addr)
	if _, err := http.ReadResponse(bufio.NewReader(late), nil); err == nil {
		t.Error("one connection too many was answered")
	}
	for _, conn := range held {
		conn.Close()
	}
	for {
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(conn, "GET / HTTP/1.1\r\nHost: %s\r\n\r\n", addr)
		_, err = http.ReadResponse(bufio.NewReader(conn), nil)
		conn.Close()
		if err == nil {
			return
		}
	}
}

func TestOpen(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	good := file("good", "0123456789abcdef\nmore\n", 0o600)
	for _, tt := range []struct {
		o     Options
		fails string // "": it does not
	}{
		{Options{Address: "127.0.0.1:0"}, ""},
		{Options{Address: ":0"}, ""},
		{Options{Address: "[::1]:x"}, "is no address"},
		{Options{Address: "7171"}, "is no address"},
		{Options{Address: "127.0.0.1:70000"}, "is no address"},
		{Options{Address: "0.0.0.0:0", Token: NoToken}, "need a token"},
		{Options{Address: "127.0.0.1:0", Token: NoToken}, ""},
		{Options{Address: "127.0.0.1:0", Token: good}, ""},
		{Options{Address: ":0", Token: filepath.Join(dir, "none")}, "No such file"},
		{Options{Address: ":0", Token: file("open", "0123456789abcdef\n", 0o644)}, "others can read the token"},
		{Options{Address: ":0", Token: file("short", "0123456789\n", 0o600)}, "is no token"},
		{Options{Address: ":0", Token: file("empty", "", 0o600)}, "is no token"},
		{Options{Address: ":0", Token: file("binary", strings.Repeat("\x00", 100), 0o600)}, "is no token"},
		{Options{Address: "unix:" + filepath.Join(dir, "sock"), Token: NoToken}, ""},
		{Options{Address: "unix:" + good}, "is no socket"},
		{Options{Address: "unix:" + filepath.Join(dir, "no", "sock")}, "cannot listen"},
	} {
		l, err := Open(tt.o)
		if err == nil {
			l.Close()
		}
		if tt.fails == "" && err != nil || tt.fails != "" && (err == nil || !strings.Contains(err.Error(), tt.fails)) {
			t.Errorf("%+v: %v", tt.o, err)
		}
	}
	if l, err := Open(Options{Address: "127.0.0.1:0", Token: good}); err != nil || l.guard.token != "0123456789abcdef" {
		t.Errorf("%v", err)
	} else {
		defer l.Close()
		if _, err := Open(Options{Address: l.Addr().String()}); err == nil || !strings.Contains(err.Error(), "in use") {
			t.Errorf("twice: %v", err)
		}
	}
}

// TestUnix has a socket that is its owner's, and goes with its listener.
func TestUnix(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sock")
	for range 2 { // also where one was left behind
		l, err := Open(Options{Address: "unix:" + path})
		if err != nil {
			t.Fatal(err)
		}
		l.Listener.(*net.UnixListener).SetUnlinkOnClose(false)
		st, err := os.Lstat(path)
		if err != nil || st.Mode().Perm() != 0o600 {
			t.Errorf("%v %v", st, err)
		}
		if _, err := Open(Options{Address: "unix:" + path}); err == nil || !strings.Contains(err.Error(), "in use") {
			t.Errorf("twice: %v", err)
		}
		s := l.Serve(http.NotFoundHandler())
		conn, err := net.Dial("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(conn, "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
		if r, err := http.ReadResponse(bufio.NewReader(conn), nil); err != nil || r.StatusCode != 404 {
			t.Errorf("%v %v", r, err)
		}
		conn.Close()
		s.Close()
	}
}
