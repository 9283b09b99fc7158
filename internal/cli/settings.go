package cli

import (
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hawktrace/hawk/internal/compile/dump"
	"github.com/hawktrace/hawk/internal/config"
	"github.com/hawktrace/hawk/internal/exe"
	"github.com/hawktrace/hawk/internal/notation"
	"github.com/hawktrace/hawk/internal/probe"
	"github.com/hawktrace/hawk/internal/session/child"
	"github.com/hawktrace/hawk/internal/tool"
	"github.com/hawktrace/hawk/internal/unit"
)

// mode is what the run is for.
type mode uint8

const (
	modeRun mode = iota
	modeTest
	modeBench
	modeFormat
	modeCompile // compile, load nothing
	modeTime    // measure the stages of the compiler
	modeList
	modeInfo
	modeRecord
	modeHelp
	modeVersion
	modeMan
	modeCompletion
	modePrint // the script of a tool
)

// settings is a command line, read: what each option has set, as far as it concerns hawk.
//
// Fields without a comment are the option of their name. Groups of options with files of their own
// are embedded.
type settings struct {
	mode        mode
	modeOption  string // that chose it, "" for the default
	operands    []string
	afterDashes int  // how many of them came after "--"
	stop        bool // an option that needs no others was met

	picturing
	watching
	web     webbing
	printed bool // -f names a format of what the script prints

	tool        *tool.Tool          // nil: a script is run
	lines       lining              // of what the tool sends lines are made; nil: not
	child       child.Options       // what the command is given
	appends     bool                // -o keeps what the file holds
	pieces      bool                // the tool is loaded in pieces
	given       map[string][]string // values of the tool's options
	narrow      map[string]func(name string) bool
	places      notation.Places // of the tool's script in what the user has written
	lacking     []string        // attach points that the tool asks for and that are not there
	functions   []string        // attach points for functions of the kernel that a user asks for, without kprobes
	noFollow    bool
	program     *string // -e
	pid         int
	also        []int // further processes of -p, for tools
	tasks       probe.Tasks
	cgroups     []string // control groups to look up
	containers  []string
	follow      bool
	dwarfPIDs   []int
	debugDirs   []exe.DebugDir
	command     string
	argv        []string // the words of command, where operands are one
	output      string
	format      string
	buffering   string
	quiet       bool
	verbose     int
	warnings    int
	noWarnings  bool
	unsafe      bool
	dryRun      bool
	check       bool
	debug       map[string]bool
	noFeature   map[string]bool
	filter      string
	traceable   string
	duration    time.Duration // 0: no limit
	columns     []string      // of rows, nil for all
	noHeader    bool
	match       []string // what rows are to match
	events      uint64   // rows to end after, 0: no limit
	maxKeys     string   // of a map, "": as the script says
	maxProbes   int      // 0: as the script says
	maxOverhead float64  // percent of a CPU; 0: no limit
	exitStatus  string   // "child", or "" for hawk's own
	shell       string   // of --completion
	record      string   // of --record-machine
	includeDirs []string
	includes    []string
	aot         string // the executable to write, "" for none
	emitELF     string // the file for the compiled object, "" for none
	emitIR      string // prefix of the files for the IR, "" for none
	aotRuntime  string // the executable of hawk to append to, "" for the one that runs
}

// stages is what -d takes besides the stages of a compile, and what the
// reference calls those.
var (
	loadStages   = []string{"verifier", "loader"}
	stageAliases = map[string]string{"codegen": "ir", "codegen-opt": "opt", "dis": "asm", "libbpf": "loader",
		"parse": "tree"}
)

// viewStage is the stage that shows what a script's data means.
const viewStage = "view"

// setMode chooses what the run is for; two options that choose differently are an error. The
// same choice twice is none too many, as of an alias and its option.
func (s *settings) setMode(m mode, option string) error {
	if s.modeOption != "" && s.mode != m {
		return usagef("USAGE: %s conflicts with existing %s", option, s.modeOption)
	}
	s.mode, s.modeOption = m, option
	return nil
}

