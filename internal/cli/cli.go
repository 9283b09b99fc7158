// Package cli is the hawk command: options, modes, exit codes. What it does
// beyond that is in the packages it calls.
package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/hawktrace/hawk/internal/cgroup"
	"github.com/hawktrace/hawk/internal/errno"
	"github.com/hawktrace/hawk/internal/machine"
	"github.com/hawktrace/hawk/internal/notation"
	"github.com/hawktrace/hawk/internal/output"
	"github.com/hawktrace/hawk/internal/probe"
	"github.com/hawktrace/hawk/internal/source"
	"github.com/hawktrace/hawk/internal/tool"
	"github.com/hawktrace/hawk/internal/value"
)

// Version is set by the linker: -X …/internal/cli.Version=vX.Y.Z.
var Version = "v0.0.0-devel"

// Exit codes.
const (
	exitOK       = 0
	exitUsage    = 1   // usage, script and privilege errors
	exitSettings = 2   // bad settings in the environment
	exitCostly   = 3   // --max-overhead ended the run
	exitFailure  = 255 // after the compile: loading, attaching
)

// A command is one invocation of hawk. It is used once and by one goroutine, apart from what is
// started for a run.
type command struct {
	settings
	// Files and streams are fields so that tests run commands side by side.
	stdin    io.Reader
	out, err io.Writer
	machine  *machine.Machine
	entitled bool           // the title of the tool is what its operands say
	wanted   []output.Match // what --match asks for of rows
	percent  int            // of garbage that a run has, while hawk makes it ready; else 0
}

// Main runs hawk with the arguments after the program name and returns the exit status. What
// changes the process as a whole stands here, before any of the work: a guard of a terminal never
// comes further, and an executable that carries a script runs that.
func Main(args []string) int {
	if guards() {
		return exitOK
	}
	untouched()
	c := &command{stdin: os.Stdin, out: os.Stdout, err: os.Stderr, machine: machine.Host()}
	// The environment may name other places of kernel types and of the kernel itself.
	c.machine.Named = machine.NamedBy(os.Getenv)
	if err := enoughFiles(); err != nil {
		return c.fail(exitUsage, err)
	}
	payload, err := carried()
	switch {
	case err != nil:
		return c.fail(exitUsage, err)
	case payload != nil:
		return c.runCarried(args, payload)
	}
	return c.main(args)
}

// main runs hawk itself: a command, a tool or a script, whichever the first operand names. What
// needs no privileges, as help and formatting, is answered before anybody asks for them.
func (c *command) main(args []string) int {
	if len(args) == 0 {
		// Who types hawk alone wants to know what it is; the status says that nothing was done.
		io.WriteString(c.err, usage())
		return exitUsage
	}
	// A command wins over a tool and a file of its name, which is run as ./NAME.
	if s := findWord(args[0]); s != nil {
		return s.start(c, args[1:])
	}
	table := options()
	// A tool wins over a file of its name, which is run as ./NAME: so a file that somebody leaves
	// in a directory does not replace what root types.
	t, ok := tool.Find(args[0])
	if !ok {
		args = fromAbroad(args)
		t, ok = tool.Find(args[0])
	}
	if ok {
		c.tool, args, table = t, args[1:], toolTable(t)
	}
	err := parseArgs(table, args, &c.settings)
	if err != nil && c.tool == nil && isNoName(args[0]) {
		err = noTool(args[0]) // whose options nobody knows
	}
	if err == nil && c.tool != nil {
		err = c.finishTool()
	}
	if err == nil {
		err = c.finish()
	}
	// Control groups and programs are looked up last: --help of a command line that names none that
	// exists is still answered.
	if err == nil && !c.stop {
		besideSignals(func() { err = c.findNamed() })
	}
	if err != nil {
		io.WriteString(c.err, err.Error()+"\n")
		var u *usageError
		if errors.As(err, &u) && u.help {
			io.WriteString(c.err, c.seeHelp())
		}
		return exitUsage
	}
	c.machine.DebugDirs = c.debugDirs
	c.checkEnvironment()
	switch c.mode {
	case modeHelp:
		if c.tool != nil {
			return c.manualOf(c.tool)
		}
		return c.tell(usage())
	case modeVersion:
		return c.tell("hawk " + Version + "\n")
	case modeMan:
		return c.tell(manual())
	case modeCompletion:
		return c.tell(completion(c.shell))
	case modePrint:
		return c.printTool()
	case modeInfo:
		return c.info()
	case modeRecord:
		if err := c.machine.Record(c.record); err != nil {
			return c.fail(exitFailure, err)
		}
		return exitOK
	case modeFormat:
		return c.layout()
	case modeList:
		return c.list()
	}
	return c.run()
}

