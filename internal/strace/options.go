package strace

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/hawktrace/hawk/internal/dwarf"
)

// Options say what lines look like.
type Options struct {
	Arch    string
	Limit   int // of strings, -s
	Quoting quoting
	Verbose bool   // -v
	Style   string // -X: raw or verbose; "": constants by name
	Column  int    // of results, -a

	Times    int  // -t, -tt, -ttt
	Relative bool // -r
	// Digits behind the point of these, and of how long a call took.
	TimesDigits, RelativeDigits, TookDigits int
	Took                                    bool // -T

	Files    int      // -y: 1 paths of descriptors, 2 sockets and devices too
	Paths    []string // -P: only calls that are given one of these; nil: all
	Stacks   bool     // -k
	Pointer  bool     // -i
	Number   bool     // -n
	JSON     bool     // an object a line
	CSV      bool     // with JSON: a row made of each
	Separate string   // -ff: what the names of files begin with; "": one for all
	Append   bool     // -A: what these hold is kept

	ToFile  bool                                   // each line begins with the number of its thread
	Tight   bool                                   // these numbers are not padded
	Errors  bool                                   // --errors: a table of them behind the summary
	Last    int                                    // --last: so many lines of each thread alone; 0: all
	All     bool                                   // --all: every process
	Alone   bool                                   // --no-follow: none does
	NoHold  bool                                   // --no-hold: calls that wait are shown at once
	Quiet   int                                    // -q
	Least   int64                                  // --min, in nanoseconds
	Summary string                                 // summary-only (-c) or summary (-C); "": neither
	Sort    string                                 // -S: a column of the summary
	Columns []*column                              // -U: the summary's
	Names   func(call string) []string             // of the arguments, as the kernel has them; nil: none are known
	Debug   func(file string) (*dwarf.File, error) // information about a program; nil: there is none
	Threads []int                                  // that there are when tracing begins

	Filter
}

// Defaults are the options without any that are given, on a processor. 32 bytes of strings, and
// results in column 40, as strace has them.
func Defaults(goarch string) *Options {
	return &Options{Arch: goarch, Limit: 32, Column: 40, RelativeDigits: 6, TookDigits: 6}
}

// Read reads options of the command line, all values of each by its name. The order of options
// is lost in the map: those that depend on each other are settled at the end.
func (o *Options) Read(given map[string][]string) error {
	for name, values := range given {
		if on := o.flag(name); on != nil {
			*on = true
		} else if err := o.readOne(name, values); err != nil {
			return err
		}
	}
	if o.behind != nil { // -e decode-fds= names what is shown, whatever -y says
		o.Files = min(len(o.behind), 1)
		if slices.Contains(o.behind, "socket") || slices.Contains(o.behind, "dev") {
			o.Files = 2
		}
	}
	return nil
}

// flag is what an option switches on that has no value; nil of others.
func (o *Options) flag(name string) *bool {
	switch name {
	case "no-abbrev":
		return &o.Verbose
	case "stack-traces":
		return &o.Stacks
	case "instruction-pointer":
		return &o.Pointer
	case "syscall-number":
		return &o.Number
	case "no-hold":
		return &o.NoHold
	case "all":
		return &o.All
	case "errors":
		return &o.Errors
	}
	return nil
}

// readOne reads one option, all of its values. Those that are none of strace's are left alone.
func (o *Options) readOne(name string, values []string) (err error) {
	last := values[len(values)-1]
	switch name {
	case "expr":
		for _, v := range values {
			if err := o.Set(v, o.Arch); err != nil {
				return err
			}
		}
	case "trace", "signal", "status", "read", "write":
		return o.Set(name+"="+last, o.Arch)
	case "successful-only":
		return o.Set("status=successful", o.Arch)
	case "failed-only":
		return o.Set("status=failed", o.Arch)
	case "min":
		o.Least, err = strconv.ParseInt(last, 10, 64) // as readValue has written it
	case "string-limit":
		err = readNumber(name, values, 0, &o.Limit)
		o.Limit = min(o.Limit, longest)
	case "columns":
		return readNumber(name, values, 0, &o.Column)
	case "last":
		return readNumber(name, values, 1, &o.Last)
	case "const-print-style":
		if o.Style = ""; last != "abbrev" {
			o.Style = last
		}
	case "strings-in-hex":
		// -x and -xx are one option, given once and twice.
		o.Quoting = quoting(min(len(values), int(hexAll)))
	case "absolute-timestamps":
		o.TimesDigits = 0
		for _, v := range values {
			if v != "true" {
				if err := o.timestamps(v); err != nil {
					return err
				}
			} else if o.Times++; o.Times > 1 {
				o.TimesDigits = 6
			}
		}
	case "relative-timestamps":
		o.Relative = true
		o.RelativeDigits, err = precision(last)
	case "syscall-times":
		o.Took = true
		o.TookDigits, err = precision(last)
	case "summary-only", "summary":
		// -c wins over -C, whichever comes first.
		if o.Summary != "summary-only" {
			o.Summary = name
		}
	case "summary-sort-by":
		return o.sortBy(last)
	case "summary-columns":
		o.Columns, err = readColumns(last)
	case "decode-fds":
		n, err := o.counted(name, values)
		o.Files = min(o.Files+n, 2)
		return err
	case "quiet":
		n, err := o.counted(name, values)
		o.Quiet += n
		return err
	case "trace-path":
		o.Paths = values
		for _, path := range values { // of descriptors, paths are whole
			if whole, err := filepath.Abs(path); err == nil {
				real, _ := filepath.EvalSymlinks(whole)
				o.Paths = append(o.Paths, whole, real)
			}
		}
	}
	return err
}

