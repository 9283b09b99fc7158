package builtin

import (
	"testing"

	"github.com/hawktrace/hawk/internal/syntax"
	"github.com/hawktrace/hawk/internal/types"
)

// TestTypeNames has scripts able to write every type that a builtin yields: the
// parser knows its name, and the name leads to the type.
func TestTypeNames(t *testing.T) {
	for name := range typeNames {
		if !syntax.IsTypeName(name) {
			t.Errorf("the parser does not take %s for a type", name)
		}
	}
	for _, a := range Aggs() {
		for _, name := range []string{a.Name + "_t", "u" + a.Name + "_t"} {
			if _, ok := types.NamedAgg(name); ok != syntax.IsTypeName(name) {
				t.Errorf("%s: an aggregation %v, a type for the parser %v", name, ok, !ok)
			}
		}
	}
}
