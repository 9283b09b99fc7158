package check

import (
	"strconv"
	"testing"

	"github.com/hawktrace/hawk/internal/syntax"
)

// num reads a number of either sign.
func num(t *testing.T, s string) number {
	t.Helper()
	mag, neg, err := syntax.ParseSigned(s)
	if err != nil {
		t.Fatal(err)
	}
	return number{neg, mag}
}

func TestFoldInt(t *testing.T) {
	const max, min = "18446744073709551615", "-9223372036854775808"
	for _, c := range []struct {
		x    string
		op   syntax.Token
		y    string
		want string // or the code of the error
	}{
		{"1", syntax.Add, "2", "3"},
		{"-1", syntax.Add, "2", "1"},
		{"1", syntax.Sub, "2", "-1"},
		{max, syntax.Add, "1", "integer-overflow"},
		{max, syntax.Add, "-1", "18446744073709551614"},
		{min, syntax.Sub, "1", "integer-overflow"},
		{"0", syntax.Sub, max, "integer-overflow"},
		{"-3", syntax.Mul, "4", "-12"},
		{"4294967296", syntax.Mul, "4294967296", "integer-overflow"},
		{min, syntax.Mul, "-1", "9223372036854775808"},
		{"-7", syntax.Div, "2", "-3"},
		{"-7", syntax.Mod, "2", "-1"},
		{"7", syntax.Mod, "-2", "1"},
		{"7", syntax.Div, "0", "division-by-zero"},
		{"7", syntax.Mod, "0", "division-by-zero"},
		{"-1", syntax.And, "255", "255"},
		{"-1", syntax.Or, "1", "-1"},
		{"-1", syntax.Xor, "1", "-2"},
		{"12", syntax.Xor, "10", "6"},
		{"1", syntax.Shl, "63", "9223372036854775808"},
		{"2", syntax.Shl, "63", "0"},
		{"-1", syntax.Shl, "63", min},
		{"-2", syntax.Shl, "63", "0"},
		{"-7", syntax.Shl, "62", "4611686018427387904"},
		{"-7", syntax.Shl, "63", min},
		{"18446744073709551615", syntax.Shl, "12", "18446744073709547520"},
		{max, syntax.Shl, "2", "18446744073709551612"},
		{"1", syntax.Shl, "64", "bad-shift"},
		{"1", syntax.Shr, "-1", "bad-shift"},
		{"-9", syntax.Shr, "1", "-5"},
		{max, syntax.Shr, "63", "1"},
	} {
		r, code, _ := foldInt(c.op, num(t, c.x), num(t, c.y))
		got := code
		if got == "" {
			k := r.konst()
			got = constText(k)
			if back := numberOf(k); back.cmp(r) != 0 {
				t.Errorf("%s %s %s: %v becomes %v as a constant", c.x, c.op, c.y, r, back)
			}
		}
		if got != c.want {
			t.Errorf("%s %s %s = %s, want %s", c.x, c.op, c.y, got, c.want)
		}
	}
}

func TestCompare(t *testing.T) {
	ordered := []string{"-9223372036854775808", "-2", "-1", "0", "1", "9223372036854775808", "18446744073709551615"}
	for i, x := range ordered {
		for j, y := range ordered {
			want := 0
			if i < j {
				want = -1
			} else if i > j {
				want = 1
			}
			if got := num(t, x).cmp(num(t, y)); got != want {
				t.Errorf("cmp(%s, %s) = %d, want %d", x, y, got, want)
			}
		}
	}
}

func TestLiteralType(t *testing.T) {
	for _, c := range []struct {
		n, want string
		flex    bool
	}{
		{"0", "int8", true}, {"127", "int8", true}, {"128", "int16", true}, {"-128", "int8", false},
		{"-129", "int16", false},
		{"32768", "int32", true}, {"2147483648", "int64", true}, {"-2147483648", "int32", false},
		{"9223372036854775807", "int64", true}, {"9223372036854775808", "uint64", false},
		{"-9223372036854775808", "int64", false},
	} {
		typ, flex := literalType(num(t, c.n))
		if typ.String() != c.want || flex != c.flex {
			t.Errorf("%s is %s, flexible %s; want %s, %s", c.n, typ, strconv.FormatBool(flex), c.want,
				strconv.FormatBool(c.flex))
		}
	}
}
