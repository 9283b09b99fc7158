package machine

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// Files of a recording that are not the machine's own.
const (
	recordedNames    = "/uname"     // machine and release
	recordedFeatures = "/features"  // names of those that the kernel has
	refusedIterators = "/iterators" // names of those that the kernel takes no programs for
)

// Record writes to a new or empty directory what scripts are compiled by: the kernel's
// types, functions, symbols, tracepoints and features. Recorded reads it. It takes some
// ten megabytes and has addresses of the kernel in it, if this process may see them.
func (t *Machine) Record(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if there, err := os.ReadDir(dir); err != nil || len(there) > 0 {
		return errors.Join(err, fmt.Errorf("%s is not empty", dir))
	}
	r := recorder{t, dir, nil}
	names, err := t.names()
	if err != nil {
		return err
	}
	r.write(recordedNames, names[0]+" "+names[1]+"\n")
	var features, refused strings.Builder
	for _, f := range Features() {
		if t.Has(f) == nil {
			features.WriteString(f.Name + "\n")
		}
	}
	iterators, _ := t.iteratorNames()
	for _, object := range iterators {
		if _, err := t.Iterator(object); err != nil {
			refused.WriteString(object + "\n")
		}
	}
	r.write(recordedFeatures, features.String())
	r.write(refusedIterators, refused.String())
	for _, name := range [...]string{
		"/proc/modules", "/proc/kallsyms", "/proc/sys/kernel/perf_event_max_stack",
		"/sys/devices/system/cpu/possible", "/sys/devices/system/cpu/online",
		"/sys/kernel/debug/kprobes/blacklist", "/sys/kernel/security/lockdown", "/sys/kernel/notes",
	} {
		r.copy(name, name)
	}
	for _, name := range t.entries(ownTypes) {
		r.copy(ownTypes+"/"+name, ownTypes+"/"+name)
	}
	r.sources()
	r.tracing()
	return r.err
}

// A recorder writes files until the first error.
type recorder struct {
	t   *Machine
	dir string
	err error
}

func (r *recorder) write(name, text string) {
	if r.err != nil {
		return
	}
	path := filepath.Join(r.dir, filepath.FromSlash(name))
	if r.err = os.MkdirAll(filepath.Dir(path), 0o755); r.err == nil {
		r.err = os.WriteFile(path, []byte(text), 0o644)
	}
}

// copy takes a file along under a name; one that is not there, or that nobody lets us
// read, is left out.
func (r *recorder) copy(from, name string) {
	if r.err != nil {
		return
	}
	data, err := r.t.read(from)
	if err == nil {
		r.write(name, string(data))
	} else if !errors.Is(err, fs.ErrNotExist) && !isPermission(err) && !unreadable(err) {
		r.err = err
	}
}

// unreadable reports whether a file of sysfs has nothing to say.
func unreadable(err error) bool {
	return errors.Is(err, unix.EINVAL) || errors.Is(err, unix.EIO) || errors.Is(err, unix.ENODEV) ||
		errors.Is(err, unix.EISDIR) || errors.Is(err, unix.EOPNOTSUPP)
}

// sources takes along what event sources say of themselves.
func (r *recorder) sources() {
	for _, source := range r.t.entries(eventSources) {
		dir := eventSources + source
		for _, name := range []string{"type", "cpus", "cpumask"} {
			r.copy(dir+"/"+name, dir+"/"+name)
		}
		for _, part := range []string{"/format/", "/events/"} {
			for _, name := range r.t.entries(dir + part) {
				r.copy(dir+part+name, dir+part+name)
			}
		}
	}
}

// tracing takes along the tracepoints and the functions that can be traced.
func (r *recorder) tracing() {
	const to = "/sys/kernel/tracing"
	from, err := r.t.Tracefs()
	if err != nil {
		return
	}
	if r.t.stat(from+"/kprobe_events") == nil {
		r.write(to+"/kprobe_events", "")
	}
	r.copy(from+"/available_events", to+"/available_events")
	r.copy(from+"/available_filter_functions", to+"/available_filter_functions")
	events, _ := r.t.Events()
	for _, event := range events {
		category, name, _ := strings.Cut(event, ":")
		if !isEventName(category) || !isEventName(name) {
			continue
		}
		at := "/events/" + category + "/" + name
		for _, file := range []string{"/format", "/id"} {
			r.copy(from+at+file, to+at+file)
		}
	}
}

// CheckRecording reports why the files are no recording of a machine.
func (t *Machine) CheckRecording() error {
	if _, err := t.names(); err != nil {
		return err
	}
	_, err := t.read(recordedFeatures)
	return err
}
