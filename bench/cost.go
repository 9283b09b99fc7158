package main

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"runtime"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"
)

// cases are the scripts whose cost per event is measured; each handles every getppid once.
var cases = []struct{ name, script string }{
	{"(a) `@ = count()`", `tracepoint:syscalls:sys_enter_getppid { @ = count(); }`},
	{"(b) `@[comm] = count()`", `tracepoint:syscalls:sys_enter_getppid { @[comm] = count(); }`},
	{"(c) `@s[tid] = nsecs`; `hist`, `delete`", `tracepoint:syscalls:sys_enter_getppid { @s[tid] = nsecs; }
		tracepoint:syscalls:sys_exit_getppid /@s[tid]/ { @h = hist(nsecs - @s[tid]); delete(@s[tid]); }`},
}

const loopCalls = 400_000

// cost measures what an event costs the traced program.
func cost(b *bench) ([]row, error) {
	var rows []row
	for _, c := range cases {
		got, err := b.interleave(min(b.rounds, 5), func(t *tool) ([]float64, error) {
			bare := fastest(loopCalls)
			before, err := programs()
			if err != nil {
				return nil, err
			}
			s, err := t.attach("-e", c.script)
			if err != nil {
				return nil, err
			}
			traced := fastest(loopCalls)
			inside, err := programTime(before)
			if err := errors.Join(err, s.stop()); err != nil {
				return nil, err
			}
			return []float64{traced - bare, inside}, nil
		})
		if err != nil {
			return nil, err
		}
		rows = append(rows, row{c.name + ", added to the call", "ns", got[0]},
			row{c.name + ", in programs", "ns", got[1]})
	}
	return rows, nil
}

// loop makes calls of getppid on one CPU and returns how long one took, in nanoseconds.
func loop(calls int) float64 {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer onOneCPU()()
	begin := time.Now()
	for range calls {
		unix.RawSyscall(unix.SYS_GETPPID, 0, 0, 0)
	}
	return float64(time.Since(begin).Nanoseconds()) / float64(calls)
}

// onOneCPU keeps the thread on the first CPU until the returned function is called.
func onOneCPU() (free func()) {
	var old, one unix.CPUSet
	unix.SchedGetaffinity(0, &old)
	one.Set(0)
	unix.SchedSetaffinity(0, &one)
	return func() { unix.SchedSetaffinity(0, &old) }
}

// fastest returns the least of three loops: whatever disturbs one only adds to it.
func fastest(calls int) float64 {
	return min(loop(calls), loop(calls), loop(calls))
}

// programs lists the programs that are loaded now.
func programs() (map[ebpf.ProgramID]bool, error) {
	ids := map[ebpf.ProgramID]bool{}
	for id := ebpf.ProgramID(0); ; {
		next, err := ebpf.ProgramGetNextID(id)
		if errors.Is(err, os.ErrNotExist) {
			return ids, nil
		}
		if err != nil {
			return nil, fmt.Errorf("listing programs: %w", err)
		}
		ids[next] = true
		id = next
	}
}

// programTime returns the nanoseconds that the programs of a tool, which are those loaded since
// before, spend on one getppid together, less what the statistics show for programs that do
// nothing.
func programTime(before map[ebpf.ProgramID]bool) (float64, error) {
	own, err := programs()
	if err != nil {
		return 0, err
	}
	maps.DeleteFunc(own, func(id ebpf.ProgramID, _ bool) bool { return before[id] })

	enabled, err := ebpf.EnableStats(uint32(unix.BPF_STATS_RUN_TIME))
	if err != nil {
		return 0, fmt.Errorf("enabling program statistics: %w", err)
	}
	defer enabled.Close()
	empty, err := emptyTime()
	if err != nil {
		return 0, err
	}
	first, err := statistics(own)
	if err != nil {
		return 0, err
	}
	loop(loopCalls)
	second, err := statistics(own)
	if err != nil {
		return 0, err
	}
	total, ran := 0.0, 0
	for id, s := range second {
		earlier := first[id]
		if earlier == nil || s.RunCount-earlier.RunCount < loopCalls {
			continue // of another process, or for another event
		}
		ran++
		total += float64((s.Runtime - earlier.Runtime).Nanoseconds()) - empty*float64(s.RunCount-earlier.RunCount)
	}
	if ran == 0 {
		return 0, errors.New("no program ran for each call")
	}
	return total / loopCalls, nil
}

// statistics reads the statistics of programs. Those that are gone are left out.
func statistics(ids map[ebpf.ProgramID]bool) (map[ebpf.ProgramID]*ebpf.ProgramStats, error) {
	all := map[ebpf.ProgramID]*ebpf.ProgramStats{}
	for id := range ids {
		p, err := ebpf.NewProgramFromID(id)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		all[id], err = p.Stats()
		p.Close()
		if err != nil {
			return nil, fmt.Errorf("statistics of program %d: %w", id, err)
		}
	}
	return all, nil
}

// emptyTime returns what the statistics show for one run of a program that does nothing, in nanoseconds.
func emptyTime() (float64, error) {
	p, err := ebpf.NewProgram(&ebpf.ProgramSpec{
		Type: ebpf.RawTracepoint, License: "GPL", Instructions: asm.Instructions{asm.Mov.Imm(asm.R0, 0), asm.Return()},
	})
	if err != nil {
		return 0, fmt.Errorf("loading an empty program: %w", err)
	}
	defer p.Close()
	l, err := link.AttachRawTracepoint(link.RawTracepointOptions{Name: "sys_enter", Program: p})
	if err != nil {
		return 0, fmt.Errorf("attaching an empty program: %w", err)
	}
	defer l.Close()
	loop(loopCalls)
	s, err := p.Stats()
	if err != nil {
		return 0, err
	}
	if s.RunCount == 0 {
		return 0, errors.New("the empty program did not run")
	}
	return float64(s.Runtime.Nanoseconds()) / float64(s.RunCount), nil
}
