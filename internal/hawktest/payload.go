package hawktest

import (
	"debug/elf"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/hawktrace/hawk/internal/hawktest/deb"
	"github.com/hawktrace/hawk/internal/hawktest/files"
)

// Below the module's root.
const (
	ScriptDir = "testdata/script" // the cases
	CorpusDir = "testdata/corpus" // scripts in the style of production use; see package corpus
)

// BuildHawk returns the hawk under test: what $HAWK_BIN names, or else the program built from this
// module's sources into dir.
func BuildHawk(dir string) (string, error) { return buildHawk(dir, runtime.GOARCH) }

// buildHawk is BuildHawk for an architecture. $HAWK_BIN is of this machine's.
func buildHawk(dir, arch string) (string, error) {
	if path := os.Getenv("HAWK_BIN"); path != "" && arch == runtime.GOARCH {
		return filepath.Abs(path)
	}
	root, err := Root()
	if err != nil {
		return "", err
	}
	if err := touchSources(root); err != nil {
		return "", err
	}
	out := filepath.Join(dir, "hawk")
	args := []string{"-trimpath", "-buildvcs=false",
		"-ldflags=-s -w -E github.com/hawktrace/hawk/internal/origin.entry " +
			"-X github.com/hawktrace/hawk/internal/cli.Version=v0.0.0-test"}
	if os.Getenv("HAWK_RACE") != "" && arch == runtime.GOARCH {
		args = append(args, "-race")
	}
	// Each run of this hawk then leaves a file there, of which coverage is put together.
	if os.Getenv("GOCOVERDIR") != "" {
		args = append(args, "-cover", "-coverpkg=github.com/hawktrace/hawk/...")
	}
	return out, goTool(root, arch, append(append([]string{"build", "-o", out}, args...), "./cmd/hawk")...)
}

// touchSources looks at all Go files of the module, so that go test, which remembers what a test
// looks at, does not reuse a result from before a change to hawk. The test sees a program, and
// not of which files it was made.
func touchSources(root string) error {
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".go") {
			_, err = os.Stat(path)
		}
		return err
	})
}

// goTool runs the go command for a static program of an architecture, or for one with the race
// detector, which is C.
func goTool(dir, arch string, args ...string) error {
	cmd := exec.Command("go", args...)
	cmd.Dir = dir
	cgo := "CGO_ENABLED=0"
	if slices.Contains(args, "-race") {
		cgo = "CGO_ENABLED=1"
	}
	cmd.Env = append(os.Environ(), cgo, "GOARCH="+arch)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return nil
}

// Payload fills a directory with what a VM of an architecture needs beside ordinary programs: hawk,
// the cases with their compiled programs, the corpus, and the tests that run them, those of other
// packages included that want a kernel. For another architecture it has the chosen cases alone: not
// all programs of the others can be compiled for it.
func Payload(dir, arch string) error {
	root, err := Root()
	if err != nil {
		return err
	}
	for _, d := range []string{"hawk/script", "hawk/cc", "hawk/glibc", "hawk/ahead"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			return err
		}
	}
	packages, err := KernelPackages(root)
	if err != nil {
		return err
	}
	if err := Programs(dir, arch, append(packages, "internal/hawktest", "internal/hawktest/interp",
		remainsPackage)...); err != nil {
		return err
	}
	cases, err := Cases(filepath.Join(root, ScriptDir))
	if err != nil {
		return err
	}
	if arch != runtime.GOARCH {
		choice, err := Chosen()
		if err != nil {
			return err
		}
		if cases, err = choice.Of(cases); err != nil {
			return err
		}
	}
	for _, c := range cases {
		if err := files.Copy(c.Path, filepath.Join(dir, "hawk/script", filepath.Base(c.Path))); err != nil {
			return err
		}
		if err := buildFixtures(c, arch, filepath.Join(dir, "hawk/cc")); err != nil {
			return err
		}
	}
	sources, err := filepath.Glob(filepath.Join(root, ScriptDir, "*.c"))
	if err != nil {
		return err
	}
	for _, path := range sources {
		if err := files.Copy(path, filepath.Join(dir, "hawk/script", filepath.Base(path))); err != nil {
			return err
		}
	}
	if err := os.CopyFS(filepath.Join(dir, "hawk/corpus"), os.DirFS(filepath.Join(root, CorpusDir))); err != nil {
		return err
	}
	if err := copyGlibc(filepath.Join(dir, "hawk/glibc"), arch); err != nil {
		return err
	}
	return compileAhead(root, filepath.Join(dir, "hawk/ahead"), arch)
}

