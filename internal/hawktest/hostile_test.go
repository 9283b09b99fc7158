package hawktest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// begin makes a script of one body.
func begin(format string, args ...any) string {
	return "begin { " + fmt.Sprintf(format, args...) + " }\n"
}

// times repeats a text.
func times(n int, text string) string { return strings.Repeat(text, n) }

// each makes a text for each number below n.
func each(n int, format string) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.ReplaceAll(strings.ReplaceAll(format, "<n>", fmt.Sprint(i)), "<n+1>", fmt.Sprint(i+1)))
	}
	return b.String()
}

// hostile are scripts that nobody writes but to see what happens, by what is odd about them.
var hostile = map[string]string{
	"parentheses":        begin("$x = %s1%s;", times(5000, "("), times(5000, ")")),
	"blocks":             "begin " + times(5000, "{") + times(5000, "}"),
	"conditions":         begin("%s%s", times(3000, "if (1) { "), times(3000, "}")),
	"loops":              begin("%s@ = 1;%s", each(60, "for $i<n> : 0..2 { "), times(60, "}")),
	"minus":              begin("$x = %s1;", times(20000, "-")),
	"casts":              begin("$x = %s1;", times(5000, "(uint64)")),
	"indices":            begin("$x = 1; print($x%s);", times(5000, "[0]")),
	"members":            begin("print(curtask%s.pid);", times(200, ".real_parent")),
	"choices":            begin("$x = %s1%s;", times(3000, "1 ? "), times(3000, " : 2")),
	"calls":              begin("print(%s1%s);", times(3000, "str("), times(3000, ")")),
	"tuples":             begin("$x = %s1%s; print($x);", times(50, "("), times(50, ",1)")),
	"doubling tuples":    begin("$a0 = (1,1); %s print($a30);", each(30, "$a<n+1> = ($a<n>,$a<n>); ")),
	"records":            begin("$x = %s1%s; print($x);", times(50, "(a="), times(50, ",b=1)")),
	"sum":                begin("$y = pid; $x = $y%s; print($x);", times(5000, " + $y")),
	"else if":            begin("if (pid == 1) {} %s", times(5000, "else if (pid == 2) {} ")),
	"integer":            begin("print(%s);", times(100000, "9")),
	"exponent":           begin("print(1e999999999); print(1e20); print(99999999999999999h);"),
	"string":             begin("print(\"%s\");", times(4<<20, "x")),
	"format":             begin("printf(\"%s\"%s);", times(10000, "%d "), times(10000, ",1")),
	"name":               begin("$%s = 1;", times(1<<20, "x")),
	"map's name":         begin("@%s = 1;", times(100000, "x")),
	"open comment":       begin("") + "/* x",
	"open string":        "begin { print(\"x",
	"open block":         "begin { print(1);",
	"open condition":     "begin / 1 ",
	"open struct":        "struct a { int b",
	"open macro":         "macro m(x) { x",
	"open function":      "fn f($x : int64): int64 { return",
	"open escape":        "begin { print(\"\\",
	"open import":        "import \"",
	"open #ifdef":        "#ifdef X\nbegin {}",
	"letters":            begin("$ünï = 1; print($ünï);"),
	"signs":              begin("print(\"日本語 🦅 \u202e\"); pri\u200bnt(1); print（1）;"),
	"mark of order":      "\ufeff" + begin("exit();"),
	"no text":            "begin { print(\"\xff\xfe\xc0\x80\"); \xff }",
	"carriage returns":   "begin {\r print(1);\r }\r",
	"probes":             each(3000, "interval:ms:<n+1> { @ = count(); }\n"),
	"begins":             times(3000, "begin { @ = count(); }\n"),
	"attach points":      times(5000, "interval:s:1,") + "interval:s:2 { @ = count(); }",
	"stars":              "kprobe:" + times(500, "*a") + " { } tracepoint:*" + times(30, "*") + " { }",
	"all":                "*:*:* { }",
	"braces":             "tracepoint:" + times(20, "{a,b}") + ":x { }",
	"macro itself":       "macro m(x) { m(x) }" + begin("print(m(1));"),
	"macros in a circle": "macro m(x) { n(x) } macro n(x) { m(x) }" + begin("print(m(1));"),
	"doubling macros": each(40, "macro m<n+1>(x) { m<n>(x) + m<n>(x) }\n") + "macro m0(x) { x }" +
		begin("print(m40(1));"),
	"doubling arguments": each(40, "macro m<n+1>(x) { m<n>(x+x) }\n") + "macro m0(x) { x }" + begin("print(m40(pid));"),
	"doubling #define":   "#define A0 1+1\n" + each(40, "#define A<n+1> (A<n>+A<n>)\n") + begin("print(A40);"),
	"#define circle":     "#define X Y\n#define Y X\n" + begin("print(X);"),
	"function itself":    "fn f($x : int64) : int64 { return f($x - 1); }" + begin("print(f(1));"),
	"doubling functions": each(40, "fn f<n+1>($x : int64) : int64 { return f<n>($x) + f<n>($x); }\n") +
		"fn f0($x : int64) : int64 { return $x; }" + begin("print(f40(1));"),
	"import itself":  "import \"./import_itself.bt\";\n" + begin("exit();"),
	"import device":  "import \"/dev/zero\";" + begin(""),
	"include itself": "#include \"include_itself.bt\"\n" + begin("exit();"),
	"include device": "#include \"/dev/zero\"\n" + begin("exit();"),
	"struct itself":  "struct a { struct b x; }; struct b { struct a x; };" + begin("print(sizeof(struct a));"),
	"growing structs": "struct s0 { char x[4096]; };" +
		each(30, "struct s<n+1> { struct s<n> x[1000]; };") + begin("exit();"),
	"struct of 4 KB": "struct s { char x[4096]; };" + begin("@a[1] = *(struct s *)kptr(1); print(@a[1]);"),
	"struct of 1 GB": "struct s { char x[1073741824]; };" + begin("@a[1] = *(struct s *)kptr(1); print(@a[1]);"),
	"odd bits":       "struct s { int a:99; int b:0; int :3; char x[-1]; };" + begin("print(sizeof(struct s));"),
	"20,000 members": "struct s {" + each(20000, "int f<n>;") + "};" + begin("print(((struct s *)kptr(1))->f19999);"),
	"stars of types": begin("$x = (int%s)1; print($x);", times(2000, " *")),
	"dimensions":     "struct s { int x" + times(200, "[2]") + "; };" + begin("print(sizeof(struct s));"),
	"division":       begin("print(1/0); print(1%%0); $x = (-9223372036854775807-1)/-1; print($x); @x = 1/(2-2);"),
	"shifts":         begin("print(1<<-1); print(1<<64); print(1>>1000);"),
	"negative counts": begin("print(strncmp(\"a\",\"b\",-1)); print(buf(kptr(1), -5)); print(kstack(-1));") +
		begin("unroll(-1) { }"),
	"intervals":       "interval:s:-1 { } interval:s:0 { } interval:h:18446744073709551615 { } profile:hz:-1 { }",
	"histograms":      begin("@ = hist(1, 99); @c = lhist(1, 0, 10, 0); @d = lhist(1, 0, 9223372036854775807, 1);"),
	"series":          begin("@ = tseries(1, 1ns, 99999999999); @b = tseries(1, 0, 0); @c = tseries(1, -1, -1);"),
	"unroll":          begin("%s@ = count();%s", times(6, "unroll(50) { "), times(6, "}")),
	"ranges":          begin("for $i : 10..-10 { } for $i : 0..9223372036854775807 { @ = $i; }"),
	"for ever":        begin("while (1) { while (1) { @ = 1; } }"),
	"100 keys":        begin("@x[0%s] = 1; @y[0%s] = 1;", times(99, ", 1"), times(99, ", str(kptr(1))")),
	"5,000 maps":      begin("%s", each(5000, "@m<n> = count();")),
	"500 keyed maps":  begin("%s", each(500, "@m<n>[1] = count();")),
	"variables":       begin("%s print(0%s);", each(600, "$m<n> = rand;"), each(600, "+ $m<n>")),
	"strings":         begin("%s print($m0);", each(300, "$m<n> = str(kptr(<n>));")),
	"prints":          begin("%s", times(2000, "printf(\"%d %s\\n\", pid, comm);")),
	"verbs":           begin("printf(\"%s\", 1, 2, 3);", "%q %n %v %* %.*s %-+ #0999999999d %lllld %"),
	"widths":          begin("printf(\"%s\", 1, \"a\");", "%999999999d %.999999999s %99999999999999999999d"),
	"escapes":         begin("printf(\"%s\");", `\x \xz \8 \777 \u \400`),
	"time":            begin("print(strftime(\"%s%s\", nsecs));", "%", times(999, "%Q%E%O%10Y%^a")),
	"lengths":         begin("print(str(kptr(1), 99999999999)); print(buf(kptr(1), 1000000000));"),
	"strings of 1 GB": "config = { max_strlen = 1000000000 }" + begin("print(str(kptr(1)));"),
	"largest setting": "config = { max_strlen = 2147483647; perf_rb_pages = 2147483647 }" +
		begin("@a[1] = str(kptr(1));"),
	"largest array": begin("let $x: uint8[1000000000]; print($x); $a = (uint8[99999999])12345; print($a[100]);"),
	"bad places":    begin("print(*(int64 *)0); $a = (int64 *)1; print($a[9223372036854775807]);"),
	"parameters":    begin("print($99999999999999999999); print($0); print($1000000);"),
	"only marks":    "@@@@@@ $$$$$$ }}}}}} ;;;;;; ::::::",
	"slashes":       times(10000, "\\") + times(10000, "/"),
	"commas":        times(10000, ",") + " { }",
	"quotes":        times(10001, "\""),
	"map of itself": begin("@a = @a; @b[@b] = @b; @c[@d] = @d[@c]; @e = (1, @e); @f[@f[@f[1]]] = 1;"),
	"growing":       begin("$a = (1, 2); while (1) { $a = ($a, 1); }"),
	"wide tuple":    begin("print((1%s)); print((1%s));", times(20000, ",1"), times(1000, ",str(kptr(1))")),
	"watched":       "watchpoint:0xfffffffffffffffffffff:8:rw { } usdt:::: { } uprobe:/dev/zero:x { }",
	"typedefs":      "typedef int a0;" + each(3000, "typedef a<n> a<n+1>;") + begin("$x = (a3000)1;"),
}

