package exe

import (
	"debug/elf"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/hawktrace/hawk/internal/proc"
)

// Search says how Find looks for files.
type Search struct {
	PID       int  // target process, 0 if none
	Unsafe    bool // accept any existing file where there is no wildcard
	Libraries bool // names that begin with "lib" are libraries
}

// Find returns the files a script means by a name: a path, a program in
// PATH, a library, or a pattern of paths; with a process the files it has
// mapped for "*". None is an error. More than one for a name without
// wildcard is possible, the first is meant.
func (s Search) Find(name string) ([]string, error) {
	wild := strings.Contains(name, "*")
	var unopened *fs.PathError // a file that is there
	switch {
	case name == "" && s.PID != 0:
		path, err := proc.Exe(s.PID)
		if err != nil {
			return nil, fmt.Errorf("program of process %d: %w", s.PID, err)
		}
		if path = proc.Root(s.PID) + path; !sameInode(path, proc.Dir(s.PID)+"/exe") {
			path = proc.Dir(s.PID) + "/exe" // deleted, or another by now
		}
		return []string{path}, nil
	case name == "*":
		return s.mapped("")
	case strings.HasPrefix(name, proc.MemoryPrefix):
		if out, err := s.mapped(name); err != nil || len(out) > 0 {
			return out, err
		}
		return nil, fmt.Errorf("no process has a file %s in memory", name)
	case s.Libraries && !wild && strings.HasPrefix(name, "lib") && !strings.Contains(name, "/"):
		path, err := s.library(name)
		if path != "" {
			return []string{path}, nil
		}
		errors.As(err, &unopened)
	}
	var out []string
	for _, path := range s.Candidates(name) {
		if held, ok := s.replaced(path); ok && !wild {
			out = append(out, held)
		} else if wild {
			matches, err := filepath.Glob(path)
			if err != nil {
				return nil, fmt.Errorf("bad pattern %q", name)
			}
			for _, m := range matches {
				if strings.HasPrefix(path, "./") {
					m = "./" + m // as it is written, which the package does not keep
				}
				if Check(m) == nil {
					out = append(out, m)
				}
			}
		} else if err := Check(path); err == nil || exists(OnDisk(path)) && (s.Unsafe || path != OnDisk(path)) {
			out = append(out, path)
		} else if unopened == nil {
			errors.As(err, &unopened)
		}
	}
	out = unique(out)
	if len(out) == 0 && unopened != nil {
		return nil, fmt.Errorf("target file '%s' cannot be opened: %w", name, unopened.Err)
	}
	if len(out) == 0 {
		return nil, NotFound(name)
	}
	return out, nil
}

// Check explains why no probes can be put into the file at path, nil if they
// can. Programs must be executable by their owner, shared objects need not.
func Check(path string) error {
	st, err := os.Stat(OnDisk(path))
	if err != nil || !st.Mode().IsRegular() {
		return fmt.Errorf("%s does not exist or is not executable", path)
	}
	f, err := Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if !f.Attachable() || f.Type == elf.ET_EXEC && st.Mode().Perm()&0o100 == 0 {
		return fmt.Errorf("%s is neither a program nor a shared object", path)
	}
	return nil
}

func exists(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.Mode().IsRegular()
}

// root is the prefix of absolute paths, for processes in another mount
// namespace.
func (s Search) root() string {
	if s.PID == 0 {
		return ""
	}
	return proc.Root(s.PID) // in its mount namespace, or of a chroot
}

// below is an absolute path in a root directory, "" for hawk's own.
func below(root, path string) string {
	if root == "" {
		return path
	}
	return proc.Resolve(root, path)
}

// maxSearchPath bounds the directories of PATH: a process can be started with any number.
const maxSearchPath = 256

// Candidates are the paths a name stands for before wildcards are expanded.
func (s Search) Candidates(name string) []string {
	root := s.root()
	if strings.Contains(name, "/") {
		if root != "" && strings.HasPrefix(name, "/") && !strings.HasPrefix(name, "/proc/") {
			return []string{below(root, name)}
		}
		return []string{name}
	}
	path := os.Getenv("PATH")
	if root != "" {
		if p, ok := proc.Environ(s.PID, "PATH"); ok {
			path = p
		}
	}
	var out []string
	for dir := range strings.SplitSeq(path, ":") {
		if len(out) == maxSearchPath {
			break
		}
		if dir == "" {
			dir = "."
		}
		out = append(out, below(root, filepath.Join(dir, name)))
	}
	return out
}

// unique drops files that come again under another name: directories of PATH
// are often links to each other.
func unique(paths []string) []string {
	var infos []os.FileInfo
	out := paths[:0]
	for _, p := range paths {
		if _, _, member := splitMember(p); member {
			out = append(out, p)
			continue
		}
		st, err := os.Stat(p)
		if err != nil || slices.ContainsFunc(infos, func(i os.FileInfo) bool { return os.SameFile(i, st) }) {
			continue
		}
		infos = append(infos, st)
		out = append(out, p)
	}
	return out
}

// mapped lists the files mapped by the process, by any process without one; with a name those in
// memory alone that are called so, memfd:NAME.
func (s Search) mapped(name string) ([]string, error) {
	all := proc.AllMappedFiles
	if s.PID != 0 {
		all = func() ([]proc.MappedFile, error) { return proc.MappedFiles(s.PID) }
	}
	files, err := all()
	if err != nil {
		return nil, err
	}
	var out []string
	for _, f := range files {
		if name != "" {
			if fits, _ := filepath.Match("/"+name, f.Name); !fits || !f.Deleted {
				continue
			}
		}
		if f.Exec && Check(f.Path) == nil {
			out = append(out, f.Path)
		}
	}
	return out, nil
}

// replaced finds what the process has mapped of a file that has been deleted or
// replaced since. A probe on the file that is there by now would not be seen by
// the process.
func (s Search) replaced(path string) (held string, ok bool) {
	if s.PID == 0 {
		return "", false
	}
	full, root := path, proc.Root(s.PID)
	if root == "" || !strings.HasPrefix(path, root) {
		abs, err := filepath.Abs(path)
		if err != nil {
			return "", false
		}
		full = proc.Resolve("", abs)
	}
	files, err := proc.MappedFiles(s.PID)
	if err != nil {
		return "", false
	}
	for _, f := range files {
		switch {
		case !f.Exec || root+f.Name != full:
		case !f.Deleted:
			return "", false
		default:
			held, ok = f.Path, true
		}
	}
	return held, ok
}

// library finds a library: that of the process, else the one that the linker would take.
func (s Search) library(name string) (string, error) {
	if s.PID != 0 {
		files, _ := proc.MappedFiles(s.PID)
		for _, f := range files {
			base := filepath.Base(f.Name)
			// "libc-2.31.so" is how older systems name what "libc" means.
			if sonameFits(base, name) || strings.HasPrefix(base, name+"-") && strings.HasSuffix(base, ".so") {
				return f.Path, nil
			}
		}
	}
	return findLibrary(s.root(), name, nativeMachine())
}

// nativeMachine is the ELF machine hawk was built for.
func nativeMachine() elf.Machine {
	switch runtime.GOARCH {
	case "amd64":
		return elf.EM_X86_64
	case "arm64":
		return elf.EM_AARCH64
	}
	return elf.EM_NONE
}

// NotFound is the error of a name that no program or library has.
type NotFound string

func (n NotFound) Error() string {
	return fmt.Sprintf("target file '%s' does not exist or is not executable", string(n))
}
