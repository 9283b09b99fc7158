package hawktest

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// completed are command lines up to where the tabulator key is pressed, what is typed behind that,
// and the words that the shell then sees.
var completed = []struct {
	typed, after string
	want         []string
}{
	{"--dur", "", []string{"--duration"}},
	{"--fm", "", []string{"--fmt"}},
	{"-B fu", "", []string{"-B", "full"}},
	{"--mode cod", "", []string{"--mode", "codegen"}},
	{"-d verif", "", []string{"-d", "verifier"}},
	{"-l watchp", "", []string{"-l", "watchpoint:"}},
	{"-l interval:h", "", []string{"-l", "interval:hz:"}},
	{"-q --list self:signal:SIGU", "", []string{"-q", "--list", "self:signal:SIGUSR1"}},
	{"--include lib.", "", []string{"--include", "lib.h"}},
	{"--include lib.h tool.", "", []string{"--include", "lib.h", "tool.bt"}},
	{"tool.", "", []string{"tool.bt"}},
	{"opens", "", []string{"opensnoop"}},
	{"help opens", "", []string{"help", "opensnoop"}},
	{"opensnoop -x --dur", "", []string{"opensnoop", "-x", "--duration"}},
	{"opensnoop --print-u", "", []string{"opensnoop", "--print-uid"}},
	{"-e 'begin { str_conc", "(1) }'", []string{"-e", "begin { str_concat(1) }"}},
	{"-e 'rawtr", ":x { }'", []string{"-e", "rawtracepoint:x { }"}},
}

// completingShells are the shells that are used by typing. They say READY when they wait for a
// command.
var completingShells = map[string]struct {
	rcFile string
	rc     string // a format of its content, with the place of the completion
	args   []string
}{
	"bash": {"rc", "source %s\nbind 'set bell-style none'\nbind 'set enable-bracketed-paste off'\nPS1='READY '\n",
		[]string{"--noprofile", "--rcfile", "rc", "-i"}},
	"zsh": {".zshrc", "fpath=(${0:h} $fpath)\nautoload -Uz compinit\ncompinit -u -D\nsource %s " +
		"2>/dev/null\ncompdef _hawk hawk\nunset zle_bracketed_paste\n" +
		"bindkey -e\nsetopt no_beep no_prompt_sp\nPS1='READY '\n", []string{"-d", "-i"}},
}

// TestCompletion presses the tabulator key in real shells.
func TestCompletion(t *testing.T) {
	hawk, err := hawkOnce()
	if err != nil {
		t.Fatal(err)
	}
	for _, shell := range []string{"bash", "zsh", "fish"} {
		t.Run(shell, func(t *testing.T) {
			path, err := exec.LookPath(shell)
			if err != nil {
				t.Skipf("%s is not installed", shell)
			}
			dir := t.TempDir()
			script, err := exec.Command(hawk, "--completion", shell).Output()
			if err != nil {
				t.Fatal(err)
			}
			for name, text := range map[string]string{"completion": string(script), "lib.h": "", "tool.bt": ""} {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			complete := func(typed, _ string) ([]string, error) { return completeFish(path, hawk, dir, typed) }
			if shell != "fish" {
				terminal, err := startShell(shell, path, hawk, dir)
				if err != nil {
					t.Fatal(err)
				}
				defer terminal.end()
				complete = terminal.complete
			}
			for _, c := range completed {
				want := slices.Clone(c.want)
				if shell == "fish" {
					// It offers words and does not type them: what follows is none of its business.
					last := &want[len(want)-1]
					*last = strings.TrimSuffix(*last, strings.TrimSuffix(c.after, "'"))
				}
				got, err := complete(c.typed, c.after)
				if err != nil {
					t.Fatalf("%q: %v", c.typed, err)
				}
				if !slices.Equal(got, want) {
					t.Errorf("%q becomes %q, want %q", c.typed, got, want)
				}
			}
		})
	}
}

// shellCommand prepares a shell that finds hawk and has no settings but ours.
func shellCommand(path, hawk, dir string, args ...string) *exec.Cmd {
	cmd := exec.Command(path, args...)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + filepath.Dir(hawk) + ":" + os.Getenv("PATH"), "HOME=" + dir,
		"ZDOTDIR=" + dir, "TERM=dumb", "LC_ALL=C.UTF-8", "HISTFILE="}
	return cmd
}

