package load

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/hawktrace/hawk/internal/errno"
	"github.com/hawktrace/hawk/internal/object"
	"github.com/hawktrace/hawk/internal/source"
)

// Rejected is a program that the kernel refused.
type Rejected struct {
	Diag source.Diagnostic // at the place in the script that the verifier stopped at
	Log  string            // everything it said, "" if nothing
	Err  error             // the error of the system call
	// GaveUp: nothing is known to be wrong, but the verifier did not come to the
	// end of all paths through the program.
	GaveUp bool
	// Target is what the kernel has against the function that the program is to
	// follow, "" if nothing.
	Target string
}

// Error and Unwrap make a Rejected an error with that of the system call inside.
func (r *Rejected) Error() string { return r.Diag.Msg }
func (r *Rejected) Unwrap() error { return r.Err }

// rejected makes the diagnostic.
func (s *Session) rejected(p *object.Program, log string, err error) error {
	name := p.Group.Points[0].Name()
	r := &Rejected{Log: log, Err: err}
	d := &r.Diag
	d.Severity, d.Code, d.Span = source.Error, "not-loaded", p.At
	// The log ends with what is wrong; in front of it is what the verifier looked at, thousands
	// of lines.
	words := lastWords(log)
	if slot, ok := lastSlot(log); ok && len(words) > 0 {
		d.Span = spanAt(p, slot)
	}
	// The error of the system call comes before words: the log of a verifier that gave up ends
	// anywhere.
	if c := gaveUp(p, err); c != nil {
		d.Msg = fmt.Sprintf("the kernel refused the program for %s: %s", name, c.text)
		if r.GaveUp = c.gaveUp; c.gaveUp {
			blame(d, p)
		}
		d.Hint("%s", c.hint)
		return r
	}
	if blamesTarget(p, words, err) {
		return refusedTarget(r, p, words)
	}
	if len(words) == 0 {
		d.Msg = fmt.Sprintf("the kernel refused the program for %s: %s", name, errnoText(err))
		explainErrno(d, err)
		return r
	}
	last := words[len(words)-1]
	if k := known(last); k != nil {
		helper := helperOf(last)
		if helper == "" {
			helper = lastCall(log)
		}
		d.Msg = fmt.Sprintf("the kernel refused the program for %s: %s", name, k.message(last, helper))
		if r.GaveUp = k.gaveUp; k.gaveUp {
			blame(d, p)
		}
		if hint := helperHints[helper]; hint != "" && k.text == "" {
			d.Hint("%s", hint)
		} else {
			d.Advise(k.hint)
		}
		return r
	}
	d.Severity, d.Code = source.Bug, "refused-by-verifier"
	d.Msg = fmt.Sprintf("the kernel's verifier refused the program for %s (%s):\n  %s", name,
		errnoText(err), strings.Join(words, "\n  "))
	d.Hint("a script that compiles should load: this is a bug of hawk, please report it with the script, `uname " +
		"-r` and the output of -v")
	return r
}

// errnoText is an error by its number, which the kernel's sources can be searched for, and in
// words.
func errnoText(err error) string {
	if code := unix.Errno(0); errors.As(err, &code) {
		return fmt.Sprintf("error %d, %s", -int(code), errno.Text(int(code)))
	}
	return err.Error()
}

// explainErrno adds advice where the kernel gave an error but no words.
func explainErrno(d *source.Diagnostic, err error) {
	switch {
	case errors.Is(err, unix.EPERM), errors.Is(err, unix.EACCES):
		d.Hint("hawk needs CAP_BPF and CAP_PERFMON, or root")
		d.Hint("if it has them, this kernel does not let functions be traced this way (lockdown, or text patching " +
			"switched off): try another kind of probe")
	case errors.Is(err, unix.E2BIG):
		d.Hint("the program is too large for the kernel: make the script smaller, or split it")
	case errors.Is(err, unix.ENOMEM):
		d.Hint("there is not enough memory for the program")
	case errors.Is(err, unix.EMFILE), errors.Is(err, unix.ENFILE):
		d.Hint("%s", errno.Reason(err))
	case errors.Is(err, unix.EINVAL), errors.Is(err, unix.ENOENT):
		d.Hint("this kernel does not know what the program attaches to, or was built without it")
	}
}

