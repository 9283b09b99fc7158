package cdef

import "strings"

// predefinedText has the macros that compilers of Linux predefine and headers ask
// for. __GNUC__ makes // the C library keep __attribute__.
const predefinedText = `
#define __GNUC__ 12
#define __GNUC_MINOR__ 2
#define __STDC__ 1
#define __STDC_VERSION__ 201112L
#define __STDC_HOSTED__ 1
#define __LP64__ 1
#define _LP64 1
#define __linux__ 1
#define __linux 1
#define linux 1
#define __unix__ 1
#define __unix 1
#define __gnu_linux__ 1
#define __ELF__ 1
#define __OPTIMIZE__ 1
#define _GNU_SOURCE 1
#define __CHAR_BIT__ 8
#define __SIZEOF_SHORT__ 2
#define __SIZEOF_INT__ 4
#define __SIZEOF_LONG__ 8
#define __SIZEOF_LONG_LONG__ 8
#define __SIZEOF_POINTER__ 8
#define __SIZEOF_SIZE_T__ 8
#define __SIZEOF_INT128__ 16
#define __SCHAR_MAX__ 127
#define __SHRT_MAX__ 32767
#define __INT_MAX__ 2147483647
#define __LONG_MAX__ 9223372036854775807L
#define __LONG_LONG_MAX__ 9223372036854775807LL
#define __INT8_TYPE__ signed char
#define __INT16_TYPE__ short
#define __INT32_TYPE__ int
#define __INT64_TYPE__ long
#define __UINT8_TYPE__ unsigned char
#define __UINT16_TYPE__ unsigned short
#define __UINT32_TYPE__ unsigned int
#define __UINT64_TYPE__ unsigned long
#define __INTPTR_TYPE__ long
#define __UINTPTR_TYPE__ unsigned long
#define __SIZE_TYPE__ unsigned long
#define __PTRDIFF_TYPE__ long
#define __WCHAR_TYPE__ int
#define __WINT_TYPE__ unsigned int
#define __INTMAX_TYPE__ long
#define __UINTMAX_TYPE__ unsigned long
#define __ORDER_LITTLE_ENDIAN__ 1234
#define __ORDER_BIG_ENDIAN__ 4321
#define __BYTE_ORDER__ 1234
#define __FLOAT_WORD_ORDER__ 1234
#define __packed __attribute__((__packed__))
#define __aligned(x) __attribute__((__aligned__(x)))
`

// Headers that belong to a compiler, not to the system, and are not found
// without one.
var ownHeaders = map[string]string{
	"stddef.h": "typedef unsigned long size_t; typedef long ptrdiff_t; typedef int wchar_t; typedef struct { " +
		"long long a; long double b; } max_align_t;\n#define offsetof(t, m) __builtin_offsetof(t, m)\n",
	"stdarg.h":      "typedef __builtin_va_list va_list; typedef __builtin_va_list __gnuc_va_list;\n",
	"stdbool.h":     "",
	"stdalign.h":    "",
	"stdnoreturn.h": "",
	"float.h":       "",
	"stdatomic.h":   "",
	"iso646.h":      "",
}

// ownLimits is the compiler's part of limits.h, which the C library includes.
const ownLimits = `
#define CHAR_BIT 8
#define SCHAR_MIN (-128)
#define SCHAR_MAX 127
#define UCHAR_MAX 255
#define CHAR_MIN SCHAR_MIN
#define CHAR_MAX SCHAR_MAX
#define SHRT_MIN (-32768)
#define SHRT_MAX 32767
#define USHRT_MAX 65535
#define INT_MIN (-INT_MAX - 1)
#define INT_MAX 2147483647
#define UINT_MAX 4294967295U
#define LONG_MIN (-LONG_MAX - 1L)
#define LONG_MAX 9223372036854775807L
#define ULONG_MAX 18446744073709551615UL
#define LLONG_MIN (-LLONG_MAX - 1LL)
#define LLONG_MAX 9223372036854775807LL
#define ULLONG_MAX 18446744073709551615ULL
`

// predefined are the macros of every script: those of a compiler for the processor, and those that
// say that types of the kernel are there.
func predefined(o *Options) map[string]*macro {
	text := predefinedText
	switch o.Arch {
	case "aarch64":
		text += "#define __aarch64__ 1\n#define __CHAR_UNSIGNED__ 1\n#define __AARCH64EL__ 1\n"
	default:
		text += "#define __x86_64__ 1\n#define __x86_64 1\n#define __amd64__ 1\n"
	}
	if o.KernelTypes {
		text += "#define BPFTRACE_HAVE_BTF 1\n#define HAWK_HAVE_BTF 1\n"
	}
	f := ownFile("<predefined>", text)
	p := &preprocessor{opts: o, macros: make(map[string]*macro, strings.Count(text, "\n"))}
	l := newLexer(f)
	for l.next().is("#") {
		line := l.line()
		p.define(line[1:], l.pos)
	}
	for _, m := range p.macros {
		m.builtin = true
	}
	return p.macros
}
