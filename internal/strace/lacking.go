package strace

// A Lack is an option of strace(1) or ltrace(1) that hawk does not have.
type Lack struct {
	Letter  byte
	Name    string
	Value   string // what is called so follows; "": nothing does
	Instead string // what to do; "": what it asks for is so
}

// stops is said of options that are about processes which strace(1) holds.
const stops = "nothing is stopped here, so there is nothing to detach from"

// Lacking are these options, with those that ask for what is so anyway.
//
// They are parsed like others, so that a command line that is known by heart gets an answer about
// the one option that hawk does differently, instead of an unknown flag.
var Lacking = []Lack{
	{0, "seccomp-bpf", "", ""},
	{'w', "summary-wall-clock", "", ""},
	{'I', "interruptible", "WHEN", ""},
	{'D', "daemonize", "[GRANDCHILD]", "the command never sees that it is traced, and goes on when hawk is killed"},
	{'b', "detach-on", "CALL", stops + "; --no-follow leaves out what the command starts"},
	{'O', "summary-syscall-overhead", "TIME", "calls are timed in the kernel; what hawk adds is not in their times"},
	{'Y', "decode-pids", "[WHAT]", "pids are those of hawk's namespace; execsnoop shows names"},
	{0, "pidns-translation", "", "pids are those of hawk's namespace"},
	{0, "inject", "SET", "hawk observes only; strace itself can inject"},
	{0, "fault", "SET", "hawk observes only; strace itself can inject"},
	{0, "kvm", "WHAT", "the tracepoint kvm:kvm_exit says why a virtual machine stopped"},
	{0, "secontext", "[WHAT]", "ls -Z and ps -Z show contexts"},
	{0, "argv0", "NAME", "sh -c 'exec -a NAME command' (bash) sets it"},
	{0, "kill-on-exit", "", "timeout(1) ends a command"},
	{0, "tips", "[WHAT]", "hawk help strace shows the manual"},
	{0, "lossless", "", "HAWK_PERF_RB_PAGES in the environment makes the buffer larger; -c loses nothing"},
	{0, "uring", "", "hawk -e 'tracepoint:io_uring:io_uring_submit_req { … }' shows what io_uring does"},
	{0, "stack-trace-frame-limit", "N", "stacks are shown whole"},
}

// LackingCalls are those of ltrace(1).
var LackingCalls = []Lack{
	{'D', "debug", "MASK", "-d asm and others show how the script of hawk is made, see hawk --help"},
	{'V', "", "", "hawk --version"},
	{'A', "", "MAXELTS", ""}, // elements of arrays are not shown, and so not too many
}
