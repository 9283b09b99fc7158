package notation

import (
	"strings"
	"testing"

	"github.com/hawktrace/hawk/internal/source"
	"github.com/hawktrace/hawk/internal/syntax"
)

func point(text string) string { return "kprobe:" + text }

func operands(texts ...string) map[string][]string { return map[string][]string{"": texts} }

// TestTrace translates probes: what the condition and the row of each are.
func TestTrace(t *testing.T) {
	for _, test := range []struct{ probe, condition, row string }{
		{`f`, `wanted()`, `FUNC:<16", nsecs, nsecs, pid, tid, comm, cpu, "f"`},
		{`f (arg1 == 42 && $uid != 0)`, `wanted() && (arg0 == 42 && uid != 0)`, ``},
		{`f "%d of %s", arg3, arg1`, ``, ` - | %d of %s", nsecs, nsecs, pid, tid, comm, cpu, "f", arg2, str(arg0, `},
		{`f(int a, const char *s) (a > 1) "%s", s`, `wanted() && (((int)arg0) > 1)`, `str(((char *)arg1), `},
		{`f(struct file *f, size_t n) "%d %s", n, f->f_path.dentry->d_name.name`, ``,
			`arg1, str(((struct file *)arg0)->f_path.dentry->d_name.name, `},
		{`f (STRCMP("a (b", arg2@user))`,
			`(str(uptr(arg1), comptime getopt("string-size", 200)) == "a (b")`, ``},
		{`f (STRCMP(arg2, "x"))`, `(str(arg1, comptime getopt("string-size", 200)) == "x")`, ``},
		{`f "100%% %K %U", arg1, arg2`, ``,
			`100%% %s %s", nsecs, nsecs, pid, tid, comm, cpu, "f", ksym(arg0), usym(arg1)`},
		{`f+0x10 "a\"b"`, ``, ` - | a\"b", nsecs, nsecs, pid, tid, comm, cpu, "f"`},
		{`f "%s", args->path`, ``, `str(args.path, `}, {`f "%d", x.arg1`, ``, `x.arg1`},
		{`f* (a ? b : c)`, `wanted() && (a ? b : c)`, `probe_name`},
		{"f\n(arg1)\n\"%d\", max(arg1, arg2)", ``, `max(arg0, arg1)`},
	} {
		script, err := trace(operands(test.probe), point, nil)
		if err != nil || !strings.Contains(script, test.condition) || !strings.Contains(script, test.row) {
			t.Errorf("%s: %v, want %s and %s in\n%s", test.probe, err, test.condition, test.row, script)
		}
	}
	script, err := trace(operands(`r "%d %d", $entry(arg1), retval`), func(string) string { return "kretprobe:f" }, nil)
	for _, part := range []string{
		"\nkprobe:f\n/wanted()/\n{\n  @entry0_0[tid, (uint64)@depth0[tid]] = arg0;\n  @depth0[tid]++;\n}\n",
		"\nkretprobe:f\n/@depth0[tid] > 0 && others(@self) && wanted()/\n",
		"@entry0_0[tid, (uint64)@depth0[tid] - 1], retval",
		"\nkretprobe:f\n/@depth0[tid] > 0/\n{\n" +
			"  @depth0[tid]--;\n  delete(@entry0_0, (tid, (uint64)@depth0[tid]));\n}\n",
	} {
		if err != nil || !strings.Contains(script, part) {
			t.Errorf("%v, want\n%s in\n%s", err, part, script)
		}
	}
}

func TestTraceErrors(t *testing.T) {
	for _, test := range []struct{ probe, message string }{
		{``, "what is to be traced is missing"}, {`(arg1)`, "what is to be traced is missing"},
		{`f (arg1`, "this parenthesis is not closed\n    f (arg1\n      ^"},
		{`f "%d`, "this quote is not closed\n    f \"%d\n      ^"},
		{`f "%d", arg1,`, "a value is missing"},
		{`f "%d" arg1`, "a filter in parentheses or a \"format\" is expected here"},
		{`f "%d", arg1, arg2`,
			"the format has 1 conversions, and there are 2 values\n    f \"%d\", arg1, arg2\n      ^"},
		{`f(int) "x"`, "parameter 'int' needs a type and a name"}, {`f ($entry(arg1))`,
			"$entry() is for returns: at the entry the value itself is there\n    f ($entry(arg1))\n       ^"},
		{`f(int é) "x"`, "parameter 'int é' needs a type and a name"},
		{`f (STRCMP(arg1))`, "STRCMP takes"},
	} {
		_, err := trace(operands(test.probe), point, nil)
		if err == nil || !strings.HasPrefix(err.Error(), test.message) {
			t.Errorf("%s: %v, want %s", test.probe, err, test.message)
		}
	}
	_, err := trace(operands(`f "%d", arg1`), func(string) string { return "uretprobe:a:f" }, nil)
	if err == nil || !strings.HasPrefix(err.Error(), "arg1 is gone at a return: write $entry(arg1)") {
		t.Error(err)
	}
}

