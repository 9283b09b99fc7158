package check

import (
	"strings"

	"github.com/hawktrace/hawk/internal/builtin"
	"github.com/hawktrace/hawk/internal/operator"
	"github.com/hawktrace/hawk/internal/source"
	"github.com/hawktrace/hawk/internal/syntax"
	"github.com/hawktrace/hawk/internal/types"
)

// otherNames are names of other tracing languages, of awk and of C, with what
// hawk has for them.
// Scripts that are brought over have such names. One that hawk has itself must not be here.
var otherNames = map[string]string{
	"execname":        "the name of the process is comm",
	"pname":           "the name of the process is comm",
	"process_name":    "the name of the process is comm",
	"probefunc":       "the function is func, the whole attach point is probe",
	"probename":       "the attach point is probe",
	"probemod":        "the attach point is probe",
	"probeprov":       "the attach point is probe",
	"pn":              "the attach point is probe",
	"ppfunc":          "the function is func",
	"timestamp":       "the time in nanoseconds is nsecs",
	"vtimestamp":      "the time in nanoseconds is nsecs",
	"walltimestamp":   "the time of day is nsecs(tai), and strftime(\"%H:%M:%S\", nsecs) as text",
	"time_ns":         "the time in nanoseconds is nsecs",
	"ktime":           "the time in nanoseconds is nsecs",
	"now":             "the time in nanoseconds is nsecs",
	"ts":              "the time in nanoseconds is nsecs",
	"clock":           "the time in nanoseconds is nsecs",
	"time_ms":         "the time in nanoseconds is nsecs",
	"time_us":         "the time in nanoseconds is nsecs",
	"usecs":           "the time in nanoseconds is nsecs",
	"msecs":           "the time in nanoseconds is nsecs",
	"cpuid":           "the number of the processor is cpu",
	"user":            "the number of the user is uid, the name username",
	"group":           "the number of the group is gid",
	"gettimeofday_ns": "the time in nanoseconds is nsecs",
	"gettimeofday_us": "the time in nanoseconds is nsecs",
	"gettimeofday_ms": "the time in nanoseconds is nsecs",
	"gettimeofday_s":  "the time in nanoseconds is nsecs",
	"curpsinfo":       "the task is curtask, a struct task_struct *",
	"curlwpsinfo":     "the task is curtask, a struct task_struct *",
	"curthread":       "the task is curtask, a struct task_struct *",
	"current":         "the task is curtask, a struct task_struct *",
	"task_current":    "the task is curtask, a struct task_struct *",
	"target":          "the process of -p is left by the option alone; its number is $1 if it is passed",
	"errno":           "the result is retval, in tracepoints args.ret; a negative one is an error number",
	"this":            "a variable of the probe is $name",
	"self":            "what a thread is to keep goes to a map: @name[tid]",
	"null":            "the null pointer is 0",
	"nullptr":         "the null pointer is 0",
	"nil":             "the null pointer is 0",
	"None":            "the null pointer is 0",
	"True":            "write true",
	"False":           "write false",
	"next":            "return ends the work on this event",
	"do":              "there is no do loop; write for ($i : 0..10) { … }",

	"trace":            "write print(…) or printf(…)",
	"printa":           "write print(@map)",
	"println":          "write print(…)",
	"emit":             "write print(…) or printf(…)",
	"get":              "write @map[key]",
	"lookup":           "write @map[key]",
	"puts":             "write print(…)",
	"echo":             "write print(…)",
	"log":              "write printf(…)",
	"sprintf":          "texts are put together where they are printed: printf(\"%s…\", …)",
	"fprintf":          "write printf(…)",
	"quantize":         "write @name = hist(…)",
	"lquantize":        "write @name = lhist(value, min, max, step)",
	"llquantize":       "write @name = hist(value, 3)",
	"histogram":        "write @name = hist(…)",
	"hist_log":         "write @name = hist(…)",
	"hist_linear":      "write @name = lhist(value, min, max, step)",
	"stddev":           "write @name = stats(…)",
	"average":          "write @name = avg(…)",
	"copyinstr":        "write str(…)",
	"user_string":      "write str(…)",
	"kernel_string":    "write str(…)",
	"stringof":         "write str(…)",
	"copyin":           "write buf(address, length), or cast the address to a pointer: *(uint32 *)address",
	"tracemem":         "write buf(address, length)",
	"hexdump":          "write buf(address, length)",
	"symbol":           "write ksym(address) or usym(address)",
	"symname":          "write ksym(address) or usym(address)",
	"ufunc":            "write usym(address)",
	"jstack":           "write ustack",
	"backtrace":        "write kstack or ustack",
	"print_backtrace":  "write print(kstack)",
	"print_ubacktrace": "write print(ustack)",
	"caller":           "write kstack(2)",
	"ucaller":          "write ustack(2)",
	"substr": "the first n bytes of a text are str(text, n); from its byte i on an address is " +
		"str((uint64)address + i)",
	"substring":     "the first n bytes of a text are str(text, n)",
	"strncpy":       "the first n bytes of a text are str(text, n)",
	"strcat":        "texts are put together where they are printed: printf(\"%s%s\", …)",
	"concat":        "texts are put together where they are printed: printf(\"%s%s\", …)",
	"format":        "texts are put together where they are printed: printf(\"%s…\", …)",
	"contains":      "write strcontains(text, part)",
	"match":         "write strcontains(text, part)",
	"regex":         "write strcontains(text, part)",
	"startswith":    "write strncmp(text, part, length) == 0",
	"starts_with":   "write strncmp(text, part, length) == 0",
	"endswith":      "whether a text has a part anywhere is asked by strcontains(text, part)",
	"ends_with":     "whether a text has a part anywhere is asked by strcontains(text, part)",
	"top":           "write print(@map, n) for the largest n",
	"sleep":         "a probe does not wait; interval:s:1 { … } runs every second",
	"inet_ntoa":     "write ntop(address)",
	"inet_ntop":     "write ntop(family, address)",
	"ip_ntop":       "write ntop(address)",
	"be16toh":       "write ntohs(…)",
	"be32toh":       "write ntohl(…)",
	"bpf_ntohs":     "write ntohs(…)",
	"bpf_ntohl":     "write ntohl(…)",
	"bpf_htons":     "write htons(…)",
	"bpf_htonl":     "write htonl(…)",
	"atoi":          "a number in a parameter is $1; other texts cannot be read as numbers",
	"strtol":        "a number in a parameter is $1; other texts cannot be read as numbers",
	"int":           "write (int64)…",
	"trunc":         "write print(@map, n) for the largest n, clear(@map) for none",
	"normalize":     "write print(@map, 0, divisor)",
	"denormalize":   "the divisor is an argument: print(@map, 0, divisor)",
	"strcmp":        "texts are compared by == and !=",
	"index":         "write strcontains(text, part)",
	"length":        "write strlen(text) or len(@map)",
	"size":          "write strlen(text) or len(@map)",
	"count_entries": "write len(@map)",
	"raise":         "write signal(…)",
	"kill":          "write signal(…)",
	"isset":         "write has_key(@map, key)",
	"defined":       "write has_key(@map, key)",
	"getpid":        "write pid",
	"gettid":        "write tid",
	"getuid":        "write uid",
	"return_value":  "the result is retval, in tracepoints args.ret",
	"returnval":     "the result is retval, in tracepoints args.ret",
	"arg":           "an argument is arg0, arg1, … or args.name",
}

