package tool_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	_ "github.com/hawktrace/hawk/internal/probe/kinds" // all that there is

	"github.com/hawktrace/hawk/internal/notation"
	"github.com/hawktrace/hawk/internal/output"
	"github.com/hawktrace/hawk/internal/probe"
	"github.com/hawktrace/hawk/internal/source"
	"github.com/hawktrace/hawk/internal/syntax"
	"github.com/hawktrace/hawk/internal/tool"
)

const header = `#!/usr/bin/env hawk
/*
 * eatsnoop - what is eaten, by whom
 *
 * Area: files
 * Synopsis: eatsnoop [options] [interval]
 *           eatsnoop --menu
 *
 * Prints a line for each meal.
 * It goes on.
 *
 * Until it ends.
 *
 * Options:
 *   -x, --failed          only meals that failed
 *   -u, --user USER       only this user,
 *                         by name or number
 *       --dish DISH…      only these dishes
 *   -n, --name REGEX      only such names = --match=DISH=
 *
 * Operands:
 *   interval   [time] time between two meals
 *   dishes…    [text] what there is
 *
 * Output:
 *   TIME(s)   when
 *   DISH      what,
 *             in full
 *
 * Examples:
 *   eatsnoop -x
 *       what was
 *       not eaten
 *   eatsnoop --dish a,b
 *       two dishes
 *
 * Sample:
 *   TIME(s)  DISH
 *   0.1        soup
 *
 * Cost: none
 * to speak of.
 * Needs: a kitchen.
 * Elsewhere:
 *   -e, --eaten          = --no-failed
 *   --diet DAY           nobody keeps it
 *   -t, --table N        =
 *   --sober              =
 *   foodtop, dinner.d    = eatsnoop -x
 * See: opensnoop, execsnoop
 * Foo: bar
 */
begin { }
`

