package hawktest

import (
	"errors"
	"fmt"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/btf"
	"github.com/cilium/ebpf/link"
)

// probeEveryone asks whether process 1 is like any other. Some machines have kernels that run no
// program while it is on the CPU, for interrupts neither; they hide it from iterators, too. Those of
// VMs do not.
func probeEveryone() error {
	if InVM() {
		return nil
	}
	spec, err := btf.LoadKernelSpec()
	if err != nil {
		return err
	}
	var task *btf.Struct
	if err := spec.TypeByName("task_struct", &task); err != nil {
		return err
	}
	var tgid btf.Bits
	for _, m := range task.Members {
		if m.Name == "tgid" {
			tgid = m.Offset
		}
	}
	if tgid == 0 {
		return errors.New("struct task_struct has no tgid")
	}
	p, err := ebpf.NewProgram(&ebpf.ProgramSpec{
		Type: ebpf.Tracing, AttachType: ebpf.AttachTraceIter, AttachTo: "task", License: "GPL",
		Instructions: asm.Instructions{
			asm.LoadMem(asm.R2, asm.R1, 0, asm.DWord), // struct bpf_iter__task: meta, task
			asm.LoadMem(asm.R3, asm.R1, 8, asm.DWord),
			asm.JEq.Imm(asm.R3, 0, "end"),
			asm.LoadMem(asm.R4, asm.R3, int16(tgid.Bytes()), asm.Word),
			asm.JNE.Imm(asm.R4, 1, "end"),
			asm.LoadMem(asm.R1, asm.R2, 0, asm.DWord), // struct bpf_iter_meta: seq
			asm.Mov.Imm(asm.R3, 1),
			asm.StoreMem(asm.RFP, -8, asm.R3, asm.DWord),
			asm.Mov.Reg(asm.R2, asm.RFP),
			asm.Add.Imm(asm.R2, -8),
			asm.FnSeqWrite.Call(),
			asm.Mov.Imm(asm.R0, 0).WithSymbol("end"),
			asm.Return(),
		},
	})
	if err != nil {
		return fmt.Errorf("asking for process 1: %w", err)
	}
	defer p.Close()
	l, err := link.AttachIter(link.IterOptions{Program: p})
	if err != nil {
		return err
	}
	defer l.Close()
	r, err := l.Open()
	if err != nil {
		return err
	}
	defer r.Close()
	// The program writes a byte for process 1 and for no other.
	if n, _ := r.Read(make([]byte, 1)); n == 0 {
		return errors.New("the kernel keeps process 1 from programs")
	}
	return nil
}
