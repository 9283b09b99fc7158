// Package kinds brings all kinds of probes into the table: who imports it can look
// them up in package probe.
package kinds

import (
	_ "github.com/hawktrace/hawk/internal/probe/kernel"
	_ "github.com/hawktrace/hawk/internal/probe/perf"
	_ "github.com/hawktrace/hawk/internal/probe/user"
)
