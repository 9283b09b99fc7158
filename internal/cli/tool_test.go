package cli

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/hawktrace/hawk/internal/machine"
	"github.com/hawktrace/hawk/internal/session/child"
	"github.com/hawktrace/hawk/internal/tool"
)

// made is a tool that no kernel has to know anything for.
const made = `/*
 * made - a tool of a test
 *
 * Synopsis: made [options] [interval [count]]
 *
 * Options:
 *   -x, --failed          failed ones
 *   -n, --name TEXT       the name
 *   -u, --user USER       the user
 *   -C, --cpu N           the CPU
 *       --min TIME        shortest, in ms
 *       --size BYTES      smallest
 *       --flag O_FLAG…    flags
 *       --call CALL…      calls
 *       --duration        not hawk's
 *
 * Operands:
 *   interval  [time] seconds
 *   count     [int] number
 *   probe…    [probe] where
 *
 * Elsewhere:
 *   -e, --failing         = --failed
 *   -i, --each TIME       =
 *   -c N                  --cpu N
 *   --smallest SIZE       = --size
 *   -j, --journal TEXT    nobody keeps one
 */
`

func TestToolOptions(t *testing.T) {
	tl := tool.Parse(made)
	for _, tt := range []struct{ args, want string }{
		{"", ""},
		{"-xC 3", "--cpu=3 --failed=true"},
		{"-xC3 --name=a=b", "--cpu=3 --failed=true --name=a=b"},
		{"--fai --no-failed", "--failed=false"},
		{"--nam a --name b", "--name=b"},
		{"--min 10", "--min=10000000"},
		{"--min 10us", "--min=10000"},
		{"--size 4k --user root", "--size=4096 --user=0"},
		{"--size 1M -u 1000", "--size=1048576 --user=1000"},
		{"--flag O_CREAT --flag excl,O_RDWR", "--flag=194"},
		{"--call a --call b,c", "--call=a,b,c"},
		{"1 5", "--count=5 --interval=1000000000"},
		{"500ms -x", "--failed=true --interval=500000000"},
		{"1 5 -- t:a:b c:malloc u:/bin/a:b", "--count=5 --interval=1000000000 " +
			"--probe=tracepoint:a:b,uprobe:libc:malloc,usdt:/bin/a:b"},
		{"--duration -q", "--duration=true"},
		{"-ex --smallest 4k", "--failed=true --size=4096"},
		{"--each 2 -n a", "--interval=2000000000 --name=a"},
		{"-i3 7", "--count=7 --interval=3000000000"},
		{"--user-stacks-only", "ERROR: made: unknown option --user-stacks-only"},
		{"--failin", "ERROR: made: unknown option --failin\nHINT: did you mean --failed?"},
		{"-c", "ERROR: made: option -c needs a value\nHINT: for -c of other collections: --cpu N"},
		{"-j", "ERROR: made: there is no -j here\nHINT: nobody keeps one"},
		{"--journal", "ERROR: made: there is no --journal here\nHINT: nobody keeps one"},
		{"-jx", "ERROR: made: there is no -j here\nHINT: nobody keeps one"},
		{"--mntnsmap x", "ERROR: made: there is no --mntnsmap here\nHINT: --container NAME chooses the tasks of " +
			"a container"},

		{"--faild", "ERROR: made: unknown option --faild\nHINT: did you mean --failed?"},
		{"-Z", "ERROR: made: unknown option -Z"},
		{"-xZ", "ERROR: made: unknown option -Z"},
		{"--name", "ERROR: made: option --name needs a value"},
		{"--failed=1", "ERROR: made: option --failed takes no value"},
		{"--c", "ERROR: made: option --c is ambiguous; possibilities: " +
			"--cpu --call --cmd --comm --cgroup --container --columns"},
		{"--min soon", "ERROR: made: option --min: \"soon\" is no time like 10, 10s or 500ms"},
		{"--size -4", "ERROR: made: option --size: \"-4\" is no size like 4096, 4K or 1M"},
		{"--flag nosuch", "ERROR: made: option --flag: no constant is called \"O_NOSUCH\""},
		{"--user no:body", "ERROR: made: option --user: no user is called \"no:body\""},
		{"soon", "ERROR: made: interval: \"soon\" is no time like 10, 10s or 500ms"},
		{"--aot x", "ERROR: made: unknown option --aot"},
	} {
		c := &command{settings: settings{tool: tl}, out: os.Stdout, err: os.Stderr}
		c.machine = machine.Recorded(t.TempDir())
		err := parseArgs(toolTable(tl), strings.Fields(tt.args), &c.settings)
		if err == nil {
			err = c.finishTool()
		}
		got := strings.Join(c.toolValues(), " ")
		if err != nil {
			got = err.Error()
		}
		if got != tt.want {
			t.Errorf("made %s:\n%s\nwant\n%s", tt.args, got, tt.want)
		}
	}
}

