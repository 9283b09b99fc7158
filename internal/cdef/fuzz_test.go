package cdef

import (
	"testing"

	"github.com/hawktrace/hawk/internal/hawktest/bound"
	"github.com/hawktrace/hawk/internal/source"
)

// FuzzRead reads any text to its end without a panic, and asks for all that it
// defines.
func FuzzRead(f *testing.F) {
	for _, seed := range []string{
		"struct s { int a : 3; char b[4]; struct { long c; }; } __attribute__((packed, aligned(8)));",
		"#define f(x, ...) #x x ## 1 __VA_ARGS__\n#if defined f && f(2) == '\\x41'\nenum e { A = sizeof(int), B = " +
			"f(3) };\n#else\n#endif",
		"typedef int (*fn)(void), *p, a[3][2]; typedef struct s *q; union u { q a; fn b; };",
		"#include <stddef.h>\n#pragma pack(push, 1)\nstruct t { max_align_t a; size_t b[__builtin_offsetof(struct " +
			"t2, x)]; };",
		"static inline int f(int x) { return x; } int v = { 1 }; asm(\"nop\"); struct s;",
	} {
		f.Add(seed, "struct z { int q; }")
	}
	f.Fuzz(func(t *testing.T, a, b string) { bound.Run(t, len(a+b), func() { readAll(a, b) }) })
}

// readAll reads two pieces and asks for all that they define.
func readAll(a, b string) {
	file := source.NewFile("f.bt", a+b)
	u, ds := Read([]Piece{
		{a, source.Span{File: file, End: len(a)}}, {b, source.Span{File: file, Start: len(a), End: len(a) + len(b)}},
	}, Options{Kernel: kernel, KernelTypes: true, Arch: "x86_64"})
	for _, d := range ds.List() {
		_ = d.Span.Text()
	}
	for _, tag := range []string{"", "struct", "union", "enum"} {
		for _, n := range u.TypeNames(tag) {
			if typ, ok := u.Type(tag, n); ok {
				_ = describe(typ)
			}
		}
	}
	for _, n := range u.Names() {
		if m, ok := u.Macro(n); ok {
			_ = m.File.Text[m.Start:m.End]
		}
		u.Enumerator(n)
	}
}
