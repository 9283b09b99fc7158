package syntax

import (
	"testing"

	"github.com/hawktrace/hawk/internal/source"
)

func TestParseInt(t *testing.T) {
	tests := []struct {
		text string
		want uint64
		code source.Code // "" if the literal is good
	}{
		{"0", 0, ""},
		{"00", 0, ""},
		{"017", 15, ""},
		{"020", 16, ""},
		{"007", 7, ""},
		{"0_17", 15, ""},
		{"08", 0, "invalid-integer"},
		{"019", 0, "invalid-integer"},
		{"2_500", 2500, ""},
		{"2__500", 2500, ""},
		{"2_", 0, "invalid-integer"},
		{"2_ms", 0, "invalid-integer"},
		{"0xfF", 255, ""},
		{"0XF_F", 255, ""},
		{"0x", 0, "invalid-integer"},
		{"0x_1", 1, ""},
		{"0x_", 0, "invalid-integer"},
		{"0x1_", 0, "invalid-integer"},
		{"0x10d", 0x10d, ""},
		{"0x10ms", 0, "invalid-suffix"},
		{"0xffUL", 255, ""},
		{"0b101", 5, ""},
		{"0B1_1", 3, ""},
		{"0b", 0, "invalid-integer"},
		{"0b12", 0, "invalid-suffix"},
		{"3e3", 3000, ""},
		{"3E1_0", 3e10, ""},
		{"1e19", 1e19, ""},
		{"2e19", 0, "integer-overflow"},
		{"1e20", 0, "integer-overflow"},
		{"1e99999999999999999999", 0, "integer-overflow"},
		{"34e2", 0, "invalid-exponent"},
		{"12e3", 0, "invalid-exponent"},
		{"0e5", 0, "invalid-exponent"},
		{"1e0", 0, "invalid-exponent"},
		{"1e", 0, "invalid-exponent"},
		{"1e_3", 1000, ""},
		{"1e_0", 0, "invalid-exponent"},
		{"1e_", 0, "invalid-exponent"},
		{"1e3_", 0, "invalid-integer"},
		{"1e3ms", 1e9, ""},
		{"3ns", 3, ""},
		{"3us", 3000, ""},
		{"10ms", 1e7, ""},
		{"2s", 2e9, ""},
		{"2m", 12e10, ""},
		{"2h", 72e11, ""},
		{"1d", 864e11, ""},
		{"1S", 0, "invalid-suffix"},
		{"6days", 0, "invalid-suffix"},
		{"5sec", 0, "invalid-suffix"},
		{"300000d", 0, "integer-overflow"},
		{"4294967295u", 4294967295, ""},
		{"4294967296u", 0, "integer-overflow"},
		{"9223372036854775807l", 9223372036854775807, ""},
		{"9223372036854775808ll", 0, "integer-overflow"},
		{"18446744073709551615ull", 18446744073709551615, ""},
		{"1ULL", 1, ""},
		{"1lu", 1, ""},
		{"18446744073709551615", 18446744073709551615, ""},
		{"18446744073709551616", 0, "integer-overflow"},
		{"99999999999999999999999", 0, "integer-overflow"},
		{"0x10000000000000000", 0, "integer-overflow"},
		{"", 0, "invalid-integer"},
		{"x", 0, "invalid-integer"},
		{"-1", 0, "invalid-integer"},
		{"1 ", 0, "invalid-suffix"},
	}
	for _, tt := range tests {
		got, err := ParseInt(tt.text)
		var code source.Code
		if e, ok := err.(*LiteralError); ok {
			code = e.Code
		}
		if code != tt.code || err == nil && got != tt.want {
			t.Errorf("ParseInt(%q) = %d, %v (code %q), want %d and code %q", tt.text, got, err, code, tt.want, tt.code)
		}
	}
}

func TestParseSigned(t *testing.T) {
	tests := []struct {
		text string
		want uint64
		neg  bool
		ok   bool
	}{
		{"0x10", 16, false, true},
		{"-5", 5, true, true},
		{"-1ms", 1e6, true, true},
		{"-9223372036854775808", 1 << 63, true, true},
		{"-9223372036854775809", 0, true, false},
		{"--5", 0, true, false},
		{"+5", 0, false, false},
		{"-", 0, true, false},
	}
	for _, tt := range tests {
		v, neg, err := ParseSigned(tt.text)
		if (err == nil) != tt.ok || neg != tt.neg || err == nil && v != tt.want {
			t.Errorf("ParseSigned(%q) = %d, %v, %v, want %d, %v, ok %v", tt.text, v, neg, err, tt.want, tt.neg, tt.ok)
		}
	}
}

func TestIsParserBuiltin(t *testing.T) {
	for name, want := range map[string]bool{
		"args": true, "ctx": true, "pid": true, "nsecs": true, "arg0": true, "arg12": true,
		"sarg3": true, "__builtin_x": true,
		"arg": false, "argx": false, "arg1x": false, "sarg": false, "comm": false, "cpu": false,
		"retval": false, "Pid": false,
	} {
		if got := IsParserBuiltin(name); got != want {
			t.Errorf("IsParserBuiltin(%q) = %v", name, got)
		}
	}
}
