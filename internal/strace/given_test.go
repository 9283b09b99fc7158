package strace

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// signature is a function as functions.txt would have it.
func signature(f function) string {
	var words []string
	for _, a := range f.args {
		words = append(words, a.kind+a.param)
	}
	return strings.Join(append(words, "="+f.result), " ")
}

func TestPrototypes(t *testing.T) {
	for text, want := range map[string]string{
		// As in ltrace.conf.
		"int f(string, int, octal);":                 "s d o =d",
		"; a comment\nvoid f(addr);":                 "p =v",
		"int f(string[arg3], +string[arg2], ulong)":  "n2 S lu =d",
		"+int f(int)":                                "error",
		"string f(+string, format)":                  "S F =s",
		"typedef size = ulong\nint f(size);":         "lu =d",
		"int f(hex(int), hex(long), oct(int));":      "x p o =d",
		"int f(enum(A=1,B=2), array(char,4)*, file)": "EA=1, B=2 p p =d",
		"typedef e = enum(A=-1);\nint f(e);":         "EA=-1 =d",
		"void f(struct(int,int), int);":              "=v",
		"void f(hide(int), bool(int), bitvec(uint))": "d d w =v",
		"void f(bitvec(ulong));":                     "B =v",
		"string(retval) f(+string[retval], int)":     "r d =r",
		"double f(float);":                           "D =D",
		"int f();int g()":                            "=d",
		// As in C.
		"int f(const char *path, int flags, ...);":                                       "F =d",
		"int f(int fd, char *buf, size_t n);":                                            "d p lu =d",
		"extern unsigned long long f(void) __attribute__((pure));":                       "=lu",
		"#define X 1 \\\n 2\nint f(unsigned, unsigned char c); // int g":                 "u u =d",
		"/* int\n f */ const char *f(char c, long l);":                                   "c ld =s",
		"void f(int (*compare)(const void *, const void *), int a[3]);":                  "p p =v",
		"typedef unsigned int u4;\nu4 f(u4 x);":                                          "u =u",
		"typedef int (*callback)(int);\nvoid f(callback c);":                             "p =v",
		"struct s { int a; char b[4]; };\nint f(struct s *p, int);":                      "p d =d",
		"struct s f(struct s v, int);":                                                   "=p",
		"enum e f(enum e v);":                                                            "d =d",
		"extern int errno;\nextern \"C\" {\nint f(double x);\n}":                         "D =d",
		"static inline int f(int x) { if (x) { return 1; } return 0; }":                  "d =d",
		"int f(const char *const *argv, const char *const s);":                           "p s =d",
		"FILE *f(unknown_t x, wchar_t *w);":                                              "p p =p",
		"ZEXTERN int ZEXPORT f(char *s, z_size n) Z_ATTR(1) __nonnull((1));\nint g();":   "p p =d",
		"extern int f (const char *__restrict f, ...)\n     __THROW __wur;\nint g(int);": "F =d",
		"__BEGIN_DECLS\nextern long int f(void);":                                        "=ld",
		"ZEXTERN const char * ZEXPORT f OF((const char *s, unsigned long n));":           "s lu =s",
		"BOOL f(int);":               "d =p",
		"int f(int) ;; int f(long);": "ld =d",
	} {
		found, _, err := parsePrototypes(text)
		got := "error"
		if err == nil {
			got = signature(found["f"])
		}
		if got != want {
			t.Errorf("%s\nis %s, want %s (%v)", text, got, want, err)
		}
	}
	for text, want := range map[string]string{
		"int f(int;":                          "1: ',' is expected before ';'",
		"\n\nint f(int":                       "3: ',' is expected at the end",
		"int (f);":                            "1: 'the name of a function' is expected before '('",
		"int f(int) int g(int);":              "1: ';' is expected before 'int'",
		"struct s { int a;":                   "1: '{' is not closed",
		"int f(" + strings.Repeat("hex(", 99): "1: types are nested deeper than 32",
		"int f(5);":                           "1: 'a type' is expected before '5'",
	} {
		if _, _, err := parsePrototypes(text); err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	path := filepath.Join(t.TempDir(), "own.conf")
	os.WriteFile(path, []byte("int f(string);\nint g(int) 5"), 0o600)
	known := map[string]function{}
	warning, err := readPrototypes(path, known)
	if want := path + ":2: ';' is expected before '5'; so many declarations are passed over: 1"; err != nil ||
		len(known) != 2 || warning != want {
		t.Error(warning, err)
	}
	os.WriteFile(path, []byte("int (*f)(string);\n"), 0o600)
	if _, err := readPrototypes(path, known); err == nil || !strings.HasPrefix(err.Error(), path+":1: 'the name of a "+
		"function' is expected before '('\nHINT: ") {
		t.Error(err)
	}
}

func FuzzPrototypes(f *testing.F) {
	f.Add("int f(const char *path, hex(int), +string[arg2], ...);\n; x\n#define y\ntypedef a = int\n/* */ struct s {};")
	f.Fuzz(func(t *testing.T, text string) {
		found, passed, err := parsePrototypes(text)
		for _, fn := range found {
			fn.plan()
		}
		if (err != nil) != (passed > 0) {
			t.Error(passed, err)
		}
	})
}

// TestPlanOfMany: arguments behind the six registers leave what is said of the result alone.
func TestPlanOfMany(t *testing.T) {
	found, _, err := parsePrototypes(`int f(long, long, long, long, long, long, const char *, const char *);`)
	if err != nil {
		t.Fatal(err)
	}
	f := found["f"]
	if plan := f.plan(); len(f.args) != 8 || plan != 0 {
		t.Errorf("%d arguments, plan %#x", len(f.args), plan)
	}
}
