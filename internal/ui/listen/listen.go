// Package listen opens the one address that a run is served at, and guards it. Whoever
// can connect is a stranger: another user of the machine, a page in somebody's browser, a
// host of the network. Nothing that is served can change the run, and what shows data asks
// for a token.
package listen

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hawktrace/hawk/internal/errno"
)

// Bounds of what strangers can use up.
const (
	maxConnections = 16
	maxHeader      = 8 << 10
	headerTime     = 5 * time.Second
	idleTime       = 30 * time.Second
	writeTime      = 10 * time.Second
	endTime        = time.Second // for what is under way when the run ends
)

// NoToken asks for none.
const NoToken = "none"

// minToken is how many bytes a token has at least.
const minToken = 16

// Options say where to listen, and who may ask.
type Options struct {
	Address string   // HOST:PORT, PORT 0 is any; unix:PATH
	Token   string   // a file whose first line it is, NoToken, "": random
	Hosts   []string // names that requests may be addressed to, beside the address
}

// A Listener is an address that nobody is answered at yet.
type Listener struct {
	Open bool // to others than this machine
	guard
	net.Listener
}

// Open listens. Its errors say what to do.
func Open(o Options) (*Listener, error) {
	addr := o.Address
	l := &Listener{}
	l.guard.hosts = o.Hosts
	var err error
	if l.guard.token, err = token(o.Token); err != nil {
		return nil, err
	}
	if path, ok := strings.CutPrefix(addr, "unix:"); ok {
		l.Listener, err = openUnix(path)
		return l, err
	}
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, fmt.Errorf("%q is no address like 127.0.0.1:7171, :0 or unix:PATH", addr)
	}
	if host == "" {
		addr = net.JoinHostPort("127.0.0.1", addr[strings.LastIndexByte(addr, ':')+1:])
	}
	tcp, err := net.ResolveTCPAddr("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("%q is no address like 127.0.0.1:7171, :0 or unix:PATH", addr)
	}
	if l.Open = !tcp.IP.IsLoopback(); l.Open && l.guard.token == "" {
		return nil, fmt.Errorf("others than this machine can reach %s: they need a token", addr)
	}
	if l.Listener, err = net.ListenTCP("tcp", tcp); err != nil {
		if errors.Is(err, unix.EADDRINUSE) {
			return nil, fmt.Errorf("%s is in use; port 0 takes one that is free", addr)
		}
		return nil, fmt.Errorf("cannot listen at %s: %s", addr, errno.Reason(err))
	}
	return l, nil
}

// openUnix makes a socket that its owner alone may connect to. One that nobody listens at
// any more is replaced.
func openUnix(path string) (net.Listener, error) {
	if st, err := os.Lstat(path); err == nil {
		if st.Mode()&os.ModeSocket == 0 {
			return nil, fmt.Errorf("%s exists and is no socket", path)
		}
		if conn, err := net.Dial("unix", path); err == nil {
			conn.Close()
			return nil, fmt.Errorf("unix:%s is in use", path)
		}
		os.Remove(path)
	}
	old := unix.Umask(0o177)
	l, err := net.Listen("unix", path)
	unix.Umask(old)
	if err != nil {
		return nil, fmt.Errorf("cannot listen at unix:%s: %s", path, errno.Reason(err))
	}
	return l, nil
}

// token is the one that a file holds, or a random one.
func token(file string) (string, error) {
	switch file {
	case NoToken:
		return "", nil
	case "":
		var b [minToken]byte
		rand.Read(b[:]) // never fails
		return base64.RawURLEncoding.EncodeToString(b[:]), nil
	}
	f, err := os.Open(file)
	if err != nil {
		return "", fmt.Errorf("%s: %s", file, errno.Reason(err))
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return "", fmt.Errorf("%s: %s", file, errno.Reason(err))
	}
	if st.Mode().Perm()&0o044 != 0 {
		return "", fmt.Errorf("%s: others can read the token; chmod 600 keeps it secret", file)
	}
	line, err := bufio.NewReader(io.LimitReader(f, 4096)).ReadString('\n')
	if err != nil && err != io.EOF {
		return "", fmt.Errorf("%s: %s", file, errno.Reason(err))
	}
	line = strings.TrimSpace(line)
	if len(line) < minToken || strings.ContainsFunc(line, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", fmt.Errorf("%s: the first line is no token: it has at least %d letters and digits", file, minToken)
	}
	return line, nil
}

// URL is where a browser finds what is served, with the token in the fragment, which
// stays in the browser.
func (l *Listener) URL() string {
	var url string
	if l.Addr().Network() == "unix" {
		url = "unix:" + l.Addr().String()
	} else {
		url = "http://" + l.Addr().String() + "/"
	}
	if l.guard.token != "" {
		url += "#t=" + l.guard.token
	}
	return url
}

// A Server answers at a Listener.
type Server struct {
	http http.Server
	done chan struct{}
}

// Serve answers requests that the guard lets pass.
func (l *Listener) Serve(h http.Handler) *Server {
	s := &Server{done: make(chan struct{})}
	l.guard.next = h
	l.guard.local = l.Addr().Network() == "unix"
	s.http = http.Server{
		Handler: &l.guard, MaxHeaderBytes: maxHeader - 4096, // net/http allows that much more
		ReadHeaderTimeout: headerTime, IdleTimeout: idleTime,
		ErrorLog: log.New(io.Discard, "", 0), // what strangers do wrong is not the user's concern
	}
	go func() {
		defer close(s.done)
		s.http.Serve(&limited{Listener: l.Listener, free: make(chan struct{}, maxConnections)})
	}()
	return s
}

// Close ends the service. What is under way has a second.
func (s *Server) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), endTime)
	defer cancel()
	if s.http.Shutdown(ctx) != nil {
		s.http.Close()
	}
	<-s.done
}

// A limited listener has so many connections at once.
type limited struct {
	net.Listener
	free chan struct{}
}

// Accept closes connections that are too many.
func (l *limited) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		select {
		case l.free <- struct{}{}:
			return &limitedConn{Conn: conn, l: l}, nil
		default:
			conn.Close() // who comes too late may come again
		}
	}
}

// A limitedConn gives its place back when it is closed, once.
type limitedConn struct {
	net.Conn
	l    *limited
	once sync.Once
}

func (c *limitedConn) Close() error {
	c.once.Do(func() { <-c.l.free })
	return c.Conn.Close()
}
