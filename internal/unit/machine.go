package unit

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/hawktrace/hawk/internal/spell"
	"github.com/hawktrace/hawk/internal/syntax"
)

// signal is the bit of a signal, as in a sigset_t. Signals are given as numbers too, and
// real-time ones only so.
func signal(text string) (string, error) {
	n, _, err := syntax.ParseSigned(text)
	if name := strings.ToUpper(text); err != nil {
		if !strings.HasPrefix(name, "SIG") {
			name = "SIG" + name
		}
		n = uint64(unix.SignalNum(name))
	}
	if n == 0 || n > 64 {
		var names []string
		for n := syscall.Signal(1); n < 32; n++ {
			name := unix.SignalName(n)
			names = append(names, name, strings.TrimPrefix(name, "SIG"))
		}
		return "", near("\""+text+"\" is no signal like 9 or KILL", strings.ToUpper(text), names)
	}
	return strconv.FormatUint(1<<(n-1), 10), nil
}

// near is an error with the name that was probably meant, if one of names is like it.
func near(problem, name string, names []string) error {
	if n := spell.Nearest(name, names); n != "" {
		problem += "; did you mean " + n + "?"
	}
	return errors.New(problem)
}

// disk is the name of a disk among the block devices in a directory of sysfs; it may be
// given as a file of /dev. A partition is none: requests are the disk's. The directory is an
// argument for the sake of tests.
func disk(dir, text string) (string, error) {
	name := strings.ReplaceAll(strings.TrimPrefix(text, "/dev/"), "/", "!") // as sysfs spells cciss/c0d0
	entries, err := os.ReadDir(dir)
	if err != nil {
		return text, nil // nothing is known of disks
	}
	var disks []string
	for _, e := range entries {
		partition := filepath.Join(dir, e.Name(), "partition")
		_, err := os.Stat(partition)
		switch {
		case err != nil:
			disks = append(disks, e.Name())
		case e.Name() == name:
			// sysfs has the directory of a partition within that of its disk.
			disk, _ := filepath.EvalSymlinks(filepath.Join(dir, name))
			return "", fmt.Errorf("%s is a partition; requests are those of its disk, %s", name,
				filepath.Base(filepath.Dir(disk)))
		}
	}
	if !slices.Contains(disks, name) {
		return "", near("no disk is called \""+text+"\"", name, disks)
	}
	return strings.ReplaceAll(name, "!", "/"), nil
}

// device checks the name of a network device against the lists that the kernel has below root of each process's network
// namespace: packets of all are seen. In a container most processes are hidden, and any name is believed. No
// file is looked for in the root of a process, which may be a file system that does not answer.
func device(root, text string) error {
	processes, _ := filepath.Glob(root + "/proc/[0-9]*")
	seen := map[string]bool{}
	var names []string
	for _, dir := range append(processes, root+"/proc/self") {
		space, _ := os.Readlink(dir + "/ns/net")
		if seen[space] && !strings.HasSuffix(dir, "self") {
			continue
		}
		seen[space] = space != ""
		list, _ := os.ReadFile(dir + "/net/dev")
		names = nil
		for line := range strings.Lines(string(list)) {
			if name, _, ok := strings.Cut(line, ":"); ok {
				names = append(names, strings.TrimSpace(name))
			}
		}
		if slices.Contains(names, text) {
			return nil
		}
	}
	if second, _ := os.ReadFile(root + "/proc/2/comm"); string(second) != "kthreadd\n" {
		return nil
	}
	slices.Sort(names)
	return errors.New("no network device is called \"" + text + "\": there are " + strings.Join(names, ", "))
}

// modular are types of file systems that kernels load when the first of them is mounted, so that who waits for
// that may name them before.
var modular = []string{"9p", "bcachefs", "btrfs", "ceph", "cifs", "exfat", "f2fs", "fuse", "gfs2", "isofs", "jfs",
	"nfs", "nfs4", "ntfs3", "ocfs2", "overlay", "smb3", "udf", "vfat", "xfs", "zfs"}

// fileSystem checks the type of a file system against those that a file has which is written as
// /proc/filesystems is: a name at the end of each line. Of names as near to a wrong one that of a file system
// which is mounted is meant, as lines of the second file say in their third words.
func fileSystem(list, mounts, text string) (string, error) {
	data, err := os.ReadFile(list)
	if err != nil {
		return text, nil // nothing is known of file systems
	}
	var known []string
	mounted, _ := os.ReadFile(mounts)
	for line := range strings.Lines(string(mounted)) {
		if words := strings.Fields(line); len(words) > 2 {
			known = append(known, words[2])
		}
	}
	known = append(known, modular...)
	for line := range strings.Lines(string(data)) {
		known = append(known, strings.TrimSpace(line[strings.IndexByte(line, '\t')+1:]))
	}
	if slices.Contains(known, text) {
		return text, nil
	}
	if kind, what, ok := strings.Cut(text, "."); ok && slices.Contains(known, kind) {
		return "", fmt.Errorf("the kernel has %s for every %s, %s among them: give that", kind, kind, what)
	}
	return "", near("no file system is called \""+text+"\"", text, known)
}

// terminal is the number of a pseudo terminal or the name of another one, which may be given as a file of /dev.
// It need not be there, since containers have a /dev of their own.
func terminal(text string) (string, error) {
	name := strings.TrimPrefix(text, "/dev/")
	number, pseudo := strings.CutPrefix(name, "pts/")
	if _, err := strconv.ParseUint(number, 10, 31); err == nil && (pseudo || name == text) {
		return number, nil
	}
	if strings.HasPrefix(name, "tty") && !strings.Contains(name, "/") {
		return name, nil
	}
	return "", fmt.Errorf("\"%s\" is no terminal: these are called /dev/pts/3, 3 or ttyS0", text)
}

// cpu is the number of a CPU that a directory of sysfs has. Without sysfs any number is
// believed.
func cpu(dir, text string) (string, error) {
	n, err := strconv.ParseUint(text, 10, 31)
	if err != nil {
		return "", fmt.Errorf("\"%s\" is no number of a CPU", text)
	}
	name := strconv.FormatUint(n, 10)
	if _, err := os.Stat(dir); err == nil {
		if _, err := os.Stat(filepath.Join(dir, "cpu"+name)); err != nil {
			return "", fmt.Errorf("there is no CPU %s", name)
		}
	}
	return name, nil
}

// User is the number of a user, who may be named. A number need not be one of a user that
// the machine knows, as in containers.
func User(text string) (string, error) {
	if n, negative, err := syntax.ParseSigned(text); err == nil && !negative {
		return strconv.FormatUint(n, 10), nil
	}
	const list = "/etc/passwd"
	data, err := os.ReadFile(list)
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(data)) {
		fields := strings.Split(line, ":")
		if len(fields) > 2 && fields[0] == text {
			return fields[2], nil
		}
	}
	return "", errors.New("no user is called \"" + text + "\"")
}

// isNetwork reports whether a text is a network of IPv4, or one address of it.
func isNetwork(text string) bool {
	if net, err := netip.ParsePrefix(text); err == nil {
		return net.Addr().Is4()
	}
	a, err := netip.ParseAddr(text)
	return err == nil && a.Is4()
}
