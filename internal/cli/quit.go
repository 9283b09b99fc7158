package cli

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// quitPlainly gives SIGQUIT back its default action. The runtime's would print
// the stacks of all goroutines on the terminal of someone who pressed Ctrl-\.
func quitPlainly() {
	// The kernel's struct sigaction: handler (SIG_DFL), flags, restorer, mask;
	// the same on amd64 and arm64.
	var action [4]uint64
	unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(unix.SIGQUIT), uintptr(unsafe.Pointer(&action)), 0, 8, 0, 0)
}
