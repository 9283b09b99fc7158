package kernel

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/hawktrace/hawk/internal/bpf"
	"github.com/hawktrace/hawk/internal/btf"
	"github.com/hawktrace/hawk/internal/ir"
	"github.com/hawktrace/hawk/internal/probe"
)

// fentry and fexit follow BPF programs too, and functions of them. Both are
// found by their BTF, since the kernel cuts names of programs short.

// onBPF is the first part of attach points on BPF programs, in the place of a
// module.
const onBPF = "bpf"

// parseBPFProgram parses bpf:PROGRAM and bpf:ID:PROGRAM.
func parseBPFProgram(p *probe.Point, parts []probe.Part) error {
	p.Pattern = &probe.Pattern{Target: probe.Part{Text: onBPF}, Provider: probe.Part{Text: "*"},
		Fn: parts[len(parts)-1]}
	p.Target, p.Func = onBPF, p.Pattern.Fn.Text
	if p.Func == "" {
		return errors.New("the bpf variant of this probe needs a program name")
	}
	if len(parts) == 3 {
		p.Provider, p.Pattern.Provider = parts[1].Text, parts[1]
		if _, err := probe.ParseInt(p.Provider); err != nil && p.Provider != "*" {
			return fmt.Errorf("Invalid BPF program ID: %w; it is a number or *", err)
		}
	}
	return nil
}

// matchBPFProgram walks the loaded programs. Programs share a BTF, as those of one object file do,
// so that each is parsed once.
func matchBPFProgram(p *probe.Point, o *probe.Options) ([]*probe.Point, error) {
	// Programs are of the machine that runs; a recorded one has none.
	if !o.Machine.Live() {
		return nil, nil
	}
	id, wild := uint64(0), p.Pattern.Provider.Text == "*"
	if !wild {
		id, _ = probe.ParseInt(p.Pattern.Provider.Text)
	}
	var out []*probe.Point
	specs := map[uint32]*btf.Spec{}
	err := bpf.Progs(func(info bpf.ProgInfo) bool {
		// A program without BTF has no name that could be matched whole, and nothing to attach
		// by.
		if info.BTF == 0 || !wild && uint64(info.ID) != id {
			return true
		}
		spec, ok := specs[info.BTF]
		if !ok {
			// One that cannot be read belongs to a program that is gone.
			if data, err := bpf.BTFData(info.BTF); err == nil {
				spec, _ = btf.Parse(info.Name, data, nil)
			}
			specs[info.BTF] = spec
		}
		if spec == nil {
			return true
		}
		// The first of them is the program itself, the others are functions that it calls.
		for _, typ := range info.Funcs {
			name, err := spec.NameOf(typ)
			if err != nil || !p.Pattern.Fn.Matches(name) {
				continue
			}
			proto, err := spec.FuncByID(typ)
			if err != nil {
				continue
			}
			q := *p
			q.Provider, q.Func = strconv.FormatUint(uint64(info.ID), 10), name
			q.BPF = &probe.BPFFunc{Prog: info.ID, Type: typ, Proto: proto}
			out = append(out, &q)
		}
		return true
	})
	if err != nil {
		return nil, fmt.Errorf("loaded BPF programs cannot be listed: %w", err)
	}
	return probe.SortPoints(out), nil
}

// programTarget opens the program that a group's program is to follow.
func programTarget(g *probe.Group) (fd int, typ uint32, err error) {
	f := g.Points[0].BPF
	if f == nil {
		return -1, 0, errors.New("no BPF program")
	}
	// IDs are not used again soon, so that this is the program that was matched, or none.
	fd, err = bpf.ProgByID(f.Prog)
	if errors.Is(err, unix.ENOENT) {
		err = fmt.Errorf("the BPF program %d is not loaded any more: %w", f.Prog, err)
	}
	return fd, f.Type, err
}

// bpfPoints splits points on BPF programs from those on the kernel.
func bpfPoints(points []*probe.Point) (programs, kernel []*probe.Point) {
	for _, p := range points {
		if p.Target == onBPF {
			programs = append(programs, p)
		} else {
			kernel = append(kernel, p)
		}
	}
	return programs, slices.Clip(kernel)
}

var errNoProgramTypes = errors.New("what BPF programs are given is not known: only their calls and results are seen")

// programResult is the result of the function of a BPF program.
func programResult(c *probe.Context) *ir.Value {
	f := c.Group.Points[0].BPF
	if f == nil {
		return c.B.Const(0)
	}
	return loadSlot(c, programResultSlot(f), f.Proto.Result)
}

// programResultSlot is where a program on the return of a BPF function finds the
// result: behind the arguments. Of functions whose prototype the verifier could
// not confirm, as when the context has another type there, the kernel takes
// five arguments for granted (btf_distill_func_proto in kernel/bpf/btf.c). Which
// it is shows by whether it lets a program read that far.
func programResultSlot(f *probe.BPFFunc) int {
	const unconfirmed = 5
	declared := slotCount(f.Proto)
	fd, err := bpf.ProgByID(f.Prog)
	if err != nil {
		return declared // which attaching will report
	}
	defer unix.Close(fd)
	prog, err := bpf.ProgLoad(&bpf.ProgSpec{Type: bpf.Tracing, Attach: bpf.AttachFexit, AttachBTFID: f.Type,
		AttachFD: fd, License: "GPL",
		Insns: bpf.Assemble(bpf.Load64(0, 1, 8*unconfirmed), bpf.MovImm(0, 0), bpf.Exit())})
	if err != nil {
		return declared
	}
	unix.Close(prog)
	return unconfirmed
}
