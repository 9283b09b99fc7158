//go:build !min

package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hawktrace/hawk/internal/diff"
	"github.com/hawktrace/hawk/internal/export"
	"github.com/hawktrace/hawk/internal/outfile"
	"github.com/hawktrace/hawk/internal/saved"
	"github.com/hawktrace/hawk/internal/serve"
	"github.com/hawktrace/hawk/internal/session"
	"github.com/hawktrace/hawk/internal/ui/listen"
	"github.com/hawktrace/hawk/internal/ui/live"
	"github.com/hawktrace/hawk/internal/ui/term"
	"github.com/hawktrace/hawk/internal/ui/tty"
	"github.com/hawktrace/hawk/internal/ui/web"
	"github.com/hawktrace/hawk/internal/view"
	"github.com/hawktrace/hawk/internal/view/history"
)

// guards reports whether this process is the guard of a terminal, which ends with this call. It
// restores the terminal if hawk is killed, and is this executable again: see package tty.
func guards() bool {
	if os.Args[0] != tty.GuardName {
		return false
	}
	tty.Guard()
	return true
}

// A tui is the view in the terminal.
type tui struct {
	// The screen and its state; it takes items like every view.
	*term.View
	tail term.Tail // what the script prints once the run is ending
}

// openTUI makes the view in the terminal. It fails without a terminal, and on one that cannot move
// its cursor; nothing is drawn before show.
func (w *watch) openTUI(c *command) (viewer, error) {
	f, ok := fileOf(c.out)
	if !ok {
		return nil, errNoTerminal
	}
	if err := tty.Usable(f, os.Getenv("TERM")); err != nil {
		return nil, errNoTerminal
	}
	pace := w.pace(c, tuiEvery)
	o := term.Options{
		Theme: c.theme, ASCII: c.ascii, NoMouse: c.noMouse, ExitWithRun: c.exitWithRun, Version: Version,
		Guarded: true, History: history.Options{Span: c.history}, Cadence: pace,
	}
	if c.mapNames != nil {
		o.Maps, _ = (&export.Format{}).Choose(w.script, c.mapNames)
	}
	t := &tui{View: term.New(w.script, o)}
	w.add(t, view.Needs{Totals: true, Now: true, Events: true, Cadence: pace, Maps: w.script.Maps})
	return t, nil
}

// errNoTerminal says what else there is.
var errNoTerminal = errors.New("the terminal view needs a terminal; -f plain prints tables every interval")

// command gives the command of -c a pipe for its output, since the screen is taken: its lines are
// shown there. done closes hawk's ends once the command has its own.
func (t *tui) command(spec *session.Spec) (done func(), err error) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		return nil, err
	}
	r, pw, err := os.Pipe()
	if err != nil {
		null.Close()
		return nil, err
	}
	// The command must not read keys that are meant for the view.
	spec.Child.Files = []*os.File{null, pw, pw}
	lines := t.Command()
	// The goroutine ends when the last process that has the pipe is gone, which may be after
	// hawk.
	go func() {
		io.Copy(lines, r)
		r.Close()
	}()
	return func() {
		null.Close()
		pw.Close()
	}, nil
}

// printed takes what the script prints; it is kept until the screen is left.
func (t *tui) printed() io.Writer { return &t.tail }

// show takes the terminal over. When the run is ending, what was printed so far is flushed to the
// view, and from then on kept for the terminal that is left behind.
func (t *tui) show(c *command, stop func(), o *session.Options) error {
	f, _ := fileOf(c.out)
	stopping := o.Stopping
	o.Stopping = func() {
		stopping()
		o.Sink.Flush()
		t.tail.Begin()
	}
	// Progress would be written over the screen.
	o.Progress = nil
	return t.Open(f, os.Getenv, stop)
}

// leave also writes what the script has printed at its end, and messages.
func (t *tui) leave(c *command, wait bool) error {
	if wait {
		t.Ended()
	}
	messages, err := t.Close()
	if !c.quiet {
		t.tail.WriteTo(c.out)
		if left := t.tail.Left(); left != "" {
			c.warn(left)
		}
	}
	io.WriteString(c.err, messages)
	return err
}

