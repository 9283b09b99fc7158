package arch

import (
	"fmt"
	"strings"
	"testing"
)

// TestPlaces: an argument is a letter, i for an integer, q for one of 16 bytes,
// s and t for structs of one and two words, w for one of two words aligned to
// 16 bytes, l for a large one.
func TestPlaces(t *testing.T) {
	kinds := map[rune]Arg{
		'i': {4, 4, false}, 'q': {16, 16, false}, 's': {8, 8, true}, 't': {12, 8, true},
		'w': {16, 16, true}, 'l': {24, 8, true},
	}
	for _, tt := range []struct {
		arch *Arch
		args string
		want string // registers, or +offset on the stack; * for the address of a copy
	}{
		{AMD64, "iiiiii", "0 1 2 3 4 5"},
		{AMD64, "iiiiiiii", "0 1 2 3 4 5 +0 +8"},
		{AMD64, "itii", "0 1 3 4"},
		{AMD64, "iiiiiti", "0 1 2 3 4 +0 5"}, // what does not fit leaves the registers to others
		{AMD64, "ilii", "0 +0 1 2"},
		{AMD64, "iiiiiisw", "0 1 2 3 4 5 +0 +16"},
		{AMD64, "lw", "+0 0"},
		{ARM64, "iiiiiiiiii", "0 1 2 3 4 5 6 7 +0 +8"},
		{ARM64, "itii", "0 1 3 4"},
		{ARM64, "iiiiiiiti", "0 1 2 3 4 5 6 +0 +16"}, // and here it does not
		{ARM64, "ili", "0 1* 2"},
		{ARM64, "iw", "0 2"}, // an even register
		{ARM64, "iqi", "0 2 4"},
		{ARM64, "iiiiiiiil", "0 1 2 3 4 5 6 7 +0*"},
	} {
		var args []Arg
		for _, c := range tt.args {
			args = append(args, kinds[c])
		}
		places, indirect := tt.arch.Places(args)
		var got []string
		for i, p := range places {
			text := fmt.Sprint(p.Reg)
			if p.Reg < 0 {
				text = fmt.Sprintf("+%d", p.Stack)
			}
			if indirect[i] {
				text += "*"
			}
			got = append(got, text)
		}
		if text := strings.Join(got, " "); text != tt.want {
			t.Errorf("%s %s: %s, want %s", tt.arch.Name, tt.args, text, tt.want)
		}
	}
}
