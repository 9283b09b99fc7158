package main

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// startup measures whole short runs: time and peak memory.
func startup(b *bench) ([]row, error) {
	var rows []row
	for _, s := range []struct {
		name string
		args []string
	}{
		{"hello", []string{"-e", `BEGIN { printf("hello\n"); exit(); }`}},
		{"tracepoint one-liner", []string{"-e", `BEGIN { exit(); } tracepoint:raw_syscalls:sys_enter { @[comm] ` +
			`= count(); }`}},
		{"tool", []string{"bench/tool.bt"}},
	} {
		// Time and memory are of two runs: the second is stopped by ptrace, and its time means
		// nothing.
		got, err := b.interleave(b.rounds, func(t *tool) ([]float64, error) {
			took, err := t.whole(s.args...)
			if err != nil {
				return nil, err
			}
			peak, err := t.peak(s.args...)
			return []float64{milliseconds(took), float64(peak) / (1 << 20)}, err
		})
		if err != nil {
			return nil, err
		}
		rows = append(rows, row{s.name + ", time", "ms", got[0]}, row{s.name + ", peak memory", "MB", got[1]})
	}
	return rows, nil
}

// wildcard measures a run of one second with hundreds of probes. For bpftrace it takes half a
// minute, so there are three rounds.
func wildcard(b *bench) ([]row, error) {
	got, err := b.interleave(min(b.rounds, 3), func(t *tool) ([]float64, error) {
		took, err := t.whole("-e", `tracepoint:syscalls:sys_enter_* { @[probe] = count(); } interval:s:1 { exit(); }`)
		return []float64{milliseconds(took)}, err
	})
	if err != nil {
		return nil, err
	}
	return []row{{"start, one second, end", "ms", got[0]}}, nil
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// peak runs the tool to its end and returns the most memory that was resident, in bytes. The
// kernel's accounting for ended children will not do: it starts with the memory of the process that
// started them. So the run is traced, and asked when it stops at the point of its exit.
func (t *tool) peak(args ...string) (int64, error) {
	runtime.LockOSThread() // the tracer is a thread
	defer runtime.UnlockOSThread()
	devnull, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		return 0, err
	}
	defer devnull.Close()
	cmd := t.command(args...)
	cmd.Stdout, cmd.Stderr = devnull, devnull
	cmd.SysProcAttr.Ptrace = true
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	pid := cmd.Process.Pid
	var status unix.WaitStatus
	if _, err := unix.Wait4(pid, &status, 0, nil); err != nil { // stopped at its exec
		return 0, err
	}
	if err := unix.PtraceSetOptions(pid, unix.PTRACE_O_TRACEEXIT|unix.PTRACE_O_EXITKILL); err != nil {
		return 0, err
	}
	var peak int64
	// Signals of the tool's own are passed on. Go's runtime interrupts its goroutines by SIGURG.
	for signal := 0; ; {
		if err := unix.PtraceCont(pid, signal); err != nil {
			return 0, err
		}
		if _, err := unix.Wait4(pid, &status, 0, nil); err != nil {
			return 0, err
		}
		switch {
		case status.Exited() || status.Signaled():
			if status != 0 {
				return 0, fmt.Errorf("%s %s ended with status %#x", t.name, strings.Join(args, " "), status)
			}
			if peak == 0 {
				return 0, errors.New("the peak of memory was not seen")
			}
			return peak, nil
		case status.StopSignal() == syscall.SIGTRAP && status.TrapCause() == unix.PTRACE_EVENT_EXIT:
			// At this stop the memory is still there; behind it /proc shows none.
			if peak, err = statusField(pid, "VmHWM"); err != nil {
				return 0, err
			}
			signal = 0
		case status.StopSignal() == syscall.SIGTRAP:
			signal = 0
		default:
			signal = int(status.StopSignal())
		}
	}
}
