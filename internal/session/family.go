package session

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"

	"github.com/cilium/ebpf/asm"
	"golang.org/x/sys/unix"

	"github.com/hawktrace/hawk/internal/bpf"
	"github.com/hawktrace/hawk/internal/object"
	"github.com/hawktrace/hawk/internal/probe"
	"github.com/hawktrace/hawk/internal/proc"
	"github.com/hawktrace/hawk/internal/source"
)

// A family is the threads that --follow traces. Two programs keep the map of
// them, which the script's programs ask: one adds what a member begins before
// that runs for the first time, one removes what has ended. Execution of another
// program changes nothing.
type family struct {
	fds []int // of the map and of what keeps it
}

// trackFamily begins to follow the process of -p or -c with --follow.
func (s *session) trackFamily() error {
	threads := s.mapOf(object.FollowRole)
	if threads < 0 {
		return nil
	}
	t := s.o.Probe.Machine
	if ns, err := t.PIDNamespace(); err == nil && !ns.Initial {
		return errors.New("--follow works in the machine's own PID namespace only")
	}
	pid, err := t.Offset("task_struct", "pid")
	if err != nil {
		return fmt.Errorf("--follow: %w", err)
	}
	tgid, err := t.Offset("task_struct", "tgid")
	if err != nil {
		return fmt.Errorf("--follow: %w", err)
	}
	if !s.o.Probe.Childless {
		tgid = anyTask
	}
	s.family = &family{fds: []int{threads}}
	for event, code := range keepers(threads, pid, tgid) {
		prog, err := s.family.run(event, code)
		if err != nil {
			return fmt.Errorf("--follow: %s: %w", event, err)
		}
		s.meter.helpers = append(s.meter.helpers, metered{"--follow at " + event, prog})
	}
	return s.family.begin(append([]int{s.target()}, s.o.Probe.Also...))
}

// The stack of the programs: a key and a value of the map.
const (
	keyAt   = -8
	valueAt = -16
)

// stackAt sets a register to an address of the stack.
func stackAt(reg uint8, at int32) []uint64 { return []uint64{bpf.MovReg(reg, 10), bpf.AddImm(reg, at)} }

// setStack stores a number on the stack.
func setStack(at int16, n int32) uint64 { return bpf.StoreImm32(10, at, n) }

// readTask puts a number of the task in r3 on the stack.
func readTask(off int, at int16) []uint64 {
	return slices.Concat(
		[]uint64{bpf.AddImm(3, int32(off)), bpf.MovImm(2, 4), setStack(at, 0)},
		stackAt(1, int32(at)), []uint64{bpf.CallHelper(asm.FnProbeReadKernel)})
}

// withKey calls a helper for maps with the key.
func withKey(mapFD int, helper asm.BuiltinFunc) []uint64 {
	return slices.Concat(bpf.LoadMap(1, mapFD), stackAt(2, keyAt), []uint64{bpf.CallHelper(helper)})
}

// setKey gives the key a value.
func setKey(mapFD int, value int32) []uint64 {
	return slices.Concat([]uint64{setStack(valueAt, value)}, stackAt(3, valueAt), []uint64{bpf.MovImm(4, 0)},
		withKey(mapFD, asm.FnMapUpdateElem))
}

// end ends the program.
func end() []uint64 { return []uint64{bpf.MovImm(0, 0), bpf.Exit()} }

// endIf ends the program if r0 is a number.
func endIf(n int32) []uint64 {
	return append([]uint64{bpf.SkipUnlessEqual(0, n, len(end()))}, end()...)
}

// endUnless ends the program if r0 is another number.
func endUnless(n int32) []uint64 {
	return append([]uint64{bpf.SkipIfEqual(0, n, len(end()))}, end()...)
}

// anyTask stands for the offset of the process's number where that does not matter.
const anyTask = -1

// keepers are the programs that keep the map, by the raw tracepoints that they are on. None of them can be
// preempted, as that of sched_process_fork is on newer kernels: the children of others would be lost meanwhile.
func keepers(mapFD, pid, tgid int) map[string][]uint64 {
	return map[string][]uint64{
		"sched_wakeup_new":   adopt(mapFD, pid, tgid), // under the lock of the run queue
		"sched_process_free": bury(mapFD, pid),        // when a grace period has passed, in a softirq
	}
}

