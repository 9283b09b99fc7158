package codegen_test

import (
	"strings"
	"testing"

	"github.com/hawktrace/hawk/internal/codegen"
	"github.com/hawktrace/hawk/internal/ir"
	"github.com/hawktrace/hawk/internal/opt"
)

// Relocations are part of loads and additions where they can be, else constants of their own.
func TestRelocate(t *testing.T) {
	const text = `
prog "relocs"

func "main" params 1 {
b0:
	v0 = param.ptr 0
	v1 = reloc 0
	v2 = add.ptr v0, v1
	v3 = load.u32 v2+4
	v4 = call 14()
	v5 = reloc 1
	v6 = add v4, v5
	v7 = add v6, v3
	v8 = reloc 2
	v9 = xor v7, v8
	ret v9
}
`
	p, err := ir.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := opt.Run(p, opt.Options{Verify: true}); err != nil {
		t.Fatal(err)
	}
	generate := func() *codegen.Code {
		code, err := codegen.Generate(p, codegen.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return code
	}
	code := generate()
	if len(code.Relocs) != 3 {
		t.Fatalf("relocations %v", code.Relocs)
	}
	code, err = code.Relocate([]int64{1000, 2000, 0x123456789a})
	if err != nil {
		t.Fatal(err)
	}
	var dump strings.Builder
	if err := code.Dump(&dump); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"+1004)", "+= 2000", "0x123456789a"} {
		if !strings.Contains(dump.String(), want) {
			t.Errorf("there is no %q in\n%s", want, &dump)
		}
	}
	for _, values := range [][]int64{{1 << 15, 0, 0}, {0, 1 << 31, 0}, {0, 0}, nil} {
		if _, err := generate().Relocate(values); err == nil {
			t.Errorf("%d are accepted", values)
		}
	}
	bad := generate()
	bad.Relocs = append(bad.Relocs, codegen.Reloc{Insn: len(bad.Insns) - 1, Number: 0}, codegen.Reloc{Insn: 99})
	if _, err := bad.Relocate(make([]int64, 3)); err == nil {
		t.Error("an instruction without a number is relocated")
	}
}