// atOnce chooses a mode that ignores the rest of the command line. finish is not asked then, so
// that --help answers beside options that conflict.
func (s *settings) atOnce(m mode) error {
	s.mode, s.stop = m, true
	return nil
}

// setRecord has the machine be recorded in a directory.
func (s *settings) setRecord(dir string) error {
	s.record = dir
	return s.atOnce(modeRecord)
}

// setDebug reads the stages of -d, in bpftrace's names too. Stages add up over several options.
func (s *settings) setDebug(list string) error {
	if s.debug == nil {
		s.debug = map[string]bool{}
	}
	for name := range strings.SplitSeq(list, ",") {
		if to, ok := stageAliases[name]; ok {
			name = to
		}
		if !slices.Contains(debugStages(), name) {
			return usagef("USAGE: invalid option for -d: %s; valid ones are %s", name,
				strings.Join(debugStages(), ", "))
		}
		s.debug[name] = true
	}
	return nil
}

// wants reports whether -d asks for a stage.
func (s *settings) wants(stage string) bool { return s.debug[stage] || s.debug["all"] }

// setDuration reads a number with a unit, of seconds without one.
func (s *settings) setDuration(text string) error {
	d, err := period("--duration", text)
	s.duration = d
	return err
}

// period is the time that an option is given. One without a unit counts seconds.
func period(option, text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil {
		d, err = time.ParseDuration(text + "s")
	}
	if err != nil || d <= 0 {
		return 0, usagef("USAGE: invalid value for %s: %s; it is a time like 10s or 500ms", option, text)
	}
	return d, nil
}

// setEvents reads how many rows are wanted. 0 would be no limit, which nobody asks for by an
// option.
func (s *settings) setEvents(text string) (err error) {
	if s.events, err = strconv.ParseUint(text, 10, 64); err != nil || s.events == 0 {
		return usagef("USAGE: invalid value for --events: %s; it is a number of rows", text)
	}
	return nil
}

// setMatch reads what rows are to match. Which columns there are, the script says. The
// expression is compiled for its mistakes alone: it may begin with a column's name.
func (s *settings) setMatch(text string) error {
	if _, err := regexp.Compile(text); err != nil {
		return usagef("USAGE: invalid value for --match: %v", err)
	}
	s.match = append(s.match, text)
	return nil
}

// setMaxKeys reads how many keys a map has room for. The text is kept as it is, since it takes
// the place of a variable of the environment.
func (s *settings) setMaxKeys(text string) error {
	if n, err := strconv.ParseUint(text, 10, 32); err != nil || n == 0 || n > config.MostMapKeys {
		return usagef("USAGE: invalid value for --max-keys: %s; it is a number of keys, at most %d", text,
			config.MostMapKeys)
	}
	s.maxKeys = text
	return nil
}

// setMaxProbes reads how many probes a script may attach.
func (s *settings) setMaxProbes(text string) error {
	n, err := strconv.ParseUint(text, 10, 31)
	if err != nil || n == 0 {
		return usagef("USAGE: invalid value for --max-probes: %s; it is a number of probes", text)
	}
	s.maxProbes = int(n)
	return nil
}

// environment are the settings of the environment, and those that options stand for. --max-keys
// wins over the script as well, since the environment does.
func (s *settings) environment() (*config.Environment, error) {
	return config.ReadEnvironment(func(name string) (string, bool) {
		if name == "HAWK_MAX_MAP_KEYS" && s.maxKeys != "" {
			return s.maxKeys, true
		}
		return os.LookupEnv(name)
	})
}

// setMaxOverhead reads a percentage of one CPU; more than 100 is more than one.
func (s *settings) setMaxOverhead(text string) error {
	n, err := strconv.ParseFloat(strings.TrimSuffix(text, "%"), 64)
	if err != nil || !(n > 0) || n > 1e6 {
		return usagef("USAGE: invalid value for --max-overhead: %s; it is a percentage of one processor "+
			"like 5 or 0.5", text)
	}
	s.maxOverhead = n
	return nil
}

