package hawktest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sys/unix"
)

// Holdings are what a hawk, and its keeper, have of the kernel. Others on the
// machine have programs and maps too: these are known by their numbers.
type Holdings struct {
	objects map[object]bool
	pids    map[int]bool
	log     *os.File // the kernel's, from where it stood at the beginning; nil if it cannot be read
}

// An object is a program, map or link of the kernel.
type object struct {
	command uintptr // of bpf(2), which opens it
	id      uint32
}

// openers are the commands by the name of the number in fdinfo.
var openers = map[string]uintptr{"prog_id": 13, "map_id": 14, "link_id": 30}

// NewHoldings begins to note, from this moment on in the kernel's log.
func NewHoldings() *Holdings {
	h := &Holdings{objects: map[object]bool{}, pids: map[int]bool{}}
	if fd, err := unix.Open("/dev/kmsg", unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0); err == nil {
		// The log has what earlier tests did, too.
		unix.Seek(fd, 0, unix.SEEK_END)
		h.log = os.NewFile(uintptr(fd), "/dev/kmsg")
	}
	return h
}

// Note adds what a process has now, and its keeper. Children are listed by the thread that
// started them, whichever that was. Processes that end meanwhile are passed over.
func (h *Holdings) Note(pid int) {
	h.pids[pid] = true
	children, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%[1]d/children", pid))
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, task := range tasks {
		more, _ := os.ReadFile(task)
		children = append(append(children, ' '), more...)
	}
	for child := range strings.FieldsSeq(string(children)) {
		// The keeper goes on when hawk is killed, to take out what hawk had in place.
		if name, _ := os.ReadFile("/proc/" + child + "/comm"); string(name) == "hawk-keeper\n" {
			n, _ := strconv.Atoi(child)
			h.pids[n] = true
		}
	}
	infos, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fdinfo/*", pid))
	for _, info := range infos {
		text, _ := os.ReadFile(info)
		for line := range strings.Lines(string(text)) {
			name, number, _ := strings.Cut(line, ":")
			id, err := strconv.ParseUint(strings.TrimSpace(number), 10, 32)
			if command := openers[name]; command != 0 && err == nil {
				h.objects[object{command, uint32(id)}] = true
			}
		}
	}
}

// Gone waits until all that was noted is gone. It is an error if that does not
// happen, or if the kernel's log tells of one of the processes. The kernel frees objects some
// time after their last descriptor, by RCU.
func (h *Holdings) Gone() error {
	deadline := time.Now().Add(waitLimit())
	for left := h.left(); left != nil; left = h.left() {
		if time.Now().After(deadline) {
			return left
		}
		time.Sleep(5 * time.Millisecond)
	}
	return h.told()
}

// left is what is there still, nil if nothing is.
func (h *Holdings) left() error {
	var all []error
	for o := range h.objects {
		// Opening one by its number fails once it is gone.
		attr := [2]uint64{uint64(o.id)}
		fd, _, errno := unix.Syscall(unix.SYS_BPF, o.command, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr))
		if errno == 0 {
			unix.Close(int(fd))
			all = append(all, fmt.Errorf("object %d of the kernel, by command %d of bpf(2), is left", o.id, o.command))
		} else {
			delete(h.objects, o)
		}
	}
	for pid := range h.pids {
		// One that nobody has reaped yet is gone.
		if stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)); err == nil &&
			!strings.Contains(string(stat), ") Z ") {
			all = append(all, fmt.Errorf("process %d is left: %s", pid, stat))
		}
	}
	return errors.Join(all...)
}

// told are the lines of the kernel's log about uprobes of the processes. Nothing but the log
// tells of a breakpoint that could not be taken out again.
func (h *Holdings) told() error {
	if h.log == nil {
		return nil
	}
	defer h.log.Close()
	var all []error
	record := make([]byte, 8192)
	for {
		n, err := unix.Read(int(h.log.Fd()), record)
		if err == unix.EPIPE {
			continue // some were overwritten
		}
		if err != nil || n <= 0 {
			return errors.Join(all...)
		}
		m := uprobeLine.FindSubmatch(record[:n])
		if m == nil {
			continue
		}
		if pid, _ := strconv.Atoi(string(m[1])); h.pids[pid] {
			all = append(all, fmt.Errorf("the kernel says: %s", m[0]))
		}
	}
}

var uprobeLine = regexp.MustCompile(`uprobe: \S+:(\d+) failed to .*`)

// cmdHoldings notes what a process has of the kernel.
func cmdHoldings(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, !neg && len(args) == 1, "holdings NAME")
	st := stateOf(ts)
	if st.holdings == nil {
		st.holdings = NewHoldings()
	}
	st.holdings.Note(find(ts, args[0]).cmd.Process.Pid)
}

// cmdGone fails if something is left of what was noted.
func cmdGone(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, !neg && len(args) == 0 && stateOf(ts).holdings != nil, "gone, after holdings NAME")
	ts.Check(stateOf(ts).holdings.Gone())
	stateOf(ts).holdings = nil
}

// cmdKills runs hawk with the scripts of a file, one a line, in turn, and kills
// it at a moment that nobody knows. Nothing may be left of any of them.
// $HAWK_KILLS is another number of runs.
func cmdKills(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, !neg && len(args) == 2, "kills N FILE")
	runs, err := strconv.Atoi(args[0])
	ts.Check(err)
	if more := os.Getenv("HAWK_KILLS"); more != "" {
		runs, err = strconv.Atoi(more)
		ts.Check(err)
	}
	scripts := splitLines(ts.ReadFile(args[1]))
	// By then hawk has attached; under emulation that takes seconds.
	longest := 150 * time.Millisecond
	if InVM() {
		longest = 4 * time.Second
	}
	for i := range runs {
		script := scripts[i%len(scripts)]
		h := NewHoldings()
		cmd := exec.Command(ts.Getenv("HAWK_BIN"), "-q", "-e", script)
		cmd.Dir = ts.MkAbs(".")
		cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		ts.Check(cmd.Start())
		time.Sleep(rand.N(longest))
		cmd.Process.Signal(unix.SIGSTOP) // so that it has no more than what is noted
		h.Note(cmd.Process.Pid)
		cmd.Process.Kill()
		cmd.Wait()
		if err := h.Gone(); err != nil {
			ts.Fatalf("run %d, %s: %v", i, script, err)
		}
	}
}