// A page is who serves the live page. at is the address that is open, server what answers there
// once the run is on its way.
type page struct {
	*web.View
	at     *listen.Listener
	server *listen.Server
	c      *command
	say    func(string)
}

// openPage opens the address; nothing is attached yet. Opening comes first, so that an address
// which is taken is an error before anything is loaded. The warning stands where the address is
// one that other machines reach.
func (w *watch) openPage(c *command) (served, error) {
	at, err := listen.Open(listen.Options{Address: cmp.Or(c.web.addr, webAddress), Token: c.web.token,
		Hosts: c.web.hosts})
	if err != nil {
		return nil, err
	}
	if at.Open && !c.noWarnings {
		c.warn(fmt.Sprintf("anyone who can reach %s and knows the token sees what this script sees; traffic is not "+
			"encrypted", at.Addr()))
	}
	alone := w.needs.Cadence == nil && w.needs.Every == 0
	o := web.Options{Version: Version, Cadence: w.pace(c, lookEvery), History: c.history, Export: c.export}
	// No other view asks for pictures of maps at an interval: without somebody who looks, the page
	// needs few.
	if alone {
		o.Cadence.Seldom()
	}
	say := func(text string) { fmt.Fprintln(c.err, text) }
	if w.tui != nil { // which has the terminal
		say = w.tui.Say
	}
	return &page{at: at, c: c, say: say, View: web.New(w.script, o)}, nil
}

// needs is what the run has to send for the page.
func (p *page) needs() view.Needs {
	return view.Needs{Totals: true, Events: true, Cadence: p.View.Cadence()}
}

// open begins to answer requests.
func (p *page) open() { p.server = p.at.Serve(p.View.Handler()) }

// Take says where the page is once the run has said how many probes are attached.
func (p *page) Take(item view.Item) error {
	if _, ok := item.(view.Attached); ok && !p.c.quiet {
		defer p.say("Serving " + p.at.URL())
	}
	return p.View.Take(item)
}

