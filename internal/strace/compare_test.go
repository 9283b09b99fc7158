package strace_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// programs are what TestCompare runs.
var programs = []string{
	"tar cf /dev/null /etc/ssl", "sort /etc/passwd", "find /etc -name passwd", "sed -n 1,2p /etc/passwd",
	"xz -k -c /etc/services", "ls -la /etc", "cat /etc/hostname", "git --version", "perl -e print(1)", "id",
	"sh -c ls|sort|tail", "env", "grep root /etc/passwd", "python3 -c import(json)", "date",
}

// TestCompare compares lines with those of strace, by threads and without addresses and numbers of
// processes. It needs strace, and HAWK_COMPARE with the path of hawk.
func TestCompare(t *testing.T) {
	hawk := os.Getenv("HAWK_COMPARE")
	if hawk == "" {
		t.Skip("set HAWK_COMPARE to the path of hawk")
	}
	if _, err := exec.LookPath("strace"); err != nil {
		t.Skip(err)
	}
	for _, program := range programs {
		argv := strings.Fields(program)
		if len(argv) == 3 && argv[1] == "-c" {
			argv[2] = strings.NewReplacer("(", " ", ")", " ", "|", " | ").Replace(argv[2])
		}
		if _, err := exec.LookPath(argv[0]); err != nil {
			t.Log(err)
			continue
		}
		theirs, ours := lines(t, []string{"strace"}, argv), lines(t, []string{hawk, "strace"}, argv)
		same := 0
		for line, n := range theirs {
			same += min(n, ours[line])
		}
		total := max(sum(theirs), sum(ours))
		t.Logf("%6.2f%% of %d: %s", 100*float64(same)/float64(total), total, program)
		if same*100 < 95*total {
			for line, n := range ours {
				if theirs[line] < n {
					t.Errorf("%s: %s", program, line)
				}
			}
		}
	}
}

func sum(m map[string]int) (n int) {
	for _, k := range m {
		n += k
	}
	return n
}

var (
	address = regexp.MustCompile(`0x[0-9a-f]{5,}`)
	number  = regexp.MustCompile(`\d+`)
	random  = regexp.MustCompile(`"[0-9a-f]{8,}-[0-9a-f]{8,} [^"]*"|sysinfo\(\{.*|` +
		`getrandom\("[^"]*"|getppid\(\) += \d+|si_[us]time=\d+( /\*[^*]*\*/)?`)
	blanks = regexp.MustCompile(` +=`)
)

// lines are those of a program's threads, and how often each comes.
func lines(t *testing.T, tracer, argv []string) map[string]int {
	dir := t.TempDir()
	file := filepath.Join(dir, "out")
	args := append(slices.Clone(tracer[1:]), "-o", file)
	if tracer[0] == "strace" {
		args = append(args, "-f")
	}
	cmd := exec.Command(tracer[0], append(args, argv...)...)
	cmd.Run() // whose status is that of the program
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	out, begun, threads := map[string]int{}, map[string]string{}, map[string]bool{}
	var whole []string
	for line := range strings.Lines(string(data)) {
		tid, text, _ := strings.Cut(strings.TrimSpace(line), " ")
		text = strings.TrimSpace(text)
		threads[tid] = true
		if first, ok := strings.CutSuffix(text, "<unfinished ...>"); ok {
			begun[tid] = strings.TrimSpace(first)
			continue
		}
		if _, rest, ok := strings.Cut(text, " resumed>"); ok && strings.HasPrefix(text, "<... ") {
			text = begun[tid] + strings.TrimSpace(rest)
		}
		whole = append(whole, text)
	}
	for _, text := range whole {
		text = random.ReplaceAllString(blanks.ReplaceAllString(address.ReplaceAllString(text, "ADDRESS"), " ="), "…")
		text = number.ReplaceAllStringFunc(text, func(n string) string {
			if threads[n] {
				return "PID"
			}
			return n
		})
		out[strings.ReplaceAll(text, ", ", ",")]++
	}
	return out
}
