package main

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"runtime"
	"time"
	"unsafe"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"
)

// cases are the scripts whose cost per event is measured; each handles every call of a loop once.
// The call is getppid unless they say another.
var cases = []struct {
	name, script string
	call         func()
}{
	{"`@ = count()`", onGetppid + `{ @ = count(); }`, nil},
	{"`@++`", onGetppid + `{ @++; }`, nil},
	{"a false predicate", onGetppid + `/pid == 1/ { @ = count(); }`, nil},
	{"`@[comm] = count()`", onGetppid + `{ @[comm] = count(); }`, nil},
	{"`@[pid, tid] = sum(1)`", onGetppid + `{ @[pid, tid] = sum(1); }`, nil},
	{"`@s[tid] = nsecs`; `hist`, `delete`", onGetppid + `{ @s[tid] = nsecs; }
		tracepoint:syscalls:sys_exit_getppid /@s[tid]/ { @h = hist(nsecs - @s[tid]); delete(@s[tid]); }`, nil},
	{"`@[kstack] = count()`", onGetppid + `{ @[kstack] = count(); }`, nil},
	{"`@[ustack] = count()`", onGetppid + `{ @[ustack] = count(); }`, nil},
	{"`@[ustack] = count()`, 10 frames more", onGetppid + `{ @[ustack] = count(); }`, func() { below(10) }},
	{"`@[ustack] = count()`, 30 frames more", onGetppid + `{ @[ustack] = count(); }`, func() { below(30) }},
	{"`@[str(args.filename)] = count()`", onAccess + `{ @[str(args.filename)] = count(); }`, access},
	{"`printf` with a string", onAccess + `{ printf("%d %s %d\n", pid, str(args.filename), tid); }`, access},
}

const (
	onGetppid = "tracepoint:syscalls:sys_enter_getppid "
	onAccess  = "tracepoint:syscalls:sys_enter_access "
)

// Many short loops are made, of which the shortest is disturbed the least: on a busy machine a loop
// of a few milliseconds is left alone now and then, one of a hundred never.
const (
	bareLoops, bareCalls = 60, 10_000
	statLoops, statCalls = 15, 40_000 // where times are told by the kernel
)

// cost measures what an event costs the traced program.
func cost(b *bench) ([]row, error) {
	var rows []row
	for _, c := range cases {
		got, err := b.interleave(min(b.rounds, 5), func(t *tool) ([]float64, error) {
			call := c.call
			if call == nil {
				call = getppid
			}
			// Without the tool each time anew: the clock of a processor changes in the course of
			// a run.
			bare := fastest(call)
			before, err := programs()
			if err != nil {
				return nil, err
			}
			s, err := t.attach("-e", c.script)
			if err != nil {
				return nil, err
			}
			traced := fastest(call)
			inside, err := programTime(before, call)
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

// getppid does next to nothing in the kernel, so that what a probe adds stands out. RawSyscall
// leaves Go's scheduler out of it: Syscall would tell it of each call.
func getppid() { unix.RawSyscall(unix.SYS_GETPPID, 0, 0, 0) }

// below calls getppid from so many calls further down. Each call is one frame more for a walk of
// the stack; inlined ones would be none.
//
//go:noinline
func below(n int) int {
	if n == 0 {
		getppid()
		return 0
	}
	return below(n-1) + 1
}

// access names a file of the usual length to a call that fails before it looks at the name: the
// kernel knows no such mode. No pathname is walked, so that the cost is that of the probe alone,
// which reads the name all the same.
func access() {
	unix.RawSyscall(unix.SYS_ACCESS, uintptr(unsafe.Pointer(unsafe.StringData(accessPath))), 0xff, 0)
}

const accessPath = "/usr/lib/x86_64-linux-gnu/libc.so.6\x00"

// loop makes a call many times on one CPU and returns how long one took, in nanoseconds.
func loop(call func(), calls int) float64 {
	// Affinity belongs to a thread, so the goroutine must stay on this one.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer onOneCPU()()
	begin := time.Now()
	for range calls {
		call()
	}
	return float64(time.Since(begin).Nanoseconds()) / float64(calls)
}

// onOneCPU keeps the thread on the first CPU until the returned function is called. A change of
// processor would move the loop to cold caches, and to another cell of each map. Errors are
// passed over: where affinity is forbidden the loop is only noisier.
func onOneCPU() (free func()) {
	var old, one unix.CPUSet
	unix.SchedGetaffinity(0, &old)
	one.Set(0)
	unix.SchedSetaffinity(0, &one)
	return func() { unix.SchedSetaffinity(0, &old) }
}

// fastest returns the least of many loops: whatever disturbs one only adds to it.
func fastest(call func()) float64 {
	least := math.Inf(1)
	for range bareLoops {
		least = min(least, loop(call, bareCalls))
	}
	return least
}

// programs lists the programs that are loaded now. Only what a tool has loaded itself counts,
// but an id says nothing of its owner: so the ids before are taken away from those after.
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
// before, spend on one call together, less what the statistics show for programs that do nothing:
// the least of many loops.
func programTime(before map[ebpf.ProgramID]bool, call func()) (float64, error) {
	own, err := programs()
	if err != nil {
		return 0, err
	}
	maps.DeleteFunc(own, func(id ebpf.ProgramID, _ bool) bool { return before[id] })

	// The statistics cost time themselves, two readings of the clock for each run. So they are
	// on here only, not while the loops of fastest run. They need Linux 5.8.
	enabled, err := ebpf.EnableStats(uint32(unix.BPF_STATS_RUN_TIME))
	if err != nil {
		return 0, fmt.Errorf("enabling program statistics: %w", err)
	}
	defer enabled.Close()
	least := math.Inf(1)
	for range statLoops {
		took, err := timeOf(own, call)
		if err != nil {
			return 0, err
		}
		least = min(least, took)
	}
	return least, nil
}

// timeOf returns what the programs spend on one call of a loop.
func timeOf(own map[ebpf.ProgramID]bool, call func()) (float64, error) {
	// The empty program is measured anew beside each: what reading the clock costs changes with
	// the speed of the processor.
	empty, err := emptyTime(call)
	if err != nil {
		return 0, err
	}
	first, err := statistics(own)
	if err != nil {
		return 0, err
	}
	loop(call, statCalls)
	second, err := statistics(own)
	if err != nil {
		return 0, err
	}
	total, ran := 0.0, 0
	for id, s := range second {
		earlier := first[id]
		if earlier == nil || s.RunCount-earlier.RunCount < statCalls {
			continue // of another process, or for another event
		}
		ran++
		total += float64((s.Runtime - earlier.Runtime).Nanoseconds()) - empty*float64(s.RunCount-earlier.RunCount)
	}
	if ran == 0 {
		return 0, errors.New("no program ran for each call")
	}
	return total / statCalls, nil
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

// emptyTime returns what the statistics show for one run of a program that does nothing, in
// nanoseconds. At sys_enter it sees the calls that the scripts see, so that the price of
// measuring is all there is.
func emptyTime(call func()) (float64, error) {
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
	loop(call, statCalls)
	s, err := p.Stats()
	if err != nil {
		return 0, err
	}
	if s.RunCount == 0 {
		return 0, errors.New("the empty program did not run")
	}
	return float64(s.Runtime.Nanoseconds()) / float64(s.RunCount), nil
}