// maxPID is the largest the kernel can be configured for. It is PID_MAX_LIMIT on 64-bit
// machines.
const maxPID = 0x400000

// setPID reads the process of -p. Tools take several.
func (s *settings) setPID(text string) (err error) {
	first, rest, several := strings.Cut(text, ",")
	if several && s.tool == nil {
		return usagef("USAGE: -p takes one process here; tools take several")
	}
	s.pid, err = parsePID(first)
	// The last -p counts, as with other options.
	s.also = nil
	for several && err == nil {
		var pid int
		first, rest, several = strings.Cut(rest, ",")
		if pid, err = parsePID(first); pid != s.pid && !slices.Contains(s.also, pid) {
			s.also = append(s.also, pid)
		}
	}
	return err
}

// pids are the processes of -p.
func (s *settings) pids() []int {
	if s.pid == 0 {
		return nil
	}
	return append([]int{s.pid}, s.also...)
}

// addComm adds a pattern of --comm; a task has to match one of them.
func (s *settings) addComm(text string) error {
	comm, err := probe.ParseComm(text)
	if err != nil {
		return usagef("USAGE: invalid value for --comm: %v", err)
	}
	s.tasks.Comms = append(s.tasks.Comms, comm)
	return nil
}

// addUID adds a user of --uid, by name or number. A number need not be one of a user that the
// machine knows.
func (s *settings) addUID(text string) error {
	number, err := unit.User(text)
	if err != nil {
		return usagef("USAGE: invalid value for --uid: %v", err)
	}
	n, err := strconv.ParseUint(number, 10, 32)
	if err != nil {
		return usagef("USAGE: invalid value for --uid: %s is too large for the number of a user", number)
	}
	s.tasks.UIDs = append(s.tasks.UIDs, uint32(n))
	return nil
}

// maxDwarfPIDs bounds the processes that --dwarf-pid names.
const maxDwarfPIDs = 1024

// addDwarfPID adds a process whose stacks are prepared before the run, so that its first samples
// have them. Tables of a process that is not named here are made when it is first seen.
func (s *settings) addDwarfPID(text string) error {
	pid, err := parsePID(text)
	if err == nil && len(s.dwarfPIDs) == maxDwarfPIDs {
		err = usagef("--dwarf-pid can be given %d times at most", maxDwarfPIDs)
	}
	s.dwarfPIDs = append(s.dwarfPIDs, pid)
	return err
}

// addDebugDirs adds directories of separate debug files; each may be limited to a prefix of paths.
func (s *settings) addDebugDirs(list string) error {
	dirs, err := exe.DebugDirs(list)
	if err != nil {
		return usagef("USAGE: invalid value for --debuginfo: %v", err)
	}
	s.debugDirs = append(s.debugDirs, dirs...)
	return nil
}

// parsePID reads the number of a process, with bpftrace's words for what is none.
func parsePID(text string) (int, error) {
	n, err := strconv.ParseUint(text, 10, 64)
	switch {
	case err != nil:
		return 0, usagef("Failed to parse pid: invalid integer: %s\nHINT: a process is given by its number, as pgrep "+
			"prints it; --comm NAME chooses by name, -c COMMAND starts one", text)
	case n > maxPID:
		return 0, usagef("Pid out of range: %d\nHINT: no kernel has numbers of processes above %d", n, maxPID)
	case n == 0:
		return 0, usagef("Failed to parse pid: 0 is no process")
	}
	return int(n), nil
}

// setCommand refuses an empty command, which a script of the shell gets from a variable that is not
// set: without one the run would not end.
func (s *settings) setCommand(text string) error {
	if strings.TrimSpace(text) == "" {
		return usagef("USAGE: the command of -c is empty")
	}
	s.command = text
	return nil
}