// unknownName reports a name that nobody knows. One that is like no other may come from an import
// or C text that could not be read, which was reported. advise is asked first, since a misspelt
// builtin is reported all the same.
// A header that is missing would else make a message of each of its constants.
func (w *walker) unknownName(id *syntax.Ident, code source.Code, format string) {
	var advice source.Diagnostic
	w.advise(&advice, id)
	if w.script.Lacking && len(advice.Hints) == 0 {
		return
	}
	w.errorf(id, code, format, id.Name).Hints = advice.Hints
}

// advise adds what a name that nobody knows may have been meant to be.
func (w *walker) advise(d *source.Diagnostic, id *syntax.Ident) {
	switch text := otherNames[id.Name]; {
	case text != "":
		d.Hint("%s", text)
	case w.isArgument(id.Name):
		d.Hint("did you mean args.%s?", id.Name)
	case id == w.textName:
		d.Hint("a text stands in double quotes: \"%s\"", id.Name)
	default:
		w.suggest(d, id.Name)
	}
}

// isArgument reports whether the probe has an argument of a name. Only the last walk knows: the
// arguments of a point may have to be read from debug information, which is too slow for each walk.
// A bare argument is what users of other tracers write.
func (w *walker) isArgument(name string) bool {
	kind := w.probe.Kind
	if !w.final || kind.Args == nil || len(w.probe.Points) == 0 {
		return false
	}
	args, err := kind.Args(w.probe.Points[0], w.script.Options)
	if err != nil || args == nil {
		return false
	}
	_, ok := args.Field(name)
	return ok
}