// findNamed looks up what the command line names: control groups, the program to run. Each may
// read files that the user names, which may hang: see besideSignals.
func (c *command) findNamed() error {
	err := c.unseen()
	if err == nil {
		err = c.findGroups()
	}
	if err == nil && c.tool != nil && c.tool.RunsProgram() {
		err = c.findProgram()
	}
	return err
}

// tell prints what was asked for and returns the status. Help that cannot be written is an
// error, as to a disk that is full.
func (c *command) tell(text string) int {
	if _, err := io.WriteString(c.out, text); err != nil {
		return c.fail(exitUsage, fmt.Errorf("cannot write output: %w", err))
	}
	return exitOK
}

// fail prints an error without a place and returns the status. A mistake in a script has a place
// and goes by print.
func (c *command) fail(status int, err error) int {
	io.WriteString(c.err, c.plain("ERROR: "+errno.Message(err)+"\n"))
	return status
}

// warn prints a warning unless --no-warnings is given.
func (c *command) warn(text string) {
	if !c.noWarnings {
		io.WriteString(c.err, c.plain("WARNING: "+text+"\n"))
	}
}

// plain is text for standard error; what it quotes may come from anyone. Only on a terminal: what a
// file or a program is called could hold sequences that a terminal obeys.
func (c *command) plain(text string) string {
	if isTerminal(c.err) {
		return value.EscapeLines(text)
	}
	return text
}

// print draws diagnostics on standard error.
func (c *command) print(ds *source.Diagnostics) {
	if c.places != nil {
		var moved source.Diagnostics
		for _, d := range ds.List() {
			d.Span = c.moved(d.Span)
			for i := range d.Notes {
				d.Notes[i].Span = c.moved(d.Notes[i].Span)
			}
			moved.Add(d)
		}
		ds = &moved
	}
	ds.Print(c.err, source.PrintOptions{Color: c.color(), NoWarnings: c.noWarnings, Tool: c.unread()})
}

// moved is where the user wrote what stands in the script that was made of it.
func (c *command) moved(at source.Span) source.Span {
	if at.File == nil || at.File.Text != c.tool.Script || c.verbose > 0 {
		return at
	}
	return c.places.Moved(at)
}

// unread is the name of the tool that is run, unless its user wrote some of its script, or asks to be told more.
func (c *command) unread() string {
	if c.tool == nil || notation.Of(c.tool.Name) != nil || c.verbose > 0 {
		return ""
	}
	return c.tool.Name
}

// findGroups looks up the control groups that are traced. A container is the group that its runtime
// made for it. Numbers of groups go into the programs, so that they are looked up before the
// compilation.
func (c *command) findGroups() error {
	dirs := slices.Clone(c.cgroups)
	for _, name := range c.containers {
		container, err := cgroup.FindContainer(name)
		if err != nil {
			return usagef("USAGE: invalid value for --container: %v", err)
		}
		dirs = append(dirs, container.Dir)
	}
	for _, dir := range dirs {
		group, err := c.machine.ControlGroup(dir)
		if err != nil {
			return usagef("USAGE: invalid value for --cgroup: %s", errno.Message(err))
		}
		c.tasks.Cgroups = append(c.tasks.Cgroups, group)
	}
	return nil
}

// probeOptions is what matching and listing depend on.
func (c *command) probeOptions() probe.Options {
	return probe.Options{
		Machine: c.machine,
		PID:     c.pid,
		Tool:    c.tool != nil,
		// A tool with -c follows the command, so that its probes on the kernel are filtered as
		// well.
		PIDFilter: c.pid != 0 || c.tool != nil && c.follow,
		Follow:    c.follow || c.also != nil,
		Also:      c.also,
		Childless: !c.follow,
		Tasks:     c.tasks,
		Unsafe:    c.unsafe,
		NoFeature: c.noFeature,
		Traceable: c.traceable,
		Most:      c.maxProbes,
		Verbose:   c.verbose > 0,
	}
}
