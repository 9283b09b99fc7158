package machine

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"
)

// Functions is the list of kernel functions that probes can be put on, less
// those known to be unsafe.
type Functions struct {
	// Fallback is why the kernel's own list could not be read, or not to its end, nil if it was. Names
	// of kallsyms, which stands in for it, may turn out to be refused.
	Fallback error

	blacklist map[string]bool

	// The kernel takes a microsecond and more for each line of its list, so that it is read as far as
	// questions need.
	mu    sync.Mutex
	open  func() (fs.File, error) // nil: text is all
	file  fs.File                 // what is read of; nil: closed, or read to its end
	text  []byte                  // whole lines, "name" or "name [module]"
	tail  int                     // bytes behind text that have been read, of a line that is not whole
	found map[string][]string     // what Modules said
	has   map[[2]string]bool      // what Has said
}

// ErrNoKprobes is returned when the kernel can neither list functions nor put
// probes on them.
var ErrNoKprobes = errors.New("this kernel has no kprobes (CONFIG_KPROBES)")

// FilterFunctions reads the list of traceable functions from tracefs, from
// kallsyms where the kernel has kprobes but no function tracing.
func (t *Machine) FilterFunctions() (*Functions, error) {
	return t.filter.get(func() (*Functions, error) {
		f, err := t.tracefsFunctions()
		if err == nil {
			return f, nil
		}
		if !t.HasKprobes() {
			return nil, fmt.Errorf("no list of traceable functions: %w; %w", err, ErrNoKprobes)
		}
		text, kerr := t.kallsymsText()
		if kerr != nil {
			return nil, fmt.Errorf("no list of traceable functions: %w; %w", err, kerr)
		}
		return &Functions{Fallback: err, text: text, blacklist: t.kprobeBlacklist()}, nil
	})
}

// tracefsFunctions reads the kernel's own list.
func (t *Machine) tracefsFunctions() (*Functions, error) {
	dir, err := t.Tracefs()
	if err != nil {
		return nil, err
	}
	l := &Functions{open: func() (fs.File, error) { return t.open(dir + "/available_filter_functions") }}
	switch _, err := l.more(); {
	case errors.Is(err, fs.ErrNotExist):
		return nil, errors.New("the kernel has no function tracing (CONFIG_FUNCTION_TRACER)")
	case errors.Is(err, fs.ErrPermission):
		return nil, fmt.Errorf("available_filter_functions: %w: function tracing is locked on this machine",
			errors.Unwrap(err))
	case err != nil:
		return nil, err
	}
	l.blacklist = t.kprobeBlacklist()
	t.reading.Store(l)
	return l, nil
}

// CloseLists closes lists that have been read only as far as was needed. A question that needs more
// opens them again.
func (t *Machine) CloseLists() {
	if l := t.reading.Load(); l != nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.close()
	}
}

// close forgets what a file was read of, which may have changed when it is opened again.
func (l *Functions) close() {
	if l.file != nil {
		l.file.Close()
		l.file, l.text, l.tail = nil, nil, 0
	}
}

// more reads on in the list, and reports whether there was anything to read. A list that cannot be
// read to its end is as if its file were not readable: what is not in it may be there.
func (l *Functions) more() (bool, error) {
	if l.open == nil {
		return false, nil
	}
	if l.file == nil {
		file, err := l.open()
		if err != nil {
			return false, err
		}
		l.file = file
	}
	const room = 64 << 10
	all := slices.Grow(l.text[:len(l.text)+l.tail], room)
	for end := min(len(all)+room, cap(all)); len(all) < end; {
		n, err := l.file.Read(all[len(all):end])
		all = all[:len(all)+n]
		if err == nil && len(all) > maxRecorded {
			err = fmt.Errorf("more than %d bytes", maxRecorded)
		}
		if err == nil {
			continue
		}
		l.close()
		l.open = nil
		if err == io.EOF {
			l.text = all
			return true, nil
		}
		l.Fallback = fmt.Errorf("available_filter_functions: %w", err)
		return false, l.Fallback
	}
	l.text = all[:bytes.LastIndexByte(all, '\n')+1]
	l.tail = len(all) - len(l.text)
	return true, nil
}

// all reads the list to its end.
func (l *Functions) all() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for more := true; more; {
		more, _ = l.more()
	}
}

// ReadFunctions reads a list in the format of available_filter_functions.
func (t *Machine) ReadFunctions(path string) (*Functions, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return &Functions{text: data, blacklist: t.kprobeBlacklist()}, nil
}

// HasKprobes reports whether probes can be put on kernel functions at all.
func (t *Machine) HasKprobes() bool {
	if t.Has(KprobePMU) == nil {
		return true
	}
	dir, err := t.Tracefs()
	if err != nil {
		return false
	}
	return t.stat(dir+"/kprobe_events") == nil
}

// kallsymsText is the text symbols of kallsyms in the format of the list.
func (t *Machine) kallsymsText() ([]byte, error) {
	f, err := t.open("/proc/kallsyms")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	out := make([]byte, 0, 4<<20)
	// The kernel writes the file as it is read, so that its size is not known.
	lines := bufio.NewScanner(f)
	lines.Buffer(make([]byte, 64<<10), 64<<10)
	for lines.Scan() {
		_, typ, name, module, ok := parseKallsym(lines.Bytes())
		if !ok || bytes.IndexByte([]byte("tTwW"), typ) < 0 || string(module) == "bpf" {
			continue
		}
		out = append(out, name...)
		if len(module) > 0 {
			out = append(out, " ["...)
			out = append(out, module...)
			out = append(out, ']')
		}
		out = append(out, '\n')
	}
	return out, lines.Err()
}

