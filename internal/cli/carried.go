package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/hawktrace/hawk/internal/aot"
	"github.com/hawktrace/hawk/internal/arch"
	"github.com/hawktrace/hawk/internal/object"
	"github.com/hawktrace/hawk/internal/session"
)

// carried is the script that the executable carries, nil for hawk itself. Every start of hawk
// asks this, so that only the end of the file is read.
func carried() ([]byte, error) {
	f, err := os.Open(ownFile)
	if err != nil {
		return nil, nil // without /proc there is nothing to be carried out of it
	}
	defer f.Close()
	return aot.Carried(f, Version)
}

// carriedOptions are the options that a script compiled ahead of time still takes, by their names.
// The others change how a script is compiled, which is done.
var carriedOptions = []string{
	"-c", "-o", "-f", "-B", "-q", "--no-warnings", "--debuginfo", "--duration", "--max-overhead", "--exit-status",
	"-h", "-V", "-d", "--dry-run", "-v",
}

// carriedTable is the part of the table of options that carriedOptions names.
func carriedTable() []option {
	return slices.DeleteFunc(options(), func(o option) bool {
		return !slices.Contains(carriedOptions, "-"+string(o.short)) && !slices.Contains(carriedOptions, "--"+o.long)
	})
}

// runCarried runs the script that the executable carries. The road is that of run() without the
// compiler: the payload is decoded, a variant for this kernel is chosen and bound to the machine,
// then it is traced as any script.
func (c *command) runCarried(args []string, payload []byte) int {
	p, err := aot.Decode(payload)
	if err != nil {
		return c.fail(exitUsage, err)
	}
	table := carriedTable()
	rest, named := splitNamed(table, p.Options(), args)
	if err = parseArgs(table, rest, &c.settings); err == nil {
		err = c.finish()
	}
	// The stages of the compiler have nothing to show here.
	for stage := range c.debug {
		if err == nil && stage != "all" && !slices.Contains(loadStages, stage) {
			err = usagef("USAGE: invalid option for -d: %s; a script compiled ahead of time has %s, all", stage,
				strings.Join(loadStages, ", "))
		}
	}
	if err == nil && len(c.operands) > 0 && !c.stop {
		err = usagef("USAGE: positional parameters can not be given to a script compiled ahead of time: %s",
			c.operands[0])
	}
	if err != nil {
		fmt.Fprintln(c.err, err)
		return exitUsage
	}
	switch {
	case c.mode == modeHelp:
		return c.tell(carriedUsage(table, p.Options()))
	case c.mode == modeVersion:
		return c.tell("hawk " + Version + "\n")
	// The executable runs here all the same where the kernel emulates another machine: its
	// programs do not.
	case p.Arch != arch.Native().Name:
		return c.fail(exitUsage, fmt.Errorf("the script was compiled for %s", p.Arch))
	}
	c.machine.DebugDirs = c.debugDirs
	if err := c.machine.Privileges(); err != nil {
		return c.fail(exitUsage, err)
	}
	opts := c.probeOptions()
	// --probe-filter was given to the compiler, and still chooses what is attached.
	if p.Filter != "" {
		re, err := regexp.Compile(p.Filter)
		if err != nil {
			return c.fail(exitUsage, err)
		}
		opts.Filter = re.MatchString
	}
	program, ds := session.Bind(p, &opts)
	c.print(ds)
	if program == nil {
		return exitUsage
	}
	// Options with which the script was compiled hold for the run, as if they were typed now.
	c.unsafe, c.noFeature = opts.Unsafe, opts.NoFeature
	program, status, done := c.ready(program, named)
	if done {
		return status
	}
	if err := c.lockedDown(program); err != nil {
		return c.fail(exitUsage, err)
	}
	return c.trace(program)
}

// splitNamed takes the script's own options out of the arguments: those it declares, and what is no
// option of hawk's at all. A script's option may have the name of one of hawk's, and is then the
// script's.
func splitNamed(table []option, declared []*object.Option, args []string) (rest, named []string) {
	// The settings are empty, and lend findLong their words for errors alone.
	var s settings
	for i, arg := range args {
		if arg == "--" { // what follows is for the script
			rest = append(rest, arg)
			for _, arg := range args[i+1:] {
				if strings.HasPrefix(arg, "--") {
					named = append(named, arg)
				} else {
					rest = append(rest, arg)
				}
			}
			return rest, named
		}
		name, _, _ := strings.Cut(strings.TrimPrefix(arg, "--"), "=")
		known := false
		if _, err := s.findLong(table, name); err == nil {
			known = !slices.ContainsFunc(declared, func(o *object.Option) bool { return o.Name == name })
		}
		// Short options are hawk's alone: getopt() in scripts knows long ones only.
		if strings.HasPrefix(arg, "--") && !known {
			named = append(named, arg)
		} else {
			rest = append(rest, arg)
		}
	}
	return rest, named
}

// carriedUsage is the help text of a script compiled ahead of time. It names the file that was
// called, as the user knows no hawk.
func carriedUsage(table []option, declared []*object.Option) string {
	var b strings.Builder
	fmt.Fprintf(&b, "A script compiled ahead of time by hawk %s.\n\nUSAGE:\n    %s [options] [script options]\n\n",
		Version, filepath.Base(os.Args[0]))
	if len(declared) > 0 {
		b.WriteString("SCRIPT OPTIONS:\n")
		for _, o := range declared {
			fmt.Fprintf(&b, "    %s\n", describe(o))
		}
		b.WriteByte('\n')
	}
	b.WriteString("OPTIONS:\n")
	for i := range table {
		b.WriteString(table[i].help())
	}
	return b.String()
}
