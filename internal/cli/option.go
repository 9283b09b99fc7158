package cli

import (
	"fmt"
	"strings"

	"github.com/hawktrace/hawk/internal/spell"
)

// An option is a row of the table that parsing, help text and the check of
// completeness share. The table is made anew for each use, so that set can close over a tool's
// option.
type option struct {
	short byte   // 0: none
	long  string // "": none
	arg   string // name of the argument, "" if it takes none, "[=NAME]" if it can do without
	doc   string
	group group
	// values are what the argument can be, for completion; nil: anything.
	values []string
	// valued is set if --NAME=SET is taken, although an option of this name has no argument.
	valued bool
	set    setter
}

// optional reports whether an option can do without the argument that it can have.
func (o *option) optional() bool { return strings.HasPrefix(o.arg, "[") }

// group is the section of the help text.
type group uint8

const (
	ordinary group = iota
	pictures
	views
	developer
	trouble
	compatible // with command lines written for the reference; hawk itself needs none of them
	foreign    // of tools in other collections; never shown
)

// A usageError ends the run with a line of its own and status 1.
type usageError struct {
	// The whole line, with "ERROR: " in front where there is one.
	msg  string
	help bool // the options are what was not known: a second line leads to their list
}

// seeHelp leads to the list of options.
func (s *settings) seeHelp() string {
	if s.tool != nil {
		return "HINT: see hawk " + s.tool.Name + " --help\n"
	}
	return "HINT: see hawk --help\n"
}

// wrongOption is a mistake in an option of the command line: in the words of getopt_long
// for hawk itself, in others behind a tool.
func (s *settings) wrongOption(ofHawk, ofTool string) *usageError {
	if s.tool != nil {
		return &usageError{"ERROR: " + s.tool.Name + ": " + ofTool, true}
	}
	return &usageError{"hawk: " + ofHawk, true}
}

func (e *usageError) Error() string { return e.msg }

// usagef makes a usageError in hawk's words, without the line that leads to the list.
func usagef(format string, args ...any) error {
	return &usageError{msg: "ERROR: " + fmt.Sprintf(format, args...)}
}

// parseArgs reads a command line in the manner of GNU getopt_long: options and operands may be
// mixed, short options grouped, long ones abbreviated, and "--" ends the options. A tool that runs
// a command has no operands of its own: from the first word that is no option, everything is the
// command's, whose options hawk must not read.
func parseArgs(table []option, args []string, s *settings) error {
	for i := 0; i < len(args); i++ {
		arg := args[i]
		// next is the argument of an option that does not carry it itself.
		next := func(name string) (string, error) {
			if i+1 >= len(args) {
				return "", s.wrongOption("option '"+name+"' requires an argument", "option "+name+" needs a value")
			}
			i++
			return args[i], nil
		}
		switch {
		case arg == "--":
			s.operands = append(s.operands, args[i+1:]...)
			s.afterDashes = len(args) - i - 1
			return nil
		case strings.HasPrefix(arg, "--"):
			if err := parseLong(table, arg, next, s); err != nil {
				return err
			}
		case len(arg) > 1 && arg[0] == '-':
			if err := parseShort(table, arg[1:], next, s); err != nil {
				return err
			}
		case s.tool != nil && s.tool.RunsCommand():
			s.operands = args[i:]
			return nil
		default:
			s.operands = append(s.operands, arg)
		}
		// --help counts even if the rest of the line is wrong: who asks for it has no line that
		// is right.
		if s.stop {
			return nil
		}
	}
	return nil
}

// parseLong reads a long option: --name, --name=value, --name value. An argument that may be
// left out is read from behind the "=" alone, as getopt_long does.
func parseLong(table []option, arg string, next func(string) (string, error), s *settings) error {
	name, value, has := strings.Cut(arg[2:], "=")
	o, err := s.findLong(table, name)
	if err != nil {
		return err
	}
	switch {
	case o.arg == "" && has && !o.valued:
		return s.wrongOption("option '--"+o.long+"' doesn't allow an argument", "option --"+o.long+" takes no value")
	case o.arg != "" && !has && !o.optional():
		if value, err = next("--" + o.long); err != nil {
			return err
		}
	}
	return o.set.note(s, value)
}

// findLong finds an option by its name or an unambiguous beginning of it. The errors are those of
// getopt_long, since scripts around bpftrace look for them; behind a tool they are hawk's.
func (s *settings) findLong(table []option, name string) (*option, error) {
	var found []*option
	for i := range table {
		switch {
		case table[i].long == "":
		// A whole name wins over those that it is the beginning of.
		case table[i].long == name:
			return &table[i], nil
		case name != "" && strings.HasPrefix(table[i].long, name) && table[i].group != foreign:
			found = append(found, &table[i])
		}
	}
	switch len(found) {
	case 0:
		e := s.wrongOption("unrecognized option '--"+name+"'", "unknown option --"+name)
		var names []string
		for _, o := range table {
			if o.group != foreign {
				names = append(names, o.long)
			}
		}
		if near := spell.Nearest(name, names); near != "" {
			e.msg, e.help = e.msg+"\nHINT: did you mean --"+near+"?", false
		}
		return nil, e
	case 1:
		return found[0], nil
	}
	var names []string
	for _, o := range found {
		names = append(names, "'--"+o.long+"'")
	}
	possible := "option '--" + name + "' is ambiguous; possibilities: " + strings.Join(names, " ")
	return nil, s.wrongOption(possible, strings.ReplaceAll(possible, "'", ""))
}

// parseShort reads a group of short options; the rest behind one that takes an argument is that
// argument. The last row of a letter wins, so that rows that are appended can take one over.
func parseShort(table []option, letters string, next func(string) (string, error), s *settings) error {
	for j := 0; j < len(letters); j++ {
		var o *option
		for i := range table {
			if table[i].short == letters[j] {
				o = &table[i]
			}
		}
		if o == nil {
			letter := letters[j : j+1]
			return s.wrongOption("invalid option -- '"+letter+"'", "unknown option -"+letter)
		}
		if o.arg == "" {
			if err := o.set.note(s, ""); err != nil {
				return err
			}
			continue
		}
		value, err := letters[j+1:], error(nil)
		if value == "" && !o.optional() {
			value, err = next("-" + string(o.short))
		}
		if err == nil {
			err = o.set.note(s, value)
		}
		return s.meantElsewhere(err, "-"+string(o.short))
	}
	return nil
}