// done lets the page have what came last, and goes on for as long as --linger says or until
// a signal comes. A page that vanished with the run would show nothing of a short one.
func (p *page) done() {
	if c := p.c; c.web.linger > 0 {
		if !c.quiet {
			more := fmt.Sprintf(" for %s more", c.web.linger)
			if c.web.linger == forever {
				more = ""
			}
			fmt.Fprintf(c.err, "Serving%s; Ctrl-C ends it\n", more)
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

// serveStreams answers requests on standard input until that ends. The protocol is that of package
// serve; a program in any language drives hawk by it. Nothing else may be written to standard
// output, which is the protocol's.
func (c *command) serveStreams(args []string) int {
	if len(args) != 1 || args[0] != "--stdio" {
		return findWord("serve").wrong(c, "it takes --stdio alone")
	}
	if err := serve.Run(context.Background(), os.Stdin, os.Stdout); err != nil {
		return c.fail(exitFailure, err)
	}
	return exitOK
}

// viewUsage says how hawk view is called.
const viewUsage = `hawk view shows a saved run again.

USAGE: hawk view [-f tui|plain] [--web[=ADDR]] [options of live views] FILE

FILE is what --save jsonl, html, flame, pprof or folded has written, or another tool's profile of pprof or folded
stacks. Without -f and --web it is shown in the terminal, or as tables if the output is none.
`

// view is hawk view. It has views only: nothing is compiled or loaded, and no privileges are
// needed.
func (c *command) view(args []string) int {
	if len(args) == 0 || slices.Contains(args, "--help") || slices.Contains(args, "-h") {
		return c.tell(viewUsage)
	}
	var table []option
	// The rows of the table are hawk's own, so that options mean the same when a run is shown
	// again.
	for _, o := range options() {
		if o.group == views || o.long == "map" || o.long == "quiet" || o.short == 'f' {
			table = append(table, o)
		}
	}
	if err := parseArgs(table, args, &c.settings); err != nil {
		return c.fail(exitUsage, err)
	}
	switch {
	case len(c.operands) != 1:
		return c.fail(exitUsage, errors.New("hawk view takes one file"))
	case c.format == "" && !c.web.asked && isTerminal(c.out):
		c.format = live.Terminal.Name
	case c.format == "" && !c.web.asked:
		c.format = live.Plain.Name
	case c.format != "" && !c.live():
		return c.fail(exitUsage, fmt.Errorf("hawk view shows files by -f %s", strings.Join(liveNames(), ", -f ")))
	}
	c.collectSoon()
	file, err := saved.Load(c.operands[0])
	if err != nil {
		return c.fail(exitUsage, err)
	}
	run := file.Run()
	w := &watch{script: run.Script}
	if c.live() {
		err = w.openLive(c)
	}
	if err == nil && c.web.asked {
		// Nothing goes on that would keep the page open by itself.
		if c.format != live.Terminal.Name && c.web.linger == 0 {
			c.web.linger = forever
		}
		w.page, err = w.openPage(c)
	}
	if err != nil {
		return c.fail(exitUsage, err)
	}
	if w.page != nil {
		w.add(w.page, w.page.needs())
	}
	if w.plain != nil && w.page == nil {
		// Tables of every interval of a long run would scroll by at once.
		run = run.Last()
	}
	return c.play(w, run.Play)
}

// play shows what is said to views, until the user leaves. say feeds the views from a file or a
// comparison, as a run would.
func (c *command) play(w *watch, say func(view.Feed) error) int {
	w.open(c.out)
	if w.tui != nil {
		if err := w.tui.show(c, func() {}, &session.Options{}); err != nil {
			return c.fail(exitUsage, err)
		}
	}
	err := say(w)
	if w.tui != nil {
		if failed := w.tui.leave(c, err == nil); failed != nil {
			return c.fail(exitFailure, failed)
		}
	}
	if err == nil {
		err = w.done(c)
	}
	if err != nil {
		return c.fail(exitFailure, err)
	}
	return exitOK
}

// diff is hawk diff: two saved profiles compared. With -o the file is replaced in one step. That a
// threshold was passed (diff.ErrAbove) is an error of the command, but not of writing, so that the
// file is kept.
func (c *command) diff(args []string) int {
	if len(args) == 0 || slices.Contains(args, "--help") || slices.Contains(args, "-h") {
		return c.tell(diff.Usage)
	}
	var d diff.Command
	// The options are those of package diff, whose command this is.
	if f, ok := fileOf(c.out); ok {
		if size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ); err == nil {
			d.Width = int(size.Col)
		}
	}
	file, err := d.Args(args)
	if err != nil {
		fmt.Fprintf(c.err, "ERROR: diff: %v\nHINT: see hawk diff --help\n", err)
		return exitUsage
	}
	c.collectSoon()
	if d.Format == diff.Terminal {
		return c.diffScreen(&d)
	}
	if file == "" {
		err = d.Run(c.out, Version)
	} else {
		d.Width = 0
		// A threshold that was passed fails the command behind the writing, so that CI has both
		// file and status.
		var above error
		err = outfile.Replace(file, func(w io.Writer) error {
			if above = d.Run(w, Version); errors.Is(above, diff.ErrAbove) {
				return nil
			}
			return above
		})
		err = cmp.Or(err, above)
	}
	if err != nil {
		return c.fail(exitUsage, err)
	}
	return exitOK
}

// diffScreen shows what changed in the terminal.
func (c *command) diffScreen(d *diff.Command) int {
	screen, err := d.Screen()
	w := &watch{}
	if err == nil {
		w.script, c.format = screen.Script, live.Terminal.Name
		if err = w.openLive(c); errors.Is(err, errNoTerminal) {
			err = errors.New("-f tui needs a terminal; without -f what changed is printed")
		}
	}
	if err != nil {
		return c.fail(exitUsage, err)
	}
	if status := c.play(w, screen.Play); status != exitOK {
		return status
	}
	if err := screen.Above(d); err != nil {
		return c.fail(exitUsage, err)
	}
	return exitOK
}
