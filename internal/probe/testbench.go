package probe

import (
	"github.com/hawktrace/hawk/internal/bpf"
)

// dummyPacket runs a program on a packet of zeroes that no network ever sees:
// of all types that can be run by hand, this one the kernel repeats and times.
var dummyPacket = &Mechanism{
	Name:    "repeated test run",
	Program: bpf.XDP,
}

var _ = Define(Kind{
	Name: "test",
	Doc: "Runs once with `--test`, and passes if it returns 0, or nothing, without errors. Names are unique. " +
		"Otherwise it is left alone.",
	Example: `macro double(n) { n * 2 } test:double { if (double(4) != 8) { return 1; } }`,
	Forms:   []string{"test:name"},
	Ours:    AtTest,
	Parse:   parseNamed,
	Match:   MatchSelf,
	Plan:    PlanAlone(inProcess),
})

var _ = Define(Kind{
	Name: "bench",
	Doc: "Runs many times with `--bench`, which reports how long one run takes. It is skipped if it returns 1. " +
		"Otherwise it is left alone. The kernel permits less here than in other probes.",
	Example: `bench:count { @ = count(); }`,
	Forms:   []string{"bench:name"},
	Ours:    AtBench,
	Parse:   parseNamed,
	Match:   MatchSelf,
	Plan:    PlanAlone(dummyPacket),
})

func parseNamed(p *Point, parts []Part, _ *Options) error {
	if len(parts) != 1 {
		return WrongCount(p, "1", parts)
	}
	p.Func = parts[0].Text
	return nil
}
