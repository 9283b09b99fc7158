package cdef

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hawktrace/hawk/internal/types"
)

// kernel is a little kernel.
func kernel(tag, name string) (types.Type, error) {
	switch tag + " " + name {
	case "struct sock":
		return types.NewStruct(types.StructKind, "sock", 24, 8,
			[]types.Field{{Name: "family", Type: types.Uint16, Offset: 16}}), nil
	case " gfp_t":
		return types.Uint32, nil
	case "enum state":
		return &types.Enum{Name: "state", Bytes: 4, Values: []types.EnumValue{{Name: "UP", Value: 1}}}, nil
	}
	return nil, errors.New("not found")
}

func describe(t types.Type) string {
	s, ok := t.(*types.Struct)
	if !ok {
		return t.String()
	}
	var b strings.Builder
	for _, f := range s.Fields() {
		name := f.Name
		if p, ok := f.Type.(*types.Pointer); ok && p.Space == types.User {
			name += "(user)"
		}
		b.WriteString(" " + name + ":" + f.Type.String())
	}
	return s.String() + b.String()
}

func TestTypes(t *testing.T) {
	for _, c := range []struct{ in, tag, name, want string }{
		{"struct s { int a; char b[8]; unsigned char c[2]; };", "struct", "s",
			"struct s a:int32 b:string[8] c:uint8[2]"},
		{"struct s { u32 a; __u64 b; size_t c; pid_t d; bool e; };", "struct", "s",
			"struct s a:uint32 b:uint64 c:uint64 d:int32 e:bool"},
		{"struct s { struct s *next, **all; void *p; int (*f)(void); };", "struct", "s",
			"struct s next:struct s * all:struct s * * p:void * f:void *"},
		{"struct s { struct unknown *p; struct sock *q; gfp_t g; gfp_t *h; enum state e; };", "struct", "s",
			"struct s p:struct unknown * q:struct sock * g:uint32 h:uint32 * e:enum state"},
		{"struct s { struct sock in; };", "struct", "s", "struct s in:struct sock"},
		{"struct s { char __user *p; const char *restrict q; };", "struct", "s", "struct s p(user):int8 * q:int8 *"},
		{"struct s { char a[2][3]; int b[0]; int c[]; };", "struct", "s",
			"struct s a:string[3][2] b:int32[] c:int32[]"},
		{"struct s { double d; float f; };", "struct", "s", "struct s d:uint8[8] f:uint8[4]"},
		{"struct s { int a; char b[8] };", "struct", "s", "struct s a:int32 b:string[8]"},
		{"struct s {unsigned long x};", "struct", "s", "struct s x:uint64"},
		{"struct s { struct { int b } c; union { int d; long e } };", "struct", "s",
			"struct s c:struct {int32} :union {int32,int64}"},
		{"struct s { int a:3; int b:5 } __attribute__((packed));", "struct", "s", "struct s a:int8 b:int8"},
		{"struct s { int a, *b }", "struct", "s", "struct s a:int32 b:int32 *"},
		{"typedef struct { int (*f)(void) } ops_t;", "", "ops_t", "struct {void *} f:void *"},
		{"union u { int a; long b; };", "union", "u", "union u a:int32 b:int64"},
		{"typedef unsigned long ulong_t;", "", "ulong_t", "uint64"},
		{"typedef struct { int a; } anon_t;", "", "anon_t", "struct {int32} a:int32"},
		{"typedef struct tag { int a; } *ptr_t;", "", "ptr_t", "struct tag *"},
		{"typedef int (*fn_t)(int, char), arr_t[4];", "", "arr_t", "int32[4]"},
		{"typedef int (*fn_t)(int, char), arr_t[4];", "", "fn_t", "void *"},
		{"enum e { A, B = 5, C };", "enum", "e", "enum e"},
		{"#define T unsigned int\nstruct s { T a; T b : 3; };", "struct", "s", "struct s a:uint32 b:uint32"},
		{"static inline int f(struct s *p) { return p->x; }\nextern int v;\nint x = 3, y[] = { 1, 2 };\nstruct s " +
			"{ int a; };", "struct", "s", "struct s a:int32"},
		{"_Static_assert(sizeof(int) == 4, \"no\");\nstruct s { int a; _Static_assert(1, \"\"); int b; };", "struct",
			"s", "struct s a:int32 b:int32"},
		{"__extension__ struct s { __extension__ union { int a; }; struct { int b; } __attribute__((unknown(1, " +
			"(2)))) c; };", "struct", "s",
			"struct s :union {int32} c:struct {int32}"},
		{"struct s { int a __aligned(8); int b; } __packed;", "struct", "s", "struct s a:int32 b:int32"},
		{"struct s { typeof(int) a; __typeof__(char *) b; };", "struct", "s", "struct s a:int32 b:int8 *"},
		{"struct s { int a; }", "struct", "s", "struct s a:int32"},
		{"typedef struct { int a; } t; struct s { t; int b; };", "struct", "s", "struct s b:int32"},
		{"struct o { char c; struct { int k; union { char l; long m; }; }; };\nstruct s { char " +
			"a[__builtin_offsetof(struct o, m) + sizeof(int) * (2)]; };", "struct", "s",
			"struct s a:string[24]"},
		{"struct s { char a[__builtin_offsetof(struct sock, family)]; };", "struct", "s", "struct s a:string[16]"},
	} {
		u, ds := read(t, c.in, Options{Kernel: kernel, KernelTypes: true})
		for _, d := range ds.List() {
			t.Errorf("%s: %s", c.in, d.Msg)
		}
		typ, ok := u.Type(c.tag, c.name)
		if !ok {
			t.Errorf("%s: no type", c.in)
			continue
		}
		if got := describe(typ); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.in, got, c.want)
		}
	}
}

