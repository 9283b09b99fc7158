package hawktest

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// A row is one script of a table with all that it prints.
type row struct {
	line   int // where it starts in the file, from 1
	script string
	args   []string // behind the script
	stdout string   // patterns, as for MatchLines
	stderr string
	status int
}

// parseRows reads a table of scripts:
//
//	# a comment
//	> script, one or more lines
//	$ ARG...        what stands behind the script on the command line
//	= STATUS        how hawk ends, if not with 0
//	! message       the lines that hawk prints to its standard error
//	output          those that it prints to its standard output
//
// Output and messages are patterns as match has them; blank lines do not count. A table spares
// hundreds of cases of one script each their files.
func parseRows(text string) ([]*row, error) {
	var rows []*row
	inScript := false
	number := 0
	for line := range strings.Lines(text) {
		number++
		line = strings.TrimRight(line, "\r\n")
		mark, rest, _ := strings.Cut(line, " ")
		if mark == ">" {
			if !inScript {
				rows = append(rows, &row{line: number})
			}
			last := rows[len(rows)-1]
			last.script += rest + "\n"
			inScript = true
			continue
		}
		inScript = false
		if mark == "#" || strings.TrimSpace(line) == "" {
			continue
		}
		if len(rows) == 0 {
			return nil, fmt.Errorf("line %d stands before the first script", number)
		}
		last := rows[len(rows)-1]
		switch mark {
		case "$":
			last.args = strings.Fields(rest)
		case "=":
			status, err := strconv.Atoi(rest)
			if err != nil {
				return nil, fmt.Errorf("line %d: %w", number, err)
			}
			last.status = status
		case "!":
			last.stderr += rest + "\n"
		default:
			last.stdout += line + "\n"
		}
	}
	return rows, nil
}

// check compares what hawk did with what the row says.
func (r *row) check(stdout, stderr string, status int) error {
	if status != r.status {
		return fmt.Errorf("exit status is %d, want %d", status, r.status)
	}
	if err := MatchLines(DropBlank(stderr), r.stderr); err != nil {
		return fmt.Errorf("messages: %w", err)
	}
	if err := MatchLines(DropBlank(stdout), r.stdout); err != nil {
		return fmt.Errorf("output: %w", err)
	}
	return nil
}

// DropBlank removes the lines with nothing in them.
func DropBlank(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if strings.TrimSpace(line) != "" {
			b.WriteString(line)
		}
	}
	return b.String()
}

// cmdRows goes on behind a script that fails, so that one run shows all that is wrong.
func cmdRows(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, !neg && len(args) == 1, "rows FILE")
	rows, err := parseRows(ts.ReadFile(args[0]))
	ts.Check(err)
	if len(rows) == 0 {
		ts.Fatalf("%s has no scripts", args[0])
	}
	failed := 0
	for _, r := range rows {
		p := launch(ts, "hawk", nil, ts.Getenv("HAWK_BIN"),
			append([]string{"-q", "-e", strings.TrimSuffix(r.script, "\n")}, r.args...)...)
		p.wait(ts)
		if err := r.check(p.stdout.String(), p.stderr.String(), p.status()); err != nil {
			failed++
			ts.Logf("%s:%d: %v\n%s", args[0], r.line, err, p.report())
		}
	}
	if failed > 0 {
		ts.Fatalf("%d of %d scripts do not do what they should", failed, len(rows))
	}
}
