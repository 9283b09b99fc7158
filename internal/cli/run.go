package cli

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hawktrace/hawk/internal/builtin/show"
	"github.com/hawktrace/hawk/internal/compile"
	"github.com/hawktrace/hawk/internal/compile/dump"
	"github.com/hawktrace/hawk/internal/config"
	"github.com/hawktrace/hawk/internal/errno"
	"github.com/hawktrace/hawk/internal/exe"
	"github.com/hawktrace/hawk/internal/notation"
	"github.com/hawktrace/hawk/internal/object"
	"github.com/hawktrace/hawk/internal/output"
	"github.com/hawktrace/hawk/internal/probe/user"
	"github.com/hawktrace/hawk/internal/session"
	"github.com/hawktrace/hawk/internal/source"
	"github.com/hawktrace/hawk/internal/tool"
	"github.com/hawktrace/hawk/internal/types"
	"github.com/hawktrace/hawk/internal/view/derive"
)

// run compiles the script, loads it and traces until the end; the modes that compile only end
// before that. Mistakes that can be known without the compiler are reported first.
func (c *command) run() int {
	c.collectLater()
	// The script is read before privileges are asked for: a wrong name is told to everybody.
	f, params, named, err := c.script()
	if err != nil {
		return c.scriptError(err)
	}
	var powerless error
	// Compiling alone needs none.
	if c.mode != modeCompile && c.mode != modeTime && c.aot == "" {
		powerless = c.machine.Privileges()
	}
	env, err := c.environment()
	if err != nil {
		fmt.Fprintln(c.err, err)
		return exitSettings
	}
	if err := c.absent(); err != nil {
		return c.fail(exitUsage, err)
	}
	o := c.compileOptions(params, named, env)
	if c.filter != "" {
		re, err := regexp.Compile(c.filter)
		if err != nil {
			return c.fail(exitFailure, fmt.Errorf("Invalid --probe-filter regex '%s': %v", c.filter, err))
		}
		o.Probe.Filter = re.MatchString
	}
	if powerless != nil {
		// Errors of the script itself can be told all the same. A tool has none but in what a user has
		// written for it: what it asks of the kernel, only root is told.
		if c.tool == nil || notation.Of(c.tool.Name) != nil {
			_, ds := compile.Compile(f, o)
			c.print(compile.ScriptErrors(ds, c.machine))
		}
		return c.fail(exitUsage, powerless)
	}
	// The stages write while the compiler runs, so that those before an error are seen.
	dumps := c.dumps()
	o.Watch = dumps.Watcher()
	switch {
	case c.aot != "":
		return c.ahead(f, named, o)
	case c.mode == modeTime:
		return c.timeCompiler(f, o)
	}
	written := c.writeIR(dumps)
	o.Watch = dumps.Watcher()
	p, ds := c.compile(f, o)
	if err := written(); err != nil {
		return c.fail(exitUsage, err)
	}
	// Errors of the script come before that: they are there on every machine.
	if locked := c.lockedDown(p); locked != nil && c.mode != modeCompile {
		wrong := compile.ScriptErrors(ds, c.machine)
		if c.print(wrong); wrong.HasErrors() {
			return exitUsage
		}
		return c.fail(exitUsage, locked)
	}
	if p == nil {
		if err := cmp.Or(c.untraceable(), c.noMode(ds)); err != nil {
			return c.fail(exitUsage, err)
		}
		c.adviseBlank(ds)
	}
	c.print(ds)
	if p == nil {
		return exitUsage
	}
	if c.verbose > 0 {
		for _, note := range derive.Derive(p.Tree, p.Checked).Notes {
			fmt.Fprintln(c.err, note)
		}
	}
	p, status, done := c.ready(p, named)
	if done {
		return status
	}
	if err := c.writeELF(p.Object); err != nil {
		return c.fail(exitUsage, err)
	}
	if c.mode == modeCompile {
		return exitOK
	}
	return c.trace(p)
}

