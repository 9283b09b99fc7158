package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/user"
	"runtime"
	"strconv"
	"strings"

	"github.com/hawktrace/hawk/internal/dwarf"
	"github.com/hawktrace/hawk/internal/exe"
	"github.com/hawktrace/hawk/internal/machine"
	"github.com/hawktrace/hawk/internal/output"
	"github.com/hawktrace/hawk/internal/session/child"
	"github.com/hawktrace/hawk/internal/strace"
	"github.com/hawktrace/hawk/internal/tool"
)

// lackingOptions are those of strace or ltrace that hawk does not have: each says what to do.
// They have no text for help, and so are not listed there.
func lackingOptions(lacking []strace.Lack) (all []option) {
	for _, l := range lacking {
		name := "--" + l.Name
		if l.Letter != 0 {
			name = "-" + string(l.Letter)
		}
		refuse := func(s *settings, _ string) error {
			if l.Instead == "" { // without it the same happens
				return nil
			}
			return usagef("%s: %s of %s is not there\nHINT: %s", s.tool.Name, name, s.tool.Name, l.Instead)
		}
		all = append(all, option{short: l.Letter, long: l.Name, arg: l.Value, set: do(refuse)})
	}
	return all
}

// asStrace reads the options of a tool that runs a command and shows its system calls, makes the
// script that they ask for, and says how lines look. The tool is copied before its script is
// changed: the table of tools is shared. strace's own options are known to package strace alone;
// here is what concerns the run.
func (c *command) asStrace() error {
	if err := c.runs(); err != nil {
		return err
	}
	o := strace.Defaults(runtime.GOARCH)
	o.ToFile, o.Alone = c.output != "", c.noFollow
	if err := o.Read(c.given); err != nil {
		return usagef("%s: %v", c.tool.Name, err)
	}
	// -ff gives each thread a file, whose name is made of the one of -o.
	if c.output != "" && (len(c.given["follow-forks"]) > 1 || c.given["output-separately"] != nil) {
		o.Separate, c.output, o.ToFile = c.output, "", true
	}
	if err := c.callFormat(o); err != nil {
		return err
	}
	c.appends = c.given["output-append-mode"] != nil
	o.Append = c.appends
	if o.JSON && o.Dumps() {
		return usagef("%s: -e read= and -e write= are for text\nHINT: -s 4000 shows more of strings", c.tool.Name)
	}
	// Names are asked for when a call is shown: reading the formats of all would take long.
	o.Names = c.argumentNames
	var err error
	if c.child, err = childOptions(c.given); err != nil {
		return usagef("%s: %v", c.tool.Name, err)
	}
	if o.Errors && o.Summary == "" {
		return usagef("%s: --errors goes with -c or -C\nHINT: -Z shows the calls that fail", c.tool.Name)
	}
	if c.argv == nil && (c.child.User != nil || c.child.Env != nil) {
		return usagef("%s: --user and --env are for a command, which is not there with -p", c.tool.Name)
	}
	// Threads that are there already; others are followed as they begin.
	for _, pid := range c.pids() {
		o.Threads = append(o.Threads, strace.ThreadsOf(pid)...)
	}
	c.given = o.Script(c.argv != nil)
	if !c.tasks.All() {
		c.given["some-tasks"] = []string{"true"}
	}
	// A path is as many steps as it has directories, which the verifier walks one by one without
	// the helper.
	if old := c.machine.Has(machine.BPFLoop); old != nil && (o.Files > 0 || o.Paths != nil) {
		return usagef("%s: -y and -P need Linux 5.17: %v\nHINT: ls -l /proc/PID/fd shows what is open",
			c.tool.Name, old)
	} else if old != nil {
		delete(c.given, "netlink") // whose messages are copied by a loop
	}
	c.boundLoops()
	one := *c.tool
	one.Script += strace.Plans(o)
	c.tool, c.lines = &one, func(w io.Writer, rest output.Sink) output.Sink { return strace.NewSink(w, rest, o) }
	return nil
}