// counted is how often an option is given without a value. With one it names a set.
func (o *Options) counted(name string, values []string) (n int, err error) {
	for _, v := range values {
		if v == "true" {
			n++
		} else if err == nil {
			err = o.Set(name+"="+v, o.Arch)
		}
	}
	return n, err
}

// sortBy sorts the summary by a column.
func (o *Options) sortBy(text string) error {
	if c := findColumn(text); c != nil {
		o.Sort = c.name
	} else if o.Sort = "nothing"; text != "nothing" && text != "none" {
		return fmt.Errorf("cannot sort by %s; there are %s and nothing", text, columnNames())
	}
	return nil
}

// Valued are options that are counted as letters, and name a set as --NAME=SET.
var Valued = []string{"decode-fds", "quiet", "absolute-timestamps", "relative-timestamps", "syscall-times"}

// timestamps reads a form of time, a precision or both.
func (o *Options) timestamps(text string) (err error) {
	o.Times = max(o.Times, 1)
	for word := range strings.SplitSeq(text, ",") {
		switch strings.TrimPrefix(word, "format:") {
		case "none":
			o.Times = 0
		case "time":
			o.Times = 1
		case "unix":
			o.Times = 3
		default:
			if o.TimesDigits, err = precision(word); err != nil {
				return fmt.Errorf("%w, and time, unix and none", err)
			}
		}
	}
	return nil
}

// precision is how many digits of a second a word asks for.
// An option without a word has the usual ones.
func precision(word string) (digits int, err error) {
	word = strings.TrimPrefix(word, "precision:")
	for i, unit := range []string{"s", "ms", "us", "ns"} {
		if word == unit {
			return 3 * i, nil
		}
	}
	if word != "true" {
		err = fmt.Errorf("no time is told in %s; there are s, ms, us, ns", word)
	}
	return 6, err
}

// longest is how many bytes of a string are copied at most.
const longest = 4000

// whole reports whether a call can be begun before it returns: it will be shown, whatever it comes
// to, and as a line. A line that was begun cannot be taken back.
func (o *Options) whole() bool {
	return o.status == nil && o.Least == 0 && o.Paths == nil && !o.JSON && o.Separate == ""
}

// talks reports whether a call is traced that sends messages or receives them. Reading which
// protocol a socket has costs every call something.
func (o *Options) talks() bool {
	for _, name := range []string{"sendto", "recvfrom", "sendmsg", "recvmsg"} {
		if o.Traced(name, find(name).classes) {
			return true
		}
	}
	return false
}

// Script are the options that the script has, by name; command: one is run. The script has each
// as a switch, so that what nobody asked for costs nothing in the kernel.
func (o *Options) Script(command bool) map[string][]string {
	limit := o.Limit
	if o.Dumps() { // buffers in arrays are no longer than this
		limit = longest
	}
	given := map[string][]string{"string-limit": {strconv.Itoa(limit)}}
	// A process that runs already may be in a call, whose beginning was not seen.
	if !command && o.Summary != "summary-only" {
		given["waiting"] = []string{"true"}
	}
	// Paths are compared by user space, and so are needed for -P as well.
	if o.Files > 0 || o.Paths != nil {
		given["decode-fds"] = []string{[]string{"paths", "paths", "all"}[o.Files]}
	}
	if o.Stacks {
		given["stack-traces"] = []string{"true"}
	}
	if o.Verbose || o.abbrev != nil {
		given["no-abbrev"] = []string{"true"}
	}
	if o.Pointer {
		given["instruction-pointer"] = []string{"true"}
	}
	if o.Summary != "summary-only" && o.whole() {
		given["waits"] = []string{"true"}
	}
	if o.JSON {
		given["comm"] = []string{"true"}
	}
	if o.All { // hawk's own calls would be shown by more of them, without end
		given["but"] = []string{strconv.Itoa(os.Getpid())}
	}
	if o.Alone && command {
		given["alone"] = []string{"true"}
	}
	if NetlinkDecoded && o.Summary != "summary-only" && o.talks() {
		given["netlink"] = []string{"true"}
	}
	if o.Some() {
		given["trace"] = []string{"some"}
	}
	if o.Summary != "" {
		given[o.Summary] = []string{"true"}
		if o.Errors {
			given["errors"] = []string{"true"}
		}
		if o.extremes() {
			given["extremes"] = []string{"true"}
		}
	}
	return given
}

// ThreadsOf are the threads of a process. A process whose threads cannot be listed is taken for
// one of a single thread.
func ThreadsOf(pid int) (tids []int) {
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		return []int{pid}
	}
	for _, e := range entries {
		if tid, err := strconv.Atoi(e.Name()); err == nil {
			tids = append(tids, tid)
		}
	}
	return tids
}
