package value

import (
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/hawktrace/hawk/internal/types"
)

// arg lays out a Go value as an argument of the type that a script's literal
// of the kind would have.
func arg(v any) Arg {
	le := binary.NativeEndian
	switch v := v.(type) {
	case int8:
		return Arg{types.Int8, []byte{byte(v)}}
	case int:
		return Arg{types.Int64, le.AppendUint64(nil, uint64(v))}
	case int32:
		return Arg{types.Int32, le.AppendUint32(nil, uint32(v))}
	case uint32:
		return Arg{types.Uint32, le.AppendUint32(nil, v)}
	case uint64:
		return Arg{types.Uint64, le.AppendUint64(nil, v)}
	case uintptr:
		return Arg{&types.Pointer{Elem: types.Void}, le.AppendUint64(nil, uint64(v))}
	case bool:
		if v {
			return Arg{types.Bool, []byte{1}}
		}
		return Arg{types.Bool, []byte{0}}
	case string:
		return Arg{&types.String{Cap: len(v) + 1}, append([]byte(v), 0)}
	case []byte:
		raw := le.AppendUint32(nil, uint32(len(v)))
		return Arg{&types.Buffer{Cap: len(v) + 4}, append(append(raw, v...), 0, 0, 0, 0)}
	case Arg:
		return v
	}
	panic("no such argument")
}

var color = &types.Enum{Name: "color", Bytes: 4, Values: []types.EnumValue{{Name: "RED", Value: 1},
	{Name: "BLUE", Value: 7}}}

func enum(v byte) Arg { return Arg{color, []byte{v, 0, 0, 0}} }

func TestFormat(t *testing.T) {
	const big = uint64(0x1122334455667788)
	tuple := types.NewTuple(types.Int8, types.Int8, &types.String{Cap: 2})
	record := types.NewRecord([]string{"a", "b"}, []types.Type{types.Int8, &types.String{Cap: 4}})
	for _, c := range []struct {
		format string
		args   []any
		want   string
	}{
		{"plain", nil, "plain"},
		{"100%%", nil, "100%"},
		{"%q %b % %", nil, "%q %b % %"},
		{"%", nil, "%"},
		{"%5", nil, "%5"},
		{"%+-d", nil, "%+-d"}, // flags in another order are not a conversion
		{"[%d] [%ld] [%u] [%x] [%lx] [%llx]", []any{big, big, big, big, big, big},
			"[1432778632] [1234605616436508552] [1432778632] [55667788] [1122334455667788] [1122334455667788]"},
		{"%d", []any{-1}, "-1"},
		{"%u", []any{int8(-1)}, "4294967295"},
		{"%x", []any{-1}, "ffffffff"},
		{"%lx", []any{int8(-1)}, "ffffffffffffffff"},
		{"%hhd %hd", []any{200, 70000}, "-56 4464"},
		{"%ju %zu %tu %Lu", []any{big, big, big, big}, "1234605616436508552 1234605616436508552 " +
			"1234605616436508552 1234605616436508552"},
		{"[%5d] [%-5d] [%05d] [%+d] [%#x] [%#X] [%#o] [%08x]", []any{42, 42, 42, 42, 255, 255, 8, 255},
			"[   42] [42   ] [00042] [+42] [0xff] [0XFF] [010] [000000ff]"},
		{"[%10s] [%-10s] [%5c] [%-5s] [%05s] [%20p]", []any{"abc", "abc", 65, true, "ab", uint64(0x10)},
			"[       abc] [abc       ] [    A] [true ] [000ab] [                0x10]"},
		{"%p %p %18p|%-6p|", []any{uintptr(0), uintptr(0xffff888000001234), uintptr(1), uintptr(1)},
			"0 0xffff888000001234                0x1|0x1   |"},
		{"%06d %#010x", []any{-42, 255}, "-00042 0x000000ff"},
		{"%.2s|%.0s|%5.2s|", []any{"abcdef", "x", "abc"}, "ab||   ab|"},
		{"%.3d %.5x %8.3d|%-8.3d|%08.3d", []any{5, 255, -5, 5, 7}, "005 000ff     -005|005     |     007"},
		{"% d % d %.0d|%#.0o", []any{5, -5, 0, 0}, " 5 -5 |0"},
		{"%#x %#o %#.3o", []any{0, 0, 8}, "0 0 010"},
		{"%s %d %x|%10s|", []any{enum(1), enum(1), enum(7), enum(7)}, "RED 1 7|      BLUE|"},
		{"%s", []any{enum(2)}, "2"},
		{"%s %s %s", []any{int8(5), Arg{tuple, []byte{1, 2, 'x', 0}}, Arg{record, []byte{1, 't', 'w', 'o', 0}}},
			"5 (1, 2, x) { .a = 1, .b = two }"},
		{"[%r] [%rx] [%rh] [%s]", []any{[]byte("ab\x01z"), []byte("ab\x01z"), []byte("ab\x01z"), []byte("ab\x01z")},
			`[ab\x01z] [\x61\x62\x01\x7a] [61 62 01 7a] [ab\x01z]`},
		{"[%gr] [%gr] [%gr] [%gr]", []any{0, 0xcc0, 0x820, 0x40000000}, "[0] [GFP_KERNEL] [GFP_ATOMIC] [0x40000000]"},
		{"[%gr] [%15gr]", []any{0x100cc0 | 0x100, 0xcc0}, "[GFP_USER|__GFP_ZERO] [     GFP_KERNEL]"},
		{"%s %s", []any{true, uintptr(0)}, "true 0x0"},
		{"%d %i", []any{true, false}, "1 0"},
		{"%c%c", []any{0x141, int8('z')}, "Az"},
		{"%X", []any{uint64(0xabcdef01)}, "ABCDEF01"},
		{"%s", []any{uint64(1 << 63)}, "9223372036854775808"},
		{"%s", []any{"100%d"}, "100%d"},
		{"[%/ms.3d] [%9/ms.1u] [%-9/us.0d] [%+/1000.2d] [%09/K.1d]", []any{1234567, uint64(1 << 63), 1500, 5, 4608},
			"[1.235] [9223372036854.8] [2        ] [+0.01] [0000004.5]"},
		{"%/s.3d %/s.1d %/ms.1ld", []any{-1_500_000_000, -49_999_999, -1}, "-1.500 0.0 0.0"},
		{"%/s %/ms.d %/ms.3s %/x.3d 50%/s.", nil, "%/s %/ms.d %/ms.3s %/x.3d 50%/s."}, // no conversions
		{"%d", []any{Arg{types.Int64, []byte{1}}}, "!{not an integer}"},
	} {
		f, err := ParseFormat(c.format)
		if err != nil {
			t.Errorf("%q: %v", c.format, err)
			continue
		}
		args := make([]Arg, len(c.args))
		for i, a := range c.args {
			args[i] = arg(a)
		}
		if got := string(f.Append(nil, args, nil)); got != c.want {
			t.Errorf("%q:\n got %q\nwant %q", c.format, got, c.want)
		}
	}
}

