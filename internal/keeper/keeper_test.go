package keeper

import (
	"os"
	"os/exec"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// start starts a keeper, which ends with the test at the latest.
func start(t *testing.T) *Keeper {
	t.Helper()
	k, err := Start()
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func TestCall(t *testing.T) {
	k := start(t)
	defer k.Finish()
	pid, errno := k.Call(unix.SYS_GETPID, 0, 0, 0, 0, 0)
	if errno != 0 || int(pid) != k.pid || int(pid) == os.Getpid() {
		t.Errorf("getpid yields %d, %v in process %d, whose keeper is %d", pid, errno, os.Getpid(), k.pid)
	}
	if _, errno := k.Call(unix.SYS_CLOSE, ^uintptr(0), 0, 0, 0, 0); errno != unix.EBADF {
		t.Errorf("close of no descriptor: %v", errno)
	}
	// Descriptors are common.
	var fds [2]int32
	if _, errno := k.Call(unix.SYS_PIPE2, uintptr(unsafe.Pointer(&fds)), unix.O_CLOEXEC, 0, 0, 0); errno != 0 {
		t.Fatal(errno)
	}
	for _, fd := range fds {
		if err := unix.Close(int(fd)); err != nil {
			t.Error(err)
		}
	}
}

// TestFinish has the keeper close as many descriptors as need helpers.
func TestFinish(t *testing.T) {
	for _, n := range []int{0, 1, 5, 200} {
		k := start(t)
		var fds []int
		for range n {
			fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC)
			if err != nil {
				t.Fatal(err)
			}
			if fds = append(fds, fd); !k.Hold(fd) {
				t.Fatalf("descriptor %d is not held", fd)
			}
		}
		k.Finish()
		for _, fd := range fds {
			if err := unix.Close(fd); err != unix.EBADF {
				t.Errorf("of %d, descriptor %d is open: %v", n, fd, err)
			}
		}
	}
}

// TestKilled kills the keeper: calls are made by this process then, which closes
// what was held.
func TestKilled(t *testing.T) {
	k := start(t)
	fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	k.Hold(fd)
	unix.Kill(k.pid, unix.SIGKILL)
	for range 2 {
		if pid, errno := k.Call(unix.SYS_GETPID, 0, 0, 0, 0, 0); errno != 0 || int(pid) != os.Getpid() {
			t.Errorf("getpid yields %d, %v", pid, errno)
		}
	}
	k.Finish()
	if err := unix.Close(fd); err != unix.EBADF {
		t.Errorf("the descriptor is open: %v", err)
	}
}

// TestOrphan kills a process that has a keeper, which lets go of everything: the
// pipe of its output ends, and what it held is closed.
func TestOrphan(t *testing.T) {
	if os.Getenv("HAWK_TEST_ORPHAN") != "" {
		k := start(t)
		var held [2]int
		if err := unix.Pipe2(held[:], unix.O_CLOEXEC); err != nil {
			t.Fatal(err)
		}
		// The reading end is the parent's: it is descriptor 3, and ends when
		// nobody can write any more.
		k.Hold(4)
		os.Stdout.WriteString("ready\n")
		time.Sleep(time.Hour)
	}
	var pipe [2]int
	if err := unix.Pipe2(pipe[:], unix.O_CLOEXEC); err != nil {
		t.Fatal(err)
	}
	held := os.NewFile(uintptr(pipe[1]), "held")
	cmd := exec.Command(os.Args[0], "-test.run=^TestOrphan$")
	cmd.Env = append(os.Environ(), "HAWK_TEST_ORPHAN=1")
	cmd.ExtraFiles = []*os.File{os.Stdin, held}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	held.Close()
	var b [8]byte
	if n, err := out.Read(b[:]); err != nil || string(b[:n]) != "ready\n" {
		t.Fatalf("%q, %v", b[:n], err)
	}
	cmd.Process.Kill()
	if n, err := out.Read(b[:]); n != 0 {
		t.Errorf("the output does not end: %q, %v", b[:n], err)
	}
	if n, err := unix.Read(pipe[0], b[:]); n != 0 || err != nil {
		t.Errorf("what was held is not closed: %d, %v", n, err)
	}
	cmd.Wait()
}
