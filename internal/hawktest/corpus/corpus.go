// Package corpus reads the scripts of testdata/corpus: scripts in the style of production use that
// hawk has to compile, that every kernel has to accept, and whose output is checked where it can be
// foretold. A script says about itself, in comments of one line anywhere in it:
//
//	// needs: WORD...     what the machine must have, as in cases (hawktest.Needs); without this it
//	                      compiles anywhere and runs on every kernel
//	// params: ARG...     positional parameters, split as a command line; $GLIBC is the
//	                      directory of a libc with probes
//	// run: COMMAND       the command to trace, as with -c; no shell is involved
//	// flags: FLAG...     unsafe: as with --unsafe; compile: too much for a machine shared
//	                      with others, it is not attached
//	// expect:            the comments that follow are what it prints, as in cases: lines
//	                      are literal but for {{regexp}}, "..." is any lines;
//	                      blank lines do not count
//	// expect-err:        the same for messages while it runs; without this there must be none
//
// The names of the files are area_topic.bt.
package corpus

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/hawktrace/hawk/internal/hawktest"
	"github.com/hawktrace/hawk/internal/session/child"
)

// A Script is one file of the corpus.
type Script struct {
	Name   string // file name without extension
	Text   string
	Needs  []string
	Params []string
	Run    []string // the command to trace; nil: none
	Flags  []string

	Expects   bool   // whether the output is checked
	Stdout    string // the expected lines, if Expects
	Stderr    string // the expected messages
	sawStderr bool
}

// Load reads all scripts, in the order of their names. $HAWK_CORPUS names their directory where it
// is not that of the module.
func Load() ([]*Script, error) {
	dir := os.Getenv("HAWK_CORPUS")
	if dir == "" {
		root, err := hawktest.Root()
		if err != nil {
			return nil, err
		}
		dir = filepath.Join(root, hawktest.CorpusDir)
	}
	paths, err := filepath.Glob(filepath.Join(dir, "*.bt"))
	if err != nil {
		return nil, err
	}
	if len(paths) == 0 {
		return nil, fmt.Errorf("no scripts in %s", dir)
	}
	var scripts []*Script
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		s, err := parse(strings.TrimSuffix(filepath.Base(path), ".bt"), string(text))
		if err != nil {
			return nil, err
		}
		scripts = append(scripts, s)
	}
	return scripts, nil
}

// parse reads what a script says about itself.
func parse(name, text string) (*Script, error) {
	s := &Script{Name: name, Text: text}
	var block *string // the expected text that the current comments belong to
	for line := range strings.Lines(text) {
		comment, ok := strings.CutPrefix(strings.TrimRight(line, "\r\n"), "//")
		if !ok {
			block = nil
			continue
		}
		word, rest, _ := strings.Cut(strings.TrimSpace(comment), ":")
		switch word {
		case "needs":
			s.Needs = append(s.Needs, strings.Fields(rest)...)
		case "flags":
			s.Flags = append(s.Flags, strings.Fields(rest)...)
		case "params", "run":
			if strings.Contains(rest, "$GLIBC") {
				glibc, _ := hawktest.Glibc() // where there is none, the script that needs it is not run
				rest = strings.ReplaceAll(rest, "$GLIBC", glibc)
			}
			words, err := child.SplitCommand(rest)
			if err != nil {
				return nil, fmt.Errorf("%s: %s: %w", name, word, err)
			}
			if word == "run" {
				s.Run = words
			} else {
				s.Params = words
			}
		case "expect":
			s.Expects, block = true, &s.Stdout
			continue
		case "expect-err":
			s.sawStderr, block = true, &s.Stderr
			continue
		default:
			if block != nil {
				*block += strings.TrimPrefix(comment, " ") + "\n"
			}
			continue
		}
		block = nil
	}
	for _, f := range s.Flags {
		if f != "unsafe" && f != "compile" {
			return nil, fmt.Errorf("%s: no flag is called %q", name, f)
		}
	}
	if s.sawStderr && !s.Expects {
		return nil, fmt.Errorf("%s: messages are expected of a script that is not run", name)
	}
	return s, nil
}

// Has says whether the script has a flag.
func (s *Script) Has(flag string) bool { return slices.Contains(s.Flags, flag) }

// Missing says what the script needs and this machine does not have; it is nil if the script can
// run here.
func (s *Script) Missing() (missing, err error) {
	return (&hawktest.Case{Name: s.Name, Needs: s.Needs}).Missing()
}

// chance is what hawk says of losses that are nobody's fault: whether the memory of a program that
// has just started is there to be read, and, since Linux 7.0, whether the task that a tracepoint is
// in loses its CPU to one that comes there too.
var chance = regexp.MustCompile(`(?m)^WARNING: Total (unreadable string|skipped event) count: .*\n(HINT: .*\n)?`)

// Check compares what the script printed with what it is to print.
func (s *Script) Check(stdout, stderr string) error {
	messages := chance.ReplaceAllString(stderr, "")
	if err := hawktest.MatchLines(hawktest.DropBlank(messages), hawktest.DropBlank(s.Stderr)); err != nil {
		return fmt.Errorf("messages: %w\n%s", err, stderr)
	}
	if err := hawktest.MatchLines(hawktest.DropBlank(stdout), hawktest.DropBlank(s.Stdout)); err != nil {
		return fmt.Errorf("output: %w\n%s", err, stdout)
	}
	return nil
}
