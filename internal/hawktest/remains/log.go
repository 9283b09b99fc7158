package remains

import (
	"fmt"
	"regexp"
	"strings"

	"golang.org/x/sys/unix"
)

// kernelLog returns the messages in the kernel's log, oldest first.
func kernelLog() ([]string, error) {
	const sizeBuffer = 10 // SYSLOG_ACTION_SIZE_BUFFER
	size, err := unix.Klogctl(sizeBuffer, nil)
	if err != nil {
		return nil, fmt.Errorf("asking for the size of the kernel's log: %w", err)
	}
	buf := make([]byte, size)
	n, err := unix.Klogctl(unix.SYSLOG_ACTION_READ_ALL, buf)
	if err != nil {
		return nil, fmt.Errorf("reading the kernel's log: %w", err)
	}
	return strings.Split(strings.TrimSpace(string(buf[:n])), "\n"), nil
}

// message takes a line of the log apart: level and facility, time, text.
var message = regexp.MustCompile(`^<(\d+)>(?:\[[^\]]*\] ?)*(.*)$`)

// harmless are messages that would count but say nothing about hawk, with the reason.
var harmless = []struct {
	text   *regexp.Regexp
	reason string
}{
	{regexp.MustCompile(`^(clocksource|hrtimer|sched_clock|tsc): |^TSC found unstable`),
		"an emulated processor stands still now and then"},
	{regexp.MustCompile(`^---\[ end trace`), "the end of what has been told already"},
	{regexp.MustCompile(`^perf: interrupt took too long`),
		"so it does under emulation; the kernel lowers its own limit"},
	{regexp.MustCompile(`^\S+ \(\d+\): drop_caches`), "a case drops caches"},
	{regexp.MustCompile(`^Memory cgroup out of memory: Killed process \d+ \(memcg\)`), "a case has it killed"},
	{regexp.MustCompile(`^ref_ctr_offset mismatch`), "a case asks for a probe that the kernel refuses"},
	{regexp.MustCompile(`^trace_kprobe: Could not probe`), "a case asks for functions that cannot be probed"},
	{regexp.MustCompile(`module verification failed|loading out-of-tree module`),
		"modules that cases load are not signed"},
}

// trouble recognises messages that tell of a fault of the kernel's, or of something left behind,
// whatever their level is: the kernel warns of much that is merely worth knowing, such as programs
// that may write to user memory.
var trouble = regexp.MustCompile(`(?i)leak|cut here|^(WARNING|BUG|Oops|INFO): |refcount`)

// ours recognises messages of the parts of the kernel that hawk uses.
var ours = regexp.MustCompile(`(?i)probe|ref_ctr|bpf|perf|trac(e|ing)|breakpoint|btf|hawk`)

// suspicious returns the messages of errors and those that tell of trouble, unless they are known
// to be harmless. A machine that is not made for the tests has more to say than concerns them:
// there only messages of the parts that hawk uses count.
func suspicious(log []string, inVM bool) []string {
	var list []string
	for _, line := range log {
		m := message.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		var priority int
		fmt.Sscan(m[1], &priority)
		const worst = 3 // KERN_ERR
		if priority&7 > worst && !trouble.MatchString(m[2]) || priority>>3 != 0 ||
			!inVM && !ours.MatchString(m[2]) || known(m[2]) {
			continue
		}
		list = append(list, "kernel log: "+m[2])
	}
	return list
}

func known(text string) bool {
	for _, h := range harmless {
		if h.text.MatchString(text) {
			return true
		}
	}
	return false
}
