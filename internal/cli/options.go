package cli

import (
	"slices"
	"strings"

	"github.com/hawktrace/hawk/internal/probe"
)

// ignored accepts an option that has nothing to change.
func ignored(*settings, string) error { return nil }

// oneOf accepts one of some values; dst is where it is kept. The values are in help and
// completion as well, off the same row.
func oneOf(name string, dst func(*settings) *string, values ...string) func(*settings, string) error {
	return func(s *settings, v string) error {
		if !slices.Contains(values, v) {
			return invalidValue(name, v, values)
		}
		*dst(s) = v
		return nil
	}
}

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
		{short: 'e', arg: "PROGRAM", doc: "run this program", set: func(s *settings, v string) error {
			s.program = &v
			return nil
		}},
		{short: 'l', long: "list", doc: "list probes that match a pattern, or those of a script",
			set: func(s *settings, _ string) error {
				return s.setMode(modeList, "-l")
			}},
		{short: 'p', long: "pid", arg: "PID", doc: "trace this process; tools take several, with commas in between",
			set: (*settings).setPID},
		{short: 'c', long: "cmd", arg: "COMMAND", doc: "run a command and trace it", set: (*settings).setCommand},
		{long: "follow", doc: "trace the processes that the one of -p or -c starts, too",
			set: func(s *settings, _ string) error {
				s.follow = true
				return nil
			}},
		{long: "comm", arg: "NAME", doc: "trace tasks of this name, with * and ? for any text; may be repeated",
			set: (*settings).addComm},
		{long: "uid", arg: "USER", doc: "trace tasks of this user, by name or number; may be repeated",
			set: (*settings).addUID},
		{long: "cgroup", arg: "PATH", doc: "trace tasks in this control group and below it; may be repeated",
			set: func(s *settings, v string) error {
				s.cgroups = append(s.cgroups, v)
				return nil
			}},
		{long: "container", arg: "NAME", doc: "trace tasks of this container, by name or ID; may be repeated",
			set: func(s *settings, v string) error {
				s.containers = append(s.containers, v)
				return nil
			}},
		{short: 'o', long: "output", arg: "FILE", doc: "write the output to a file",
			set: func(s *settings, v string) error {
				s.output = v
				return nil
			}},
		{short: 'f', arg: "FORMAT",
			doc:    "output format, see FORMATS; text by itself",
			values: formatNames(), set: func(s *settings, v string) error {
				s.format = v
				return nil
			}},
		{short: 'B', arg: "MODE", doc: "output buffering: line (default), full or none", values: bufferings,
			set: oneOf("-B", func(s *settings) *string {
				return &s.buffering
			}, bufferings...)},
		{short: 'q', long: "quiet", doc: "do not say what was attached", set: func(s *settings, _ string) error {
			s.quiet = true
			return nil
		}},
		{short: 'k', long: "warnings", doc: "report failing reads and map operations while running",
			set: func(s *settings, _ string) error {
				s.warnings++
				return nil
			}},
		{long: "no-warnings", doc: "suppress warnings", set: func(s *settings, _ string) error {
			s.noWarnings = true
			return nil
		}},
		{long: "unsafe", doc: "allow what can change or harm the system: system(), signal(), …",
			set: func(s *settings, _ string) error {
				s.unsafe = true
				return nil
			}},
		{short: 'I', arg: "DIR", doc: "look for headers in this directory first; may be repeated",
			set: func(s *settings, v string) error {
				s.includeDirs = append(s.includeDirs, v)
				return nil
			}},
		{long: "include", arg: "FILE", doc: "read a header before the script; may be repeated",
			set: func(s *settings, v string) error {
				s.includes = append(s.includes, v)
				return nil
			}},
		{long: "debuginfo", arg: "DIR:…", doc: "look for separate debug files there first; may be repeated",
			set: (*settings).addDebugDirs},
		{long: "duration", arg: "TIME", doc: "end after a time: 10, 10s, 500ms, 2m, 1h", set: (*settings).setDuration},
		{long: "max-keys", arg: "N", doc: "room for so many keys in each map, in place of max_map_keys",
			set: (*settings).setMaxKeys},
		{long: "max-probes", arg: "N", doc: "attach nothing if there are more probes, in place of max_probes",
			set: (*settings).setMaxProbes},
		{long: "events", arg: "N", doc: "end after N rows of row(), or lines of strace", set: (*settings).setEvents},
		{long: "match", arg: "REGEX", doc: "print only rows of which a column matches; COLUMN=REGEX: that column",
			set: (*settings).setMatch},
		{long: "columns", arg: "NAME,…", doc: "print only these columns of rows, in this order",
			set: func(s *settings, v string) error {
				s.columns = strings.Split(v, ",")
				return nil
			}},
		{long: "no-header", doc: "print rows without the names of their columns",
			set: func(s *settings, _ string) error {
				s.noHeader = true
				return nil
			}},
		{long: "max-overhead", arg: "PERCENT", doc: "end when the probes take more of a CPU for three seconds",
			set: (*settings).setMaxOverhead},
		{long: "exit-status", arg: "child", doc: "exit with the status of the command of -c",
			values: []string{"child"}, set: oneOf("--exit-status", func(s *settings) *string {
				return &s.exitStatus
			}, "child")},
		{long: "probe-filter", arg: "REGEX", doc: "attach only probes whose name matches",
			set: func(s *settings, v string) error {
				s.filter = v
				return nil
			}},
		{long: "test", doc: "run the script's test probes and report", set: func(s *settings, _ string) error {
			return s.setMode(modeTest, "--test")
		}},
		{long: "bench", doc: "measure the script's bench probes and report", set: func(s *settings, _ string) error {
			return s.setMode(modeBench, "--bench")
		}},
		{long: "fmt", doc: "print the script in canonical layout", set: func(s *settings, _ string) error {
			return s.setMode(modeFormat, "--fmt")
		}},
		{long: "check", doc: "with --fmt: print nothing, fail if layout or annotations are wrong",
			set: func(s *settings, _ string) error {
				s.check = true
				return nil
			}},
		{long: "completion", arg: "SHELL", doc: "print what completes hawk's command line: bash, zsh or fish",
			values: shells, set: (*settings).setCompletion},
		{long: "man", doc: "print the manual page hawk(8)", set: func(s *settings, _ string) error {
			return s.atOnce(modeMan)
		}},
		{short: 'h', long: "help", doc: "show this help", set: func(s *settings, _ string) error {
			return s.atOnce(modeHelp)
		}},
		{short: 'V', long: "version", doc: "show the version", set: func(s *settings, _ string) error {
			return s.atOnce(modeVersion)
		}},

		{short: 'd', long: "debug", arg: "STAGE,…", doc: "show what stages of the compiler make, or all",
			group: developer, values: debugStages(), set: (*settings).setDebug},
		{long: "aot", arg: "FILE", doc: "compile the script into an executable that runs it without hawk",
			group: developer, set: func(s *settings, v string) error {
				s.aot = v
				return nil
			}},
		{long: "aot-runtime", arg: "FILE", doc: "with --aot: the hawk to run it with, of another architecture too",
			group: developer, set: func(s *settings, v string) error {
				s.aotRuntime = v
				return nil
			}},
		{long: "emit-elf", arg: "FILE", doc: "write the compiled programs and maps as a BPF object, too",
			group: developer, set: func(s *settings, v string) error {
				s.emitELF = v
				return nil
			}},
		{long: "emit-llvm", arg: "PREFIX", doc: "write hawk's IR to PREFIX.original.ir and PREFIX.optimized.ir",
			group: developer, set: func(s *settings, v string) error {
				s.emitIR = v
				return nil
			}},
		{long: "dry-run", doc: "compile, load and attach, then end", group: developer,
			set: func(s *settings, _ string) error {
				s.dryRun = true
				return nil
			}},
		{long: "mode", arg: "MODE", doc: "run, test, bench, format, codegen (compile only) or compiler-bench",
			group: developer, values: modeNames(), set: (*settings).setModeName},
		{long: "traceable-functions", arg: "FILE", doc: "take the list of traceable kernel functions from a file",
			group: developer, set: func(s *settings, v string) error {
				s.traceable = v
				return nil
			}},

		{short: 'v', long: "verbose", doc: "say more; with -l show arguments", group: trouble,
			set: func(s *settings, _ string) error {
				s.verbose++
				return nil
			}},
		{long: "info", doc: "show what this kernel can do; -f json in front for JSON", group: trouble,
			set: func(s *settings, _ string) error {
				return s.atOnce(modeInfo)
			}},
		{long: "record-machine", arg: "DIR", doc: "write down what to compile for this machine elsewhere",
			group: trouble, set: (*settings).setRecord},
		{long: "no-feature", arg: "FEATURE,…", doc: "do without features of the kernel", group: trouble,
			values: probe.Features(), set: (*settings).setNoFeature},
		{long: "dwarf-pid", arg: "PID", doc: "prepare user stacks of this process; may be repeated", group: trouble,
			set: (*settings).addDwarfPID},

		{long: "usdt-file-activation", doc: "ignored: the kernel activates USDT probes", group: compatible,
			set: ignored},
		{short: 'b', long: "btf", doc: "ignored: types of the kernel are always used", group: compatible, set: ignored},
		{long: "verify-llvm-ir", doc: "ignored: there is no LLVM", group: compatible, set: ignored},
	}
}
