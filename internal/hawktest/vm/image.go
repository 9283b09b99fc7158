package vm

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/hawktrace/hawk/internal/hawktest/deb"
	"github.com/hawktrace/hawk/internal/hawktest/files"
)

// basePrograms are the host's programs that the root of a machine has; busybox stands in for all
// others. Those that the host lacks are left out.
var basePrograms = []string{
	"bash", "sh", "cat", "cp", "cut", "date", "dd", "echo", "env", "false", "find", "grep", "head",
	"id", "kill", "ls", "mkdir", "mount", "mv",
	"nice", "nproc", "od", "perl", "ps", "python3", "rm", "sed", "seq", "setpriv", "sleep", "sort",
	"stat", "sync", "tail", "taskset", "timeout", "touch", "tr",
	"true", "umount", "uname", "unshare", "wc", "xargs",
}

// baseFiles are files and directories of the host that programs there need.
var baseFiles = []string{
	"/etc/group", "/etc/nsswitch.conf", "/etc/passwd", "/usr/lib/locale/C.utf8",
	"/usr/lib/terminfo/l/linux", "/usr/lib/terminfo/v/vt100",
	"/usr/lib/terminfo/x/xterm", "/usr/lib/terminfo/x/xterm-256color",
	"/usr/lib/x86_64-linux-gnu/perl-base", "/usr/share/zoneinfo/Etc/UTC",
}

// pythonOmit are beginnings of names in Python's library that the image goes without: big, and of
// no use to a traced script.
var pythonOmit = []string{"config-", "dist-packages", "ensurepip", "idlelib", "lib2to3", "pydoc_data",
	"test", "tkinter", "turtledemo", "unittest"}

// baseImage returns the disk that holds the programs of a machine, making it if the cache has none:
// the host's programs as they are, or Debian's packages for a machine of another architecture.
func baseImage(cache, arch string) (string, error) {
	if arch != runtime.GOARCH {
		return debianImage(cache, arch)
	}
	var paths []string
	for _, name := range basePrograms {
		// The system's own programs, not what a version manager put before them in PATH.
		for _, dir := range []string{"/usr/bin/", "/bin/", "/usr/sbin/", "/sbin/"} {
			if _, err := os.Stat(dir + name); err == nil {
				paths = append(paths, dir+name)
				break
			}
		}
	}
	busybox, err := exec.LookPath("busybox")
	if err != nil {
		return "", errors.New("busybox is not installed (package busybox-static)")
	}
	paths = append(paths, busybox)
	libraries, err := libraries(paths)
	if err != nil {
		return "", err
	}
	paths = append(paths, libraries...)

	key := sha256.New()
	fmt.Fprintln(key, "layout 1", baseFiles, pythonOmit)
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			return "", err
		}
		fmt.Fprintln(key, path, info.Size(), info.ModTime().UnixNano())
	}
	return rootImage(cache, key, func(dir string) error {
		for _, path := range paths {
			if err := files.Copy(path, filepath.Join(dir, path)); err != nil {
				return err
			}
		}
		for _, path := range baseFiles {
			if err := files.CopyTree(path, filepath.Join(dir, path), nil); err != nil &&
				!errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
		pythons, _ := filepath.Glob("/usr/lib/python3.[0-9]*")
		for _, path := range pythons {
			if err := files.CopyTree(path, filepath.Join(dir, path), omitted(pythonOmit)); err != nil {
				return err
			}
		}
		return busyboxLinks(busybox, filepath.Join(dir, "usr/bin"))
	})
}

// debianPackages have what basePrograms and baseFiles ask for.
var debianPackages = []string{
	"base-passwd", "bash", "busybox-static", "coreutils", "findutils", "grep", "libc-bin", "libstdc++6",
	"mount", "ncurses-base", "netbase", "perl-base", "procps",
	"python3-minimal", "libpython3-stdlib", "sed", "tzdata", "util-linux",
}

// debianOmit are beginnings of names that an image made of packages goes without.
var debianOmit = []string{"doc", "gconv", "man"}

// imageSuite is the newest stable release of Debian: its C library runs what the compilers of this
// release and of those before link with their own.
const imageSuite = "trixie"

