package cli

import (
	"os"

	"golang.org/x/sys/unix"
)

// color reports whether diagnostics are coloured: as the environment says,
// else if both streams are terminals.
func (c *command) color() bool {
	choice, ok := os.LookupEnv("HAWK_COLOR")
	if !ok {
		choice = os.Getenv("BPFTRACE_COLOR")
	}
	switch choice {
	case "always":
		return true
	case "never":
		return false
	}
	return isTerminal(c.out) && isTerminal(c.err)
}

func isTerminal(w any) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	_, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	return err == nil
}
