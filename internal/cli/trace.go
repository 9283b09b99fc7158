package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/hawktrace/hawk/internal/compile"
	"github.com/hawktrace/hawk/internal/config"
	"github.com/hawktrace/hawk/internal/load"
	"github.com/hawktrace/hawk/internal/object"
	"github.com/hawktrace/hawk/internal/output"
	"github.com/hawktrace/hawk/internal/probe"
	"github.com/hawktrace/hawk/internal/session"
	"github.com/hawktrace/hawk/internal/source"
)

// trace loads a compiled script and runs it to the end. inPieces yields it in
// pieces, which is asked for if the verifier gives up; nil if that is not possible.
func (c *command) trace(res *compile.Result, inPieces func() *compile.Result) int {
	unused, err := c.choose(res.Object)
	if err != nil {
		return c.fail(exitFailure, err)
	}
	out := c.out
	var file *outFile
	if c.output != "" {
		if file, err = openOut(c.output); err != nil {
			return c.fail(exitUsage, err)
		}
		defer file.Close()
		out = file
	}
	probes := c.probeOptions()
	probes.WarnPoint = func(at source.Span, msg string) {
		if res.Config.MissingProbes == "ignore" {
			return
		}
		var ds source.Diagnostics
		ds.Warnf("attach", at, "%s", msg)
		c.print(&ds)
	}
	var child *session.Child
	if c.command != "" {
		argv, err := session.SplitCommand(c.command)
		if err == nil {
			if op := shellOperator(c.command, argv); op != "" {
				c.warn(fmt.Sprintf("no shell reads the command of -c: %s is given %s as an argument\nHINT: for a shell: -c \"sh -c '…'\"", argv[0], op))
			}
			child, err = session.StartChild(argv)
		}
		if err != nil {
			return c.fail(exitUsage, err)
		}
		defer child.Close()
		// Kinds that the kernel filters follow the child; the others see the
		// whole system, so that grandchildren are seen.
		probes.PID = child.PID()
	}
	lo := load.Options{Config: res.Config, Probe: &probes}
	if c.wants("verifier") {
		lo.Log = c.out
	}
	if c.wants("loader") {
		lo.Trace = c.out
	}
	loaded, err := load.Load(res.Object, lo)
	if r := (*load.Rejected)(nil); errors.As(err, &r) && r.GaveUp {
		if c.verbose > 0 {
			fmt.Fprintf(c.err, "%s: once more, in pieces\n", r.Error())
		}
		if other := inPieces(); other != nil {
			if _, err := c.choose(other.Object); err != nil {
				return c.fail(exitFailure, err)
			}
			if s, again := load.Load(other.Object, lo); again == nil || saysMore(again) {
				loaded, err, res = s, again, other
			}
		}
	}
	if err != nil {
		return c.rejected(err)
	}
	defer loaded.Close()
	if file != nil {
		if err := file.empty(); err != nil {
			return c.fail(exitUsage, err)
		}
	}
	ctx := context.Background()
	if c.duration > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.duration)
		defer cancel()
	}
	var progress io.Writer
	if isTerminal(c.err) && !c.quiet {
		progress = c.err
	}
	var valves []*output.Valve
	valve := func(w io.Writer) io.Writer {
		f, ok := fileOf(w)
		if !ok {
			return w
		}
		v := output.NewValve(f)
		valves = append(valves, v)
		return v
	}
	messages := valve(c.err)
	sink := c.sink(out, valve(out), messages, res.Config)
	defer func() {
		for _, v := range valves {
			v.Restore()
		}
	}()
	status, err := session.Run(ctx, loaded, session.Options{
		Config: res.Config, Probe: &probes, Sink: sink, Valves: valves, Stdout: c.out, Stderr: messages,
		Child: child, PID: c.pid, DwarfPIDs: c.dwarfPIDs, DryRun: c.dryRun, WholeCommands: c.json(), Verbose: c.verbose > 0,
		Report: c.report(), Unused: unused, Progress: progress, Last: true,
		MaxOverhead: c.maxOverhead, Announce: !c.quiet,
	})
	if err != nil {
		return c.fail(exitFailure, c.machine.Explain(err))
	}
	if file != nil {
		if err := file.done(); err != nil {
			return c.fail(exitFailure, err)
		}
	}
	if c.exitStatus != "" && status == 0 {
		status = child.Status()
	}
	return status & 0xff
}

// saysMore reports whether the error of a script in pieces is worth more than
// that the verifier gave up on it as a whole: it came to something that the
// script has to be changed for.
func saysMore(err error) bool {
	r := (*load.Rejected)(nil)
	return errors.As(err, &r) && !r.GaveUp && r.Diag.Severity != source.Bug
}

// report is which probes run in place of tracing.
func (c *command) report() probe.Trigger {
	switch c.mode {
	case modeTest:
		return probe.AtTest
	case modeBench:
		return probe.AtBench
	}
	return probe.NotOurs
}

// choose leaves in the object what the mode loads, and says how many attach
// points it dropped: tests and measurements run only if asked for, and then
// nothing but begin and end runs beside them.
func (c *command) choose(o *object.Object) (dropped int, err error) {
	want := c.report()
	traced := false
	var keep []*object.Program
	for _, p := range o.Programs {
		t := p.Group.Points[0].Kind.Ours
		traced = traced || !t.Verdict()
		if t == want || t == probe.AtBegin || t == probe.AtEnd || !want.Verdict() && !t.Verdict() {
			keep = append(keep, p)
		} else {
			dropped += len(p.Group.Points)
		}
	}
	if !traced && !want.Verdict() {
		kind := o.Programs[0].Group.Points[0].Kind.Name
		return 0, fmt.Errorf("No probes attached; use --%s to run %s probes.", kind, kind)
	}
	o.Programs = keep
	return dropped, nil
}

// sink makes what the run writes to: what goes to out by w, messages by errs.
func (c *command) sink(out, w, errs io.Writer, conf *config.Config) output.Sink {
	o := output.Options{NoWarnings: c.noWarnings, Color: c.color(), Quiet: c.quiet}
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
	if c.json() {
		o.Safe = c.format == jsonSafe
		return output.NewJSON(w, errs, o)
	}
	return output.NewText(w, errs, o)
}

// rejected reports why a script could not be loaded.
func (c *command) rejected(err error) int {
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

// shellOperator is a word of a command, not quoted, that means something to a shell only; "" if there is none.
func shellOperator(text string, argv []string) string {
	bare := strings.Fields(text)
	for _, op := range []string{"|", "||", "&&", ";", "&", ">", ">>", "<", "2>&1"} {
		if slices.Contains(argv, op) && slices.Contains(bare, op) {
			return op
		}
	}
	return ""
}
