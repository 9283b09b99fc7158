package hawktest

import (
	"errors"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/hawktrace/hawk/internal/probe"
)

// probeProofs says which kernel case proves what about probes. Forms are those of the table of
// kinds; a name stands for the kind or its alias before the colon of an attach point. The rest are
// the rules and restrictions of the language's definition of probes.
var probeProofs = []struct {
	what string
	name string // of the case
	line string // in it
}{
	// Names of providers, long and short.
	{"name begin", "begin_hello", `begin { printf("hello world\n")`},
	{"name end", "lang_05_attach", "end { print(probe)"},
	{"name self", "self_signal", "self:signal:SIGUSR1"},
	{"name test", "mode_test", "test:one { }"},
	{"name bench", "mode_test", "bench:count { @++; }"},
	{"name kprobe", "kprobe_forms", "kprobe:vmlinux:vfs_read"},
	{"name k", "alias_kernel", "k:vfs_read /"},
	{"name kretprobe", "kprobe_forms", "kretprobe:overlay:ovl_open"},
	{"name kr", "alias_kernel", "kr:vfs_read,"},
	{"name fentry", "fentry_vfs_read", "fentry:vfs_read /"},
	{"name f", "alias_kernel", "f:vfs_read,"},
	{"name kfunc", "alias_kernel", "kfunc:vfs_write"},
	{"name fexit", "fentry_vfs_read", "fexit:vfs_read /"},
	{"name fr", "alias_kernel", "fr:vfs_read,"},
	{"name kretfunc", "alias_kernel", "kretfunc:vfs_write"},
	{"name tracepoint", "tracepoint_openat", "tracepoint:syscalls:sys_enter_openat"},
	{"name t", "alias_short", "t:raw_syscalls:sys_enter,"},
	{"name rawtracepoint", "rawtracepoint_sched", "rawtracepoint:sched_process_exec {"},
	{"name rt", "alias_short", "rt:sys_enter,"},
	{"name uprobe", "uprobe_forms", "uprobe:./moved:"},
	{"name u", "alias_short", "u:./marks:work"},
	{"name uretprobe", "uprobe_forms", "uretprobe:./fixed:"},
	{"name ur", "alias_short", "ur:./marks:work"},
	{"name usdt", "usdt_operands", "usdt:./marks:op:registers"},
	{"name U", "alias_short", "U:./marks:hk:tick"},
	{"name interval", "interval_count", "interval:ms:50 { @n++"},
	{"name i", "alias_short", "i:ms:20"},
	{"name profile", "profile_kstack", "profile:hz:99 { @[kstack]"},
	{"name p", "alias_short", "p:us:1000"},
	{"name software", "software_faults", "software:page-faults:10 {"},
	{"name s", "alias_short", "s:cpu:1000000"},
	{"name hardware", "error_hardware", "hardware:cycles:1000000"},
	{"name h", "alias_short", `h:"software/config=0/"`},
	{"name watchpoint", "watchpoint_user", "watchpoint:'$at':8:w"},
	{"name w", "alias_kernel", "w:jiffies:8:w"},
	{"name iter", "iter_task", "iter:task "},
	{"name it", "alias_short", "it:task "},
	{"long names in any case", "alias_short", "URETPROBE:./marks:work, Usdt:./marks:tick"},
	{"short names in one case", "alias_short", "Invalid provider: ''I''"},

	// Forms.
	{"begin", "begin_hello", `begin { printf("hello world\n")`},
	{"begin with a pattern", "lang_05_attach", "begin:* {"},
	{"end", "lang_05_attach", "end { print(probe)"},
	{"self:signal:SIGUSR1", "self_signal", "self:signal:SIGUSR1"},
	{"test:name", "mode_test", "test:two { return 0; }"},
	{"bench:name", "mode_test", "bench:skipped { return 1; }"},
	{"kprobe:[module:]function[+offset]", "kprobe_forms", "kprobe:do_nanosleep+'$AT'"},
	{"kprobe:[module:]function(argN=struct)", "kprobe_taking", "'kprobe:vfs_rea?(arg0=file) {"},
	{"kprobe:address", "kprobe_forms", "--unsafe -e 'kprobe:0x'$at'"},
	{"kretprobe:[module:]function", "kprobe_module", "kretprobe:null_blk:null_queue_rq {"},
	{"kretprobe:[module:]function(argN=struct)", "kprobe_taking", "'kretprobe:vfs_rea?(arg0=file) {"},
	{"kretprobe:address", "kprobe_forms", "kretprobe:0x'$at'"},
	{"fentry:[module:]function", "fentry_module", "fentry:overlay:ovl_open"},
	{"fentry:bpf:[id:]program", "fentry_bpf", "fentry:bpf:'$id':interval*"},
	{"fexit:[module:]function", "fentry_module", "fexit:overlay:ovl_open"},
	{"fexit:bpf:[id:]program", "fentry_bpf", "fexit:bpf:*:interval_ms_20_1"},
	{"tracepoint:category:event", "tracepoint_openat", "tracepoint:syscalls:sys_enter_openat"},
	{"rawtracepoint:[module:]event", "rawtracepoint_sched", "rawtracepoint:sched_process_exec {"},
	{"uprobe:binary:function[+offset]", "uprobe_forms", `uprobe:./moved:"first"+0`},
	{"uprobe:binary:cpp:name", "uprobe_forms", `uprobe:./shop:cpp:"shop::add(long)"`},
	{"uprobe:binary:address", "uprobe_forms", "uprobe:./fixed:'$AT'"},
	{"uprobe:binary@file:line[:column]", "uprobe_source", "uprobe:./lines@lines.c:6:9"},
	{`uprobe:"archive.zip!/member":function[+offset]`, "uprobe_zip", `uprobe:"./app.apk!/lib/triple.so":triple`},
	{"uretprobe:binary:function", "uprobe_forms", "uretprobe:./fixed:'$AT'"},
	{"uretprobe:binary:cpp:name", "uprobe_forms", `uretprobe:./shop:cpp:"shop::*"`},
	{"uprobe:function with -p", "uprobe_process", "uprobe:work { print((probe, pid))"},
	{"uprobe:cpp:name with -p", "uprobe_process", `uprobe:cpp:"store::add"`},
	{"uprobe:*:function with -p", "uprobe_process", "uprobe:*:cbrt"},
	{"uprobe:*:function without", "uprobe_forms", "uprobe:*:second_of_moved"},
	{"a library by name", "uprobe_process", "uprobe:libm:cbrt"},
	{"a library by its full name", "uprobe_process", "uprobe:libm.so.6:cbrt"},
	{"several binaries by pattern", "uprobe_forms", "uprobe:./[fm]*ed:*st"},
	{"usdt:binary:[provider:]name", "usdt_operands", "usdt:./marks:twice, usdt:./marks::symbols"},
	{"usdt:name with -p", "uprobe_process", "usdt:tick { print"},
	{"usdt::provider:name with -p", "uprobe_process", "usdt::hk:tick"},
	{"usdt:*:provider:name with -p", "uprobe_process", "usdt:*:hk:ti*"},
	{"usdt:memfd:file:provider:name", "usdt_memory", "usdt:memfd:usdt:inmemory:inmemory:hit {"},
	{"usdt names in quotes", "usdt_operands", `usdt:./marks:op:"odd \"name\""`},
	{"interval:s:count", "interval_count", "interval:s:1 { print"},
	{"interval:ms:count", "interval_timer", "interval:ms:10"},
	{"interval:us:count", "lang_05_attach", "interval:us:1_000"},
	{"interval:hz:rate", "interval_timer", "interval:hz:50"},
	{"interval:duration", "lang_05_attach", "interval:1e6"},
	{"profile:hz:rate", "profile_kstack", "profile:hz:99 { @[kstack]"},
	{"profile:s:count", "profile_units", "profile:s:1"},
	{"profile:ms:count", "profile_units", "profile:ms:1"},
	{"profile:us:count", "profile_units", "profile:us:500"},
	{"profile:duration", "profile_units", "profile:2ms"},
	{"software:event", "profile_units", "software:page-faults {"},
	{"software:event:count", "software_faults", "software:cpu-clock:1000000 {"},
	{"hardware:event", "error_hardware", "hardware:instructions: {"},
	{"hardware:event:count", "error_hardware", "hardware:cycles:1000000"},
	{"hardware:rNUMBER:count", "error_hardware", "hardware:r0000:1e6"},
	{`hardware:"source/event/":count`, "error_hardware", "h:software/config=0/:1000000"},
	{`hardware:"source/part=value,…/":count`, "error_hardware", `hardware:"software/config=0/":1000000`},
	{"watchpoint:address:length:mode", "watchpoint_user", "watchpoint:'$at':8:rw"},
	{"watchpoint:symbol:length:mode", "watchpoint_kernel", "watchpoint:jiffies:8:w"},
	{"watchpoint:binary:symbol:length:mode", "watchpoint_user", "watchpoint:./counter:counter:8:w"},
	{"iter:object", "iter_task", "iter:task_file"},
	{"iter:object:pin", "iter_pin", "iter:task:"},

	// Attach points.
	{"parameters inside of attach points", "probe_choice", "u$3:$1:$2st"},
	{"names before providers", "probe_choice", "mine=uprobe:./work:first"},
	{"numbers of every kind", "lang_05_attach", "interval:ms:0x1, interval:1e6"},
	{"a list that ends in a comma", "lang_05_attach", "Begin, bEgIn , {"},
	{"each point is checked by itself", "lang_05_attach", "expanded from"},
	{"--probe-filter", "probe_choice", "--probe-filter"},
	{"a limit of probes", "kprobe_many", "exceeds the current limit of 2 probes"},
	{"a limit of programs", "fentry_wildcard", "more than 3 programs"},
	{"missing points: error", "probe_choice", "ERROR: No matches for uprobe ./work:nosuch"},
	{"missing points: warn", "probe_choice", "Skipping"},
	{"missing points: ignore", "probe_choice", "HAWK_MISSING_PROBES=ignore"},
	{"nothing left", "probe_choice", "No probes to attach"},
	{"nothing could be attached", "error_kprobe", "Attachment failed for all probes"},
	{"what is missing beside a pattern", "probe_choice", "uprobe:./work:none*, uprobe:./work:first"},
	{"patterns that overlap", "probe_choice", "*ab'"},
	{"source order on one event", "probe_choice", "'^1 2 3$'"},
	{"-p filters in the program", "kprobe_forms", "hawk -p $me"},
	{"-p ends with its process", "uprobe_process", "'^ended$'"},
	{"-c does not filter kernel probes", "probe_choice", "hawk -c 'sleep 100'"},

	// Restrictions and errors.
	{"offsets that are no number", "error_catalogue", "Invalid offset: invalid integer: x"},
	{"two offsets", "error_catalogue", "Cannot take more than one offset"},
	{"offsets of returns", "error_kprobe", "Offset not allowed"},
	{"offsets outside of a function", "error_kprobe", "Offset outside the function bounds"},
	{"offsets inside of an instruction", "error_kprobe", "middle of an instruction"},
	{"offsets inside of an instruction of a program", "uprobe_boundary", "middle of instruction"},
	{"addresses without --unsafe", "error_kprobe", "Probing by address requires --unsafe"},
	{"modules that are not there", "error_kprobe",
		"specified module nomod in probe kprobe:nomod:vfs_read is not loaded"},
	{"modules that go", "kprobe_module", "exec rmmod null_blk"},
	{"functions that hang the machine", "error_kprobe", "can hang the machine"},
	{"functions that the kernel forbids", "error_kprobe", "list of functions that must not be probed"},
	{"--unsafe tries what does not match", "error_kprobe", "--unsafe -e 'kprobe:no_such_function"},
	{"--traceable-functions", "kprobe_module", "--traceable-functions list"},
	{"--traceable-functions without the file", "error_catalogue", "Could not read functions from"},
	{"functions that no trampoline takes", "fentry_refused", "takes a variable number of arguments"},
	{"more arguments than registers", "fentry_stack", "8192 1 1"},
	{"three fields of fentry", "error_catalogue", "Only the ''bpf'' variant"},
	{"results of BPF programs", "fentry_bpf", "fexit:bpf:interval_ms_20_1 { @[retval]"},
	{"arguments of BPF programs", "fentry_bpf", "what BPF programs are given is not known"},
	{"tracepoints by one field", "error_probe", "tracepoint probe type requires 2 arguments, found 1"},
	{"arguments beyond those of a raw tracepoint", "error_catalogue",
		"does the body use more arguments than the event has\\?"},
	{"a binary that is not there", "uprobe_forms", "does not exist or is not executable"},
	{"a function without a size", "uprobe_forms", "Could not determine boundary"},
	{"instructions that the kernel does not probe", "uprobe_refused", "no probe can be put on the instruction"},
	{"a function that the loader chooses", "uprobe_process", "chosen from several implementations"},
	{"a source line that has no code", "uprobe_source", "Unable to map"},
	{"languages that are not known", "uprobe_forms", "unsupported language type: java"},
	{"marks without a file", "uprobe_forms", "must specify at least path or pid"},
	{"malformed marks", "error_handmade", "note is cut off"},
	{"units of time", "error_catalogue", "foo is not an accepted unit of time"},
	{"rates of zero", "error_catalogue", "profile frequency should be a positive integer"},
	{"patterns of events", "error_hardware", "wildcards are not allowed for hardware probe type"},
	{"events without a PMU", "error_hardware", "no PMU here counts"},
	{"watchpoints at zero", "error_watchpoint", "non-zero address"},
	{"lengths of watchpoints", "error_watchpoint", "one of \\(1,2,4,8\\)"},
	{"modes of watchpoints", "error_watchpoint", "watchpoint modes may not be duplicated"},
	{"too many watchpoints", "error_watchpoint", "No more HW registers left"},
	{"several iterators", "error_iter", "Only a single iter attach point"},
	{"patterns of iterators", "error_iter", "does not support wildcards"},
	{"unknown providers", "error_catalogue", "Invalid probe type: foo"},
	{"builtins where they are not", "error_catalogue", "The arg0 builtin can only be used with"},
	{"intervals without perf events", "interval_timer", "(timer\\)"},
	{"no privileges", "error_privilege", "ERROR: .*(root|CAP_)"},
	{"a capability missing", "error_capability", "Missing CAP_PERFMON"},
	{"lockdown", "error_lockdown", "lockdown is in mode confidentiality"},
	{"a process that is not there", "uprobe_process", "Unable to open pidfd"},
	{"a command that is not there", "error_catalogue", "Failed to fork child"},

	// Real programs.
	{"C", "uprobe_args", "uprobe:./v5:small { print(args); }"},
	{"C++", "uprobe_args_cpp", `uprobe:./shop:cpp:"shop::buy" {`},
	{"Go", "uprobe_args_go", "uprobe:./conn:main.byval {"},
	{"returns in Go", "uretprobe_go", "uretprobe:./grow:main.grow"},
	{"Rust", "uprobe_args_rust", `uprobe:./v0:rust:"shop::buy" {`},
	{"32-bit programs", "uprobe_32bit", "uprobe:./add:add { printf"},
	{"glibc's marks", "usdt_glibc", "libc:memory_arena_new"},
	{"glibc's functions", "uprobe_malloc", "uprobe:libc:malloc { @ = hist(arg0); }"},
	{"libm's functions", "uprobe_process", "uprobe:libm:cbrt"},
	{"bash", "uprobe_readline", "./shell:readline"},
	{"OpenSSL between two processes", "uprobe_openssl", "SSL_write"},
	{"PostgreSQL", "story_postgres", "postgres:query__start {"},
	{"MariaDB", "story_mariadb", `mariadbd:cpp:"*dispatch_command*"`},
	{"CPython", "story_python", "usdt:$1:python:function__entry /"},
	{"containers", "uprobe_container", "uprobe:/bin/app:work {"},
	{"replaced binaries", "uprobe_replaced", "uprobe:./app:step { printf"},

	// Nothing is left behind.
	{"thousands of user probes and SIGKILL", "uprobe_many", "breakpoints 0"},
	{"thousands of kernel probes and SIGKILL", "kprobe_many", "sh enabled.sh 0"},
	{"cycles of attaching", "kprobe_many", "sh objects.sh $OBJECTS"},
	{"semaphores and SIGKILL", "usdt_kill", "semaphore 1\\nsemaphore 0"},
}

