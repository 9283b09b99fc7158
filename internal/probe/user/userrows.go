package user

import (
	"github.com/hawktrace/hawk/internal/probe"
)

var _ = probe.AddMechanisms(map[probe.MechanismID]*probe.Mechanism{
	"uprobe.multi":           &uprobeMulti,
	"uprobe.perf":            &uprobePerf,
	"uretprobe.multi":        &uretprobeMulti,
	"uretprobe.perf":         &uretprobePerf,
	"uretprobe.places.multi": &goReturnMulti,
	"uretprobe.places.perf":  &goReturnPerf,
	"uretprobe.kept.multi":   &keptReturnMulti,
	"uretprobe.kept.perf":    &keptReturnPerf,
	"usdt.multi":             &usdtMulti,
	"usdt.perf":              &usdtPerf,
	"usdt.later.multi":       &laterMulti,
	"usdt.later.perf":        &laterPerf,
})
