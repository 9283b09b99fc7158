package main

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// exists returns a condition for a wholeRun, which is looked at when the run is due.
func exists(path string) func() bool {
	return func() bool {
		_, err := os.Stat(path)
		return err == nil
	}
}

// readable says whether a file cannot only be found but read: some machines lock the list of functions.
func readable(path string) func() bool {
	return func() bool {
		f, err := os.Open(path)
		if err != nil {
			return false
		}
		defer f.Close()
		_, err = f.Read(make([]byte, 1))
		return err == nil
	}
}

// listing measures how long it takes to find out what there is to trace.
func listing(b *bench) ([]row, error) {
	runs := []wholeRun{
		{"`-l '*'`", []string{"-l", "*"}, always},
		{"`-lv 'tracepoint:*'`", []string{"-lv", "tracepoint:*"}, always},
		{"`-lv 'rawtracepoint:*'`", []string{"-lv", "rawtracepoint:*"}, exists("/sys/kernel/btf/vmlinux")},
		{"`-lv 'struct task_struct'`", []string{"-lv", "struct task_struct"}, exists("/sys/kernel/btf/vmlinux")},
	}
	if lib, size := largeLibrary(b); lib != "" {
		runs = append(runs, wholeRun{fmt.Sprintf("`-l 'uprobe:%s:*'` (%d MB)", filepath.Base(lib), size>>20),
			[]string{"-l", "uprobe:" + lib + ":*"}, always})
	}
	return b.runs(runs)
}

// attaching measures runs that attach to many functions and end at once.
func attaching(b *bench) ([]row, error) {
	runs := []wholeRun{
		{"`tracepoint:sched:*`", []string{"-e", `BEGIN { exit(); } tracepoint:sched:* { @ = count(); }`}, always},
	}
	if lib, _ := largeLibrary(b); lib != "" {
		runs = append(runs, wholeRun{fmt.Sprintf("`uprobe:%s:*Builder*`", filepath.Base(lib)),
			[]string{"-e", `BEGIN { exit(); } uprobe:` + lib + `:*Builder* { @ = count(); }`}, always})
	}
	program, stop, err := b.functions()
	if err != nil {
		return nil, err
	}
	defer stop()
	if program != "" {
		runs = append(runs, wholeRun{fmt.Sprintf("`uprobe:PROGRAM:f_*` (%d functions, while it runs)", functions),
			[]string{"-e", `BEGIN { exit(); } uprobe:` + program + `:f_* { @ = count(); }`}, always})
		// A body each means a program each to be verified and loaded, where a pattern needs one
		// for all.
		for _, n := range []int{1, 10, 100} {
			script := "BEGIN { exit(); }"
			for i := range n {
				script += fmt.Sprintf(" uprobe:%s:f_%d { @f%d = count(); }", program, i, i)
			}
			runs = append(runs, wholeRun{fmt.Sprintf("functions of PROGRAM with a body each: %d", n),
				[]string{"-e", script}, always})
		}
	}
	return b.runs(runs)
}

// functions is how many the program has that probes are attached to.
const functions = 5000

// functions compiles a program of many functions and starts it, so that attaching means changing
// its code; "" if there is no compiler.
func (b *bench) functions() (path string, stop func(), err error) {
	stop = func() {}
	if _, err := exec.LookPath("cc"); err != nil {
		fmt.Fprintln(os.Stderr, "bench: there is no C compiler")
		return "", stop, nil
	}
	var text strings.Builder
	text.WriteString("#include <unistd.h>\n")
	for i := range functions {
		fmt.Fprintf(&text, "int f_%d(int n) { return n + %d; }\n", i, i)
	}
	// The process has to live while probes come and go: breakpoints are written into the
	// mappings that are there, which is work that a file without a process spares the kernel.
	text.WriteString("int main(void) { return pause(); }\n")
	source := filepath.Join(b.dir, "functions.c")
	if err := os.WriteFile(source, []byte(text.String()), 0o644); err != nil {
		return "", stop, err
	}
	path = filepath.Join(b.dir, "functions")
	if out, err := exec.Command("cc", "-O0", "-o", path, source).CombinedOutput(); err != nil {
		return "", stop, fmt.Errorf("cc: %w\n%s", err, out)
	}
	cmd := exec.Command(path)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		return "", stop, err
	}
	return path, func() { cmd.Process.Kill(); cmd.Wait() }, nil
}

// largeLibrary is the largest C++ library beside the unpacked bpftrace, with its size: every
// bpftrace comes with LLVM. "" if there is none.
func largeLibrary(b *bench) (path string, size int64) {
	var found []string
	for _, t := range b.tools {
		for _, a := range t.argv {
			// This is the argument of the loader's --library-path, as inRoot has made it.
			if strings.HasSuffix(a, "x86_64-linux-gnu") {
				more, _ := filepath.Glob(filepath.Join(a, "libLLVM*.so*"))
				found = append(found, more...)
			}
		}
	}
	more, _ := filepath.Glob("/" + libraries + "/libLLVM*.so*")
	found = append(found, more...)
	bytes := func(path string) int64 {
		st, err := os.Stat(path)
		if err != nil {
			return 0
		}
		return st.Size()
	}
	if len(found) == 0 {
		return "", 0
	}
	path = slices.MaxFunc(found, func(x, y string) int { return cmp.Compare(bytes(x), bytes(y)) })
	return path, bytes(path)
}