// debianImage makes a disk of Debian's packages.
func debianImage(cache, arch string) (string, error) {
	suite, err := deb.OpenFor(imageSuite, arch)
	if err != nil {
		return "", err
	}
	root, err := suite.Install(debianPackages...)
	if err != nil {
		return "", err
	}
	key := sha256.New()
	fmt.Fprintln(key, "layout 1", root, debianOmit)
	return rootImage(cache, key, func(dir string) error {
		for _, top := range []string{"etc", "usr"} {
			if err := files.CopyTree(filepath.Join(root, top), filepath.Join(dir, top),
				omitted(debianOmit)); err != nil {
				return err
			}
		}
		// The package's own scripts, which do not run here, would do this.
		for _, name := range []string{"group", "passwd"} {
			if err := files.Copy(filepath.Join(root, "usr/share/base-passwd", name+".master"),
				filepath.Join(dir, "etc", name)); err != nil {
				return err
			}
		}
		if err := os.Symlink("bash", filepath.Join(dir, "bin/sh")); err != nil {
			return err
		}
		// Its own list of programs is no use: it does not run here. The host's busybox is of the
		// same kind.
		busybox, err := exec.LookPath("busybox")
		if err != nil {
			return errors.New("busybox is not installed (package busybox-static)")
		}
		return busyboxLinks(busybox, filepath.Join(dir, "usr/bin"))
	})
}

// omitted recognises names that begin as one of a list does.
func omitted(beginnings []string) func(name string) bool {
	return func(name string) bool {
		return slices.ContainsFunc(beginnings, func(p string) bool { return strings.HasPrefix(name, p) })
	}
}

// rootImage returns the image of a root in the cache for a key, letting fill add files to the empty
// root if it has to be made.
func rootImage(cache string, key hash.Hash, fill func(dir string) error) (string, error) {
	final := filepath.Join(cache, fmt.Sprintf("base-%x.ext4", key.Sum(nil)[:8]))
	if _, err := os.Stat(final); err == nil {
		return final, nil
	}
	dir, err := os.MkdirTemp(cache, "base")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	for _, d := range []string{"usr/bin", "usr/sbin", "usr/lib", "usr/lib64", "usr/local/bin", "etc",
		"root", "var/tmp", "dev", "proc", "sys", "tmp", "run"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			return "", err
		}
	}
	for _, d := range []string{"bin", "sbin", "lib", "lib64"} {
		if err := os.Symlink("usr/"+d, filepath.Join(dir, d)); err != nil {
			return "", err
		}
	}
	if err := fill(dir); err != nil {
		return "", err
	}
	return final, makeImage(dir, final)
}

// busyboxLinks adds a link for each of busybox's programs that dir does not have.
func busyboxLinks(busybox, dir string) error {
	out, err := exec.Command(busybox, "--list").Output()
	if err != nil {
		return fmt.Errorf("listing busybox: %w", err)
	}
	for _, name := range strings.Fields(string(out)) {
		if err := os.Symlink(busybox, filepath.Join(dir, name)); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return nil
}

// libraries lists the files that the dynamic loader would map for any of the programs, the loader
// included.
func libraries(programs []string) ([]string, error) {
	// ldd fails when one of its operands is static, but says all about the others.
	out, err := exec.Command("ldd", programs...).Output()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		return nil, fmt.Errorf("listing shared libraries: %w", err)
	}
	var found []string
	for line := range strings.Lines(string(out)) {
		path, _, ok := strings.Cut(line, " (0x")
		if _, right, arrow := strings.Cut(path, "=>"); arrow {
			path = right
		}
		if path = strings.TrimSpace(path); ok && strings.HasPrefix(path, "/") && !slices.Contains(found, path) {
			found = append(found, path)
		}
	}
	slices.Sort(found)
	return found, nil
}

// makeImage makes a file system image with the files of dir. It appears under its name only when it
// is complete.
func makeImage(dir, name string) error {
	var bytes, files int64
	err := filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		bytes += (info.Size() + 4095) &^ 4095
		files++
		return nil
	})
	if err != nil {
		return err
	}
	mke2fs, err := findSystem("mke2fs")
	if err != nil {
		return err
	}
	size := fmt.Sprintf("%dk", bytes*9/8>>10+files+4096)
	cmd := exec.Command(mke2fs, "-q", "-F", "-t", "ext4", "-b", "4096", "-m", "0", "-O", "^has_journal",
		"-N", fmt.Sprint(files+1024),
		"-E", "root_owner=0:0,lazy_itable_init=1", "-d", dir, name+".tmp", size)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("making a disk image of %s: %w\n%s", dir, err, out)
	}
	return os.Rename(name+".tmp", name)
}

// findSystem finds an administrator's program, which may not be in an ordinary user's PATH.
func findSystem(name string) (string, error) {
	if path, err := exec.LookPath(name); err == nil {
		return path, nil
	}
	for _, dir := range []string{"/usr/sbin/", "/sbin/"} {
		if _, err := os.Stat(dir + name); err == nil {
			return dir + name, nil
		}
	}
	return "", fmt.Errorf("%s is not installed", name)
}
