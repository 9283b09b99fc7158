package cli

import (
	"time"

	"github.com/hawktrace/hawk/internal/compile"
	"github.com/hawktrace/hawk/internal/config"
	"github.com/hawktrace/hawk/internal/output"
	"github.com/hawktrace/hawk/internal/source"
)

// How long the compiler is measured: until enough time has passed, and at most
// so many times.
const (
	timingTime = 300 * time.Millisecond
	timingMost = 1000
)

// timeCompiler compiles the script again and again and reports how long the
// stages take (--mode compiler-bench). The first time does not count: what it
// asks of the machine is known afterwards. The rows are those of --bench, in every format that
// it has.
func (c *command) timeCompiler(f *source.File, o compile.Options) int {
	o.Watch = nil
	res, ds := compile.Compile(f, o)
	c.print(ds)
	if res == nil || ds.HasErrors() {
		return exitUsage
	}
	if status, bad := c.badFormat(); bad {
		return status
	}
	var stages []string
	took := map[string]time.Duration{}
	o.Took = func(stage string, d time.Duration) {
		if _, known := took[stage]; !known {
			stages = append(stages, stage)
		}
		took[stage] += d
	}
	rounds := 0
	start := time.Now()
	for ; rounds < timingMost && (rounds == 0 || time.Since(start) < timingTime); rounds++ {
		compile.Compile(f, o)
	}
	took["total"] = time.Since(start)
	stages = append(stages, "total")

	sink := c.sink(c.out, c.out, c.err, config.Default())
	sink.Write(output.Benches{})
	for _, stage := range stages {
		sink.Write(output.Bench{Name: stage, Average: uint64(took[stage]) / uint64(rounds), Iterations: uint64(rounds)})
	}
	if err := sink.Flush(); err != nil {
		return c.fail(exitFailure, err)
	}
	return exitOK
}
