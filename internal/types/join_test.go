package types

import "testing"

func TestJoin(t *testing.T) {
	flex := func(t Type) Flex { return Flex{Type: t, Flex: true} }
	fixed := func(t Type) Flex { return Flex{Type: t} }
	tuple := func(elems ...Flex) Flex {
		var list []Type
		for _, e := range elems {
			list = append(list, e.Type)
		}
		return FlexOf(NewTuple(list...), elems)
	}
	str := func(n int) Type { return &String{Cap: n} }
	task := NewStruct(StructKind, "task_struct", 8, 8, nil)
	for _, c := range []struct {
		a, b Flex
		want string // "" if there is no join, + for a flexible result
	}{
		{Flex{}, fixed(Uint8), "uint8"},
		{fixed(Int8), fixed(Int32), "int32"},
		{fixed(Uint8), fixed(Uint64), "uint64"},
		{fixed(Int8), fixed(Uint8), "int16"},
		{fixed(Int32), fixed(Uint32), "int64"},
		{fixed(Int64), fixed(Uint64), "int64"},
		{fixed(Int64), fixed(Uint32), "int64"},
		{fixed(Uint64), fixed(Int8), "int64"},
		{flex(Int8), fixed(Uint64), "uint64"},
		{flex(Int16), fixed(Uint8), "uint16"},
		{flex(Int8), fixed(Int8), "int8"},
		{flex(Int8), flex(Int32), "int32+"},
		{fixed(Bool), fixed(Bool), "bool"},
		{fixed(Bool), fixed(Int8), ""},
		{fixed(str(4)), fixed(str(8)), "string[8]"},
		{fixed(str(4)), fixed(Int8), ""},
		{fixed(&Pointer{Elem: task}), fixed(&Pointer{Elem: NewStruct(StructKind, "task_struct", 8, 8,
			nil)}), "struct task_struct *"},
		{fixed(&Pointer{Elem: Int32}), fixed(&Pointer{Elem: Int64}), "int64 *"},
		{fixed(&Pointer{Elem: Void}), fixed(&Pointer{Elem: Int64}), ""},
		{fixed(&Array{Elem: Int8, Len: -1}), fixed(&Array{Elem: Int8, Len: 4}), "int8[4]"},
		{fixed(&Array{Elem: Int8, Len: 5}), fixed(&Array{Elem: Int8, Len: 4}), ""},
		{tuple(flex(Int8), fixed(str(2))), tuple(fixed(Uint32), fixed(str(5))), "(uint32,string[5])"},
		{tuple(fixed(Int8)), tuple(fixed(Int8), fixed(Int8)), ""},
		{fixed(NewRecord([]string{"a", "b"}, []Type{Int8, Int8})),
			fixed(NewRecord([]string{"b", "a"}, []Type{Int64, Int16})),
			"record { .a = int16, .b = int64 }"},
		{fixed(NewRecord([]string{"a"}, []Type{Int8})), fixed(NewRecord([]string{"b"}, []Type{Int8})), ""},
		{fixed(&Stack{Limit: 3}), fixed(&Stack{Limit: 3}), "kstack_bpftrace_3"},
		{fixed(&Stack{Limit: 3}), fixed(&Stack{Limit: 4}), ""},
		{fixed(&Enum{Name: "e", Bytes: 4}), fixed(&Enum{Name: "e", Bytes: 4}), "enum e"},
		{fixed(&Enum{Name: "e", Bytes: 4}), fixed(Uint64), "uint64"},
	} {
		for _, swap := range []bool{false, true} {
			a, b := c.a, c.b
			if _, record := a.Type.(*Record); swap && record {
				continue // the order of the fields is the left one's
			}
			if swap {
				a, b = b, a
			}
			j, ok := Join(a, b)
			got := ""
			if ok {
				got = j.Type.String()
				if j.Flex {
					got += "+"
				}
			}
			if got != c.want {
				t.Errorf("%v ⊔ %v is %q, want %q", a.Type, b.Type, got, c.want)
			}
		}
	}
}

func TestFits(t *testing.T) {
	for _, c := range []struct {
		from Flex
		to   Type
		want bool
	}{
		{Flex{Type: Uint8}, Int16, true},
		{Flex{Type: Uint8}, Int8, false},
		{Flex{Type: Int8}, Uint64, false},
		{Flex{Type: Int8, Flex: true}, Uint64, true},
		{Flex{Type: Uint64}, Int64, false},
		{Flex{Type: Int32}, Int32, true},
		{Flex{Type: Bool}, Bool, true},
		{Flex{Type: &String{Cap: 4}}, &String{Cap: 8}, true},
		{Flex{Type: &String{Cap: 8}}, &String{Cap: 4}, false},
		{Flex{Type: NewTuple(Int8, Uint8)}, NewTuple(Int8, Uint64), true},
		{Flex{Type: NewTuple(Int8, Uint8)}, NewTuple(Uint8, Uint64), false},
	} {
		if got := Fits(c.from, c.to); got != c.want {
			t.Errorf("%v fits %v: %v", c.from.Type, c.to, got)
		}
	}
}

func TestCast(t *testing.T) {
	array := func(t Type, n int) Type { return &Array{Elem: t, Len: n} }
	for _, c := range []struct {
		from, to Type
		want     string // "" if it is an error
	}{
		{Int64, Uint8, "uint8"},
		{Uint64, &Pointer{Elem: Int8}, "int8 *"},
		{&Pointer{Elem: Void}, Int64, "int64"},
		{&String{Cap: 4}, Bool, "bool"},
		{&String{Cap: 4}, Uint64, ""},
		{&String{Cap: 4}, array(Int8, -1), "int8[4]"},
		{&String{Cap: 4}, array(Int8, 8), ""},
		{&String{Cap: 4}, &String{Cap: 8}, "string[8]"},
		{&String{Cap: 8}, &String{Cap: 4}, ""},
		{Uint32, array(Uint8, 4), "uint8[4]"},
		{Uint32, array(Uint8, 8), "uint8[8]"},
		{Uint32, array(Uint8, 2), ""},
		{Uint32, array(Uint8, -1), "uint8[4]"},
		{Uint32, array(Uint64, -1), ""},
		{array(Uint8, 8), Uint64, "uint64"},
		{array(Uint8, 4), Uint64, ""},
		{NewStruct(StructKind, "s", 8, 8, nil), Uint64, ""},
		{&Stack{}, Bool, ""},
	} {
		got := ""
		if r, err := Cast(c.from, c.to); err == nil {
			got = r.String()
		}
		if got != c.want {
			t.Errorf("cast from %v to %v: %q, want %q", c.from, c.to, got, c.want)
		}
	}
}