// completeFish asks fish what it would offer; the only offer takes the place of the last word.
func completeFish(path, hawk, dir, typed string) ([]string, error) {
	cmd := shellCommand(path, hawk, dir, "--no-config", "-c",
		"source completion; complete -C \"hawk $argv[1]\"", "--", typed)
	out, err := cmd.Output()
	if err != nil {
		return nil, err
	}
	var words []string
	for line := range strings.Lines(string(out)) {
		word, _, _ := strings.Cut(strings.TrimRight(line, "\n"), "\t")
		words = append(words, word)
	}
	before := typed
	if open := strings.Index(typed, "'"); open >= 0 {
		before = typed[:open]
	} else {
		before = typed[:strings.LastIndex(typed, " ")+1]
	}
	// It lists words that merely have these letters, too, and offers none of them where others begin so.
	begun := slices.DeleteFunc(slices.Clone(words), func(word string) bool {
		return !strings.HasPrefix(word, typed[len(before):])
	})
	if len(begun) > 0 {
		words = begun
	}
	if len(words) != 1 {
		return nil, fmt.Errorf("fish offers %q", words)
	}
	return append(strings.Fields(before), words[0]), nil
}

// startShell starts a shell on a terminal.
func startShell(shell, path, hawk, dir string) (_ *terminal, err error) {
	s := completingShells[shell]
	if err := os.WriteFile(filepath.Join(dir, s.rcFile),
		fmt.Appendf(nil, s.rc, filepath.Join(dir, "completion")), 0o644); err != nil {
		return nil, err
	}
	t, err := openTerminal()
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			t.Close()
		}
	}()
	line, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", t.number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, err
	}
	defer line.Close()
	t.shell = shellCommand(path, hawk, dir, s.args...)
	t.shell.Stdin, t.shell.Stdout, t.shell.Stderr = line, line, line
	t.shell.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	return t, t.shell.Start()
}

// end ends the shell.
func (t *terminal) end() {
	t.shell.Process.Kill()
	t.shell.Wait()
	t.Close()
}

// complete types a command line, presses the tabulator key behind it, and has the shell print the
// words of what that became.
func (t *terminal) complete(typed, after string) ([]string, error) {
	if _, err := t.until("READY "); err != nil {
		return nil, err
	}
	// Home, then a command in front that shows its words between bars.
	if _, err := t.WriteString("hawk " + typed + "\t" + after + "\x01printf '|%s' \x05; echo '|EN''D'\r"); err != nil {
		return nil, err
	}
	text, err := t.until("|END")
	if err != nil {
		return nil, err
	}
	at := strings.LastIndex(text, "|hawk|")
	if at < 0 {
		return nil, fmt.Errorf("no command line in %q", text)
	}
	return strings.Split(strings.TrimSuffix(text[at+len("|hawk|"):], "|END"), "|"), nil
}

// A terminal is the far end of a pseudo-terminal.
type terminal struct {
	*os.File
	number int
	shell  *exec.Cmd
	shown  []byte // and not looked at
}

func openTerminal() (*terminal, error) {
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	t := &terminal{File: os.NewFile(uintptr(fd), "/dev/ptmx")}
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		return nil, errors.Join(err, t.Close())
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		return nil, errors.Join(err, t.Close())
	}
	t.number = n
	// Wide enough that no line of ours is broken.
	return t, unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 50, Col: 250})
}

// until reads what is shown up to a text.
func (t *terminal) until(text string) (string, error) {
	t.SetReadDeadline(time.Now().Add(30 * time.Second))
	for buf := make([]byte, 4096); ; {
		if i := bytes.Index(t.shown, []byte(text)); i >= 0 {
			before := string(t.shown[:i+len(text)])
			t.shown = t.shown[i+len(text):]
			return before, nil
		}
		n, err := t.Read(buf)
		t.shown = append(t.shown, buf[:n]...)
		if err != nil {
			return "", fmt.Errorf("waiting for %q: %w; the terminal shows %q", text, err, t.shown)
		}
	}
}
