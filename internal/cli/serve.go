package cli

import (
	"context"
	"fmt"
	"os"

	"github.com/hawktrace/hawk/internal/serve"
)

// serveWord is the first operand of `hawk serve --stdio`. A file of that name is ./serve.
const serveWord = "serve"

// serveStreams answers requests on standard input until that ends.
func (c *command) serveStreams(args []string) int {
	if len(args) != 1 || args[0] != "--stdio" {
		fmt.Fprintln(c.err, "ERROR: USAGE: hawk serve --stdio")
		return exitUsage
	}
	if err := serve.Run(context.Background(), os.Stdin, os.Stdout); err != nil {
		return c.fail(exitFailure, err)
	}
	return exitOK
}
