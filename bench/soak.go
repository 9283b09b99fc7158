package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// soakScript traces all system calls of the machine in the ways that scripts do, and prints what it has each second.
const soakScript = `
tracepoint:raw_syscalls:sys_enter { @calls[comm, args.id] = count(); @start[tid] = nsecs; }
tracepoint:raw_syscalls:sys_exit / @start[tid] / { @ns[comm] = hist(nsecs - @start[tid]); delete(@start[tid]); @total++; }
tracepoint:syscalls:sys_enter_openat { printf("%s %d opens %s\n", comm, pid, str(args.filename)); @sent++; }
tracepoint:sched:sched_process_exec { printf("%d runs %s\n", pid, str(args.filename)); @sent++; }
interval:s:1 { time(); print(@calls, 20); print(@ns); print(@total); clear(@calls); }
end { clear(@calls); clear(@ns); clear(@start); printf("") }`

// soakStacks asks for stacks of processes that are gone a moment later, each of a program of its own.
const soakStacks = `
tracepoint:syscalls:sys_enter_getppid { @[comm, ustack, kstack(4)] = count(); @n++; }
interval:s:1 { print(@, 5); clear(@); }
end { clear(@); }`

// soakFollow is about one process and all that it starts.
const soakFollow = `
tracepoint:syscalls:sys_enter_getppid { printf("%d %s\n", pid, ustack(3)); @n++; }
profile:hz:99 { @[ustack] = count(); }
interval:s:1 { print(@, 5); clear(@); }
end { clear(@); }`

// soaked are the hawks that run side by side. What starts the short-lived processes is the command of the last.
var soaked = []struct {
	name string
	args []string
}{
	{"maps", []string{"-o", os.DevNull, "-e", soakScript}},
	{"stacks, JSON", []string{"-o", os.DevNull, "-f", "json", "-e", soakStacks}},
	{"--follow", []string{"-o", os.DevNull, "--follow", "-c", "/proc/self/exe", "-e", soakFollow}},
}

// soakProcesses is how many processes a soak test starts, at an even pace, each from a file of its
// own that is removed after it.
const soakProcesses = 100_000

// soak runs hawks for a long time beside short-lived processes and files and looks at what they
// hold: it has to stay level.
func soak(b *bench) ([]row, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(b.dir, "soak")
	if err := os.Mkdir(dir, 0o755); err != nil {
		return nil, err
	}
	// The command of -c inherits it, by which main knows that it is to start processes.
	if err := os.Setenv(soakMark, fmt.Sprintf("%s:%s", dir, b.duration)); err != nil {
		return nil, err
	}
	defer os.Unsetenv(soakMark)
	var sessions []*session
	stop := func() (errs error) {
		for _, s := range sessions {
			errs = errors.Join(errs, s.stop())
		}
		return errs
	}
	// The last is the one that starts processes: by then the others are attached and miss none.
	for _, h := range soaked {
		args := slices.Clone(h.args)
		if i := slices.Index(args, "/proc/self/exe"); i >= 0 {
			args[i] = self
		}
		s, err := b.tools[0].attach(args...)
		if err != nil {
			return nil, errors.Join(err, stop())
		}
		sessions = append(sessions, s)
	}

	var rows []row
	for _, h := range soaked {
		for _, what := range held {
			rows = append(rows, row{h.name + ": " + what.name, what.unit, nil})
		}
	}
	begin := time.Now()
	// The first tenth is left for caches to fill. The last look comes just before the end, since
	// hawk with --follow ends by itself once its command has.
	for _, part := range []float64{0.1, 0.5, 0.98} {
		time.Sleep(time.Until(begin.Add(time.Duration(part * float64(b.duration)))))
		i := 0
		for _, s := range sessions {
			for _, what := range held {
				n, err := what.count(s.cmd.Process.Pid)
				if err != nil {
					return nil, errors.Join(err, stop())
				}
				rows[i].Values = append(rows[i].Values, n)
				i++
			}
		}
	}
	if err := stop(); err != nil {
		return nil, err
	}
	var flat []row
	for _, r := range rows {
		for i, at := range []string{"after a tenth of the time", "in the middle", "near the end"} {
			flat = append(flat, row{r.Name + " " + at, r.Unit, r.Values[i : i+1]})
		}
	}
	for i, s := range sessions {
		flat = append(flat, row{soaked[i].name + ": lost events", "", []float64{lostEvents(s.output.String())}})
	}
	return flat, nil
}

// held are the things that a process can hold more and more of.
var held = []struct {
	name, unit string
	count      func(pid int) (float64, error)
}{
	{"memory", "MB", func(pid int) (float64, error) {
		n, err := statusField(pid, "VmRSS")
		return float64(n) / 1e6, err
	}},
	{"mappings", "", func(pid int) (float64, error) {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
		return float64(strings.Count(string(text), "\n")), err
	}},
	{"descriptors", "", func(pid int) (float64, error) {
		entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
		return float64(len(entries)), err
	}},
	// The memory of maps is the kernel's and in no field of the process's. Its descriptors tell
	// it, as memlock, in bytes.
	{"memory of kernel maps", "MB", func(pid int) (float64, error) {
		infos, err := filepath.Glob(fmt.Sprintf("/proc/%d/fdinfo/*", pid))
		total := 0.0
		for _, name := range infos {
			text, _ := os.ReadFile(name) // it may be closed by now
			if m := memlock.FindSubmatch(text); m != nil {
				n, _ := strconv.ParseFloat(string(m[1]), 64)
				total += n / 1e6
			}
		}
		return total, err
	}},
}

var memlock = regexp.MustCompile(`(?m)^memlock:\s+(\d+)$`)

var lostTotal = regexp.MustCompile(`Total lost event count: (\d+)`)

// lostEvents is what a tool says at its end. Where nothing was lost it says nothing.
func lostEvents(output string) float64 {
	m := lostTotal.FindStringSubmatch(output)
	if m == nil {
		return 0
	}
	n, _ := strconv.ParseFloat(m[1], 64)
	return n
}

// statusField is a size in /proc/PID/status, in bytes.
func statusField(pid int, name string) (int64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, name+":"); ok {
			kb, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(value), "kB")), 10, 64)
			return kb << 10, err
		}
	}
	return 0, fmt.Errorf("/proc/%d/status has no %s", pid, name)
}
