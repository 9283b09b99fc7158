package machine

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Tracefs is the directory of the trace file system. Where none is mounted,
// hawk makes a mount that only it can see: a detached one, reached through
// its descriptor, that ends with the process.
func (t *Machine) Tracefs() (string, error) {
	return t.tracing.get(func() (string, error) {
		for _, dir := range [...]string{"/sys/kernel/tracing", "/sys/kernel/debug/tracing"} {
			if t.isTracefs(dir) {
				return dir, nil
			}
		}
		if !t.Live() {
			return "", errors.New("no tracefs was recorded")
		}
		if dir := t.mountedTracefs(); dir != "" {
			return dir, nil
		}
		dir, err := t.mountTracefs()
		if err != nil {
			return "", fmt.Errorf("tracefs is not mounted and hawk cannot mount it (mount -t tracefs tracefs "+
				"/sys/kernel/tracing): %w", err)
		}
		return dir, nil
	})
}

func (t *Machine) isTracefs(dir string) bool {
	err := t.stat(dir + "/events")
	return err == nil || errors.Is(err, fs.ErrPermission)
}

// mountedTracefs looks for a mount at an unusual place.
func (t *Machine) mountedTracefs() string {
	data, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return ""
	}
	for line := range strings.SplitSeq(string(data), "\n") {
		// ID parent major:minor root mountpoint options … - type source options
		before, after, ok := strings.Cut(line, " - ")
		fields := strings.Fields(before)
		if !ok || !strings.HasPrefix(after, "tracefs ") || len(fields) < 5 {
			continue
		}
		if dir := UnescapeMount(fields[4]); t.isTracefs(dir) {
			return dir
		}
	}
	return ""
}

// UnescapeMount undoes the octal escapes of mountinfo.
func UnescapeMount(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(n))
				i += 3
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

func (t *Machine) mountTracefs() (string, error) {
	fsfd, err := unix.Fsopen("tracefs", unix.FSOPEN_CLOEXEC)
	if err != nil {
		return "", fmt.Errorf("fsopen: %w", err)
	}
	defer unix.Close(fsfd)
	if err := unix.FsconfigCreate(fsfd); err != nil {
		return "", fmt.Errorf("fsconfig: %w", err)
	}
	mnt, err := unix.Fsmount(fsfd, unix.FSMOUNT_CLOEXEC, unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV|
		unix.MOUNT_ATTR_NOEXEC)
	if err != nil {
		return "", fmt.Errorf("fsmount: %w", err)
	}
	dir := "/proc/self/fd/" + strconv.Itoa(mnt)
	if !t.isTracefs(dir) {
		unix.Close(mnt)
		if t.stat("/proc/self/fd") != nil {
			return "", errors.New("/proc is not mounted, by which it would reach a mount of its own")
		}
		return "", errors.New("a fresh tracefs has no events directory")
	}
	t.mount = os.NewFile(uintptr(mnt), "tracefs") // it is the mount, as long as it is open
	return dir, nil
}

// Events lists all tracepoints as "category:event", sorted.
func (t *Machine) Events() ([]string, error) {
	return t.events.get(func() ([]string, error) {
		dir, err := t.Tracefs()
		if err != nil {
			return nil, err
		}
		data, err := t.read(dir + "/available_events")
		if err != nil {
			return nil, err
		}
		out := make([]string, 0, bytes.Count(data, []byte("\n")))
		for line := range strings.SplitSeq(string(data), "\n") {
			if strings.Contains(line, ":") {
				out = append(out, line)
			}
		}
		slices.Sort(out)
		return out, nil
	})
}

// HasEvent reports whether a tracepoint exists, looking at its directory
// only.
func (t *Machine) HasEvent(category, event string) (bool, error) {
	dir, err := t.Tracefs()
	if err != nil {
		return false, err
	}
	if !isEventName(category) || !isEventName(event) {
		return false, nil
	}
	err = t.stat(dir + "/events/" + category + "/" + event + "/format")
	switch {
	case err == nil:
		return true, nil
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	}
	return false, err
}

// isEventName keeps paths inside of the events directory.
func isEventName(s string) bool {
	return s != "" && s[0] != '.' && !strings.ContainsAny(s, "/\x00")
}

// ErrNoEvent is returned for a tracepoint that does not exist.
var ErrNoEvent = errors.New("no such tracepoint")

// TracepointID is the number that perf_event_open takes.
func (t *Machine) TracepointID(category, event string) (int, error) {
	f, err := t.eventFile(category, event, "id")
	if err != nil {
		return 0, err
	}
	id, err := strconv.Atoi(strings.TrimSpace(string(f)))
	if err != nil {
		return 0, fmt.Errorf("id of tracepoint %s:%s: %w", category, event, err)
	}
	return id, nil
}

func (t *Machine) eventFile(category, event, name string) ([]byte, error) {
	dir, err := t.Tracefs()
	if err != nil {
		return nil, err
	}
	if !isEventName(category) || !isEventName(event) {
		return nil, fmt.Errorf("%s:%s: %w", category, event, ErrNoEvent)
	}
	read := readMade
	if !t.Live() {
		read = t.read
	}
	data, err := read(dir + "/events/" + category + "/" + event + "/" + name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s:%s: %w", category, event, ErrNoEvent)
	}
	return data, err
}

// readMade reads a file that the kernel makes up as it is read: such a file has
// no size, and nobody waits for it. There are thousands, and os.ReadFile makes
// three times as many system calls.
func readMade(path string) ([]byte, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	defer unix.Close(fd)
	data := make([]byte, 0, 4096)
	for {
		if len(data) == cap(data) {
			data = slices.Grow(data, cap(data))
		}
		n, err := unix.Read(fd, data[len(data):cap(data)])
		switch {
		case err == unix.EINTR:
		case err != nil:
			return nil, &fs.PathError{Op: "read", Path: path, Err: err}
		case n == 0:
			return data, nil
		default:
			data = data[:len(data)+n]
		}
	}
}
