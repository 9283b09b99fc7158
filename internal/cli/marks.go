package cli

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/hawktrace/hawk/internal/probe"
	"github.com/hawktrace/hawk/internal/probe/user"
	"github.com/hawktrace/hawk/internal/proc"
	"github.com/hawktrace/hawk/internal/value"
	"github.com/hawktrace/hawk/usdt"
)

const tplistUsage = "hawk tplist [-v] [-f json] [-l FILE | -p PID | PATTERN]"

// tplist is `hawk tplist`: the kernel's tracepoints, or the marks of a file or of all that a
// process has mapped. It is a listing of hawk's in other words. The name is that of a tool in
// the collection of bcc, which has the same options.
func (c *command) tplist(args []string) int {
	l := tpListing{command: c, category: "*", event: "*"}
	if err := l.parse(args); err != nil {
		fmt.Fprintf(c.err, "ERROR: tplist: %v\nHINT: %s\n", err, tplistUsage)
		return exitUsage
	}
	if c.mode == modeHelp {
		return c.tell(`USAGE: ` + tplistUsage + `

Lists the tracepoints of the kernel, a line each, CATEGORY:EVENT; with -l the
marks of a program or library, with -p those of all files that a process has
mapped, those that it has made itself among them: FILE PROVIDER:NAME.

    -v        with the fields of tracepoints; of marks where they are and
              what their arguments are
    -l FILE   a file, or the name of a program or library
    -p PID    a process
    -f json   an object for each
    PATTERN   CATEGORY:EVENT, or with -l and -p PROVIDER:NAME, with * and ?;
              without : of the event or the name alone
`)
	}
	l.out = bufio.NewWriterSize(c.out, 1<<16)
	status := exitOK
	besideSignals(func() { status = l.list() })
	if err := l.out.Flush(); err != nil && status == exitOK {
		return c.fail(exitUsage, fmt.Errorf("cannot write output: %w", err))
	}
	return status
}

// A tpListing is what tplist was asked for.
type tpListing struct {
	*command
	file            string
	category, event string // patterns; of marks provider and name
	given           bool   // a pattern was
	json            bool
	out             *bufio.Writer
	found           bool
}

// parse reads the command line. It is read by hand: tplist is known from another tool, whose -l
// takes a file, which hawk's does not.
func (l *tpListing) parse(args []string) error {
	for i := 0; i < len(args); i++ {
		arg := args[i]
		switch arg {
		case "-v", "--verbose":
			l.verbose = 1
			continue
		case "-h", "--help":
			l.mode = modeHelp
			continue
		}
		// -pPID, -p PID
		name, text := arg, ""
		if len(arg) > 2 && arg[0] == '-' && arg[1] != '-' {
			name, text = arg[:2], arg[2:]
		}
		switch name {
		case "-l", "-p", "-f":
			if text == "" {
				if i++; i == len(args) {
					return fmt.Errorf("option %s needs a value", name)
				}
				text = args[i]
			}
		default:
			if strings.HasPrefix(arg, "-") {
				return fmt.Errorf("unknown option %s", arg)
			}
			if l.given {
				return fmt.Errorf("%q is one operand too many", arg)
			}
			l.given = true
			category, event, both := strings.Cut(arg, ":")
			if l.event = category; both {
				l.category, l.event = category, event
			}
			continue
		}
		var err error
		switch name {
		case "-l":
			l.file = text
		case "-p":
			l.pid, err = parsePID(text)
		default:
			if l.json = text == "json"; !l.json && text != "text" {
				err = fmt.Errorf("formats are text and json")
			}
		}
		if err != nil {
			return errors.New(strings.TrimPrefix(err.Error(), "ERROR: "))
		}
	}
	return nil
}

// list writes the listing: of tracepoints, or of USDT marks if a file or a process is given.
// JSON always has the details: programs need not ask twice.
func (l *tpListing) list() int {
	o := l.probeOptions()
	o.ForListing, o.Verbose = true, l.verbose > 0 || l.json
	kind, parts := "tracepoint", []probe.Part{{Text: l.category}, {Text: l.event}}
	emit := l.tracepoint
	if l.pid != 0 && !proc.Alive(l.pid) {
		return l.fail(exitUsage, fmt.Errorf("tplist: there is no process %d", l.pid))
	}
	if l.file != "" || l.pid != 0 {
		kind, emit = "usdt", l.mark
		// With a process alone its files are all that it has mapped.
		file := l.file
		if file == "" {
			file = "*"
		}
		parts = append([]probe.Part{{Text: file}}, parts...)
	}
	k, _ := probe.Lookup(kind)
	err := k.List(k, parts, &o, emit)
	// Others name a library without its prefix: -l c.
	if err != nil && l.file != "" && !strings.Contains(l.file, "/") {
		parts[0].Text = "lib" + l.file
		if k.List(k, parts, &o, emit) == nil {
			err = nil
		}
	}
	switch {
	case errors.Is(err, fs.ErrPermission) && l.machine.Privileges() != nil:
		l.out.Flush()
		l.fail(exitUsage, err)
		fmt.Fprintln(l.err, "HINT: only root may read that: sudo hawk tplist …")
		return exitUsage
	case err != nil:
		l.out.Flush()
		return l.fail(exitUsage, err)
	case !l.found:
		l.warn("nothing matches")
	}
	return exitOK
}

