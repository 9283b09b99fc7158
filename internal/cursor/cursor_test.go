package cursor

import "testing"

func TestLEB(t *testing.T) {
	for _, c := range []struct {
		data     []byte
		unsigned uint64
		signed   int64
		bad      bool
	}{
		{[]byte{2}, 2, 2, false},
		{[]byte{0x7f}, 127, -1, false},
		{[]byte{0xe5, 0x8e, 0x26}, 624485, 624485, false},
		{[]byte{0x80, 0x7f}, 16256, -128, false},
		{[]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01}, 1<<64 - 1, -1, false},
		// bits beyond 64
		{[]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x03}, 1<<64 - 1, -1, false},
		{[]byte{0x80, 0x80, 0x00}, 0, 0, false},
		{[]byte{0x81}, 1, 1, true},
		{nil, 0, 0, true},
	} {
		u, s := Cursor{Data: c.data}, Cursor{Data: c.data}
		if v := u.ULEB(); v != c.unsigned || u.Bad != c.bad || u.At != len(c.data) {
			t.Errorf("ULEB of %x: %d, %+v", c.data, v, u)
		}
		if v := s.SLEB(); v != c.signed || s.Bad != c.bad || s.At != len(c.data) {
			t.Errorf("SLEB of %x: %d, %+v", c.data, v, s)
		}
	}
}

func TestUint(t *testing.T) {
	data := []byte{1, 2, 3, 4, 5, 6, 7, 8}
	for size, want := range map[int][2]uint64{
		1: {0x01, 0x01}, 2: {0x0201, 0x0102}, 3: {0x030201, 0x010203}, 4: {0x04030201, 0x01020304},
		8: {0x0807060504030201, 0x0102030405060708},
	} {
		for i, big := range []bool{false, true} {
			c := Cursor{Data: data, Big: big}
			if v := c.Uint(size); v != want[i] || c.Bad || c.At != size {
				t.Errorf("%d bytes, big %v: %#x, %+v", size, big, v, c)
			}
			c = Cursor{Data: data[:size-1], Big: big}
			if v := c.Uint(size); v != 0 || !c.Bad || c.More() {
				t.Errorf("%d of %d bytes: %#x, %+v", size-1, size, v, c)
			}
		}
	}
}

func TestString(t *testing.T) {
	c := Cursor{Data: []byte("ab\x00\x00cd")}
	if a, b := c.String(), c.String(); a != "ab" || b != "" || c.Bad || c.Left() != 2 {
		t.Errorf("%q, %q, %+v", a, b, c)
	}
	if s := c.String(); s != "" || !c.Bad || c.More() {
		t.Errorf("without a NUL: %q, %+v", s, c)
	}
	if b := c.Bytes(1); b != nil {
		t.Errorf("beyond the end: %x", b)
	}
}