// kprobeBlacklist reads the functions the kernel refuses; nil where debugfs
// is not mounted.
func (t *Machine) kprobeBlacklist() map[string]bool {
	data, err := t.read("/sys/kernel/debug/kprobes/blacklist")
	if err != nil {
		return nil
	}
	out := make(map[string]bool)
	for line := range strings.SplitSeq(string(data), "\n") {
		// start-end<TAB>symbol[ [module]]
		if _, sym, ok := strings.Cut(line, "\t"); ok {
			name, _, _ := strings.Cut(sym, " ")
			out[name] = true
		}
	}
	return out
}

// Unsafe reports functions that must not be probed though the kernel lists
// them: probing them can hang the machine.
func Unsafe[T string | []byte](name T) bool {
	switch string(name) {
	case "arch_cpu_idle", "default_idle", "bpf_dispatcher_xdp_func":
		return true
	}
	return hasPrefix(name, "rcu_") || hasPrefix(name, "__ftrace_invalid_address__")
}

// hasPrefix serves strings and bytes, of which it copies none.
func hasPrefix[T string | []byte](s T, prefix string) bool {
	return len(s) >= len(prefix) && string(s[:len(prefix)]) == prefix
}

// Traceability is what the kernel says of probes on a function.
type Traceability uint8

// The answers.
const (
	Unknown    Traceability = iota
	Traceable               // the kernel lists it
	NoFunction              // there is no such function
	Forbidden               // it must not be probed
	NoTrace                 // it exists, and the kernel does not list it
)

// Traceability finds out why a function cannot be traced. It reads all symbols
// of the kernel if need be, which takes long.
func (t *Machine) Traceability(name string) Traceability {
	if t.kprobeBlacklist()[name] {
		return Forbidden
	}
	f, err := t.FilterFunctions()
	if err == nil && f.Has("", name) {
		return Traceable
	}
	text, kerr := t.kallsymsText()
	if kerr != nil {
		return Unknown
	}
	switch all := (&Functions{text: text}); {
	case !all.Has("", name):
		return NoFunction
	case err == nil && f.Fallback == nil:
		return NoTrace
	}
	return Unknown
}

// Each calls f for every function in the order of the list, the kernel's
// before those of modules (whose name is "" for the kernel), until it returns
// false. The slices are valid as long as f does not return.
func (l *Functions) Each(f func(name, module []byte) bool) {
	l.all()
	for line := range bytes.Lines(l.text) {
		name, module := splitFunction(bytes.TrimSuffix(line, []byte("\n")))
		if len(name) == 0 || Unsafe(name) || l.blacklist[string(name)] {
			continue
		}
		if !f(name, module) {
			return
		}
	}
}

// splitFunction takes a line of the list apart; module is nil for the kernel.
func splitFunction(line []byte) (name, module []byte) {
	name, rest, ok := bytes.Cut(line, []byte(" "))
	if ok && len(rest) > 2 && rest[0] == '[' && rest[len(rest)-1] == ']' {
		module = rest[1 : len(rest)-1]
	}
	return name, module
}

// never reports whether no list makes a function one for probes.
func (l *Functions) never(name string) bool { return name == "" || Unsafe(name) || l.blacklist[name] }

// Modules lists where a function is: "vmlinux" and names of modules, each once; none if it is not
// traceable. The list is searched as text, without an index: scripts ask for few names, though
// for each of them at every use of probe_exists(). The result is not to be changed.
func (l *Functions) Modules(name string) []string {
	if l.never(name) {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	modules, known := l.found[name]
	if !known {
		if l.found == nil {
			l.found = make(map[string][]string)
		}
		l.search(name, func(module string) bool {
			if len(modules) == 0 || modules[len(modules)-1] != module {
				modules = append(modules, module)
			}
			return true
		})
		l.found[name] = modules
	}
	return modules
}

// Has reports whether a function of a module is traceable; module is "" for
// any and "vmlinux" for the kernel.
func (l *Functions) Has(module, name string) bool {
	if l.never(name) {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	question := [2]string{module, name}
	has, known := l.has[question]
	if !known {
		if l.has == nil {
			l.has = make(map[[2]string]bool)
		}
		l.search(name, func(m string) bool {
			has = module == "" || m == module
			return !has
		})
		l.has[question] = has
	}
	return has
}

// search calls f for each module that the list has a function in, until it returns false.
func (l *Functions) search(name string, f func(module string) bool) {
	want := []byte(name)
	for from := 0; ; {
		i := bytes.Index(l.text[from:], want)
		if i < 0 {
			from = len(l.text)
			if more, _ := l.more(); !more {
				return
			}
			continue
		}
		at := from + i
		from = at + len(want)
		if at > 0 && l.text[at-1] != '\n' || from < len(l.text) && l.text[from] != '\n' && l.text[from] != ' ' {
			continue
		}
		line, _, _ := bytes.Cut(l.text[at:], []byte("\n"))
		module := "vmlinux"
		if _, m := splitFunction(line); m != nil {
			module = string(m)
		}
		if !f(module) {
			return
		}
	}
}