// lastWords are the lines of a log that say what is wrong: those after the
// last instruction, without the summary.
func lastWords(log string) []string {
	var out []string
	for line := range strings.Lines(log) {
		line = strings.TrimSpace(line)
		switch {
		case line == "", strings.HasPrefix(line, "processed "), strings.HasPrefix(line, "verification time"),
			strings.HasPrefix(line, "stack depth"), strings.HasPrefix(line, ";"),
			strings.HasPrefix(line, "mark_precise:"), strings.HasPrefix(line, "from "):
			continue
		}
		if _, ok := slotOf(line); ok {
			out = out[:0]
			// Some words follow an instruction on its line.
			if c := known(line); c != nil {
				out = append(out, line[strings.Index(line, c.pattern):])
			}
			continue
		}
		out = append(out, line)
	}
	// More lines are of pointers' states, which say nothing to the author of a script.
	const most = 3
	return out[max(len(out)-most, 0):]
}

// slotOf reads the number that begins the line of an instruction or of its
// registers: "12: (85) call …", "12: R0=…".
func slotOf(line string) (int, bool) {
	number, rest, ok := strings.Cut(line, ": ")
	if !ok || rest == "" || rest[0] != '(' && rest[0] != 'R' {
		return 0, false
	}
	n, err := strconv.Atoi(number)
	return n, err == nil && n >= 0
}

// lastSlot is the instruction that the verifier looked at last, or, if it
// stopped before looking at any, the one it names.
func lastSlot(log string) (int, bool) {
	slot, found := 0, false
	for line := range strings.Lines(log) {
		if n, ok := slotOf(strings.TrimSpace(line)); ok {
			slot, found = n, true
		}
	}
	if found {
		return slot, true
	}
	for _, line := range lastWords(log) {
		if _, after, ok := strings.Cut(line, "insn "); ok {
			word, _, _ := strings.Cut(after, " ")
			if n, err := strconv.Atoi(word); err == nil {
				return n, true
			}
		}
	}
	return 0, false
}

// A complaint is a message of the verifier that means something to the author
// of a script.
type complaint struct {
	pattern string // part of the verifier's line
	text    string // what it means; "" to cite the helper it names
	hint    string
	gaveUp  bool // see Rejected
}

var complaints = []complaint{
	{"unknown func bpf_", "", "another kind of probe, or a newer kernel, may offer it", false},
	{"program of this type cannot use helper bpf_", "",
		"another kind of probe, or a newer kernel, may offer it", false},
	{"helper call is not allowed in probe", "", "another kind of probe, or a newer kernel, may offer it", false},
	{"combined stack size of", "it needs more stack than the kernel gives a program",
		"keep large variables in maps, or lower on_stack_limit", false},
	{"type=rcu_ptr_", "it hands on a pointer that the kernel vouches for only while it is followed",
		fromArgument, false},
	{"type=untrusted_ptr_", "it hands on a pointer that the kernel does not vouch for", fromArgument, false},
	tooMany,
	tooBranchy,
	{"infinite loop detected", "it contains a loop that the verifier cannot see the end of",
		"give the loop a fixed number of rounds", false},
}

const fromArgument = "a pointer that is itself an argument of the probe will do: look for a function that takes one"

// known finds what a line of the log means to the author of a script; nil: nothing that hawk knows.
func known(line string) *complaint {
	for i := range complaints {
		if strings.Contains(line, complaints[i].pattern) {
			return &complaints[i]
		}
	}
	return nil
}

const noKernelMemory = "the kernel keeps its memory to itself, as it does under lockdown in mode confidentiality: " +
	"a script can read the memory of programs then, and the fields of args"

// helperHints say where a helper is allowed that most probes may not call.
var helperHints = map[string]string{
	"probe_read_kernel":     noKernelMemory,
	"probe_read_kernel_str": noKernelMemory,
	"d_path": "the kernel lets few functions be asked for a path, among them security_file_open, " +
		"security_file_permission, vfs_truncate, vfs_fallocate, dentry_open, vfs_getattr and filp_close: " +
		"try fentry on one of them, or read the last part of the name: str(file.f_path.dentry.d_name.name)",
}

// message is what the complaint means; helper is the one it is about, "" if none.
func (c *complaint) message(line, helper string) string {
	switch {
	case c.text != "":
		return c.text + " (" + line + ")"
	case helper == "":
		return line
	}
	return fmt.Sprintf("helper bpf_%s not allowed in probe", helper)
}

// helperOf is the name of the helper that a line speaks of, without bpf_, "" if
// it names none.
func helperOf(line string) string {
	_, name, _ := strings.Cut(line, "bpf_")
	name, _, _ = strings.Cut(name, "#")
	name, _, _ = strings.Cut(name, " ")
	return name
}

// lastCall is the helper that the instruction calls which the verifier looked
// at last.
func lastCall(log string) string {
	name := ""
	for line := range strings.Lines(log) {
		if _, ok := slotOf(strings.TrimSpace(line)); ok {
			name = ""
			if _, call, ok := strings.Cut(line, " call bpf_"); ok {
				name = helperOf("bpf_" + strings.TrimSpace(call))
			}
		}
	}
	return name
}
