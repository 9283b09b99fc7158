package builtin

import (
	"testing"

	"github.com/hawktrace/hawk/internal/syntax"
	"github.com/hawktrace/hawk/internal/types"
)

// TestTypeNames has scripts able to write every type that a builtin yields: the
// parser knows its name, and the name leads to the type.
func TestTypeNames(t *testing.T) {
	named := map[types.Renderer]bool{}
	for name, deferred := range typeNames {
		named[deferred.By] = true
		if !syntax.IsTypeName(name) {
			t.Errorf("the parser does not take %s for a type", name)
		}
	}
	for by := types.Renderer(1); by <= types.LastRenderer; by++ {
		if !named[by] {
			t.Errorf("the type whose values renderer %d shows has no name", by)
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