func TestErrors(t *testing.T) {
	for _, c := range []struct{ in, at, msg string }{
		{"struct s { nonsense a; };", "nonsense", "unknown type 'nonsense'"},
		{"struct s { nonsense *a; };", "nonsense", "unknown type 'nonsense'"},
		{"struct s { struct missing a; };", "a", "member a has the incomplete type struct missing"},
		{"struct s { struct s a; };", "a", "incomplete"},
		{"struct s { int a[-1]; };", "[", "length"},
		{"struct s { int a[N]; };", "N", "not a constant"},
		{"struct s { int a[1000000][1000000]; };", "", "too large"},
		{"struct s { int a : 33; };", ":", "width"},
		{"struct s { char *a : 3; };", ":", "integer type"},
		{"struct s { int a int b; };", "int", "expected ';'"},
		{"struct s { int a; };\nstruct s { int b; };", "s", "defined twice"},
		{"enum e { A };\nenum f { A };", "A", "defined twice"},
		{"struct s { void a; };", "a", "void"},
		{"struct s { int f(void); };", "", "function"},
		{"struct s { long short a; };", "long", "do not make a type"},
		{"struct s { int a __attribute__((aligned(3))); };", "", "power of two"},
		{"typedef " + strings.Repeat("(*", 5000) + "x;", "", ""},
		{"struct s { " + strings.Repeat("struct { ", 5000) + "};", "", "nested too deeply"},
		{"struct s { int " + strings.Repeat("*", 5000) + "a; };", "", "pointers"},
		{"#if 1\nstruct s { int a; };", "if", "without #endif"},
	} {
		_, ds := read(t, c.in, Options{Kernel: kernel, KernelTypes: true})
		list := ds.List()
		if len(list) == 0 {
			t.Errorf("%.60s: no error", c.in)
			continue
		}
		d := list[0]
		if !strings.Contains(d.Msg, c.msg) || c.at != "" && d.Span.Text() != c.at {
			t.Errorf("%.60s: %q at %q, want %q at %q", c.in, d.Msg, d.Span.Text(), c.msg, c.at)
		}
	}
}

// TestOverride has the definitions of the script replace those of a header.
func TestOverride(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "h.h"), []byte("struct s { int a; }; enum e { A = 1 };"),
		0o644); err != nil {
		t.Fatal(err)
	}
	u, ds := read(t, "#include <h.h>\nstruct s { long b; };\nenum e { A = 2 };", Options{Dirs: []string{dir}})
	if ds.Len() > 0 {
		t.Error(ds.List()[0].Msg)
	}
	if typ, ok := u.Type("struct", "s"); !ok || describe(typ) != "struct s b:int64" {
		t.Errorf("struct s is %v", typ)
	}
	if _, v, _ := u.Enumerator("A"); v != 2 {
		t.Errorf("A is %d", v)
	}
}

