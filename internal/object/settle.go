package object

import "github.com/hawktrace/hawk/internal/types"

// Settle resolves all types that values of the object are decoded by. After that
// they are only read, by any number of runs at a time.
func (o *Object) Settle() {
	seen := map[types.Type]bool{}
	for _, ev := range o.Events {
		for _, a := range ev.Args {
			types.Settle(a.Type, seen)
		}
	}
	for _, m := range o.Scripts {
		types.Settle(m.Key, seen)
		types.Settle(m.Value, seen)
	}
}