func TestAppendValues(t *testing.T) {
	for _, test := range []struct {
		format string
		values []Value
		want   string
	}{
		{"n = %d, %x 100%%", []Value{Int(-1), Uint(255)}, "n = -1, ff 100%"},
		{"%5s|%-3d|", []Value{Str("a"), Uint(7)}, "    a|7  |"},
		{"%hhd %.2s", []Value{Uint(300), Str("abc")}, "44 ab"}, {"%s %d", []Value{Uint(300)}, "300 !{no argument}"},
		{"%d", []Value{Str("no number")}, "no number"},
		{"%u %lu", []Value{Uint(1<<64 - 1), Uint(1<<64 - 1)}, "4294967295 18446744073709551615"},
	} {
		f, err := ParseFormat(test.format)
		if err != nil {
			t.Fatal(err)
		}
		if got := string(f.AppendValues(nil, test.values)); got != test.want {
			t.Errorf("%q: %q, want %q", test.format, got, test.want)
		}
	}
}

func TestParseFormatErrors(t *testing.T) {
	for _, c := range []struct {
		format, want string
		start, end   int
	}{
		{"ab %f", "%f conversion is not supported", 3, 5},
		{"%lG", "%G conversion is not supported", 0, 3},
		{"%n", "%n conversion is not supported", 0, 2},
		{"%*d", "%*d: a width or precision of '*' is not supported", 0, 3},
		{"%.*s", "%.*s: a width or precision of '*' is not supported", 0, 4},
		{"%99999999999999999999d", "%99999999999999999999d: width and precision can be at most 65536", 0, 22},
	} {
		_, err := ParseFormat(c.format)
		var fe *FormatError
		if !errors.As(err, &fe) {
			t.Errorf("%q: no error", c.format)
		} else if fe.Msg != c.want || fe.Start != c.start || fe.End != c.end {
			t.Errorf("%q: %q at %d-%d; want %q at %d-%d", c.format, fe.Msg, fe.Start, fe.End, c.want, c.start, c.end)
		}
	}
}

