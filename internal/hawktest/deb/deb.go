// Package deb unpacks packages of any Debian suite into a cache directory, without installing them
// and without touching the system's own package configuration. The mirror is the one that the
// machine's own sources name; its credentials, proxies and keys stay in force.
package deb

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"
)

// CacheDir is the directory that holds everything fetched for tests: $XDG_CACHE_HOME/hawk/vm, or
// ~/.cache/hawk/vm.
func CacheDir() (string, error) {
	base, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("finding a cache directory: %w", err)
	}
	return filepath.Join(base, "hawk", "vm"), nil
}

// A Suite is a release of Debian, such as "bookworm" or "sid", for one architecture, with a package
// index of its own in the cache.
type Suite struct {
	Name string
	Arch string // Debian's name of it, which is Go's as well: "amd64", "arm64"
	dir  string // cache directory of this suite
}

// Open returns the suite with the given name, for this machine's architecture. It fetches nothing.
func Open(name string) (*Suite, error) { return OpenFor(name, runtime.GOARCH) }

// OpenFor is Open for any architecture.
func OpenFor(name, arch string) (*Suite, error) {
	cache, err := CacheDir()
	if err != nil {
		return nil, err
	}
	return &Suite{Name: name, Arch: arch, dir: filepath.Join(cache, "deb", name+"-"+arch)}, nil
}

// Unpack makes a directory that holds the files of a package and of those of its dependencies whose
// names begin as one of follow does, transitively: what a kernel's meta package leads to, say. The
// directory is made once; later calls find it in the cache and fetch nothing.
func (s *Suite) Unpack(name string, follow ...string) (string, error) {
	return s.tree(unpackKey(name, follow), func(tmp string) error {
		names := []string{name}
		for i := 0; i < len(names); i++ { // grows as it goes
			depends, err := s.depends(names[i])
			if err != nil {
				return err
			}
			for _, d := range depends {
				if slices.ContainsFunc(follow,
					func(p string) bool { return strings.HasPrefix(d, p) }) && !slices.Contains(names, d) {
					names = append(names, d)
				}
			}
		}
		return s.apt(tmp, append([]string{"apt-get", "download", "-qq"}, names...)...)
	})
}

// Unpacked returns the directory that an earlier Unpack of the same packages has made, if there was
// one. It fetches nothing.
func (s *Suite) Unpacked(name string, follow ...string) (dir string, ok bool) {
	dir = s.treeDir(unpackKey(name, follow))
	return dir, exists(dir)
}

func unpackKey(name string, follow []string) string {
	return "unpack " + name + " " + strings.Join(follow, " ")
}

// Install makes a directory that holds the files of packages and of all that they depend on, libc
// included: a root to run their programs from.
func (s *Suite) Install(names ...string) (string, error) {
	return s.tree("root "+strings.Join(names, " "), func(tmp string) error {
		args := []string{"apt-get", "install", "-qq", "--yes", "--download-only",
			"--no-install-recommends", "-o", "Dir::Cache::Archives=" + tmp}
		return s.apt(tmp, append(args, names...)...)
	})
}

// tree returns the cached directory for key. If there is none, fetch downloads .deb files into a
// directory and tree unpacks them.
func (s *Suite) tree(key string, fetch func(dir string) error) (string, error) {
	final := s.treeDir(key)
	if exists(final) {
		return final, nil
	}
	unlock, err := lock(s.dir)
	if err != nil {
		return "", err
	}
	defer unlock()
	if exists(final) { // another process made it while this one waited
		return final, nil
	}
	if err := s.update(); err != nil {
		return "", err
	}
	debs, root := final+".debs", final+".tmp"
	for _, dir := range []string{debs, root} {
		if err := os.RemoveAll(dir); err != nil {
			return "", err
		}
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return "", err
		}
	}
	defer os.RemoveAll(debs)
	if err := fetch(debs); err != nil {
		return "", err
	}
	files, err := filepath.Glob(filepath.Join(debs, "*.deb"))
	if err != nil || len(files) == 0 {
		return "", fmt.Errorf("%s from %s: no package was downloaded", key, s.Name)
	}
	for _, f := range files {
		if out, err := exec.Command("dpkg-deb", "-x", f, root).CombinedOutput(); err != nil {
			return "", fmt.Errorf("unpacking %s: %w\n%s", filepath.Base(f), err, out)
		}
	}
	if err := relink(root); err != nil {
		return "", err
	}
	return final, os.Rename(root, final)
}

// relink makes links below a root that lead from the root to something below it lead there from
// where they are: programs run from the directory, with the system's root, find the files of /etc
// that their packages refer to.
func relink(root string) error {
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Type() != fs.ModeSymlink {
			return err
		}
		to, err := os.Readlink(path)
		if err != nil || !filepath.IsAbs(to) {
			return err
		}
		if _, err := os.Lstat(filepath.Join(root, to)); err != nil {
			return nil // another package has it, or nobody
		}
		to, err = filepath.Rel(filepath.Dir(path), filepath.Join(root, to))
		if err != nil {
			return err
		}
		if err := os.Remove(path); err != nil {
			return err
		}
		return os.Symlink(to, path)
	})
}