// adopt is the program of sched_wakeup_new(child), which runs in the
// parent. A task whose own number is that of its process is a process, and no member
// where the two offsets are given.
func adopt(mapFD, pid, tgid int) []uint64 {
	var threadsOnly []uint64
	if tgid != anyTask {
		threadsOnly = slices.Concat(
			[]uint64{bpf.MovReg(3, 6)}, readTask(tgid, valueAt),
			[]uint64{bpf.Load32(0, 10, keyAt), bpf.Load32(1, 10, valueAt), bpf.XorReg(0, 1)},
			endIf(0))
	}
	return slices.Concat(
		[]uint64{bpf.Load64(6, 1, 0), bpf.CallHelper(asm.FnGetCurrentPidTgid), bpf.Store32(10, 0, keyAt)},
		withKey(mapFD, asm.FnMapLookupElem),
		endIf(0),
		[]uint64{bpf.Load32(0, 0, 0)},
		endUnless(probe.FollowTraced),
		[]uint64{bpf.MovReg(3, 6)},
		readTask(pid, keyAt),
		threadsOnly,
		setKey(mapFD, probe.FollowTraced),
		endIf(0), // there was room
		[]uint64{setStack(keyAt, 0)},
		setKey(mapFD, probe.FollowFull),
		end())
}

// bury is the program of sched_process_free(task).
func bury(mapFD, pid int) []uint64 {
	return slices.Concat(
		[]uint64{bpf.Load64(3, 1, 0)},
		readTask(pid, keyAt),
		[]uint64{bpf.Load32(0, 10, keyAt)},
		endIf(0), // a CPU's idle task
		withKey(mapFD, asm.FnMapDeleteElem),
		end())
}

// run loads a program and attaches it to a raw tracepoint.
func (f *family) run(event string, code []uint64) (prog int, err error) {
	fd, err := bpf.ProgLoad(&bpf.ProgSpec{Name: event, Type: bpf.RawTracepoint, Insns: bpf.Assemble(code...),
		License: "GPL"})
	if err != nil {
		return -1, err
	}
	f.fds = append(f.fds, fd)
	link, err := bpf.RawTracepointOpen(event, fd, 0)
	if err != nil {
		return -1, err
	}
	f.fds = append(f.fds, link)
	return fd, nil
}

// begin makes the threads of processes the first members.
func (f *family) begin(pids []int) error {
	// Key 0 is no thread: programs note there that the map was full.
	if err := f.set(0, 0); err != nil {
		return err
	}
	for _, pid := range pids {
		if err := f.enter(pid); err != nil {
			return err
		}
	}
	return nil
}

// enter makes the threads of a process members.
func (f *family) enter(pid int) error {
	known := map[int]bool{}
	// A thread may start another between two looks; what starts after the first look of a known
	// thread the program sees.
	for grown := true; grown; {
		grown = false
		threads, err := os.ReadDir(proc.Dir(pid) + "/task")
		if err != nil {
			return nil // it has ended
		}
		for _, t := range threads {
			if tid, err := strconv.Atoi(t.Name()); err == nil && !known[tid] {
				known[tid], grown = true, true
				if err := f.set(uint32(tid), probe.FollowTraced); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// word is a number as keys and values of the map have it.
func word(n uint32) []byte { return binary.NativeEndian.AppendUint32(nil, n) }

// set gives a thread a value; of thread 0, whether there was room for all.
func (f *family) set(tid, value uint32) error {
	return bpf.MapUpdate(f.fds[0], word(tid), word(value), 0)
}

// mayHave reports whether a process is a member. Without --follow each is taken for one.
func (f *family) mayHave(pid int) bool {
	return f == nil || bpf.MapLookup(f.fds[0], word(uint32(pid)), make([]byte, 4)) == nil
}

// over reports whether all have ended; so it is without --follow.
func (f *family) over() bool {
	over := true
	f.members(func(tid int) bool {
		over = !proc.Alive(tid)
		return over
	})
	return over
}

// members calls each with threads until it returns false; without --follow there are none.
func (f *family) members(each func(tid int) bool) {
	if f == nil {
		return
	}
	var key []byte // nil: the first
	for range probe.FollowMost {
		next := make([]byte, 4)
		if bpf.MapNextKey(f.fds[0], key, next) != nil {
			return
		}
		if tid := binary.NativeEndian.Uint32(next); tid != 0 && !each(int(tid)) {
			return
		}
		key = next
	}
}

// report says if some could not be followed.
func (f *family) report(s *session) {
	value := make([]byte, 4)
	if f != nil && bpf.MapLookup(f.fds[0], word(0), value) == nil &&
		binary.NativeEndian.Uint32(value) == probe.FollowFull {
		s.Warnf(source.Span{}, "more than %d threads were to be followed at a time: some were not traced",
			probe.FollowMost-1)
	}
}

// close ends following; the map is the script's.
func (f *family) close() {
	for _, fd := range f.fds[1:] {
		unix.Close(fd)
	}
}