// placed is an error with its place. The limit of all probes together has none.
var placed = regexp.MustCompile(`(?m)^\S+\.bt:\d+:\d+(-\d+)?: ERROR: |^ERROR: Can't attach to \d+ probes`)

// TestHostileScripts loads scripts that are odd. Each ends soon and in order, within memory, and what is wrong with it
// is said with its place.
func TestHostileScripts(t *testing.T) {
	if missing, err := Have("root"); err != nil || missing != nil {
		t.Skipf("needs root: %v", errors.Join(missing, err))
	}
	hawk, err := hawkOnce()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, text := range hostile {
		t.Run(name, func(t *testing.T) {
			file := strings.NewReplacer(" ", "_", "'", "").Replace(name) + ".bt"
			if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
			// Where all is well none takes more than two seconds.
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			cmd := exec.CommandContext(ctx, hawk, "-q", "--dry-run", file)
			var errs bytes.Buffer
			cmd.Dir, cmd.Stderr = dir, &errs
			err := cmd.Run()
			const most = 1 << 20 // KB
			if usage := cmd.ProcessState.SysUsage().(*syscall.Rusage); usage.Maxrss > most {
				t.Errorf("%d KB of memory", usage.Maxrss)
			}
			said := errs.String()[:min(errs.Len(), 2000)]
			switch code := cmd.ProcessState.ExitCode(); {
			case code != 0 && code != 1 && code != 255:
				t.Errorf("%v: %s", err, said)
			case code != 0 && !placed.MatchString(errs.String()):
				t.Errorf("no error with its place: %s", said)
			case strings.Contains(errs.String(), "goroutine ") || strings.Contains(errs.String(), "BUG"):
				t.Errorf("hawk is at fault: %s", said)
			case strings.Count(errs.String(), "ERROR") > 100:
				t.Errorf("%d errors", strings.Count(errs.String(), "ERROR"))
			}
		})
	}
}
