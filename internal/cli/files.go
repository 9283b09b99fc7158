package cli

import (
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/hawktrace/hawk/internal/errno"
)

// spareFiles is how many files hawk has open before it creates anything in the
// kernel, and some more: the runtime's own among them, which gives up where
// it gets none.
const spareFiles = 16

// enoughFiles reports that the process may not open files enough to begin. The
// runtime has raised the limit as far as it may.
func enoughFiles() error {
	var fds [spareFiles]int
	n := 0
	defer func() {
		for _, fd := range fds[:n] {
			unix.Close(fd)
		}
	}()
	for ; n < spareFiles; n++ {
		var err error
		if fds[n], err = unix.Eventfd(0, unix.EFD_CLOEXEC); err == nil {
			continue
		}
		if err != unix.EMFILE && err != unix.ENFILE {
			return nil // what needs one finds the words for it
		}
		return fmt.Errorf("hawk cannot begin: %s", errno.Reason(err))
	}
	return nil
}