// absent reports a process or a file that the options name and that is not there.
func (c *command) absent() error {
	// A process that is gone is reported now, not as a probe that matches nothing.
	for _, pid := range c.pids() {
		fd, err := unix.PidfdOpen(pid, 0)
		if err != nil {
			return fmt.Errorf("Failed to attach to pid: Unable to open pidfd (%s)", errno.Reason(err))
		}
		unix.Close(fd)
	}
	if err := c.absentFile(); err != nil {
		return err
	}
	// These are words of bpftrace, since programs compare them.
	if c.traceable != "" {
		if _, err := os.Stat(c.traceable); err != nil {
			return fmt.Errorf("Failed to open kernel function info: Could not read functions from %s. (%s)",
				c.traceable, errno.Reason(err))
		}
	}
	return nil
}

// adviseBlank says of an operand that may be several in one pair of quotes, and that is wrong, how they are given.
func (c *command) adviseBlank(ds *source.Diagnostics) {
	if c.tool == nil || notation.Of(c.tool.Name) != nil {
		return
	}
	for _, o := range c.tool.Operands {
		for _, value := range c.given[o.Name] {
			if o.Kind != "probe" || len(strings.Fields(value)) < 2 {
				continue
			}
			for _, d := range ds.List() {
				if d.Severity == source.Error && strings.HasPrefix(d.Span.Text(), "$") {
					d.Hints = []string{"each probe is an argument of its own, and this one has a blank in it"}
				}
			}
		}
	}
}

// absentFile reports a file that the options of a tool name and that is not there: tools go on without files that
// they name themselves. Files of other roots, patterns and members of archives are looked for later. Of several,
// libraries may be missing: one is added to that of the system, which may have none.
func (c *command) absentFile() error {
	if c.tool == nil || c.tool.RunsCommand() || c.pids() != nil || c.containers != nil {
		return nil
	}
	for _, o := range c.tool.Options {
		for _, file := range c.given[o.Name] {
			if o.Unit() != "FILE" || file == "" || file == "none" || strings.ContainsAny(file, "*?[!") {
				continue
			}
			if strings.Contains(file, "/") {
				if _, err := os.Stat(file); err != nil {
					return fmt.Errorf("%s: option --%s: %s: %s", c.tool.Name, o.Name, file, errno.Reason(err))
				}
			} else if len(c.given[o.Name]) == 1 {
				if _, err := (exe.Search{Libraries: true}).Find(file); err != nil {
					return fmt.Errorf("%s: option --%s: %w\nHINT: %s", c.tool.Name, o.Name, err, user.Elsewhere)
				}
			}
		}
	}
	return nil
}

// compileOptions are what the compiler is told.
func (c *command) compileOptions(params, named []string, env *config.Environment) compile.Options {
	o := compile.Options{
		Params: params, IncludeDirs: c.includeDirs, Includes: c.includes, Environment: env, Caller: caller(),
		Library: tool.Library, Probe: c.probeOptions(), Warnings: c.warnings > 0,
		Trace: os.Getenv("HAWK_TRACE") != "",
	}
	// Ahead of time, options have no values yet: the executable is given them.
	if c.aot == "" {
		o.Probe.Named, o.Probe.Command = namedValues(named), new(c.command != "")
	}
	// The compiler is asked for what files need beside the script's own output, and for no more.
	o.Stamp, o.Sums = c.wantsStamps(), c.wantsSums()
	if c.tool != nil {
		c.asTool(&o)
		// A file of that name may have been meant.
		if _, err := os.Stat(c.tool.Name); err == nil && c.verbose > 0 {
			fmt.Fprintf(c.err, "%s is the tool; the file is ./%[1]s\n", c.tool.Name)
		}
	}
	return o
}

// compile makes the program of a script. Compiling reads debug information and headers, perhaps
// over a network: see besideSignals.
func (c *command) compile(f *source.File, o compile.Options) (p *session.Program, ds *source.Diagnostics) {
	besideSignals(func() { p, ds = session.Compile(f, o) })
	return p, ds
}

