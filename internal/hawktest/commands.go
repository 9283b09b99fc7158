package hawktest

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sys/unix"
)

// commands are what a case can say besides testscript's own; doc.go describes them.
var commands = map[string]func(ts *testscript.TestScript, neg bool, args []string){
	"await":        cmdAwait,
	"capture":      cmdCapture,
	"c++":          cmdCompile("c++"),
	"cc":           cmdCompile("cc"),
	"debian":       cmdDebian,
	"go":           cmdCompile("go"),
	"gone":         cmdGone,
	"hawk":         cmdHawk,
	"holdings":     cmdHoldings,
	"kills":        cmdKills,
	"match":        cmdMatch,
	"needs":        cmdNeeds,
	"number":       cmdNumber,
	"peak":         cmdPeak,
	"rows":         cmdRows,
	"rustc":        cmdCompile("rustc"),
	"scratch":      cmdScratch,
	"share":        cmdShare,
	"signal":       cmdSignal,
	"start":        cmdStart,
	"status":       cmdStatus,
	"until":        cmdUntil,
	"varies":       cmdVaries,
	"waitattached": cmdWaitAttached,
}

// usage fails the case unless the command has as many arguments as it takes and no ! that it does
// not.
func usage(ts *testscript.TestScript, ok bool, text string) {
	if !ok {
		ts.Fatalf("usage: %s", text)
	}
}

// cmdNeeds does nothing: the runner has read the line before it ran the case.
func cmdNeeds(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, !neg && len(args) > 0, "needs WORD...")
}

// cmdVaries does nothing either.
func cmdVaries(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, !neg && len(args) > 0, "varies WORD...")
}

func cmdHawk(ts *testscript.TestScript, neg bool, args []string) {
	background := len(args) > 0 && args[len(args)-1] == "&"
	if background {
		usage(ts, !neg, "[!] hawk [VAR=x] ARG... or hawk ARG... &")
		args = args[:len(args)-1]
	}
	var env []string
	for len(args) > 0 && assignment.MatchString(args[0]) {
		env, args = append(env, args[0]), args[1:]
	}
	// Names of processes are variables of the case, and two of one name could not be told apart.
	if p := stateOf(ts).processes["hawk"]; p != nil {
		ts.Fatalf("hawk is running already\n%s", p.report())
	}
	p := launch(ts, "hawk", env, ts.Getenv("HAWK_BIN"), args...)
	if !background {
		p.finish(ts, neg)
	}
}

var assignment = regexp.MustCompile(`^[A-Za-z_]\w*=`)

func cmdStart(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, !neg && len(args) >= 2, "start NAME PROGRAM ARG...")
	launch(ts, args[0], nil, args[1], args[2:]...)
}

func cmdAwait(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, len(args) == 1, "[!] await NAME")
	find(ts, args[0]).finish(ts, neg)
}

func cmdSignal(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, !neg && len(args) == 2, "signal SIGNAL NAME")
	number := unix.SignalNum("SIG" + args[0])
	if number == 0 {
		ts.Fatalf("no signal %s", args[0])
	}
	// One that has ended meanwhile, by a signal before this one, takes no more; await says how it did.
	if err := find(ts, args[1]).cmd.Process.Signal(number); !errors.Is(err, os.ErrProcessDone) {
		ts.Check(err)
	}
}

func cmdUntil(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, !neg && len(args) == 3, "until NAME STREAM REGEXP")
	waitFor(ts, find(ts, args[0]), args[1], args[2])
}

func cmdWaitAttached(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, !neg && len(args) <= 1, "waitattached [N]")
	// The reference prints "Attaching N probes..." in older releases; the line's end shows that it
	// is all there.
	hawk := find(ts, "hawk")
	waitFor(ts, hawk, "stderr", `^Attached \d+ probes?$`)
	if len(args) == 1 {
		got := regexp.MustCompile(`(?m)^Attached (\d+) probes?$`).FindStringSubmatch(hawk.stderr.String())[1]
		if got != args[0] {
			ts.Fatalf("hawk attached %s probes, want %s", got, args[0])
		}
	}
}

func cmdStatus(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, len(args) == 1, "[!] status N")
	got := strconv.Itoa(stateOf(ts).status)
	if (got == args[0]) == neg {
		ts.Fatalf("exit status is %s", got)
	}
}