func TestEnumerators(t *testing.T) {
	u, ds := read(t, "enum e { A = 3, B, C = A * 10 | 1, D = -1, E = sizeof(long), F = 'x', G = AF_INET6 };", Options{})
	if ds.Len() > 0 {
		t.Fatal(ds.List()[0].Msg)
	}
	for name, want := range map[string]int64{"A": 3, "B": 4, "C": 31, "D": -1, "E": 8, "F": 'x', "G": 10} {
		e, v, ok := u.Enumerator(name)
		if !ok || v != want || e.NameOf(v) != name {
			t.Errorf("%s = %d %v, want %d", name, v, ok, want)
		}
	}
	if e, _, _ := u.Enumerator("A"); !e.Signed || e.Bytes != 4 {
		t.Errorf("%d bytes, signed %v", e.Bytes, e.Signed)
	}
}

func TestMacro(t *testing.T) {
	u, _ := read(t, "#define N M + 1 // one more\n#define M (1 << 3)\n#define F(x) ((x) + 1)\n#define G F(2) * "+
		"M\n#define LONG 1 + \\\n 2\n#define SAME SAME\n#define GONE 1\n#undef GONE\n#define EMPTY\n", Options{})
	for name, want := range map[string]string{"N": "M + 1", "M": "(1 << 3)",
		"G": "((2) + 1) * (1 << 3)", "LONG": "1 + 2", "EMPTY": ""} {
		m, ok := u.Macro(name)
		if got := ""; !ok || m.File.Text[m.Start:m.End] != want {
			if ok {
				got = m.File.Text[m.Start:m.End]
			}
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	for _, name := range []string{"F", "SAME", "GONE", "__packed", "__GNUC__"} {
		if _, ok := u.Macro(name); ok {
			t.Errorf("%s is a macro", name)
		}
	}
	if !u.FunctionMacro("F") || u.FunctionMacro("N") {
		t.Error("function-like macros are mistaken")
	}
}

func TestConstants(t *testing.T) {
	lines := strings.Split(strings.TrimSpace(constants()), "\n")
	if !slices.IsSorted(lines) {
		t.Error("the table is not sorted")
	}
	for _, l := range lines {
		name, _, _ := strings.Cut(l, " ")
		name, arch, _ := strings.Cut(name, "@")
		if _, ok := Constant(name, arch); !ok {
			t.Errorf("%s has no value", l)
		}
	}
	for _, c := range []struct {
		name, arch string
		want       int64
	}{
		{"AF_INET", "", 2}, {"EACCES", "", 13}, {"O_CREAT", "", 0o100},
		{"O_DIRECTORY", "x86_64", 0o200000}, {"O_DIRECTORY", "aarch64", 0o40000},
		{"NSEC_PER_SEC", "", 1e9}, {"AT_FDCWD", "", -100}, {"S_IFMT", "", 0o170000},
		{"__TASK_TRACED", "", 8}, {"E2BIG", "", 7}, {"XFS_SUPER_MAGIC", "", 0x58465342},
	} {
		if got, ok := Constant(c.name, c.arch); !ok || int64(got) != c.want {
			t.Errorf("%s on %q is %d %v, want %d", c.name, c.arch, int64(got), ok, c.want)
		}
	}
	// Constants of several headers that begin alike.
	for header, want := range map[string]string{"sys/mount.h": "MS_RDONLY", "sys/mman.h": "MS_ASYNC"} {
		for _, c := range Constants("MS_", header, "") {
			if c.Value == 1 && c.Name != want {
				t.Errorf("1 is %s in %s, want %s", c.Name, header, want)
			}
		}
	}
	for _, name := range []string{"", "AF_", "O_DIRECTORY", "O_DIRECTORY@x86_64", "INET 2"} {
		if v, ok := Constant(name, ""); ok {
			t.Errorf("%q is %d", name, v)
		}
	}
}

// TestConstantText finds each line of the table, which is in order, and what stands between two lines nowhere.
func TestConstantText(t *testing.T) {
	last := ""
	for line := range strings.Lines(constants()) {
		if line <= last {
			t.Errorf("%q comes behind %q", line, last)
		}
		last = line
		name, want, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if got, ok := constantText(name); !ok || got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
		if got, ok := constantText(name + "0_"); ok {
			t.Errorf("%s0_ is %q", name, got)
		}
	}
	for _, name := range []string{"", "A", "ZZ", "~"} {
		if got, ok := constantText(name); ok {
			t.Errorf("%q is %q", name, got)
		}
	}
}
