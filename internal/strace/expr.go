package strace

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/hawktrace/hawk/internal/spell"
)

// A Filter says which calls and signals are shown, and how: the -e of the command line. The zero
// value shows everything. A set that is not nil and empty matches nothing, which is what "none"
// says: so nil and empty differ throughout.
type Filter struct {
	trace                 []matcher // nil: all
	raw                   []matcher // arguments of these are shown in hexadecimal
	abbrev                []matcher // structs of these alone are shown in short; nil: of all, but with -v
	decoded               []matcher // structs of these alone are shown; nil: of all
	signals               []string  // nil: all; with others those alone, or all but those
	without               bool
	not                   bool // trace names those that are not shown
	notRaw                bool
	notAbbrev, notDecoded bool
	status                []string
	quiet                 []string
	behind                []string // kinds of what is shown behind descriptors; nil: -y and -yy say

	read, write *descriptors // whose data are dumped
}

// A matcher is one name of a set of calls. Of the three one is set. Classes are kept as letters,
// so that one that spans many calls is one comparison.
type matcher struct {
	name string // "": by one of the others
	// Letters of calls.txt; a call that has one of them is meant.
	classes string
	expr    *regexp.Regexp
}

// Set reads one expression of -e: trace=SET, signal=SET, status=SET, quiet=SET, raw=SET,
// decode-fds=SET and others, or a SET of calls alone. An expression replaces the one before of
// the same key, as in strace.
func (f *Filter) Set(text, goarch string) error {
	key, set, ok := strings.Cut(text, "=")
	if !ok {
		key, set = "trace", text
	}
	switch key {
	case "trace", "t":
		var err error
		f.trace, f.not, err = calls(set, goarch)
		return err
	case "raw", "x":
		var err error
		f.raw, f.notRaw, err = calls(set, goarch)
		return err
	case "signal", "signals", "s":
		return f.setSignals(set)
	case "status":
		return f.setStatus(set)
	case "quiet", "silent", "silence", "q":
		var err error
		f.quiet, err = wordsOfSet("message", set, quietWords, quietAliases)
		return err
	case "decode-fds", "decode-fd", "fds", "fd", "f":
		var err error
		f.behind, err = wordsOfSet("kind of descriptor", set, behindWords, nil)
		return err
	case "abbrev", "a":
		var err error
		f.abbrev, f.notAbbrev, err = calls(set, goarch)
		return err
	case "verbose", "v":
		var err error
		f.decoded, f.notDecoded, err = calls(set, goarch)
		return err
	case "inject", "fault":
		return fmt.Errorf("hawk strace observes only; it can not inject")
	case "read", "reads", "r":
		var err error
		f.read, err = setDescriptors(set)
		return err
	case "write", "writes", "w":
		var err error
		f.write, err = setDescriptors(set)
		return err
	case "kvm":
		return fmt.Errorf("-e %s= is not there", key)
	}
	return fmt.Errorf("-e %s= is not known; there are trace, signal, status, quiet, raw, abbrev, "+
		"verbose, decode-fds, read and write", key)
}

// calls reads a set of system calls. Not: those that are not in it are meant. "?name" may be
// missing on this machine, "name@64" has a personality that hawk does not tell apart; a name that
// only another processor has is accepted and matches nothing, so that one command line serves
// several machines.
func calls(set, goarch string) (out []matcher, not bool, err error) {
	set, not = strings.CutPrefix(set, "!")
	all := numbers(goarch)
	out = []matcher{}
	for word := range strings.SplitSeq(set, ",") {
		word, optional := strings.CutPrefix(word, "?")
		word, _, _ = strings.Cut(word, "@")
		switch {
		case word == "all":
			out = append(out, matcher{expr: regexp.MustCompile("")})
		case word == "none" || word == "":
		case strings.HasPrefix(word, "/"):
			re, err := regexp.Compile(word[1:])
			if err != nil {
				return nil, false, err
			}
			out = append(out, matcher{expr: re})
		case classes.of(word) != "":
			out = append(out, matcher{classes: classes.of(word)})
		case classes.of("%"+word) != "":
			out = append(out, matcher{classes: classes.of("%" + word)})
		case strings.HasPrefix(word, "%"):
			return nil, false, fmt.Errorf("no class of system calls is called %s", word)
		case slices.Contains(all, word):
			out = append(out, matcher{name: word})
		case strings.Contains(callsText(), "\n"+word+" "): // of another processor
		case !optional:
			if near := spell.Nearest(word, all); near != "" {
				return nil, false, fmt.Errorf("no system call is called %s; did you mean %s?", word, near)
			}
			return nil, false, fmt.Errorf("no system call is called %s", word)
		}
	}
	return out, not, nil
}

