package hawktest

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hawktrace/hawk/internal/session/child"
	"github.com/hawktrace/hawk/internal/tool"
)

// TestToolsProven asks for a case of each tool.
func TestToolsProven(t *testing.T) {
	root, err := Root()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range tool.Names() {
		path := filepath.Join(ScriptDir, "tool_"+name+".txtar")
		if _, err := os.Stat(filepath.Join(root, path)); err != nil {
			t.Errorf("nothing proves the tool %s: write %s", name, path)
		}
	}
}

// TestToolsStart runs each tool beside a process that sleeps: it prints the line of names
// that its manual shows, and nothing else, or says what the kernel lacks.
func TestToolsStart(t *testing.T) {
	if missing, err := Have("root"); err != nil || missing != nil {
		t.Skipf("needs root: %v", errors.Join(missing, err))
	}
	hawk, err := hawkOnce()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	sleeper := exec.CommandContext(ctx, "sleep", "600")
	if err := sleeper.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		sleeper.Process.Kill()
		sleeper.Wait()
	}()
	narrowed := regexp.MustCompile(os.Getenv("HAWK_CASE"))
	for _, tl := range tool.All() {
		if !narrowed.MatchString(tl.Name) {
			continue
		}
		t.Run(tl.Name, func(t *testing.T) {
			if tl.RunsCommand() {
				t.Skip("what it prints is of a command: its case shows that it starts")
			}
			args, header, err := sampled(tl)
			if err != nil {
				t.Fatal(err)
			}
			args = append(args, "--duration", "300ms", "-p", strconv.Itoa(sleeper.Process.Pid))
			var out, errs bytes.Buffer
			cmd := exec.CommandContext(ctx, hawk, args...)
			cmd.Stdout, cmd.Stderr = &out, &errs
			err = cmd.Run()
			if lacks := errs.String(); strings.Contains(lacks, "needs one of: ") ||
				strings.Contains(lacks, " has no marks of a known language\n") {
				t.Skip(lacks)
			}
			// Probes may fire often for what others do on the machine; profile says how much it saw.
			attached := regexp.MustCompile(
				`^Attached \d+ probes?\n(WARNING: .* a second, which takes .*\n)*(\d+ samples?\n)?$`)
			if err != nil || !attached.MatchString(errs.String()) {
				t.Fatalf("hawk %s: %v\n%s", strings.Join(args, " "), err, errs.String())
			}
			first, _, _ := strings.Cut(out.String(), "\n")
			if strings.Contains(tl.Body(), "row(") && first != header {
				t.Errorf("the sample begins with %q, the output with %q", header, first)
			}
			lines := strings.Count(out.String(), "\n")
			if lines == 2 && strings.Contains(tl.Body(), "due(@reports)") {
				lines-- // the report at the end, where that is a row
			}
			// Tools of the whole machine print what the kernel does for nobody in particular.
			ofAll := strings.Contains(tl.Body(), "target_filter = own") && !strings.Contains(tl.Body(), "is_target(")
			if strings.Contains(tl.Body(), "row(") && lines != 1 && !ofAll {
				t.Errorf("it prints %d lines about a process that sleeps\n%s", lines, out.String())
			}
			runsPrinted(ctx, t, hawk, args)
		})
	}
}

// runsPrinted runs what --print-script prints of a tool: a script that compiles by itself, and
// attaches what the options leave of it.
func runsPrinted(ctx context.Context, t *testing.T, hawk string, args []string) {
	script, err := exec.CommandContext(ctx, hawk, append(args, "--print-script")...).Output()
	if err != nil {
		t.Fatalf("hawk %s --print-script: %v", strings.Join(args, " "), err)
	}
	cmd := exec.CommandContext(ctx, hawk, "--duration", "50ms", "-")
	cmd.Stdin = bytes.NewReader(script)
	if out, err := cmd.CombinedOutput(); err != nil || bytes.Contains(out, []byte("ERROR: ")) {
		t.Errorf("what hawk %s --print-script prints: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// sampled is how the tool is run that its manual has a sample of, and the first line of
// that. The sample may begin with the command, behind a #.
func sampled(tl *tool.Tool) (args []string, header string, err error) {
	sample := slices.Clone(tl.Sample)
	args = []string{tl.Name}
	if command, ok := strings.CutPrefix(sample[0], "# "); ok {
		args, err = child.SplitCommand(command)
		sample = sample[1:]
	}
	return args, sample[0], err
}
