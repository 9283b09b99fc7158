package expand

import (
	"math"
	"strconv"
	"strings"

	"github.com/hawktrace/hawk/internal/probe"
	"github.com/hawktrace/hawk/internal/spell"
)

// otherKinds are kinds of probes in other tracing languages, with what hawk has
// for them.
// They are those of DTrace and SystemTap, by the words before the first colon.
var otherKinds = map[string]string{
	"syscall":  "a system call is tracepoint:syscalls:sys_enter_NAME, its return tracepoint:syscalls:sys_exit_NAME",
	"fbt":      "a function of the kernel is kprobe:NAME or fentry:NAME, its return kretprobe:NAME or fexit:NAME",
	"kernel":   "a function of the kernel is kprobe:NAME or fentry:NAME, its return kretprobe:NAME or fexit:NAME",
	"function": "a function of the kernel is kprobe:NAME or fentry:NAME, of a program uprobe:BINARY:NAME",
	"module":   "a function of the kernel is kprobe:NAME or fentry:NAME, its return kretprobe:NAME or fexit:NAME",
	"lsm":      "a hook of security modules is called by kprobe:security_NAME or fentry:security_NAME",
	"process":  "a function of a program is uprobe:BINARY:NAME, its return uretprobe:BINARY:NAME",
	"sdt":      "a mark of the kernel is tracepoint:CATEGORY:EVENT, one of a program usdt:BINARY:NAME",
	"trace":    "a mark of the kernel is tracepoint:CATEGORY:EVENT",
	"event":    "a mark of the kernel is tracepoint:CATEGORY:EVENT",
	"io":       "requests to disks are tracepoint:block:block_rq_issue and block_rq_complete",
	"proc":     "processes are tracepoint:sched:sched_process_exec, sched_process_fork and sched_process_exit",
	"perf":     "events of the processor are hardware:EVENT, those of the kernel software:EVENT",
	"cpc":      "events of the processor are hardware:EVENT",
	"tick":     "a clock that fires on one processor is interval:s:1, one that fires on all profile:hz:99",
	"timer":    "a clock that fires on one processor is interval:s:1, one that fires on all profile:hz:99",
	"sample":   "a clock that fires on all processors is profile:hz:99",
	"profile":  "a clock that fires on all processors is profile:hz:99",
	"dtrace":   "the start of the run is begin, its end is end",
	"start":    "the start of the run is begin",
	"main":     "the start of the run is begin, of a program's main function uprobe:BINARY:main",
}

// otherKind is advice on a word that is no kind of probe, "" if it is not one of
// another language.
func (e *expander) otherKind(name string, parts []probe.Part) string {
	word := strings.ToLower(name)
	if i := strings.IndexAny(word, "-.("); i > 0 { // tick-1s, kernel.function
		word = word[:i]
	}
	// syscall:openat, syscall::openat:entry and the like: the event tells which tracepoint is
	// meant.
	if word == "syscall" {
		for _, p := range parts[1:] {
			if near := e.event(p.Text); near != "" {
				return "did you mean " + near + "?"
			}
			if near := e.event("sys_enter_" + p.Text); near != "" {
				if parts[len(parts)-1].Text == "return" {
					near = strings.Replace(near, "sys_enter_", "sys_exit_", 1)
				}
				return "did you mean " + near + "?"
			}
		}
	}
	return otherKinds[word]
}

// event finds a tracepoint by the name of its event alone, "" if there is none.
// The list of tracepoints is read for it, which is why only mistakes ask.
func (e *expander) event(name string) string {
	kind, ok := probe.Lookup("tracepoint")
	if !ok || name == "" {
		return ""
	}
	for _, n := range kind.Names(&probe.Point{Kind: kind}, e.opts) {
		if strings.HasSuffix(n, ":"+name) {
			return kind.Name + ":" + n
		}
	}
	return ""
}

// howToWrite is advice on an attach point whose parts are wrong.
func (e *expander) howToWrite(kind *probe.Kind, parts []probe.Part, problem string) string {
	// It is written rightly, and not permitted.
	if strings.Contains(problem, "--unsafe") {
		return ""
	}
	if len(parts) > 0 && !strings.Contains(parts[0].Text, "+") && kind.Names != nil && kind.Wild == probe.KernelWild {
		for _, p := range parts {
			_, event, _ := strings.Cut(p.Text, "/") // as in the file system
			if event == "" {
				event = p.Text
			}
			if near := e.event(event); near != "" && strings.HasPrefix(near, kind.Name) {
				return "did you mean " + near + "?"
			}
		}
		if near := spell.Nearest(parts[0].Text,
			kind.Names(&probe.Point{Kind: kind}, e.opts)); near != "" && !strings.Contains(near, ":") {
			return "did you mean " + kind.Name + ":" + near + "?"
		}
	}
	if kind.Rated && len(parts) > 0 {
		if meant := rate(kind.Name, parts); meant != "" {
			return "did you mean " + meant + "?"
		}
	}
	return "it is written " + strings.Join(kind.Forms, " or ")
}

// rate is what an attach point with a rate was probably meant to be: 99 of a
// profile are hertz, of an interval seconds, and part of a second is told in
// milliseconds.
// A bare number is nanoseconds to the language, which hardly anybody means.
func rate(kind string, parts []probe.Part) string {
	last := parts[len(parts)-1].Text
	number := strings.TrimRight(strings.ToLower(last), "hz")
	if _, err := strconv.ParseUint(number, 10, 32); err == nil && len(parts) == 1 {
		switch {
		case number != last:
			return kind + ":hz:" + number
		case kind == "interval":
			return kind + ":s:" + number
		}
		return kind + ":hz:" + number
	}
	if n, err := strconv.ParseFloat(last, 64); err == nil && len(parts) == 2 && parts[0].Text == "s" &&
		n*1000 == math.Trunc(n*1000) && n > 0 {
		return kind + ":ms:" + strconv.FormatFloat(n*1000, 'f', -1, 64)
	}
	return ""
}