// matches reports whether a call is one of a set.
func matches(set []matcher, name, classes string) bool {
	return slices.ContainsFunc(set, func(m matcher) bool {
		return m.name == name && name != "" || m.classes != "" && strings.ContainsAny(m.classes, classes) ||
			m.expr != nil && m.expr.MatchString(name)
	})
}

// Some reports whether not all calls are traced. The script needs its map of chosen calls only
// then.
func (f *Filter) Some() bool { return f.trace != nil }

// Traced reports whether a call is traced. It is asked when the plans are made; from then on the
// programs in the kernel decide by those.
func (f *Filter) Traced(name, classes string) bool {
	return f.trace == nil || matches(f.trace, name, classes) != f.not
}

// isRaw reports whether a call's arguments are shown as numbers.
func (f *Filter) isRaw(c *call) bool {
	return f.raw != nil && matches(f.raw, c.name, c.classes) != f.notRaw
}

// isShort reports whether a call's structs are shown in short.
func (o *Options) isShort(c *call) bool {
	if o.abbrev == nil {
		return !o.Verbose
	}
	return matches(o.abbrev, c.name, c.classes) != o.notAbbrev
}

// isOpaque reports whether a call's structs are shown as addresses.
func (f *Filter) isOpaque(c *call) bool {
	return f.decoded != nil && matches(f.decoded, c.name, c.classes) == f.notDecoded
}

// setSignals reads a set of signals, with or without SIG. "none" is a set that is not nil but
// empty.
func (f *Filter) setSignals(set string) error {
	set, f.without = strings.CutPrefix(set, "!")
	f.signals = []string{}
	for word := range strings.SplitSeq(set, ",") {
		switch word {
		case "all":
			f.signals = nil
			if f.without {
				f.signals, f.without = []string{}, false
			}
			return nil
		case "none", "":
			continue
		}
		name := strings.TrimPrefix(strings.ToUpper(word), "SIG")
		known := false
		for n := 1; n <= 64; n++ {
			known = known || signalName(n) == name
		}
		if !known {
			return fmt.Errorf("no signal is called %s", word)
		}
		f.signals = append(f.signals, name)
	}
	return nil
}

// Signal reports whether a signal is shown. SIGKILL is never asked about: no thread sees it
// delivered.
func (f *Filter) Signal(name string) bool {
	return f.signals == nil && !f.without || slices.Contains(f.signals, name) != f.without
}

// Words of the sets of quiet= and decode-fds=. One of a descriptor's kinds of its own is shown with
// -yy alone; the paths of all are "path".
var (
	quietWords   = []string{"attach", "exit", "path-resolution", "personality", "thread-execve"}
	quietAliases = map[string]string{"exits": "exit", "path": "path-resolution", "superseded": "thread-execve"}
	behindWords  = []string{"path", "socket", "dev", "pidfd"}
	statusWords  = []string{"successful", "failed", "unfinished", "unavailable", "detached"}
)

// setStatus reads a set of ends of calls.
func (f *Filter) setStatus(set string) (err error) {
	f.status, err = wordsOfSet("status", set, statusWords, nil)
	return err
}

// wordsOfSet reads a set of words, of all that there are; "!" in front: those that are not named. They
// are kept in one order. The set is not nil, but may be empty.
func wordsOfSet(what, set string, all []string, aliases map[string]string) ([]string, error) {
	set, not := strings.CutPrefix(set, "!")
	var words []string
	for word := range strings.SplitSeq(set, ",") {
		if other, ok := aliases[word]; ok {
			word = other
		}
		switch {
		case word == "all":
			words = append(words, all...)
		case word == "none":
		case slices.Contains(all, word):
			words = append(words, word)
		default:
			return nil, fmt.Errorf("no %s is called %s; there are %s", what, word, strings.Join(all, ", "))
		}
	}
	out := []string{}
	for _, word := range all {
		if slices.Contains(words, word) != not {
			out = append(out, word)
		}
	}
	return out, nil
}

// shows reports whether a call with such an end is shown. unavailable and detached are words of
// strace for ends that hawk has no events of.
func (f *Filter) shows(c *Call) bool {
	if f.status == nil {
		return true
	}
	status := "successful"
	switch {
	case c.Unfinished:
		status = "unfinished"
	case c.failed():
		status = "failed"
	}
	return slices.Contains(f.status, status)
}

// silent reports whether messages of a kind are left out. -q leaves out more and more of them
// instead, see Sink.end.
func (f *Filter) silent(kind string) bool {
	return slices.Contains(f.quiet, kind)
}
