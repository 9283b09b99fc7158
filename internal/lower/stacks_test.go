package lower_test

import (
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/cilium/ebpf/asm"

	"github.com/hawktrace/hawk/internal/check"
	"github.com/hawktrace/hawk/internal/expand"
	"github.com/hawktrace/hawk/internal/ir/eval"
	"github.com/hawktrace/hawk/internal/lower"
	"github.com/hawktrace/hawk/internal/machine"
	"github.com/hawktrace/hawk/internal/object"
	"github.com/hawktrace/hawk/internal/opt"
	"github.com/hawktrace/hawk/internal/probe"
	"github.com/hawktrace/hawk/internal/source"
	"github.com/hawktrace/hawk/internal/syntax"
)

// A stackKernel is what the kernel tells a program of its stack. The place of the stack in the
// stack map is always taken by another.
type stackKernel struct {
	names  []string // of the functions in it, from the innermost on; their addresses are made up
	skip   uint64   // frames that the program had it leave out
	kept   []byte   // frames that the program kept by itself
	number uint64   // and by which number
}

func stackAddress(i int) uint64 { return 0xffffffff81000000 + uint64(i)*0x1357 }

func (k *stackKernel) call(m *eval.Machine, n int64, args []uint64) (uint64, error) {
	switch asm.BuiltinFunc(n) {
	case asm.FnGetStackid:
		k.skip = args[2] & 0xff
		return ^uint64(16), nil // EEXIST
	case asm.FnGetStack:
		buf, err := m.Bytes(args[1], int(args[2]))
		if err != nil {
			return 0, err
		}
		clear(buf)
		got := 0
		for i := int(args[3] & 0xff); i < len(k.names) && got < len(buf); i++ {
			binary.NativeEndian.PutUint64(buf[got:], stackAddress(i))
			got += 8
		}
		return uint64(got), nil
	case asm.FnSnprintf:
		name, err := m.Bytes(args[0], int(args[1]))
		if err != nil {
			return 0, err
		}
		addr, err := m.Bytes(args[3], 8)
		if err != nil {
			return 0, err
		}
		for i, s := range k.names {
			if stackAddress(i) == binary.NativeEndian.Uint64(addr) {
				copy(name[:len(name)-1], s)
			}
		}
		return 0, nil
	case asm.FnGetSmpProcessorId:
		return 0, nil
	case asm.FnMapLookupElem:
		if n, ok := eval.MapNumber(args[0]); ok && n == object.ScratchMap {
			return m.Add(make([]byte, 4096)), nil
		}
		if key, err := m.Bytes(args[1], 4); err == nil && binary.NativeEndian.Uint32(key) == 0 {
			return m.Add(make([]byte, 8)), nil // the text for Snprintf
		}
		return 0, nil
	case asm.FnMapUpdateElem:
		if frames, err := m.Bytes(args[2], 8); err == nil && k.kept == nil {
			key, err := m.Bytes(args[1], 8)
			if err != nil {
				return 0, err
			}
			k.number = binary.NativeEndian.Uint64(key)
			for size := 8; err == nil; size += 8 {
				k.kept = append([]byte(nil), frames...)
				frames, err = m.Bytes(args[2], size+8)
			}
		}
		return 0, nil
	}
	return 0, fmt.Errorf("helper %d", n)
}

// run takes a stack of so many frames, as lowered or as optimised.
func (k *stackKernel) run(t *testing.T, limit int, optimised bool) {
	t.Helper()
	text := fmt.Sprintf("begin { @[kstack(%d)] = 1; }", limit)
	tree, ds := syntax.Parse(source.NewFile("stack", text))
	o := probe.Options{Machine: machine.Recorded("../check/testdata/machine")}
	script, more := expand.Expand(tree, expand.Options{Probe: o})
	ds.Merge(more)
	prog, more := check.Check(script)
	ds.Merge(more)
	low, more := lower.Lower(prog, lower.Options{Probe: &o})
	ds.Merge(more)
	if ds.HasErrors() {
		t.Fatal(ds)
	}
	if optimised {
		if _, err := opt.Run(low.Programs[0].IR, opt.Options{
			ScratchSlots: 1, ScratchMap: object.ScratchMap, MissedData: object.DataMissed,
		}); err != nil {
			t.Fatal(err)
		}
	}
	m := &eval.Machine{Context: make([]byte, 64), Data: make([]byte, low.Object.Data.Bytes), Call: k.call}
	if _, err := m.Run(low.Programs[0].IR); err != nil {
		t.Fatal(err)
	}
}

// TestOwnFrames counts the frames that are there because a program runs.
func TestOwnFrames(t *testing.T) {
	for _, c := range []struct {
		names []string
		own   uint64
	}{
		{[]string{"bpf_prog_1234_x", "bpf_trace_run2", "__bpf_trace_sys_enter", "trace_event", "do_syscall_64"}, 3},
		{[]string{"bpf_prog_1234_x", "bpf_trace_run2", "do_syscall_64"}, 2},
		{[]string{"bpf_prog_12", "bpf_prog_1234_x", "bpf_loop", "bpf_prog_3", "bpf_trace_run1", "schedule"}, 5},
		{[]string{"bpf_prog_1234_x", "bpf_trampoline_6442", "bpf_prog_traced", "vfs_read"}, 2},
		{[]string{"bpf_prog_1234_x", "__bpf_prog_run", "bpf_dispatcher_x", "bpf_prog_test_run"}, 4},
		{[]string{"vfs_read"}, 0},
		{[]string{"bpf_prog_1", "bpf_prog_2", "bpf_prog_3", "bpf_prog_4", "bpf_prog_5", "bpf_prog_6", "bpf_prog_7",
			"bpf_prog_8", "bpf_prog_9", "bpf_prog_10", "bpf_prog_11", "bpf_prog_12", "bpf_prog_13"}, 12},
	} {
		for _, optimised := range []bool{false, true} {
			k := &stackKernel{names: c.names}
			k.run(t, 3, optimised)
			if k.skip != c.own {
				t.Errorf("%v (optimised: %v): %d own frames, want %d", c.names, optimised, k.skip, c.own)
			}
		}
	}
}

// TestSpilledStack takes stacks whose place is taken: what is kept is all of the frames, by a
// number in which each of them counts.
func TestSpilledStack(t *testing.T) {
	for _, limit := range []int{1, 2, 7, 8, 9, 15, 16, 17, 100, 127} {
		names := make([]string, limit)
		for i := range names {
			names[i] = "vfs_read"
		}
		for _, optimised := range []bool{false, true} {
			k := &stackKernel{names: names}
			k.run(t, limit, optimised)
			if len(k.kept) < 8*limit {
				t.Fatalf("%d of %d bytes kept", len(k.kept), 8*limit)
			}
			want := uint64(0)
			for i := range limit {
				if got := binary.NativeEndian.Uint64(k.kept[8*i:]); got != stackAddress(i) {
					t.Errorf("%d frames: frame %d is %#x", limit, i, got)
				}
				want = (want ^ stackAddress(i)) * 0x9e3779b97f4a7c15
				want ^= want >> 32
			}
			if want = want>>2 | 1<<61; k.number != want {
				t.Errorf("%d frames (optimised: %v): number %#x, want %#x", limit, optimised, k.number, want)
			}
		}
	}
}
