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

func TestMessage(t *testing.T) {
	_, missing := os.Open("/nosuch/file")
	for _, tt := range []struct {
		err             error
		message, reason string
	}{
		{errors.New("as it is"), "as it is", "as it is"},
		{fmt.Errorf("load: %w", unix.Errno(524)), "load: Operation not supported by this kernel, ENOTSUPP (kernel error 524)",
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
