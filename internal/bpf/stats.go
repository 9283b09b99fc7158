package bpf

import "unsafe"

// EnableStats has the kernel measure all programs of the machine for as long as
// the descriptor is open. It needs Linux 5.8 and CAP_SYS_ADMIN.
func EnableStats() (int, error) {
	attr := struct{ kind uint32 }{} // BPF_STATS_RUN_TIME
	return call(cmdEnableStats, unsafe.Pointer(&attr), unsafe.Sizeof(attr))
}

// ProgRuns is how often a program ran while programs were measured, and the
// nanoseconds that it took in all. Skipped, which needs no measuring, is how often
// the kernel did not run it because it, or one of its kind, was running on the CPU.
// Linux counts that since 5.12 for fentry and fexit, 6.1 for raw tracepoints, 6.7
// for kprobes and perf events, and gives 0 before.
type ProgRuns struct{ Runs, Nanos, Skipped uint64 }

// Measured is what was measured of a program so far.
func Measured(fd int) (ProgRuns, error) {
	var info progInfo
	if err := objInfo(fd, unsafe.Pointer(&info), unsafe.Sizeof(info)); err != nil {
		return ProgRuns{}, err
	}
	return ProgRuns{Runs: info.runs, Nanos: info.runNanos, Skipped: info.skipped}, nil
}
