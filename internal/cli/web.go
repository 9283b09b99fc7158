package cli

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hawktrace/hawk/internal/ui/listen"
	"github.com/hawktrace/hawk/internal/ui/web"
	"github.com/hawktrace/hawk/internal/view"
)

// webbing are the options of the live page.
type webbing struct {
	asked  bool
	addr   string
	token  string // of --web-token: a file, or none
	hosts  []string
	linger time.Duration
}

// webOptions are their rows of the table.
func webOptions() []option {
	return []option{
		{long: "web", arg: "[=ADDR]", group: views,
			doc: "serve a live page at " + listen.DefaultAddress + ", another address, or unix:PATH",
			set: func(s *settings, addr string) error {
				s.web.asked, s.web.addr = true, addr
				return nil
			}},
		{long: "web-token", arg: "FILE", group: views,
			doc: "what a page's requests need is the first line of a file, or none",
			set: func(s *settings, v string) error {
				s.web.token = v
				return nil
			}},
		{long: "web-host", arg: "NAME", group: views,
			doc: "requests may be addressed to this name, too; may be repeated",
			set: func(s *settings, v string) error {
				s.web.hosts = append(s.web.hosts, v)
				return nil
			}},
		{long: "linger", arg: "TIME", group: views, doc: "go on serving for so long when the run has ended",
			set: func(s *settings, v string) (err error) {
				s.web.linger, err = period("--linger", v)
				return err
			}},
	}
}

// A page is who serves the live page.
type page struct {
	*web.View
	at     *listen.Listener
	server *listen.Server
	c      *command
}

// openPage opens the address; nothing is attached yet.
func (w *watch) openPage(c *command) (*page, error) {
	at, err := listen.Open(listen.Options{Address: c.web.addr, Token: c.web.token, Hosts: c.web.hosts})
	if err != nil {
		return nil, err
	}
	if at.Open && !c.noWarnings {
		c.warn(fmt.Sprintf("anyone who can reach %s and knows the token sees what this script sees; traffic is not "+
			"encrypted", at.Addr()))
	}
	return &page{at: at, c: c, View: web.New(w.script, web.Options{Version: Version, Cadence: w.pace(c, lookEvery),
		History: c.history, Export: c.export})}, nil
}

// onlyWithPage reports options that mean nothing without --web.
func (c *command) onlyWithPage() error {
	for _, o := range []struct {
		name  string
		given bool
	}{
		{"--web-token", c.web.token != ""}, {"--web-host", c.web.hosts != nil}, {"--linger", c.web.linger > 0},
	} {
		if o.given && !c.web.asked {
			return fmt.Errorf("%s is for --web", o.name)
		}
	}
	return nil
}

func (p *page) needs() view.Needs {
	return view.Needs{Totals: true, Events: true, Cadence: p.View.Cadence()}
}

func (p *page) open() { p.server = p.at.Serve(p.View.Handler()) }

// Take says where the page is once the run has said how many probes are attached.
func (p *page) Take(item view.Item) error {
	if _, ok := item.(view.Attached); ok && !p.c.quiet {
		defer fmt.Fprintf(p.c.err, "Serving %s\n", p.at.URL())
	}
	return p.View.Take(item)
}

// done lets the page have what came last, and goes on for as long as --linger says or until
// a signal comes.
func (p *page) done() {
	if c := p.c; c.web.linger > 0 {
		if !c.quiet {
			fmt.Fprintf(c.err, "Serving for %s more; Ctrl-C ends it\n", c.web.linger)
		}
		ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, unix.SIGTERM, unix.SIGHUP)
		defer cancel()
		select {
		case <-ctx.Done():
		case <-time.After(c.web.linger):
		}
	}
	p.View.Close()
	p.server.Close()
}
