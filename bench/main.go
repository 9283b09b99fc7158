// Command bench measures hawk beside bpftrace in one run, each measurement of one tool followed by
// the same one of the other, so that whatever else the machine does falls on both. It prints tables
// in markdown:
//
//	go run ./bench [-hawk ./hawk] [-bpftrace PATH] [-only TABLE,...] [-rounds 9] [-duration 10m]
//	               [-kernel 6.12] [-against FILE] [-write]
//
// The tables are those of the list below. The soak test takes long and is run only when it is asked
// for. It needs root. Without -bpftrace it takes the newest one that Debian has, unpacked in the test
// cache, or else the one that is installed, or none. It writes nothing where a fixed loop shows that the
// machine is not quiet.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// parts are the groups of measurements, in the order in which they run.
var parts = []struct {
	name  string
	run   func(*bench) ([]row, error)
	note  string // explains the table
	long  bool   // runs only if -only names it
	alone bool   // is about hawk alone
}{
	{name: "startup", run: startup,
		note: "Whole runs, from exec to exit. Peak memory is the high-water mark of the resident set at " +
			"exit. The tracing scripts " +
			"attach, end in their begin probe and detach; `tool` is " + "`bench/tool.bt`."},
	{name: "wildcard", run: wildcard,
		note: "A counting probe on every `tracepoint:syscalls:sys_enter_*` for one second: the whole " +
			"run, attaching and detaching included."},
	{name: "listing", run: listing, note: "What there is to trace, from exec to exit."},
	{name: "attaching", run: attaching,
		note: "Many functions by one pattern, or each with a body of its own: from exec to exit of a " +
			"script that ends in its begin probe, attaching and detaching included."},
	{name: "ending", run: ending, note: "From SIGINT to the end of the process, by what the script probes."},
	{name: "kernel", run: kernelFunctions,
		note: "Functions of the kernel, listed and attached to, from exec to exit. Where the kernel " +
			"at hand does not let its functions be traced, this runs in a VM with a Debian kernel " +
			"(6.12 if not told otherwise), under emulation, where all takes many times as long: " +
			"only the ratio says something."},
	{name: "symbols", run: symbols,
		note: "Naming addresses of a process, keys of a map that is printed while the process lives: " +
			"from exec to exit."},
	{name: "cost", run: cost, note: "What one call of getppid(2) costs more while the script runs, or of " +
		"access(2) with a name of 35 bytes where the script asks for one: once seen from a loop that does " +
		"nothing else, the fastest of 60 times 10,000 calls, and once by the kernel's program " +
		"statistics, less what they show for an empty program, the least of 15 times 40,000. What the kernel adds to " +
		"a call for whatever program is in the former."},
	{name: "entry", run: entry, note: entryNote},
	{name: "flood", run: flood,
		note: "`printf(\"%d %s %d\\n\", pid, comm, tid)` on each of 3,000,000 calls made one after " +
			"the other, written to a file with the default buffer: what arrives, how much longer a " +
			"call takes, and the processor time that the tool itself spends on an event that " +
			"arrives."},
	{name: "rate", run: rate,
		note: "The same `printf`: the most events a second of which every one arrives, for a second " +
			"at an even pace. At its most the traced loop makes one call after the other."},
	{name: "maps", run: bigMaps,
		note: "The print of a map of 1,000,000 keys to a file: a run that prints it at its end, less " +
			"one that does not; and the peak memory of the run that prints it."},
	{name: "library", run: library, alone: true, note: libraryNote},
	{name: "soak", run: soak, note: "Three hawks beside 100,000 short-lived processes, each of a " +
		"file of its own: all system calls into maps that are printed each second; stacks of all of " +
		"them, in JSON; their parent with `--follow`. What hawk holds as time passes, and what was " +
		"lost at the default size of the buffer.", long: true, alone: true},
}

// bench is what every part gets.
type bench struct {
	tools  []*tool // hawk first; then bpftrace, if there is one
	rounds int
	dir    string // for temporary files

	duration time.Duration // of the soak test
	kernel   string        // of a VM
}

