package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/hawktrace/hawk/internal/config"
	"github.com/hawktrace/hawk/internal/load"
	"github.com/hawktrace/hawk/internal/outfile"
	"github.com/hawktrace/hawk/internal/output"
	"github.com/hawktrace/hawk/internal/probe"
	"github.com/hawktrace/hawk/internal/session"
	"github.com/hawktrace/hawk/internal/session/child"
	"github.com/hawktrace/hawk/internal/source"
)

// trace loads a program and runs it to the end; it returns the exit status.
//
// The order matters. Files of output are opened first, so that one that cannot be is an error
// before the kernel is touched, but emptied only when the script has loaded: a script that the
// verifier refuses leaves the last result alone. Signals are caught before the run begins and until
// hawk ends.
func (c *command) trace(p *session.Program) int {
	// Test and bench probes run in modes of their own, and are dropped from other runs.
	p, err := p.Select(c.selects())
	if err != nil {
		return c.fail(exitFailure, err)
	}
	views, err := c.watch(p)
	if err != nil {
		return c.fail(exitUsage, err)
	}
	loaded := false
	if views != nil {
		defer func() {
			if !loaded {
				views.drop()
			}
		}()
	}
	out := c.out
	if c.lines != nil {
		out = c.err // as strace does
	}
	var file *outfile.File
	if c.output != "" && c.viewFormat() == nil {
		if file, err = outfile.Open(c.output); err != nil {
			return c.fail(exitUsage, err)
		}
		defer func() {
			if loaded {
				file.Close()
			} else {
				file.Drop()
			}
		}()
		out = file
	}
	closed, err := c.openPrints()
	defer func() { closed(loaded) }()
	if err != nil {
		return c.fail(exitUsage, err)
	}
	spec, err := c.spec(p)
	if err != nil {
		return c.fail(exitUsage, err)
	}
	done := func() {}
	if views.inTerminal() && spec.Command != nil {
		if done, err = views.tui.command(&spec); err != nil {
			return c.fail(exitUsage, err)
		}
	}
	// The command of -c is started by this and held until everything is attached.
	s, err := session.Load(spec)
	done()
	if err != nil {
		return c.notLoaded(err)
	}
	defer s.Close()
	loaded = true
	if err := c.beginFiles(views, file); err != nil {
		return c.fail(exitUsage, err)
	}
	ctx := context.Background()
	if c.duration > 0 {
		var cancel context.CancelCauseFunc
		ctx, cancel = context.WithCancelCause(ctx)
		defer cancel(nil)
		go c.endLater(ctx, s, func() { cancel(context.DeadlineExceeded) })
	}
	o := c.outputs(s, p.Config, views, out)
	c.announce(&o)
	defer func() {
		for _, v := range o.Valves {
			v.Restore()
		}
	}()
	// A script that is over in a moment needs no protection from signals.
	if s.Lasting() {
		catch(s, c.lines != nil && spec.Command != nil)
	}
	if views.inTerminal() {
		if err := views.tui.show(c, s.Stop, &o); err != nil {
			return c.fail(exitUsage, err)
		}
	}
	res, err := s.Run(ctx, o)
	if views.inTerminal() {
		if failed := views.tui.leave(c, err == nil); failed != nil {
			return c.fail(exitFailure, failed)
		}
	}
	if err != nil {
		return c.fail(exitFailure, c.machine.Explain(err))
	}
	if file != nil {
		if err := file.Done(); err != nil {
			return c.fail(exitFailure, err)
		}
	}
	return c.statusOf(res, views)
}

// beginFiles empties files of output, of views and of -o: from here on they are those of this run.
func (c *command) beginFiles(views *watch, file *outfile.File) error {
	if views != nil && views.files != nil {
		if err := views.files.begin(); err != nil {
			return err
		}
	}
	if err := c.beginPrints(); err != nil {
		return err
	}
	switch {
	case file == nil:
		return nil
	case c.appends:
		return file.End()
	}
	return file.Empty()
}