func TestCheck(t *testing.T) {
	str, buf := &types.String{Cap: 4}, &types.Buffer{Cap: 4}
	count := &types.Agg{Kind: "count"}
	for _, c := range []struct {
		format string
		args   []types.Type
		want   string
	}{
		{"%d %s %r", []types.Type{types.Int8, str, buf}, ""},
		{"%d %u %p %c %x", []types.Type{types.Bool, color, &types.Pointer{Elem: types.Void}, types.Uint64,
			types.Int32}, ""},
		{"%s %s", []types.Type{count, nil}, ""},
		{"%d", []types.Type{nil}, ""},
		{"%d", nil, "not enough arguments for format string (0 supplied, 1 expected)"},
		{"%d", []types.Type{types.Int8, types.Int8}, "too many arguments for format string (2 supplied, 1 expected)"},
		{"x %d", []types.Type{str}, "%d conversion expects a value of type integer (string[4] supplied)"},
		{"%rx", []types.Type{str}, "%rx conversion expects a value of type buffer (string[4] supplied)"},
		{"%gr", []types.Type{str}, "%gr conversion expects a value of type integer (string[4] supplied)"},
		{"%s", []types.Type{types.None}, "%s cannot print a value of type none"},
		{"%d", []types.Type{count}, "%d conversion expects a value of type integer (count_t supplied)"},
	} {
		f, err := ParseFormat(c.format)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if errs := f.Check(c.args); len(errs) > 0 {
			got = errs[0].Msg
		}
		if got != c.want {
			t.Errorf("%q %v: %q, want %q", c.format, c.args, got, c.want)
		}
	}
}

func TestAppendDoesNotAllocate(t *testing.T) {
	f, err := ParseFormat("%d %-16s %5u %p %lx\n")
	if err != nil {
		t.Fatal(err)
	}
	args := []Arg{arg(1), arg("comm"), arg(7), arg(uintptr(0x1234)), arg(-1)}
	dst := make([]byte, 0, 256)
	if n := testing.AllocsPerRun(100, func() { dst = f.Append(dst[:0], args, nil) }); n != 0 {
		t.Errorf("%v allocations for %q", n, dst)
	}
}

func FuzzFormat(f *testing.F) {
	for _, s := range []string{"%d", "%-+ #08.3lld", "%s%rx%gr", "%5c", "%%", "%.s"} {
		f.Add(s, []byte("12345678"))
	}
	f.Fuzz(func(t *testing.T, s string, raw []byte) {
		format, err := ParseFormat(s)
		if err != nil {
			return
		}
		total := 0
		for _, c := range format.Convs {
			total += c.Width + max(c.Prec, 0)
		}
		if total > 1<<20 {
			return
		}
		for _, typ := range []types.Type{types.Int32, &types.String{Cap: 5, Trunc: true}, &types.Buffer{Cap: 3},
			types.Bool} {
			args := make([]Arg, len(format.Convs))
			for i := range args {
				args[i] = Arg{typ, raw}
			}
			format.Append(nil, args, nil)
		}
	})
}

func BenchmarkFormat(b *testing.B) {
	f, err := ParseFormat("%d %s %d\n")
	if err != nil {
		b.Fatal(err)
	}
	args := []Arg{arg(uint32(4211)), arg("some-command"), arg(uint32(4212))}
	dst := make([]byte, 0, 256)
	for b.Loop() {
		dst = f.Append(dst[:0], args, nil)
	}
}

// TestDecimal has the short way of usual numbers yield what the general one does, which a width of one byte takes.
func TestDecimal(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, conv := range []string{"d", "i", "u", "hd", "hhd", "ld", "lu", "llu", "hu", "hhu"} {
		short, err := ParseFormat("<%" + conv + ">\n")
		if err != nil {
			t.Fatal(err)
		}
		long, err := ParseFormat("<%1" + conv + ">\n")
		if err != nil {
			t.Fatal(err)
		}
		for i := range 10_000 {
			v := random.Uint64() >> random.IntN(64)
			if i < 4 {
				v = []uint64{0, 1 << 63, 1 << 31, ^uint64(0)}[i]
			}
			arg := []Arg{{types.Int64, binary.NativeEndian.AppendUint64(nil, v)}}
			got, want := short.Append(nil, arg, nil), long.Append(nil, arg, nil)
			if string(got) != string(want) {
				t.Fatalf("%%%s of %#x is %q, want %q", conv, v, got, want)
			}
		}
	}
}
