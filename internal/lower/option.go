package lower

import (
	"github.com/hawktrace/hawk/internal/object"
	"github.com/hawktrace/hawk/internal/types"
)

// Option declares a named parameter, once for all of its uses, and yields
// where in the data map its value is.
func (f *fn) Option(o *object.Option) int { return f.m.option(o) }

// option places an option in the data map, once for each name; two uses must agree on default and
// text.
func (m *module) option(o *object.Option) int {
	for _, old := range m.obj.Options {
		if old.Name != o.Name {
			continue
		}
		old.Merge(o, m.diags)
		return old.Offset
	}
	o.Offset = m.place(types.RoundUp(o.Type.Size(), 8), 8)
	m.obj.Data.Set(o, o.Default)
	m.obj.Options = append(m.obj.Options, o)
	return o.Offset
}