// Programs fills a directory with the least that a VM is of use with: hawk, and the tests of packages,
// which are directories below the module's root.
func Programs(dir, arch string, packages ...string) error {
	root, err := Root()
	if err != nil {
		return err
	}
	for _, d := range []string{"usr/local/bin", "hawk/tests"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			return err
		}
	}
	tmp, err := os.MkdirTemp("", "hawk")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	hawk, err := buildHawk(tmp, arch)
	if err != nil {
		return err
	}
	if err := files.Copy(hawk, filepath.Join(dir, "usr/local/bin/hawk")); err != nil {
		return err
	}
	for _, pkg := range packages {
		if err := goTool(root, arch, "test", "-c", "-ldflags=-s -w", "-o",
			filepath.Join(dir, "hawk/tests", testBinary(pkg)), "./"+pkg); err != nil {
			return err
		}
		data := filepath.Join(root, pkg, "testdata")
		if _, err := os.Stat(data); err == nil {
			if err := os.CopyFS(filepath.Join(dir, "hawk/src", pkg, "testdata"), os.DirFS(data)); err != nil {
				return err
			}
		} else if err := os.MkdirAll(filepath.Join(dir, "hawk/src", pkg), 0o755); err != nil {
			return err
		}
	}
	return nil
}

// compileAhead compiles the corpus on this kernel, to be run on that of a VM of an architecture.
func compileAhead(root, to, arch string) error {
	tmp, err := os.MkdirTemp("", "hawk")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	compiler := filepath.Join(tmp, "ahead")
	if err := goTool(root, runtime.GOARCH, "test", "-c", "-o", compiler, "./"+corpusPackage); err != nil {
		return err
	}
	ahead := exec.Command(compiler)
	ahead.Dir = root
	ahead.Env = append(os.Environ(), "HAWK_AHEAD_TO="+to, "HAWK_AHEAD_FOR="+arch)
	if out, err := ahead.CombinedOutput(); err != nil {
		return fmt.Errorf("compiling the corpus ahead of time: %w\n%s", err, out)
	}
	return nil
}

const (
	corpusPackage  = "internal/hawktest/corpus"  // has the scripts of the corpus
	remainsPackage = "internal/hawktest/remains" // tells what tests have left behind
)

// testBinary is the file name of a package's tests in a VM. The package at the root is called hawk.
func testBinary(pkg string) string {
	if pkg == "." {
		pkg = "hawk"
	}
	return strings.ReplaceAll(pkg, "/", "-") + ".test"
}

// KernelPackages lists the directories of packages, below root, whose own tests want to run on many
// kernels: those with a file kernel_test.go. The tests there are named TestKernel….
func KernelPackages(root string) ([]string, error) {
	var packages []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Name() == "kernel_test.go" {
			pkg, err := filepath.Rel(root, filepath.Dir(path))
			packages = append(packages, filepath.ToSlash(pkg))
			return err
		}
		return err
	})
	return packages, err
}

// glibcFiles are patterns of the parts of the libc with probes that a threaded program needs.
var glibcFiles = []string{"ld-linux-*.so.?", "libc.so.6", "libm.so.6"}

// triplets are what Debian calls architectures in the names of directories and compilers.
var triplets = map[string]string{"amd64": "x86_64-linux-gnu", "arm64": "aarch64-linux-gnu"}

// Glibc returns a directory with a libc that has USDT probes of its own, and its loader. Debian's
// stable releases are built without, so it is one that was unpacked for a VM; Glibc itself
// fetches nothing.
var Glibc = sync.OnceValues(func() (string, error) {
	if InVM() {
		return os.Getenv("HAWK_GLIBC"), nil
	}
	system := filepath.Join("/usr/lib", triplets[runtime.GOARCH])
	if f, err := elf.Open(filepath.Join(system, "libc.so.6")); err == nil {
		probes := f.Section(".note.stapsdt") != nil
		f.Close()
		if probes {
			return system, nil
		}
	}
	suite, err := deb.Open("sid")
	if err != nil {
		return "", err
	}
	root, ok := suite.Unpacked("libc6")
	if !ok {
		return "", errors.New("the libc here has no probes and none has been fetched")
	}
	return filepath.Join(root, system), nil
})

// copyGlibc copies the libc with probes of an architecture to a directory, fetching it if need be.
func copyGlibc(to, arch string) error {
	suite, err := deb.OpenFor("sid", arch)
	if err != nil {
		return err
	}
	root, err := suite.Unpack("libc6")
	if err != nil {
		return err
	}
	for _, pattern := range glibcFiles {
		found, err := filepath.Glob(filepath.Join(root, "usr/lib", triplets[arch], pattern))
		if err != nil || len(found) == 0 {
			return fmt.Errorf("no %s in libc6 of %s, %s", pattern, suite.Name, arch)
		}
		if err := files.Copy(found[0], filepath.Join(to, filepath.Base(found[0]))); err != nil {
			return err
		}
	}
	return nil
}
