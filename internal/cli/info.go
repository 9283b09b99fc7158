package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/hawktrace/hawk/internal/errno"
	"github.com/hawktrace/hawk/internal/machine"
)

// A section is a part of --info. Keys and names are an interface: programs read them, and
// bpftrace's tests do.
type section struct {
	title   string
	key     string // in JSON
	columns bool   // two items a line in text
	items   []item
}

// An item is a fact: a text, a number, or whether something is there and, if
// not, why.
type item struct {
	name  string
	value any    // string, int or bool; nil: not to be known without privileges
	why   string // of false and nil
}

// info is --info: what this kernel offers, in lines that scripts grep or as
// one JSON object.
func (c *command) info() int {
	// Under lockdown the kernel's answers about programs would be those of the lock.
	if err := c.machine.LockedDown(); err != nil {
		return c.fail(exitUsage, err)
	}
	if err := c.machine.Privileges(); err != nil {
		c.warn(errno.Message(err) + " What the kernel does not tell is unknown.")
	}
	sections := c.facts()
	if c.json() {
		return c.tell(infoJSON(sections))
	}
	var b strings.Builder
	for i := range sections {
		if i > 0 {
			b.WriteByte('\n')
		}
		sections[i].write(&b)
	}
	return c.tell(b.String())
}

// facts asks the kernel what it has, in the sections and words in which bpftrace --info lists it.
func (c *command) facts() []section {
	// reason is why a feature is not there, --no-feature included.
	reason := func(f *machine.Feature) error {
		if c.noFeature[f.Name] {
			return errors.New("switched off")
		}
		return c.machine.Has(f)
	}
	has := func(f *machine.Feature) any { return c.answer(reason(f)) }
	_, btfErr := c.machine.BTF()
	_, iterErr := c.machine.Iterator("task")
	_, traceErr := c.machine.Tracefs()
	system := section{title: "System", key: "system"}
	var u unix.Utsname
	if err := unix.Uname(&u); err == nil {
		os := []string{unix.ByteSliceToString(u.Sysname[:]), unix.ByteSliceToString(u.Release[:]),
			unix.ByteSliceToString(u.Version[:])}
		system.items = []item{{name: "OS", value: strings.Join(os, " ")},
			{name: "Arch", value: unix.ByteSliceToString(u.Machine[:])}}
	}
	tracing := section{title: "Tracing", key: "tracing", items: []item{c.because("tracefs", traceErr)}}
	for _, f := range machine.Features() {
		tracing.items = append(tracing.items, c.because(f.Name, reason(f)))
	}
	return []section{
		system,
		{title: "Build", key: "build", items: []item{
			{name: "version", value: Version},
			{name: "go", value: runtime.Version()},
			{name: "arch", value: runtime.GOARCH},
			// The line is bpftrace's; hawk reads DWARF without that library.
			{name: "libdw (DWARF support)", value: true},
		}},
		{title: "Kernel helpers", key: "kernel_helpers", columns: true, items: []item{
			// A program may ask for the path of a file from fentry probes only,
			// which are younger than the helper on every kernel hawk runs on.
			{name: "dpath", value: has(machine.Fentry)},
			{name: "get_tai_ns", value: has(machine.KtimeTAI)},
			{name: "get_func_ip", value: has(machine.GetFuncIP)},
			{name: "lookup_percpu_elem", value: has(machine.MapLookupPerCPU)},
			{name: "loop", value: has(machine.BPFLoop)},
		}},
		{title: "Kernel features", key: "kernel_features", columns: true, items: []item{
			// The verifier has had this limit since Linux 5.2, for those who may load anything.
			{name: "Instruction limit", value: 1000000},
			{name: "btf", value: btfErr == nil},
			{name: "module btf", value: btfErr == nil && len(c.machine.BTFModules()) > 0},
		}},
		{title: "Probe types", key: "probe_types", columns: true, items: []item{
			{name: "kprobe_multi", value: has(machine.KprobeMulti)},
			{name: "uprobe_multi", value: has(machine.UprobeMulti)},
			{name: "kprobe_session", value: has(machine.KprobeSession)},
			{name: "iter", value: c.answer(iterErr)},
		}},
		tracing,
	}
}

// answer is whether there is no error, or nil where the error is that this
// process may not ask.
func (c *command) answer(err error) any {
	if err != nil && (errors.Is(err, unix.EPERM) || errors.Is(err, unix.EACCES)) && c.machine.Privileges() != nil {
		return nil
	}
	return err == nil
}

// because is an item that is there unless there is an error. The words of an Unsupported name
// the feature, which the item does already.
func (c *command) because(name string, err error) item {
	i := item{name: name, value: c.answer(err)}
	if u, ok := errors.AsType[*machine.Unsupported](err); ok {
		err = u.Err
	}
	if err != nil {
		i.why = errno.Message(err)
	}
	return i
}

// String is an item in text: yes, no or unknown with the reason, or the value.
func (i item) String() string {
	switch v := i.value.(type) {
	case bool:
		if v {
			return i.name + ": yes"
		}
		if i.why != "" {
			return i.name + ": no (" + i.why + ")"
		}
		return i.name + ": no"
	case nil:
		if i.why != "" {
			return i.name + ": unknown (" + i.why + ")"
		}
		return i.name + ": unknown"
	}
	return fmt.Sprintf("%s: %v", i.name, i.value)
}

// write prints a section; in columns, the second begins at column 35.
func (s *section) write(b *strings.Builder) {
	b.WriteString(s.title + "\n")
	for i, it := range s.items {
		switch {
		case s.columns && i%2 == 0 && i < len(s.items)-1:
			fmt.Fprintf(b, "  %-33s", it)
		case s.columns && i%2 == 1:
			b.WriteString(it.String() + "\n")
		default:
			b.WriteString("  " + it.String() + "\n")
		}
	}
}

// infoJSON is one object on one line, in the order of the text. Reasons stand
// in an object of their own. Marshalling a map would sort the names.
func infoJSON(sections []section) string {
	var b strings.Builder
	text := func(v any) string {
		raw, err := json.Marshal(v)
		if err != nil {
			return "null" // texts, numbers and truths have a form
		}
		return string(raw)
	}
	whys := section{key: "reasons"}
	for _, s := range sections {
		for _, it := range s.items {
			if it.why != "" {
				whys.items = append(whys.items, item{name: it.name, value: it.why})
			}
		}
	}
	b.WriteByte('{')
	for i, s := range append(sections, whys) {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(text(s.key) + ": {")
		for j, it := range s.items {
			if j > 0 {
				b.WriteString(", ")
			}
			b.WriteString(text(it.name) + ": " + text(it.value))
		}
		b.WriteByte('}')
	}
	return b.String() + "}\n"
}
