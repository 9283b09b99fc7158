package main

import "time"

// endings are scripts whose end is measured. The first wait for nothing but the kernel, the last one
// names what it has seen.
var endings = []struct{ name, script string }{
	{"a tracepoint", `tracepoint:sched:sched_process_exec { @ = count(); }`},
	{"a system call", `tracepoint:syscalls:sys_enter_openat { @ = count(); }`},
	{"entries and returns of three system calls", `tracepoint:syscalls:sys_enter_open,
		tracepoint:syscalls:sys_enter_openat, tracepoint:syscalls:sys_enter_openat2 { @s[tid] = nsecs; }
		tracepoint:syscalls:sys_exit_open, tracepoint:syscalls:sys_exit_openat,
		tracepoint:syscalls:sys_exit_openat2 /@s[tid]/ { @ = hist(nsecs - @s[tid]); delete(@s[tid]); }`},
	{"stacks of all processors for a fifth of a second", `profile:hz:99 { @[kstack, ustack, comm] = count(); }`},
}

// ending measures how long tools are there once they are to end.
func ending(b *bench) ([]row, error) {
	var rows []row
	for _, e := range endings {
		got, err := b.interleave(min(b.rounds, 9), func(t *tool) ([]float64, error) {
			s, err := t.attach("-e", e.script)
			if err != nil {
				return nil, err
			}
			// Some events have come by then: a tool that has nothing to print at its end would
			// be flattered.
			time.Sleep(200 * time.Millisecond)
			begin := time.Now()
			err = s.stop()
			return []float64{milliseconds(time.Since(begin))}, err
		})
		if err != nil {
			return nil, err
		}
		rows = append(rows, row{e.name, "ms", got[0]})
	}
	return rows, nil
}
