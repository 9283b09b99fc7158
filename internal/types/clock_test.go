package types

import "testing"

func TestJoinClocks(t *testing.T) {
	tai, boot := &Int{Bytes: 8, Clock: "tai"}, &Int{Bytes: 8, Clock: "boot"}
	for _, c := range []struct {
		a, b Flex
		want string
	}{
		{Flex{Type: tai}, Flex{Type: tai}, "tai"},
		{Flex{Type: tai}, Flex{Type: Uint64}, "tai"},
		{Flex{Type: tai}, Flex{Type: Uint32}, ""},
		{Flex{Type: tai}, Flex{Type: Int64}, ""},
		{Flex{Type: NewTuple(tai, boot)}, Flex{Type: NewTuple(Uint64, boot)}, "tai"},
	} {
		for _, pair := range [][2]Flex{{c.a, c.b}, {c.b, c.a}} {
			j, ok := Join(pair[0], pair[1])
			got := j.Type
			if tuple, is := got.(*Tuple); is {
				got = tuple.Elems[0]
			}
			if i, is := got.(*Int); !ok || !is || i.Clock != c.want {
				t.Errorf("Join(%v, %v) = %+v, want the clock %q", pair[0].Type, pair[1].Type, j.Type, c.want)
			}
		}
	}
	if !Same(tai, Uint64) {
		t.Error("a clock makes another type")
	}
}
