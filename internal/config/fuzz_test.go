package config

import (
	"strings"
	"testing"

	"github.com/hawktrace/hawk/internal/hawktest/bound"
	"github.com/hawktrace/hawk/internal/source"
	"github.com/hawktrace/hawk/internal/syntax"
)

// FuzzSettings reads settings as they stand in a script and in the environment.
func FuzzSettings(f *testing.F) {
	f.Add(`max_strlen = 64; stack_mode = "perf"`, "_MAX_STRLEN", "0x40")
	f.Add(`on_stack_limit = 1m; missing_probes = warn;`, "BPFTRACE_CACHE_USER_SYMBOLS", "PER_PID")
	f.Add(`no_cpp_demangle = 0; license = "GPL"; unstable_tseries = Warn`, "HAWK_LOG_SIZE", "18446744073709551615")
	f.Fuzz(func(t *testing.T, block, name, value string) {
		bound.Run(t, len(block+name+value), func() {
			c := Default()
			env, err := ReadEnvironment(func(n string) (string, bool) { return value, strings.HasSuffix(n, name) })
			if err == nil {
				env.Apply(c)
			}
			tree, more := syntax.Parse(source.NewFile("in.bt", "config = { "+block+" } begin { }"))
			for _, item := range tree.Items {
				if block, ok := item.(*syntax.Config); ok {
					c.Apply(block, more)
				}
			}
			for _, d := range more.List() {
				if d.Severity == source.Bug {
					t.Error(d.Msg)
				}
			}
			if c.MaxStrlen < 0 || c.MaxMapKeys < 0 || c.LogSize < 0 {
				t.Errorf("negative sizes: %+v", c)
			}
		})
	})
}