func cmdMatch(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, !neg && len(args) == 2, "match STREAM FILE")
	if err := MatchLines(ts.ReadFile(args[0]), ts.ReadFile(args[1])); err != nil {
		ts.Fatalf("%s against %s: %v", args[0], args[1], err)
	}
}

func cmdCapture(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, !neg && (len(args) == 3 || len(args) == 4), "capture NAME STREAM REGEXP [ELSE]")
	if len(args) == 4 && !compile(ts, args[2]).MatchString(ts.ReadFile(args[1])) {
		ts.Setenv(args[0], args[3])
		return
	}
	ts.Setenv(args[0], group(ts, args[1], args[2]))
}

// cmdNumber reads numbers in any base that C has.
func cmdNumber(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, !neg && len(args) == 4, "number STREAM REGEXP OP N")
	text := group(ts, args[0], args[1])
	got, err := strconv.ParseInt(text, 0, 64)
	ts.Check(err)
	want, err := sum(args[3])
	ts.Check(err)
	ok, err := compare(got, args[2], want)
	ts.Check(err)
	if !ok {
		ts.Fatalf("%s in %s is %d, want %s %d", args[1], args[0], got, args[2], want)
	}
}

// sum is the value of numbers with + between them.
func sum(text string) (total int64, err error) {
	for term := range strings.SplitSeq(text, "+") {
		n, err := strconv.ParseInt(term, 0, 64)
		if err != nil {
			return 0, err
		}
		total += n
	}
	return total, nil
}

// group returns the first group of the first match of pattern in a stream.
func group(ts *testscript.TestScript, stream, pattern string) string {
	text := ts.ReadFile(stream)
	m := compile(ts, pattern).FindStringSubmatch(text)
	if len(m) < 2 {
		ts.Fatalf("%s has no match for %s with a group\n%s", stream, pattern, text)
	}
	return m[1]
}

func compare(a int64, op string, b int64) (bool, error) {
	c := cmp.Compare(a, b)
	switch op {
	case "==":
		return c == 0, nil
	case "!=":
		return c != 0, nil
	case "<":
		return c < 0, nil
	case "<=":
		return c <= 0, nil
	case ">":
		return c > 0, nil
	case ">=":
		return c >= 0, nil
	}
	return false, fmt.Errorf("unknown comparison %q", op)
}

// MatchLines checks text against a pattern: the same lines, in which {{x}} matches as the regular
// expression x does and a line "..." stands for any number of lines. It reports the first line of
// the pattern that nothing fits.
func MatchLines(text, pattern string) error {
	have, want := splitLines(text), splitLines(pattern)
	regexps := make([]*regexp.Regexp, len(want))
	for i, line := range want {
		if line == "..." {
			continue
		}
		var re strings.Builder
		re.WriteString("^")
		for rest := line; rest != ""; {
			literal, after, found := strings.Cut(rest, "{{")
			re.WriteString(regexp.QuoteMeta(literal))
			expr, tail, closed := strings.Cut(after, "}}")
			if found && !closed {
				return fmt.Errorf("line %d of the pattern has {{ without }}: %s", i+1, line)
			}
			if found {
				re.WriteString("(?:" + expr + ")")
			}
			rest = tail
		}
		re.WriteString("$")
		compiled, err := regexp.Compile(re.String())
		if err != nil {
			return fmt.Errorf("line %d of the pattern: %w", i+1, err)
		}
		regexps[i] = compiled
	}

	// As with globs: on a mismatch the last "..." takes one more line, which never has to be
	// undone.
	i, j, furthest := 0, 0, 0
	dots, from := -1, 0 // the last "..." and the first line after what it stands for
	for i < len(have) || j < len(want) {
		switch {
		case j < len(want) && regexps[j] == nil:
			dots, from = j, i
			j++
		case i < len(have) && j < len(want) && regexps[j].MatchString(have[i]):
			i++
			j++
		case dots >= 0 && from < len(have):
			from++
			i, j = from, dots+1
		default:
			if furthest < len(want) {
				return fmt.Errorf("nothing fits line %d of the pattern:\n%s", furthest+1, want[furthest])
			}
			return errors.New("there is more after the pattern's last line:\n" + have[len(have)-1])
		}
		furthest = max(furthest, j)
	}
	return nil
}

// splitLines returns the lines of text without their ends.
func splitLines(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}
