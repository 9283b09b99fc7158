package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/hawktrace/hawk/internal/hawktest/files"
	"github.com/hawktrace/hawk/internal/hawktest/vm"
	"github.com/hawktrace/hawk/internal/hawktest/vm/wire"
)

// The first exists but cannot be read on kernels that are locked down, the second is missing
// where the kernel was built without kprobes.
const (
	traceable  = "/sys/kernel/tracing/available_filter_functions"
	kprobeType = "/sys/bus/event_source/devices/kprobe/type"
)

// kernelFunctions measures how long it takes to find functions of the kernel and to attach to them:
// here, or in a VM if this kernel does not let its functions be traced.
func kernelFunctions(b *bench) ([]row, error) {
	if !exists(kprobeType)() || !readable(traceable)() {
		return b.inVM("kernel")
	}
	// The script ends before an event: attaching and detaching are all there is.
	end := `BEGIN { exit(); } `
	return b.runs([]wholeRun{
		{"`-l 'kprobe:*'`", []string{"-l", "kprobe:*"}, always},
		{"`-lv 'fentry:tcp_*'`", []string{"-lv", "fentry:tcp_*"}, always},
		{"attach `kprobe:*tcp*`", []string{"-e", end + `kprobe:*tcp* { @ = count(); }`}, always},
		{"attach `fentry:tcp_s*`", []string{"-e", end + `fentry:tcp_s* { @ = count(); }`}, always},
	})
}

// inVM runs a part in a VM with the same tools.
func (b *bench) inVM(part string) ([]row, error) {
	kernel, err := vm.FindKernel(b.kernel)
	if err != nil {
		return nil, err
	}
	payload := filepath.Join(b.dir, "payload")
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	for to, from := range map[string]string{"bench/bench": self, "bench/hawk": b.tools[0].argv[0]} {
		if err := files.Copy(from, filepath.Join(payload, to)); err != nil {
			return nil, err
		}
	}
	// Rows cross the border as JSON, so that the tables are made by this side alone. Three
	// rounds do: under emulation each takes minutes.
	args := []string{"/bench/bench", "-rows", "-only", part, "-rounds", strconv.Itoa(min(b.rounds, 3)), "-hawk",
		"/bench/hawk", "-bpftrace", "none"}
	if len(b.tools) > 1 {
		root := b.tools[1].root
		// The root of the VM has no libraries of Debian.
		if root == "" {
			return nil, fmt.Errorf("only a bpftrace that was unpacked with its libraries runs in a VM")
		}
		for _, dir := range []string{libraries, "usr/bin"} {
			if err := files.CopyTree(filepath.Join(root, dir), filepath.Join(payload, "bench/bpftrace", dir),
				nil); err != nil {
				return nil, err
			}
		}
		args[len(args)-1] = "/bench/bpftrace"
	}
	ctx, stop := signal.NotifyContext(context.Background(), unix.SIGINT, unix.SIGTERM)
	defer stop()
	machine, err := vm.Start(ctx, vm.Config{Kernel: kernel, Payload: payload})
	if err != nil {
		return nil, err
	}
	defer machine.Close()
	var out bytes.Buffer
	status, err := machine.Run(ctx, wire.Command{Args: args, Dir: "/tmp"}, &out, os.Stderr)
	if err != nil {
		return nil, err
	}
	if status != 0 {
		return nil, fmt.Errorf("the bench in the VM ended with status %d", status)
	}
	var rows []row
	if err := json.Unmarshal(out.Bytes(), &rows); err != nil {
		return nil, fmt.Errorf("reading the rows of the VM: %w", err)
	}
	return rows, nil
}