func TestParse(t *testing.T) {
	got := tool.Parse(header)
	want := &tool.Tool{
		Name: "eatsnoop", Brief: "what is eaten, by whom", Area: "files",
		Synopsis:    []string{"eatsnoop [options] [interval]", "eatsnoop --menu"},
		Description: []string{"Prints a line for each meal.", "It goes on.", "", "Until it ends."},
		Options: []tool.Option{{Letter: 'x', Name: "failed", Doc: "only meals that failed"},
			{Letter: 'u', Name: "user", Value: "USER", Doc: "only this user, by name or number"},
			{Name: "dish", Value: "DISH…", Doc: "only these dishes"},
			{Letter: 'n', Name: "name", Value: "REGEX", Doc: "only such names", Here: "--match=DISH="}},
		Operands: []tool.Operand{{Name: "interval", Kind: "time", Doc: "time between two meals"},
			{Name: "dishes", Kind: "text", Rest: true, Doc: "what there is"}},
		Output: []tool.Entry{{Name: "TIME(s)", Doc: "when"}, {Name: "DISH", Doc: "what, in full"}},
		Examples: []tool.Entry{{Name: "eatsnoop -x", Doc: "what was not eaten"},
			{Name: "eatsnoop --dish a,b", Doc: "two dishes"}},
		Sample: []string{"TIME(s)  DISH", "0.1        soup"},
		Cost:   []string{"none", "to speak of."}, Needs: []string{"a kitchen."},
		Elsewhere: []tool.Foreign{
			{Words: []string{"-e", "--eaten"}, Here: []string{"--no-failed"}, Doc: "--no-failed"},
			{Words: []string{"--diet"}, Value: true, Doc: "nobody keeps it"},
			{Words: []string{"-t", "--table"}, Value: true, Here: []string{}, Doc: "the operand"},
			{Words: []string{"--sober"}, Here: []string{}, Doc: "nothing more: so it is here"},
			{Words: []string{"foodtop", "dinner.d"}, Here: []string{"eatsnoop", "-x"}, Doc: "eatsnoop -x"}},
		See: []string{"opensnoop", "execsnoop"}, Unknown: []string{"Foo"}, Script: header,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got.Body() != "begin { }\n" {
		t.Errorf("the body is %q", got.Body())
	}
	if !got.Options[2].List() || got.Options[2].Unit() != "DISH" || !got.Lists()["dishes"] {
		t.Error("what ends in … is a list")
	}
}

const (
	maxBrief = 66 // characters
	maxBody  = 120
)

// TestHeaders looks for what is missing in the header of a tool, and for what it says and
// the script does not, or the other way round.
func TestHeaders(t *testing.T) {
	for _, name := range tool.Names() {
		t.Run(name, func(t *testing.T) {
			tl, _ := tool.Find(name)
			complete(t, tl)
			if tl.Name != name {
				t.Errorf("it is called %q in its first line", tl.Name)
			}
			translate := notation.Of(name)
			if translate != nil {
				sample := map[string][]string{"": {`f "%s", arg1`}}
				if len(translate.Options) > 0 {
					sample = map[string][]string{translate.Options[0]: {`f():char*:arg1`}}
				}
				script, err := translate.Translate(sample, func(text string) string { return "kprobe:" + text }, nil)
				if err != nil {
					t.Fatal(err)
				}
				tl.Script += script
			}
			if n := strings.Count(strings.TrimSpace(tl.Body()), "\n") + 1; n > maxBody {
				t.Errorf("%d lines below the header, of at most %d", n, maxBody)
			}
			tree, ds := syntax.Parse(source.NewFile(name+".bt", tl.Whole()))
			if ds.HasErrors() {
				t.Fatal("it does not parse")
			}
			if !strings.Contains(tl.Body(), "print_maps_on_exit = false") {
				t.Error("maps that are not printed on purpose are printed: it has no print_maps_on_exit = false")
			}
			options, columns, shown := declared(t, tree)
			var said []string
			for _, o := range tl.Options {
				// The script is made of those of a notation, and has nothing of those that are short for another.
				if o.Here == "" && (translate == nil || !slices.Contains(translate.Options, o.Name)) {
					said = append(said, o.Name)
				}
				if strings.IndexByte(tool.Letters, o.Letter) >= 0 && o.Letter != 0 && !tl.RunsCommand() {
					t.Errorf("-%c is a letter of hawk's", o.Letter)
				}
			}
			for _, o := range tl.Operands {
				if translate == nil && o.Kind != "pid" { // else the script is made of them, or -p is meant
					said = append(said, o.Name)
				}
			}
			if tl.RunsCommand() { // and reads most options itself
				said = options
			}
			same(t, "options and operands", said, options)
			said = nil
			for _, e := range tl.Output {
				said = append(said, e.Name)
			}
			if len(columns) > 0 {
				said = slices.DeleteFunc(said, func(name string) bool { return slices.Contains(shown, name) })
				same(t, "columns", said, columns)
			}
			for _, other := range tl.See {
				if !tool.Exists(other) {
					t.Logf("see %s, which is not there yet", other)
				}
			}
		})
	}
}

// complete asks for what every header has.
func complete(t *testing.T, tl *tool.Tool) {
	if tl.Brief == "" || utf8.RuneCountInString(tl.Brief) > maxBrief || strings.HasSuffix(tl.Brief, ".") {
		t.Errorf("the description %q is to have 1 to %d characters and no full stop", tl.Brief, maxBrief)
	}
	if !slices.Contains(tool.Areas, tl.Area) {
		t.Errorf("%q is no area; there are %q", tl.Area, tool.Areas)
	}
	for section, missing := range map[string]bool{
		"Synopsis":      len(tl.Synopsis) == 0 || !strings.HasPrefix(tl.Synopsis[0], tl.Name),
		"a description": len(tl.Description) == 0, "Output": len(tl.Output) == 0,
		"two Examples": len(tl.Examples) < 2, "Sample": len(tl.Sample) < 2,
		"Cost": len(tl.Cost) == 0, "Needs": len(tl.Needs) == 0,
	} {
		if missing {
			t.Errorf("it has no %s", section)
		}
	}
	if len(tl.Unknown) > 0 {
		t.Errorf("%q are no sections", tl.Unknown)
	}
	for _, o := range tl.Options {
		if o.Name == "" || o.Doc == "" {
			t.Errorf("cannot read the option %+v: -x, --long VALUE   text", o)
		}
	}
	for _, o := range tl.Operands {
		if o.Kind == "" || o.Doc == "" {
			t.Errorf("the operand %s has no kind like [int] or no text", o.Name)
		}
	}
	for _, f := range tl.Elsewhere {
		if len(f.Words) == 0 || f.Doc == "" {
			t.Errorf("cannot read %+v of what is elsewhere", f)
		}
	}
	for _, e := range slices.Concat(tl.Output, tl.Examples) {
		if e.Doc == "" {
			t.Errorf("nothing is said of %q", e.Name)
		}
	}
	for _, e := range tl.Examples {
		if !strings.HasPrefix(e.Name, tl.Name) {
			t.Errorf("the example %q is of another tool", e.Name)
		}
	}
	for i, line := range strings.Split(tl.Script, "\n") {
		if utf8.RuneCountInString(line) > 120 {
			t.Errorf("line %d is longer than 120 columns", i+1)
		}
	}
}

// runtimeOptions are those that functions look at by themselves.
var runtimeOptions = []string{"sort", "others", "no-clear", "delimited", "annotate", "pid-in-name", "match", "max-keys",
	"hexdump"}

// declared are the options that a script declares, the columns that it prints and the words over
// histograms.
func declared(t *testing.T, tree *syntax.Script) (options, columns, shown []string) {
	for _, item := range tree.Items {
		syntax.Walk(item, func(n syntax.Node) bool {
			call, ok := n.(*syntax.Call)
			if !ok || len(call.Args) == 0 {
				return true
			}
			text, ok := syntax.Text(call.Args[0])
			if !ok {
				return true
			}
			switch call.Func.Name {
			case "distribution": // of the library: two forms of show()
				for _, arg := range call.Args {
					if lit, ok := arg.(*syntax.StringLit); ok {
						shown = append(shown, strings.Fields(lit.Value)...)
					}
				}
			case "getopt":
				options = append(options, text)
			case "show":
				shown = append(shown, strings.Fields(strings.ReplaceAll(text, "(comm)", ""))...)
			case "row", "table":
				spec := regexp.MustCompile(`(^| )[!^]`).ReplaceAllString(text, "$1")
				found, err := output.ParseColumns(spec)
				if err != nil {
					t.Error(err)
				}
				for i := range found {
					columns = append(columns, found[i].Name)
					if found[i].Option != "" {
						options = append(options, found[i].Option)
					}
				}
			}
			return true
		})
	}
	return options, columns, shown
}

// same compares two sets of names.
func same(t *testing.T, what string, header, script []string) {
	t.Helper()
	for _, name := range header {
		if !slices.Contains(script, name) && !slices.Contains(runtimeOptions, name) {
			t.Errorf("%s: the header has %s, the script does not", what, name)
		}
	}
	for _, name := range script {
		if !slices.Contains(header, name) {
			t.Errorf("%s: the script has %s, the header does not", what, name)
		}
	}
}

// TestSize keeps what all tools add to the binary within 300 KB.
func TestSize(t *testing.T) {
	total := int64(0)
	for _, pattern := range []string{"packed/*", "packed/lib/*"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			st, err := os.Stat(file)
			if err != nil {
				t.Fatal(err)
			}
			total += st.Size()
		}
	}
	if t.Logf("%d bytes", total); total > 300<<10 {
		t.Errorf("the tools take %d bytes in the binary", total)
	}
}

