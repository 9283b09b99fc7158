package cli

import (
	"testing"

	"github.com/hawktrace/hawk/internal/hawktest/bound"
	"github.com/hawktrace/hawk/internal/object"
	"github.com/hawktrace/hawk/internal/types"
)

// FuzzOptions reads hawk's own options, and values of a script's.
func FuzzOptions(f *testing.F) {
	f.Add("-e", "begin { }", "--n=0x1f")
	f.Add("--no-feature", "uprobe_multi,kprobe_multi", "-5")
	f.Add("-dtypes", "--format=json", "true")
	f.Add("-B", "none", "-- --help")
	f.Fuzz(func(t *testing.T, a, b, value string) {
		bound.Run(t, len(a+b+value), func() {
			var s settings
			parseArgs(options(), []string{a, b, value}, &s)
			for _, typ := range []types.Type{types.Bool, types.Int64, types.Uint64, &types.String{Cap: 16}} {
				raw, err := (&object.Option{Name: "n", Type: typ}).Parse(value, true)
				if err == nil && len(raw) > max(typ.Size(), 8) {
					t.Errorf("%q as a %s takes %d bytes", value, typ, len(raw))
				}
			}
		})
	})
}
