package cli

import (
	"bytes"
	"strings"
	"testing"
)

// TestCommandsInHelp finds each command in help, manual and completion, and asks each for help.
func TestCommandsInHelp(t *testing.T) {
	text, page := usage(), manual()
	for _, s := range subcommands() {
		if !strings.Contains(text, "hawk "+s.word+" ") {
			t.Errorf("help has no %s", s.word)
		}
		if !strings.Contains(page, `\fB`+s.word+`\fR`) {
			t.Errorf("the manual page has no %s", s.word)
		}
		for _, args := range [][]string{{s.word, "--help"}, {"help", s.word}, {s.word, "-h"}} {
			var out, complaints bytes.Buffer
			c := &command{out: &out, err: &complaints}
			status := c.main(args)
			if status != exitOK || complaints.Len() > 0 || !strings.Contains(out.String(), s.word) {
				t.Errorf("%v: status %d, %q, %q", args, status, out.String(), complaints.String())
			}
		}
	}
}

// TestFormatsInHelp finds the texts of formats in one column.
func TestFormatsInHelp(t *testing.T) {
	text := usage()
	for _, g := range formatGroups() {
		for _, f := range g.list {
			words := strings.Fields(f.doc)
			line := "\n    " + f.name + strings.Repeat(" ", len(formatIndent)-4-len(f.name)) + words[0] + " "
			if !strings.Contains(text, line) {
				t.Errorf("help has no line %q", line)
			}
		}
	}
}