// name is text of a file for people. A program can call its marks anything, also what a terminal
// would obey.
func (l *tpListing) name(text string) string {
	if isTerminal(l.command.out) {
		return value.Escape(text)
	}
	return text
}

// object writes a record.
func (l *tpListing) object(v any) {
	text, err := json.Marshal(v)
	if err != nil {
		return // of strings and numbers alone
	}
	l.out.Write(append(text, '\n'))
}

// tracepoint writes a tracepoint, with -v and in JSON with its fields.
func (l *tpListing) tracepoint(p probe.Listed) {
	l.found = true
	name := strings.TrimPrefix(p.Name, "tracepoint:")
	if l.json {
		category, event, _ := strings.Cut(name, ":")
		fields := []string{} // a program reads an empty array, where nil would be null
		for _, d := range p.Details {
			fields = append(fields, d.Text)
		}
		l.object(struct {
			Category string   `json:"category"`
			Name     string   `json:"name"`
			Fields   []string `json:"fields"`
		}{category, event, fields})
		return
	}
	fmt.Fprintln(l.out, name)
	for _, d := range p.Details {
		fmt.Fprintln(l.out, "  "+d.Text)
	}
}

// markArg is an argument of a mark. note is the text of the whole argument in the file, for
// people.
type markArg struct {
	Name    string `json:"name"`
	Type    string `json:"type"`
	Operand string `json:"operand"`
	note    string
}

// mark writes a mark; with -v and in JSON each of its places, since a mark that is compiled inline
// has several with arguments in different registers.
func (l *tpListing) mark(p probe.Listed) {
	l.found = true
	if p.Point == nil {
		return
	}
	file, provider, name := p.Point.Target, p.Point.Provider, p.Point.Func
	if p.Point.Memory != "" {
		file = p.Point.Memory
	}
	if !l.json {
		fmt.Fprintf(l.out, "%s %s:%s\n", l.name(file), l.name(provider), l.name(name))
		if l.verbose == 0 {
			return
		}
	}
	for _, place := range user.Places(p.Point, l.machine.Arch()) {
		args := []markArg{}
		for i, a := range place.Args {
			_, operand, _ := strings.Cut(a.Text, "@")
			args = append(args, markArg{fmt.Sprintf("arg%d", i), user.TypeName(a), operand, a.Text})
		}
		if l.json {
			l.object(struct {
				File      string    `json:"file"`
				Provider  string    `json:"provider"`
				Name      string    `json:"name"`
				PC        uint64    `json:"pc"`
				Semaphore uint64    `json:"semaphore"`
				Args      []markArg `json:"args"`
			}{file, provider, name, place.Addr, place.Semaphore, args})
			continue
		}
		fmt.Fprintf(l.out, "  location 0x%x", place.Addr)
		if place.Semaphore != 0 {
			fmt.Fprintf(l.out, ", semaphore 0x%x", place.Semaphore)
		}
		l.out.WriteByte('\n')
		if place.Err != nil {
			fmt.Fprintf(l.out, "  arguments not understood: %s\n", l.name(place.Err.Error()))
		}
		for _, a := range args {
			fmt.Fprintf(l.out, "  %-28s %s\n", l.name(a.Name+" "+a.Type+" "+a.Operand), l.name(a.note))
		}
	}
}

// marks is `hawk usdt gc`: it removes the files of marks that ended processes have left,
// and prints which. A process that ends in good order removes its own; one that is killed
// cannot.
func (c *command) marks(args []string) int {
	if len(args) != 1 || args[0] != "gc" {
		return findWord("usdt").wrong(c, "it takes gc alone")
	}
	removed, err := usdt.Tidy()
	for _, path := range removed {
		fmt.Fprintln(c.out, path)
	}
	if err != nil {
		return c.fail(exitFailure, err)
	}
	return exitOK
}