// expectation is a command of a case that looks at what came of the ones before.
var expectation = regexp.MustCompile(`^(\[[^]]*\] )*(! ` +
	`)?(stdout|stderr|number|match|cmp|cmpenv|grep|until|ordered|status|await) `)

// runsHawk is a command that traces in the foreground: what stands behind it is about it, and no
// longer about the ones before.
var runsHawk = regexp.MustCompile(`^(\[[^]]*\] )*(! )?(exec )?hawk `)

// proves looks for a command that has the line, or a file of the case with it, and for what is
// expected of that command: without an expectation it would not matter what it does. point says
// that the line is an attach point, which only a trace proves, no list and no error.
func proves(archive *txtar.Archive, line string, point bool) error {
	commands := strings.Split(string(archive.Comment), "\n")
	err := errors.New("no command has it")
	for i, command := range commands {
		command = strings.TrimSpace(command)
		has := strings.Contains(command, line)
		for _, f := range archive.Files {
			has = has || strings.Contains(string(f.Data), line) && strings.Contains(command, f.Name)
		}
		switch {
		case !has || strings.HasPrefix(command, "#"):
			continue
		case expectation.MatchString(command) && !point:
			return nil
		case point && (strings.Contains(command, "hawk -l") || strings.Contains(command, "! hawk")):
			err = errors.New("no command traces it")
			continue
		}
		background := strings.HasSuffix(command, "&") || strings.Contains(command, "start ")
		if !background && strings.Contains(command, "exit()") && strings.Contains(command, "hawk") {
			return nil // it ends when the probe has fired, or the case does not
		}
		for _, next := range commands[i+1:] {
			if expectation.MatchString(next) {
				return nil
			}
			if runsHawk.MatchString(next) && !background && runsHawk.MatchString(command) {
				break
			}
		}
		err = errors.New("nothing is expected of the command that has it")
	}
	return err
}