// ready gives a program the options behind "--". done says that hawk ends with the
// status: there is nothing to trace, or help was asked for, or an option is wrong. The checks
// that need the compiled script are here, those that do not in finish.
func (c *command) ready(p *session.Program, named []string) (_ *session.Program, status int, done bool) {
	values, status, done := c.namedOptions(named, p.Object)
	if !done {
		status, done = c.badFormat()
	}
	c.printed = prints(c.format, p.Object)
	if !done {
		if err := c.badColumns(p.Object); err != nil {
			status, done = c.fail(exitUsage, err), true
		}
	}
	if err := c.noVariant(p); !done && err != nil {
		status, done = c.fail(exitUsage, err), true
	}
	if !done && p.Probes == 0 {
		status, done = c.noProbes(), true
	}
	return p.Set(values), status, done
}

// badColumns reports a column of --columns that no row of the script has, or that --match cannot do
// what it is asked for.
func (c *command) badColumns(o *object.Object) error {
	names := show.RowColumns(o)
	for _, text := range c.match {
		if err := c.readMatch(text, names); err != nil {
			return err
		}
	}
	for _, name := range c.columns {
		if !slices.Contains(names, name) {
			return fmt.Errorf("No column is called \"%s\"; there are: %s", name, strings.Join(names, ", "))
		}
	}
	return nil
}

// readMatch reads one --match: what stands in front of a = is a column, if one of those that are
// shown is called so. So an expression that has a = in it can be given without being taken for a
// column.
func (c *command) readMatch(match string, names []string) error {
	if len(names) == 0 {
		return errors.New("--match is about rows, and the script prints none")
	}
	column, text, cut := strings.Cut(match, "=")
	if !cut || !slices.Contains(names, column) {
		named := func(e tool.Entry) bool { return e.Name == column }
		if cut && c.tool != nil && slices.ContainsFunc(c.tool.Output, named) {
			return fmt.Errorf("--match: column %s is not shown; there are: %s", column, strings.Join(names, ", "))
		}
		column, text = "", match
	}
	re, err := regexp.Compile(text)
	if err != nil {
		return fmt.Errorf("--match: %w", err)
	}
	c.wanted = append(c.wanted, output.Match{Column: column, Text: re})
	return nil
}

// noProbes reports a script that has nothing to attach here.
func (c *command) noProbes() int {
	if !c.quiet {
		fmt.Fprintln(c.out, "No probes to attach")
	}
	return exitUsage
}

// lockedDown reports that the kernel keeps its memory to itself, and that a
// script runs where there is little else to see; p is nil if that is not known.
func (c *command) lockedDown(p *session.Program) error {
	// Lockdown keeps BPF programs from reading the kernel's memory; probes on user space still
	// work.
	kernel := func(p *object.Program) bool { return p.Group.Points[0].Kind.Space == types.Kernel }
	err := c.machine.LockedDown()
	if err == nil || p != nil && !slices.ContainsFunc(p.Object.Programs, kernel) {
		return nil
	}
	return err
}

// dumps are the stages that -d asks for; the tree goes where it does not mix with output, as in the
// reference. Nothing else uses standard error while compiling. A stage that nobody asks for is
// not dumped, as texts of large scripts take long to make.
func (c *command) dumps() dump.Writers {
	out := dump.Writers{}
	for _, s := range dump.Stages {
		if !c.wants(s.Name) {
			continue
		}
		if out[s.Name] = c.out; s.Name == "ast" {
			out[s.Name] = c.err
		}
	}
	return out
}

// startPercent has garbage be collected from 8 MB on. To compile most scripts takes 5, and what a
// collection costs, 3 ms of processor time, would be a part of what it costs to attach.
const startPercent = 200

// collectLater has memory be collected late until the script runs, unless the user has a wish.
func (c *command) collectLater() {
	if os.Getenv("GOGC") == "" {
		c.percent = debug.SetGCPercent(startPercent)
	}
}

// viewPercent has a view take half as much again as what it holds: a map of a million keys is much, and pictures of
// it are more.
const viewPercent = 50

// collectSoon has memory be collected soon where views hold much of it, unless the user has a wish.
func (c *command) collectSoon() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(viewPercent)
		c.percent = 0
	}
}

// collect has memory be collected as is usual, in a moment: a run may be long, and hold much. Most of
// those that are short never collect any.
func (c *command) collect() {
	if percent := c.percent; percent > 0 {
		time.AfterFunc(time.Second, func() { debug.SetGCPercent(percent) })
	}
}