// setNoFeature switches features of the kernel off, as if they were not there. So what an older
// kernel does can be tried on a newer one.
func (s *settings) setNoFeature(list string) error {
	if s.noFeature == nil {
		s.noFeature = map[string]bool{}
	}
	for name := range strings.SplitSeq(list, ",") {
		if !probe.IsFeature(name) {
			return usagef("USAGE: invalid feature for --no-feature: %s; valid ones are %s", name,
				strings.Join(probe.Features(), ", "))
		}
		s.noFeature[name] = true
	}
	return nil
}

// modes are the values of --mode. The words are bpftrace's.
var modes = []struct {
	name string
	mode mode
}{{"run", modeRun}, {"test", modeTest}, {"bench", modeBench}, {"format", modeFormat}, {"codegen",
	modeCompile}, {"compiler-bench", modeTime}}

// modeNames are the values of --mode for help and errors.
func modeNames() []string {
	var out []string
	for _, m := range modes {
		out = append(out, m.name)
	}
	return out
}

// debugStages are the names that -d takes.
func debugStages() []string {
	var out []string
	for _, st := range dump.Stages {
		out = append(out, st.Name)
	}
	return append(append(out, loadStages...), "all")
}

// setCompletion has the script for a shell be printed.
func (s *settings) setCompletion(shell string) error {
	if !slices.Contains(shells, shell) {
		return invalidValue("--completion", shell, shells)
	}
	s.shell = shell
	return s.atOnce(modeCompletion)
}

// setModeName chooses a mode by its name.
func (s *settings) setModeName(name string) error {
	for _, m := range modes {
		if m.name == name {
			return s.setMode(m.mode, "--mode")
		}
	}
	return invalidValue("--mode", name, modeNames())
}

// finish checks what single options cannot. Options may come in any order, so that conflicts are
// only known at the end. The words of several are bpftrace's, since its tests compare them.
func (s *settings) finish() error {
	if s.stop {
		return nil
	}
	if s.mode == modeRun && len(s.debug) == 1 && s.debug[viewStage] {
		s.mode = modeCompile // what a script means is asked without running it
	}
	switch {
	case s.warnings > 1:
		return usagef("USAGE: -kk has been deprecated. Use a single -k for runtime warnings for errors in map " +
			"lookups and probe reads.")
	case s.warnings > 0 && s.noWarnings:
		return usagef("USAGE: -k, --warnings conflicts with --no-warnings")
	case s.verbose > 1:
		return usagef("USAGE: -v can be given only once")
	case s.pid != 0 && s.command != "":
		return &usageError{"ERROR: USAGE: Cannot use both -c and -p.", true}
	case s.follow && s.pid == 0 && s.command == "":
		return usagef("USAGE: --follow goes with -p or -c")
	case s.exitStatus != "" && s.command == "":
		return usagef("USAGE: --exit-status child goes with -c")
	case s.aot != "" && s.warnings > 0:
		return usagef("USAGE: -k conflicts with --aot")
	case s.aot != "" && (s.cgroups != nil || s.containers != nil):
		return usagef("USAGE: --cgroup and --container conflict with --aot: their numbers are of this machine")
	case s.aot != "" && s.pid != 0:
		return usagef("USAGE: -p conflicts with --aot: the executable would trace that process only")
	case s.aot != "" && s.command != "":
		return usagef("USAGE: -c conflicts with --aot; give the command to the executable")
	case s.aot != "" && s.modeOption != "":
		return usagef("USAGE: %s conflicts with --aot", s.modeOption)
	case s.aotRuntime != "" && s.aot == "":
		return usagef("USAGE: --aot-runtime goes with --aot")
	case s.check && s.mode != modeFormat:
		return usagef("USAGE: --check goes with --fmt")
	case s.mode == modeList && len(s.operands) > 1:
		return &usageError{"ERROR: USAGE: -l takes one pattern", true}
	}
	return nil
}
