// Package strace makes lines of system calls, in the words of strace(1), of what the script of
// the tool of that name sends: numbers, and copies of the memory that arguments point to. Which
// memory that is the same table says that decodes it. Calls of libraries, in the words of
// ltrace(1), are made of the same parts: library.go and what it names.
package strace

import (
	"embed"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/hawktrace/hawk/internal/arch"
	"github.com/hawktrace/hawk/internal/cdef"
	"github.com/hawktrace/hawk/internal/pack"
)

// calls.txt has a line for each system call: name, classes (a letter each, see classes), how
// each argument is shown, and behind "=" how the result is. A "!" behind an argument: the call
// writes it, so that it is shown when the call has succeeded; "^": it is read when the call
// begins; ":" what its length or its set of flags is; a "!" in front: that shows all that is left.
var callsText = sync.OnceValue(func() string { return table("calls.txt") })

// flags.txt has sets of constants in the order in which they are shown: NAME=VALUE, NAME alone of
// the constants that package cdef knows or, behind another number, one more than that. A word that
// begins with "/" is what is said of numbers that have no name, if that is not what all names begin
// with.
var flagsText = sync.OnceValue(func() string { return table("flags.txt") })

//go:generate go test -run TestPacked . -update

// packed are the files of tables.
//
//go:embed packed/calls.txt.z packed/flags.txt.z packed/functions.txt.z packed/structs.txt.z
var packed embed.FS

func table(name string) string { return pack.Text(packed, "packed/"+name+pack.Suffix) }

// A call is what is known of a system call.
type call struct {
	name    string
	classes string
	args    []arg
	result  string
	// How many there are if args does not tell; 0 before that is asked.
	registers int
}

// An arg is how an argument is shown.
type arg struct {
	kind   string
	param  string
	out    bool // written by the call
	early  bool // read when the call begins
	custom bool // shows all arguments that are left
}

// classes are the letters of calls.txt by the names that strace has for the sets.
const classes words = "" +
	" %file=f %process=p %network=n %net=n %signal=s %ipc=i %desc=d %memory=m %creds=c %clock=k %stat=S " +
	"%lstat=L %fstat=F %%stat=SLF %statfs=A %fstatfs=T %%statfs=AT %pure=P "

// words are words with a blank before and behind each, or NAME=VALUE.
// A map of them would be made by code in each run.
type words string

// has reports whether a word is one of them.
func (w words) has(word string) bool {
	return word != "" && strings.Contains(string(w), " "+word+" ")
}

// of is the value of a name, "" for none.
func (w words) of(name string) string {
	_, rest, _ := strings.Cut(string(w), " "+name+"=")
	value, _, _ := strings.Cut(rest, " ")
	return value
}

// find looks a call up; of one that is not in the table the arguments are numbers. strace shows
// six for calls that it does not know.
func find(name string) call {
	line, ok := entry(callsText(), name)
	if !ok {
		x := arg{kind: "x"}
		return call{name: name, args: []arg{x, x, x, x, x, x}}
	}
	words := strings.Fields(line)
	c := call{name: name, classes: words[0]}
	for _, w := range words[1:] {
		if result, ok := strings.CutPrefix(w, "="); ok {
			c.result = result
			continue
		}
		var a arg
		w, a.custom = strings.CutPrefix(w, "!")
		w, a.out = strings.CutSuffix(w, "!")
		w, a.early = strings.CutSuffix(w, "^")
		a.kind, a.param, _ = strings.Cut(w, ":")
		c.args = append(c.args, a)
	}
	return c
}

// A set is constants in the order in which they are shown.
type set []constant

// A constant is a name for a number of the kernel's interface.
type constant struct {
	name  string
	value uint64
	kind  string // of an attribute of netlink
}

// machines are the names that package cdef has for processors.
var machines = map[string]string{"amd64": "x86_64", "arm64": "aarch64"}

// loadSet reads a set of flags.txt for a processor.
func loadSet(name, goarch string) set {
	words, known := entry(flagsText(), name)
	if !known {
		words, _ = entry(netlinkText(), name)
	}
	var out set
	next := uint64(0)
	for word := range strings.FieldsSeq(words) {
		word, kind, _ := strings.Cut(word, ":")
		word, text, given := strings.Cut(word, "=")
		if given {
			next, _ = strconv.ParseUint(text, 0, 64)
		} else if v, ok := cdef.Constant(word, machines[goarch]); ok {
			next = v
		} else if word[0] == '/' {
			continue
		} else {
			next++
		}
		out = append(out, constant{word, next, kind})
	}
	return out
}

// compat is what the script adds to the numbers of calls of 32-bit programs. It is more than any
// table of a 64-bit processor has.
const compat = 2048

// number is the number of a call as the kernel has it. The script moves what is compat or more below all that
// is negative in itself.
func number(nr int) int {
	switch {
	case nr < math.MinInt32:
		return nr + 1<<32
	case nr >= compat:
		return nr - compat
	}
	return nr
}

// numbers are the calls of a processor by their numbers, with those of 32-bit programs behind them;
// "" where there is none. arm64 has 32-bit programs as well, whose calls hawk does not trace.
func numbers(goarch string) []string {
	names := slices.Clone(arch.SyscallNames(goarch))
	for i, name := range names {
		if other, ok := renamed[name]; ok {
			names[i] = other
		}
	}
	if goarch == "amd64" {
		names = append(names, make([]string, compat-len(names))...)
		for _, name := range arch.CompatNames(goarch) {
			names = append(names, strings.TrimSuffix(name, "@32"))
		}
	}
	return names
}

// same are the kinds of arguments that 32-bit programs have in the same form; beside them numbers.
const same = " path str rb wb hexb wbx xlist cwd fds intp intlist wstatus statx rlim64 utsname sockaddr sockaddrp " +
	"lenp pollfds epev epevs sigset dents64 caphdr capdata cpuset openhow ts tv d u lu x p fd at uid mode sig f X e " +
	"statx_at rem open mknod mmap mremap clone sub fcntl ioctl socket socketpair futex key " +
	"epctl hostname xval vec name shmflg ipcctl ioprio dev tz E keyid siglu swap mapfl openfl mount fanotify_init " +
	"kcmp fanfd memfd "

// find32 looks a call of a 32-bit program up: by its name, or that of the call that was given
// another number for wider arguments. What has another form there is an address. The letters at
// the end are those by which i386 has told newer calls from older ones.
func find32(name string) call {
	known := func(name string) bool { return strings.Contains("\n"+callsText(), "\n"+name+" ") }
	base := name
	for _, suffix := range []string{"_time64", "32", "64", "2"} {
		if cut, ok := strings.CutSuffix(name, suffix); ok && !known(base) && known(cut) {
			base = cut
		}
	}
	c := find(base)
	c.name = name
	wide := strings.HasSuffix(name, "time64")
	for i := range c.args {
		a := &c.args[i]
		switch {
		case a.kind == "ld" || a.kind == "off":
			a.kind = "d"
		case wide && (a.kind == "its" || a.kind == "tss"):
		case a.kind == "ts" && wide:
		case a.kind == "ts" || a.kind == "tv":
			a.kind += "32"
		case !strings.Contains(same, " "+a.kind+" "):
			*a = arg{kind: "p"}
		}
	}
	return c
}

// renamed are calls that strace knows by another name than hawk's tables.
var renamed = map[string]string{"getdents": "getdents", "sysctl": "_sysctl", "fstatat": "newfstatat"}
