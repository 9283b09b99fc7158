package cli

import (
	"slices"
	"strings"
	"time"

	"github.com/hawktrace/hawk/internal/probe"
)

// A setter notes the value of an option. It is called once for each time that the option is given,
// in order. Setters are data, so that the table is, too.
type setter interface {
	note(s *settings, value string) error
}

// Most options call a method, or keep in a place of the settings that they were given, how often, with
// what value, or with which ones.
type (
	do    func(s *settings, value string) error
	flag  func(*settings) *bool
	count func(*settings) *int
	text  func(*settings) *string
	list  func(*settings) *[]string
)

func (f do) note(s *settings, v string) error { return f(s, v) }

func (dst flag) note(s *settings, _ string) error {
	*dst(s) = true
	return nil
}

func (dst count) note(s *settings, _ string) error {
	*dst(s)++
	return nil
}

func (dst text) note(s *settings, v string) error {
	*dst(s) = v
	return nil
}

func (dst list) note(s *settings, v string) error {
	*dst(s) = append(*dst(s), v)
	return nil
}

// A span is how long something takes.
type span struct {
	name string
	dst  func(*settings) *time.Duration
}

func (o span) note(s *settings, v string) (err error) {
	*o.dst(s), err = period(o.name, v)
	return err
}

// A choice is one of some values, which are in help and completion as well, off the same row.
type choice struct {
	name   string
	dst    func(*settings) *string
	values []string
}

func (o choice) note(s *settings, v string) error {
	if !slices.Contains(o.values, v) {
		return invalidValue(o.name, v, o.values)
	}
	*o.dst(s) = v
	return nil
}

// A modeOf chooses what the run is for; the option is named in messages.
type modeOf struct {
	mode   mode
	option string
}

func (o modeOf) note(s *settings, _ string) error { return s.setMode(o.mode, o.option) }

// An atOnce is a mode in which the rest of the command line is ignored.
type atOnce mode

func (m atOnce) note(s *settings, _ string) error { return s.atOnce(mode(m)) }

// An ignored option has nothing to change.
type ignored struct{}

func (ignored) note(*settings, string) error { return nil }

// invalidValue is the error for a value that an option does not take.
func invalidValue(option, value string, valid []string) error {
	return usagef("USAGE: invalid value for %s: %s; valid ones are %s", option, value, strings.Join(valid, ", "))
}

var bufferings = []string{"line", "full", "none"}

// options is the table in the order of the help text. The table is built by a function: its rows
// refer to names of probes, formats and features, which packages register when they are
// initialized.
func options() []option {
	return slices.Concat(ownOptions(), pictureOptions(), liveOptions(), webOptions())
}