// callFormat reads how calls are shown, and refuses a command that reads them: it would have to be run by hawk.
func (c *command) callFormat(o *strace.Options) error {
	switch c.format {
	case "", output.PlainText.Name:
	case output.Objects.Name:
		o.JSON = true
	case output.CommaSeparated.Name:
		if o.Separate != "" || o.Last > 0 {
			return usagef("%s: --format csv is for one file that has all calls\nHINT: --format json takes -ff and "+
				"--last", c.tool.Name)
		}
		o.JSON, o.CSV, c.format = true, true, "" // what is no call is text
	default:
		return usagef("%s: --format takes text, json or csv", c.tool.Name)
	}
	if strings.HasPrefix(c.output, "|") || strings.HasPrefix(c.output, "!") {
		return usagef("%s: -o takes a file, and no command\nHINT: 2>&1 | in place of -o |", c.tool.Name)
	}
	return nil
}

// boundLoops has fewer pointers and buffers be read where there is no bpf_loop(), and the script loaded in pieces: the
// verifier walks through every round of a loop there, and stops at a million instructions.
func (c *command) boundLoops() {
	if c.machine.Has(machine.BPFLoop) != nil {
		c.given["pointers"], c.given["buffers"] = []string{"16"}, []string{"4"}
		c.pieces = true
	}
}

// argumentNames are the names that the kernel has for the arguments of a system call. There is
// none for calls without a tracepoint, and no error: objects then have no names.
func (c *command) argumentNames(call string) (names []string) {
	f, err := c.machine.TracepointFormat("syscalls", "sys_enter_"+call)
	if err != nil {
		return nil
	}
	for _, field := range f.Fields {
		if !field.Common && field.Name != "__syscall_nr" {
			names = append(names, field.Name)
		}
	}
	return names
}

// childOptions are what the command is given. It goes on when hawk is killed, as under strace(1).
func childOptions(given map[string][]string) (o child.Options, err error) {
	o.Survives = true
	if values := given["env"]; values != nil {
		o.Env = environment(os.Environ(), values)
	}
	if names := given["user"]; names != nil {
		o.User, err = lookUser(names[len(names)-1])
	}
	return o, err
}

// environment is an environment with some variables set, or, without a value, taken away. strace
// applies the changes in the order in which they are given, so that the last one of a name
// counts.
func environment(env, changes []string) (out []string) {
	for _, change := range changes {
		name, _, set := strings.Cut(change, "=")
		out = nil
		for _, v := range env {
			if other, _, _ := strings.Cut(v, "="); other != name {
				out = append(out, v)
			}
		}
		if set {
			out = append(out, change)
		}
		env = out
	}
	return out
}

// lookUser finds the user of --user with all groups, as a login would have them. The build
// without cgo reads /etc/passwd and /etc/group itself, and knows no other directory of users.
func lookUser(name string) (*child.User, error) {
	u, err := user.Lookup(name)
	if err != nil {
		return nil, errors.New("no user is called \"" + name + "\"")
	}
	number := func(text string) uint32 {
		n, _ := strconv.ParseUint(text, 10, 32) // as package user has written it
		return uint32(n)
	}
	out := &child.User{UID: number(u.Uid), GID: number(u.Gid)}
	groups, err := u.GroupIds()
	if err != nil {
		return nil, fmt.Errorf("the groups of %s: %w", name, err)
	}
	for _, g := range groups {
		out.Groups = append(out.Groups, number(g))
	}
	return out, nil
}

// A lining makes a sink that writes lines of what a tool sends, and hands on the rest.
type lining func(w io.Writer, rest output.Sink) output.Sink