// TestArgdist translates specifiers: what is stored and what is shown.
func TestArgdist(t *testing.T) {
	for _, test := range []struct {
		option, text string
		parts        []string
	}{
		{counts, `f(size_t n):size_t:n`, []string{"\nkprobe:f\n/wanted()/\n{\n  @values0[arg0] = count();\n}\n",
			`time("[%H:%M:%S] f(size_t n):size_t:n\n");`,
			`table("    COUNT:<10 EVENT | n = %lu", getopt("top", 0), @values0);`}},
		{counts, `f(int a, char *s):int,char *:a, s:a > 1 ? a : 0#large`, []string{
			`/wanted() && (((int)arg0) > 1 ? ((int)arg0) : 0)/`,
			`@values0[((int)((int)arg0)), str(((char *)arg1))] = count();`,
			`time("[%H:%M:%S] large\n")`, `EVENT | a = %ld, s = %s"`}},
		{counts, `f(int flags, struct x *p):int,struct x *:flags,p`, []string{"flags = %#lx, p = %#lx"}},
		{counts, `f()`, []string{`@values0["total calls"] = count();`, `EVENT | %s"`}},
		{counts, `f():char*:$COMM`, []string{`@values0[comm] = count();`, `EVENT | $COMM = %s"`}},
		{counts, `t:a:b():u32:args->n:args->m == 3 && $PID == 7`,
			[]string{`/wanted() && (args.m == 3 && pid == 7)/`, `@values0[((u32)args.n)]`}},
		{histograms, `f(int n):int:n * 2`, []string{"@values0 = hist(((int)((int)arg0) * 2));",
			`show("n*2", @values0)`}},
		{counts, `f():int:1#100% "x"`, []string{`time("[%H:%M:%S] 100%% \"x\"\n")`}},
	} {
		script, err := argdist(map[string][]string{test.option: {test.text}}, point, nil)
		for _, part := range test.parts {
			if err != nil || !strings.Contains(script, part) {
				t.Errorf("%s: %v, want\n%s in\n%s", test.text, err, part, script)
			}
		}
		if _, ds := syntax.Parse(source.NewFile("argdist", script)); ds.HasErrors() {
			t.Errorf("%s: the script cannot be parsed:\n%s", test.text, script)
		}
	}
	size := map[string][]string{counts: {`f():char*:arg1`}, textSize: {"17"}}
	if script, err := argdist(size, point, nil); err != nil || !strings.Contains(script, "  max_strlen = 17;\n") {
		t.Errorf("%v\n%s", err, script)
	}
	size[textSize] = []string{"0"}
	if _, err := argdist(size, point, nil); err == nil {
		t.Error("texts of 0 bytes are accepted")
	}
	exit := func(string) string { return "uretprobe:a:f" }
	script, err := argdist(map[string][]string{histograms: {`r:a:f():u64:$latency:$latency > 5`}}, exit, nil)
	for _, part := range []string{
		"\nuprobe:a:f\n/wanted()/\n{\n  @entry0_0[tid, (uint64)@depth0[tid]] = nsecs;\n",
		"\nuretprobe:a:f\n/@depth0[tid] > 0 && wanted() && (" +
			"(uint64)(nsecs - @entry0_0[tid, (uint64)@depth0[tid] - 1]) > 5)/\n",
	} {
		if err != nil || !strings.Contains(script, part) {
			t.Errorf("%v, want\n%s in\n%s", err, part, script)
		}
	}
}

func TestArgdistErrors(t *testing.T) {
	for _, test := range []struct{ option, text, message string }{
		{counts, ``, "a function with its arguments"}, {counts, `f:int:arg1`, "a function with its arguments"},

		{counts, `f(:int:arg1`, "this parenthesis is not closed\n    f(:int"},
		{counts, `f() int`, "a colon or a # is expected"},
		{counts, `f():int`, "types and values are expected here"}, {counts, `f():int:`, "a value is missing"},
		{counts, `f():int,int:a`, "the number of types is not that of values: 2 and 1\n    f():int,int:a\n       ^"},
		{counts, `f():int:"a`, "this quote is not closed"}, {counts, `f(int):int:a`, "parameter 'int' needs"},
		{histograms, `f():int,int:a,b`, "a histogram is of one value"},
		{histograms, `f()`, "a histogram needs a value"},
		{histograms, `f():char *:a`, "a histogram is of numbers"},
		{counts, `f():int:$latency`, "$latency is for returns"},
		{"", `f()`, "write -C (counts) or -H (histogram) in front of \"f()\""},
	} {
		_, err := argdist(map[string][]string{test.option: {test.text}}, point, nil)
		if err == nil || !strings.HasPrefix(err.Error(), test.message) {
			t.Errorf("%s: %v, want %s", test.text, err, test.message)
		}
	}
}

// FuzzArgdist translates any text, as an entry and as a return.
func FuzzArgdist(f *testing.F) {
	for _, text := range []string{
		`p:c:f(int a):int,char*:a,"x":a ? 1 : 2#l`, `r:c:f():u64:$latency:$entry(arg1)`, `t:a:b()`, `f("`, `f():'#:`,
	} {
		f.Add(text, false)
		f.Add(text, true)
	}
	f.Fuzz(func(t *testing.T, text string, hist bool) {
		option := counts
		if hist {
			option = histograms
		}
		script, err := argdist(map[string][]string{option: {text}}, point, nil)
		if err == nil {
			syntax.Parse(source.NewFile("argdist", script))
		}
	})
}

// FuzzTrace translates any text. Where that works and the parts are sound, the script can be parsed.
func FuzzTrace(f *testing.F) {
	for _, text := range []string{
		`p:c:f(int a) (a > 1) "%d %s", a, "x"`, `r "%d", $entry(arg1)`, `f (STRCMP("a", b))`, `f("`,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		script, err := trace(operands(text), point, nil)
		if err == nil {
			syntax.Parse(source.NewFile("trace", script))
		}
	})
}