func main() {
	do := run
	// The traced programs of two parts are this binary again, since a tool starts it by -c.
	// Arguments tell a bench from them: the variable is inherited by whatever a bench starts.
	if os.Getenv(symbolsMark) != "" && len(os.Args) == 1 {
		do = showAddresses
	}
	if os.Getenv(soakMark) != "" && len(os.Args) == 1 {
		do = spawn
	}
	if err := do(); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// run measures all parts, or those that were asked for, and prints or writes the tables.
func run() error {
	hawk := flag.String("hawk", "./hawk", "hawk's binary")
	bpftrace := flag.String("bpftrace", "", "bpftrace's binary; none: do without")
	against := flag.String("against", "", "another binary of hawk, to be measured as well")
	only := flag.String("only", "", "comma-separated parts to run; all if empty")
	rounds := flag.Int("rounds", 9, "repetitions of each measurement, of which the median counts")
	duration := flag.Duration("duration", 10*time.Minute,
		"how long the soak test takes (an hour is meant: -duration 1h)")
	kernel := flag.String("kernel", "6.12", "kernel of the VM, for what this machine's kernel does not let be measured")
	asRows := flag.Bool("rows", false, "print the rows only, as JSON")
	write := flag.Bool("write", false, "write the tables to docs/performance.md as well")
	flag.Parse()

	if os.Geteuid() != 0 {
		return errors.New("needs root")
	}
	if inside, err := enterNamespace(); err != nil || !inside {
		return err
	}
	// The look at the machine comes first: a run takes many minutes, and would be for nothing.
	if *write {
		if err := quiet(); err != nil {
			return err
		}
	}
	b := &bench{rounds: *rounds, duration: *duration, kernel: *kernel}
	var err error
	if b.tools, err = findTools(*hawk, *against, *bpftrace); err != nil {
		return err
	}
	if b.dir, err = os.MkdirTemp("", "hawkbench"); err != nil {
		return err
	}
	defer os.RemoveAll(b.dir)

	var report strings.Builder
	var measured []row
	header(&report, b)
	for _, part := range parts {
		if named := slices.Contains(strings.Split(*only, ","), part.name); !named && (*only != "" || part.long) {
			continue
		}
		fmt.Fprintf(os.Stderr, "measuring %s\n", part.name)
		rows, err := part.run(b)
		if err != nil {
			return fmt.Errorf("%s: %w", part.name, err)
		}
		// Rows about hawk alone have one value each, and so their table must have one column.
		tools := b.tools
		if part.alone {
			tools = tools[:1]
		}
		measured = append(measured, rows...)
		table(&report, part.name, part.note, tools, rows)
	}
	// Another bench reads this, which has started this one in a VM.
	if *asRows {
		return json.NewEncoder(os.Stdout).Encode(measured)
	}
	fmt.Print(report.String())
	if *write {
		if err := os.MkdirAll("docs", 0o755); err != nil {
			return err
		}
		return os.WriteFile(filepath.Join("docs", "performance.md"), []byte(report.String()), 0o644)
	}
	return nil
}

// enterNamespace runs this program again with mounts of its own, where tracefs is mounted: bpftrace
// does not start without it. It returns true in the second instance; the first one has nothing left
// to do.
func enterNamespace() (inside bool, err error) {
	const mark = "HAWK_BENCH_INSIDE"
	if os.Getenv(mark) != "" {
		os.Unsetenv(mark)
		const dir = "/sys/kernel/tracing"
		if _, err := os.Stat(dir + "/events"); err == nil {
			return true, nil
		}
		if err := unix.Mount("tracefs", dir, "tracefs", 0, ""); err != nil {
			return false, fmt.Errorf("mounting tracefs: %w", err)
		}
		return true, nil
	}
	signal.Ignore(unix.SIGINT, unix.SIGTERM) // meant for the second instance, which gets them as well
	// A mount namespace is entered by a new process: a thread of Go's that unshares would be
	// alone in it.
	cmd := exec.Command("/proc/self/exe", os.Args[1:]...)
	cmd.Env = append(os.Environ(), mark+"=1")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &unix.SysProcAttr{Unshareflags: unix.CLONE_NEWNS, Pdeathsig: unix.SIGKILL}
	err = cmd.Run()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		os.Exit(exit.ExitCode())
	}
	return false, err
}