func (s *Suite) treeDir(key string) string {
	return filepath.Join(s.dir, "trees", fmt.Sprintf("%x", sha256.Sum256([]byte(key)))[:16])
}

// depends lists the names of the packages that a package depends on directly.
func (s *Suite) depends(name string) ([]string, error) {
	cmd := exec.Command("apt-cache", append(s.options(), "depends", "--important", name)...)
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("looking up package %s of %s: %w%s", name, s.Name, err, stderrOf(err))
	}
	var names []string
	for line := range strings.Lines(string(out)) {
		if _, d, ok := strings.Cut(line, "Depends: "); ok {
			names = append(names, strings.TrimSpace(d))
		}
	}
	return names, nil
}

// update fetches the suite's package index, unless one is there from a day ago or less.
func (s *Suite) update() error {
	stamp := filepath.Join(s.dir, "updated")
	if info, err := os.Stat(stamp); err == nil && time.Since(info.ModTime()) < 24*time.Hour {
		return nil
	}
	for _, d := range []string{"lists/partial", "archives/partial", "empty", "trees"} {
		if err := os.MkdirAll(filepath.Join(s.dir, d), 0o755); err != nil {
			return err
		}
	}
	mirror, err := Mirror()
	if err != nil {
		return err
	}
	for name, content := range map[string]string{
		"sources.list": fmt.Sprintf("deb [arch=%s] %s %s main\n", s.Arch, mirror, s.Name),
		"status":       "", // nothing is installed, so that Install downloads everything
	} {
		if err := os.WriteFile(filepath.Join(s.dir, name), []byte(content), 0o644); err != nil {
			return err
		}
	}
	if err := s.apt("", "apt-get", "update", "-qq"); err != nil {
		return err
	}
	return os.WriteFile(stamp, nil, 0o644)
}

// options are the settings that lead apt to this suite's own sources, index and archive instead of
// the system's.
func (s *Suite) options() []string {
	var args []string
	for _, o := range []string{
		"Dir::Etc::SourceList=" + filepath.Join(s.dir, "sources.list"),
		"Dir::Etc::SourceParts=" + filepath.Join(s.dir, "empty"),
		"Dir::Etc::PreferencesParts=" + filepath.Join(s.dir, "empty"),
		"Dir::State=" + s.dir,
		"Dir::State::Lists=" + filepath.Join(s.dir, "lists"),
		"Dir::State::Status=" + filepath.Join(s.dir, "status"),
		"Dir::Cache=" + s.dir,
		"Dir::Cache::Archives=" + filepath.Join(s.dir, "archives"),
		"Acquire::Languages=none",
		"Acquire::Retries=3",
		"Acquire::Check-Valid-Until=false", // mirrors may be some days behind; what they have is signed all the same
		"Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false",
		"APT::Architecture=" + s.Arch,
		"APT::Architectures=" + s.Arch,
		"APT::Sandbox::User=", // the cache is not readable for the sandbox's user
	} {
		args = append(args, "-o", o)
	}
	return args
}

// apt runs one of apt's commands with the suite's options in dir.
func (s *Suite) apt(dir string, argv ...string) error {
	cmd := exec.Command(argv[0], append(s.options(), argv[1:]...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive", "LC_ALL=C")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s for %s: %w\n%s", strings.Join(argv[:2], " "), s.Name, err, out)
	}
	return nil
}

// Mirror returns the address of the archive that the machine's own sources use, or the one that
// $HAWK_DEBIAN names. Security and update archives have other suites, so the first source of
// Debian's that offers neither is the one.
func Mirror() (string, error) {
	if address := os.Getenv("HAWK_DEBIAN"); address != "" {
		return address, nil
	}
	out, err := exec.Command("apt-get", "indextargets", "--format",
		"$(ORIGIN) $(COMPONENT) $(CODENAME) $(REPO_URI)", "Created-By: Packages").Output()
	if err != nil {
		return "", fmt.Errorf("reading the package sources of this machine: %w%s", err, stderrOf(err))
	}
	for line := range strings.Lines(string(out)) {
		f := strings.Fields(line)
		if len(f) == 4 && f[0] == "Debian" && f[1] == "main" && !strings.Contains(f[2], "-") {
			return f[3], nil
		}
	}
	return "", errors.New("the package sources of this machine name no Debian archive, or its index has not been " +
		"fetched; HAWK_DEBIAN names one (and Debian's keys are needed, from package debian-archive-keyring)")
}

// lock takes an exclusive lock on a directory, which it makes if needed.
func lock(dir string) (unlock func(), err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		f.Close()
		return nil, fmt.Errorf("locking %s: %w", dir, err)
	}
	return func() { f.Close() }, nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// stderrOf returns what a failed command said, on lines of its own.
func stderrOf(err error) string {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return "\n" + string(bytes.TrimSpace(exit.Stderr))
	}
	return ""
}
