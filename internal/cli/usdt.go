package cli

import (
	"fmt"

	"github.com/hawktrace/hawk/usdt"
)

// marks is `hawk usdt gc`: it removes the files of marks that ended processes have left,
// and prints which.
func (c *command) marks(args []string) int {
	if len(args) != 1 || args[0] != "gc" {
		fmt.Fprintln(c.err, "ERROR: USAGE: hawk usdt gc")
		return exitUsage
	}
	removed, err := usdt.Tidy()
	for _, path := range removed {
		fmt.Fprintln(c.out, path)
	}
	if err != nil {
		return c.fail(exitFailure, err)
	}
	return exitOK
}