// outputs are the options of the run, with where it prints and who else is told.
func (c *command) outputs(s *session.Session, cfg *config.Config, views *watch, out io.Writer) session.Options {
	o := c.runOptions()
	// A reader that stops reading must not keep the run from ending: the valve gives up a write
	// that waits. The terminal view has its own way to end.
	valve := func(w io.Writer) io.Writer {
		f, ok := fileOf(w)
		if !ok || views.inTerminal() { // whose terminal it is
			return w
		}
		v := output.NewValve(f)
		o.Valves = append(o.Valves, v)
		return v
	}
	o.Stderr = valve(c.err)
	if views.inTerminal() {
		o.Stderr = views.tui // the terminal is taken
	}
	to := valve(out)
	// The sink of the views gets everything, and hands on what is printed.
	if views != nil {
		o.Sink = views.sink(c.withPrints(c.sink(out, views.open(to), o.Stderr, cfg), valve))
		o.Feed, o.Meaning, o.Needs = views, views.script, views.needs
	} else {
		o.Sink = c.withPrints(c.sink(out, to, o.Stderr, cfg), valve)
	}
	if c.lines != nil {
		if c.events > 0 {
			to = &firstLines{to, c.events, s.Stop}
		}
		o.Sink = c.lines(to, o.Sink)
	}
	// Rows are chosen last before the sink, so that --events counts those that are shown.
	if c.columns != nil || c.wanted != nil || c.events > 0 {
		o.Sink = &output.Chosen{Sink: o.Sink, Columns: c.columns, Match: c.wanted, Most: c.events, Full: s.Stop}
	}
	return o
}

// statusOf lets views finish when the run has ended, and is the exit status.
func (c *command) statusOf(res session.Result, views *watch) int {
	// The script's own status wins, then hawk's, then the command's.
	status := res.Status
	if err := c.donePrints(); err != nil {
		c.fail(exitUsage, err)
		status = cmp.Or(status, exitUsage)
	}
	if views != nil {
		if err := views.done(c); err != nil {
			c.fail(exitUsage, err)
			if status == 0 {
				status = exitUsage
			}
		}
	}
	if res.Reason == session.OverBudget && status == 0 {
		status = exitCostly
	}
	if c.exitStatus != "" && status == 0 {
		status = res.Command
	}
	return status & 0xff
}

// firstLines passes on so many lines, and ends the run behind them: what tools make lines of are no rows.
type firstLines struct {
	w    io.Writer
	left uint64
	full func()
}

func (l *firstLines) Write(b []byte) (int, error) {
	end := 0
	for ; l.left > 0 && end < len(b); end++ {
		if b[end] == '\n' {
			if l.left--; l.left == 0 {
				l.full()
			}
		}
	}
	if _, err := l.w.Write(b[:end]); err != nil {
		return 0, err
	}
	return len(b), nil
}

// endLater ends a run that has been attached for as long as --duration says. The time begins when
// everything is attached: a slow start takes nothing away. A command that begin runs is no such start.
func (c *command) endLater(ctx context.Context, s *session.Session, end func()) {
	select {
	case <-s.Started():
	case <-ctx.Done():
		return
	}
	select {
	case <-time.After(c.duration):
		end()
	case <-ctx.Done():
	}
}

// spec is what is loaded of a program, and for whom. It also splits the command of -c as a shell
// would, but without one: a process between hawk and the command would be traced as well.
func (c *command) spec(p *session.Program) (session.Spec, error) {
	spec := session.Spec{Program: p, Probe: c.probeOptions(), PID: c.pid}
	// A tool passes over in silence what is not there, which was seen when it was compiled. What is there
	// and cannot be attached would be lost: its output would look as if nothing had happened.
	spec.Probe.Tells = c.tool != nil || c.verbose > 0
	spec.Probe.WarnPoint = func(at source.Span, msg string) {
		if p.Config.MissingProbes == "ignore" && !spec.Probe.Tells {
			return
		}
		var ds source.Diagnostics
		ds.Warnf("attach", at, "%s", msg)
		c.print(&ds)
	}
	if c.wants("verifier") {
		spec.Log = c.out
	}
	if c.wants("loader") {
		spec.Trace = c.out
	}
	spec.Bursts = c.lines != nil && c.given["summary-only"] == nil
	if c.verbose > 0 {
		spec.Again = func(why error) { fmt.Fprintf(c.err, "%s: once more, in pieces\n", why) }
	}
	if c.command == "" || c.argv != nil {
		spec.Command = c.argv
		spec.Child, spec.Pieces = c.child, c.pieces
		return spec, nil
	}
	argv, err := child.SplitCommand(c.command)
	if err != nil {
		return spec, err
	}
	if op := shellOperator(c.command, argv); op != "" {
		c.warn(fmt.Sprintf("no shell reads the command of -c: %s is given %s as an argument\nHINT: for a shell: -c "+
			"\"sh -c '…'\"", argv[0], op))
	}
	spec.Command = argv
	return spec, nil
}