// TestTools runs what needs neither privileges nor a kernel.
func TestTools(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, tt := range []struct {
		args   string
		status int
		out    string // is in what is printed
	}{
		{"tools", 0, "files\n  "},
		{"tools nosuchword", 1, "ERROR: no tool has to do with \"nosuchword\"\nHINT: \"hawk tools\" lists all\n"},
		{"tools --cat opensnoop", 0, "#!/usr/bin/env hawk\n/*\n * opensnoop - "},
		{"tools --man opensnoop", 0, ".TH OPENSNOOP\\-HAWK 8 "},
		{"tools --cat nosuchtool", 1, "ERROR: no tool and no file is called \"nosuchtool\"\n"},
		{"tools --nosuch", 1, "ERROR: tools: unknown option --nosuch\n"},
		{"tools --words opensnoop", 0, "--timestamp\n"},
		{"tools --words", 0, "opensnoop\n"},
		{"help opensnoop", 0, "opensnoop - files that are opened"},
		{"opensnoop --help", 0, "opensnoop - files that are opened"},
		{"opensnoop -h", 0, "OUTPUT\n"},
		{"opensnoop --print-script -T", 0, "row(\"TIME(s):<12e PID"},
		{"filetop --print-script --wide", 0, "table(\"PID:<7 COMM:<16 DEV:>8x INO:>10 READS"},
		{"filetop --print-script", 0, "DEV:>8x?wide INO"},
		{"opensnop", 1, "ERROR: no tool and no file is called \"opensnop\"\nHINT: did you mean opensnoop? " +
			"\"hawk tools\" lists all\n"},
		{"opensnoop-bpfcc -x --print-script", 0, "row("},
		{"opensnoop.bt --help", 0, "opensnoop - files that are opened"},
		{"ext4slower --print-script", 0, "\"ext4\""},
		{"vfscount 5", 1, "ERROR: no tool and no file is called \"vfscount\"\nHINT: here it is: funccount 'vfs_*'\n"},
		{"cpuunclaimed -j", 1, "ERROR: no tool and no file is called \"cpuunclaimed\"\nHINT: here it is: cpuwalk"},
		{"opensnop -xT --nosuch", 1, "ERROR: no tool and no file is called \"opensnop\"\nHINT: did you mean"},
		{"-Z opensnop", 1, "hawk: invalid option -- 'Z'\n"},
		{"help ext4slower", 1, "HINT: here it is: hawk fsslower -t ext4\n"},
		{"tools klockstat", 0, "\n  lockstat "},
		{"-v opensnoop", 1, "HINT: options follow the name of a tool: hawk opensnoop …\n"},
		{"memleak -o 60000 --print-script", 0, "WARNING: the output goes to a file called 60000\n" +
			"HINT: for -o of other collections: --older TIME\n"},
		{"opensnoop x", 1, "ERROR: opensnoop: \"x\" is one operand too many\nHINT: hawk opensnoop [options]\n"},
	} {
		status, stdout, stderr := hawk(t, "", strings.Fields(tt.args)...)
		if status != tt.status || !strings.Contains(stdout+stderr, tt.out) {
			t.Errorf("hawk %s: status %d, stdout %.300q, stderr %.300q", tt.args, status, stdout, stderr)
		}
	}
}

// TestExamples parses the commands that manuals show.
func TestExamples(t *testing.T) {
	for _, tl := range tool.All() {
		examples := slices.Clone(tl.Examples)
		if command, ok := strings.CutPrefix(tl.Sample[0], "# "); ok {
			examples = append(examples, tool.Entry{Name: command})
		}
		for _, e := range examples {
			args, err := child.SplitCommand(e.Name)
			if err != nil {
				t.Errorf("hawk %s: %v", e.Name, err)
				continue
			}
			c := &command{settings: settings{tool: tl}}
			c.machine = machine.Recorded(t.TempDir())
			err = parseArgs(toolTable(tl), args[1:], &c.settings)
			if err == nil {
				err = c.finishTool()
			}
			if err == nil {
				err = c.finish()
			}
			if err != nil {
				t.Errorf("hawk %s: %v", e.Name, err)
			}
		}
	}
}
