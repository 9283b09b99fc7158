package view

import (
	"fmt"
	"slices"
	"testing"

	"github.com/hawktrace/hawk/internal/value"
)

// TestArrange puts rows in each order, equals by their keys, and what stands for others where the order has it.
func TestArrange(t *testing.T) {
	row := func(key string, n uint64) Row { return Row{Key: value.Str(key), Value: value.Uint(n)} }
	rows := RowsOf([]Row{row("c", 5), {Key: value.Null{}, Value: value.Uint(7), Others: 3}, row("a", 5), row("d", 9),
		row("b", 1)})
	m := &Map{Kind: Counter, Weight: ValueWeight}
	for _, of := range []struct {
		by   Order
		want string
	}{
		{ByKey, "a b c d null"}, {ByWeight, "d null a c b"}, {ByWeightApart, "d a c b null"},
	} {
		got := ""
		for _, n := range rows.Arrange(of.by, m.Weigh) {
			got += fmt.Sprintf("%s ", value.AppendText(nil, rows.At(int(n)).Key))
		}
		if got != of.want+" " {
			t.Errorf("order %d: %s, want %s", of.by, got, of.want)
		}
	}
	if n := len((Rows{}).Arrange(ByKey, nil)); n != 0 || (Rows{}).Len() != 0 || len((Rows{}).List()) != 0 {
		t.Error("the zero value has rows")
	}
	if got := rows.List(); !slices.Equal(rows.Arrange(ByKey, nil), []int32{2, 4, 0, 3, 1}) || len(got) != 5 {
		t.Error("arranging changes rows")
	}
}