// besideText evaluates the right side of an operator. An unknown name that is
// compared with a text lacks its quotes, perhaps because the shell took them.
func (w *walker) besideText(e *syntax.Binary, x val) val {
	id, ok := syntax.Unparen(e.Y).(*syntax.Ident)
	if _, isText := x.Type.(*types.String); ok && isText && operator.Compares(e.Op) {
		w.textName = id
	}
	return w.expr(e.Y)
}

// rangeOf is what an integer type holds, in words.
// It is a hint: the message names the type, whose bounds not everybody knows by heart.
func rangeOf(t *types.Int) string {
	low, high := number{}, number{mag: 1<<(8*t.Bytes-1) - 1}
	if t.Signed {
		low = number{neg: true, mag: 1 << (8*t.Bytes - 1)}
	} else {
		high = number{mag: ^uint64(0) >> (64 - 8*t.Bytes)}
	}
	return t.String() + " holds " + constText(low.konst()) + " to " + constText(high.konst())
}

// resultAdvice says where the result of a function is found. The result is "" where the kind of
// probe has no other that fires when the function returns.
// retval in a kprobe is the commonest mistake of all with functions.
func (w *walker) resultAdvice() string {
	kind := w.probe.Kind
	switch {
	case len(w.probe.Points) == 0:
	case kind.Args != nil:
		if args, err := kind.Args(w.probe.Points[0], w.script.Options); err == nil && args != nil {
			if _, ok := args.Field("ret"); ok {
				return "use args.ret here"
			}
		}
	}
	if len(w.probe.Points) > 0 {
		if point := w.probe.Points[0].Name(); strings.Contains(point, ":sys_enter_") {
			return "the result is known when the system call returns: args.ret in " + strings.Replace(point,
				":sys_enter_", ":sys_exit_", 1)
		}
	}
	if kind.Returns != "" {
		return "the result is known when the function returns: " + kind.Returns
	}
	return ""
}

// textOrNumber is advice where x, which is of type t and no text, is compared
// with a text.
// It looks at the literal rather than at types: "123" compared with a pid was meant to be a
// number.
func textOrNumber(x, text syntax.Expr, t types.Type) string {
	lit, ok := syntax.Unparen(text).(*syntax.StringLit)
	if !ok {
		return ""
	}
	if _, isText := t.(*types.String); isText {
		return ""
	}
	if _, _, err := syntax.ParseSigned(lit.Value); err == nil {
		return "a number stands without quotes: " + lit.Value
	}
	if isPointer(t) {
		return "the text at an address is str(" + x.Span().Text() + ")"
	}
	if id, ok := syntax.Unparen(x).(*syntax.Ident); ok {
		if f, ok := builtin.Lookup(id.Name); ok {
			return f.Named
		}
	}
	return ""
}
