package main

import (
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// symbolsMark is the environment variable that makes this program the one whose addresses are
// named: it holds the files to map.
const symbolsMark = "HAWK_BENCH_SYMBOLS"

const (
	symbolFiles     = 10
	symbolAddresses = 100_000
)

// symbols measures how long it takes to name many addresses of one process: they are keys of a map, which is printed.
func symbols(b *bench) ([]row, error) {
	files := codeFiles(b)
	if len(files) < symbolFiles {
		return nil, fmt.Errorf("there are only %d libraries with code enough", len(files))
	}
	if err := os.Setenv(symbolsMark, strings.Join(files, ":")); err != nil {
		return nil, err
	}
	defer os.Unsetenv(symbolsMark)
	// Both tools read it. Their own bounds are lower than the addresses are many.
	os.Setenv("BPFTRACE_MAX_MAP_KEYS", "200000")
	defer os.Unsetenv("BPFTRACE_MAX_MAP_KEYS")
	script := func(what string) []string {
		// The path names this very process: /proc/self would be the tool, which starts the
		// command.
		return []string{"-c", "/proc/" + fmt.Sprint(os.Getpid()) + "/exe", "-e",
			`tracepoint:syscalls:sys_enter_lseek /pid == cpid && args.whence == 0/ { @[` + what + `] = count(); } ` +
				`tracepoint:syscalls:sys_enter_lseek /pid == cpid && args.whence == 1/ { print(@); clear(@); exit(); }`}
	}
	return b.runs([]wholeRun{
		{"100,000 addresses over ten libraries, by name", script("usym(args.offset)"), always},
		{"the same, as numbers", script("args.offset"), always},
	})
}

// codeFiles are the libraries with the most code, those that come with bpftrace among them.
func codeFiles(b *bench) []string {
	lib, _ := largeLibrary(b)
	found, _ := filepath.Glob("/usr/lib/x86_64-linux-gnu/*.so.*")
	type sized struct {
		path string
		size uint64
	}
	var all []sized
	seen := map[string]bool{}
	for _, path := range append(found, lib) {
		real, err := filepath.EvalSymlinks(path)
		if err != nil || seen[real] {
			continue
		}
		// One library goes by several names, by links; mapped twice, its symbols would be cached
		// the second time.
		seen[real] = true
		if p, err := codeOf(real); err == nil {
			all = append(all, sized{real, p.Filesz})
		}
	}
	slices.SortFunc(all, func(x, y sized) int { return int(int64(y.size) - int64(x.size)) })
	var out []string
	for _, f := range all[:min(len(all), symbolFiles)] {
		out = append(out, f.path)
	}
	return out
}

// codeOf is the executable segment of a file.
func codeOf(path string) (elf.ProgHeader, error) {
	f, err := elf.Open(path)
	if err != nil {
		return elf.ProgHeader{}, err
	}
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type == elf.PT_LOAD && p.Flags&elf.PF_X != 0 {
			return p.ProgHeader, nil
		}
	}
	return elf.ProgHeader{}, errors.New(path + " has no code")
}

// showAddresses maps the files that the environment names, passes addresses in their code to
// lseek(2) one after the other, and waits to be ended.
func showAddresses() error {
	var maps [][]byte
	for _, path := range strings.Split(os.Getenv(symbolsMark), ":") {
		p, err := codeOf(path)
		if err != nil {
			return err
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		// A mapping begins at a page, a segment anywhere in one.
		begin := p.Off &^ uint64(unix.Getpagesize()-1)
		m, err := unix.Mmap(int(f.Fd()), int64(begin), int(p.Off+p.Filesz-begin), unix.PROT_READ|unix.PROT_EXEC,
			unix.MAP_PRIVATE)
		f.Close()
		if err != nil {
			return err
		}
		maps = append(maps, m)
	}
	time.Sleep(100 * time.Millisecond) // tools that look at the process now and then have seen it
	each := symbolAddresses / len(maps)
	for i := range each {
		for _, m := range maps {
			// Files take turns, so that a cache of the last mapping does not make it easy. The
			// addresses are spread over the whole code: nearly each is of another function.
			at := uintptr(unsafe.Pointer(&m[len(m)/each*i]))
			// No such descriptor is there, which makes the call short; its entry has the
			// arguments all the same.
			unix.Syscall(unix.SYS_LSEEK, ^uintptr(0), at, 0)
		}
	}
	unix.Syscall(unix.SYS_LSEEK, ^uintptr(0), 0, 1)
	// A tool names addresses as it prints, from the mappings of the living process. It then
	// ends, and ends this.
	time.Sleep(time.Minute)
	return nil
}