// runOptions are what a run depends on but for where its output goes. Progress is for people: it
// is drawn over itself, which a file or a pipe cannot show.
func (c *command) runOptions() session.Options {
	o := session.Options{
		DwarfPIDs: c.dwarfPIDs, DryRun: c.dryRun, WholeCommands: c.json(), Verbose: c.verbose > 0, Last: true,
		MaxOverhead: c.maxOverhead, Announce: !c.quiet,
	}
	if isTerminal(c.err) && !c.quiet {
		o.Progress = c.err
	}
	return o
}

// selects is which probes run.
func (c *command) selects() probe.Trigger {
	switch c.mode {
	case modeTest:
		return probe.AtTest
	case modeBench:
		return probe.AtBench
	}
	return probe.NotOurs
}

// sink makes what the run writes to: what goes to out by w, messages by errs. Escapes keep what
// programs are called from moving the cursor of a terminal; a file has the bytes as they are.
func (c *command) sink(out, w, errs io.Writer, conf *config.Config) output.Sink {
	o := output.Options{NoWarnings: c.noWarnings, Color: c.color(), Quiet: c.quiet, NoHeader: c.noHeader,
		NoEnd: c.tool != nil || c.live(), MaxKeys: c.tool != nil, Tool: c.unread()}
	switch conf.EscapeOutput {
	case "auto":
		o.Escapes = output.Escapes{Output: isTerminal(out), Messages: isTerminal(c.err)}
	case "always":
		o.Escapes = output.Escapes{Output: true, Messages: true}
	}
	switch c.buffering {
	case "full":
		o.Buffering = output.FullyBuffered
	case "none":
		o.Buffering = output.Unbuffered
	}
	// The output is a file made of the run, in which lines of the script have no place.
	if c.viewFormat() != nil {
		w = io.Discard
		o.NoEnd, o.Escapes.Output = true, false
	}
	if f, ok := fileOf(out); ok && isTerminal(out) {
		o.Height = func() int { return terminalHeight(f) }
	}
	return c.form().New(w, errs, o)
}

// notLoaded reports why a script could not be loaded. The verifier's log is long, and its last
// words are in the message already.
func (c *command) notLoaded(err error) int {
	if e := (*session.CommandError)(nil); errors.As(err, &e) {
		return c.fail(exitUsage, fmt.Errorf("%w%s", err, c.elsewhere("-c")))
	}
	var r *load.Rejected
	if !errors.As(err, &r) {
		return c.fail(exitFailure, c.machine.Explain(err))
	}
	r.Diag.Print(c.err, source.PrintOptions{Color: c.color()})
	if c.verbose > 0 && r.Log != "" {
		fmt.Fprintf(c.err, "verifier log:\n%s\n", r.Log)
	}
	return exitFailure
}

// shellOperator is a word of a command, not quoted, that means something to a shell only; "" if
// there is none. A quoted one is an argument on purpose.
func shellOperator(text string, argv []string) string {
	bare := strings.Fields(text)
	for _, op := range []string{"|", "||", "&&", ";", "&", ">", ">>", "<", "2>&1"} {
		if slices.Contains(argv, op) && slices.Contains(bare, op) {
			return op
		}
	}
	return ""
}
