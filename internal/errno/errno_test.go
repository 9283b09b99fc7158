package errno

import (
	"errors"
	"fmt"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

func TestText(t *testing.T) {
	for code, want := range map[int]string{
		0:                "Success",
		2:                "No such file or directory",
		-14:              "Bad address",
		-34:              "Numerical result out of range",
		int(unix.EXDEV):  "Invalid cross-device link",
		int(unix.ENOSPC): "No space left on device",
		-524:             "Operation not supported by this kernel, ENOTSUPP (kernel error 524)",
		512:              "The system call is to be started again, ERESTARTSYS (kernel error 512)",
		600:              "Unknown error 600",
	} {
		if got := Text(code); got != want {
			t.Errorf("Text(%d) = %q, want %q", code, got, want)
		}
	}
}

// TestAdvice gives the same advice for want of files, whatever was tried.
func TestAdvice(t *testing.T) {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	few := fmt.Sprintf("Too many open files; the limit is %d, raise it (ulimit -n)", limit.Cur)
	for code, want := range map[unix.Errno]string{
		unix.EMFILE: few,
		unix.ENFILE: "Too many open files in system; raise the sysctl fs.file-max",
	} {
		if got := Reason(code); got != want {
			t.Errorf("Reason(%d) = %q, want %q", code, got, want)
		}
		if got := Message(fmt.Errorf("epoll: %w", code)); got != "epoll: "+want {
			t.Errorf("Message(epoll: %d) = %q, want %q", code, got, "epoll: "+want)
		}
	}
}

func TestMessage(t *testing.T) {
	_, missing := os.Open("/nosuch/file")
	for _, tt := range []struct {
		err             error
		message, reason string
	}{
		{errors.New("as it is"), "as it is", "as it is"},
		{fmt.Errorf("load: %w", unix.Errno(524)),
			"load: Operation not supported by this kernel, ENOTSUPP (kernel error 524)",
			"Operation not supported by this kernel, ENOTSUPP (kernel error 524)"},
		{unix.EPERM, "Operation not permitted", "Operation not permitted"},
		{missing, "open /nosuch/file: No such file or directory", "No such file or directory"},
		{os.ErrNotExist, "file does not exist", "No such file or directory"},
		{fmt.Errorf("write: %w\nHINT: there is no space left on device x", unix.ENOSPC),
			"write: No space left on device\nHINT: there is no space left on device x", "No space left on device"},
		{fmt.Errorf("refused (%w) twice", unix.EACCES), "refused (Permission denied) twice", "Permission denied"},
	} {
		if got := Message(tt.err); got != tt.message {
			t.Errorf("Message(%v) = %q, want %q", tt.err, got, tt.message)
		}
		if got := Reason(tt.err); got != tt.reason {
			t.Errorf("Reason(%v) = %q, want %q", tt.err, got, tt.reason)
		}
	}
}
