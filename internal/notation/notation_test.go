package notation

import (
	"strings"
	"testing"

	"github.com/hawktrace/hawk/internal/source"
	"github.com/hawktrace/hawk/internal/syntax"
)

func point(text string) string { return "kprobe:" + text }

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
			`(str(uptr(arg1), getopt("string-size", 200)) == "a (b")`, ``},
		{`f (STRCMP(arg2, "x"))`, `(str(arg1, getopt("string-size", 200)) == "x")`, ``},
		{`f "100%% %K %U", arg1, arg2`, ``,
			`100%% %s %s", nsecs, nsecs, pid, tid, comm, cpu, "f", ksym(arg0), usym(arg1)`},
		{`f+0x10 "a\"b"`, ``, ` - | a\"b", nsecs, nsecs, pid, tid, comm, cpu, "f"`},
		{`f "%s", args->path`, ``, `str(args.path, `}, {`f "%d", x.arg1`, ``, `x.arg1`},
		{`f* (a ? b : c)`, `wanted() && (a ? b : c)`, `probe_name`},
		{"f\n(arg1)\n\"%d\", max(arg1, arg2)", ``, `max(arg0, arg1)`},
	} {
		script, err := trace([]string{test.probe}, point)
		if err != nil || !strings.Contains(script, test.condition) || !strings.Contains(script, test.row) {
			t.Errorf("%s: %v, want %s and %s in\n%s", test.probe, err, test.condition, test.row, script)
		}
	}
	script, err := trace([]string{`r "%d %d", $entry(arg1), retval`}, func(string) string { return "kretprobe:f" })
	if err != nil || !strings.Contains(script, "\nkprobe:f\n/wanted()/\n{\n  @entry0_0[tid] = arg0;\n}\n") ||
		!strings.Contains(script, "/has_key(@entry0_0, tid) && wanted()/") ||
		!strings.Contains(script, `@entry0_0[tid], retval`) || !strings.Contains(script, "delete(@entry0_0, tid);") {
		t.Errorf("%v\n%s", err, script)
	}
}

func TestTraceErrors(t *testing.T) {
	for _, test := range []struct{ probe, message string }{
		{``, "what is to be traced is missing"}, {`(arg1)`, "what is to be traced is missing"},
		{`f (arg1`, "this parenthesis is not closed\n    f (arg1\n      ^"},
		{`f "%d`, "this quote is not closed\n    f \"%d\n      ^"},
		{`f "%d", arg1,`, "a value is missing"},
		{`f "%d" arg1`, "a filter in parentheses or a \"format\" is expected here"},
		{`f "%d", arg1, arg2`, "the format has 1 conversions, and there are 2 values"},
		{`f(int) "x"`, "parameter 'int' needs a type and a name"}, {`f ($entry(arg1))`, "$entry() is for returns"},
		{`f (STRCMP(arg1))`, "STRCMP takes"},
	} {
		if _, err := trace([]string{test.probe}, point); err == nil || !strings.HasPrefix(err.Error(), test.message) {
			t.Errorf("%s: %v, want %s", test.probe, err, test.message)
		}
	}
	_, err := trace([]string{`f "%d", arg1`}, func(string) string { return "uretprobe:a:f" })
	if err == nil || !strings.HasPrefix(err.Error(), "arg1 is gone at a return: write $entry(arg1)") {
		t.Error(err)
	}
}

// FuzzTrace translates any text. Where that works and the parts are sound, the script can be parsed.
func FuzzTrace(f *testing.F) {
	for _, text := range []string{
		`p:c:f(int a) (a > 1) "%d %s", a, "x"`, `r "%d", $entry(arg1)`, `f (STRCMP("a", b))`, `f("`,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		script, err := trace([]string{text}, point)
		if err == nil {
			syntax.Parse(source.NewFile("trace", script))
		}
	})
}
