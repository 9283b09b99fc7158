package proc

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/hawktrace/hawk/internal/hawktest/bound"
)

// TestEnviron reads a variable of a process, and of one that calls 400 MB of its memory its
// environment, as any process can.
func TestEnviron(t *testing.T) {
	const role = "HAWK_TEST_ENVIRON"
	if os.Getenv(role) != "" {
		if err := pretend(400 << 20); err != nil {
			os.Stdout.WriteString(err.Error() + "\n")
		} else {
			os.Stdout.WriteString("ready\n")
		}
		os.Stdin.Read(make([]byte, 1))
		return
	}
	if _, ok := Environ(os.Getpid(), "PATH"); !ok {
		t.Error("there is no PATH")
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestEnviron$")
	cmd.Env = append(os.Environ(), role+"=1")
	in, err1 := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer in.Close()
	line := make([]byte, 100)
	n, _ := out.Read(line)
	if got := strings.TrimSpace(string(line[:n])); got != "ready" {
		t.Skipf("the process could not pretend: %s", got)
	}
	bound.Run(t, 0, func() {
		if v, ok := Environ(cmd.Process.Pid, "PATH"); ok {
			t.Errorf("PATH is %q", v)
		}
	})
}

// pretend has the kernel take zeroes for the environment of this process (prctl(2), PR_SET_MM_MAP).
func pretend(n int) error {
	mem, err := unix.Mmap(-1, 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE)
	if err != nil {
		return err
	}
	number := func(field int) uint64 {
		v, _ := strconv.ParseUint(stat(os.Getpid())[field-firstStat], 10, 64)
		return v
	}
	begin := uint64(uintptr(unsafe.Pointer(&mem[0])))
	// The layout is struct prctl_mm_map: code, data, heap, stack, arguments, environment; no
	// auxiliary vector, and no other program.
	layout := struct {
		at       [11]uint64
		auxv     uint64
		auxvSize uint32
		exe      uint32
	}{[11]uint64{number(26), number(27), number(45), number(46), number(47), number(47), number(28), number(48),
		number(49), begin, begin + uint64(n)}, 0, 0, 1<<32 - 1}
	return unix.Prctl(unix.PR_SET_MM, unix.PR_SET_MM_MAP, uintptr(unsafe.Pointer(&layout)), unsafe.Sizeof(layout), 0)
}