// TestNothingTwice finds six lines that two tools share: they belong into a macro of
// tools/lib.
func TestNothingTwice(t *testing.T) {
	const many = 6
	seen := map[string]string{}
	for _, name := range tool.Names() {
		tl, _ := tool.Find(name)
		var lines []string
		for line := range strings.Lines(tl.Body()) {
			if line = strings.TrimSpace(line); len(line) > 2 { // a brace says nothing
				lines = append(lines, line)
			}
		}
		for i := 0; i+many <= len(lines); i++ {
			text := strings.Join(lines[i:i+many], "\n")
			if other, ok := seen[text]; ok && other != name {
				t.Errorf("%s and %s share\n%s", other, name, text)
				break
			}
			seen[text] = name
		}
	}
}

// TestNoNames finds tools that are named in Go code: what a tool does is in its script.
func TestNoNames(t *testing.T) {
	names := slices.DeleteFunc(tool.Names(), func(name string) bool {
		_, kind := probe.Lookup(name)           // one is called like what it is made of
		return kind || notation.Of(name) != nil // as package strace
	})
	quoted := regexp.MustCompile(`"(` + strings.Join(names, "|") + `)"`)
	for _, dir := range []string{"cli", "session", "output", "tool", "expand", "compile", "load"} {
		files, err := filepath.Glob("../" + dir + "/*.go")
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if m := quoted.FindString(string(text)); m != "" {
				t.Errorf("%s has %s, which is a tool", file, m)
			}
		}
	}
}
