package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// soakScript traces all system calls of the machine in the ways that scripts do, and prints what it has each second.
const soakScript = `
tracepoint:raw_syscalls:sys_enter { @calls[comm, args.id] = count(); @start[tid] = nsecs; }
tracepoint:raw_syscalls:sys_exit / @start[tid] / { @ns[comm] = hist(nsecs - @start[tid]); delete(@start[tid]); @total++; }
tracepoint:syscalls:sys_enter_openat { printf("%s %d opens %s\n", comm, pid, str(args.filename)); @sent++; }
tracepoint:sched:sched_process_exec { printf("%d runs %s\n", pid, str(args.filename)); @sent++; }
interval:s:1 { time(); print(@calls, 20); print(@ns); print(@total); clear(@calls); }`

// soak runs hawk for a long time on a machine that is busy and looks at its memory.
func soak(b *bench) ([]row, error) {
	s, err := b.tools[0].attach("-o", os.DevNull, "-e", soakScript+` end { clear(@calls); clear(@ns); clear(@start); printf("") }`)
	if err != nil {
		return nil, err
	}
	stop := busy()
	var memory []float64 // MB, at the beginning, in the middle, at the end
	begin := time.Now()
	for _, part := range []float64{0.1, 0.5, 0.95, 1} {
		time.Sleep(time.Until(begin.Add(time.Duration(part * float64(b.duration)))))
		n, err := statusField(s.cmd.Process.Pid, "VmRSS")
		if err != nil {
			stop()
			return nil, errors.Join(err, s.stop())
		}
		memory = append(memory, float64(n)/1e6)
	}
	stop()
	if err := s.stop(); err != nil {
		return nil, err
	}
	return []row{
		{"memory after a tenth of the time", "MB", memory[:1]},
		{"memory in the middle", "MB", memory[1:2]},
		{"memory near the end", "MB", memory[2:3]},
		{"memory at the end", "MB", memory[3:]},
		{"lost events", "", []float64{lostEvents(s.output.String())}},
	}, nil
}

var lostTotal = regexp.MustCompile(`Total lost event count: (\d+)`)

// lostEvents is what a tool says at its end.
func lostEvents(output string) float64 {
	m := lostTotal.FindStringSubmatch(output)
	if m == nil {
		return 0
	}
	n, _ := strconv.ParseFloat(m[1], 64)
	return n
}

// busy keeps the machine busy with system calls and short processes until it is told to stop.
func busy() (stop func()) {
	done := make(chan struct{})
	var all sync.WaitGroup
	repeat := func(f func()) {
		all.Add(1)
		go func() {
			defer all.Done()
			for {
				select {
				case <-done:
					return
				default:
					f()
				}
			}
		}()
	}
	repeat(func() { exec.Command("/bin/true").Run() })
	repeat(func() {
		for range 1000 {
			if fd, err := unix.Open("/etc/hostname", unix.O_RDONLY, 0); err == nil {
				var b [64]byte
				unix.Read(fd, b[:])
				unix.Close(fd)
			}
			syscall.Getppid()
		}
		time.Sleep(time.Millisecond)
	})
	return func() { close(done); all.Wait() }
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