// ownOptions are those that no other file declares. An option that is ignored is there for command
// lines written for bpftrace.
func ownOptions() []option {
	return []option{
		{short: 'e', arg: "PROGRAM", doc: "run this program", set: do(func(s *settings, v string) error {
			s.program = &v
			return nil
		})},
		{short: 'l', long: "list", doc: "list probes that match a pattern, or those of a script",
			set: modeOf{modeList, "-l"}},
		{short: 'p', long: "pid", arg: "PID", doc: "trace this process; tools take several, with commas in between",
			set: do((*settings).setPID)},
		{short: 'c', long: "cmd", arg: "COMMAND", doc: "run a command and trace it", set: do((*settings).setCommand)},
		{long: "follow", doc: "trace the processes that the one of -p or -c starts, too",
			set: flag(func(s *settings) *bool { return &s.follow })},
		{long: "comm", arg: "NAME", doc: "trace tasks of this name, with * and ? for any text; may be repeated",
			set: do((*settings).addComm)},
		{long: "uid", arg: "USER", doc: "trace tasks of this user, by name or number; may be repeated",
			set: do((*settings).addUID)},
		{long: "cgroup", arg: "PATH", doc: "trace tasks in this control group and below it; may be repeated",
			set: list(func(s *settings) *[]string { return &s.cgroups })},
		{long: "container", arg: "NAME", doc: "trace tasks of this container, by name or ID; may be repeated",
			set: list(func(s *settings) *[]string { return &s.containers })},
		{short: 'o', long: "output", arg: "FILE", doc: "write the output to a file",
			set: text(func(s *settings) *string { return &s.output })},
		{short: 'f', arg: "FORMAT",
			doc:    "output format, see FORMATS; text by itself",
			values: formatNames(), set: text(func(s *settings) *string { return &s.format })},
		{short: 'B', arg: "MODE", doc: "output buffering: line (default), full or none", values: bufferings,
			set: choice{"-B", func(s *settings) *string { return &s.buffering }, bufferings}},
		{short: 'q', long: "quiet", doc: "do not say what was attached",
			set: flag(func(s *settings) *bool { return &s.quiet })},
		{short: 'k', long: "warnings", doc: "report failing reads and map operations while running",
			set: count(func(s *settings) *int { return &s.warnings })},
		{long: "no-warnings", doc: "suppress warnings", set: flag(func(s *settings) *bool { return &s.noWarnings })},
		{long: "unsafe", doc: "allow what can change or harm the system: system(), signal(), …",
			set: flag(func(s *settings) *bool { return &s.unsafe })},
		{short: 'I', arg: "DIR", doc: "look for headers in this directory first; may be repeated",
			set: list(func(s *settings) *[]string { return &s.includeDirs })},
		{long: "include", arg: "FILE", doc: "read a header before the script; may be repeated",
			set: list(func(s *settings) *[]string { return &s.includes })},
		{long: "debuginfo", arg: "DIR:…", doc: "look for separate debug files there first; may be repeated",
			set: do((*settings).addDebugDirs)},
		{long: "duration", arg: "TIME", doc: "end after a time: 10, 10s, 500ms, 2m, 1h",
			set: do((*settings).setDuration)},
		{long: "max-keys", arg: "N", doc: "room for so many keys in each map, in place of max_map_keys",
			set: do((*settings).setMaxKeys)},
		{long: "max-probes", arg: "N", doc: "attach nothing if there are more probes, in place of max_probes",
			set: do((*settings).setMaxProbes)},
		{long: "events", arg: "N", doc: "end after N rows of row(), or lines of strace",
			set: do((*settings).setEvents)},
		{long: "match", arg: "REGEX", doc: "print only rows of which a column matches; COLUMN=REGEX: that column",
			set: do((*settings).setMatch)},
		{long: "columns", arg: "NAME,…", doc: "print only these columns of rows, in this order",
			set: do(func(s *settings, v string) error {
				s.columns = strings.Split(v, ",")
				return nil
			})},
		{long: "no-header", doc: "print rows without the names of their columns",
			set: flag(func(s *settings) *bool { return &s.noHeader })},
		{long: "max-overhead", arg: "PERCENT", doc: "end when the probes take more of a CPU for three seconds",
			set: do((*settings).setMaxOverhead)},
		{long: "exit-status", arg: "child", doc: "exit with the status of the command of -c",
			values: []string{"child"},
			set:    choice{"--exit-status", func(s *settings) *string { return &s.exitStatus }, []string{"child"}}},
		{long: "probe-filter", arg: "REGEX", doc: "attach only probes whose name matches",
			set: text(func(s *settings) *string { return &s.filter })},
		{long: "test", doc: "run the script's test probes and report", set: modeOf{modeTest, "--test"}},
		{long: "bench", doc: "measure the script's bench probes and report", set: modeOf{modeBench, "--bench"}},
		{long: "fmt", doc: "print the script in canonical layout", set: modeOf{modeFormat, "--fmt"}},
		{long: "check", doc: "with --fmt: print nothing, fail if layout or annotations are wrong",
			set: flag(func(s *settings) *bool { return &s.check })},
		{long: "completion", arg: "SHELL", doc: "print what completes hawk's command line: bash, zsh or fish",
			values: shells, set: do((*settings).setCompletion)},
		{long: "man", doc: "print the manual page hawk(8)", set: atOnce(modeMan)},
		{short: 'h', long: "help", doc: "show this help", set: atOnce(modeHelp)},
		{short: 'V', long: "version", doc: "show the version", set: atOnce(modeVersion)},

		{short: 'd', long: "debug", arg: "STAGE,…", doc: "show what stages of the compiler make, or all",
			group: developer, values: debugStages(), set: do((*settings).setDebug)},
		{long: "aot", arg: "FILE", doc: "compile the script into an executable that runs it without hawk",
			group: developer, set: text(func(s *settings) *string { return &s.aot })},
		{long: "aot-runtime", arg: "FILE", doc: "with --aot: the hawk to run it with, of another architecture too",
			group: developer, set: text(func(s *settings) *string { return &s.aotRuntime })},
		{long: "emit-elf", arg: "FILE", doc: "write the compiled programs and maps as a BPF object, too",
			group: developer, set: text(func(s *settings) *string { return &s.emitELF })},
		{long: "emit-llvm", arg: "PREFIX", doc: "write hawk's IR to PREFIX.original.ir and PREFIX.optimized.ir",
			group: developer, set: text(func(s *settings) *string { return &s.emitIR })},
		{long: "dry-run", doc: "compile, load and attach, then end", group: developer,
			set: flag(func(s *settings) *bool { return &s.dryRun })},
		{long: "mode", arg: "MODE", doc: "run, test, bench, format, codegen (compile only) or compiler-bench",
			group: developer, values: modeNames(), set: do((*settings).setModeName)},
		{long: "traceable-functions", arg: "FILE", doc: "take the list of traceable kernel functions from a file",
			group: developer, set: text(func(s *settings) *string { return &s.traceable })},

		{short: 'v', long: "verbose", doc: "say more; with -l show arguments", group: trouble,
			set: count(func(s *settings) *int { return &s.verbose })},
		{long: "info", doc: "show what this kernel can do; -f json in front for JSON", group: trouble,
			set: atOnce(modeInfo)},
		{long: "record-machine", arg: "DIR", doc: "write down what to compile for this machine elsewhere",
			group: trouble, set: do((*settings).setRecord)},
		{long: "no-feature", arg: "FEATURE,…", doc: "do without features of the kernel", group: trouble,
			values: probe.Features(), set: do((*settings).setNoFeature)},
		{long: "dwarf-pid", arg: "PID", doc: "prepare user stacks of this process; may be repeated", group: trouble,
			set: do((*settings).addDwarfPID)},

		{long: "usdt-file-activation", doc: "ignored: the kernel activates USDT probes", group: compatible,
			set: ignored{}},
		{short: 'b', long: "btf", doc: "ignored: types of the kernel are always used", group: compatible,
			set: ignored{}},
		{long: "verify-llvm-ir", doc: "ignored: there is no LLVM", group: compatible, set: ignored{}},
	}
}
