package hawktest

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// A lessonCommand is a command of the tutorial and what the page shows of its output.
type lessonCommand struct {
	lesson, text, want string
}

// lessonCommands reads the blocks of commands: a command begins with "$ " and goes on with "> ";
// what follows is its output.
func lessonCommands(page string) []lessonCommand {
	var out []lessonCommand
	lesson, inside := "", false
	for line := range strings.Lines(page) {
		line = strings.TrimRight(line, "\n")
		switch {
		case strings.HasPrefix(line, "## "):
			lesson = line[3:]
		case line == "```console":
			inside = true
		case line == "```":
			inside = false
		case !inside:
		case strings.HasPrefix(line, "$ "):
			out = append(out, lessonCommand{lesson: lesson, text: line[2:]})
		case strings.HasPrefix(line, "> "):
			out[len(out)-1].text += "\n" + line[2:]
		default:
			out[len(out)-1].want += line + "\n"
		}
	}
	return out
}

// The parts of a page that differ from one machine, and one run, to the next.
var (
	pageNumber = regexp.MustCompile(`\d+`)
	pageUnit   = regexp.MustCompile(`\((\{\{\\d\+\}\}) (ns|μs|ms)\)`)
	pageBar    = regexp.MustCompile(` +\|@* *\|`)
	pageSpaces = regexp.MustCompile(`  +`)

	// Memory holds what it holds by chance when a probe fires.
	unreadable = regexp.MustCompile(`(?m)^WARNING: Total unreadable string count: .*\n(HINT: .*\n)?`)
)

// lessonPattern makes a pattern for MatchLines of output on the page: any number stands for any
// other, … for anything.
func lessonPattern(want string) string {
	want = pageNumber.ReplaceAllString(want, `{{\d+}}`)
	want = pageUnit.ReplaceAllString(want, `($1 {{[nμm]s}})`)
	want = pageBar.ReplaceAllString(want, `{{ +\|@* *\|}}`)
	want = pageSpaces.ReplaceAllString(want, `{{ +}}`)
	return strings.ReplaceAll(want, "…", "{{.*}}")
}

// TestTutorial runs every command of docs/tutorial.md, in order and in one directory.
func TestTutorial(t *testing.T) {
	for _, word := range []string{"root", "native", "uprobe", "perf_sw"} {
		if missing, err := Have(word); err != nil || missing != nil {
			t.Skipf("%s: %v %v", word, missing, err)
		}
	}
	hawk, err := hawkOnce()
	if err != nil {
		t.Fatal(err)
	}
	root, err := Root()
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(root, "docs/tutorial.md"))
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(page), "\n## "); n != 12 {
		t.Errorf("there are %d lessons", n)
	}
	dir := t.TempDir()
	seen := map[string]bool{}
	for _, c := range lessonCommands(string(page)) {
		seen[c.lesson] = true
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		cmd := exec.CommandContext(ctx, "sh", "-c", c.text)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "PATH="+filepath.Dir(hawk)+":"+os.Getenv("PATH"))
		out, err := cmd.CombinedOutput()
		cancel()
		if err != nil {
			t.Errorf("lesson %s: %s\n%v\n%s", c.lesson, c.text, err, out)
			continue
		}
		got, want := strings.TrimRight(unreadable.ReplaceAllString(string(out), ""), "\n"),
			strings.TrimRight(c.want, "\n")
		if err := MatchLines(got, lessonPattern(want)); err != nil {
			t.Errorf("lesson %s: %s\n%v\noutput:\n%s\nthe page has:\n%s", c.lesson, c.text, err, got, want)
		}
	}
	if len(seen) != 12 {
		t.Errorf("%d lessons have commands", len(seen))
	}
}

func TestLessonPattern(t *testing.T) {
	for _, c := range []struct {
		page, out string
		ok        bool
	}{
		{"@reads: 16", "@reads: 7", true},
		{"@reads: 16", "@writes: 16", false},
		{"[2K, 4K)               5 |@@@@  |", "[2K, 4K)              60 |@@@@@@|", true},
		{"[       OK ] clamp (23 μs)", "[       OK ] clamp (9 ms)", true},
		{"...\n@[\n...\n, …]: 12", "@[\n  a+1\n, x]: 1\n@[\n, yy]: 2", true},
		{"hello", "hello, you", false},
	} {
		if err := MatchLines(c.out, lessonPattern(c.page)); (err == nil) != c.ok {
			t.Errorf("%q against %q: %v", c.out, c.page, err)
		}
	}
}
