package tool

import (
	"strings"
	"testing"

	_ "github.com/hawktrace/hawk/internal/probe/kinds" // whose names are known
)

// TestFilled puts options and operands into a script.
func TestFilled(t *testing.T) {
	tl := Parse(`/*
 * made - a tool of a test
 *
 * Options:
 *   -s, --call CALL…   calls
 */
tracepoint:syscalls:sys_enter_$call / getopt("call", "a,b") != "" && getopt("min", 5) > 0 / {
  if (getopt("on")) { row("TIME?on PID:<7?!off NAME?off RET", nsecs, getopt("pid", -1), comm, args.ret); }
}
interval:$interval / getopt("interval", 0) / { }
`)
	got := tl.Filled(map[string]string{"on": "true", "off": "true", "interval": "1000", "call": "x,y\"z"})
	_, got, _ = strings.Cut(got, "*/\n")
	const want = `tracepoint:syscalls:sys_enter_x, tracepoint:syscalls:sys_enter_y"z / comptime "x,y\"z" != "" && comptime 5 > 0 / {
  if (true) { row("TIME NAME RET", nsecs, comm, args.ret); }
}
interval:1000 / comptime 1000 / { }
`
	if got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

// TestProbe has each of the short forms.
func TestProbe(t *testing.T) {
	for _, tt := range []struct{ short, want string }{
		{"vfs_read", "kprobe:vfs_read"}, {"vfs_*", "kprobe:vfs_*"}, {"p::vfs_read", "kprobe:vfs_read"},
		{"p:vfs_read", "kprobe:vfs_read"}, {"::vfs_read", "kprobe:vfs_read"}, {"r::vfs_read", "kretprobe:vfs_read"},
		{"r:vfs_read", "kretprobe:vfs_read"}, {"c:malloc", "uprobe:libc:malloc"}, {"ssl:SSL_*", "uprobe:ssl:SSL_*"},
		{"/bin/bash:readline", "uprobe:/bin/bash:readline"}, {"p:c:malloc", "uprobe:libc:malloc"},
		{"r:/bin/a:f", "uretprobe:/bin/a:f"}, {"t:sched:sched_switch", "tracepoint:sched:sched_switch"},
		{"u:/bin/a:m", "usdt:/bin/a:m"}, {"u:/bin/a:p:m", "usdt:/bin/a:p:m"},
		{"tracepoint:sched:*", "tracepoint:sched:*"}, {"uprobe:libc:malloc", "uprobe:libc:malloc"},
		{"fentry:vfs_read", "fentry:vfs_read"}, {"k:vfs_read", "k:vfs_read"},
	} {
		if got := Probe(tt.short, true); got != tt.want {
			t.Errorf("%s is %s, want %s", tt.short, got, tt.want)
		}
	}
	if got := Probe("vfs_read", false); got != "fentry:vfs_read" {
		t.Errorf("without kprobes vfs_read is %s", got)
	}
}

func TestCutLast(t *testing.T) {
	for _, tt := range []struct{ text, before, expression string }{
		{"vfs_(read|write)", "", "vfs_(read|write)"},
		{"^(?:vfs|do)_.*", "", "^(?:vfs|do)_.*"},
		{"c:(?i:mal+oc)", "c:", "(?i:mal+oc)"},
		{"p::vfs_.", "p::", "vfs_."},
		{"u:/lib/x.so:prov:a.b", "u:/lib/x.so:prov:", "a.b"},
		{"uprobe:./a:[[:alpha:]]+", "uprobe:./a:", "[[:alpha:]]+"},
		{"./a:ns[:]{2}f", "./a:", "ns[:]{2}f"},
		{`./a:ns\:\:f`, "./a:", `ns\:\:f`},
		{`./a:[]:]x`, "./a:", "[]:]x"},
		{"c:[[:alpha:]:]+", "c:", "[[:alpha:]:]+"},
		{"c:[^:", "c:", "[^:"},
		{`c:[\]:]`, "c:", `[\]:]`},
		{"c:", "c:", ""},
	} {
		if before, expression := CutLast(tt.text); before != tt.before || expression != tt.expression {
			t.Errorf("CutLast(%q) = %q, %q, not %q, %q", tt.text, before, expression, tt.before, tt.expression)
		}
	}
}
