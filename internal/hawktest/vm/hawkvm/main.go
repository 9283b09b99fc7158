// Command hawkvm boots a kernel in a VM that has hawk in it and runs a command there, or a shell:
//
//	go run ./internal/hawktest/vm/hawkvm [-kernel 6.12] [-cpus N] [-add DIR] [-tests PACKAGES] [command args...]
//
// Run it from within the repository. Directory /hawk of the VM holds the test binary, its scripts
// and their compiled programs, /hawk/added what -add names. With -tests=internal/load,internal/bpf
// it has the tests of those packages alone, and starts sooner.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/hawktrace/hawk/internal/hawktest"
	"github.com/hawktrace/hawk/internal/hawktest/vm"
	"github.com/hawktrace/hawk/internal/hawktest/vm/wire"
)

func main() {
	status, err := run()
	if err != nil {
		fmt.Fprintln(os.Stderr, "hawkvm:", err)
		status = 125
	}
	os.Exit(status)
}

// run boots a kernel, runs the command line there, and yields its exit status.
func run() (int, error) {
	name := flag.String("kernel", "6.12", "kernel to boot")
	added := flag.String("add", "", "directory to take along")
	cpus := flag.Int("cpus", 0, "for how many processors to make room, if not for as many as the cases want")
	tests := flag.String("tests", "", "the packages whose tests to take along, in place of everything")
	flag.Parse()
	kernel, err := vm.FindKernel(*name)
	if err != nil {
		return 0, err
	}
	ctx, stop := signal.NotifyContext(context.Background(), unix.SIGINT, unix.SIGTERM, unix.SIGHUP)
	defer stop()
	payload, err := os.MkdirTemp("", "hawkvm")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(payload)

	fill := func() error { return hawktest.Payload(payload, kernel.Arch) }
	if *tests != "" {
		fill = func() error { return hawktest.Programs(payload, kernel.Arch, strings.Split(*tests, ",")...) }
	}
	if err := fill(); err != nil {
		return 0, err
	}

	if *added != "" {
		if err := os.CopyFS(filepath.Join(payload, "hawk/added"), os.DirFS(*added)); err != nil {
			return 0, err
		}
	}

	command := wire.Command{Args: flag.Args(), Dir: "/root"}
	if len(command.Args) == 0 {
		command.TTY = true
		command.Args = []string{"/bin/bash"}
		command.Env = []string{"TERM=" + os.Getenv("TERM"), `PS1=\h \w\$ `}
		command.Rows, command.Cols = 24, 80
		if size, err := unix.IoctlGetWinsize(1, unix.TIOCGWINSZ); err == nil && size.Row > 0 {
			command.Rows, command.Cols = size.Row, size.Col
		}
		if old, err := unix.IoctlGetTermios(0, unix.TCGETS); err == nil {
			defer unix.IoctlSetTermios(0, unix.TCSETS, old) // QEMU makes it raw and is not asked before it ends
		}
	}
	machine, err := vm.Start(ctx, vm.Config{Kernel: kernel, Payload: payload, Console: command.TTY, CPUs: *cpus})
	if err != nil {
		return 0, err
	}
	defer machine.Close()
	return machine.Run(ctx, command, os.Stdout, os.Stderr)
}
