package cli

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hawktrace/hawk/internal/machine"
)

// hawk runs the command against a machine of which nothing is known.
func hawk(t *testing.T, stdin string, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	c := &command{stdin: strings.NewReader(stdin), out: &out, err: &errs, machine: machine.Recorded(t.TempDir())}
	status = c.main(args)
	return status, out.String(), errs.String()
}

func TestUsage(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("noise", []byte("\x7fELF\x00\x01"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		args   string
		status int
		stdout string // how the streams begin; "" for nothing
		stderr string
	}{
		{"", 1, "", "hawk traces programs"},
		{"-h", 0, "hawk traces programs", ""},
		{"--help", 0, "hawk traces programs", ""},
		{"-V", 0, "hawk v", ""},
		{"--vers", 0, "hawk v", ""},
		{"-V --nosuch", 0, "hawk v", ""},
		{"--nosuch", 1, "", "hawk: unrecognized option '--nosuch'\nHINT: see hawk --help\n"},
		{"-Z", 1, "", "hawk: invalid option -- 'Z'\nHINT: see hawk --help\n"},
		{"--no", 1, "", "hawk: option '--no' is ambiguous; possibilities: '--no-warnings' '--no-header' " +
			"'--no-feature' '--now' '--no-mouse'\n"},
		{"--quiet=1", 1, "", "hawk: option '--quiet' doesn't allow an argument\n"},
		{"-e", 1, "", "hawk: option '-e' requires an argument\n"},
		{"--pid", 1, "", "hawk: option '--pid' requires an argument\n"},
		{"-q", 1, "", "ERROR: USAGE: a program is needed"},
		{"-p abc -e begin{}", 1, "", "ERROR: Failed to parse pid: invalid integer: abc\nHINT: a process "},
		{"-p99999999 -e begin{}", 1, "", "ERROR: Pid out of range: 99999999\nHINT: no kernel "},
		{"-p 1 -c ls -e begin{}", 1, "", "ERROR: USAGE: Cannot use both -c and -p.\nHINT: see hawk --help\n"},
		{"-d zzz -e begin{}", 1, "", "ERROR: USAGE: invalid option for -d: zzz; valid ones are tokens, tree, "},
		{"-B foo -e begin{}", 1, "", "ERROR: USAGE: invalid value for -B: foo; valid ones are line, full, none\n"},
		{"--mode foo -e begin{}", 1, "", "ERROR: USAGE: invalid value for --mode: foo; valid ones are run, test, " +
			"bench, format, codegen, compiler-bench\n"},
		{"-e begin{} --cmd=", 1, "", "ERROR: USAGE: the command of -c is empty\n"},
		{"--no-feature foo -e begin{}", 1, "", "ERROR: USAGE: invalid feature for --no-feature: foo; valid ones are "},
		{"-kk -e begin{}", 1, "", "ERROR: USAGE: -kk has been deprecated."},
		{"-k --no-warnings -e begin{}", 1, "", "ERROR: USAGE: -k, --warnings conflicts with --no-warnings\n"},
		{"-l a b", 1, "", "ERROR: USAGE: -l takes one pattern\n"},
		{"--check -e begin{}", 1, "", "ERROR: USAGE: --check goes with --fmt\n"},
		{"--fmt --mode codegen -e begin{}", 1, "", "ERROR: USAGE: --mode conflicts with existing --fmt\n"},
		{"--aot x -k -e begin{}", 1, "", "ERROR: USAGE: -k conflicts with --aot\n"},
		{"--aot x --fmt -e begin{}", 1, "", "ERROR: USAGE: --fmt conflicts with --aot\n"},
		{"--aot-runtime x -e begin{}", 1, "", "ERROR: USAGE: --aot-runtime goes with --aot\n"},
		{"--test --fmt -e begin{}", 1, "", "ERROR: USAGE: --fmt conflicts with existing --test\n"},
		{"--duration abc -e begin{}", 1, "", "ERROR: USAGE: invalid value for --duration: abc"},
		{"--exit-status me -e begin{}", 1, "", "ERROR: USAGE: invalid value for --exit-status: me; valid ones " +
			"are child\n"},
		{"--exit-status child -e begin{}", 1, "", "ERROR: USAGE: --exit-status child goes with -c\n"},
		{"--follow -e begin{}", 1, "", "ERROR: USAGE: --follow goes with -p or -c\n"},
		{"nosuch.bt", 1, "", "ERROR: failed to open file 'nosuch.bt': No such file or directory\n"},
		{"help", 0, "hawk traces programs", ""},
		{".", 1, "", "ERROR: failed to read file '.': Is a directory\n"},
		{"noise", 1, "", "ERROR: noise: this is a binary file"},
		{"--mode codegen -e begin{} -f xml", 1, "", "ERROR: Invalid output format \"xml\"\nValid formats: '"},
		{"--mode codegen -e begin{}", 0, "", ""},
		{"--mode codegen -qb --usdt-file-activation -ebegin{} x", 0, "", ""},
		{"--mode codegen -e begin{} -- --zz", 1, "", "ERROR: unexpected program command line options: --zz\n"},
		{"--mode codegen -e begin{} -- --help", 0, "", "HINT: no custom program options defined.\n"},
		{"--mode codegen --probe-filter [x -e begin{}", 255, "", "ERROR: Invalid --probe-filter regex '[x': "},
		{"--mode codegen --probe-filter foo -e i:1s{}", 1, "No probes to attach\n", ""},
		{"--mode codegen -q --probe-filter foo -e i:1s{}", 1, "", ""},
		{"--mode codegen --probe-filter l:us:1 -e i:1s{}", 0, "", ""},
		{"--mode codegen -e begin{", 1, "", "stdin:1:"},
		{"-l foo:bar", 1, "", "ERROR: Invalid probe type: foo\n"},
		{"-l kprob:bar", 1, "", "ERROR: Invalid probe type: kprob\nHINT: did you mean kprobe?\n"},
		{"-l i:*", 0, "interval:hz:\ninterval:ms:\n", ""},
		{"-l self:*,s:cpu*", 0,
			"self:signal:SIGUSR1\nsoftware:cpu-clock:\nsoftware:cpu-migrations:\nsoftware:cpu:\n", ""},
		{"-l -e i:1s{}s:cs:7{}begin{}", 0, "interval:us:\nsoftware:cs:\n", ""},
		{"-l -e nosuch:x{}", 1, "", "stdin:1:1-7: ERROR: Invalid probe type: nosuch\n"},
		{"-l i", 0, "", "WARNING: nothing matches 'i'\nHINT: hawk -l 'interval:*' lists probes of this kind\n"},
		{"-l software:faultz", 0, "", "WARNING: nothing matches 'software:faultz'\nHINT: did you mean " +
			"software:faults?\n"},
		{"-l software:f[z]*,s:faults", 0, "software:faults:\n", "WARNING: nothing matches 'software:f[z]*'\n"},
		{"--no-warnings -l software:faultz", 0, "", ""},
		{"-l test:x", 0, "", "WARNING: test probes are not listed\n"},
		{"-l no.such", 0, "", "WARNING: 'no.such' looks like a file name"},
	} {
		status, stdout, stderr := hawk(t, "", strings.Fields(tt.args)...)
		begins := func(s, want string) bool { return strings.HasPrefix(s, want) && (want != "" || s == "") }
		if status != tt.status || !begins(stdout, tt.stdout) || !begins(stderr, tt.stderr) {
			t.Errorf("hawk %s: status %d, stdout %q, stderr %.300q", tt.args, status, stdout, stderr)
		}
	}
}

func TestFormat(t *testing.T) {
	const before, after = "begin{exit();}", "begin\n{\n  exit();\n}\n"
	name := filepath.Join(t.TempDir(), "x.bt")
	if err := os.WriteFile(name, []byte(before), 0o640); err != nil {
		t.Fatal(err)
	}
	if status, out, _ := hawk(t, before, "--fmt", "-"); status != 0 || out != after {
		t.Errorf("from standard input: %d, %q", status, out)
	}
	if status, out, _ := hawk(t, "", "--fmt", "--check", name); status != 1 || out != "" {
		t.Errorf("--check: %d, %q", status, out)
	}
	if status, out, errs := hawk(t, "", "--fmt", name, "-o", name); status != 0 || out+errs != "" {
		t.Errorf("in place: %d, %q, %q", status, out, errs)
	}
	text, err := os.ReadFile(name)
	st, _ := os.Stat(name)
	if err != nil || string(text) != after || st.Mode().Perm() != 0o640 {
		t.Errorf("file is %q with mode %v, %v", text, st.Mode(), err)
	}
	if status, _, _ := hawk(t, "", "--fmt", "--check", name); status != 0 {
		t.Error("canonical layout fails --check")
	}
	if entries, _ := os.ReadDir(filepath.Dir(name)); len(entries) != 1 {
		t.Error("a temporary file is left")
	}
	if status, _, errs := hawk(t, "", "--fmt", "-e", "begin {"); status != 1 || errs == "" {
		t.Error("a script that does not parse is formatted")
	}
}

func TestOperands(t *testing.T) {
	for _, tt := range []struct {
		args          []string
		params, named string
	}{
		{[]string{"-e", "begin{}", "1", "-q", "2"}, "1 2", ""},
		{[]string{"-e", "begin{}", "p1", "--", "--aa=20", "--bb", "33"}, "p1 33", "--aa=20 --bb"},
		{[]string{"-", "a", "--", "-x", "b"}, "a -x b", ""},
		{[]string{"-e", "x", "-e", "begin{}", "--", "-e"}, "-e", ""},
		{[]string{"-q", "--", "-", "a", "--aa"}, "a", "--aa"},
	} {
		c := &command{stdin: strings.NewReader("begin{}")}
		if err := parseArgs(options(), tt.args, &c.settings); err != nil {
			t.Fatal(err)
		}
		f, params, named, err := c.script()
		if err != nil || f.Text != "begin{}" || strings.Join(params, " ") != tt.params ||
			strings.Join(named, " ") != tt.named {
			t.Errorf("%q: params %q, named %q, %v", tt.args, params, named, err)
		}
	}
	c := &command{}
	parseArgs(options(), []string{"-q", "--", "--aa"}, &c.settings)
	if _, _, _, err := c.script(); err == nil || !strings.Contains(err.Error(), "a program is needed") {
		t.Errorf("an option of a script was taken for the script: %v", err)
	}
}

// Every option has a text, and no two are spelled alike.
func TestOptions(t *testing.T) {
	seen := map[string]bool{}
	for _, o := range options() {
		for _, name := range []string{string(o.short), o.long} {
			if name != "" && name != "\x00" && seen[name] {
				t.Errorf("%s is there twice", name)
			}
			seen[name] = true
		}
		if o.doc == "" || o.set == nil {
			t.Errorf("%q: text or action missing", o.spellings())
		}
	}
	_, help, _ := hawk(t, "", "-h")
	for _, o := range options() {
		for _, name := range o.spellings() {
			if !strings.Contains(help, " "+name+" ") && !strings.Contains(help, " "+name+",") &&
				!strings.Contains(help, " "+name+"[=") {
				t.Errorf("%s is not in the help text", name)
			}
		}
	}
	for line := range strings.Lines(help) {
		if n := len([]rune(line)); n > 101 {
			t.Errorf("line of %d columns: %s", n, line)
		}
	}
}

func TestSplitPatterns(t *testing.T) {
	got := splitPatterns(` a:b , u:"x,y":*,,"q\",r"`)
	if want := []string{"a:b", `u:"x,y":*`, `"q\",r"`}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

func TestInfo(t *testing.T) {
	c := &command{machine: machine.Recorded("")}
	helpers := section{title: "Kernel helpers", key: "kernel_helpers", columns: true, items: []item{
		{name: "dpath", value: false}, {name: "get_tai_ns", value: true}, {name: "loop", value: true},
	}}
	features := section{title: "Tracing", key: "tracing", items: []item{
		{name: "limit", value: 7}, c.because("good", nil), c.because("bad", errors.New("it said \"no\"")),
	}}
	var b strings.Builder
	helpers.write(&b)
	features.write(&b)
	want := "Kernel helpers\n  dpath: no                        get_tai_ns: yes\n  loop: yes\nTracing\n  limit: " +
		"7\n  good: yes\n  bad: no (it said \"no\")\n"
	if b.String() != want {
		t.Errorf("%q", b.String())
	}
	const object = `{"kernel_helpers": {"dpath": false, "get_tai_ns": true, "loop": true}, "tracing": {"limit": 7, ` +
		`"good": true, "bad": false}, "reasons": {"bad": "it said \"no\""}}` + "\n"
	if got := infoJSON([]section{helpers, features}); got != object {
		t.Errorf("JSON %s", got)
	}
}

// Every option that help shows is in the manual page and in all completions.
func TestGenerated(t *testing.T) {
	_, page, _ := hawk(t, "", "--man")
	for line := range strings.Lines(page) {
		for _, r := range line {
			if r > 0x7e {
				t.Errorf("the page is not ASCII: %s", line)
				break
			}
		}
		if macro, _, _ := strings.Cut(strings.TrimRight(line, "\n"), " "); strings.HasPrefix(line, ".") &&
			!slices.Contains([]string{".TH", ".SH", ".TP", ".TQ", ".B", ".BR", ".I", ".PP", ".nf", ".fi"}, macro) {
			t.Errorf("the page has a line that begins like a macro: %s", line)
		}
	}
	for _, o := range shown() {
		if !strings.Contains(page, ascii(o.roff())) {
			t.Errorf("the page lacks %q", o.spellings())
		}
		for _, shell := range shells {
			_, script, _ := hawk(t, "", "--completion", shell)
			for _, name := range o.spellings() {
				if shell == "fish" {
					name = strings.TrimLeft(name, "-") + " "
				}
				if !strings.Contains(script, name) {
					t.Errorf("completion of %s lacks %s", shell, name)
				}
			}
		}
	}
}