// findProgram reads the options of a tool that runs a program and shows which functions of libraries it
// calls, finds these, and makes the script that traces them. It comes behind the parsing of the
// command line, since it reads symbols of files, which may take long.
func (c *command) findProgram() error {
	o := strace.Defaults(runtime.GOARCH)
	o.ToFile = c.output != ""
	if err := c.callFormat(o); err != nil {
		return err
	}
	// A process sees files of its own root, which a container has elsewhere.
	search := exe.Search{PID: c.pid}
	name := ""
	if c.argv != nil {
		search.PID, name = 0, interpreter(c.argv[0])
	}
	files, err := search.Find(name)
	if err != nil {
		return usagef("%s: %v", c.tool.Name, err)
	}
	o.Names = c.argumentNames
	o.Debug = func(file string) (*dwarf.File, error) { return c.machine.Debug(file, "") }
	if names := c.given["user"]; names != nil {
		if c.argv == nil {
			return usagef("%s: --user is for a command, which is not there with -p", c.tool.Name)
		}
		if c.child.User, err = lookUser(names[len(names)-1]); err != nil {
			return usagef("%s: %v", c.tool.Name, err)
		}
		delete(c.given, "user")
	}
	// The probes are known before the script is compiled, so that too many are told at once.
	most := 2000
	if given := c.given["max-probes"]; given != nil {
		most, _ = strconv.Atoi(given[len(given)-1])
	}
	var mapped []string
	// A process may have loaded libraries that its program does not name.
	if search.PID != 0 {
		mapped, _ = search.Find("*")
	}
	p, err := strace.NewProgram(files[0], mapped, o, c.given)
	if err != nil {
		return usagef("%s: %v", c.tool.Name, err)
	}
	p.Attached = search.PID != 0
	if p.Probes() > most {
		return usagef("%s: %d probes are more than %d\nHINT: choose functions by -e, or allow more by --max-probes",
			c.tool.Name, p.Probes(), most)
	}
	// ltrace says nothing of what it has attached.
	c.quiet = p.Probes() < manyProbes
	for _, text := range p.Warnings {
		c.warn(text)
	}
	if p.Unwritten > 0 {
		c.warn(strconv.Itoa(p.Unwritten) + " functions are passed over, as a probe cannot be written with their names")
	}
	if p.Passed > 0 {
		c.warn(strconv.Itoa(p.Passed) + " calls are passed over, as no symbol says in which function they stand")
	}
	if p.Resultless() {
		c.warn("results are not shown: " + files[0] + " can throw exceptions or change its stack, and probes on " +
			"returns would break that")
	}
	one := *c.tool
	more := ""
	c.given, more = p.Script()
	if p.System {
		c.boundLoops()
	}
	c.given["program"] = []string{`"` + files[0] + `"`}
	one.Script += more
	// These options are not in help: they carry what was found in files to the script.
	one.Options = append(one.Options[:len(one.Options):len(one.Options)],
		tool.Option{Name: "calls", Value: "FUNCTION…"}, tool.Option{Name: "returns", Value: "FUNCTION…"},
		tool.Option{Name: "sites", Value: "ADDRESS…"})
	c.tool, c.lines = &one, p.NewSink
	return nil
}

// manyProbes is how many are attached without saying so. Attaching more takes seconds, during
// which a user wants to know why nothing happens.
const manyProbes = 200

// interpreter is the program that runs a script, and else what it is given. The libraries that
// matter are those of the program that the kernel executes.
func interpreter(name string) string {
	path, err := exec.LookPath(name)
	if err != nil {
		return name
	}
	f, err := os.Open(path)
	if err != nil {
		return name
	}
	defer f.Close()
	// The kernel reads 256 bytes of a first line, BINPRM_BUF_SIZE.
	line, _ := bufio.NewReader(io.LimitReader(f, 256)).ReadString('\n')
	if words := strings.Fields(strings.TrimPrefix(line, "#!")); strings.HasPrefix(line, "#!") && len(words) > 0 {
		return words[0]
	}
	return path
}

// runs has the operands be a command that is run and followed, or there be a process. The status
// is the command's, as under strace.
func (c *command) runs() error {
	everything := c.given["all"] != nil
	if everything && (len(c.operands) > 0 || c.pid != 0) {
		return usagef("%s: --all shows all processes: neither a command nor -p goes with it", c.tool.Name)
	} else if len(c.operands) == 0 && c.pid == 0 && !everything {
		return usagef("%s: a command is needed, or -p PID\nHINT: hawk %s", c.tool.Name,
			strings.Join(c.tool.Synopsis, "\nHINT: hawk "))
	}
	if err := c.machine.Privileges(); err != nil && c.mode == modeRun {
		return usagef("%s: %v\nHINT: strace itself needs no privileges for programs of one's own", c.tool.Name, err)
	}
	if argv := c.operands; len(argv) > 0 {
		c.argv, c.command, c.exitStatus = argv, strings.Join(argv, " "), "child"
	}
	c.follow = !c.noFollow && !everything
	c.quiet = true
	return nil
}
