package probe

import "fmt"

var _ = Define(Kind{
	Name:    "self",
	Type:    "special",
	Doc:     "Runs when hawk itself receives SIGUSR1.",
	Example: `self:signal:SIGUSR1 { print(@); clear(@); } software:page-faults:100 { @[comm] = count(); }`,
	Forms:   []string{"self:signal:SIGUSR1"},
	Ours:    OnSignal,
	Parse:   parseSelf,
	Match:   MatchSelf,
	List:    listSelf,
	Plan:    PlanAlone(inProcess),
})

const selfSignal = "SIGUSR1"

func parseSelf(p *Point, parts []Part, _ *Options) error {
	if len(parts) != 2 {
		return WrongCount(p, "2", parts)
	}
	if parts[0].Text != "signal" {
		return fmt.Errorf("%s is not a supported trigger", parts[0].Text)
	}
	if parts[1].Text != selfSignal {
		return fmt.Errorf("%s is not a supported signal", parts[1].Text)
	}
	p.Target, p.Func = parts[0].Text, parts[1].Text
	return nil
}

func listSelf(_ *Kind, parts []Part, _ *Options, emit func(Listed)) error {
	for i, name := range []string{"signal", selfSignal} {
		if i < len(parts) && !parts[i].Matches(name) {
			return nil
		}
	}
	emit(Listed{Name: "self:signal:" + selfSignal})
	return nil
}
