package user

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hawktrace/hawk/internal/arch"
	"github.com/hawktrace/hawk/internal/dwarf"
	"github.com/hawktrace/hawk/internal/probe"
)

// shape reads a type in the words of this test: "i4", "f8", "{i8 f4}", with a
// leading * for one passed by its address and "[3]i8" for an array.
func shape(text string) dwarf.Shape {
	var s dwarf.Shape
	text, s.ByAddress = strings.CutPrefix(text, "*")
	inner, composite := strings.CutPrefix(text, "{")
	s.Composite = composite
	for _, word := range strings.Fields(strings.TrimSuffix(inner, "}")) {
		n := 1
		if word[0] == '[' {
			fmt.Sscanf(word, "[%d]", &n)
			_, word, _ = strings.Cut(word, "]")
			s.Composite, s.Several = true, n > 1
		}
		var bytes int
		fmt.Sscanf(word[1:], "%d", &bytes)
		for range n {
			s.Bytes = (s.Bytes + bytes - 1) / bytes * bytes
			s.Leaves = append(s.Leaves, dwarf.Leaf{Offset: s.Bytes, Bytes: bytes, Float: word[0] == 'f'})
			s.Bytes += bytes
			s.Align = max(s.Align, bytes)
		}
	}
	if s.Align > 0 {
		s.Bytes = (s.Bytes + s.Align - 1) / s.Align * s.Align
	}
	if len(s.Leaves) > 32 {
		s.Leaves = nil
	}
	return s
}

// TestPlacer checks conventions against what the compilers do: rN is in N and
// the following registers, sN on the stack, &rN behind an address, f in
// floating-point registers, - nowhere.
func TestPlacer(t *testing.T) {
	for _, c := range []struct {
		arch   *arch.Arch
		abi    arch.ABI
		result string
		args   string // separated by commas
		want   string
	}{
		{arch.AMD64, arch.ABIC, "", "i4, i8, i1, i2, i8, i8, i8, i4", "r0 r1 r2 r3 r4 r5 s8 s16"},
		{arch.AMD64, arch.ABIC, "", "f8, i4, f4, f16, i8", "f r0 f s8 r1"},
		{arch.AMD64, arch.ABIC, "", "{i4 i4}, {i8 i8}, {i8 i8 i8}, {i4}", "r0 r1+2 s8 r3"},
		{arch.AMD64, arch.ABIC, "", "{i8 f8}, {f8 f8}, {f4 i4}, i8", "f f r1 r2"},
		{arch.AMD64, arch.ABIC, "", "i8, i8, i8, i8, i8, {i8 i8}, i8", "r0 r1 r2 r3 r4 s8 r5"},
		{arch.AMD64, arch.ABIC, "{i8 i8 i8}", "i4, *{i8}", "r1 &r2"},
		{arch.AMD64, arch.ABIC, "*{i8}", "i4", "r1"},
		{arch.AMD64, arch.ABIC, "{i8 i8}", "{}, i4, {[40]i1}, i8", "- r0 s8 r1"},
		{arch.AMD64, arch.ABIC, "", "f8, f8, f8, f8, f8, f8, f8, f8, f8, {f8}", "f f f f f f f f s8 s16"},
		{arch.ARM64, arch.ABIC, "{i8 i8 i8}", "i4, {i8 i8 i8}, {i8 i4}, {f4 f4}, i8", "r0 &r1 r2+2 f r4"},
		{arch.ARM64, arch.ABIC, "", "i8, i8, i8, i8, i8, i8, i8, {i8 i8}, i4", "r0 r1 r2 r3 r4 r5 r6 s0 s16"},
		{arch.AMD64, arch.ABIGo, "{i8 i8 i8}", "i8, {i8 i8}, {i8 i8 i8}, i1, f8, i8", "r0 r1+2 r3+3 r6 f r7"},
		{arch.AMD64, arch.ABIGo, "", "[3]i8, i2, {i4 i8 i8 i1}, {[2]i4}", "s8 r0 r1+4 s32"},
		{arch.AMD64, arch.ABIGo, "", "{i8 i8 i8 i8 i8}, {i8 i8 i8 i8 i8}, {i8 i8 i8 i8}", "r0+5 s8 r5+4"},
		{arch.ARM64, arch.ABIGo, "", "i8, [2]i8", "r0 s8"},
		{arch.AMD64, arch.ABIGoStack, "", "i8, i1, {i8 i8}, i4, f8, i2", "s8 s16 s24 s40 s48 s56"},
		{arch.ARM64, arch.ABIGoStack, "", "i4, i4, i8", "s8 s12 s16"},
	} {
		a := placer{abi: c.abi, arch: c.arch}
		a.result(shape(c.result))
		var got []string
		for _, arg := range strings.Split(c.args, ", ") {
			at := a.place(shape(arg))
			text := "-"
			switch {
			case at.In == probe.InRegs && len(at.Regs) > 1:
				text = fmt.Sprintf("r%d+%d", at.Reg, len(at.Regs))
			case at.In == probe.InRegs:
				text = fmt.Sprintf("r%d", at.Reg)
			case at.In == probe.InStack:
				text = fmt.Sprintf("s%d", at.Stack)
			case at.In == probe.InAddress && len(at.Regs) > 0:
				text = fmt.Sprintf("&r%d", at.Reg)
			case at.In == probe.InAddress:
				text = fmt.Sprintf("&s%d", at.Stack)
			case at.In == probe.InFloats:
				text = "f"
			}
			if at.In == probe.InRegs && at.Regs[0] != c.abi.Regs(c.arch)[at.Reg] {
				t.Errorf("register %d is at %d", at.Reg, at.Regs[0])
			}
			got = append(got, text)
		}
		if text := strings.Join(got, " "); text != c.want {
			t.Errorf("%s %d: %s (%s)\n got %s\nwant %s", c.arch.Name, c.abi, c.args, c.result, text, c.want)
		}
	}
}

