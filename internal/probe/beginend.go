package probe

import (
	"github.com/hawktrace/hawk/internal/bpf"
)

// inProcess runs a program in hawk's own thread: a raw tracepoint program can
// be started by hand on every kernel with a ring buffer, without attaching
// anything.
var inProcess = &Mechanism{
	Name:    "test run",
	Program: bpf.RawTracepoint,
}

var _ = Define(Kind{
	Name:    "begin",
	Type:    "special",
	Doc:     "Runs once before any probe is attached.",
	Example: `begin { printf("tracing; end with Ctrl-C\n"); }`,
	Forms:   []string{"begin"},
	Ours:    AtBegin,
	Parse:   parseBare,
	Match:   MatchSelf,
	Plan:    PlanAlone(inProcess),
})

var _ = Define(Kind{
	Name:    "end",
	Type:    "special",
	Doc:     "Runs once when tracing has ended, before the maps are printed.",
	Example: `interval:ms:100 { @++; exit(); } end { printf("%d rounds\n", @); clear(@); }`,
	Forms:   []string{"end"},
	Ours:    AtEnd,
	Parse:   parseBare,
	Match:   MatchSelf,
	Plan:    PlanAlone(inProcess),
})

// parseBare accepts no parts; a lone wildcard is tolerated as the reference
// does.
func parseBare(p *Point, parts []Part, _ *Options) error {
	if len(parts) == 1 && parts[0].HasWild() {
		return nil
	}
	if len(parts) != 0 {
		return WrongCount(p, "0", parts)
	}
	return nil
}
