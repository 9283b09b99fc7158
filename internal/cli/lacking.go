//go:build min

package cli

import "fmt"

// A build with the tag min has neither the terminal view nor the page nor the service, and thereby no net/http, and
// reads no files of runs; it is a third smaller.

func lacks(what string) error {
	return fmt.Errorf("this build of hawk (-tags min) lacks %s; the full one has it", what)
}

// guards reports that this process is no guard of a terminal.
func guards() bool { return false }

func (w *watch) openTUI(*command) (viewer, error) { return nil, lacks("--tui") }

func (w *watch) openPage(*command) (served, error) { return nil, lacks("--web") }

func (c *command) serveStreams([]string) int { return c.fail(exitUsage, lacks("serve")) }

func (c *command) view([]string) int { return c.fail(exitUsage, lacks("view")) }

func (c *command) diff([]string) int { return c.fail(exitUsage, lacks("diff")) }
