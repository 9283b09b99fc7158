package machine

import (
	"reflect"
	"strings"
	"testing"

	"github.com/hawktrace/hawk/internal/types"
)

func TestFormatNames(t *testing.T) {
	const format = ` "%s %s", (REC->state & ((0x1 + 1) << 1)) ? __print_flags(REC->state & 3, "|", { 0x1, "S" }, ` +
		`{ 0x00000002, "D" }) : "R", __print_symbolic(REC->why, {2, "TWO"}, { ENUM, "LOST" }, {( unsigned long)(((( ` +
		`gfp_t)(((1UL)) << (10))|8))), "MANY" }, { -1, "MINUS" }), REC->whyever, REC->why ? ` +
		`__print_symbolic(REC->why, { 1, "SECOND_" "TABLE" "" })`
	for field, want := range map[string][]types.EnumValue{
		"state":   {{Name: "S", Value: 1}, {Name: "D", Value: 2}, {Name: "R"}},
		"why":     {{Name: "TWO", Value: 2}, {Name: "MANY", Value: 1032}, {Name: "MINUS", Value: -1}},
		"whyever": nil, "stat": nil,
	} {
		if got := formatNames(format, field, 1); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, not %v", field, got, want)
		}
	}
	second := []types.EnumValue{{Name: "SECOND_TABLE", Value: 1}}
	if got := formatNames(format, "why", 2); !reflect.DeepEqual(got, second) {
		t.Errorf("the second table of why: %v, not %v", got, second)
	}
	if got := formatNames(format, "why", 3); got != nil {
		t.Errorf("a third table of why: %v", got)
	}
}

func FuzzFormatNames(f *testing.F) {
	f.Add(`__print_flags(REC->x, "|", { ((1 << 2)), "A" }`)
	f.Add("__print_flags(REC->x, \"|\", { 0X1\xee\xa7, \"A\" }") // longer in lower case
	f.Fuzz(func(_ *testing.T, text string) { formatNames(text, "x", 1) })
}

func TestConstantDepth(t *testing.T) {
	const deep = 100_000
	if v, ok := constantOf(strings.Repeat("(", deep) + "1" + strings.Repeat(")", deep)); !ok || v != 1 {
		t.Error(v, ok)
	}
}
