package cli

import (
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/hawktrace/hawk/internal/errno"
	"github.com/hawktrace/hawk/internal/outfile"
)

// color reports whether diagnostics are coloured: as the environment says, else if both streams are
// terminals. Both, since errors and output may be read side by side, and a pipe behind one is a
// sign of a script.
func (c *command) color() bool {
	_, choice := colorChoice()
	switch choice {
	case "always":
		return true
	case "never":
		return false
	}
	return isTerminal(c.out) && isTerminal(c.err)
}

// colorChoice is what the environment says of colours, and the variable that
// says it. The first one that is set counts, even if it is set to nothing: a user may switch
// bpftrace's off.
func colorChoice() (name, choice string) {
	for _, name = range [...]string{"HAWK_COLOR", "BPFTRACE_COLOR"} {
		if choice, ok := os.LookupEnv(name); ok {
			return name, choice
		}
	}
	return "", "auto"
}

// checkEnvironment warns of variables whose values are no use, and of what hawk
// takes for granted and is not there. Kernel types are read here only if they are
// to come from a file that a variable names.
func (c *command) checkEnvironment() {
	switch name, choice := colorChoice(); choice {
	case "auto", "always", "never", "":
	default:
		c.warn(fmt.Sprintf("%s: there is no choice %s, only auto, always and never", name, choice))
	}
	if unix.Access("/proc/self/fd", unix.F_OK) == unix.ENOENT {
		c.warn("/proc is not mounted: hawk cannot open programs, nor see processes (mount -t proc proc /proc)")
	}
	if c.machine.Named.BTF != "" {
		if _, err := c.machine.BTF(); err != nil {
			c.warn(errno.Message(err) + ": types of the kernel are not known")
		}
	}
}

// caller is who has called hawk by sudo, 0 if nobody has. Files that a script names are then judged
// as that user's (see package foreign): sudo gives root's powers to the command, not to every file
// that it mentions.
func caller() uint32 {
	n, err := strconv.ParseUint(os.Getenv("SUDO_UID"), 10, 32)
	if err != nil || os.Geteuid() != 0 {
		return 0
	}
	return uint32(n)
}

// isTerminal reports whether a stream is a terminal: whether it has the settings of one.
// /dev/null is a character device as well, so that its kind would not tell.
func isTerminal(w any) bool {
	f, ok := fileOf(w)
	if !ok {
		return false
	}
	_, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	return err == nil
}

// terminalHeight is how many lines a terminal has, 24 if it does not say.
func terminalHeight(f *os.File) int {
	size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	if err != nil || size.Row == 0 {
		return 24
	}
	return int(size.Row)
}

// fileOf is the file that a writer is. Tests pass buffers, which are none.
func fileOf(w any) (*os.File, bool) {
	if f, ok := w.(*outfile.File); ok {
		w = f.File
	}
	f, ok := w.(*os.File)
	return f, ok
}

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
		// An eventfd needs no file system and is made fast.
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