// TestProbesProven finds the proofs, and a proof for each name and form of every kind of probe.
func TestProbesProven(t *testing.T) {
	root, err := Root()
	if err != nil {
		t.Fatal(err)
	}
	points := map[string]bool{}
	for _, k := range probe.Kinds() {
		for _, name := range append([]string{k.Name}, k.Aliases...) {
			points["name "+name] = true
		}
		for _, form := range k.Forms {
			points[form] = true
		}
	}
	proven := map[string]bool{}
	for _, p := range probeProofs {
		if proven[p.what] {
			t.Errorf("%s is there twice", p.what)
		}
		proven[p.what] = true
		archive, err := txtar.ParseFile(filepath.Join(root, ScriptDir, p.name+".txtar"))
		if err != nil {
			t.Errorf("%s: %v", p.what, err)
			continue
		}
		if err := proves(archive, p.line, points[p.what] && !strings.HasPrefix(p.name, "error_")); err != nil {
			t.Errorf("%s: %s, %s: %v", p.what, p.name, p.line, err)
		}
		if name, ok := strings.CutPrefix(p.what, "name "); ok &&
			!regexp.MustCompile(`^`+name+`(:.|$| \{)`).MatchString(p.line) {
			t.Errorf("%s: %s is no attach point of that name", p.what, p.line)
		}
	}
	for what := range points {
		if !proven[what] {
			t.Errorf("no case is known for probes by: %s", what)
		}
	}
}

// TestProves has cases that prove something, and some that do not.
func TestProves(t *testing.T) {
	for text, want := range map[string]string{
		"hawk -e 'k:f { }'\nstdout x\n":                  "",
		"hawk -e 'k:f { exit(); }'\n":                    "",
		"hawk s.bt\nstdout x\n-- s.bt --\nk:f { }\n":     "",
		"hawk -e 'k:f { }' &\nhawk -e 'x'\nawait hawk\n": "",
		"# k:f\nstdout x\n":                              "no command has it",
		"hawk t.bt\nstdout x\n-- s.bt --\nk:f { }\n":     "no command has it",
		"hawk -e 'k:f { }'\n":                            "nothing is expected of the command that has it",
		"hawk -e 'k:f { }'\nhawk -e 'x'\nstdout x\n":     "nothing is expected of the command that has it",
		"hawk -l 'k:f'\nstdout x\n":                      "no command traces it",
		"! hawk -e 'k:f { }'\nstderr x\n":                "no command traces it",
	} {
		got := ""
		if err := proves(txtar.Parse([]byte(text)), "k:f", true); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
