package cli

import (
	"errors"

	"github.com/hawktrace/hawk/internal/compile"
)

// trace loads a compiled script and runs it to the end.
func (c *command) trace(_ *compile.Result) int {
	return c.fail(exitFailure, errors.New("this build of hawk cannot run scripts"))
}
