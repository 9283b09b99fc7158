package errno

import (
	"strconv"

	"golang.org/x/sys/unix"
)

// Names has the names of error numbers, of 0 and of numbers without a name the number.
func Names() []string {
	names := make([]string, len(Kernel))
	for n := range names {
		if names[n] = unix.ErrnoName(unix.Errno(n)); names[n] == "" {
			names[n] = strconv.Itoa(n)
		}
	}
	return names
}