// TestRust checks how Rust passes structs among its own functions.
func TestRust(t *testing.T) {
	for args, want := range map[string]string{
		"{i8 i8}, {i4 i4}, {i8}":                "r0+2 r2+2 r4",
		"{i8 i8 i8}, {i2 i2 i2}, {[3]i1}, i8":   "&r0 r1 r2 r3",
		"i8, i8, i8, i8, i8, {i8 i8}, i8":       "r0 r1 r2 r3 r4 split s16",
		"{f8 i8}, i8, {}, {i8 i8 i8 i8}":        "f r1 - &r2",
		"i8, i8, i8, i8, i8, i8, {i8 i8}, {i4}": "r0 r1 r2 r3 r4 r5 s8 s24",
	} {
		a := placer{abi: arch.ABIC, rust: true, arch: arch.AMD64}
		var got []string
		for _, arg := range strings.Split(args, ", ") {
			switch at := a.place(shape(arg)); {
			case at.In == probe.InRegs && len(at.Regs) > 1:
				got = append(got, fmt.Sprintf("r%d+%d", at.Reg, len(at.Regs)))
			case at.In == probe.InRegs:
				got = append(got, fmt.Sprintf("r%d", at.Reg))
			case at.In == probe.InStack:
				got = append(got, fmt.Sprintf("s%d", at.Stack))
			case at.In == probe.InAddress:
				got = append(got, fmt.Sprintf("&r%d", at.Reg))
			case at.In == probe.InFloats:
				got = append(got, "f")
			case at.In == probe.InSplit:
				got = append(got, "split")
			default:
				got = append(got, "-")
			}
		}
		if text := strings.Join(got, " "); text != want {
			t.Errorf("%s\n got %s\nwant %s", args, text, want)
		}
	}
}

// TestGoResults checks where the results of Go functions are, and that what
// generic functions get besides takes a register.
func TestGoResults(t *testing.T) {
	for _, c := range []struct {
		abi                   arch.ABI
		params, results, want string
		dictionary            int
	}{
		{arch.ABIGo, "i8, {i8 i8}", "i8, {i8 i8}, i1", "r0 r1 | r0 r1 r3", -1},
		{arch.ABIGo, "i8, i8", "i8", "r1 r2 | r0", 0},
		{arch.ABIGo, "i8, i8", "{i8 i8}", "r0 r2 | r0", 1},
		{arch.ABIGo, "[3]i8, i8", "[2]i8, i8", "s8 r0 | s32 r0", -1},
		{arch.ABIGoStack, "i8, i1", "i8, {i8 i8}", "s8 s16 | s24 s32", -1},
	} {
		list := func(text string) (out []dwarf.Param) {
			for _, part := range strings.Split(text, ", ") {
				out = append(out, dwarf.Param{Shape: shape(part)})
			}
			return out
		}
		fn := &dwarf.Func{Params: list(c.params), Results: list(c.results), Dictionary: c.dictionary}
		a := placer{abi: c.abi, arch: arch.AMD64}
		text := func(places []probe.PlacedArg) (out []string) {
			for _, at := range places {
				if at.In == probe.InRegs {
					out = append(out, fmt.Sprintf("r%d", at.Reg))
				} else {
					out = append(out, fmt.Sprintf("s%d", at.Stack))
				}
			}
			return out
		}
		params := text(a.params(fn))
		if got := strings.Join(append(append(params, "|"), text(a.results(fn))...), " "); got != c.want {
			t.Errorf("%d: (%s) (%s)\n got %s\nwant %s", c.abi, c.params, c.results, got, c.want)
		}
	}
}
