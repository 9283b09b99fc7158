package hawk

import (
	"runtime"
	"strconv"
	"testing"

	"github.com/hawktrace/hawk/internal/types"
	"github.com/hawktrace/hawk/internal/value"
)

// TestLargeIsLinear reads structs of C, of n and of 4n members: what is gathered anew for each member
// shows in memory, whatever the clock says.
func TestLargeIsLinear(t *testing.T) {
	cost := func(n int) uint64 {
		var r value.Record
		fields := make([]types.Field, n)
		for i := range n {
			fields[i] = types.Field{Name: "f" + strconv.Itoa(i), Type: types.Int32, Offset: 4 * i}
			r.Names, r.Values = append(r.Names, fields[i].Name), append(r.Values, value.Int(i))
		}
		s := &types.Struct{Name: "large", Load: func() []types.Field { return fields }}
		v := Value{t: s, v: r, plans: newPlans()}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if m, _ := v.Interface().(map[string]any); m["f7"] != int64(7) {
			t.Errorf("f7 of the map is %v", m["f7"])
		}
		for i := range v.Len() {
			if x, _ := v.At(i).Int64(); x != int64(i) {
				t.Fatalf("member %d is %d", i, x)
			}
		}
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	const n = 500
	if small, large := cost(n), cost(4*n); large > 6*small {
		t.Errorf("%d members take %d KB, %d take %d KB", n, small>>10, 4*n, large>>10)
	}
}
