package check

import (
	"github.com/hawktrace/hawk/internal/config"
	"github.com/hawktrace/hawk/internal/source"
	"github.com/hawktrace/hawk/internal/syntax"
)

// unstable reports the use of an unstable feature as the settings want it: an
// error at its place, or one warning for the whole script. What the library
// uses is its own affair.
// The warning has no place, as in the reference: it is about the script.
func (w *walker) unstable(at syntax.Node, feature string) {
	if f := at.Span().File; !w.final || f != nil && f.Library {
		return
	}
	switch w.script.Config.Feature(feature) {
	case config.Refuse:
		w.errorf(at, "unstable", "%s is an unstable feature and switched off by unstable_%s", feature, feature).
			Hint("set unstable_%s to enable or warn", feature)
	case config.Warn:
		if w.unstableUses[feature] {
			return
		}
		if w.unstableUses == nil {
			w.checker.unstableUses = map[string]bool{}
		}
		w.unstableUses[feature] = true
		w.ds.Warnf("unstable", source.Span{}, "Script is using an unstable feature: %s. To prevent this warning "+
			"you must explicitly enable it in the config e.g. unstable_%s=enable", feature, feature)
	}
}
